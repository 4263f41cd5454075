//! A stored object: its JSON and what lists and watches ask of it, in one piece of memory.
//!
//! The same bytes are in memory, in the log and in snapshots, so that nothing is parsed or copied twice:
//!
//! ```text
//! revision 8 │ head 4 │ path 2 │ labels 2 │ item 4 │ metadata 4+4 │ revision's digits 4+4
//! path │ labels: (name 4+2, value 4+2)… │ fields: (length 1, name, length 2, value)… │ body
//! ```

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::Revision;
use crate::scan::{Marks, scan};

const FIXED: usize = 36;
const LABEL: usize = 12;

/// An object that is about to be written: its JSON, with a place for the revision.
#[derive(Debug, Clone)]
pub struct Draft {
    body: Vec<u8>,
    marks: Marks,
    fields: Vec<u8>,
}

impl Draft {
    /// Takes the JSON of an object. It has a `metadata.resourceVersion`; what is in it is replaced by the revision.
    ///
    /// # Errors
    /// Says what is wrong when this is not the JSON of such an object.
    pub fn new(body: impl Into<Vec<u8>>) -> Result<Self, &'static str> {
        let body = body.into();
        let marks = scan(&body)?;
        if marks.labels.len() > usize::from(u16::MAX) {
            return Err("it has too many labels");
        }
        Ok(Self { body, marks, fields: Vec::new() })
    }

    /// Adds the value of a field that selectors ask for (`spec.nodeName`). An empty value needs no mention.
    #[must_use]
    pub fn field(mut self, name: &str, value: &str) -> Self {
        // A field that does not fit is one that no selector can ask for.
        if let (Ok(name_len), Ok(value_len)) = (u8::try_from(name.len()), u16::try_from(value.len())) {
            self.fields.push(name_len);
            self.fields.extend_from_slice(name.as_bytes());
            self.fields.extend_from_slice(&value_len.to_le_bytes());
            self.fields.extend_from_slice(value.as_bytes());
        }
        self
    }

    /// How many bytes the object has.
    pub fn size(&self) -> usize {
        self.body.len() + self.fields.len()
    }

    pub(crate) fn finish(&self, path: &str, revision: Revision) -> Object {
        pack(path, revision, &self.marks, &self.fields, &self.body)
    }
}

/// An object at a revision; a copy is a pointer.
#[derive(Clone, PartialEq, Eq)]
pub struct Object(Arc<[u8]>);

impl Object {
    /// The revision at which the object was written.
    pub fn revision(&self) -> Revision {
        u64::from_le_bytes(self.array(0))
    }

    /// `namespace/name`, or `name` alone.
    pub fn path(&self) -> &str {
        str::from_utf8(self.path_bytes()).unwrap_or_default()
    }

    /// The same without a look at its letters, for whoever goes through many.
    pub(crate) fn path_bytes(&self) -> &[u8] {
        self.bytes(FIXED, self.path_len())
    }

    /// The namespace; empty when there is none.
    pub fn namespace(&self) -> &str {
        self.path().split_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.path().split_once('/').map_or(self.path(), |(_, name)| name)
    }

    /// The whole JSON.
    pub fn body(&self) -> &[u8] {
        self.0.get(self.head()..).unwrap_or_default()
    }

    /// The JSON without the brace, the kind and the apiVersion that it begins with: what follows `{` in a list.
    pub fn item(&self) -> &[u8] {
        self.body().get(self.word(16)..).unwrap_or_default()
    }

    /// The JSON of `metadata`.
    pub fn metadata(&self) -> &[u8] {
        self.part(self.word(20), self.word(24))
    }

