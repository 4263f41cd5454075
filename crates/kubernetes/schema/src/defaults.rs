//! Defaults: what a schema puts where nothing was said.

use serde_json::{Map, Value};

use crate::metadata;
use crate::node::Node;
use crate::prune::prune;

/// Fills in defaults, also inside items and inside what a default brings along.
pub fn default(value: &mut Value, node: &Node) {
    match value {
        Value::Object(fields) => {
            for (name, schema) in &node.properties {
                let Some(default) = &schema.default else { continue };
                if fields.get(name).is_none_or(|value| value.is_null() && schema.refuses_null()) {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in fields.iter_mut() {
                if let Some(schema) = node.properties.get(name) {
                    self::default(value, schema);
                } else if let Some(schema) = node.extra.as_ref().and_then(|extra| extra.node.as_deref()) {
                    replace_null(value, schema);
                    self::default(value, schema);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = node.items.as_deref() else { return };
            for item in items {
                replace_null(item, schema);
                default(item, schema);
            }
        }
        _ => {}
    }
}

fn replace_null(value: &mut Value, schema: &Node) {
    if value.is_null()
        && schema.refuses_null()
        && let Some(default) = &schema.default
    {
        *value = default.clone();
    }
}

/// A step from an object to the place of a default inside it.
#[derive(Clone, Debug)]
pub enum Step {
    Field(String),
    Item,
}

/// An object that has nothing but a value at a place.
pub fn surround(value: Value, steps: &[Step]) -> Value {
    steps.iter().rev().fold(value, |inner, step| match step {
        Step::Field(name) => Value::Object(Map::from_iter([(name.clone(), inner)])),
        Step::Item => Value::Array(vec![inner]),
    })
}

/// The value at that place.
fn take(value: Value, steps: &[Step]) -> Option<Value> {
    steps.iter().try_fold(value, |value, step| match (step, value) {
        (Step::Field(name), Value::Object(mut fields)) => fields.remove(name),
        (Step::Item, Value::Array(items)) => items.into_iter().next(),
        _ => None,
    })
}

/// Takes out of the defaults of a schema what the schema itself does not know.
pub fn prune_defaults(root: &mut Node) {
    let whole = root.clone();
    prune_below(root, &whole, &mut Vec::new());
}

fn prune_below(node: &mut Node, root: &Node, steps: &mut Vec<Step>) {
    if let Some(default) = node.default.take() {
        let mut object = surround(default, steps);
        if object.is_object() {
            let _ = metadata::coerce(&mut object, root, true, true);
            prune(&mut object, root, true);
        }
        node.default = take(object, steps);
    }
    let mut at = |node: &mut Node, step: Step| {
        steps.push(step);
        prune_below(node, root, steps);
        steps.pop();
    };
    if let Some(node) = node.extra.as_mut().and_then(|extra| extra.node.as_deref_mut()) {
        at(node, Step::Field("*".to_owned()));
    }
    if let Some(node) = node.items.as_deref_mut() {
        at(node, Step::Item);
    }
    for (name, node) in &mut node.properties {
        at(node, Step::Field(name.clone()));
    }
}
