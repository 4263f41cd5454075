//! Sets of compiled templates.

use std::collections::HashMap;
use std::sync::Arc;

use crate::code::{Functions, Op, Unit};
use crate::compile::compile;
use crate::syntax::{self, ParseError, Source};

/// A set of templates by name. Immutable once it is built, and shared by threads.
#[derive(Debug, Default)]
pub struct Templates {
    units: HashMap<Box<[u8]>, Unit>,
}

impl Templates {
    /// Parses a text under a name and adds it with everything that it defines. A definition replaces an earlier one
    /// of the same name, but an empty one replaces nothing.
    pub fn add(
        &mut self,
        name: &[u8],
        text: impl Into<Arc<[u8]>>,
        functions: &Functions,
    ) -> Result<(), ParseError> {
        let source = Arc::new(Source { name: name.into(), text: text.into() });
        let tree = syntax::parse(&source, functions)?;
        for unit in compile(&tree, functions) {
            if unit.empty && self.units.contains_key(&unit.name) {
                continue;
            }
            self.units.insert(unit.name.clone(), unit);
        }
        Ok(())
    }

    /// The template of a name.
    pub fn get(&self, name: &[u8]) -> Option<&Unit> {
        self.units.get(name)
    }

    /// About how many bytes the compiled templates take, without their texts.
    pub(crate) fn size(&self) -> usize {
        let unit = |unit: &Unit| {
            let fixed = size_of::<Unit>() + 256 + 16 * unit.messages.len() + 2 * unit.name.len();
            fixed + unit.ops.len() * 2 * size_of::<Op>() + unit.consts.len() * 64 + unit.vars.len() * 64
        };
        self.units.values().map(unit).sum()
    }

    /// The names of all templates, in no order.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.units.keys().map(|k| &**k)
    }
}
