//! The text of JSON, piece by piece.
//!
//! `head` checks a body as a whole; everything else relies on that and never looks back.

use std::borrow::Cow;

use super::JsonError;

/// Containers inside of containers that the original reads.
const MOST_NESTED: usize = 10_000;

pub struct Scan<'b> {
    text: &'b [u8],
    at: usize,
}

impl<'b> Scan<'b> {
    pub fn new(text: &'b [u8]) -> Self {
        Self { text, at: 0 }
    }

    fn space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// The first sign of the next value.
    pub fn peek(&mut self) -> Option<u8> {
        self.space();
        self.text.get(self.at).copied()
    }

    /// Enters a container.
    pub fn open(&mut self) {
        self.space();
        self.at += 1;
    }

    /// Goes to the next item of a list; false at its end.
    pub fn item(&mut self) -> bool {
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                true
            }
            None | Some(b']' | b'}') => {
                self.at += 1;
                false
            }
            Some(_) => true,
        }
    }

    /// The next key of an object; nothing at its end.
    pub fn key(&mut self) -> Option<Cow<'b, str>> {
        if !self.item() {
            return None;
        }
        self.space();
        let raw = self.take();
        self.space();
        self.at += 1;
        Some(unquote(raw))
    }

    /// Takes the next value as it is written.
    pub fn take(&mut self) -> &'b [u8] {
        self.space();
        let from = self.at;
        self.skip();
        self.text.get(from..self.at).unwrap_or_default()
    }

    /// Passes over the next value, which is well formed.
    pub fn skip(&mut self) {
        let mut open = 0_usize;
        loop {
            self.space();
            match self.text.get(self.at) {
                None => return,
                Some(b'"') => self.string(),
                Some(b'{' | b'[') => {
                    open += 1;
                    self.at += 1;
                }
                Some(b'}' | b']') => {
                    open = open.saturating_sub(1);
                    self.at += 1;
                }
                Some(b',' | b':') => self.at += 1,
                Some(_) => {
                    let rest = self.text.get(self.at..).unwrap_or_default();
                    let ends =
                        |byte: &u8| matches!(byte, b',' | b'}' | b']' | b':' | b' ' | b'\t' | b'\r' | b'\n');
                    self.at += rest.iter().position(ends).unwrap_or(rest.len());
                }
            }
            if open == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.text.get(self.at) {
            self.at += match byte {
                b'\\' => 2,
                b'"' => {
                    self.at += 1;
                    return;
                }
                _ => 1,
            };
        }
    }

    // What follows checks, and says whether all is well.

    fn check(&mut self) -> bool {
        // A bit per open container: whether it is an object.
        let mut open: Vec<bool> = Vec::new();
        loop {
            let mut fresh = false;
            let well = match self.peek() {
                Some(byte @ (b'{' | b'[')) => {
                    self.at += 1;
                    fresh = true;
                    open.push(byte == b'{');
                    open.len() <= MOST_NESTED
                }
                Some(b'"') => self.check_string(),
                Some(b't') => self.check_word(b"true"),
                Some(b'f') => self.check_word(b"false"),
                Some(b'n') => self.check_word(b"null"),
                Some(b'-' | b'0'..=b'9') => self.check_number(),
                _ => false,
            };
            if !well {
                return false;
            }
            loop {
                let Some(object) = open.last().copied() else { return self.peek().is_none() };
                match (self.peek(), object) {
                    (Some(b'}'), true) | (Some(b']'), false) => {
                        self.at += 1;
                        open.pop();
                        fresh = false;
                        continue;
                    }
                    (Some(b','), _) if !fresh => self.at += 1,
                    _ if fresh => {}
                    _ => return false,
                }
                if object {
                    self.space();
                    if self.text.get(self.at) != Some(&b'"')
                        || !self.check_string()
                        || self.peek() != Some(b':')
                    {
                        return false;
                    }
                    self.at += 1;
                }
                break;
            }
        }
    }

    fn check_word(&mut self, word: &[u8]) -> bool {
        let same = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word));
        self.at += word.len();
        same
    }

    fn digits(&mut self) -> usize {
        let from = self.at;
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        self.at - from
    }

    fn check_number(&mut self) -> bool {
        if self.text.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        if self.text.get(self.at) == Some(&b'0') {
            self.at += 1;
        } else if self.digits() == 0 {
            return false;
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return false;
            }
        }
        if matches!(self.text.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.text.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            return self.digits() > 0;
        }
        true
    }

    fn check_string(&mut self) -> bool {
        self.at += 1;
        while let Some(byte) = self.text.get(self.at) {
            match byte {
                b'"' => {
                    self.at += 1;
                    return true;
                }
                b'\\' => {
                    let rest = self.text.get(self.at + 1..).unwrap_or_default();
                    match rest {
                        [b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(|d| d.is_ascii_hexdigit()) => {
                            self.at += 6
                        }
                        [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => self.at += 2,
                        _ => return false,
                    }
                }
                0..0x20 => return false,
                _ => self.at += 1,
            }
        }
        false
    }
}

/// The `apiVersion` and `kind` of a body that is well-formed JSON.
pub fn head(body: &[u8]) -> Result<(String, String), JsonError> {
    if !Scan::new(body).check() {
        let problem = podium_goyaml::json::parse(body, 0).err().map(|problem| problem.to_string());
        return Err(JsonError::Syntax(problem.unwrap_or_else(|| "invalid JSON".to_owned())));
    }
    let (mut api_version, mut kind) = (String::new(), String::new());
    let mut scan = Scan::new(body);
    let wrong = |value: &str, target: &str| {
        JsonError::Syntax(format!("json: cannot unmarshal {value} into Go {target}"))
    };
    match scan.peek() {
        Some(b'{') => {}
        Some(b'n') => return Ok((api_version, kind)),
        first => {
            let target = "value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; \
                          Kind string \"json:\\\"kind,omitempty\\\"\" }";
            return Err(wrong(word_for(first), target));
        }
    }
    let mut problem = None;
    scan.open();
    while let Some(key) = scan.key() {
        let (place, name) = if key.eq_ignore_ascii_case("apiVersion") {
            (&mut api_version, "apiVersion")
        } else if folded(&key) == "kind" {
            (&mut kind, "kind")
        } else {
            scan.skip();
            continue;
        };
        let raw = scan.take();
        match raw.first() {
            Some(b'"') => *place = unquote(raw).into_owned(),
            Some(b'n') => {}
            first => {
                let value = word_for(first.copied());
                problem.get_or_insert(wrong(value, &format!("struct field .{name} of type string")));
            }
        }
    }
    problem.map_or(Ok((api_version, kind)), Err)
}

/// Lower case, with the sign for Kelvin, which folds to a k.
fn folded(key: &str) -> String {
    key.to_lowercase()
}

fn word_for(first: Option<u8>) -> &'static str {
    match first {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "bool",
        _ => "number",
    }
}

