//! Parses JSON text into tokens.

use std::sync::Arc;

use podium_goyaml::scan;

use super::strings;
use super::{Document, Token, TokenKind};

/// Maximum nesting depth, as in Go.
const MAX_DEPTH: usize = 10_000;

/// The text of a file.
#[derive(Clone, Debug)]
pub struct SourceText {
    pub(crate) bytes: Arc<Vec<u8>>,
    /// Whether the text is ASCII, so that strings need no second scan.
    ascii: bool,
}

impl SourceText {
    /// Creates a source text.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self { ascii: bytes.is_ascii(), bytes: Arc::new(bytes) }
    }
}

/// End of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueEnd {
    /// Offset behind the value.
    pub at: usize,
    /// Line at the end.
    pub line: u32,
}

/// Why no tokens were parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseStop {
    /// Only whitespace is left.
    End,
    /// Invalid JSON, or a case that needs the Go-compatible parser.
    Fallback,
}

/// Parses the value at an offset and line, and returns its end.
///
/// Accepts what Go's decoder accepts. For error messages the caller has to use the Go-compatible parser.
pub fn parse(text: &SourceText, at: usize, line: u32) -> Result<(Document, ValueEnd), ParseStop> {
    if u32::try_from(text.bytes.len()).is_err() {
        return Err(ParseStop::Fallback);
    }
    let mut reader = TokenReader { text: &text.bytes, at, line, tokens: Vec::new(), ascii: text.ascii };
    reader.read()?;
    let end = ValueEnd { at: reader.at, line: reader.line };
    let tokens = reader.tokens.into_boxed_slice();
    Ok((Document { text: text.bytes.clone(), tokens }, end))
}

struct TokenReader<'t> {
    text: &'t [u8],
    at: usize,
    line: u32,
    tokens: Vec<Token>,
    ascii: bool,
}

