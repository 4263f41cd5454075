//! Reading.

use super::Error;
use super::text;
use crate::tree::{List, Map, Node, Pos, Value};
use crate::unicode;

/// As many containers may be open at once.
const MAX_DEPTH: usize = 10_000;

const MAP_TYPE: &str = "map[string]interface {}";
const LIST_TYPE: &str = "[]interface {}";

/// Reads a text as `json.Unmarshal` into an `interface{}` does: every number is a `float64`, the last of equal keys
/// wins. `source` is noted in the positions.
pub fn parse(text: &[u8], source: u32) -> Result<Node, Error> {
    let (node, error) = whole(text, source)?;
    error.map_or(Ok(node), Err)
}

/// Reads a text as `json.Unmarshal` into a `map[string]interface{}` does. As in Go, there can be both a mapping and an
/// error: a number that is too large is left out as null. No mapping at all is Go's nil (the text is `null`).
pub fn parse_map(text: &[u8], source: u32) -> (Option<Map>, Option<Error>) {
    match whole(text, source) {
        Err(error) => (Some(Map::new()), Some(error)),
        Ok((node, error)) => match node.value {
            Value::Map(map) => (Some(map), error),
            Value::Null if error.is_none() => (None, None),
            other => (Some(Map::new()), Some(mismatch(&other, MAP_TYPE))),
        },
    }
}

/// Reads a text as `json.Unmarshal` into an `[]interface{}` does. No list at all is Go's nil (the text is `null`).
pub fn parse_list(text: &[u8], source: u32) -> Result<Option<List>, Error> {
    let (node, error) = whole(text, source)?;
    match node.value {
        Value::List(list) => error.map_or(Ok(Some(list)), Err),
        Value::Null if error.is_none() => Ok(None),
        other => Err(mismatch(&other, LIST_TYPE)),
    }
}

/// Reads the value that a text starts with as `json.Decoder.Decode` does, and says how many bytes it took.
pub fn parse_prefix(text: &[u8], source: u32) -> Result<(Node, usize), Error> {
    let mut reader = Reader::new(text, source);
    let node = match reader.value() {
        Ok(node) => node,
        Err(error) if reader.at < text.len() => return Err(error),
        Err(_) if text.iter().all(|&b| is_space(b)) => return Err(Error::PrefixEmpty),
        Err(_) => return Err(Error::PrefixEnd),
    };
    reader.error.map_or(Ok((node, reader.at)), Err)
}

fn mismatch(value: &Value, target: &'static str) -> Error {
    let value = match value {
        Value::Bool(_) => "bool",
        // A number that is too large was read as null.
        Value::Null | Value::Int(_) | Value::Float(_) => "number",
        Value::String(_) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
    };
    Error::Type { value: value.to_owned(), target }
}

