//! Lists: computed ones, and those of data with what their schema says.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::data;
use crate::schema::{ListKind, Node};
use crate::value::{NO_OVERLOAD, Value};

/// A list.
#[derive(Debug, Clone)]
pub enum List<'a> {
    /// Computed values.
    Items(Arc<[Value<'a>]>),
    /// Two lists, one behind the other.
    Joined(Arc<(List<'a>, List<'a>)>, usize),
    /// Data without a schema.
    Json(&'a [Json]),
    /// Data with one.
    Typed(Arc<Typed<'a>>),
}

/// A list of data with a schema.
#[derive(Debug)]
pub struct Typed<'a> {
    elements: Vec<Native<'a>>,
    /// The schema of the list.
    node: &'a Node,
}

/// An element that is read by its schema when it is needed.
#[derive(Debug, Clone)]
pub enum Native<'a> {
    /// Of the data.
    Json(&'a Json),
    /// Computed.
    Value(Value<'a>),
}

/// What tells elements of sets and keyed lists apart.
#[derive(Debug, Clone)]
enum Key<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(u64),
    Text(&'a str),
    Shared(Arc<str>),
}

impl<'a> Native<'a> {
    fn of(value: Value<'a>) -> Self {
        match value {
            Value::Map(map) => match map.as_json() {
                Some(json) => Self::Json(json),
                None => Self::Value(Value::Map(map)),
            },
            other => Self::Value(other),
        }
    }

    /// The value by a schema.
    pub fn read(&self, node: &'a Node) -> Value<'a> {
        match self {
            Self::Json(json) => data::read(json, node),
            Self::Value(value) => data::reread(value.clone(), node),
        }
    }

    fn raw(&self) -> Value<'a> {
        match self {
            Self::Json(json) => Value::from_json(json),
            Self::Value(value) => value.clone().without_schema(),
        }
    }

    /// The element as a key of a set; what equals nothing has none.
    fn key(&self) -> Option<Key<'a>> {
        let value = match self {
            Self::Json(json) => Value::from_json(json),
            Self::Value(value) => value.clone(),
        };
        Some(match value {
            Value::Null => Key::Null,
            Value::Bool(flag) => Key::Bool(flag),
            Value::Int(int) => Key::Int(int),
            Value::Double(float) => Key::Float(float.to_bits()),
            Value::String(crate::value::Text::Borrowed(text)) => Key::Text(text),
            Value::String(crate::value::Text::Shared(text)) => Key::Shared(text),
            _ => return None,
        })
    }

    /// The key fields of an element of a keyed list.
    fn keys(&self, names: &[String]) -> Option<Vec<Key<'a>>> {
        let Self::Json(Json::Object(map)) = self else { return None };
        names.iter().map(|name| Native::Json(map.get(name).unwrap_or(&Json::Null)).key()).collect()
    }
}

/// An order of keys, so that long lists are searched fast.
fn sortable(key: &Key<'_>) -> (u8, u64, String) {
    match key {
        Key::Null => (0, 0, String::new()),
        Key::Bool(flag) => (1, u64::from(*flag), String::new()),
        Key::Int(int) => (2, *int as u64, String::new()),
        Key::Float(bits) => (3, *bits, String::new()),
        Key::Text(text) => (4, 0, (*text).to_owned()),
        Key::Shared(text) => (4, 0, text.to_string()),
    }
}

type Index = std::collections::BTreeMap<Vec<(u8, u64, String)>, usize>;

fn index_of(keys: &[Key<'_>]) -> Vec<(u8, u64, String)> {
    keys.iter().map(sortable).collect()
}

impl<'a> Typed<'a> {
    fn item(&self, native: &Native<'a>) -> Value<'a> {
        match &self.node.items {
            Some(items) => native.read(items),
            None => Value::error(NO_OVERLOAD),
        }
    }

    /// How elements are found again: by themselves in sets, by their key fields in keyed lists.
    fn keys_of(&self, native: &Native<'a>) -> Option<Vec<Key<'a>>> {
        match &self.node.list {
            ListKind::Map(names) => native.keys(names),
            _ => native.key().map(|key| vec![key]),
        }
    }

    fn index(&self) -> Index {
        let keyed = self.elements.iter().enumerate();
        keyed.filter_map(|(at, native)| Some((index_of(&self.keys_of(native)?), at))).collect()
    }

    fn same(&self, other: &List<'a>) -> Value<'a> {
        if self.elements.len() != other.len() {
            return Value::Bool(false);
        }
        match &self.node.list {
            ListKind::Set | ListKind::Map(_) => {
                let index = self.index();
                for value in other.iter() {
                    let native = Native::of(value.clone());
                    let found = self.keys_of(&native).and_then(|keys| index.get(&index_of(&keys)).copied());
                    let Some(mine) = found.and_then(|at| self.elements.get(at)) else {
                        return Value::Bool(false);
                    };
                    if let ListKind::Map(_) = self.node.list {
                        let equal = self.item(mine).same(&value);
                        if !equal.is_true() {
                            return equal;
                        }
                    }
                }
            }
            _ => {
                for (mine, other) in self.elements.iter().zip(other.iter()) {
                    let equal = self.item(mine).same(&other);
                    if !equal.is_true() {
                        return equal;
                    }
                }
            }
        }
        Value::Bool(true)
    }

    /// The list with another behind it; sets and keyed lists are merged.
    fn add(&self, other: &List<'a>) -> Self {
        let mut elements = self.elements.clone();
        match &self.node.list {
            ListKind::Set | ListKind::Map(_) => {
                let mut index = self.index();
                let keyed = matches!(self.node.list, ListKind::Map(_));
                for value in other.iter() {
                    let native = Native::of(value);
                    let keys = self.keys_of(&native).map(|keys| index_of(&keys));
                    match keys.as_ref().and_then(|keys| index.get(keys)) {
                        Some(at) if keyed => {
                            if let Some(slot) = elements.get_mut(*at) {
                                *slot = native;
                            }
                        }
                        Some(_) => {}
                        None => {
                            // A keyed list does not look for repetitions in what is added.
                            if let Some(keys) = keys.filter(|_| !keyed) {
                                index.insert(keys, elements.len());
                            }
                            elements.push(native);
                        }
                    }
                }
            }
            _ => elements.extend(other.iter().map(Native::of)),
        }
        Self { elements, node: self.node }
    }
}

impl<'a> List<'a> {
    /// Data with a schema.
    pub fn typed(items: &'a [Json], node: &'a Node) -> Self {
        Self::Typed(Arc::new(Typed { elements: items.iter().map(Native::Json).collect(), node }))
    }

    /// The same elements by another schema.
    pub fn retyped(&self, node: &'a Node) -> Option<Self> {
        let elements = match self {
            Self::Json(items) => items.iter().map(Native::Json).collect(),
            Self::Typed(typed) => typed.elements.clone(),
            _ => return None,
        };
        Some(Self::Typed(Arc::new(Typed { elements, node })))
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Items(items) => items.len(),
            Self::Joined(_, length) => *length,
            Self::Json(items) => items.len(),
            Self::Typed(typed) => typed.elements.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An element.
    pub fn get(&self, at: usize) -> Option<Value<'a>> {
        match self {
            Self::Items(items) => items.get(at).cloned(),
            Self::Joined(parts, _) => match at.checked_sub(parts.0.len()) {
                None => parts.0.get(at),
                Some(at) => parts.1.get(at),
            },
            Self::Json(items) => items.get(at).map(Value::from_json),
            Self::Typed(typed) => typed.elements.get(at).map(|native| typed.item(native)),
        }
    }

    /// The elements.
    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> + '_ {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// The elements as they are, without their schema.
    pub fn without_schema(self) -> Self {
        match self {
            Self::Typed(typed) => Self::Items(typed.elements.iter().map(Native::raw).collect()),
            other => other,
        }
    }

    /// The list with another behind it.
    pub fn add(&self, other: &List<'a>) -> Self {
        match self {
            Self::Typed(typed) => Self::Typed(Arc::new(typed.add(other))),
            _ if self.is_empty() => other.clone(),
            _ if other.is_empty() => self.clone(),
            _ => Self::Joined(Arc::new((self.clone(), other.clone())), self.len() + other.len()),
        }
    }

    /// Whether it equals another value.
    pub fn same(&self, other: &Value<'a>) -> Value<'a> {
        let Value::List(other_list) = other else {
            return if let Self::Typed(_) = self { other.no_overload() } else { Value::Bool(false) };
        };
        if let Self::Typed(typed) = self {
            return typed.same(other_list);
        }
        if self.len() != other_list.len() {
            return Value::Bool(false);
        }
        let mut failure = None;
        for (a, b) in self.iter().zip(other_list.iter()) {
            match a.equals(&b) {
                Value::Bool(false) => return Value::Bool(false),
                error @ Value::Error(_) if failure.is_none() => failure = Some(error),
                _ => {}
            }
        }
        match (self, failure) {
            (Self::Joined(..), Some(failure)) => failure,
            _ => Value::Bool(true),
        }
    }

    /// Whether a value is in it.
    pub fn contains(&self, value: &Value<'a>) -> Value<'a> {
        match self {
            Self::Joined(parts, _) => {
                let first = parts.0.contains(value);
                if first.is_true() {
                    return first;
                }
                let second = parts.1.contains(value);
                if first.is_error() && !second.is_true() { first } else { second }
            }
            Self::Typed(_) => {
                let mut failure = None;
                for item in self.iter() {
                    match item.same(value) {
                        Value::Bool(true) => return Value::Bool(true),
                        Value::Bool(false) => {}
                        other => drop(failure.get_or_insert_with(|| other.no_overload())),
                    }
                }
                failure.unwrap_or(Value::Bool(false))
            }
            _ => Value::Bool(self.iter().any(|item| value.same(&item).is_true())),
        }
    }
}
