//! The fields that a value mentions.

use std::collections::BTreeMap;

use podium_schema::shape::{List, Shape, Shapes};
use serde_json::{Map, Value};

use super::{Parts, Way, keys, parts};
use crate::set::{FieldSet, Node};
use crate::step::Step;

/// The set of the leaves of a value and of the items of its lists.
pub fn fields<'a>(shapes: &'a Shapes, shape: &'a Shape, value: &'a Value) -> FieldSet<'a> {
    visit(shapes, shape, value).1
}

/// Whether the value is a leaf, and what is below it.
fn visit<'a>(shapes: &'a Shapes, shape: &'a Shape, value: &'a Value) -> (bool, FieldSet<'a>) {
    let parts = parts(shape);
    let below = match (parts.way(value), parts, value) {
        (Way::Leaf, ..) => return (true, FieldSet::default()),
        (Way::Map, parts, Value::Object(map)) => entries(shapes, parts, map),
        (Way::List, Parts::List(list), Value::Array(items)) => self::items(shapes, list, items),
        _ => Vec::new(),
    };
    (false, FieldSet { nodes: below })
}

fn entries<'a>(shapes: &'a Shapes, shape: Parts<'a>, map: &'a Map<String, Value>) -> Vec<Node<'a>> {
    let mut nodes = Vec::with_capacity(map.len());
    for (key, value) in map {
        let Some(child) = shape.child(shapes, key) else { continue };
        let (leaf, below) = visit(shapes, child, value);
        let bare = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        let owned = leaf || bare || !shape.declares(key);
        if owned || !below.is_empty() {
            nodes.push(Node { step: Step::field(key), owned, below });
        }
    }
    nodes
}

/// Of items with the same key there is one node, without what is below them. Items that cannot be told apart (what
/// is left of one that was emptied) count as one as well: the list has something in it.
fn items<'a>(shapes: &'a Shapes, list: &'a List, items: &'a [Value]) -> Vec<Node<'a>> {
    let shape = shapes.get(list.items);
    let step = |item| keys::step(shapes, list, item).unwrap_or_else(|_| Step::Key(Vec::new()));
    let steps = items.iter().map(|item| (step(item), item));
    if items.len() == 1 {
        let node = |(step, item)| Node { step, owned: true, below: visit(shapes, shape, item).1 };
        return steps.map(node).collect();
    }
    let mut found: BTreeMap<Step<'a>, Option<&'a Value>> = BTreeMap::new();
    for (step, item) in steps {
        found.entry(step).and_modify(|first| *first = None).or_insert(Some(item));
    }
    let below = |item: Option<&'a Value>| item.map(|item| visit(shapes, shape, item).1).unwrap_or_default();
    found.into_iter().map(|(step, item)| Node { step, owned: true, below: below(item) }).collect()
}
