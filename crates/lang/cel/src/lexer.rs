//! From characters to tokens.

use std::ops::Range;

use crate::source::Issues;

/// The kinds of tokens, in the order in which lists of expected tokens name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Token {
    Equals,
    NotEquals,
    In,
    Less,
    LessEquals,
    GreaterEquals,
    Greater,
    And,
    Or,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    LeftParen,
    RightParen,
    Dot,
    Comma,
    Minus,
    Exclam,
    Question,
    Colon,
    Plus,
    Star,
    Slash,
    Percent,
    True,
    False,
    Null,
    Float,
    Int,
    Uint,
    String,
    Bytes,
    Identifier,
    EscapedIdentifier,
    End,
}

/// The tokens that are always written alike; longer ones first.
const FIXED: [(&str, Token); 25] = [
    ("==", Token::Equals),
    ("!=", Token::NotEquals),
    ("<=", Token::LessEquals),
    (">=", Token::GreaterEquals),
    ("&&", Token::And),
    ("||", Token::Or),
    ("<", Token::Less),
    (">", Token::Greater),
    ("[", Token::LeftBracket),
    ("]", Token::RightBracket),
    ("{", Token::LeftBrace),
    ("}", Token::RightBrace),
    ("(", Token::LeftParen),
    (")", Token::RightParen),
    (".", Token::Dot),
    (",", Token::Comma),
    ("-", Token::Minus),
    ("!", Token::Exclam),
    ("?", Token::Question),
    (":", Token::Colon),
    ("+", Token::Plus),
    ("*", Token::Star),
    ("/", Token::Slash),
    ("%", Token::Percent),
    ("in", Token::In),
];

/// The words that are tokens of their own.
const WORDS: [(&str, Token); 4] =
    [("in", Token::In), ("true", Token::True), ("false", Token::False), ("null", Token::Null)];

impl Token {
    /// How it is named among expected tokens.
    pub fn name(self) -> String {
        if let Some((text, _)) = FIXED.iter().chain(&WORDS).find(|(_, token)| *token == self) {
            return format!("'{text}'");
        }
        match self {
            Self::Float => "NUM_FLOAT",
            Self::Int => "NUM_INT",
            Self::Uint => "NUM_UINT",
            Self::String => "STRING",
            Self::Bytes => "BYTES",
            Self::Identifier => "IDENTIFIER",
            Self::EscapedIdentifier => "ESC_IDENTIFIER",
            _ => "<EOF>",
        }
        .to_owned()
    }
}

/// A token and where it is.
#[derive(Debug, Clone)]
pub struct Lexeme {
    /// What it is.
    pub token: Token,
    /// Its characters.
    pub range: Range<usize>,
}

/// Splits a text into tokens; the last one is the end. Characters that fit nowhere are reported and left out.
pub fn tokens(text: &[char], issues: &mut Issues) -> Vec<Lexeme> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if let Some(length) = blank(rest) {
            at += length;
            continue;
        }
        match longest(rest) {
            Ok((token, length)) => {
                found.push(Lexeme { token, range: at..at + length });
                at += length;
            }
            Err(read) => {
                let end = (at + read + 1).min(text.len());
                let shown: String = text[at..end].iter().collect();
                let shown = shown.replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r");
                issues.report(
                    u32::try_from(at).ok(),
                    format!("Syntax error: token recognition error at: '{shown}'"),
                );
                at = end;
            }
        }
    }
    found.push(Lexeme { token: Token::End, range: text.len()..text.len() });
    found
}

/// The length of blanks or of a comment at the start.
fn blank(text: &[char]) -> Option<usize> {
    if text.starts_with(&['/', '/']) {
        return Some(text.iter().position(|c| *c == '\n').unwrap_or(text.len()));
    }
    let length = text.iter().take_while(|c| matches!(c, '\t' | ' ' | '\r' | '\n' | '\u{c}')).count();
    (length > 0).then_some(length)
}

fn count(text: &[char], from: usize, fits: impl Fn(char) -> bool) -> usize {
    text.iter().skip(from).take_while(|c| fits(**c)).count()
}

