//! Sets of compiled templates.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::code::{Functions, Op, Unit};
use crate::compile::Room;
use crate::hash::NameHash;
use crate::syntax::{self, ParseError, Source, Spare};

/// A set of templates by name. Immutable once it is built, and shared by threads.
#[derive(Debug, Default)]
pub struct Templates {
    /// The templates of each text, also those that others have replaced.
    texts: Vec<Vec<Unit>>,
    /// Where a template is: in which text, and there at which place. Nothing while there is only one: the text of a `tpl`
    /// is one.
    places: HashMap<Box<[u8]>, (usize, usize), NameHash>,
}

thread_local! {
    /// What compiling needs for a while.
    static SPARE: Cell<(Spare, Room)> = Cell::default();
}

/// Parses a text under a name: its template, and those that are defined in it.
pub fn compile(
    name: &[u8],
    text: impl Into<Arc<[u8]>>,
    functions: &Functions,
) -> Result<Vec<Unit>, ParseError> {
    let source = Arc::new(Source { name: name.into(), text: text.into() });
    let (mut lists, mut room) = SPARE.take();
    let tree = syntax::parse_with(&source, functions, &mut lists)?;
    let units = crate::compile::compile(&tree, functions, &mut room);
    lists.keep(tree);
    SPARE.set((lists, room));
    Ok(units)
}

impl Templates {
    /// Parses a text under a name and adds it with everything that it defines.
    pub fn add(
        &mut self,
        name: &[u8],
        text: impl Into<Arc<[u8]>>,
        functions: &Functions,
    ) -> Result<(), ParseError> {
        self.insert(compile(name, text, functions)?);
        Ok(())
    }

    /// Adds the templates of a text. One replaces an earlier one of the same name, but an empty one replaces nothing.
    pub fn insert(&mut self, units: Vec<Unit>) {
        self.texts.push(units);
        let known = match self.texts.as_slice() {
            [only] if only.len() < 2 => return,
            _ if self.places.is_empty() => 0,
            texts => texts.len() - 1,
        };
        for (text, units) in self.texts.iter().enumerate().skip(known) {
            for (at, unit) in units.iter().enumerate() {
                match self.places.get_mut(&unit.name) {
                    Some(_) if unit.empty => {}
                    Some(place) => *place = (text, at),
                    None => drop(self.places.insert(unit.name.clone(), (text, at))),
                }
            }
        }
    }

    /// Makes room for so many more.
    pub fn reserve(&mut self, count: usize) {
        self.texts.reserve(count);
        self.places.reserve(count);
    }

    /// The template of a name.
    pub fn get(&self, name: &[u8]) -> Option<&Unit> {
        if self.places.is_empty() {
            return self.texts.iter().flatten().find(|unit| *unit.name == *name);
        }
        let (text, at) = self.places.get(name)?;
        self.texts.get(*text)?.get(*at)
    }

    /// About how many bytes the compiled templates take, without their texts.
    pub(crate) fn size(&self) -> usize {
        let unit = |unit: &Unit| {
            let fixed = size_of::<Unit>() + 256 + 16 * unit.messages.len() + 2 * unit.name.len();
            fixed + unit.ops.len() * 2 * size_of::<Op>() + unit.consts.len() * 64 + unit.vars.len() * 64
        };
        self.texts.iter().flatten().map(unit).sum()
    }

    /// The names of all templates, in no order.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        let only = if self.places.is_empty() { self.texts.as_slice() } else { &[] };
        self.places.keys().map(|name| &**name).chain(only.iter().flatten().map(|unit| &*unit.name))
    }
}