impl TokenReader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_whitespace(&mut self) -> Option<u8> {
        loop {
            match self.peek()? {
                b'\n' => self.line = self.line.saturating_add(1),
                b' ' | b'\t' | b'\r' => {}
                other => return Some(other),
            }
            self.at += 1;
        }
    }

    fn push(&mut self, at: usize, len: usize, kind: TokenKind) -> Result<(), ParseStop> {
        let number = |n: usize| u32::try_from(n).map_err(|_| ParseStop::Fallback);
        let next = number(self.tokens.len() + 1)?;
        self.tokens.push(Token { at: number(at)?, len: number(len)?, line: self.line, next, kind });
        Ok(())
    }

    fn read(&mut self) -> Result<(), ParseStop> {
        if self.skip_whitespace().is_none() {
            return Err(ParseStop::End);
        }
        // Token indexes of the open containers.
        let mut open: Vec<usize> = Vec::new();
        loop {
            let byte = self.skip_whitespace().ok_or(ParseStop::Fallback)?;
            let mut complete = true;
            match byte {
                b'{' | b'[' => {
                    if open.len() >= MAX_DEPTH {
                        return Err(ParseStop::Fallback);
                    }
                    let kind = if byte == b'{' { TokenKind::Map } else { TokenKind::List };
                    let token = self.tokens.len();
                    self.push(self.at, 0, kind)?;
                    self.at += 1;
                    let next = self.skip_whitespace().ok_or(ParseStop::Fallback)?;
                    if next == byte + 2 {
                        self.at += 1;
                    } else {
                        open.push(token);
                        complete = false;
                        if kind == TokenKind::Map {
                            self.key()?;
                        }
                    }
                }
                b'"' => self.string()?,
                _ => self.scalar(byte)?,
            }
            while complete {
                let Some(&token) = open.last() else { return Ok(()) };
                let is_map = self.tokens.get(token).is_some_and(|t| t.kind == TokenKind::Map);
                match (self.skip_whitespace().ok_or(ParseStop::Fallback)?, is_map) {
                    (b',', _) => {
                        self.at += 1;
                        complete = false;
                        if is_map {
                            self.key()?;
                        }
                    }
                    (b'}', true) | (b']', false) => {
                        self.at += 1;
                        open.pop();
                        let next = u32::try_from(self.tokens.len()).map_err(|_| ParseStop::Fallback)?;
                        if let Some(token) = self.tokens.get_mut(token) {
                            token.next = next;
                        }
                    }
                    _ => return Err(ParseStop::Fallback),
                }
            }
        }
    }

    fn key(&mut self) -> Result<(), ParseStop> {
        if self.skip_whitespace() != Some(b'"') {
            return Err(ParseStop::Fallback);
        }
        self.string()?;
        if self.skip_whitespace() != Some(b':') {
            return Err(ParseStop::Fallback);
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Result<(), ParseStop> {
        let start = self.at + 1;
        let mut at = start;
        // Whether there are escapes, and whether all equal Go's encoding.
        let (mut escapes, mut canonical) = (false, true);
        loop {
            let rest = self.text.get(at..).unwrap_or_default();
            let found = scan::find(rest, string_stops);
            at += found;
            match rest.get(found) {
                Some(b'"') => break,
                Some(b'\\') => {}
                // A raw control character or the end of input.
                _ => return Err(ParseStop::Fallback),
            }
            escapes = true;
            let digits = |text: &[u8]| text.len() == 4 && text.iter().all(u8::is_ascii_hexdigit);
            match rest.get(found + 1) {
                Some(b'n' | b't' | b'"' | b'\\' | b'r' | b'b' | b'f') => at += 2,
                Some(b'/') => {
                    canonical = false;
                    at += 2;
                }
                Some(b'u') if rest.get(found + 2..found + 6).is_some_and(digits) => {
                    canonical = false;
                    at += 6;
                }
                _ => return Err(ParseStop::Fallback),
            }
        }
        let literal = self.text.get(start..at).unwrap_or_default();
        let kind = match () {
            () if !canonical || (!self.ascii && !strings::is_verbatim(literal)) => TokenKind::Reencoded,
            () if escapes => TokenKind::Escaped,
            () => TokenKind::Plain,
        };
        self.push(start, at - start, kind)?;
        self.at = at + 1;
        Ok(())
    }

    fn scalar(&mut self, byte: u8) -> Result<(), ParseStop> {
        let (word, kind): (&[u8], TokenKind) = match byte {
            b't' => (b"true", TokenKind::True),
            b'f' => (b"false", TokenKind::False),
            b'n' => (b"null", TokenKind::Null),
            _ => return self.number(),
        };
        if !self.text.get(self.at..).unwrap_or_default().starts_with(word) {
            return Err(ParseStop::Fallback);
        }
        self.push(self.at, word.len(), kind)?;
        self.at += word.len();
        Ok(())
    }

    fn number(&mut self) -> Result<(), ParseStop> {
        let start = self.at;
        let rest = self.text.get(start..).unwrap_or_default();
        let len =
            rest.iter().take_while(|b| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')).count();
        let literal = rest.get(..len).unwrap_or_default();
        if !is_small_integer(literal) {
            // The Go-compatible parser checks syntax and float64 range.
            podium_goyaml::json::parse(literal, 0).map_err(|_| ParseStop::Fallback)?;
        }
        self.push(start, len, TokenKind::Number)?;
        self.at += len;
        Ok(())
    }
}

/// Marks bytes that end a string or need handling within it.
pub(super) fn string_stops(word: u64) -> u64 {
    scan::equal(word, b'"') | scan::equal(word, b'\\') | scan::below(word, 0x20)
}

/// Reports whether a number literal equals Go's encoding without parsing it.
pub(super) fn is_small_integer(literal: &[u8]) -> bool {
    let digits = literal.strip_prefix(b"-").unwrap_or(literal);
    let zero = digits.first() == Some(&b'0');
    (1..=15).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit) && (!zero || literal == b"0")
}
