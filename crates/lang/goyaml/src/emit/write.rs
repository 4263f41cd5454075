//! From a document to lines.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::out::{Out, STEP};
use super::resolve::is_ambiguous;
use super::shape::{Shape, calm, calm_shape, careful_shape, shape};
use super::{Dialect, Error, MAX_DEPTH, order, reread};
use crate::json;
use crate::number;
use crate::walk::{Entry, Kind, Scalar, Sink};

/// A key of more bytes needs a `?`.
const SIMPLE_KEY: usize = 128;
/// Lines are broken after this column.
const WIDTH: usize = 80;
const BINARY: &[u8] = b"!!binary";

/// Where the next node stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Root,
    Item,
    Value,
}

/// Writes YAML.
pub(super) struct Writer {
    dialect: Dialect,
    out: Out,
    place: Place,
    /// The column of each open container.
    indents: Vec<usize>,
    lost_entries: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

impl Writer {
    /// One that writes behind what is there.
    pub(super) fn new(dialect: Dialect, text: Vec<u8>) -> Self {
        let width = if dialect == Dialect::Kubernetes { WIDTH } else { usize::MAX };
        let out = Out::new(text, width);
        Self { dialect, out, place: Place::Root, indents: Vec::new(), lost_entries: false }
    }

    /// Whether keys that differ only in stray bytes made an entry disappear.
    pub(super) fn lost_entries(&self) -> bool {
        self.lost_entries
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.out.finish()
    }

    /// The column of continuation lines of a scalar.
    fn scalar_indent(&self) -> usize {
        self.indents.last().copied().unwrap_or(0) + STEP
    }

    fn style(&self, text: &[u8], shape: Shape, simple_key: bool) -> Style {
        let wanted = match () {
            () if shape.line_feed => Style::Literal,
            () if is_ambiguous(text, self.dialect) => Style::Double,
            () => Style::Plain,
        };
        match wanted {
            Style::Literal if shape.block && !simple_key => Style::Literal,
            Style::Plain if shape.plain => Style::Plain,
            Style::Plain if shape.single => Style::Single,
            _ => Style::Double,
        }
    }

    fn string(&mut self, text: &[u8], shape: Shape, simple_key: bool) {
        let style = self.style(text, shape, simple_key);
        let indent = self.scalar_indent();
        let fold = !simple_key;
        match style {
            Style::Plain => self.out.plain(text, indent, fold),
            Style::Single => self.out.single(text, indent, fold, shape.multiline),
            Style::Double => self.out.double(text, indent, fold),
            Style::Literal => self.out.literal(text, indent),
        }
    }

    fn text(&mut self, text: &[u8]) -> Result<(), Error> {
        match self.dialect {
            // What is calm is no other text after reading.
            _ if calm(text) => self.string(text, calm_shape(text), false),
            Dialect::Kubernetes => {
                let text = reread::string(text)?;
                self.string(&text, careful_shape(&text, self.dialect), false);
            }
            Dialect::Pretty if std::str::from_utf8(text).is_ok() => {
                self.string(text, careful_shape(text, self.dialect), false);
            }
            Dialect::Pretty => self.binary(&base64_lines(text)),
        }
        Ok(())
    }

    /// Bytes that are no text.
    fn binary(&mut self, encoded: &[u8]) {
        self.out.tag(BINARY);
        let indent = self.scalar_indent();
        if encoded.contains(&b'\n') {
            self.out.literal(encoded, indent);
        } else {
            self.out.plain(encoded, indent, false);
        }
    }

    /// A key that does not fit the `key: value` form, whatever writes it.
    fn complex_key(&mut self, indent: usize, write: impl FnOnce(&mut Self)) {
        self.out.leader(b'?');
        write(self);
        self.out.indent(indent);
        self.out.leader(b':');
    }

    fn binary_key(&mut self, key: &[u8], indent: usize) {
        let encoded = base64_lines(key);
        if encoded.contains(&b'\n') || BINARY.len() + encoded.len() > SIMPLE_KEY {
            self.complex_key(indent, |writer| writer.binary(&encoded));
        } else {
            self.binary(&encoded);
            self.out.colon();
        }
    }
}

impl Sink for Writer {
    type Error = Error;

    fn sorts_fields(&self) -> bool {
        self.dialect == Dialect::Kubernetes
    }

