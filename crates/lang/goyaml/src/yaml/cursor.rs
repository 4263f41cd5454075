//! A place in the text that moves forward, and knows its line and column.

use super::error::{Fault, Mark, Outcome};
use super::input::{Input, Loads};

/// Classes of bytes, as bits of [`class`].
pub(super) const LINE: u8 = 1;
pub(super) const BLANK: u8 = 2;
pub(super) const COLON: u8 = 4;
pub(super) const FLOW: u8 = 8;
pub(super) const WORD: u8 = 16;
pub(super) const URI: u8 = 32;
pub(super) const QUOTE: u8 = 64;
pub(super) const BACKSLASH: u8 = 128;

/// The classes of a byte. A byte of class [`LINE`] is a line break or may start one of more than one byte.
pub(super) fn class(byte: u8) -> u8 {
    CLASSES[byte as usize]
}

static CLASSES: [u8; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = match i as u8 {
            b'\n' | b'\r' | 0xc2 | 0xe2 => LINE,
            b' ' | b'\t' => BLANK,
            b':' => COLON | URI,
            b'\'' => QUOTE | URI,
            b'"' => QUOTE,
            b'\\' => BACKSLASH,
            b',' | b'?' | b'[' | b']' => FLOW | URI,
            b'{' | b'}' => FLOW,
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'-' => WORD | URI,
            b';' | b'/' | b'@' | b'&' | b'=' | b'+' | b'$' | b'.' | b'!' | b'~' | b'*' | b'(' | b')'
            | b'%' => URI,
            _ => 0,
        };
        i += 1;
    }
    table
};

/// How many bytes the line break at `at` has; 0 if there is none.
pub(super) fn break_len(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(b'\n') => 1,
        Some(b'\r') => 1 + usize::from(text.get(at + 1) == Some(&b'\n')),
        Some(0xc2) if text.get(at + 1) == Some(&0x85) => 2,
        Some(0xe2) if matches!(text.get(at + 1..at + 3), Some([0x80, 0xa8 | 0xa9])) => 3,
        _ => 0,
    }
}

/// The offset of the next line break at or after `at`, or the end of the text.
pub(super) fn line_end(text: &[u8], mut at: usize) -> usize {
    loop {
        match text.get(at..).and_then(|rest| rest.iter().position(|&b| class(b) & LINE != 0)) {
            None => return text.len().max(at),
            Some(found) => at += found,
        }
        if break_len(text, at) > 0 {
            return at;
        }
        at += 1;
    }
}

/// The moving place.
pub(super) struct Cursor<'t> {
    pub text: &'t [u8],
    pub at: usize,
    pub line: u32,
    line_start: usize,
    ascii: bool,
    /// Bytes before `at` that start no character, and how many of them were before this line.
    inner: usize,
    inner_before_line: usize,
    /// Up to here the text has arrived, as far as go-yaml is concerned.
    arrived: usize,
    loading: Option<Loading<'t>>,
    /// Where the text ended, if the line was ended there by force.
    end: Option<Mark>,
}

/// The state of go-yaml's buffer while it reads an unusual text.
struct Loading<'t> {
    loads: &'t Loads,
    next: usize,
    /// Where the buffer starts.
    start: usize,
    /// How many zero bytes were put behind the end of the text.
    zeros: usize,
}

impl<'t> Cursor<'t> {
    pub fn new(input: &'t Input<'_>) -> Self {
        let loading = input.loads.as_ref().map(|loads| Loading { loads, next: 0, start: 0, zeros: 0 });
        Self {
            text: &input.text,
            at: 0,
            line: 0,
            line_start: 0,
            ascii: input.ascii,
            inner: 0,
            inner_before_line: 0,
            arrived: if loading.is_some() { 0 } else { usize::MAX },
            loading,
            end: None,
        }
    }

