//! Words that stand for values.

use super::{END, Lexed, Lexer, Word, is_line_end, quoted};
use crate::unicode::{self, is_letter};

impl Lexer<'_> {
    /// The word that stands for a value.
    pub(in crate::toml) fn value(&mut self) -> Lexed<Word> {
        self.skip_blanks()?;
        self.set_mark();
        let c = self.next()?;
        match c {
            '0'..='9' => return self.number_or_date(c),
            '[' => {
                self.ignore();
                return Ok(Word::List);
            }
            '{' => {
                self.ignore();
                return Ok(Word::Table);
            }
            '"' | '\'' => return self.any_string(c),
            '.' => return Err(self.problem_here("floats must start with a digit, not '.'")),
            // As in Go, what was taken before a letter did not fit stays taken.
            'i' | 'n' if self.accept_special()? => return Ok(Word::Float(self.text())),
            '-' | '+' => return self.signed(),
            _ => {}
        }
        if is_letter(c) {
            self.back();
            return self.bool();
        }
        if c == END {
            return Err(self.problem_here("unexpected EOF; expected value"));
        }
        let message = format!("expected value but found {} instead", quoted(c));
        Err(if c == '\n' { self.problem_before(message) } else { self.problem_here(message) })
    }

    /// The rest of `inf` or `nan`.
    fn accept_special(&mut self) -> Lexed<bool> {
        Ok((self.accept('n')? && self.accept('f')?) || (self.accept('a')? && self.accept('n')?))
    }

    fn any_string(&mut self, mark: char) -> Lexed<Word> {
        let mut long = false;
        if self.accept(mark)? {
            long = self.accept(mark)?;
            if !long {
                self.back();
            }
        }
        self.ignore();
        match (mark, long) {
            ('"', true) => self.lines(mark).map(Word::Lines),
            (_, true) => self.lines(mark).map(Word::RawLines),
            ('"', false) => self.string(),
            (_, false) => self.raw_string(),
        }
    }

    /// A string after its quotation mark.
    pub(super) fn string(&mut self) -> Lexed<Word> {
        let mut escapes = false;
        loop {
            match self.next()? {
                END => return Err(self.problem_here("unexpected EOF; expected '\"'")),
                c if is_line_end(c) => return Err(self.problem_before("strings cannot contain newlines")),
                '\\' => {
                    escapes = true;
                    self.escape()?;
                }
                '"' => break,
                _ => {}
            }
        }
        let text = self.without_mark(1);
        Ok(if escapes { Word::Escaped(text) } else { Word::Verbatim(text) })
    }

    pub(super) fn raw_string(&mut self) -> Lexed<Word> {
        loop {
            match self.next()? {
                END => return Err(self.problem_here("unexpected EOF; expected \"'\"")),
                c if is_line_end(c) => return Err(self.problem_before("strings cannot contain newlines")),
                '\'' => return Ok(Word::Verbatim(self.without_mark(1))),
                _ => {}
            }
        }
    }

    /// The word without the quotation marks at its end.
    fn without_mark(&mut self, marks: usize) -> String {
        let current = self.current();
        let text =
            String::from_utf8_lossy(current.get(..current.len() - marks).unwrap_or_default()).into_owned();
        self.ignore();
        text
    }

    /// A string of several lines after its quotation marks. It may end in one or two more of them than it needs.
    fn lines(&mut self, mark: char) -> Lexed<String> {
        let three = String::from(mark).repeat(3);
        loop {
            let c = self.next()?;
            if c == END {
                let expected = if mark == '"' { format!("'{three}'") } else { format!("\"{three}\"") };
                return Err(self.problem_here(format!("unexpected EOF; expected {expected}")));
            }
            if c == '\\' && mark == '"' {
                if !is_line_end(self.next()?) {
                    self.back();
                    self.escape()?;
                }
                continue;
            }
            if c != mark || !self.accept(mark)? {
                continue;
            }
            if !self.accept(mark)? {
                self.back();
                continue;
            }
            if self.peek()? != mark {
                return Ok(self.without_mark(3));
            }
            let five = three.repeat(2).split_off(1);
            let escaped = mark == '"' && self.current().ends_with(format!("\\{five}").as_bytes());
            if self.current().ends_with(five.as_bytes()) && !escaped {
                let six = three.repeat(2);
                let shown = if mark == '"' { format!("'{six}'") } else { format!("\"{six}\"") };
                return Err(self.problem_here(format!("unexpected {shown}")));
            }
            self.back();
            self.back();
        }
    }

    fn escape(&mut self) -> Lexed<()> {
        let (digits, name) = match self.next()? {
            'e' | 'b' | 't' | 'n' | 'f' | 'r' | '"' | ' ' | '\t' | '\\' => return Ok(()),
            'x' => (2, "two hexadecimal digits after '\\x'"),
            'u' => (4, "four hexadecimal digits after '\\u'"),
            'U' => (8, "eight hexadecimal digits after '\\U'"),
            c => {
                let message = format!("invalid escape in string '\\{c}'");
                return Err(if self.at_end { self.problem_before(message) } else { self.problem(message) });
            }
        };
        for _ in 0..digits {
            if !self.next()?.is_ascii_hexdigit() {
                let mut message = format!("expected {name}, but got ");
                unicode::quote(&mut message, self.current());
                message.push_str(" instead");
                return Err(self.problem_here(message));
            }
        }
        Ok(())
    }

    /// A value that starts with a digit.
    fn number_or_date(&mut self, first: char) -> Lexed<Word> {
        if first == '0' {
            match self.next()? {
                '0'..='9' => {}
                '_' => return self.decimal(),
                '.' | 'e' | 'E' => return self.float(),
                'b' => return self.based("a binary", |c| matches!(c, '0' | '1')),
                'o' => return self.based("an octal", |c| matches!(c, '0'..='7')),
                'x' => return self.based("a hexadecimal", |c| c.is_ascii_hexdigit()),
                _ => {
                    self.back();
                    return Ok(Word::Integer(self.text()));
                }
            }
        }
        loop {
            match self.next()? {
                '0'..='9' => {}
                '-' | ':' => return self.date(),
                '_' => return self.decimal(),
                '.' | 'e' | 'E' => return self.float(),
                _ => {
                    self.back();
                    return Ok(Word::Integer(self.text()));
                }
            }
        }
    }

    fn date(&mut self) -> Lexed<Word> {
        while matches!(self.next()?, '0'..='9' | '-' | ':' | 'T' | 't' | ' ' | '.' | 'Z' | 'z' | '+') {}
        self.back();
        Ok(Word::Date(self.text().trim().to_owned()))
    }

    fn based(&mut self, name: &str, is_digit: impl Fn(char) -> bool) -> Lexed<Word> {
        let c = self.peek()?;
        if !is_digit(c) {
            return Err(self.problem_here(format!("not {name} number: '{}{c}'", self.text())));
        }
        loop {
            let c = self.next()?;
            if !is_digit(c) && c != '_' {
                self.back();
                return Ok(Word::Integer(self.text()));
            }
        }
    }

    fn decimal(&mut self) -> Lexed<Word> {
        loop {
            match self.next()? {
                '0'..='9' | '_' => {}
                '.' | 'e' | 'E' => return self.float(),
                _ => {
                    self.back();
                    return Ok(Word::Integer(self.text()));
                }
            }
        }
    }

    fn float(&mut self) -> Lexed<Word> {
        while matches!(self.next()?, '0'..='9' | '_' | '.' | '-' | '+' | 'e' | 'E') {}
        self.back();
        Ok(Word::Float(self.text()))
    }

    /// A number after its sign.
    fn signed(&mut self) -> Lexed<Word> {
        let c = self.next()?;
        let rest = match c {
            'i' => ['n', 'f'],
            'n' => ['a', 'n'],
            '.' => return Err(self.problem_here("floats must start with a digit, not '.'")),
            '0'..='9' => {
                if c == '0' {
                    let next = self.peek()?;
                    if matches!(next, 'b' | 'o' | 'x') {
                        let message =
                            format!("cannot use sign with non-decimal numbers: '{}{next}'", self.text());
                        return Err(self.problem_here(message));
                    }
                }
                return self.decimal();
            }
            c => return Err(self.problem_here(format!("expected a digit but got {}", quoted(c)))),
        };
        for letter in rest {
            if !self.accept(letter)? {
                return Err(self.problem_here(format!("invalid float: '{}'", self.text())));
            }
        }
        Ok(Word::Float(self.text()))
    }

    fn bool(&mut self) -> Lexed<Word> {
        let start = self.pos;
        while is_letter(self.next()?) {}
        self.back();
        match self.input.get(start..self.pos).unwrap_or_default() {
            b"true" => Ok(Word::Bool(true)),
            b"false" => Ok(Word::Bool(false)),
            word => {
                let mut message = String::from("expected value but found ");
                unicode::quote(&mut message, word);
                message.push_str(" instead");
                Err(self.problem_here(message))
            }
        }
    }
}