    /// The labels, in the order of the JSON.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let text = |bytes| str::from_utf8(bytes).unwrap_or_default();
        self.label_bytes().map(move |(name, value)| (text(name), text(value)))
    }

    fn label_bytes(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let start = FIXED + self.path_len();
        (0..usize::from(self.short(14))).map(move |i| {
            let at = start + i * LABEL;
            let part = |at| self.part(self.word(at), self.short(at + 4).into());
            (part(at), part(at + 6))
        })
    }

    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        let mut labels = self.label_bytes();
        let (_, value) = labels.find(|(n, _)| *n == name.as_bytes())?;
        Some(str::from_utf8(value).unwrap_or_default())
    }

    /// The fields that were given with the object.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut rest = self.field_bytes();
        std::iter::from_fn(move || {
            let (name, value, after) = next_field(rest)?;
            rest = after;
            Some((name, value))
        })
    }

    /// The value of a field; empty when it was not given.
    pub fn field(&self, name: &str) -> &str {
        self.fields().find(|(n, _)| *n == name).map_or("", |(_, value)| value)
    }

    /// How many bytes it takes.
    pub fn size(&self) -> usize {
        self.0.len()
    }

    /// The same object with another revision in it: what a watcher is told of one that is gone.
    #[must_use]
    pub fn with_revision(&self, revision: Revision) -> Self {
        pack(self.path(), revision, &self.marks(), self.field_bytes(), self.body())
    }

    /// The stored form.
    pub(crate) fn stored(&self) -> &[u8] {
        &self.0
    }

    /// Takes a stored form, unless it makes no sense.
    pub(crate) fn load(stored: &[u8]) -> Option<Self> {
        if stored.len() < FIXED {
            return None;
        }
        let object = Self(stored.into());
        let head = object.head();
        let labels_end = FIXED + object.path_len() + usize::from(object.short(14)) * LABEL;
        let body = object.0.len().checked_sub(head)?;
        let inside = |start: usize, length: usize| start + length <= body;
        let label = |i: usize| {
            let at = FIXED + object.path_len() + i * LABEL;
            inside(object.word(at), object.short(at + 4).into())
                && inside(object.word(at + 6), object.short(at + 10).into())
        };
        let fits = labels_end <= head
            && inside(object.word(16), 0)
            && inside(object.word(20), object.word(24))
            && inside(object.word(28), object.word(32))
            && (0..object.short(14).into()).all(label)
            && str::from_utf8(object.path_bytes()).is_ok_and(|path| !path.is_empty());
        let mut rest = object.field_bytes();
        while let Some((_, _, after)) = next_field(rest) {
            rest = after;
        }
        (fits && rest.is_empty()).then_some(object)
    }

    fn marks(&self) -> Marks {
        let span = |start: usize, length: usize| start as u32..(start + length) as u32;
        let labels = (0..usize::from(self.short(14))).map(|i| {
            let at = FIXED + self.path_len() + i * LABEL;
            (
                span(self.word(at), self.short(at + 4).into()),
                span(self.word(at + 6), self.short(at + 10).into()),
            )
        });
        Marks {
            item: self.word(16) as u32,
            metadata: span(self.word(20), self.word(24)),
            revision: span(self.word(28), self.word(32)),
            labels: labels.collect(),
        }
    }

    fn field_bytes(&self) -> &[u8] {
        let start = FIXED + self.path_len() + usize::from(self.short(14)) * LABEL;
        self.0.get(start..self.head()).unwrap_or_default()
    }

    fn part(&self, start: usize, len: usize) -> &[u8] {
        self.body().get(start..start.saturating_add(len)).unwrap_or_default()
    }

    fn bytes(&self, start: usize, len: usize) -> &[u8] {
        self.0.get(start..start + len).unwrap_or_default()
    }

    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        self.0.get(at..at + N).and_then(|b| b.try_into().ok()).unwrap_or([0; N])
    }

    fn word(&self, at: usize) -> usize {
        u32::from_le_bytes(self.array(at)) as usize
    }

    fn short(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.array(at))
    }

    fn head(&self) -> usize {
        self.word(8)
    }

    fn path_len(&self) -> usize {
        self.short(12).into()
    }
}

impl AsRef<[u8]> for Object {
    fn as_ref(&self) -> &[u8] {
        self.body()
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.path(), self.revision())
    }
}

fn next_field(bytes: &[u8]) -> Option<(&str, &str, &[u8])> {
    let (&len, rest) = bytes.split_first()?;
    let (name, rest) = rest.split_at_checked(len.into())?;
    let (len, rest) = rest.split_first_chunk::<2>()?;
    let (value, rest) = rest.split_at_checked(u16::from_le_bytes(*len).into())?;
    Some((str::from_utf8(name).ok()?, str::from_utf8(value).ok()?, rest))
}