    /// The byte `ahead` of the place, or 0 at the end: no text holds a zero byte.
    pub fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or_default()
    }

    /// Whether there is a line break `ahead` of the place.
    pub fn is_break(&self, ahead: usize) -> bool {
        class(self.peek(ahead)) & LINE != 0 && break_len(self.text, self.at + ahead) > 0
    }

    /// Whether there is a space, a tab, a line break or the end `ahead` of the place.
    pub fn is_gap(&self, ahead: usize) -> bool {
        let byte = self.peek(ahead);
        byte == 0 || class(byte) & BLANK != 0 || self.is_break(ahead)
    }

    /// Whether the place is the first of its line.
    pub fn is_line_start(&self) -> bool {
        self.at == self.line_start
    }

    /// The column in characters, from 0.
    pub fn column(&self) -> usize {
        self.at - self.line_start - (self.inner - self.inner_before_line)
    }

    /// The offset in characters.
    pub fn index(&self) -> usize {
        self.at - self.inner
    }

    pub fn mark(&self) -> Mark {
        let column = u32::try_from(self.at - self.line_start).unwrap_or(u32::MAX);
        Mark { line: self.line, column }
    }

    /// The end of the characters without gap that belong to a plain scalar. It is behind the place unless one of the
    /// classes `stops` is right there.
    pub fn plain_run(&self, stops: u8) -> usize {
        let text = self.text;
        let mut at = self.at;
        loop {
            let Some(found) =
                text.get(at..).and_then(|rest| rest.iter().position(|&b| class(b) & stops != 0))
            else {
                return text.len().max(at);
            };
            at += found;
            let ahead = at - self.at;
            let ends = match self.peek(ahead) {
                b':' => self.is_gap(ahead + 1),
                0xc2 | 0xe2 => self.is_break(ahead),
                _ => true,
            };
            if ends {
                return at;
            }
            at += 1;
        }
    }

    /// Whether all of the text is there from the start.
    pub fn is_usual(&self) -> bool {
        self.loading.is_none()
    }

    /// Moves on within the line.
    pub fn advance_to(&mut self, to: usize) {
        if !self.ascii {
            let passed = self.text.get(self.at..to).unwrap_or_default();
            self.inner += passed.iter().filter(|&&b| b & 0xc0 == 0x80).count();
        }
        self.at = to;
    }

    /// Moves over one-byte characters.
    pub fn skip(&mut self, count: usize) {
        self.at += count;
    }

    /// Moves over a line break, if there is one.
    pub fn skip_break(&mut self) {
        let len = break_len(self.text, self.at);
        if len > 0 {
            self.advance_to(self.at + len);
            self.line = self.line.saturating_add(1);
            self.line_start = self.at;
            self.inner_before_line = self.inner;
        }
    }

    /// Moves over spaces and tabs.
    pub fn skip_blanks(&mut self) -> Outcome<()> {
        while class(self.peek(0)) & BLANK != 0 {
            self.at += 1;
            self.need(1)?;
        }
        Ok(())
    }

    /// Moves to the next line break or to the end.
    pub fn skip_line_rest(&mut self) -> Outcome<()> {
        self.advance_to(line_end(self.text, self.at));
        self.need(1)
    }

    /// The end of the text counts as the end of its last line.
    pub fn end_line(&mut self) {
        if !self.is_line_start() {
            self.end = Some(self.mark());
            self.line = self.line.saturating_add(1);
            self.line_start = self.at;
            self.inner_before_line = self.inner;
        }
    }

    /// A failure of the scanner at this place.
    pub fn fault(&self, problem: &str) -> Box<Fault> {
        let text = if self.line == 0 {
            format!("yaml: {problem}")
        } else {
            format!("yaml: line {}: {problem}", self.line + 1)
        };
        Fault::new(text, self.place(self.mark()))
    }

    /// A failure of the parser at an earlier place. The line in the text is one less than the user's, as in Go.
    pub fn fault_at(&self, mark: Mark, problem: &str) -> Box<Fault> {
        let text = if mark.line == 0 {
            format!("yaml: {problem}")
        } else {
            format!("yaml: line {}: {problem}", mark.line)
        };
        Fault::new(text, self.place(mark))
    }

    /// The place to show to a user: one that exists.
    fn place(&self, mark: Mark) -> Mark {
        self.end.filter(|end| end.line < mark.line).unwrap_or(mark)
    }

    /// Says that `count` characters will be looked at. Fails if one of them cannot be.
    ///
    /// In loops that look ahead after each step, asking once after the loop is the same.
    #[inline]
    pub fn need(&mut self, count: usize) -> Outcome<()> {
        // A character has at most four bytes.
        if self.at + count * 4 <= self.arrived { Ok(()) } else { self.load(count) }
    }

    #[cold]
    fn load(&mut self, count: usize) -> Outcome<()> {
        let Some(loading) = &mut self.loading else { return Ok(()) };
        let len = self.text.len();
        loop {
            let rest = self.text.get(self.at..self.arrived).unwrap_or_default();
            let unread = rest.iter().filter(|&&b| b & 0xc0 != 0x80).count()
                + loading.zeros.saturating_sub(self.at.saturating_sub(len));
            if unread >= count {
                return Ok(());
            }
            // With each load, what was not read yet moves to the start of the buffer. A loop that asks for two
            // characters only at its end may have passed the place at which go-yaml asked: the last character.
            let arrived = self.text.get(..self.arrived).unwrap_or_default();
            let last = 1 + arrived.iter().rev().take_while(|&&b| b & 0xc0 == 0x80).count();
            let asked = if count == 2 { self.arrived.saturating_sub(last) } else { self.arrived };
            loading.start = self.at.min(asked);
            if let Some(&end) = loading.loads.ends.get(loading.next) {
                loading.next += 1;
                self.arrived = end;
            } else if let Some(failure) = &loading.loads.failure {
                let mark = Mark { line: failure.line, column: failure.column };
                return Err(Fault::new(format!("yaml: {}", failure.problem), mark));
            } else {
                loading.zeros += 1;
                loading.start = self.at;
                return Ok(());
            }
        }
    }

    /// Moves over a character at the start of a line if go-yaml takes it for a byte order mark: it looks at the start
    /// of its buffer instead of the character.
    pub fn skip_bom(&mut self) {
        let Some(loading) = &self.loading else { return };
        if self.is_line_start()
            && self.text.get(loading.start..).is_some_and(|t| t.starts_with(b"\xef\xbb\xbf"))
        {
            let width = match self.peek(0) {
                0..0x80 => 1,
                0x80..0xe0 => 2,
                0xe0..0xf0 => 3,
                _ => 4,
            };
            self.advance_to(self.at + width);
        }
    }
}
