//! Characters to words: what the lexer of BurntSushi/toml sees, and what it says when it does not like it.

mod value;

use crate::unicode;

/// The end of the input. A NUL in the input is an error before anybody sees it.
pub(super) const END: char = '\0';

/// An error before it is known which key was read last.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) line: usize,
    pub(super) message: String,
}

/// A word that stands for a value.
pub(super) enum Word {
    /// The start of a list.
    List,
    /// The start of a table on one line.
    Table,
    /// A string without escapes.
    Verbatim(String),
    /// A string whose escapes are still to be replaced.
    Escaped(String),
    /// A string of several lines, whose escapes are still to be replaced.
    Lines(String),
    /// A string of several lines without escapes.
    RawLines(String),
    Bool(bool),
    Integer(String),
    Float(String),
    Date(String),
}

/// What can stand at the start of a line.
pub(super) enum Top {
    End,
    Table,
    Tables,
    Key,
}

/// A place in the text.
pub(super) struct Lexer<'t> {
    input: &'t [u8],
    /// Where the current word starts.
    start: usize,
    pos: usize,
    pub(super) line: usize,
    line_start: usize,
    /// Line and column (from 1) of the last value or name.
    pub(super) mark: (usize, usize),
    at_end: bool,
}

type Lexed<T> = Result<T, Problem>;

pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r')
}

