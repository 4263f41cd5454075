//! Fields that a part of an object's address does not write, and which are therefore not tracked for it.

use crate::set::{FieldSet, Node};
use crate::step::Step;

/// Which fields are tracked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// All but these and what is below them.
    Except(FieldSet<'static>),
    /// Only those whose paths begin like one of these; nothing stands for any step.
    Only(Vec<Vec<Option<String>>>),
}

impl Filter {
    pub(crate) fn apply<'a>(&self, set: FieldSet<'a>) -> FieldSet<'a> {
        match self {
            Filter::Except(fields) => set.without(fields),
            Filter::Only(patterns) => only(set, &patterns.iter().map(Vec::as_slice).collect::<Vec<_>>()),
        }
    }
}

fn only<'a>(set: FieldSet<'a>, patterns: &[&[Option<String>]]) -> FieldSet<'a> {
    if patterns.iter().any(|pattern| pattern.is_empty()) {
        return set;
    }
    let keep = |node: Node<'a>| {
        let fits = |first: &Option<String>| match (first, &node.step) {
            (None, _) => true,
            (Some(name), Step::Field(field)) => name == field,
            _ => false,
        };
        let rest = |pattern: &&'_ [Option<String>]| pattern.first().is_some_and(fits);
        let below: Vec<&[Option<String>]> =
            patterns.iter().filter(|pattern| rest(pattern)).filter_map(|pattern| pattern.get(1..)).collect();
        if below.is_empty() {
            return None;
        }
        let node = Node { below: only(node.below, &below), ..node };
        (node.owned || !node.below.is_empty()).then_some(node)
    };
    FieldSet { nodes: set.nodes.into_iter().filter_map(keep).collect() }
}
