//! Text to tokens.

use memchr::memmem::find;
use memchr::{memchr, memchr_iter};

use crate::gostr;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Error,
    Bool,
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    Eof,
    Field,
    Identifier,
    LeftDelim,
    LeftParen,
    Number,
    Pipe,
    RawString,
    RightDelim,
    RightParen,
    Space,
    String,
    Text,
    Variable,
    // Keywords from here on; they are shown in angle brackets.
    Block,
    Break,
    Continue,
    Dot,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

/// A token: a kind, a piece of the text and the line it starts on.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    pub kind: Kind,
    pub start: u32,
    pub end: u32,
    pub line: u32,
}

fn keyword(word: &[u8]) -> Option<Kind> {
    Some(match word {
        b"." => Kind::Dot,
        b"block" => Kind::Block,
        b"break" => Kind::Break,
        b"continue" => Kind::Continue,
        b"define" => Kind::Define,
        b"else" => Kind::Else,
        b"end" => Kind::End,
        b"if" => Kind::If,
        b"range" => Kind::Range,
        b"nil" => Kind::Nil,
        b"template" => Kind::Template,
        b"with" => Kind::With,
        _ => return None,
    })
}

fn is_keyword(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Block
            | Kind::Break
            | Kind::Continue
            | Kind::Dot
            | Kind::Define
            | Kind::Else
            | Kind::End
            | Kind::If
            | Kind::Nil
            | Kind::Range
            | Kind::Template
            | Kind::With
    )
}

const LEFT: &[u8] = b"{{";
const RIGHT: &[u8] = b"}}";

/// Reads tokens off a template's text.
pub struct Lexer<'t> {
    text: &'t [u8],
    pos: usize,
    start: usize,
    line: u32,
    start_line: u32,
    inside: bool,
    parens: u32,
    /// What is wrong, once an error token was handed out.
    failure: Option<Box<str>>,
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\r' | b'\n')
}

/// The bytes that are letters, digits or underscores.
const WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 128 {
        table[b] = (b as u8).is_ascii_alphanumeric() || b as u8 == b'_';
        b += 1;
    }
    table
};

fn is_word(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric() || !c.is_ascii() && (gostr::is_letter(c) || gostr::is_digit(c))
}

fn newlines(text: &[u8]) -> u32 {
    if text.len() < SHORT {
        return text.iter().map(|b| u32::from(*b == b'\n')).sum();
    }
    memchr_iter(b'\n', text).count() as u32
}

/// In a text shorter than this it takes longer to begin a fast search than to look at each byte.
const SHORT: usize = 16;

/// Where the next action starts. A single brace is rare, so that looking for one is looking for two.
fn find_left(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr(b'{', text.get(at..)?)?;
        if text.get(at + 1) == Some(&b'{') {
            return Some(at);
        }
        at += 1;
    }
}

/// A rune the way Go's `%#U` shows it.
fn code_point(rune: Option<char>) -> String {
    match rune {
        // What the end of the text looks like when it is printed as a rune.
        None => "U+FFFFFFFFFFFFFFFF".to_owned(),
        Some(c) if gostr::is_print(c) => format!("U+{:04X} '{c}'", u32::from(c)),
        Some(c) => format!("U+{:04X}", u32::from(c)),
    }
}

impl<'t> Lexer<'t> {
    pub fn new(text: &'t [u8]) -> Self {
        Self { text, pos: 0, start: 0, line: 1, start_line: 1, inside: false, parens: 0, failure: None }
    }

