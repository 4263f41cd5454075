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
    units: Vec<Unit>,
    /// Where a template is, once there are too many to look at each: the text of a `tpl` is one.
    places: HashMap<Box<[u8]>, usize, NameHash>,
}

thread_local! {
    /// What compiling needs for a while.
    static SPARE: Cell<(Spare, Room)> = Cell::default();
}

/// So many templates are looked through one by one.
const FEW: usize = 4;

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

    /// Adds templates. One replaces an earlier one of the same name, but an empty one replaces nothing.
    pub fn insert(&mut self, units: Vec<Unit>) {
        // The text of a `tpl` is one template.
        if self.units.is_empty() && units.len() == 1 {
            self.units = units;
            return;
        }
        for unit in units {
            match self.place(&unit.name) {
                Some(_) if unit.empty => {}
                Some(place) => self.units[place] = unit,
                None => {
                    self.units.push(unit);
                    self.remember();
                }
            }
        }
    }

    /// Makes room for so many more.
    pub fn reserve(&mut self, count: usize) {
        self.units.reserve(count);
        self.places.reserve(count);
    }

    fn remember(&mut self) {
        let known = if self.units.len() > FEW { self.places.len() } else { self.units.len() };
        for (place, unit) in self.units.iter().enumerate().skip(known) {
            self.places.insert(unit.name.clone(), place);
        }
    }

    fn place(&self, name: &[u8]) -> Option<usize> {
        if self.places.is_empty() {
            return self.units.iter().position(|unit| *unit.name == *name);
        }
        self.places.get(name).copied()
    }

    /// The template of a name.
    pub fn get(&self, name: &[u8]) -> Option<&Unit> {
        self.units.get(self.place(name)?)
    }

    /// About how many bytes the compiled templates take, without their texts.
    pub(crate) fn size(&self) -> usize {
        let unit = |unit: &Unit| {
            let fixed = size_of::<Unit>() + 256 + 16 * unit.messages.len() + 2 * unit.name.len();
            fixed + unit.ops.len() * 2 * size_of::<Op>() + unit.consts.len() * 64 + unit.vars.len() * 64
        };
        self.units.iter().map(unit).sum()
    }

    /// The names of all templates, in no order.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.units.iter().map(|unit| &*unit.name)
    }
}