/// The longest token at the start, or how many characters began one that does not end.
fn longest(text: &[char]) -> Result<(Token, usize), usize> {
    let first = text.first().copied().unwrap_or_default();
    let second = text.get(1).copied().unwrap_or_default();
    match first {
        '0'..='9' => Ok(number(text)),
        '.' if second.is_ascii_digit() => Ok(number(text)),
        '"' | '\'' => string(text, 0, false).map(|length| (Token::String, length)),
        'A'..='Z' | 'a'..='z' | '_' => Ok(prefixed_string(text).unwrap_or_else(|| word(text))),
        '`' => {
            let inside = count(text, 1, |c| c.is_ascii_alphanumeric() || "_.-/ ".contains(c));
            match text.get(1 + inside) {
                Some('`') if inside > 0 => Ok((Token::EscapedIdentifier, inside + 2)),
                _ => Err(1 + inside),
            }
        }
        _ => {
            let fits = |fixed: &str| fixed.chars().enumerate().all(|(i, c)| text.get(i) == Some(&c));
            match FIXED.iter().find(|(fixed, _)| fits(fixed)) {
                Some((fixed, token)) => Ok((*token, fixed.len())),
                None => Err(usize::from("=&|".contains(first))),
            }
        }
    }
}

fn word(text: &[char]) -> (Token, usize) {
    let length = count(text, 0, |c| c.is_ascii_alphanumeric() || c == '_');
    let word: String = text.iter().take(length).collect();
    let token = WORDS.iter().find(|(fixed, _)| *fixed == word).map_or(Token::Identifier, |(_, token)| *token);
    (token, length)
}

/// A number; what does not fit behind it is left for the next token.
fn number(text: &[char]) -> (Token, usize) {
    let digit = |c: char| c.is_ascii_digit();
    let unsigned = |length: usize| match text.get(length) {
        Some('u' | 'U') => (Token::Uint, length + 1),
        _ => (Token::Int, length),
    };
    if text.starts_with(&['0', 'x']) {
        let digits = count(text, 2, |c| c.is_ascii_hexdigit());
        if digits > 0 {
            return unsigned(2 + digits);
        }
    }
    let mut length = count(text, 0, digit);
    let mut float = false;
    let fraction = count(text, length + 1, digit);
    if text.get(length) == Some(&'.') && fraction > 0 {
        length += 1 + fraction;
        float = true;
    }
    if matches!(text.get(length), Some('e' | 'E')) {
        let sign = usize::from(matches!(text.get(length + 1), Some('+' | '-')));
        let digits = count(text, length + 1 + sign, digit);
        if digits > 0 {
            length += 1 + sign + digits;
            float = true;
        }
    }
    if float { (Token::Float, length) } else { unsigned(length) }
}

/// A string with letters in front.
fn prefixed_string(text: &[char]) -> Option<(Token, usize)> {
    let mut at = 0;
    let mut token = Token::String;
    if matches!(text.first(), Some('b' | 'B')) {
        at = 1;
        token = Token::Bytes;
    }
    let raw = matches!(text.get(at), Some('r' | 'R'));
    at += usize::from(raw);
    if at == 0 || !matches!(text.get(at), Some('"' | '\'')) {
        return None;
    }
    string(text, at, raw).ok().map(|length| (token, length))
}

/// The end of the string whose quote is at a place, or how far it was read.
fn string(text: &[char], start: usize, raw: bool) -> Result<usize, usize> {
    let quote = text.get(start).copied().unwrap_or_default();
    let triple = [quote; 3];
    if text.get(start..start + 3) == Some(&triple[..]) {
        let mut at = start + 3;
        loop {
            if text.get(at..at + 3) == Some(&triple[..]) {
                return Ok(at + 3);
            }
            match text.get(at) {
                Some('\\') if !raw => match escape(text, at) {
                    Ok(length) => at += length,
                    Err(_) => break,
                },
                Some(_) => at += 1,
                None => break,
            }
        }
        // Without an end, the first two quotes are an empty string.
        return Ok(start + 2);
    }
    let mut at = start + 1;
    loop {
        match text.get(at) {
            Some(c) if *c == quote => return Ok(at + 1),
            Some('\\') if !raw => at += escape(text, at)?,
            None | Some('\n' | '\r') => return Err(at),
            Some(_) => at += 1,
        }
    }
}

/// The length of an escape sequence, or the place that spoils it.
fn escape(text: &[char], at: usize) -> Result<usize, usize> {
    let run = |from: usize, length: usize, fits: fn(&char) -> bool| {
        let good = text.iter().skip(from).take(length).take_while(|c| fits(c)).count();
        if good == length { Ok(from + length - at) } else { Err(from + good) }
    };
    let hex: fn(&char) -> bool = char::is_ascii_hexdigit;
    match text.get(at + 1) {
        Some('a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '"' | '\'' | '\\' | '?' | '`') => Ok(2),
        Some('x' | 'X') => run(at + 2, 2, hex),
        Some('u') => run(at + 2, 4, hex),
        Some('U') => run(at + 2, 8, hex),
        Some('0'..='3') => run(at + 2, 2, |c| ('0'..='7').contains(c)),
        _ => Err(at + 1),
    }
}
