//! A way around the tokens for the usual lines of block collections: `key: value`, `key:` and `- `.
//!
//! Nothing here decides anything anew. It does at once what the scanner and parser would do step by step, and declines
//! whatever is not plain to see.

use super::cursor::{BLANK, COLON, LINE};
use super::error::{Mark, Outcome};
use super::scan::{MAX_DEPTH, MAX_KEY, Scanner};
use super::token::{Form, Scalar};

/// What comes next, if it is plain to see.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// A plain key, up to this offset, in the innermost block collection.
    Key(usize),
    /// A plain key further right, which starts a block mapping.
    Mapping(usize),
    /// A `-` in the column of the innermost block collection.
    Item,
    /// A `-` further right, which starts a block sequence.
    Sequence,
    /// The innermost block collection ends.
    End,
    Unclear,
}

impl Scanner<'_> {
    /// Moves to the next token and says what it is.
    pub fn quick_look(&mut self) -> Next {
        if !self.queue.is_empty() || !self.cursor.is_usual() || self.flow() > 0 || self.skip_gap().is_err() {
            return Next::Unclear;
        }
        let first = self.cursor.peek(0);
        let column = Some(self.cursor.column());
        if column < self.indent && first != 0 {
            return Next::End;
        }
        let guessed = self.guesses.last().is_none_or(|guess| guess.possible && guess.required);
        if !self.key_allowed || guessed || self.indents.len() >= MAX_DEPTH {
            return Next::Unclear;
        }
        let inside = column == self.indent;
        match first {
            b'-' if self.cursor.peek(1) == b' ' => {
                if inside {
                    Next::Item
                } else {
                    Next::Sequence
                }
            }
            _ if is_simple(first) => {
                let end = self.cursor.plain_run(LINE | BLANK | COLON);
                if self.cursor.text.get(end) != Some(&b':') || end - self.cursor.at > MAX_KEY {
                    Next::Unclear
                } else if inside {
                    Next::Key(end)
                } else {
                    Next::Mapping(end)
                }
            }
            _ => Next::Unclear,
        }
    }

    /// Starts a block collection at the place that was looked at.
    pub fn quick_open(&mut self) {
        self.indents.push(self.indent);
        self.indent = Some(self.cursor.column());
    }

    /// Ends the innermost block collection.
    pub fn quick_close(&mut self) {
        self.indent = self.indents.pop().flatten();
    }

    /// Takes the `-` that was looked at.
    pub fn quick_item(&mut self) {
        self.quick_forget();
        self.cursor.skip(1);
    }

    /// Takes the key that was looked at, and its `:`.
    pub fn quick_key(&mut self, end: usize) -> Scalar {
        self.quick_forget();
        let from = self.cursor.at;
        self.cursor.advance_to(end);
        self.cursor.skip(1);
        self.key_allowed = false;
        Scalar::new(from, end, Form::Verbatim, true)
    }

    /// Takes the scalar behind a quick key, if it is on the same line and has no anchor and no tag.
    pub fn quick_value(&mut self) -> Outcome<Option<(Scalar, Mark)>> {
        if self.cursor.peek(0) != b' ' {
            return Ok(None);
        }
        self.cursor.skip(1);
        let first = self.cursor.peek(0);
        let mark = self.cursor.mark();
        let scalar = match first {
            b'"' => self.scan_double()?,
            b'\'' => self.scan_single()?,
            _ if is_simple(first) => self.scan_plain()?,
            _ => return Ok(None),
        };
        Ok(Some((scalar, mark)))
    }

    /// What might have been a key was none.
    fn quick_forget(&mut self) {
        if let Some(guess) = self.guesses.last_mut() {
            guess.possible = false;
        }
    }
}

/// Whether a plain scalar may start with the byte, whatever comes next.
fn is_simple(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'/' | b'$' | b'(' | b')')
}