/// The text that a string in quotes stands for.
pub fn unquote(raw: &[u8]) -> Cow<'_, str> {
    let inner = raw.strip_prefix(b"\"").and_then(|raw| raw.strip_suffix(b"\"")).unwrap_or(raw);
    if !inner.contains(&b'\\') {
        return match std::str::from_utf8(inner) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(crate::typed::text(inner)),
        };
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((byte, after)) = rest.split_first() {
        if *byte != b'\\' {
            out.push(*byte);
            rest = after;
            continue;
        }
        let Some((sign, after)) = after.split_first() else { break };
        rest = after;
        match sign {
            b'u' => {
                let (sign, after) = unicode(rest);
                rest = after;
                out.extend(sign.encode_utf8(&mut [0; 4]).bytes());
            }
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            other => out.push(*other),
        }
    }
    Cow::Owned(match String::from_utf8(out) {
        Ok(text) => text,
        Err(error) => crate::typed::text(error.as_bytes()),
    })
}

/// The sign behind `\u`, of one or two halves; a half alone is a replacement character.
fn unicode(rest: &[u8]) -> (char, &[u8]) {
    let hex = |digits: &[u8]| {
        let digits = std::str::from_utf8(digits.get(..4)?).ok()?;
        u32::from_str_radix(digits, 16).ok()
    };
    let first = hex(rest).unwrap_or(0xfffd);
    let after = rest.get(4..).unwrap_or_default();
    if (0xd800..0xdc00).contains(&first)
        && let Some(second) = after.strip_prefix(b"\\u").and_then(hex)
        && (0xdc00..0xe000).contains(&second)
    {
        let sign = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return (
            char::from_u32(sign).unwrap_or(char::REPLACEMENT_CHARACTER),
            after.get(6..).unwrap_or_default(),
        );
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), after)
}

/// A text in Go's quotes.
pub fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for sign in text.chars() {
        match sign {
            '"' | '\\' => out.extend(['\\', sign]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\u{b}' => out.push_str("\\v"),
            sign if u32::from(sign) < 0x20 || sign == '\u{7f}' => {
                out.push_str(&format!("\\x{:02x}", u32::from(sign)))
            }
            '\u{2028}' | '\u{2029}' | '\u{feff}' => out.push_str(&format!("\\u{:04x}", u32::from(sign))),
            sign => out.push(sign),
        }
    }
    out.push('"');
    out
}
