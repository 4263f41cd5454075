//! Where scalars end, and whether they are well formed. Their text is put together later, in `cook`.

use super::cursor::{BACKSLASH, BLANK, COLON, FLOW, LINE, QUOTE, class, line_end};
use super::error::Outcome;
use super::scan::Scanner;
use super::token::{Chomp, Form, Scalar};

impl Scanner<'_> {
    /// A scalar without quotation marks.
    pub(super) fn scan_plain(&mut self) -> Outcome<Scalar> {
        let from = self.cursor.at;
        let least_column = self.content_column();
        let flow = self.flow() > 0;
        let stops = if flow { LINE | BLANK | COLON | FLOW } else { LINE | BLANK | COLON };
        let mut to = from;
        let mut form = Form::Verbatim;
        // Whether a line break came after the last character of the scalar.
        let mut broken = false;
        loop {
            self.cursor.need(4)?;
            if self.cursor.is_line_start() && self.at_document_mark() {
                break;
            }
            if self.cursor.peek(0) == b'#' {
                break;
            }
            let end = self.cursor.plain_run(stops);
            if end > self.cursor.at {
                if broken {
                    form = Form::Plain;
                    broken = false;
                }
                self.cursor.advance_to(end);
                to = end;
                self.cursor.need(2)?;
            }
            if self.cursor.peek(0) == 0 || !self.cursor.is_gap(0) {
                break;
            }
            loop {
                match self.cursor.peek(0) {
                    b'\t' if broken && self.cursor.column() < least_column => {
                        return Err(self.cursor.fault("found a tab character that violates indentation"));
                    }
                    b' ' | b'\t' => self.cursor.skip(1),
                    _ if self.cursor.is_break(0) => {
                        self.cursor.need(2)?;
                        self.cursor.skip_break();
                        broken = true;
                    }
                    _ => break,
                }
                self.cursor.need(1)?;
            }
            if !flow && self.cursor.column() < least_column {
                break;
            }
        }
        if broken {
            self.key_allowed = true;
        }
        Ok(Scalar::new(from, to, form, true))
    }

    /// A scalar in single quotation marks.
    pub(super) fn scan_single(&mut self) -> Outcome<Scalar> {
        self.scan_quoted(Form::Single, b'\'', LINE | BLANK | QUOTE)
    }

    /// A scalar in double quotation marks.
    pub(super) fn scan_double(&mut self) -> Outcome<Scalar> {
        self.scan_quoted(Form::Double, b'"', LINE | BLANK | QUOTE | BACKSLASH)
    }

    fn scan_quoted(&mut self, quoted: Form, quote: u8, stops: u8) -> Outcome<Scalar> {
        self.cursor.skip(1);
        let from = self.cursor.at;
        let mut form = Form::Verbatim;
        loop {
            self.cursor.need(4)?;
            if self.cursor.is_line_start() && self.at_document_mark() {
                return Err(self.cursor.fault("found unexpected document indicator"));
            }
            if self.cursor.peek(0) == 0 {
                return Err(self.cursor.fault("found unexpected end of stream"));
            }
            if self.quoted_run(quote, stops)? {
                form = quoted;
            }
            self.cursor.need(1)?;
            if self.cursor.peek(0) == quote {
                break;
            }
            loop {
                match self.cursor.peek(0) {
                    b' ' | b'\t' => self.cursor.skip(1),
                    _ if self.cursor.is_break(0) => {
                        self.cursor.need(2)?;
                        self.cursor.skip_break();
                        form = quoted;
                    }
                    _ => break,
                }
                self.cursor.need(1)?;
            }
        }
        let to = self.cursor.at;
        self.cursor.skip(1);
        Ok(Scalar::new(from, to, form, false))
    }

    /// Moves over characters without gap in a quoted scalar, and over a line break that is escaped. Says whether there
    /// was an escape.
    fn quoted_run(&mut self, quote: u8, stops: u8) -> Outcome<bool> {
        let text = self.cursor.text;
        let mut escaped = false;
        loop {
            let mut at = self.cursor.at;
            let stop = loop {
                let rest = text.get(at..).unwrap_or_default();
                let Some(found) = rest.iter().position(|&b| class(b) & stops != 0) else {
                    at = text.len().max(at);
                    break 0;
                };
                at += found;
                let byte = text.get(at).copied().unwrap_or_default();
                match byte {
                    // The other kind of quotation mark, or the start of a character that is no line break.
                    b'\'' | b'"' if byte != quote => {}
                    0xc2 | 0xe2 if !self.cursor.is_break(at - self.cursor.at) => {}
                    _ => break byte,
                }
                at += 1;
            };
            if at > self.cursor.at {
                self.cursor.advance_to(at);
                self.cursor.need(2)?;
            }
            match stop {
                b'\'' if self.cursor.peek(1) == b'\'' => self.cursor.skip(2),
                b'\\' if self.cursor.is_break(1) => {
                    self.cursor.need(3)?;
                    self.cursor.skip(1);
                    self.cursor.skip_break();
                    return Ok(true);
                }
                b'\\' => self.scan_escape()?,
                _ => return Ok(escaped),
            }
            escaped = true;
            self.cursor.need(2)?;
        }
    }

    /// Moves over an escape sequence of a double-quoted scalar.
    fn scan_escape(&mut self) -> Outcome<()> {
        let digits = match self.cursor.peek(1) {
            b'0' | b'a' | b'b' | b't' | b'\t' | b'n' | b'v' | b'f' | b'r' | b'e' | b' ' | b'"' | b'\''
            | b'\\' | b'N' | b'_' | b'L' | b'P' => 0,
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            _ => return Err(self.cursor.fault("found unknown escape character")),
        };
        self.cursor.skip(2);
        if digits == 0 {
            return Ok(());
        }
        self.cursor.need(digits)?;
        let mut code = 0_u32;
        for ahead in 0..digits {
            let Some(digit) = char::from(self.cursor.peek(ahead)).to_digit(16) else {
                return Err(self.cursor.fault("did not find expected hexdecimal number"));
            };
            code = (code << 4) | digit;
        }
        if char::from_u32(code).is_none() {
            return Err(self.cursor.fault("found invalid Unicode character escape code"));
        }
        self.cursor.skip(digits);
        Ok(())
    }

    /// A block scalar.
    pub(super) fn scan_block(&mut self, literal: bool) -> Outcome<Scalar> {
        self.cursor.skip(1);
        let (chomp, increment) = self.block_header()?;
        let from = self.cursor.at;
        let stated = increment.map(|increment| self.indent.unwrap_or_default() + increment);
        let indent = self.block_breaks(stated)?;
        while self.cursor.column() == indent && self.cursor.peek(0) != 0 {
            let end = line_end(self.cursor.text, self.cursor.at);
            self.cursor.advance_to(end);
            self.cursor.need(1)?;
            self.cursor.need(2)?;
            self.cursor.skip_break();
            self.block_breaks(Some(indent))?;
        }
        let form = if literal { Form::Literal } else { Form::Folded };
        Ok(Scalar { indent: indent as u32, chomp, ..Scalar::new(from, self.cursor.at, form, false) })
    }

    /// The indicators behind `|` or `>`, up to the first line of content.
    fn block_header(&mut self) -> Outcome<(Chomp, Option<usize>)> {
        let mut chomp = None;
        let mut increment = None;
        for _ in 0..2 {
            self.cursor.need(1)?;
            match self.cursor.peek(0) {
                b'+' if chomp.is_none() => chomp = Some(Chomp::Keep),
                b'-' if chomp.is_none() => chomp = Some(Chomp::Strip),
                b'0' if increment.is_none() => {
                    return Err(self.cursor.fault("found an indentation indicator equal to 0"));
                }
                digit @ b'1'..=b'9' if increment.is_none() => increment = Some(usize::from(digit - b'0')),
                _ => break,
            }
            self.cursor.skip(1);
        }
        self.cursor.need(1)?;
        self.cursor.skip_blanks()?;
        if self.cursor.peek(0) == b'#' {
            self.cursor.skip_line_rest()?;
        }
        if self.cursor.is_break(0) {
            self.cursor.need(2)?;
            self.cursor.skip_break();
        } else if self.cursor.peek(0) != 0 {
            return Err(self.cursor.fault("did not find expected comment or line break"));
        }
        Ok((chomp.unwrap_or(Chomp::Clip), increment))
    }

    /// Moves over empty lines and the indentation of the line behind them. If the indentation of the scalar is not
    /// known yet, it is that of the furthest of them.
    fn block_breaks(&mut self, indent: Option<usize>) -> Outcome<usize> {
        let mut furthest = 0;
        let limit = indent.unwrap_or(usize::MAX);
        loop {
            self.cursor.need(1)?;
            let mut column = self.cursor.column();
            while column < limit && self.cursor.peek(0) == b' ' {
                self.cursor.skip(1);
                column += 1;
            }
            self.cursor.need(1)?;
            furthest = furthest.max(column);
            if column < limit && self.cursor.peek(0) == b'\t' {
                return Err(self
                    .cursor
                    .fault("found a tab character where an indentation space is expected"));
            }
            if !self.cursor.is_break(0) {
                break;
            }
            self.cursor.need(2)?;
            self.cursor.skip_break();
        }
        Ok(indent.unwrap_or_else(|| furthest.max(self.content_column()).max(1)))
    }
}
