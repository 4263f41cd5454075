//! Between the trees of the readers and the values of templates.

use std::borrow::Cow;

use podium_gotmpl::{Entries, Error, Heap, Str, Value};
use podium_goyaml::{Doc, List, Map, Node, View, tree};

use crate::document::{Document, Format};

/// Deeper than this, a value contains itself.
const MAX_DEPTH: usize = 10_000;

/// A tree as a template's value; texts are copied. Works without recursion, however deep the tree. It stops where the
/// heap's budget ends.
pub fn from_tree<'h>(heap: &'h Heap<'h>, tree: &Node) -> Value<'h> {
    build(heap, tree, |text| Str::Shared(text.as_bytes().into()))
}

/// A tree that outlives the render as a template's value; texts are borrowed from it.
pub fn borrow_tree<'h>(heap: &'h Heap<'h>, tree: &'h Node) -> Value<'h> {
    build(heap, tree, |text| Str::Borrowed(text.as_bytes()))
}

/// A container that is being built.
enum Frame<'n, 'h> {
    List(std::slice::Iter<'n, Node>, Vec<Value<'h>>),
    Map(podium_goyaml::MapIter<'n>, Vec<(Str<'h>, Value<'h>)>),
}

fn build<'n, 'h>(heap: &'h Heap<'h>, tree: &'n Node, text: impl Fn(&'n str) -> Str<'h>) -> Value<'h> {
    let mut frames: Vec<Frame<'n, 'h>> = Vec::new();
    let mut node = tree;
    loop {
        if heap.exhausted() {
            return Value::Nil;
        }
        let mut ready = match &node.value {
            tree::Value::Null => Value::Nil,
            tree::Value::Bool(b) => Value::Bool(*b),
            tree::Value::Int(i) => Value::Int64(*i),
            tree::Value::Float(f) => Value::Float(*f),
            tree::Value::String(s) => Value::Str(text(s)),
            tree::Value::List(l) => {
                frames.push(Frame::List(l.iter(), Vec::with_capacity(l.len())));
                Value::Nil
            }
            tree::Value::Map(m) => {
                frames.push(Frame::Map(m.iter(), Vec::with_capacity(m.len())));
                Value::Nil
            }
        };
        let mut opened = matches!(node.value, tree::Value::List(_) | tree::Value::Map(_));
        // Hand the value to its container, and close all containers that are complete with it.
        node = loop {
            match frames.last_mut() {
                None => return ready,
                Some(Frame::List(rest, done)) => {
                    if !std::mem::take(&mut opened) {
                        done.push(std::mem::take(&mut ready));
                    }
                    if let Some(next) = rest.next() {
                        break next;
                    }
                    ready = heap.list(std::mem::take(done));
                }
                Some(Frame::Map(rest, done)) => {
                    if !std::mem::take(&mut opened)
                        && let Some((_, value)) = done.last_mut()
                    {
                        *value = std::mem::take(&mut ready);
                    }
                    if let Some((key, next)) = rest.next() {
                        done.push((text(key), Value::Nil));
                        break next;
                    }
                    // The entries are in order already, which makes this quick.
                    let entries: Entries<'_> = std::mem::take(done).into_iter().collect();
                    ready = Value::Map(heap.map(entries));
                }
            }
            frames.pop();
        };
    }
}

/// A tree that is being built from a document.
enum Open<'h> {
    List(std::vec::IntoIter<Document<'h>>, List),
    Map(std::vec::IntoIter<(String, Document<'h>)>, Map, String),
}

/// A value as a tree, as JSON would carry it: integers stay integers, bytes become base64. The error is Go's.
pub fn to_tree<'h>(heap: &'h Heap<'h>, value: &Value<'h>) -> Result<Node, Error> {
    let mut open: Vec<Open<'h>> = Vec::new();
    let mut document = Document::new(heap, value, Format::Json);
    loop {
        let mut ready = None;
        match document.view() {
            View::Null => ready = Some(tree::Value::Null),
            View::Bool(b) => ready = Some(tree::Value::Bool(b)),
            View::Int(i) => ready = Some(tree::Value::Int(i)),
            View::Uint(u) => {
                ready = Some(i64::try_from(u).map_or(tree::Value::Float(u as f64), tree::Value::Int))
            }
            View::Float(f) => ready = Some(tree::Value::Float(f)),
            View::Str(s) | View::Plain(s) => ready = Some(String::from_utf8_lossy(&s).into_owned().into()),
            View::List(items) => open.push(Open::List(items.into_iter(), List::new())),
            View::Map(entries) | View::Fields(entries) => {
                let named =
                    |(key, value): (Cow<'_, [u8]>, _)| (String::from_utf8_lossy(&key).into_owned(), value);
                let entries: Vec<_> = entries.into_iter().map(named).collect();
                open.push(Open::Map(entries.into_iter(), Map::new(), String::new()));
            }
            View::Unsupported(text) => return Err(Error::new(text)),
        }
        if open.len() > MAX_DEPTH {
            return Err(Error::limit("nesting", MAX_DEPTH));
        }
        document = loop {
            match open.last_mut() {
                None => return Ok(ready.unwrap_or_default().into()),
                Some(Open::List(rest, done)) => {
                    if let Some(value) = ready.take() {
                        done.push(value.into());
                    }
                    if let Some(next) = rest.next() {
                        break next;
                    }
                    ready = Some(tree::Value::List(std::mem::take(done)));
                }
                Some(Open::Map(rest, done, key)) => {
                    if let Some(value) = ready.take() {
                        done.insert(std::mem::take(key), value);
                    }
                    if let Some((name, next)) = rest.next() {
                        *key = name;
                        break next;
                    }
                    ready = Some(tree::Value::Map(std::mem::take(done)));
                }
            }
            open.pop();
        };
    }
}
