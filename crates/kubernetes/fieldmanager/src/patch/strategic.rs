//! Strategic merge patches: JSON merge patches whose lists merge by the keys that the schema names, with directives.

use std::collections::BTreeSet;

use podium_schema::shape::{Patch, Scalar, Shape, ShapeId, Shapes};
use serde_json::{Map, Value};

use crate::go;

pub(super) const DIRECTIVE: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const DELETE: &str = "$deleteFromPrimitiveList";
pub(super) const ORDER: &str = "$setElementOrder";

/// Why a patch is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A list of what to delete is not named after a list (400).
    #[error("invalid patch format of primitive list")]
    DeleteFormat,
    /// The keys to keep are no list, or do not name what the patch has (400).
    #[error("invalid patch format of retainKeys")]
    RetainFormat,
    /// An order is not named after a list (400).
    #[error("invalid patch format of setElementOrder list")]
    OrderFormat,
    /// Lists of lists do not merge (422).
    #[error("lists of lists are not supported")]
    ListOfLists,
    /// It cannot be done (500).
    #[error("{0}")]
    Failed(String),
}

impl Error {
    pub(super) fn no_key(map: &Map<String, Value>, key: &str) -> Self {
        let map = go::plain(&Value::Object(map.clone()));
        Error::Failed(format!("map: {map} does not contain declared merge key: {key}"))
    }

    pub(super) fn not_a_map(given: &Value) -> Self {
        Self::not_a("map[string]interface {}", given)
    }

    pub(super) fn not_a(expected: &str, given: &Value) -> Self {
        let given = if given.is_null() { "%!s(<nil>)" } else { go::type_name(given) };
        Error::Failed(format!("expected a {expected}, but received a {given}"))
    }
}

/// Merges a patch into an object of the shape. `names` tells the type names of shapes, for errors.
pub fn strategic(
    shapes: &Shapes,
    shape: ShapeId,
    names: &dyn Fn(ShapeId) -> Option<String>,
    object: Map<String, Value>,
    patch: Map<String, Value>,
) -> Result<Map<String, Value>, Error> {
    Strategic { shapes, names }.map(object, patch, Some(shape))
}

pub(super) struct Strategic<'a> {
    shapes: &'a Shapes,
    names: &'a dyn Fn(ShapeId) -> Option<String>,
}

/// What is under a key, and how it is patched.
type Found<'a> = (Option<ShapeId>, &'a Patch);

impl<'a> Strategic<'a> {
    pub(super) fn map(
        &self,
        mut object: Map<String, Value>,
        mut patch: Map<String, Value>,
        shape: Option<ShapeId>,
    ) -> Result<Map<String, Value>, Error> {
        if let Some(directive) = patch.get(DIRECTIVE) {
            return match directive.as_str() {
                Some("replace") => {
                    patch.remove(DIRECTIVE);
                    Ok(patch)
                }
                Some("delete") => Ok(Map::new()),
                _ => Err(unknown(directive, &patch)),
            };
        }
        retain(&mut object, &mut patch)?;
        self.orders(&mut object, &mut patch, shape)?;
        for (key, value) in patch {
            let deletes = key.starts_with(DELETE);
            let key = if deletes { after(&key, DELETE).ok_or(Error::DeleteFormat)?.to_owned() } else { key };
            match (object.get_mut(&key), value) {
                (_, Value::Null) => {
                    object.remove(&key);
                }
                (Some(Value::Object(old)), Value::Object(new)) => {
                    let (child, patch) = self.field(shape, &key)?;
                    let old = std::mem::take(old);
                    let merged = if patch.replace { new } else { self.map(old, new, child)? };
                    object.insert(key, Value::Object(merged));
                }
                (Some(Value::Array(old)), Value::Array(new)) => {
                    let (child, patch) = self.list_field(shape, &key)?;
                    let merged = if patch.merge || deletes {
                        self.list(std::mem::take(old), new, child, patch.key.as_deref(), deletes)?.0
                    } else {
                        new
                    };
                    object.insert(key, Value::Array(merged));
                }
                (_, _) if deletes => {}
                (old, mut new) => {
                    let same_kind = old.is_some_and(|old| go::type_name(old) == go::type_name(&new));
                    if !same_kind {
                        discard_nulls(&mut new);
                    }
                    match without_directives(new) {
                        Some(new) => object.insert(key, new),
                        None => object.remove(&key),
                    };
                }
            }
        }
        Ok(object)
    }

