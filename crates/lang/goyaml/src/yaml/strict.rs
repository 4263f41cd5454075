//! What only a strict reader minds: keys that come twice, and fields that a type does not have.

use std::collections::HashSet;

use super::error::{Error, Mark, Origin};
use super::resolve::Resolved;
use super::tape::{Entry, Tape};
use super::typed::scalar_syntax;
use super::types::{Kind, Type};
use super::walk::{Build, Walk};
use crate::tree::{Node, Pos, Value};
use crate::unicode;

/// Notes the keys of each mapping, and those that were there before.
struct Keys {
    origin: Origin,
    twice: Vec<(u32, String)>,
}

impl<'t> Build<'t> for Keys {
    /// Where the value is.
    type Value = Mark;
    type Map = HashSet<String>;

    fn scalar(&mut self, _: Resolved<'t>, entry: &Entry, _: Option<&Type>) -> Mark {
        entry.mark
    }

    fn list(&mut self, _: Vec<Mark>, entry: &Entry) -> Mark {
        entry.mark
    }

    fn map(&mut self, _: HashSet<String>, entry: &Entry) -> Mark {
        entry.mark
    }

    fn put(&mut self, map: &mut HashSet<String>, key: Resolved<'t>, value: Mark) {
        let mut text = String::new();
        scalar_syntax(&mut text, &key);
        if !map.insert(text.clone()) {
            self.twice.push((value.pos(self.origin).line, text));
        }
    }
}

/// Fails if a mapping has a key twice.
pub(super) fn check_keys(tape: &Tape<'_>, origin: Origin) -> Result<(), Error> {
    let mut keys = Keys { origin, twice: Vec::new() };
    if !tape.entries.is_empty() {
        Walk::new(tape, &mut keys).run(0, None).map_err(|fault| fault.convert(origin))?;
    }
    let Some((first, _)) = keys.twice.first() else { return Ok(()) };
    let lines = keys.twice.iter().map(|(line, key)| format!("\n  line {line}: key {key} already set in map"));
    let pos = Pos { source: origin.source, line: *first, column: 1 };
    Err(Error::Convert { text: format!("yaml: unmarshal errors:{}", lines.collect::<String>()), pos })
}

/// Fails if a value has a field that its type does not have. The depth of recursion is that of the type.
pub(super) fn check_fields(node: &Node, ty: &Type) -> Result<(), Error> {
    match (ty.kind, &node.value) {
        (Kind::Struct(of), Value::Map(map)) => map.iter().try_for_each(|(key, value)| {
            let Some((_, ty)) = of.field(key) else {
                let mut quoted = String::new();
                unicode::quote(&mut quoted, key.as_bytes());
                return Err(Error::Decode { text: format!("json: unknown field {quoted}"), pos: value.pos });
            };
            check_fields(value, ty)
        }),
        (Kind::List(element), Value::List(items)) => {
            items.iter().try_for_each(|item| check_fields(item, element))
        }
        (Kind::Map(element), Value::Map(map)) => {
            map.iter().try_for_each(|(_, value)| check_fields(value, element))
        }
        _ => Ok(()),
    }
}
