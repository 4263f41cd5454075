//! Directives, tags, anchors and aliases.

use super::cursor::{URI, WORD, class};
use super::error::Outcome;
use super::scan::Scanner;
use super::token::{Body, Kind};

impl Scanner<'_> {
    /// The letters, digits, `_` and `-` at the cursor, as a span of the text.
    fn scan_word(&mut self) -> Outcome<(usize, usize)> {
        self.cursor.need(1)?;
        let from = self.cursor.at;
        while class(self.cursor.peek(0)) & WORD != 0 {
            self.cursor.skip(1);
        }
        self.cursor.need(1)?;
        Ok((from, self.cursor.at))
    }

    fn span(&self, from: usize, to: usize) -> &[u8] {
        self.cursor.text.get(from..to).unwrap_or_default()
    }

    /// `&name` or `*name`.
    pub(super) fn scan_name(&mut self) -> Outcome<Body> {
        self.cursor.skip(1);
        let (from, to) = self.scan_word()?;
        let ends = matches!(self.cursor.peek(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if from == to || !(ends || self.cursor.is_gap(0)) {
            return Err(self.cursor.fault("did not find expected alphabetic or numeric character"));
        }
        Ok(Body::Name(from as u32, to as u32))
    }

    /// `!`, `!suffix`, `!handle!suffix` or `!<uri>`.
    pub(super) fn scan_tag(&mut self) -> Outcome<Body> {
        self.cursor.need(2)?;
        let tag = if self.cursor.peek(1) == b'<' {
            self.cursor.skip(2);
            let uri = self.scan_uri(None)?;
            if self.cursor.peek(0) != b'>' {
                return Err(self.cursor.fault("did not find the expected '>'"));
            }
            self.cursor.skip(1);
            (Vec::new(), uri)
        } else {
            let handle = self.scan_handle(false)?;
            if handle.len() > 1 && handle.ends_with(b"!") {
                let suffix = self.scan_uri(None)?;
                (handle, suffix)
            } else {
                let suffix = self.scan_uri(handle.get(1..))?;
                if suffix.is_empty() { (suffix, handle) } else { (b"!".to_vec(), suffix) }
            }
        };
        self.cursor.need(1)?;
        if !self.cursor.is_gap(0) {
            return Err(self.cursor.fault("did not find expected whitespace or line break"));
        }
        Ok(Body::Tag(Box::new(tag)))
    }

    /// `!`, `!word` or `!word!`; in a directive the last `!` must be there.
    fn scan_handle(&mut self, directive: bool) -> Outcome<Vec<u8>> {
        self.cursor.need(1)?;
        if self.cursor.peek(0) != b'!' {
            return Err(self.cursor.fault("did not find expected '!'"));
        }
        let start = self.cursor.at;
        self.cursor.skip(1);
        let (_, end) = self.scan_word()?;
        if self.cursor.peek(0) == b'!' {
            self.cursor.skip(1);
        } else if directive && end - start > 1 {
            return Err(self.cursor.fault("did not find expected '!'"));
        }
        Ok(self.span(start, self.cursor.at).to_vec())
    }

    /// The characters of a URI. They may be missing only if `head`, the part that was read already, is there.
    fn scan_uri(&mut self, head: Option<&[u8]>) -> Outcome<Vec<u8>> {
        let mut uri = head.unwrap_or_default().to_vec();
        self.cursor.need(1)?;
        let start = self.cursor.at;
        while class(self.cursor.peek(0)) & URI != 0 {
            if self.cursor.peek(0) == b'%' {
                self.scan_uri_escape(&mut uri)?;
            } else {
                uri.push(self.cursor.peek(0));
                self.cursor.skip(1);
            }
            self.cursor.need(1)?;
        }
        if head.is_none() && self.cursor.at == start {
            return Err(self.cursor.fault("did not find expected tag URI"));
        }
        Ok(uri)
    }

    /// The `%` escapes of one character.
    fn scan_uri_escape(&mut self, uri: &mut Vec<u8>) -> Outcome<()> {
        let mut left = None;
        while left != Some(0) {
            self.cursor.need(3)?;
            let digit = |ahead| char::from(self.cursor.peek(ahead)).to_digit(16);
            let (b'%', Some(high), Some(low)) = (self.cursor.peek(0), digit(1), digit(2)) else {
                return Err(self.cursor.fault("did not find URI escaped octet"));
            };
            let byte = (high << 4 | low) as u8;
            left = Some(match (left, byte) {
                (None, 0..0x80) => 0,
                (None, 0xc0..0xe0) => 1,
                (None, 0xe0..0xf0) => 2,
                (None, 0xf0..0xf8) => 3,
                (None, _) => return Err(self.cursor.fault("found an incorrect leading UTF-8 octet")),
                (Some(left), 0x80..0xc0) => left - 1,
                (Some(_), _) => return Err(self.cursor.fault("found an incorrect trailing UTF-8 octet")),
            });
            uri.push(byte);
            self.cursor.skip(3);
        }
        Ok(())
    }

    /// A `%YAML` or `%TAG` line.
    pub(super) fn scan_directive(&mut self) -> Outcome<(Kind, Body)> {
        self.cursor.skip(1);
        let (from, to) = self.scan_word()?;
        if from == to {
            return Err(self.cursor.fault("could not find expected directive name"));
        }
        if !self.cursor.is_gap(0) {
            return Err(self.cursor.fault("found unexpected non-alphabetical character"));
        }
        let directive = match self.span(from, to) {
            b"YAML" => (Kind::VersionDirective, self.scan_version()?),
            b"TAG" => (Kind::TagDirective, self.scan_tag_directive()?),
            _ => return Err(self.cursor.fault("found unknown directive name")),
        };
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
        Ok(directive)
    }

    fn scan_version(&mut self) -> Outcome<Body> {
        self.cursor.need(1)?;
        self.cursor.skip_blanks()?;
        let major = self.scan_version_number()?;
        if self.cursor.peek(0) != b'.' {
            return Err(self.cursor.fault("did not find expected digit or '.' character"));
        }
        self.cursor.skip(1);
        Ok(Body::Version(major, self.scan_version_number()?))
    }

    /// One or two digits.
    fn scan_version_number(&mut self) -> Outcome<u8> {
        let mut number = None;
        self.cursor.need(1)?;
        for length in 1.. {
            let digit @ b'0'..=b'9' = self.cursor.peek(0) else { break };
            if length > 2 {
                return Err(self.cursor.fault("found extremely long version number"));
            }
            number = Some(number.unwrap_or(0) * 10 + (digit - b'0'));
            self.cursor.skip(1);
            self.cursor.need(1)?;
        }
        number.ok_or_else(|| self.cursor.fault("did not find expected version number"))
    }

    fn scan_tag_directive(&mut self) -> Outcome<Body> {
        self.cursor.need(1)?;
        self.cursor.skip_blanks()?;
        let handle = self.scan_handle(true)?;
        self.cursor.need(1)?;
        if !matches!(self.cursor.peek(0), b' ' | b'\t') {
            return Err(self.cursor.fault("did not find expected whitespace"));
        }
        self.cursor.skip_blanks()?;
        let prefix = self.scan_uri(None)?;
        self.cursor.need(1)?;
        if !self.cursor.is_gap(0) {
            return Err(self.cursor.fault("did not find expected whitespace or line break"));
        }
        Ok(Body::Tag(Box::new((handle, prefix))))
    }
}
