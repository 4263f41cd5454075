//! The tree that every reader produces.

use std::sync::Arc;

use podium_entries::{Entries, IntoIter, Iter, IterMut};

/// Where a node starts: which input, and the 1-based line and column in it. All zero when it is not known.
///
/// The source is a number that the caller of a reader chose; it lets values that were merged from many files still
/// say where each came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pos {
    /// The caller's number for the input.
    pub source: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
}

/// A value with its place.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it was written.
    pub pos: Pos,
}

/// What Go's `interface{}` holds after YAML or JSON was decoded into it, plus `int64` (from `--set` and from the API).
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// `nil`.
    #[default]
    Null,
    /// `bool`.
    Bool(bool),
    /// `int64`.
    Int(i64),
    /// `float64`: every number of a YAML or JSON text.
    Float(f64),
    /// `string`.
    String(Box<str>),
    /// `[]interface{}`.
    List(List),
    /// `map[string]interface{}`.
    Map(Map),
}

/// A list of nodes. Dropping a deeply nested one needs no stack.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct List(Vec<Node>);

/// A mapping of nodes in key order. Who takes it apart can share its keys. Dropping a deeply nested one needs no stack.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map(Entries<Arc<str>, Node>);

/// Goes through the entries of a mapping.
pub type MapIter<'a> = Iter<'a, Arc<str>, Node>;

impl PartialEq for Node {
    /// Compares values; where they were written does not matter.
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        Self { value, pos: Pos::default() }
    }
}

impl From<&str> for Value {
    fn from(s: &str) -> Self {
        Self::String(s.into())
    }
}

impl From<String> for Value {
    fn from(s: String) -> Self {
        Self::String(s.into_boxed_str())
    }
}

impl Node {
    /// A node at a place.
    pub fn new(value: impl Into<Value>, pos: Pos) -> Self {
        Self { value: value.into(), pos }
    }

    /// The mapping, if it is one.
    pub fn as_map(&self) -> Option<&Map> {
        match &self.value {
            Value::Map(m) => Some(m),
            _ => None,
        }
    }

    /// The mapping, if it is one.
    pub fn as_map_mut(&mut self) -> Option<&mut Map> {
        match &mut self.value {
            Value::Map(m) => Some(m),
            _ => None,
        }
    }

    /// The list, if it is one.
    pub fn as_list(&self) -> Option<&List> {
        match &self.value {
            Value::List(l) => Some(l),
            _ => None,
        }
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(s) => Some(s),
            _ => None,
        }
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self.value {
            Value::Bool(b) => Some(b),
            _ => None,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// The entry of a mapping; nothing for anything else.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.as_map().and_then(|m| m.get(key))
    }
}

impl List {
    /// An empty list.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds at the end.
    pub fn push(&mut self, node: Node) {
        self.0.push(node);
    }

    /// Takes the nodes out.
    pub fn into_vec(mut self) -> Vec<Node> {
        std::mem::take(&mut self.0)
    }

    /// The nodes, changeable.
    pub fn as_vec_mut(&mut self) -> &mut Vec<Node> {
        &mut self.0
    }
}

impl std::ops::Deref for List {
    type Target = [Node];

    fn deref(&self) -> &[Node] {
        &self.0
    }
}

impl From<Vec<Node>> for List {
    fn from(nodes: Vec<Node>) -> Self {
        Self(nodes)
    }
}

impl FromIterator<Node> for List {
    fn from_iter<I: IntoIterator<Item = Node>>(iter: I) -> Self {
        Self(iter.into_iter().collect())
    }
}

impl Map {
    /// An empty mapping.
    pub const fn new() -> Self {
        Self(Entries::new())
    }

    /// An empty mapping with room for so many entries.
    pub fn with_room(entries: usize) -> Self {
        Self(Entries::with_room(entries))
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entry of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.0.get(key)
    }

    /// The entry of a key, changeable.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.0.get_mut(key)
    }

    /// Whether the key is there.
    pub fn contains_key(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Sets an entry and hands back what was there.
    pub fn insert(&mut self, key: impl Into<Arc<str>>, node: impl Into<Node>) -> Option<Node> {
        self.0.insert(key.into(), node.into())
    }

    /// Takes an entry out.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        self.0.remove(key)
    }

    /// Keeps the entries for which the answer is yes.
    pub fn retain(&mut self, keep: impl FnMut(&Arc<str>, &mut Node) -> bool) {
        self.0.retain(keep);
    }

    /// The entries in key order (bytewise).
    pub fn iter(&self) -> MapIter<'_> {
        self.0.iter()
    }

    /// The entries in key order, changeable.
    pub fn iter_mut(&mut self) -> IterMut<'_, Arc<str>, Node> {
        self.0.iter_mut()
    }

    /// The keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Arc<str>> + ExactSizeIterator {
        self.0.keys()
    }

    /// Takes the entries out.
    pub fn into_entries(mut self) -> IntoIter<Arc<str>, Node> {
        std::mem::take(&mut self.0).into_iter()
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = (&'a Arc<str>, &'a Node);
    type IntoIter = MapIter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl FromIterator<(Arc<str>, Node)> for Map {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Node)>>(iter: I) -> Self {
        Self(iter.into_iter().collect())
    }
}

/// Moves the containers among `nodes` to the work list, so that they are taken apart in a loop.
fn unnest(nodes: impl Iterator<Item = Node>, work: &mut Vec<Node>) {
    work.extend(nodes.filter(|n| matches!(n.value, Value::List(_) | Value::Map(_))));
}

fn values(entries: Entries<Arc<str>, Node>) -> impl Iterator<Item = Node> {
    entries.into_iter().map(|(_, node)| node)
}

fn take_apart(mut work: Vec<Node>) {
    while let Some(node) = work.pop() {
        match node.value {
            Value::List(mut l) => unnest(std::mem::take(&mut l.0).into_iter(), &mut work),
            Value::Map(mut m) => unnest(values(std::mem::take(&mut m.0)), &mut work),
            _ => {}
        }
    }
}

impl Drop for List {
    fn drop(&mut self) {
        if self.0.iter().any(|n| matches!(n.value, Value::List(_) | Value::Map(_))) {
            let mut work = Vec::new();
            unnest(std::mem::take(&mut self.0).into_iter(), &mut work);
            take_apart(work);
        }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        if self.0.values().any(|n| matches!(n.value, Value::List(_) | Value::Map(_))) {
            let mut work = Vec::new();
            unnest(values(std::mem::take(&mut self.0)), &mut work);
            take_apart(work);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_levels_are_dropped_without_a_stack() {
        let mut node = Node::default();
        for i in 0..1_000_000 {
            let mut list = List::new();
            let mut map = Map::new();
            if i % 2 == 0 {
                list.push(node);
                node = Value::List(list).into();
            } else {
                map.insert("k", node);
                node = Value::Map(map).into();
            }
        }
        drop(node);
    }
}
