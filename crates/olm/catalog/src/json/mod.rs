//! JSON documents as a flat list of tokens over the source text.
//!
//! A catalog is mostly long strings that are never decoded: the text is shared, and a token holds offset,
//! length and line of a value and the index of the next one. YAML is converted to JSON once.

mod build;
mod parse;
mod strings;
mod write;

use std::borrow::Cow;
use std::sync::Arc;

pub use parse::{ParseStop, SourceText, ValueEnd, parse};
pub use write::{Style, write};
pub(crate) use write::{newline, sorted_entries, write_scalar, write_string};

/// A token: the start of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    /// Offset in the text; for strings, behind the quotation mark.
    at: u32,
    /// Length; for strings, without quotation marks.
    len: u32,
    /// Line, from 1.
    line: u32,
    /// Index of the token behind this value and its children.
    next: u32,
    kind: TokenKind,
}

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Null,
    False,
    True,
    Number,
    /// A string without escapes.
    Plain,
    /// A string whose escapes equal Go's encoding.
    Escaped,
    /// A string that Go encodes differently.
    Reencoded,
    List,
    /// Tokens of keys (strings) and values alternate.
    Map,
}

/// A JSON document.
#[derive(Clone, Debug)]
pub struct Document {
    text: Arc<Vec<u8>>,
    tokens: Box<[Token]>,
}

/// A value in a document.
#[derive(Clone, Copy, Debug)]
pub struct Value<'d> {
    document: &'d Document,
    index: u32,
}

/// One level of a value.
#[derive(Debug)]
pub enum View<'d> {
    /// `null`.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number literal.
    Number(&'d [u8]),
    /// A decoded string.
    String(Cow<'d, str>),
    /// A list.
    List(Items<'d>),
    /// An object.
    Map(Entries<'d>),
}

impl Document {
    /// Returns the root value.
    pub fn root(&self) -> Value<'_> {
        Value { document: self, index: 0 }
    }

    fn token(&self, index: u32) -> Token {
        const EMPTY: Token = Token { at: 0, len: 0, line: 0, next: u32::MAX, kind: TokenKind::Null };
        self.tokens.get(index as usize).copied().unwrap_or(EMPTY)
    }

    fn slice(&self, token: Token) -> &[u8] {
        let at = token.at as usize;
        self.text.get(at..at + token.len as usize).unwrap_or_default()
    }
}

impl<'d> Value<'d> {
    fn token(self) -> Token {
        self.document.token(self.index)
    }

    fn raw(self) -> &'d [u8] {
        self.document.slice(self.token())
    }

    /// Returns the line of the value.
    pub fn line(self) -> u32 {
        self.token().line
    }

    /// Returns one level of the value.
    pub fn view(self) -> View<'d> {
        match self.token().kind {
            TokenKind::Null => View::Null,
            TokenKind::False => View::Bool(false),
            TokenKind::True => View::Bool(true),
            TokenKind::Number => View::Number(self.raw()),
            TokenKind::Plain | TokenKind::Escaped | TokenKind::Reencoded => View::String(self.decoded()),
            TokenKind::List => View::List(self.items()),
            TokenKind::Map => View::Map(self.entries()),
        }
    }

    /// Reports whether the value is null.
    pub fn is_null(self) -> bool {
        self.token().kind == TokenKind::Null
    }

    /// Reports whether the value is a string.
    pub fn is_string(self) -> bool {
        matches!(self.token().kind, TokenKind::Plain | TokenKind::Escaped | TokenKind::Reencoded)
    }

    /// Reports whether the value is an empty string.
    pub fn is_empty_string(self) -> bool {
        self.is_string() && self.token().len == 0
    }

    /// Returns the bytes of a string, which are UTF-8, or nothing for other values.
    pub fn bytes(self) -> Cow<'d, [u8]> {
        match self.token().kind {
            TokenKind::Plain => Cow::Borrowed(self.raw()),
            TokenKind::Escaped => Cow::Owned(strings::unescape(self.raw())),
            TokenKind::Reencoded => Cow::Owned(strings::decode(self.raw()).into_bytes()),
            _ => Cow::Borrowed(b""),
        }
    }

    /// Returns the string, if the value is one.
    pub fn as_str(self) -> Option<Cow<'d, str>> {
        matches!(self.token().kind, TokenKind::Plain | TokenKind::Escaped | TokenKind::Reencoded)
            .then(|| self.decoded())
    }

    /// Decodes a string.
    fn decoded(self) -> Cow<'d, str> {
        let raw = self.raw();
        match self.token().kind {
            // `from_utf8` is faster than `from_utf8_lossy` for valid input.
            TokenKind::Plain => match std::str::from_utf8(raw) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => String::from_utf8_lossy(raw),
            },
            TokenKind::Escaped => Cow::Owned(String::from_utf8(strings::unescape(raw)).unwrap_or_default()),
            _ => Cow::Owned(strings::decode(raw)),
        }
    }

    /// Iterates over the elements of a list; empty for other values.
    pub fn items(self) -> Items<'d> {
        Items { document: self.document, at: self.index + 1, end: self.inner_end(TokenKind::List) }
    }

    /// Iterates over the entries of an object in source order, including duplicate keys; empty for other
    /// values.
    pub fn entries(self) -> Entries<'d> {
        Entries(self.pairs())
    }

    /// Like [`Value::entries`], with undecoded keys.
    pub(crate) fn pairs(self) -> Pairs<'d> {
        Pairs { document: self.document, at: self.index + 1, end: self.inner_end(TokenKind::Map) }
    }

    /// Reports whether the value is this string.
    fn equals(self, text: &str) -> bool {
        match self.token().kind {
            TokenKind::Plain => self.raw() == text.as_bytes(),
            _ => self.as_str().is_some_and(|decoded| decoded == text),
        }
    }

    fn inner_end(self, kind: TokenKind) -> u32 {
        let token = self.token();
        if token.kind == kind { token.next } else { 0 }
    }

    /// Returns the value of a key; the last of duplicate keys wins, as in Go.
    pub fn get(self, key: &str) -> Option<Value<'d>> {
        self.pairs().filter(|(name, _)| name.equals(key)).last().map(|(_, value)| value)
    }

    /// Returns the string at a key, or an empty string.
    pub fn string(self, key: &str) -> Cow<'d, str> {
        self.get(key).and_then(Self::as_str).unwrap_or_default()
    }

    /// Returns a document with this value as root.
    pub fn to_document(self) -> Document {
        let end = self.token().next;
        let tokens = self.document.tokens.get(self.index as usize..end as usize).unwrap_or_default();
        let tokens = tokens.iter().map(|token| Token { next: token.next - self.index, ..*token }).collect();
        Document { text: self.document.text.clone(), tokens }
    }
}

