//! JSON documents as a flat list of tokens over their text.
//!
//! A catalog is mostly long strings that nobody looks into: the text stays where it is, and a token says where a value
//! stands, on which line, and where the next one begins. What comes from YAML is written as JSON once and then is the
//! same.

mod build;
mod parse;
mod strings;
mod write;

use std::borrow::Cow;
use std::sync::Arc;

pub use parse::{ParseStop, SourceText, ValueEnd, parse};
pub use write::{Style, write};
pub(crate) use write::{newline, sorted_entries, write_scalar, write_string};

/// A value of a document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    /// Where it begins in the text; of a string, behind the quotation mark.
    at: u32,
    /// How long it is; of a string, without quotation marks.
    len: u32,
    /// The line, from 1.
    line: u32,
    /// The token behind this value and all that is in it.
    next: u32,
    kind: TokenKind,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Null,
    False,
    True,
    Number,
    /// A string that is written as it stands.
    Plain,
    /// A string with escapes that Go would write in the same way.
    Escaped,
    /// A string that Go would write differently.
    Reencoded,
    List,
    /// Tokens of keys (strings) and values take turns.
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

/// What a value is, one level deep.
#[derive(Debug)]
pub enum View<'d> {
    /// `null`.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number, as it is written.
    Number(&'d [u8]),
    /// A string.
    String(Cow<'d, str>),
    /// A list.
    List(Items<'d>),
    /// An object.
    Map(Entries<'d>),
}

impl Document {
    /// The outermost value.
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

    /// The line on which it begins.
    pub fn line(self) -> u32 {
        self.token().line
    }

    /// One level of it.
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

    /// Whether it is null.
    pub fn is_null(self) -> bool {
        self.token().kind == TokenKind::Null
    }

    /// Whether it is a string.
    pub fn is_string(self) -> bool {
        matches!(self.token().kind, TokenKind::Plain | TokenKind::Escaped | TokenKind::Reencoded)
    }

    /// Whether it is a string without anything in it.
    pub fn is_empty_string(self) -> bool {
        self.is_string() && self.token().len == 0
    }

    /// The bytes of a string, which are UTF-8; nothing of anything else.
    pub fn bytes(self) -> Cow<'d, [u8]> {
        match self.token().kind {
            TokenKind::Plain => Cow::Borrowed(self.raw()),
            TokenKind::Escaped => Cow::Owned(strings::unescape(self.raw())),
            TokenKind::Reencoded => Cow::Owned(strings::decode(self.raw()).into_bytes()),
            _ => Cow::Borrowed(b""),
        }
    }

    /// The string, if it is one.
    pub fn as_str(self) -> Option<Cow<'d, str>> {
        matches!(self.token().kind, TokenKind::Plain | TokenKind::Escaped | TokenKind::Reencoded)
            .then(|| self.decoded())
    }

    /// What a string stands for.
    fn decoded(self) -> Cow<'d, str> {
        let raw = self.raw();
        match self.token().kind {
            // Many bytes are looked at together, which the lossy reader does not do.
            TokenKind::Plain => match std::str::from_utf8(raw) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => String::from_utf8_lossy(raw),
            },
            TokenKind::Escaped => Cow::Owned(String::from_utf8(strings::unescape(raw)).unwrap_or_default()),
            _ => Cow::Owned(strings::decode(raw)),
        }
    }

    /// The elements of a list; nothing of anything else.
    pub fn items(self) -> Items<'d> {
        Items { document: self.document, at: self.index + 1, end: self.inner_end(TokenKind::List) }
    }

    /// The entries of an object in the order of the text, equal keys and all; nothing of anything else.
    pub fn entries(self) -> Entries<'d> {
        Entries(self.pairs())
    }

    /// As [`Value::entries`], with the keys as values.
    pub(crate) fn pairs(self) -> Pairs<'d> {
        Pairs { document: self.document, at: self.index + 1, end: self.inner_end(TokenKind::Map) }
    }

    /// Whether it is this string.
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

    /// The value of a key; the last one of equal keys, as Go reads it.
    pub fn get(self, key: &str) -> Option<Value<'d>> {
        self.pairs().filter(|(name, _)| name.equals(key)).last().map(|(_, value)| value)
    }

    /// A string below a key; empty if there is none.
    pub fn string(self, key: &str) -> Cow<'d, str> {
        self.get(key).and_then(Self::as_str).unwrap_or_default()
    }

    /// Its own document.
    pub fn to_document(self) -> Document {
        let end = self.token().next;
        let tokens = self.document.tokens.get(self.index as usize..end as usize).unwrap_or_default();
        let tokens = tokens.iter().map(|token| Token { next: token.next - self.index, ..*token }).collect();
        Document { text: self.document.text.clone(), tokens }
    }
}

/// The elements of a list.
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

/// The entries of an object.
#[derive(Clone, Debug)]
pub struct Entries<'d>(Pairs<'d>);

impl<'d> Iterator for Entries<'d> {
    type Item = (Cow<'d, str>, Value<'d>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key.decoded(), value))
    }
}

/// The keys and values of an object.
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