/// A whole text: a well-formed value, and the error of a number in it that is too large.
fn whole(text: &[u8], source: u32) -> Result<(Node, Option<Error>), Error> {
    let mut reader = Reader::new(text, source);
    let node = reader.value()?;
    match reader.skip_space() {
        Some(byte) => Err(reader.unexpected(byte, "after top-level value")),
        None => Ok((node, reader.error)),
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    source: u32,
    line: u32,
    line_start: usize,
    /// The first number that is too large.
    error: Option<Error>,
}

/// A container whose end has not been seen.
enum Open {
    List(Vec<Node>, Pos),
    Map(Map, Box<str>, Pos),
}

impl<'t> Reader<'t> {
    fn new(text: &'t [u8], source: u32) -> Self {
        Self { text, at: 0, source, line: 1, line_start: 0, error: None }
    }

    fn skip_space(&mut self) -> Option<u8> {
        loop {
            match self.text.get(self.at) {
                Some(b'\n') => {
                    self.line = self.line.saturating_add(1);
                    self.line_start = self.at + 1;
                }
                Some(b' ' | b'\t' | b'\r') => {}
                other => return other.copied(),
            }
            self.at += 1;
        }
    }

    fn pos(&self) -> Pos {
        let column = u32::try_from(self.at - self.line_start + 1).unwrap_or(u32::MAX);
        Pos { source: self.source, line: self.line, column }
    }

    fn unexpected(&self, byte: u8, context: &'static str) -> Error {
        let mut character = String::from("'");
        match byte {
            // Unlike in a Go string, the double quotation mark stays as it is and the single one does not.
            b'"' => character.push('"'),
            _ => unicode::quote_char(&mut character, char::from(byte), '\''),
        }
        character.push('\'');
        Error::Character { character, context, offset: (self.at + 1).min(self.text.len()) }
    }

    fn end(&self) -> Error {
        Error::End { offset: self.text.len() }
    }

    /// The byte at the cursor; after the end there is a space, as for Go.
    fn byte(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(b' ')
    }

    /// Takes the byte at the cursor, which must satisfy `test`.
    fn require(&mut self, test: impl Fn(u8) -> bool, context: &'static str) -> Result<(), Error> {
        let byte = self.byte();
        if !test(byte) {
            return Err(self.unexpected(byte, context));
        }
        self.at += 1;
        Ok(())
    }

    fn value(&mut self) -> Result<Node, Error> {
        let mut open: Vec<Open> = Vec::new();
        'values: loop {
            let byte = self.skip_space().ok_or_else(|| self.end())?;
            let pos = self.pos();
            let mut node = match byte {
                b'{' | b'[' => {
                    if open.len() >= MAX_DEPTH {
                        return Err(self.unexpected(byte, "exceeded max depth"));
                    }
                    self.at += 1;
                    let next = self.skip_space().ok_or_else(|| self.end())?;
                    match (byte, next) {
                        (b'[', b']') => {
                            self.at += 1;
                            Node::new(Value::List(List::new()), pos)
                        }
                        (b'{', b'}') => {
                            self.at += 1;
                            Node::new(Value::Map(Map::new()), pos)
                        }
                        (b'[', _) => {
                            open.push(Open::List(Vec::new(), pos));
                            continue;
                        }
                        _ => {
                            let key = self.key()?;
                            open.push(Open::Map(Map::new(), key, pos));
                            continue;
                        }
                    }
                }
                _ => Node::new(self.scalar(byte)?, pos),
            };
            // The value is complete; close every container that ends after it.
            loop {
                let Some(innermost) = open.pop() else { return Ok(node) };
                let byte = self.skip_space().ok_or_else(|| self.end())?;
                match innermost {
                    Open::List(mut nodes, pos) => {
                        nodes.push(node);
                        match byte {
                            b',' => {
                                self.at += 1;
                                open.push(Open::List(nodes, pos));
                                continue 'values;
                            }
                            b']' => node = Node::new(Value::List(List::from(nodes)), pos),
                            _ => return Err(self.unexpected(byte, "after array element")),
                        }
                    }
                    Open::Map(mut map, key, pos) => {
                        map.insert(key, node);
                        match byte {
                            b',' => {
                                self.at += 1;
                                let key = self.key()?;
                                open.push(Open::Map(map, key, pos));
                                continue 'values;
                            }
                            b'}' => node = Node::new(Value::Map(map), pos),
                            _ => return Err(self.unexpected(byte, "after object key:value pair")),
                        }
                    }
                }
                self.at += 1;
            }
        }
    }

    /// A key and its colon.
    fn key(&mut self) -> Result<Box<str>, Error> {
        let byte = self.skip_space().ok_or_else(|| self.end())?;
        if byte != b'"' {
            return Err(self.unexpected(byte, "looking for beginning of object key string"));
        }
        let key = self.string()?;
        match self.skip_space() {
            Some(b':') => self.at += 1,
            Some(byte) => return Err(self.unexpected(byte, "after object key")),
            None => return Err(self.end()),
        }
        Ok(key)
    }

    fn scalar(&mut self, byte: u8) -> Result<Value, Error> {
        match byte {
            b'"' => Ok(Value::String(self.string()?)),
            b't' => self.word(&TRUE).map(|()| Value::Bool(true)),
            b'f' => self.word(&FALSE).map(|()| Value::Bool(false)),
            b'n' => self.word(&NULL).map(|()| Value::Null),
            b'-' | b'0'..=b'9' => self.number(),
            _ => Err(self.unexpected(byte, "looking for beginning of value")),
        }
    }

    fn word(&mut self, letters: &[(u8, &'static str)]) -> Result<(), Error> {
        self.at += 1;
        letters.iter().try_for_each(|&(letter, context)| self.require(|b| b == letter, context))
    }

    fn string(&mut self) -> Result<Box<str>, Error> {
        self.at += 1;
        let start = self.at;
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let run = rest.iter().position(|&b| matches!(b, b'"' | b'\\' | 0..0x20)).unwrap_or(rest.len());
            self.at += run;
            match self.text.get(self.at) {
                None => return Err(self.end()),
                Some(b'"') => break,
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(&byte) => return Err(self.unexpected(byte, "in string literal")),
            }
        }
        let literal = self.text.get(start..self.at).unwrap_or_default();
        self.at += 1;
        Ok(text::read(literal))
    }

    fn escape(&mut self) -> Result<(), Error> {
        if self.byte() != b'u' {
            let known = |b| matches!(b, b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"');
            return self.require(known, "in string escape code");
        }
        self.at += 1;
        (0..4)
            .try_for_each(|_| self.require(|b| b.is_ascii_hexdigit(), "in \\u hexadecimal character escape"))
    }

    fn digits(&mut self) {
        while self.byte().is_ascii_digit() {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Result<Value, Error> {
        let start = self.at;
        if self.byte() == b'-' {
            self.at += 1;
        }
        let zero = self.byte() == b'0';
        self.require(|b| b.is_ascii_digit(), "in numeric literal")?;
        if !zero {
            self.digits();
        }
        if self.byte() == b'.' {
            self.at += 1;
            self.require(|b| b.is_ascii_digit(), "after decimal point in numeric literal")?;
            self.digits();
        }
        if matches!(self.byte(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.byte(), b'+' | b'-') {
                self.at += 1;
            }
            self.require(|b| b.is_ascii_digit(), "in exponent of numeric literal")?;
            self.digits();
        }
        let literal =
            self.text.get(start..self.at).and_then(|t| std::str::from_utf8(t).ok()).unwrap_or_default();
        match literal.parse::<f64>() {
            Ok(f) if f.is_finite() => Ok(Value::Float(f)),
            _ => {
                let error = Error::Type { value: format!("number {literal}"), target: "float64" };
                self.error.get_or_insert(error);
                Ok(Value::Null)
            }
        }
    }
}

const TRUE: [(u8, &str); 3] = [
    (b'r', "in literal true (expecting 'r')"),
    (b'u', "in literal true (expecting 'u')"),
    (b'e', "in literal true (expecting 'e')"),
];
const FALSE: [(u8, &str); 4] = [
    (b'a', "in literal false (expecting 'a')"),
    (b'l', "in literal false (expecting 'l')"),
    (b's', "in literal false (expecting 's')"),
    (b'e', "in literal false (expecting 'e')"),
];
const NULL: [(u8, &str); 3] = [
    (b'u', "in literal null (expecting 'u')"),
    (b'l', "in literal null (expecting 'l')"),
    (b'l', "in literal null (expecting 'l')"),
];
