//! What no keyword has looked at so far.

use std::collections::BTreeSet;

use podium_goyaml::{Node, Value};

use crate::schema::Schema;

/// Properties and items that no keyword has looked at; both are empty where nobody asks.
#[derive(Debug, Default)]
pub(super) struct Uneval<'v> {
    pub properties: BTreeSet<&'v str>,
    pub items: BTreeSet<usize>,
}

impl<'v> Uneval<'v> {
    /// What a schema starts with; `wanted` says that an outer schema will ask.
    pub fn new(node: &'v Node, schema: Option<&Schema>, wanted: bool) -> Self {
        let mut uneval = Self::default();
        let Some(schema) = schema else { return uneval };
        match &node.value {
            Value::Map(map) => {
                let rules = schema.object.as_ref();
                let asks = wanted || rules.is_some_and(|rules| rules.unevaluated.is_some());
                if asks && rules.is_none_or(|rules| rules.additional.is_none()) {
                    uneval.properties = map.keys().map(|key| &**key).collect();
                }
            }
            Value::List(list) => {
                let rules = schema.array.as_ref();
                let asks = wanted || rules.is_some_and(|rules| rules.unevaluated.is_some());
                if asks && rules.is_none_or(|rules| !rules.evaluates_all()) {
                    uneval.items = (rules.map_or(0, |rules| rules.evaluated())..list.len()).collect();
                }
            }
            _ => {}
        }
        uneval
    }

    pub fn is_empty(&self) -> bool {
        self.properties.is_empty() && self.items.is_empty()
    }

    /// Keeps what another schema has not looked at either.
    pub fn keep(&mut self, other: &Self) {
        self.properties.retain(|property| other.properties.contains(property));
        self.items.retain(|item| other.items.contains(item));
    }
}
