//! Which old value belongs to a new one, and whether the two are equal.

use std::cell::OnceCell;
use std::collections::HashMap;

use serde_json::Value;

use crate::go::Figure;
use crate::node::{ListType, Node, Type};

/// A new value beside the old one that it replaces.
#[derive(Debug)]
pub struct Pair<'a> {
    pub new: &'a Value,
    pub old: &'a Value,
    node: &'a Node,
    items: OnceCell<OldItems<'a>>,
}

impl<'a> Pair<'a> {
    /// Two values of one schema.
    pub fn new(new: &'a Value, old: &'a Value, node: &'a Node) -> Self {
        Self { new, old, node, items: OnceCell::new() }
    }

    /// The values of a field; nothing unless both have it and the schema names it.
    pub fn key(&self, name: &str) -> Option<Self> {
        let (new, old) = (self.new.as_object()?.get(name)?, self.old.as_object()?.get(name)?);
        Some(Self::new(new, old, self.node.field(name)?))
    }

    /// An item of the new list beside the old item of the same key.
    pub fn index(&self, index: usize) -> Option<Self> {
        let old = self.old.as_array()?;
        let new = self.new.as_array()?.get(index)?;
        if self.node.list_type != ListType::Map {
            return None;
        }
        let items = self.items.get_or_init(|| OldItems::new(self.node, old));
        Some(Self::new(new, items.get(new).filter(|old| !old.is_null())?, self.node.items.as_deref()?))
    }

    /// Whether the two are the same, as far as the schema knows them: lists of the map type in any order, and fields
    /// that it does not name make the difference.
    pub fn equal(&self) -> bool {
        match (self.new, self.old) {
            (Value::Null, Value::Null) => true,
            (Value::Array(new), Value::Array(old)) => {
                if new.len() != old.len() {
                    return false;
                }
                if self.node.list_type != ListType::Map {
                    return new == old;
                }
                (0..new.len()).all(|index| self.index(index).is_some_and(|item| item.equal()))
            }
            (Value::Object(new), Value::Object(old)) => {
                new.len() == old.len()
                    && new.keys().all(|name| self.key(name).is_some_and(|field| field.equal()))
            }
            (new, old) => new == old,
        }
    }
}

/// The items of an old list by their keys.
#[derive(Debug)]
pub struct OldItems<'a> {
    keys: &'a [String],
    by_key: HashMap<String, &'a Value>,
}

impl<'a> OldItems<'a> {
    /// The items, if the schema says that the list is a map; else none.
    pub fn new(node: &'a Node, items: &'a [Value]) -> Self {
        let mut by_key = HashMap::new();
        let keys = node.list_map_keys.as_slice();
        if node.kind == Some(Type::Array) && node.list_type == ListType::Map && !keys.is_empty() {
            for item in items {
                if let Some(key) = key_of(keys, item) {
                    by_key.entry(key).or_insert(item);
                }
            }
        }
        Self { keys, by_key }
    }

    /// The old item with the keys of this one.
    pub fn get(&self, item: &Value) -> Option<&'a Value> {
        if self.by_key.is_empty() {
            return None;
        }
        self.by_key.get(&key_of(self.keys, item)?).copied()
    }
}

/// The keys of an item as one text; nothing if one is missing or no single value.
fn key_of(keys: &[String], item: &Value) -> Option<String> {
    let item = item.as_object()?;
    let mut text = String::new();
    for key in keys {
        text.push('\0');
        match item.get(key)? {
            Value::Bool(flag) => text.push_str(if *flag { "t" } else { "f" }),
            Value::String(word) => text.push_str(&format!("{word:?}")),
            Value::Number(number) => match Figure::of(number) {
                Figure::Whole(whole) => text.push_str(&whole.to_string()),
                Figure::Broken(float) if keys.len() > 1 => text.push_str(&format!("{float:.6}")),
                Figure::Broken(float) => text.push_str(&format!("{float:e}")),
            },
            _ => return None,
        }
    }
    Some(text)
}
