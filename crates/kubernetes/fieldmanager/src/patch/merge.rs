//! JSON merge patches (RFC 7386).

use serde_json::{Map, Value};

/// The patch is no object and no list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Invalid JSON Patch")]
pub struct NotAMerge;

/// Merges a patch into an object: keys that are null go.
pub fn merge(document: Value, patch: Value) -> Result<Value, NotAMerge> {
    match (document, patch) {
        (Value::Object(mut document), Value::Object(patch)) => {
            into(&mut document, patch);
            Ok(Value::Object(document))
        }
        (_, mut patch @ (Value::Object(_) | Value::Array(_))) => {
            prune(&mut patch);
            Ok(patch)
        }
        _ => Err(NotAMerge),
    }
}

fn into(document: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (key, mut value) in patch {
        match (document.get_mut(&key), value) {
            (_, Value::Null) => {
                document.remove(&key);
            }
            (Some(Value::Object(old)), Value::Object(new)) => into(old, new),
            // What takes the place of an object is taken as it is.
            (Some(old @ Value::Object(_)), new) => *old = new,
            (_, new) => {
                value = new;
                prune(&mut value);
                document.insert(key, value);
            }
        }
    }
}

/// Takes the nulls out of all objects of a value; those in lists stay.
fn prune(value: &mut Value) {
    match value {
        Value::Object(map) => map.retain(|_, value| {
            prune(value);
            !value.is_null()
        }),
        Value::Array(items) => items.iter_mut().for_each(prune),
        _ => {}
    }
}
