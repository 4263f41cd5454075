//! From the text of a pattern to its tree.

use super::{Error, MAX_PARTS};

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ast {
    Text(String),
    /// `*`
    Any,
    /// `**`
    Super,
    /// `?`
    Single,
    /// `[abc]`, `[!abc]`
    List {
        not: bool,
        chars: Vec<char>,
    },
    /// `[a-z]`, `[!a-z]`
    Range {
        not: bool,
        lo: char,
        hi: char,
    },
    /// `{…,…}`: each alternative is a sequence.
    AnyOf(Vec<Vec<Ast>>),
    /// A sequence inside a sequence: what factoring out the common ends of alternatives leaves.
    Sequence(Vec<Ast>),
}

struct Lexer<'a> {
    rest: std::str::Chars<'a>,
}

impl Lexer<'_> {
    /// The next character. NUL looks like the end, and U+FFFD counts as damaged text.
    fn peek(&self) -> Result<Option<char>, Error> {
        match self.rest.clone().next() {
            Some('\0') | None => Ok(None),
            Some(char::REPLACEMENT_CHARACTER) => Err(Error::Syntax),
            some => Ok(some),
        }
    }

    fn next(&mut self) -> Result<Option<char>, Error> {
        let c = self.peek()?;
        if c.is_some() {
            self.rest.next();
        }
        Ok(c)
    }

    /// Plain text up to one of the characters that end it; a backslash takes the next character as it is.
    fn text(&mut self, ends: &[char]) -> Result<String, Error> {
        let mut text = String::new();
        let mut escaped = false;
        loop {
            let Some(c) = self.peek()? else {
                // A NUL ends the text, but not what comes after it.
                self.rest.next();
                break;
            };
            if !escaped && c != '\\' && ends.contains(&c) {
                break;
            }
            self.rest.next();
            if !escaped && c == '\\' {
                escaped = true;
                continue;
            }
            escaped = false;
            text.push(c);
        }
        Ok(text)
    }

    /// What follows `[`.
    fn range(&mut self) -> Result<Ast, Error> {
        let mut start = self.rest.clone();
        let mut first = self.next()?.ok_or(Error::Syntax)?;
        let not = first == '!';
        if not {
            start = self.rest.clone();
            first = self.next()?.ok_or(Error::Syntax)?;
        }
        if self.peek()? == Some('-') {
            self.rest.next();
            let hi = self.next()?.ok_or(Error::Syntax)?;
            self.close()?;
            return if hi < first { Err(Error::Syntax) } else { Ok(Ast::Range { not, lo: first, hi }) };
        }
        self.rest = start;
        let chars: Vec<char> = self.text(&[']'])?.chars().collect();
        self.close()?;
        if chars.is_empty() { Err(Error::Syntax) } else { Ok(Ast::List { not, chars }) }
    }

    fn close(&mut self) -> Result<(), Error> {
        if self.next()? == Some(']') { Ok(()) } else { Err(Error::Syntax) }
    }
}

const ENDS_OUTSIDE: &[char] = &['?', '*', '[', '{'];
const ENDS_INSIDE: &[char] = &['?', '*', '[', '{', '}', ','];

/// Parses a pattern into a sequence. Braces that are never closed are closed by the end.
pub(super) fn parse(pattern: &str) -> Result<Vec<Ast>, Error> {
    let mut lexer = Lexer { rest: pattern.chars() };
    // The sequences that are open, outermost first, each with the alternatives that came before it.
    let mut open: Vec<(Vec<Vec<Ast>>, Vec<Ast>)> = Vec::new();
    let mut current = Vec::new();
    let mut parts = 0usize;
    while let Some(c) = lexer.peek()? {
        parts += 1;
        if parts > MAX_PARTS {
            return Err(Error::TooManyParts);
        }
        if !matches!(c, '{' | '?' | '*' | '[') && (open.is_empty() || !matches!(c, ',' | '}')) {
            let text = lexer.text(if open.is_empty() { ENDS_OUTSIDE } else { ENDS_INSIDE })?;
            if !text.is_empty() {
                current.push(Ast::Text(text));
            }
            continue;
        }
        lexer.next()?;
        match c {
            '{' => open.push((Vec::new(), std::mem::take(&mut current))),
            ',' => {
                if let Some((alternatives, _)) = open.last_mut() {
                    alternatives.push(std::mem::take(&mut current));
                }
            }
            '}' => current = close_braces(&mut open, current),
            '[' => {
                let range = lexer.range()?;
                current.push(range);
            }
            '?' => current.push(Ast::Single),
            _ if lexer.peek()? == Some('*') => {
                lexer.next()?;
                current.push(Ast::Super);
            }
            _ => current.push(Ast::Any),
        }
    }
    while !open.is_empty() {
        current = close_braces(&mut open, current);
    }
    Ok(current)
}

fn close_braces(open: &mut Vec<(Vec<Vec<Ast>>, Vec<Ast>)>, last: Vec<Ast>) -> Vec<Ast> {
    let (mut alternatives, mut outer) = open.pop().unwrap_or_default();
    alternatives.push(last);
    outer.push(Ast::AnyOf(alternatives));
    outer
}