    fn arrange<T>(&mut self, keys: &mut Vec<u8>, entries: &mut Vec<Entry<T>>) -> Result<(), Error> {
        if self.dialect == Dialect::Kubernetes {
            let mut changed = false;
            for entry in entries.iter_mut() {
                let read = match reread::key(entry.key(keys))? {
                    Cow::Borrowed(_) => continue,
                    Cow::Owned(read) => read,
                };
                entry.rename(keys, &read);
                changed = true;
            }
            if changed {
                self.lost_entries |= keep_last(keys, entries);
            }
        }
        order::sort(keys, entries, self.dialect);
        Ok(())
    }

    fn empty(&mut self, kind: Kind) -> Result<(), Error> {
        self.out.word(if kind == Kind::Map { b"{}" } else { b"[]" });
        Ok(())
    }

    fn begin(&mut self, kind: Kind, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(Error::Depth);
        }
        // Go's Kubernetes world puts a list at the column of its key.
        let level = kind == Kind::List
            && self.dialect == Dialect::Kubernetes
            && self.place == Place::Value
            && !self.out.indention;
        let indent = match self.indents.last() {
            None => 0,
            Some(&outer) if level => outer,
            Some(&outer) => outer + STEP,
        };
        self.indents.push(indent);
        Ok(())
    }

    fn end(&mut self, _: Kind) -> Result<(), Error> {
        self.indents.pop();
        Ok(())
    }

    fn item(&mut self, _: bool) -> Result<(), Error> {
        self.out.indent(self.indents.last().copied().unwrap_or_default());
        self.out.leader(b'-');
        self.place = Place::Item;
        Ok(())
    }

    fn key(&mut self, key: &[u8], _: bool) -> Result<(), Error> {
        let indent = self.indents.last().copied().unwrap_or_default();
        self.out.indent(indent);
        if self.dialect == Dialect::Pretty && std::str::from_utf8(key).is_err() {
            self.binary_key(key, indent);
        } else {
            let shape = shape(key, self.dialect);
            if shape.multiline || key.len() > SIMPLE_KEY {
                self.complex_key(indent, |writer| writer.string(key, shape, false));
            } else {
                self.string(key, shape, true);
                self.out.colon();
            }
        }
        self.place = Place::Value;
        Ok(())
    }

    fn scalar(&mut self, scalar: Scalar<'_>) -> Result<(), Error> {
        let json_first = self.dialect == Dialect::Kubernetes;
        match scalar {
            Scalar::Null => self.out.word(b"null"),
            Scalar::Bool(b) => self.out.word(if b { b"true" } else { b"false" }),
            Scalar::Int(i) => self.out.write_word(|text| number::signed(text, i)),
            Scalar::Uint(u) => self.out.write_word(|text| number::unsigned(text, u)),
            Scalar::Float(f) if json_first => {
                json::check(f)?;
                self.out.write_word(|text| number::through_json(text, f));
            }
            Scalar::Float(f) if f.is_nan() => self.out.word(b".nan"),
            Scalar::Float(f64::INFINITY) => self.out.word(b".inf"),
            Scalar::Float(f64::NEG_INFINITY) => self.out.word(b"-.inf"),
            Scalar::Float(f) => self.out.write_word(|text| number::general(text, f)),
            Scalar::Str(text) => self.text(text)?,
            Scalar::Plain(text) => self.out.word(text),
        }
        Ok(())
    }

    fn unsupported(&mut self, text: String) -> Error {
        match self.dialect {
            Dialect::Kubernetes => Error::Json(json::Error::Unsupported(text)),
            Dialect::Pretty => {
                Error::Type(text.strip_prefix("json: unsupported type: ").unwrap_or(&text).to_owned())
            }
        }
    }
}

/// Keeps the last of entries with equal keys. Says whether there were such.
fn keep_last<T>(keys: &[u8], entries: &mut Vec<Entry<T>>) -> bool {
    let before = entries.len();
    let mut seen = BTreeSet::new();
    entries.reverse();
    entries.retain(|entry| seen.insert(entry.key(keys)));
    entries.reverse();
    entries.len() < before
}

/// Base64 in lines of 70 characters; what fits one line has no line break.
fn base64_lines(bytes: &[u8]) -> Vec<u8> {
    const LINE: usize = 70;
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0_u32, |g, &b| g << 8 | u32::from(b)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * place)) as usize & 63];
            encoded.push(if place <= chunk.len() { digit } else { b'=' });
        }
    }
    if encoded.len() < LINE {
        return encoded;
    }
    encoded.chunks(LINE).flat_map(|line| line.iter().copied().chain([b'\n'])).collect()
}
