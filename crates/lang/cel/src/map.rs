//! Maps: computed ones, and those of data with what their schema says.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::data;
use crate::escape::{escape, unescape};
use crate::schema::Node;
use crate::value::{Text, Value};

/// A map or an object.
#[derive(Debug, Clone)]
pub enum Map<'a> {
    /// Computed.
    Entries(Arc<Entries<'a>>),
    /// Data without a schema.
    Json(&'a serde_json::Map<String, Json>),
    /// Data with one.
    Typed(&'a Json, &'a Node),
}

/// A computed map; entries stay in the order in which they came.
#[derive(Debug, Default, Clone)]
pub struct Entries<'a> {
    list: Vec<Option<(Value<'a>, Value<'a>)>>,
    index: HashMap<Key, usize>,
    length: usize,
}

/// A key of a computed map, or what a set of constants is searched for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Key {
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(u64),
    Text(Arc<str>),
    Other(String),
}

/// The key that a value is found by.
pub fn key(value: &Value<'_>) -> Key {
    match value {
        Value::Bool(flag) => Key::Bool(*flag),
        Value::Int(int) => Key::Int(*int),
        Value::Uint(uint) => Key::Uint(*uint),
        Value::Double(double) => Key::Double(double.to_bits()),
        Value::String(Text::Shared(text)) => Key::Text(text.clone()),
        Value::String(Text::Borrowed(text)) => Key::Text((*text).into()),
        other => Key::Other(crate::library::show(other)),
    }
}

/// The same number as other kinds of numbers.
fn alike(value: &Value<'_>) -> Vec<Key> {
    let whole = |double: f64| (double == double.trunc()).then_some(double);
    match value {
        Value::Double(double) => {
            let int = whole(*double).filter(|d| *d > i64::MIN as f64 && *d < i64::MAX as f64);
            let uint = whole(*double).filter(|d| *d >= 0.0 && *d < u64::MAX as f64);
            int.map(|d| Key::Int(d as i64)).into_iter().chain(uint.map(|d| Key::Uint(d as u64))).collect()
        }
        Value::Int(int) => u64::try_from(*int).ok().map(Key::Uint).into_iter().collect(),
        Value::Uint(uint) => i64::try_from(*uint).ok().map(Key::Int).into_iter().collect(),
        _ => Vec::new(),
    }
}

impl<'a> Entries<'a> {
    /// Sets an entry.
    pub fn insert(&mut self, name: Value<'a>, value: Value<'a>) {
        let at = *self.index.entry(key(&name)).or_insert(self.list.len());
        match self.list.get_mut(at) {
            Some(slot) => *slot = Some((name, value)),
            None => {
                self.list.push(Some((name, value)));
                self.length += 1;
            }
        }
    }

    /// Takes an entry out.
    pub fn remove(&mut self, name: &Value<'a>) {
        if let Some(at) = self.index.remove(&key(name))
            && let Some(slot) = self.list.get_mut(at)
        {
            *slot = None;
            self.length -= 1;
        }
    }

    /// The value of a key.
    pub fn find(&self, name: &Value<'a>) -> Option<&Value<'a>> {
        let keys = [key(name)].into_iter().chain(alike(name));
        let at = keys.into_iter().find_map(|key| self.index.get(&key))?;
        self.list.get(*at)?.as_ref().map(|(_, value)| value)
    }

    fn iter(&self) -> impl Iterator<Item = &(Value<'a>, Value<'a>)> {
        self.list.iter().flatten()
    }
}

impl<'a> Map<'a> {
    /// A computed map.
    pub fn of(entries: Entries<'a>) -> Self {
        Self::Entries(Arc::new(entries))
    }

