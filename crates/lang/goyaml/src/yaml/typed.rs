//! Values with the types that they have in Go before they become JSON. Only errors need them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::error::{Fault, Mark, Outcome};
use super::resolve::Resolved;
use super::tape::{Entry, Tape};
use super::text::{coerce, key_text, wanted_of};
use super::types::Type;
use super::walk::{Build, Walk};
use crate::number;
use crate::unicode;

/// A tree of typed values in one vector, so that dropping it needs no stack.
pub(super) struct Typed<'t> {
    nodes: Vec<(Part<'t>, Mark)>,
    root: usize,
}

enum Part<'t> {
    Scalar(Resolved<'t>),
    List(Vec<usize>),
    Map(TypedMap<'t>),
}

/// The entries of a mapping in the order in which Go prints them.
type TypedMap<'t> = BTreeMap<Order<'t>, (Resolved<'t>, usize)>;

/// Keys are ordered by type first. The order of the types is that of their descriptions in the Helm binaries.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Order<'t> {
    Null,
    Str(Cow<'t, [u8]>),
    Uint(u64),
    Int(i64),
    /// No two of them are equal, so each has a number.
    NaN(usize),
    Float(i64),
    Bool(bool),
}

struct TypedBuild<'t> {
    nodes: Vec<(Part<'t>, Mark)>,
    nans: usize,
}

impl<'t> TypedBuild<'t> {
    fn push(&mut self, part: Part<'t>, mark: Mark) -> usize {
        self.nodes.push((part, mark));
        self.nodes.len() - 1
    }
}

impl<'t> Build<'t> for TypedBuild<'t> {
    type Value = usize;
    type Map = TypedMap<'t>;

    fn scalar(&mut self, value: Resolved<'t>, entry: &Entry, wanted: Option<&Type>) -> usize {
        let value = match coerce(&value, wanted) {
            Some(text) => Resolved::Str(Cow::Owned(text.into_bytes())),
            None => value,
        };
        self.push(Part::Scalar(value), entry.mark)
    }

    fn list(&mut self, items: Vec<usize>, entry: &Entry) -> usize {
        self.push(Part::List(items), entry.mark)
    }

    fn map(&mut self, map: TypedMap<'t>, entry: &Entry) -> usize {
        self.push(Part::Map(map), entry.mark)
    }

    fn put(&mut self, map: &mut TypedMap<'t>, key: Resolved<'t>, value: usize) {
        self.nans += 1;
        let order = match &key {
            Resolved::Null => Order::Null,
            Resolved::Str(text) => Order::Str(text.clone()),
            Resolved::Uint(u) => Order::Uint(*u),
            Resolved::Int(i) => Order::Int(*i),
            Resolved::Float(f) if f.is_nan() => Order::NaN(self.nans),
            Resolved::Float(f) => Order::Float(ordered_bits(*f)),
            Resolved::Bool(b) => Order::Bool(*b),
        };
        map.insert(order, (key, value));
    }

    fn wanted<'y>(&self, map: Option<&'y Type>, key: &Resolved<'t>) -> Option<&'y Type> {
        wanted_of(map, key)
    }
}

/// A number that orders as the float does.
fn ordered_bits(f: f64) -> i64 {
    let bits = (f + 0.0).to_bits() as i64;
    if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
}

impl<'t> Typed<'t> {
    /// The typed value of a node of a document that was walked over before.
    pub fn of(tape: &Tape<'t>, at: usize, wanted: Option<&Type>) -> Self {
        let mut build = TypedBuild { nodes: Vec::new(), nans: 0 };
        let root = Walk::new(tape, &mut build).unbounded().run(at, wanted).ok().flatten();
        Self { root: root.unwrap_or(usize::MAX), nodes: build.nodes }
    }

    /// Fails if there is a key that JSON cannot have.
    pub fn check_keys(&self) -> Outcome<()> {
        let mut fault = None;
        self.each(|part, mark| {
            let Part::Map(map) = part else { return true };
            let bad = map.values().find_map(|(key, value)| match key {
                Resolved::Null => Some(("%!s(<nil>)", "<nil>".to_owned(), *value)),
                Resolved::Uint(u) => Some(("uint64", format!("{u:#x}"), *value)),
                _ => None,
            });
            fault = bad.map(|(kind, key, value)| {
                let value = self.go_syntax_of(value);
                Fault::new(format!("unsupported map key of type: {kind}, key: {key}, value: {value}"), mark)
            });
            fault.is_none()
        });
        fault.map_or(Ok(()), Err)
    }

    /// Fails if there is a number that JSON cannot have: the first one in the order of the keys.
    pub fn check_numbers(&self) -> Outcome<()> {
        let mut fault = None;
        self.each(|part, mark| {
            if let Part::Scalar(Resolved::Float(f)) = part
                && !f.is_finite()
            {
                let mut text = b"json: unsupported value: ".to_vec();
                number::general(&mut text, *f);
                fault = Some(Fault::new(String::from_utf8_lossy(&text), mark));
            }
            fault.is_none()
        });
        fault.map_or(Ok(()), Err)
    }

    /// Shows all nodes, outside in, mappings in the order of their keys' texts, until the answer is no.
    fn each(&self, mut show: impl FnMut(&Part<'t>, Mark) -> bool) {
        let mut work = vec![self.root];
        while let Some(at) = work.pop() {
            let Some((part, mark)) = self.nodes.get(at) else { continue };
            if !show(part, *mark) {
                return;
            }
            match part {
                Part::Scalar(_) => {}
                Part::List(items) => work.extend(items.iter().rev()),
                Part::Map(map) => {
                    let mut entries: Vec<_> =
                        map.values().map(|(key, value)| (key_text(key), *value)).collect();
                    entries.sort();
                    work.extend(entries.iter().rev().map(|(_, value)| value));
                }
            }
        }
    }

    /// What `%#v` prints.
    pub fn go_syntax(&self) -> String {
        self.go_syntax_of(self.root)
    }

    fn go_syntax_of(&self, root: usize) -> String {
        enum Task<'a, 't> {
            Text(&'static str),
            Key(&'a Resolved<'t>),
            Node(usize),
        }
        let mut out = String::new();
        if matches!(self.nodes.get(root), Some((Part::Scalar(Resolved::Null), _))) {
            return "<nil>".to_owned();
        }
        let mut work = vec![Task::Node(root)];
        while let Some(task) = work.pop() {
            let at = match task {
                Task::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Task::Key(key) => {
                    scalar_syntax(&mut out, key);
                    continue;
                }
                Task::Node(at) => at,
            };
            let start = work.len();
            match self.nodes.get(at).map(|(part, _)| part) {
                None => {}
                Some(Part::Scalar(value)) => scalar_syntax(&mut out, value),
                Some(Part::List(items)) => {
                    out.push_str("[]interface {}{");
                    for (i, item) in items.iter().enumerate() {
                        work.push(Task::Text(if i == 0 { "" } else { ", " }));
                        work.push(Task::Node(*item));
                    }
                    work.push(Task::Text("}"));
                }
                Some(Part::Map(map)) => {
                    out.push_str("map[interface {}]interface {}{");
                    for (i, (key, value)) in map.values().enumerate() {
                        work.push(Task::Text(if i == 0 { "" } else { ", " }));
                        work.push(Task::Key(key));
                        work.push(Task::Text(":"));
                        work.push(Task::Node(*value));
                    }
                    work.push(Task::Text("}"));
                }
            }
            if let Some(added) = work.get_mut(start..) {
                added.reverse();
            }
        }
        out
    }
}

pub(super) fn scalar_syntax(out: &mut String, value: &Resolved<'_>) {
    match value {
        Resolved::Null => out.push_str("interface {}(nil)"),
        Resolved::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Resolved::Int(i) => out.push_str(&i.to_string()),
        Resolved::Uint(u) => out.push_str(&format!("{u:#x}")),
        Resolved::Float(f) => {
            let mut text = Vec::new();
            number::general(&mut text, *f);
            out.push_str(&String::from_utf8_lossy(&text));
        }
        Resolved::Str(text) => unicode::quote(out, text),
    }
}
