//! A value without some of its fields, or with only those.

use podium_schema::shape::{Shape, Shapes};
use serde_json::{Map, Value};

use super::{Parts, Way, keys, parts};
use crate::set::FieldSet;
use crate::step::Step;

/// Removes the fields and items of a set. What is left without parts becomes null.
pub fn remove(shapes: &Shapes, shape: &Shape, value: &mut Value, set: &FieldSet<'_>) {
    let parts = parts(shape);
    let kept = match (parts, &mut *value) {
        (Parts::Scalar(_), _) => return,
        (Parts::Any | Parts::Opaque, Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            return;
        }
        (parts, Value::Object(map)) if parts.way(&Value::Object(Map::new())) == Way::Map => {
            map.retain(|key, value| {
                let Some(node) = set.get(&Step::field(key)) else { return true };
                if node.owned {
                    return false;
                }
                if let Some(child) = parts.child(shapes, key) {
                    remove(shapes, child, value, &node.below);
                }
                true
            });
            !map.is_empty()
        }
        (Parts::List(list), Value::Array(items)) if parts.way(&Value::Null) == Way::List => {
            let shape = shapes.get(list.items);
            items.retain_mut(|item| {
                let node = match keys::step(shapes, list, item) {
                    Ok(step) => set.get(&step),
                    Err(_) => None,
                };
                let Some(node) = node else { return true };
                if !node.owned {
                    remove(shapes, shape, item, &node.below);
                }
                !node.owned
            });
            !items.is_empty()
        }
        _ => false,
    };
    if !kept {
        *value = Value::Null;
    }
}

/// The value with only the fields and items of a set.
pub fn extract(shapes: &Shapes, shape: &Shape, value: &Value, set: &FieldSet<'_>) -> Value {
    let parts = parts(shape);
    match (parts.way(value), parts, value) {
        (Way::Map, parts, Value::Object(map)) if !map.is_empty() => {
            let mut out = Map::new();
            for (key, value) in map {
                let Some(node) = set.get(&Step::field(key)) else { continue };
                let Some(child) = parts.child(shapes, key) else { continue };
                // A field of the set is not looked into further: the original hands down the set of its parent.
                let below = if node.owned { set } else { &node.below };
                out.insert(key.clone(), extract(shapes, child, value, below));
            }
            if out.is_empty() { Value::Null } else { Value::Object(out) }
        }
        (Way::List, Parts::List(list), Value::Array(items)) if !items.is_empty() => {
            let shape = shapes.get(list.items);
            let pick = |item: &Value| {
                let step = keys::step(shapes, list, item).ok()?;
                let node = set.get(&step)?;
                let whole = node.below.is_empty();
                Some(if whole { item.clone() } else { extract(shapes, shape, item, &node.below) })
            };
            let out: Vec<Value> = items.iter().filter_map(pick).collect();
            if out.is_empty() { Value::Null } else { Value::Array(out) }
        }
        (Way::Leaf, ..) => value.clone(),
        (_, _, Value::Object(_) | Value::Array(_)) => value.clone(),
        _ => Value::Null,
    }
}