    /// How many entries there are, also of those that no schema describes.
    pub fn len(&self) -> usize {
        match self {
            Self::Entries(entries) => entries.length,
            Self::Json(map) => map.len(),
            Self::Typed(json, _) => json.as_object().map_or(0, serde_json::Map::len),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The data, if it is made of them.
    pub fn as_json(&self) -> Option<&'a Json> {
        match self {
            Self::Typed(json, _) => Some(json),
            _ => None,
        }
    }

    /// The data as they are, without their schema.
    pub fn without_schema(self) -> Self {
        match self {
            Self::Typed(Json::Object(map), _) => Self::Json(map),
            other => other,
        }
    }

    /// The keys.
    pub fn keys(&self) -> Vec<Value<'a>> {
        match self {
            Self::Entries(entries) => entries.iter().map(|(key, _)| key.clone()).collect(),
            Self::Json(map) => map.keys().map(|key| Value::String(Text::Borrowed(key))).collect(),
            Self::Typed(json, node) => {
                let keys = json.as_object().into_iter().flat_map(|map| map.keys());
                let known = keys.filter(|key| node.property(key).is_some());
                known
                    .map(|key| {
                        match escape(key).filter(|escaped| node.properties.is_some() && escaped != key) {
                            Some(escaped) => Value::text(escaped),
                            None => Value::String(Text::Borrowed(key)),
                        }
                    })
                    .collect()
            }
        }
    }

    /// The value of a key; a key of a wrong type may be a failure.
    pub fn find(&self, name: &Value<'a>) -> Option<Value<'a>> {
        match self {
            Self::Entries(entries) => entries.find(name).cloned(),
            Self::Json(map) => map.get(name.as_str()?).map(Value::from_json),
            Self::Typed(json, node) => {
                let Some(text) = name.as_str() else { return Some(name.no_overload()) };
                let map = json.as_object()?;
                if node.properties.is_none() {
                    let value = map.get(text)?;
                    return Some(data::read(value, node.property(text)?));
                }
                // A field that is null is absent.
                let text = unescape(text)?;
                let value = map.get(&text).filter(|value| !value.is_null())?;
                Some(data::read(value, node.property(&text)?))
            }
        }
    }

    /// Whether a key is in it.
    pub fn contains(&self, name: &Value<'a>) -> Value<'a> {
        match self.find(name) {
            Some(error @ Value::Error(_)) if matches!(self, Self::Typed(..)) => error,
            found => Value::Bool(found.is_some()),
        }
    }

    /// Whether it equals another value.
    pub fn same(&self, other: &Value<'a>) -> Value<'a> {
        let Value::Map(other_map) = other else {
            return if let Self::Typed(..) = self { other.no_overload() } else { Value::Bool(false) };
        };
        if self.len() != other_map.len() {
            return Value::Bool(false);
        }
        if let Self::Typed(json, node) = self {
            return typed_same(json, node, self, other_map);
        }
        for key in self.keys() {
            let (Some(mine), Some(others)) = (self.find(&key), other_map.find(&key)) else {
                return Value::Bool(false);
            };
            if matches!(mine.equals(&others), Value::Bool(false)) {
                return Value::Bool(false);
            }
        }
        Value::Bool(true)
    }
}

fn typed_same<'a>(json: &'a Json, node: &'a Node, map: &Map<'a>, other: &Map<'a>) -> Value<'a> {
    for (name, value) in json.as_object().into_iter().flatten() {
        if node.property(name).is_none() {
            // What no schema describes is compared as it is.
            let Map::Typed(other, _) = other else { return Value::error(crate::value::NO_OVERLOAD) };
            if other.get(name).is_some_and(|other| other != value) {
                return Value::Bool(false);
            }
            continue;
        }
        let key = Value::String(Text::Borrowed(name));
        match (map.find(&key), other.find(&key)) {
            (None, None) => {}
            (Some(mine), Some(others)) => {
                let equal = mine.same(&others);
                if !equal.is_true() {
                    return equal;
                }
            }
            _ => return Value::Bool(false),
        }
    }
    Value::Bool(true)
}
