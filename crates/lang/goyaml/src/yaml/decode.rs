//! From nodes to the tree.

use super::error::{Error, Mark, Origin};
use super::resolve::Resolved;
use super::tape::{Entry, Tape};
use super::text::{coerce, key_text, wanted_of};
use super::typed::Typed;
use super::types::{Type, conform, conform_strictly};
use super::walk::{Build, Walk};
use crate::tree::{List, Map, Node, Pos, Value};
use crate::unicode;

/// How deep a JSON text may be nested for Go to read it.
const MAX_JSON_DEPTH: usize = 10_000;
/// As many keys that came twice are noted; a text with more of them is refused all the same.
const MOST_TWICE: usize = 1000;

struct TreeBuild {
    origin: Origin,
    /// Whether whole numbers stay whole.
    whole: bool,
    /// Whether a key or number came that JSON cannot have, though it may have been replaced later.
    suspicious: bool,
    /// The keys that came twice, as Go notes them.
    twice: Vec<(String, Pos)>,
}

impl<'t> Build<'t> for TreeBuild {
    type Value = Node;
    type Map = Map;

    fn scalar(&mut self, value: Resolved<'t>, entry: &Entry, wanted: Option<&Type>) -> Node {
        let value = match coerce(&value, wanted) {
            Some(text) => text.into(),
            None => match value {
                Resolved::Null => Value::Null,
                Resolved::Bool(b) => Value::Bool(b),
                Resolved::Int(i) if self.whole => Value::Int(i),
                Resolved::Int(i) => Value::Float(i as f64),
                Resolved::Uint(u) => Value::Float(u as f64),
                Resolved::Float(f) => {
                    self.suspicious |= !f.is_finite();
                    Value::Float(f)
                }
                Resolved::Str(text) => Value::from(&*unicode::valid(&text)),
            },
        };
        Node { value, pos: entry.mark.pos(self.origin) }
    }

    fn open(&mut self, entries: usize) -> Map {
        Map::with_room(entries)
    }

    fn list(&mut self, items: Vec<Node>, entry: &Entry) -> Node {
        Node { value: Value::List(List::from(items)), pos: entry.mark.pos(self.origin) }
    }

    fn map(&mut self, map: Map, entry: &Entry) -> Node {
        Node { value: Value::Map(map), pos: entry.mark.pos(self.origin) }
    }

    fn put(&mut self, map: &mut Map, key: Resolved<'t>, value: Node) {
        match key_text(&key) {
            Some(text) => {
                let pos = value.pos;
                if map.insert(&*text, value).is_some() && self.twice.len() < MOST_TWICE {
                    let mut key = String::new();
                    crate::unicode::quote(&mut key, text.as_bytes());
                    self.twice.push((key, pos));
                }
            }
            None => self.suspicious = true,
        }
    }

    fn wanted<'y>(&self, map: Option<&'y Type>, key: &Resolved<'t>) -> Option<&'y Type> {
        wanted_of(map, key)
    }
}

/// The value of a document, read into a type, in which no key is twice or unknown.
pub(super) fn decode_strictly(tape: &Tape<'_>, origin: Origin, ty: &Type) -> Result<Node, Error> {
    if tape.entries.is_empty() {
        let nothing = Node { value: Value::Null, pos: Mark::default().pos(origin) };
        return conform_strictly(nothing, ty, origin);
    }
    let mut build = TreeBuild { origin, whole: false, suspicious: false, twice: Vec::new() };
    let node = Walk::new(tape, &mut build)
        .run(0, Some(ty))
        .map_err(|fault| fault.convert(origin))?
        .unwrap_or_default();
    if let Some((_, pos)) = build.twice.first() {
        let line = |(key, pos): &(String, Pos)| {
            let line = pos.line.saturating_sub(origin.first_line) + 1;
            format!("  line {line}: key {key} already set in map")
        };
        let lines: Vec<String> = build.twice.iter().map(line).collect();
        let text = format!("yaml: unmarshal errors:\n{}", lines.join("\n"));
        return Err(Error::Convert { text, pos: *pos });
    }
    if build.suspicious {
        Typed::of(tape, 0, None).check_keys().map_err(|fault| fault.convert(origin))?;
        Typed::of(tape, 0, Some(ty)).check_numbers().map_err(|fault| fault.convert(origin))?;
    }
    conform_strictly(node, ty, origin)
}

/// The value of a document, read into a type if one is given.
pub(super) fn decode(tape: &Tape<'_>, origin: Origin, ty: Option<&Type>, whole: bool) -> Result<Node, Error> {
    if tape.entries.is_empty() {
        let nothing = Node { value: Value::Null, pos: Mark::default().pos(origin) };
        return ty.map_or_else(|| Ok(nothing.clone()), |ty| conform(nothing.clone(), ty, origin));
    }
    let mut build = TreeBuild { origin, whole, suspicious: false, twice: Vec::new() };
    let node =
        Walk::new(tape, &mut build).run(0, ty).map_err(|fault| fault.convert(origin))?.unwrap_or_default();
    if build.suspicious {
        Typed::of(tape, 0, None).check_keys().map_err(|fault| fault.convert(origin))?;
        Typed::of(tape, 0, ty).check_numbers().map_err(|fault| fault.convert(origin))?;
    }
    if tape.intricate
        && let Some(deep) = too_deep(&node)
    {
        let bracket = if deep.as_list().is_some() { '[' } else { '{' };
        let text = format!("invalid character '{bracket}' exceeded max depth");
        return Err(Error::Decode { text, pos: deep.pos });
    }
    match ty {
        None => Ok(node),
        Some(ty) => conform(node, ty, origin),
    }
}

/// The first collection, in the order of the JSON text, that is nested too deeply.
fn too_deep(root: &Node) -> Option<&Node> {
    let mut work = vec![(root, 1)];
    while let Some((node, depth)) = work.pop() {
        match &node.value {
            Value::List(_) | Value::Map(_) if depth > MAX_JSON_DEPTH => return Some(node),
            Value::List(items) => work.extend(items.iter().rev().map(|item| (item, depth + 1))),
            Value::Map(map) => work.extend(map.iter().rev().map(|(_, value)| (value, depth + 1))),
            _ => {}
        }
    }
    None
}