fn is_bare(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// `%q` of a character.
fn quoted(c: char) -> String {
    let mut text = String::from("'");
    unicode::quote_char(&mut text, c, '\'');
    text.push('\'');
    text
}

fn named(c: char) -> String {
    if c == END { "end of file".to_owned() } else { format!("'{c}'") }
}

impl<'t> Lexer<'t> {
    pub(super) fn new(input: &'t [u8]) -> Self {
        Self { input, start: 0, pos: 0, line: 1, line_start: 0, mark: (1, 1), at_end: false }
    }

    /// Notes that a value or a name starts here.
    fn set_mark(&mut self) {
        self.mark = (self.line, self.pos.saturating_sub(self.line_start) + 1);
    }

    fn next(&mut self) -> Lexed<char> {
        let rest = self.input.get(self.pos..).unwrap_or_default();
        if let Some(byte @ b' '..=b'~') = rest.first() {
            self.pos += 1;
            return Ok(char::from(*byte));
        }
        let Some((c, width)) = unicode::decode(rest) else {
            self.at_end = true;
            return Ok(END);
        };
        if c == char::REPLACEMENT_CHARACTER && width == 1 {
            let byte = rest.first().copied().unwrap_or_default();
            return Err(self.problem(format!("invalid UTF-8 byte: 0x{byte:02x}")));
        }
        let lone_return = c == '\r' && rest.get(1) != Some(&b'\n');
        if lone_return || matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}') {
            let code = c as u32;
            return Err(self.problem(format!("TOML files cannot contain control characters: '0x{code:02x}'")));
        }
        self.pos += width;
        if c == '\n' {
            self.line += 1;
            self.line_start = self.pos;
        }
        Ok(c)
    }

    fn back(&mut self) {
        if std::mem::take(&mut self.at_end) {
            return;
        }
        let before = self.input.get(..self.pos).unwrap_or_default();
        self.pos = before.iter().rposition(|b| b & 0xc0 != 0x80).unwrap_or_default();
        if self.input.get(self.pos) == Some(&b'\n') {
            self.line -= 1;
        }
    }

    pub(super) fn peek(&mut self) -> Lexed<char> {
        let c = self.next()?;
        self.back();
        Ok(c)
    }

    fn accept(&mut self, wanted: char) -> Lexed<bool> {
        let c = self.next()?;
        if c != wanted {
            self.back();
        }
        Ok(c == wanted)
    }

    fn ignore(&mut self) {
        self.start = self.pos;
    }

    fn skip_blanks(&mut self) -> Lexed<()> {
        while is_blank(self.next()?) {}
        self.back();
        self.ignore();
        Ok(())
    }

    fn current(&self) -> &'t [u8] {
        self.input.get(self.start..self.pos).unwrap_or_default()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(self.current()).into_owned()
    }

    fn problem(&self, message: impl Into<String>) -> Problem {
        Problem { line: self.line, message: message.into() }
    }

    /// At the end of the text, what is missing is reported for the line that has ended.
    fn problem_here(&self, message: impl Into<String>) -> Problem {
        let after_line = self.at_end && self.pos > 0 && self.input.get(self.pos - 1) == Some(&b'\n');
        Problem { line: self.line - usize::from(after_line), message: message.into() }
    }

    fn problem_before(&self, message: impl Into<String>) -> Problem {
        Problem { line: self.line.saturating_sub(1), message: message.into() }
    }

    /// Goes to the next line that has something, and says what.
    pub(super) fn top(&mut self) -> Lexed<Top> {
        loop {
            match self.next()? {
                c if is_blank(c) || is_line_end(c) => self.ignore(),
                '#' => self.comment()?,
                '[' => {
                    let list = self.accept('[')?;
                    return Ok(if list { Top::Tables } else { Top::Table });
                }
                END => return Ok(Top::End),
                _ => {
                    self.back();
                    return Ok(Top::Key);
                }
            }
        }
    }

    /// Takes what may follow on a line. Says whether the text goes on.
    pub(super) fn top_end(&mut self) -> Lexed<bool> {
        loop {
            match self.next()? {
                '#' => {
                    self.comment()?;
                    return Ok(true);
                }
                c if is_blank(c) => {}
                c if is_line_end(c) => {
                    self.ignore();
                    return Ok(true);
                }
                END => return Ok(false),
                c => {
                    let got = quoted(c);
                    return Err(self.problem_here(format!(
                        "expected a top-level item to end with a newline, comment, or EOF, but got {got} instead"
                    )));
                }
            }
        }
    }

    fn comment(&mut self) -> Lexed<()> {
        loop {
            let c = self.next()?;
            if is_line_end(c) || c == END {
                self.back();
                self.ignore();
                return Ok(());
            }
        }
    }

    /// Goes to the next part of a table's name.
    pub(super) fn table_name(&mut self) -> Lexed<Word> {
        self.skip_blanks()?;
        match self.peek()? {
            ']' | END => Err(self.problem_here("unexpected end of table name (table names cannot be empty)")),
            '.' => Err(self.problem_here("unexpected table separator (table names cannot be empty)")),
            _ => self.name(),
        }
    }

    /// What follows a part of a table's name: whether there is another part.
    pub(super) fn table_name_end(&mut self) -> Lexed<bool> {
        self.skip_blanks()?;
        match self.next()? {
            '.' => {
                self.ignore();
                Ok(true)
            }
            ']' => Ok(false),
            c => {
                let got = quoted(c);
                Err(self
                    .problem_here(format!("expected '.' or ']' to end table name, but got {got} instead")))
            }
        }
    }

    /// The second bracket after the name of a list of tables.
    pub(super) fn tables_end(&mut self) -> Lexed<()> {
        match self.next()? {
            ']' => Ok(()),
            c => {
                let got = quoted(c);
                Err(self.problem_here(format!(
                    "expected end of table array name delimiter ']', but got {got} instead"
                )))
            }
        }
    }

    pub(super) fn key_start(&mut self) -> Lexed<()> {
        self.skip_blanks()?;
        match self.peek()? {
            '=' | END => Err(self.problem_here("unexpected '=': key name appears blank")),
            '.' => Err(self.problem_here("unexpected '.': keys cannot start with a '.'")),
            _ => Ok(()),
        }
    }

    pub(super) fn key_name(&mut self) -> Lexed<Word> {
        self.skip_blanks()?;
        match self.peek()? {
            '=' | END => Err(self.problem_here("unexpected '='")),
            '.' => Err(self.problem_here("unexpected '.'")),
            _ => self.name(),
        }
    }

    /// What follows a part of a key: whether there is another part.
    pub(super) fn key_name_end(&mut self) -> Lexed<bool> {
        self.skip_blanks()?;
        match self.next()? {
            '.' => {
                self.ignore();
                Ok(true)
            }
            '=' => {
                self.ignore();
                Ok(false)
            }
            END => Err(self.problem_here("unexpected EOF; expected key separator '='")),
            c => {
                let message = format!("expected '.' or '=', but got {} instead", quoted(c));
                Err(if c == '\n' { self.problem_before(message) } else { self.problem_here(message) })
            }
        }
    }

    fn name(&mut self) -> Lexed<Word> {
        self.set_mark();
        self.ignore();
        match self.next()? {
            '"' => {
                self.ignore();
                self.string()
            }
            '\'' => {
                self.ignore();
                self.raw_string()
            }
            c => {
                let mut c = c;
                while is_bare(c) {
                    c = self.next()?;
                }
                self.back();
                Ok(Word::Verbatim(self.text()))
            }
        }
    }

    /// Goes to the next element of a list. Says whether there is one.
    pub(super) fn item(&mut self) -> Lexed<bool> {
        loop {
            match self.next()? {
                c if is_blank(c) || is_line_end(c) => self.ignore(),
                '#' => self.comment()?,
                ',' => return Err(self.problem_here("unexpected comma")),
                ']' => {
                    self.ignore();
                    return Ok(false);
                }
                _ => {
                    self.back();
                    return Ok(true);
                }
            }
        }
    }

    /// What follows an element of a list: whether there may be another.
    pub(super) fn item_end(&mut self) -> Lexed<bool> {
        loop {
            match self.next()? {
                c if is_blank(c) || is_line_end(c) => self.ignore(),
                '#' => self.comment()?,
                c @ (',' | ']') => {
                    self.ignore();
                    return Ok(c == ',');
                }
                c => {
                    let got = named(c);
                    return Err(self.problem_here(format!(
                        "expected a comma (',') or array terminator (']'), but got {got}"
                    )));
                }
            }
        }
    }

    /// Goes to the next entry of a table on one line. Says whether there is one.
    pub(super) fn entry(&mut self) -> Lexed<bool> {
        loop {
            match self.next()? {
                c if is_blank(c) || is_line_end(c) => self.ignore(),
                '#' => self.comment()?,
                ',' => return Err(self.problem_here("unexpected comma")),
                '}' => {
                    self.ignore();
                    return Ok(false);
                }
                _ => {
                    self.back();
                    return Ok(true);
                }
            }
        }
    }

    /// What follows an entry of a table on one line: whether there may be another.
    pub(super) fn entry_end(&mut self) -> Lexed<bool> {
        loop {
            match self.next()? {
                c if is_blank(c) || is_line_end(c) => self.ignore(),
                '#' => self.comment()?,
                ',' => {
                    self.ignore();
                    self.skip_blanks()?;
                    if self.peek()? != '}' {
                        return Ok(true);
                    }
                }
                '}' => {
                    self.ignore();
                    return Ok(false);
                }
                c => {
                    let got = named(c);
                    return Err(self.problem_here(format!(
                        "expected a comma or an inline table terminator '}}', but got {got} instead"
                    )));
                }
            }
        }
    }
}
