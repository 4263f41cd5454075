//! One walk over a document for all writers that go from the outside in: without recursion, because a document may be
//! as deep as its author likes.

use std::borrow::Cow;

use crate::doc::{Doc, View};

/// A leaf of a document.
pub(crate) enum Scalar<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Str(&'a [u8]),
    Plain(&'a [u8]),
}

/// Which kind of container.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    List,
    Map,
}

/// An entry of a mapping that is being written. The key is a part of the walk's own buffer: a key that is borrowed from
/// a handle cannot outlive it.
pub(crate) struct Entry<T> {
    key: (usize, usize),
    pub(crate) node: T,
}

/// The entries of a mapping sorted bytewise, their keys at the end of the buffer.
pub(crate) fn entries<T>(mut entries: Vec<(Cow<'_, [u8]>, T)>, keys: &mut Vec<u8>) -> Vec<Entry<T>> {
    if !entries.is_sorted_by(|a, b| a.0 <= b.0) {
        entries.sort_by(|a, b| a.0.cmp(&b.0));
    }
    fields(entries, keys)
}

/// The fields of a struct in their order, their keys at the end of the buffer.
pub(crate) fn fields<T>(fields: Vec<(Cow<'_, [u8]>, T)>, keys: &mut Vec<u8>) -> Vec<Entry<T>> {
    let copy = |(key, node): (Cow<'_, [u8]>, T)| {
        let start = keys.len();
        keys.extend_from_slice(&key);
        Entry { key: (start, keys.len()), node }
    };
    fields.into_iter().map(copy).collect()
}

impl<T> Entry<T> {
    /// The key.
    pub(crate) fn key<'k>(&self, keys: &'k [u8]) -> &'k [u8] {
        keys.get(self.key.0..self.key.1).unwrap_or_default()
    }

    /// Replaces the key.
    pub(crate) fn rename(&mut self, keys: &mut Vec<u8>, key: &[u8]) {
        let start = keys.len();
        keys.extend_from_slice(key);
        self.key = (start, keys.len());
    }
}

/// What a writer does with the parts of a document, in writing order.
pub(crate) trait Sink {
    /// Whether the fields of a struct are sorted like the keys of a map.
    fn sorts_fields(&self) -> bool {
        false
    }

    type Error;

    /// Brings the entries of a mapping into writing order. They come sorted bytewise.
    fn arrange<T>(&mut self, keys: &mut Vec<u8>, entries: &mut Vec<Entry<T>>) -> Result<(), Self::Error>;
    /// A container without content.
    fn empty(&mut self, kind: Kind) -> Result<(), Self::Error>;
    /// A container begins; `depth` containers are open, this one included.
    fn begin(&mut self, kind: Kind, depth: usize) -> Result<(), Self::Error>;
    /// The innermost container ends.
    fn end(&mut self, kind: Kind) -> Result<(), Self::Error>;
    /// An element of a list comes next.
    fn item(&mut self, first: bool) -> Result<(), Self::Error>;
    /// An entry of a mapping comes next.
    fn key(&mut self, key: &[u8], first: bool) -> Result<(), Self::Error>;
    /// A leaf.
    fn scalar(&mut self, scalar: Scalar<'_>) -> Result<(), Self::Error>;
    /// Something that no document can hold.
    fn unsupported(&mut self, text: String) -> Self::Error;
}

struct Frame<T> {
    content: Content<T>,
    first: bool,
    /// How much of the key buffer belongs to the frames below.
    keys: usize,
}

enum Content<T> {
    List(std::vec::IntoIter<T>),
    Map(std::vec::IntoIter<Entry<T>>),
}

/// Shows a whole document to a writer.
pub(crate) fn walk<T: Doc, S: Sink>(doc: &T, sink: &mut S) -> Result<(), S::Error> {
    let mut keys = Vec::new();
    let mut frames: Vec<Frame<T>> = Vec::new();
    frames.extend(enter(doc, sink, &mut keys, 1)?);
    while let Some(frame) = frames.last_mut() {
        let first = std::mem::replace(&mut frame.first, false);
        let node = match &mut frame.content {
            Content::List(items) => match items.next() {
                Some(node) => {
                    sink.item(first)?;
                    node
                }
                None => {
                    sink.end(Kind::List)?;
                    frames.pop();
                    continue;
                }
            },
            Content::Map(entries) => match entries.next() {
                Some(entry) => {
                    sink.key(entry.key(&keys), first)?;
                    entry.node
                }
                None => {
                    sink.end(Kind::Map)?;
                    keys.truncate(frame.keys);
                    frames.pop();
                    continue;
                }
            },
        };
        let depth = frames.len() + 1;
        frames.extend(enter(&node, sink, &mut keys, depth)?);
    }
    Ok(())
}

/// Writes a leaf, or opens a container and says what is in it.
fn enter<T: Doc, S: Sink>(
    node: &T,
    sink: &mut S,
    keys: &mut Vec<u8>,
    depth: usize,
) -> Result<Option<Frame<T>>, S::Error> {
    let scalar = match node.view() {
        View::Null => Scalar::Null,
        View::Bool(b) => Scalar::Bool(b),
        View::Int(i) => Scalar::Int(i),
        View::Uint(u) => Scalar::Uint(u),
        View::Float(f) => Scalar::Float(f),
        View::Str(s) => {
            sink.scalar(Scalar::Str(&s))?;
            return Ok(None);
        }
        View::Plain(s) => {
            sink.scalar(Scalar::Plain(&s))?;
            return Ok(None);
        }
        View::List(items) if items.is_empty() => {
            sink.empty(Kind::List)?;
            return Ok(None);
        }
        View::Map(entries) | View::Fields(entries) if entries.is_empty() => {
            sink.empty(Kind::Map)?;
            return Ok(None);
        }
        View::List(items) => {
            sink.begin(Kind::List, depth)?;
            return Ok(Some(Frame {
                content: Content::List(items.into_iter()),
                first: true,
                keys: keys.len(),
            }));
        }
        View::Fields(found) if !sink.sorts_fields() => {
            sink.begin(Kind::Map, depth)?;
            let start = keys.len();
            let content = Content::Map(fields(found, keys).into_iter());
            return Ok(Some(Frame { content, first: true, keys: start }));
        }
        View::Map(map) | View::Fields(map) => {
            sink.begin(Kind::Map, depth)?;
            let start = keys.len();
            let mut entries = entries(map, keys);
            sink.arrange(keys, &mut entries)?;
            return Ok(Some(Frame { content: Content::Map(entries.into_iter()), first: true, keys: start }));
        }
        View::Unsupported(text) => return Err(sink.unsupported(text)),
    };
    sink.scalar(scalar)?;
    Ok(None)
}
