//! What a writer needs to know of a value.

use std::borrow::Cow;

use crate::tree::{Node, Value};

/// One level of a document, as a writer sees it. Containers hand out their children as cheap handles.
pub enum View<'a, T> {
    /// `null`.
    Null,
    /// A boolean.
    Bool(bool),
    /// A signed integer (any of Go's signed integer types).
    Int(i64),
    /// An unsigned integer (any of Go's unsigned integer types).
    Uint(u64),
    /// A `float64`.
    Float(f64),
    /// A Go string: bytes that are usually, but need not be, UTF-8.
    Str(Cow<'a, [u8]>),
    /// A text that is written as it is, without quotation marks: a time.
    Plain(Cow<'a, [u8]>),
    /// A sequence, in order.
    List(Vec<T>),
    /// A mapping with string keys, in any order, no key twice. Writers sort as their format asks.
    Map(Vec<(Cow<'a, [u8]>, T)>),
    /// A Go struct: like a mapping, but writers that do not go through a map keep the order.
    Fields(Vec<(Cow<'a, [u8]>, T)>),
    /// Something that cannot be written; the text is Go's, e.g. `json: unsupported type: func()`.
    Unsupported(String),
}

/// A value that the writers can print.
pub trait Doc: Sized {
    /// Shows this level of the value.
    fn view(&self) -> View<'_, Self>;

    /// Of a field of a struct, its number there; the fields of an embedded struct have the number of that. TOML sets
    /// its commas by it.
    fn field_number(&self) -> usize {
        0
    }
}

impl Doc for &Node {
    fn view(&self) -> View<'_, Self> {
        match &self.value {
            Value::Null => View::Null,
            Value::Bool(b) => View::Bool(*b),
            Value::Int(i) => View::Int(*i),
            Value::Float(f) => View::Float(*f),
            Value::String(s) => View::Str(Cow::Borrowed(s.as_bytes())),
            Value::List(l) => View::List(l.iter().collect()),
            Value::Map(m) => View::Map(m.iter().map(|(k, v)| (Cow::Borrowed(k.as_bytes()), v)).collect()),
        }
    }
}