    /// The field under a key.
    fn field(&self, shape: Option<ShapeId>, key: &str) -> Result<Found<'a>, Error> {
        let object = match shape.map(|id| self.shapes.get(id)) {
            Some(Shape::Object(object)) if !object.fields.is_empty() => object,
            Some(Shape::Anything) | None => return Err(self.no_field(shape, key)),
            // What holds anything at all is a type of its own, without fields.
            Some(Shape::Object(object)) if object.keeps_unknown && object.whole => {
                let key = go::quote(key);
                let text =
                    format!("unable to find api field in struct RawExtension for the json field {key}");
                return Err(Error::Failed(text));
            }
            _ => {
                let kind = self.kind(shape);
                let text =
                    format!("merging an object in json but data type is not struct, instead is: {kind}");
                return Err(Error::Failed(text));
            }
        };
        let field = object.field(key).ok_or_else(|| self.no_field(shape, key))?;
        Ok((Some(field.shape), &field.patch))
    }

    /// The items of the list under a key.
    pub(super) fn list_field(&self, shape: Option<ShapeId>, key: &str) -> Result<Found<'a>, Error> {
        let (child, patch) = self.field(shape, key)?;
        match child.map(|id| self.shapes.get(id)) {
            Some(Shape::List(list)) => Ok((Some(list.items), patch)),
            _ => Err(Error::Failed("expected slice or array type, but got: struct".to_owned())),
        }
    }

    fn no_field(&self, shape: Option<ShapeId>, key: &str) -> Error {
        let name = shape.and_then(self.names).unwrap_or_default();
        let key = go::quote(key);
        Error::Failed(format!("unable to find api field in struct {name} for the json field {key}"))
    }

    /// Go's word for the kind of a type.
    pub(super) fn kind(&self, shape: Option<ShapeId>) -> &'static str {
        match shape.map(|id| self.shapes.get(id)) {
            Some(Shape::Object(object)) if object.fields.is_empty() => "map",
            Some(Shape::Scalar(Scalar::Boolean)) => "bool",
            Some(Shape::Scalar(Scalar::Int32)) => "int32",
            Some(Shape::Scalar(Scalar::Int64)) => "int64",
            Some(Shape::Scalar(Scalar::String)) => "string",
            Some(Shape::List(_) | Shape::Scalar(Scalar::Bytes)) => "slice",
            _ => "struct",
        }
    }
}

pub(super) fn unknown(directive: &Value, map: &Map<String, Value>) -> Error {
    let word = match directive {
        Value::String(word) => word.clone(),
        Value::Null => "%!s(<nil>)".to_owned(),
        other => format!("%!s({}={})", go::type_name(other), go::plain(other)),
    };
    let map = go::plain(&Value::Object(map.clone()));
    Error::Failed(format!("unknown patch type: {word} in map: {map}"))
}

/// What follows a prefix and a slash; the name alone is no name of a list.
pub(super) fn after<'k>(key: &'k str, prefix: &str) -> Option<&'k str> {
    let (before, rest) = key.split_once('/')?;
    (before == prefix).then_some(if rest.is_empty() { key } else { rest })
}

fn retain(object: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), Error> {
    let Some(keys) = patch.remove(RETAIN) else { return Ok(()) };
    let keys: BTreeSet<&str> = match &keys {
        Value::Array(keys) => keys.iter().filter_map(Value::as_str).collect(),
        _ => return Err(Error::RetainFormat),
    };
    let named = |(key, value): (&String, &Value)| {
        value.is_null() || key.starts_with(DELETE) || key.starts_with(ORDER) || keys.contains(key.as_str())
    };
    if !patch.iter().all(named) {
        return Err(Error::RetainFormat);
    }
    object.retain(|key, _| keys.contains(key.as_str()));
    Ok(())
}

fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => map.retain(|_, value| {
            discard_nulls(value);
            !value.is_null()
        }),
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// The value without the objects that are directives; nothing where it is one.
pub(super) fn without_directives(value: Value) -> Option<Value> {
    Some(match value {
        Value::Object(map) if map.contains_key(DIRECTIVE) => return None,
        Value::Object(map) => Value::Object(
            map.into_iter().filter_map(|(key, value)| Some((key, without_directives(value)?))).collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().filter_map(without_directives).collect()),
        other => other,
    })
}