    fn rest(&self) -> &'t [u8] {
        &self.text[self.pos..]
    }

    fn peek(&self) -> Option<char> {
        if let Some(b) = self.text.get(self.pos).filter(|b| b.is_ascii()) {
            return Some(char::from(*b));
        }
        let (c, width) = gostr::decode_char(self.rest());
        (width > 0).then_some(c)
    }

    fn bump(&mut self) -> Option<char> {
        if let Some(b) = self.text.get(self.pos).filter(|b| b.is_ascii()) {
            self.pos += 1;
            self.line += u32::from(*b == b'\n');
            return Some(char::from(*b));
        }
        let (c, width) = gostr::decode_char(self.rest());
        if width == 0 {
            return None;
        }
        self.pos += width;
        if c == '\n' {
            self.line += 1;
        }
        Some(c)
    }

    fn token(&mut self, kind: Kind) -> Token {
        let token = Token { kind, start: self.start as u32, end: self.pos as u32, line: self.start_line };
        self.start = self.pos;
        self.start_line = self.line;
        token
    }

    fn error(&mut self, message: impl Into<Box<str>>) -> Token {
        self.failure = Some(message.into());
        let start = self.start as u32;
        let token = Token { kind: Kind::Error, start, end: start, line: self.start_line };
        self.start = self.text.len();
        self.pos = self.text.len();
        self.inside = false;
        token
    }

    /// Skips what was passed over without counting its lines.
    fn ignore(&mut self) {
        self.line += newlines(&self.text[self.start..self.pos]);
        self.start = self.pos;
        self.start_line = self.line;
    }

    /// The next token; after the end or an error, end tokens for ever.
    pub fn next(&mut self) -> Token {
        if self.failure.is_some() {
            return Token { kind: Kind::Eof, start: 0, end: 0, line: self.start_line };
        }
        if self.inside { self.action() } else { self.plain() }
    }

    fn plain(&mut self) -> Token {
        loop {
            let Some(x) = find_left(self.rest()) else {
                self.pos = self.text.len();
                if self.pos > self.start {
                    self.line += newlines(&self.text[self.start..self.pos]);
                    return self.token(Kind::Text);
                }
                return self.token(Kind::Eof);
            };
            if x > 0 {
                self.pos += x;
                let after = &self.text[self.pos + LEFT.len()..];
                let trim = if left_trim_marker(after) {
                    let body = &self.text[self.start..self.pos];
                    body.len() - body.iter().rposition(|b| !is_space(*b)).map_or(0, |p| p + 1)
                } else {
                    0
                };
                self.pos -= trim;
                self.line += newlines(&self.text[self.start..self.pos]);
                let token = self.token(Kind::Text);
                self.pos += trim;
                self.ignore();
                if token.end > token.start {
                    return token;
                }
            }
            // At the delimiter: a comment is skipped, an action begins.
            self.pos += LEFT.len();
            let marker = if left_trim_marker(self.rest()) { 2 } else { 0 };
            if self.text[self.pos + marker..].starts_with(b"/*") {
                self.pos += marker;
                self.ignore();
                if let Some(error) = self.comment() {
                    return error;
                }
                continue;
            }
            let token = self.token(Kind::LeftDelim);
            self.inside = true;
            self.pos += marker;
            self.ignore();
            self.parens = 0;
            return token;
        }
    }

    fn comment(&mut self) -> Option<Token> {
        self.pos += 2;
        let Some(x) = find(self.rest(), b"*/") else {
            return Some(self.error("unclosed comment"));
        };
        self.pos += x + 2;
        let Some(trim) = self.right_delim() else {
            return Some(self.error("comment ends before closing delimiter"));
        };
        self.line += newlines(&self.text[self.start..self.pos]);
        self.start = self.pos;
        self.start_line = self.line;
        if trim {
            self.pos += 2;
        }
        self.pos += RIGHT.len();
        if trim {
            self.skip_spaces();
        }
        self.ignore();
        None
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.pos += rest.iter().position(|b| !is_space(*b)).unwrap_or(rest.len());
    }

    /// At a closing delimiter: whether it trims.
    fn right_delim(&self) -> Option<bool> {
        match self.rest() {
            [space, b'-', b'}', b'}', ..] if is_space(*space) => Some(true),
            [b'}', b'}', ..] => Some(false),
            _ => None,
        }
    }

    fn close(&mut self, trim: bool) -> Token {
        if trim {
            self.pos += 2;
            self.ignore();
        }
        self.pos += RIGHT.len();
        let token = self.token(Kind::RightDelim);
        if trim {
            self.skip_spaces();
            self.ignore();
        }
        self.inside = false;
        token
    }

    fn action(&mut self) -> Token {
        let may_close = matches!(self.text.get(self.pos), Some(b'}' | b' ' | b'\t' | b'\r' | b'\n'));
        if let Some(trim) = may_close.then(|| self.right_delim()).flatten() {
            if self.parens == 0 {
                return self.close(trim);
            }
            return self.error("unclosed left paren");
        }
        // The everyday cases first.
        match self.text.get(self.pos) {
            Some(b' ' | b'\t' | b'\r' | b'\n') => return self.space(),
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => return self.word(),
            _ => {}
        }
        let Some(c) = self.peek() else {
            return self.error("unclosed action");
        };
        match c {
            '+' | '-' | '0'..='9' => return self.number(),
            c if is_word(c) => return self.word(),
            _ => {}
        }
        self.bump();
        match c {
            '=' => self.token(Kind::Assign),
            ':' => match self.bump() {
                Some('=') => self.token(Kind::Declare),
                _ => self.error("expected :="),
            },
            '|' => self.token(Kind::Pipe),
            '"' => self.quoted('"', Kind::String, "unterminated quoted string"),
            '\'' => self.quoted('\'', Kind::CharConstant, "unterminated character constant"),
            '`' => self.raw(),
            '$' => self.name(Kind::Variable),
            '.' => {
                if self.rest().first().is_some_and(|b| !b.is_ascii_digit()) {
                    return self.name(Kind::Field);
                }
                self.pos -= 1;
                self.number()
            }
            '(' => {
                self.parens += 1;
                self.token(Kind::LeftParen)
            }
            ')' => match self.parens.checked_sub(1) {
                Some(n) => {
                    self.parens = n;
                    self.token(Kind::RightParen)
                }
                None => self.error("unexpected right paren"),
            },
            ' '..='~' => self.token(Kind::Char),
            c => self.error(format!("unrecognized character in action: {}", code_point(Some(c)))),
        }
    }

    fn space(&mut self) -> Token {
        while let Some(b) = self.text.get(self.pos).filter(|b| is_space(**b)) {
            self.line += u32::from(*b == b'\n');
            self.pos += 1;
        }
        // The last space may belong to a trimming delimiter.
        if self.text.get(self.pos) == Some(&b'-') && self.rest().starts_with(b"-}}") {
            self.pos -= 1;
            self.line -= u32::from(self.text[self.pos] == b'\n');
            if self.pos == self.start {
                return self.close(true);
            }
        }
        self.token(Kind::Space)
    }

    fn at_terminator(&self) -> bool {
        match self.text.get(self.pos) {
            None | Some(b' ' | b'\t' | b'\r' | b'\n' | b'.' | b',' | b'|' | b':' | b')' | b'(') => true,
            Some(b'}') => self.text.get(self.pos + 1) == Some(&b'}'),
            Some(_) => false,
        }
    }

    /// Passes over letters, digits and underscores.
    fn skip_word(&mut self) {
        loop {
            while self.text.get(self.pos).is_some_and(|b| WORD[usize::from(*b)]) {
                self.pos += 1;
            }
            match self.text.get(self.pos) {
                Some(b) if !b.is_ascii() && self.peek().is_some_and(is_word) => {
                    self.bump();
                }
                _ => return,
            }
        }
    }

    fn word(&mut self) -> Token {
        self.skip_word();
        if !self.at_terminator() {
            let c = self.peek();
            return self.error(format!("bad character {}", code_point(c)));
        }
        let word = &self.text[self.start..self.pos];
        let kind = match word {
            b"true" | b"false" => Kind::Bool,
            _ => keyword(word).unwrap_or(Kind::Identifier),
        };
        self.token(kind)
    }

    fn name(&mut self, kind: Kind) -> Token {
        if self.at_terminator() {
            return self.token(if kind == Kind::Variable { Kind::Variable } else { Kind::Dot });
        }
        self.skip_word();
        if !self.at_terminator() {
            let c = self.peek();
            return self.error(format!("bad character {}", code_point(c)));
        }
        self.token(kind)
    }

    fn quoted(&mut self, quote: char, kind: Kind, unterminated: &str) -> Token {
        loop {
            // What is no quote, escape, line break or part of a longer character needs no closer look.
            let plain = |b: &u8| b.is_ascii() && !matches!(b, b'"' | b'\'' | b'\\' | b'\n');
            self.pos += self.rest().iter().take_while(|b| plain(b)).count();
            match self.bump() {
                Some('\\') => {
                    if matches!(self.bump(), None | Some('\n')) {
                        return self.error(unterminated);
                    }
                }
                None | Some('\n') => return self.error(unterminated),
                Some(c) if c == quote => return self.token(kind),
                Some(_) => {}
            }
        }
    }

    fn raw(&mut self) -> Token {
        loop {
            match self.bump() {
                None => return self.error("unterminated raw quoted string"),
                Some('`') => return self.token(Kind::RawString),
                Some(_) => {}
            }
        }
    }

    fn accept(&mut self, set: &[u8]) -> bool {
        let found = self.rest().first().is_some_and(|b| set.contains(b));
        if found {
            self.pos += 1;
        }
        found
    }

    fn accept_run(&mut self, set: &[u8]) {
        while self.accept(set) {}
    }

    fn number(&mut self) -> Token {
        if !self.scan_number() {
            return self.bad_number();
        }
        if self.rest().first().is_some_and(|b| matches!(b, b'+' | b'-')) {
            if !self.scan_number() || self.text[self.pos - 1] != b'i' {
                return self.bad_number();
            }
            return self.token(Kind::Complex);
        }
        self.token(Kind::Number)
    }

    fn bad_number(&mut self) -> Token {
        let quoted = gostr::quote(&self.text[self.start..self.pos]);
        self.error(format!("bad number syntax: {}", String::from_utf8_lossy(&quoted)))
    }

    fn scan_number(&mut self) -> bool {
        const DECIMAL: &[u8] = b"0123456789_";
        self.accept(b"+-");
        let mut digits = DECIMAL;
        let mut exponent: &[u8] = b"eE";
        if self.accept(b"0") {
            if self.accept(b"xX") {
                digits = b"0123456789abcdefABCDEF_";
                exponent = b"pP";
            } else if self.accept(b"oO") {
                digits = b"01234567_";
                exponent = b"";
            } else if self.accept(b"bB") {
                digits = b"01_";
                exponent = b"";
            }
        }
        self.accept_run(digits);
        if self.accept(b".") {
            self.accept_run(digits);
        }
        if self.accept(exponent) {
            self.accept(b"+-");
            self.accept_run(DECIMAL);
        }
        self.accept(b"i");
        if self.peek().is_some_and(is_word) {
            self.bump();
            return false;
        }
        true
    }
}

fn left_trim_marker(text: &[u8]) -> bool {
    matches!(text, [b'-', space, ..] if is_space(*space))
}

impl Lexer<'_> {
    /// A token the way error messages show it.
    pub fn show(&self, token: Token) -> String {
        match token.kind {
            Kind::Error => self.failure.as_deref().unwrap_or_default().to_owned(),
            kind => show(kind, self.text.get(token.start as usize..token.end as usize).unwrap_or_default()),
        }
    }
}

fn show(kind: Kind, value: &[u8]) -> String {
    match kind {
        Kind::Eof => "EOF".to_owned(),
        kind if is_keyword(kind) => format!("<{}>", String::from_utf8_lossy(value)),
        _ if value.len() > 10 => {
            let cut = gostr::runes(value).nth(10).map_or(value.len(), |(at, ..)| at);
            format!("{}...", String::from_utf8_lossy(&gostr::quote(&value[..cut])))
        }
        _ => String::from_utf8_lossy(&gostr::quote(value)).into_owned(),
    }
}
