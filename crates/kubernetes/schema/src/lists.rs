//! Lists that are sets or maps: nothing may be there twice.

use std::collections::HashMap;

use podium_meta::{ErrorType, FieldError};
use serde_json::{Map, Value};

use crate::go;
use crate::node::{ListType, Node};
use crate::path::Path;

/// What is there twice in the lists of an object.
pub fn repeated(value: &Value, node: &Node, at: &Path) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    below(&mut flaws, value, node, at);
    flaws
}

fn below(flaws: &mut Vec<FieldError>, value: &Value, node: &Node, at: &Path) {
    match value {
        Value::Object(fields) => {
            if let Some(schema) = node.extra.as_ref().and_then(|extra| extra.node.as_deref()) {
                for (name, value) in fields {
                    below(flaws, value, schema, &at.key(name));
                }
            }
            for (name, value) in fields {
                if let Some(schema) = node.properties.get(name) {
                    below(flaws, value, schema, &at.child(name));
                }
            }
        }
        Value::Array(items) => {
            match node.list_type {
                ListType::Atomic => {}
                ListType::Set => {
                    let keys: Vec<Option<Value>> = items.iter().cloned().map(Some).collect();
                    flaws.extend(second(&keys).into_iter().map(|index| twice(at, index, &items[index])));
                }
                ListType::Map => by_keys(flaws, items, &node.list_map_keys, at),
            }
            if let Some(schema) = node.items.as_deref() {
                for (index, item) in items.iter().enumerate() {
                    below(flaws, item, schema, &at.index(index));
                }
            }
        }
        _ => {}
    }
}

fn twice(at: &Path, index: usize, value: &Value) -> FieldError {
    FieldError::new(ErrorType::Duplicate, at.index(index), &go::shown(value), "")
}

fn by_keys(flaws: &mut Vec<FieldError>, items: &[Value], names: &[String], at: &Path) {
    let odd = items.iter().enumerate().find(|(_, item)| !item.is_null() && !item.is_object());
    if let Some((index, item)) = odd {
        let detail = "must be an object for an array of list-type map";
        flaws.push(FieldError::new(ErrorType::Invalid, at.index(index), &go::shown(item), detail));
        return;
    }
    let key = |item: &Value, name: &String| item.as_object().and_then(|fields| fields.get(name).cloned());
    let keys: Vec<Option<Value>> = match names {
        [name] => items.iter().map(|item| key(item, name)).collect(),
        names => items
            .iter()
            .map(|item| {
                let fields = names.iter().filter_map(|name| Some((name.clone(), key(item, name)?)));
                Some(Value::Object(fields.collect()))
            })
            .collect(),
    };
    for index in second(&keys) {
        let shown = match (names, keys.get(index).cloned().flatten()) {
            ([name], Some(key)) => Value::Object(Map::from_iter([(name.clone(), key)])),
            ([_], None) => Value::Object(Map::new()),
            (_, key) => key.unwrap_or_default(),
        };
        flaws.push(twice(at, index, &shown));
    }
}

/// Where a value comes for the second time; later ones are not told again.
fn second(keys: &[Option<Value>]) -> Vec<usize> {
    let mut seen: HashMap<String, usize> = HashMap::with_capacity(keys.len());
    let mut places = Vec::new();
    for (index, key) in keys.iter().enumerate() {
        // The text of single values tells whole numbers from others.
        let text = match key {
            None => "none".to_owned(),
            Some(value @ Value::Number(_)) => value.to_string(),
            Some(value) => go::json(value),
        };
        let times = seen.entry(text).or_default();
        *times += 1;
        if *times == 2 {
            places.push(index);
        }
    }
    places
}