/// Iterator over the elements of a list.
#[derive(Clone, Debug)]
pub struct Items<'d> {
    document: &'d Document,
    at: u32,
    end: u32,
}

impl<'d> Iterator for Items<'d> {
    type Item = Value<'d>;

    fn next(&mut self) -> Option<Value<'d>> {
        if self.at >= self.end {
            return None;
        }
        let value = Value { document: self.document, index: self.at };
        self.at = value.token().next;
        Some(value)
    }
}

/// Iterator over the entries of an object.
#[derive(Clone, Debug)]
pub struct Entries<'d>(Pairs<'d>);

impl<'d> Iterator for Entries<'d> {
    type Item = (Cow<'d, str>, Value<'d>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key.decoded(), value))
    }
}

/// Iterator over the keys and values of an object.
#[derive(Clone, Debug)]
pub(crate) struct Pairs<'d> {
    document: &'d Document,
    at: u32,
    end: u32,
}

impl<'d> Iterator for Pairs<'d> {
    type Item = (Value<'d>, Value<'d>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.end {
            return None;
        }
        let key = Value { document: self.document, index: self.at };
        let value = Value { document: self.document, index: self.at + 1 };
        self.at = value.token().next;
        Some((key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Document {
        let (document, end) = parse(&SourceText::new(text.as_bytes()), 0, 1).unwrap();
        assert_eq!(end.at, text.len());
        document
    }

    #[test]
    fn finds_values_with_line_numbers() {
        let document = document("{\n \"a\": [1, {\"b\": \"x\\ny\"}],\n \"c\": null, \"a\": true}");
        let root = document.root();
        assert_eq!(root.get("a").unwrap().line(), 3);
        let list = root.entries().next().unwrap().1;
        assert_eq!(list.items().count(), 2);
        assert_eq!(list.items().nth(1).unwrap().string("b"), "x\ny");
        assert!(root.get("c").unwrap().is_null());
        assert!(root.get("d").is_none());
        let nested = list.items().nth(1).unwrap().to_document();
        assert_eq!(nested.root().string("b"), "x\ny");
    }
}
