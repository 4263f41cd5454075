//! The text of an expression, places in it, and what is wrong with it.

use std::fmt;

/// A place of an expression: a character, counted from the start. None is a place outside of the text.
pub type Place = Option<u32>;

/// The problems that are told at most.
const MOST_ISSUES: usize = 100;
/// Lines that are longer, in bytes, are not shown below a problem.
const LONGEST_SNIPPET: usize = 16_384;

/// One problem of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// Where it is.
    pub place: Place,
    /// What it is.
    pub message: String,
}

/// The problems of an expression, in the order of their places.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Issues {
    text: String,
    list: Vec<Issue>,
    count: usize,
}

impl Issues {
    /// No problem yet.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), list: Vec::new(), count: 0 }
    }

    /// Adds a problem.
    pub fn report(&mut self, place: Place, message: impl Into<String>) {
        self.count += 1;
        if self.list.len() < MOST_ISSUES {
            self.list.push(Issue { place, message: message.into() });
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The problems as they were found.
    pub fn list(&self) -> &[Issue] {
        &self.list
    }
}

/// The line, from 1, and the column, from 0, of a place; and the line's text.
fn locate(text: &str, place: Place) -> Option<(usize, usize, &str)> {
    let place = place? as usize;
    let mut seen = 0;
    let mut number = 1;
    let mut rest = text;
    loop {
        let (line, tail) = rest.split_once('\n').map_or((rest, None), |(line, tail)| (line, Some(tail)));
        let length = line.chars().count();
        match tail {
            Some(tail) if place > seen + length => {
                seen += length + 1;
                number += 1;
                rest = tail;
            }
            _ => return Some((number, place - seen, line)),
        }
    }
}

impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ordered: Vec<_> = self.list.iter().collect();
        ordered.sort_by_key(|issue| issue.place.map_or(-1, i64::from));
        for (index, issue) in ordered.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            let Some((line, column, text)) = locate(&self.text, issue.place) else {
                write!(f, "ERROR: <input>:-1:0: {}", issue.message)?;
                continue;
            };
            write!(f, "ERROR: <input>:{line}:{}: {}", column + 1, issue.message)?;
            if self.text.is_empty() || text.len() > LONGEST_SNIPPET {
                continue;
            }
            let text = text.replace('\t', " ");
            write!(f, "\n | {text}\n | ")?;
            // Wide characters get wide marks below them.
            let mut characters = text.chars();
            for character in characters.by_ref().take(column) {
                f.write_str(if character.is_ascii() { "." } else { "\u{ff0e}" })?;
            }
            f.write_str(if characters.next().is_none_or(|c| c.is_ascii()) { "^" } else { "\u{ff3e}" })?;
        }
        if self.count > self.list.len() {
            write!(f, "\n{} more errors were truncated", self.count - self.list.len())?;
        }
        Ok(())
    }
}
