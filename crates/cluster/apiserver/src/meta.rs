//! The metadata of objects: small views and changes.

use serde_json::{Map, Value};

/// The metadata of an object.
pub fn of(object: &Value) -> Option<&Map<String, Value>> {
    object.get("metadata")?.as_object()
}

/// The metadata of an object, to change it.
pub fn of_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let object = object.as_object_mut()?;
    let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if !metadata.is_object() {
        *metadata = Value::Object(Map::new());
    }
    metadata.as_object_mut()
}

/// A text in the metadata; empty if it is not there.
pub fn text<'o>(object: &'o Value, key: &str) -> &'o str {
    of(object).and_then(|metadata| metadata.get(key)).and_then(Value::as_str).unwrap_or_default()
}

/// Puts something into the metadata.
pub fn set(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Some(metadata) = of_mut(object) {
        metadata.insert(key.to_owned(), value.into());
    }
}

/// Takes something out of the metadata.
pub fn remove(object: &mut Value, key: &str) {
    if let Some(metadata) = of_mut(object) {
        metadata.remove(key);
    }
}

/// Gives a field of the metadata the value that it has in another object, if any.
pub fn keep(object: &mut Value, old: &Value, key: &str) {
    match of(old).and_then(|metadata| metadata.get(key)) {
        Some(value) => set(object, key, value.clone()),
        None => remove(object, key),
    }
}

/// The finalizers.
pub fn finalizers(object: &Value) -> Vec<&str> {
    let list = of(object).and_then(|metadata| metadata.get("finalizers")).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Whether it was deleted, and only waits.
pub fn is_deleted(object: &Value) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

/// A number in the metadata.
pub fn number(object: &Value, key: &str) -> Option<i64> {
    of(object)?.get(key)?.as_i64()
}