/// Puts an object together, with the revision in its JSON; places behind the digits move with their length.
fn pack(path: &str, revision: Revision, marks: &Marks, fields: &[u8], body: &[u8]) -> Object {
    let digits = revision.to_string();
    let hole = marks.revision.clone();
    let shift = |at: u32| {
        if at >= hole.end { at - hole.end + hole.start + digits.len() as u32 } else { at }
    };
    let head = FIXED + path.len() + marks.labels.len() * LABEL + fields.len();
    let mut bytes = Vec::with_capacity(head + body.len() + digits.len());
    let mut word = |value: u32| bytes.extend_from_slice(&value.to_le_bytes());
    word(revision as u32);
    word((revision >> 32) as u32);
    word(head as u32);
    word(path.len() as u32 | (marks.labels.len() as u32) << 16);
    word(shift(marks.item));
    word(shift(marks.metadata.start));
    word(shift(marks.metadata.end).saturating_sub(shift(marks.metadata.start)));
    word(hole.start);
    word(digits.len() as u32);
    bytes.extend_from_slice(path.as_bytes());
    for span in marks.labels.iter().flat_map(|(name, value)| [name, value]) {
        bytes.extend_from_slice(&shift(span.start).to_le_bytes());
        bytes.extend_from_slice(&(span.end.saturating_sub(span.start) as u16).to_le_bytes());
    }
    bytes.extend_from_slice(fields);
    bytes.extend_from_slice(body.get(..hole.start as usize).unwrap_or_default());
    bytes.extend_from_slice(digits.as_bytes());
    bytes.extend_from_slice(body.get(hole.end as usize..).unwrap_or_default());
    Object(bytes.into())
}

/// An object in its place in the order of paths.
#[derive(Debug, Clone)]
pub(crate) struct Slot(pub Object);

// The order of bytes is the order of text, and needs no check that it is text.
impl Borrow<[u8]> for Slot {
    fn borrow(&self) -> &[u8] {
        self.0.path_bytes()
    }
}

impl Ord for Slot {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.path_bytes().cmp(other.0.path_bytes())
    }
}

impl PartialOrd for Slot {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Slot {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Slot {}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"","labels":{"app":"web","tier":"x"}},"spec":{"nodeName":"n1"}}"#;

    fn object(revision: Revision) -> Object {
        Draft::new(BODY)
            .unwrap()
            .field("spec.nodeName", "n1")
            .field("status.phase", "")
            .finish("ns/a", revision)
    }

    #[test]
    fn everything_is_found_again_at_every_width_of_the_revision() {
        for revision in [1, 12, 99_999, u64::from(u32::MAX) + 1, u64::MAX] {
            for o in [
                object(revision),
                object(5).with_revision(revision),
                object(u64::MAX).with_revision(revision),
            ] {
                let body =
                    BODY.replace(r#""resourceVersion":"""#, &format!(r#""resourceVersion":"{revision}""#));
                assert_eq!(str::from_utf8(o.body()).unwrap(), body);
                assert_eq!((o.revision(), o.namespace(), o.name()), (revision, "ns", "a"));
                assert_eq!(o.labels().collect::<Vec<_>>(), [("app", "web"), ("tier", "x")]);
                assert_eq!((o.label("tier"), o.label("no")), (Some("x"), None));
                assert_eq!(
                    (o.field("spec.nodeName"), o.field("status.phase"), o.field("no")),
                    ("n1", "", "")
                );
                assert!(o.item().starts_with(br#""metadata":{"#) && o.metadata().ends_with(br#""x"}}"#));
                assert_eq!(Object::load(o.stored()), Some(o));
            }
        }
    }

    #[test]
    fn a_stored_form_with_any_byte_changed_never_panics() {
        let good = object(77);
        for at in 0..good.stored().len() {
            for flip in [1, 0x80, 0xff] {
                let mut bytes = good.stored().to_vec();
                bytes[at] ^= flip;
                let Some(o) = Object::load(&bytes) else { continue };
                let seen = o.labels().count() + o.fields().count() + o.item().len() + o.metadata().len();
                assert!(seen + o.with_revision(1).size() > 0);
            }
            assert!(Object::load(&good.stored()[..at.min(FIXED)]).is_none());
        }
    }
}
