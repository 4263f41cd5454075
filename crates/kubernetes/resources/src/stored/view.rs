//! Small views of objects for the rules.

use serde_json::{Map, Value};

pub type Object = Map<String, Value>;

/// The text of a field; empty if there is none.
pub fn text<'o>(object: &'o Object, key: &str) -> &'o str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The object of a field.
pub fn part<'o>(object: &'o mut Object, key: &str) -> Option<&'o mut Object> {
    object.get_mut(key).and_then(Value::as_object_mut)
}

/// The object of a field, which is made if it is not there.
pub fn made<'o>(object: &'o mut Object, key: &str) -> Option<&'o mut Object> {
    let place = object.entry(key).or_insert(Value::Null);
    if place.is_null() {
        *place = Value::Object(Map::new());
    }
    place.as_object_mut()
}

/// The items of a list that are objects.
pub fn items<'o>(object: &'o mut Object, key: &str) -> impl Iterator<Item = &'o mut Object> {
    object.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Whether a field has something other than null.
pub fn has(object: &Object, key: &str) -> bool {
    object.get(key).is_some_and(|value| !value.is_null())
}

/// Sets a field that is not there.
pub fn set(object: &mut Object, key: &str, value: impl Into<Value>) {
    if !has(object, key) {
        object.insert(key.to_owned(), value.into());
    }
}

/// How many members or items a field has.
pub fn count(object: &Object, key: &str) -> usize {
    match object.get(key) {
        Some(Value::Array(list)) => list.len(),
        Some(Value::Object(map)) => map.len(),
        _ => 0,
    }
}
