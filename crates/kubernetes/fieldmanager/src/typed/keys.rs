//! How an item of a list is told from the others.

use std::borrow::Cow;

use podium_schema::shape::{List, Merge, Shape, Shapes};
use serde_json::Value;

use crate::go;
use crate::step::{Datum, Step};

/// The step to an item of a list whose items have owners.
pub(crate) fn step<'a>(shapes: &'a Shapes, list: &'a List, item: &'a Value) -> Result<Step<'a>, String> {
    match &list.merge {
        Merge::Keyed(keys) if !keys.is_empty() => keyed(shapes, list, keys, item),
        Merge::Keyed(_) | Merge::Set => match item {
            Value::Object(_) => {
                Err("associative list without keys has an element that's a map type".to_owned())
            }
            Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
            Value::Null => {
                Err("associative list without keys has an element that's an explicit null".to_owned())
            }
            scalar => Ok(Step::Value(Datum::of(scalar))),
        },
        Merge::Whole => Err("invalid indexing of non-associative list".to_owned()),
    }
}

fn keyed<'a>(
    shapes: &'a Shapes,
    list: &'a List,
    keys: &'a [String],
    item: &'a Value,
) -> Result<Step<'a>, String> {
    let map = match item {
        Value::Object(map) => map,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let mut key = Vec::with_capacity(keys.len());
    for name in keys {
        let value = match map.get(name) {
            Some(value) => Some(value),
            None => default(shapes, list, name)?,
        };
        if let Some(value) = value {
            key.push((Cow::Borrowed(name.as_str()), Datum::of(value)));
        }
    }
    if key.is_empty() {
        let names: Vec<String> = keys.iter().map(|name| go::quote(name)).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
             values for any key fields)",
            names.join(" ")
        ));
    }
    key.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(Step::Key(key))
}

fn default<'a>(shapes: &'a Shapes, list: &List, name: &str) -> Result<Option<&'a Value>, String> {
    match shapes.get(list.items) {
        Shape::Object(object) => Ok(object.field(name).and_then(|field| field.default.as_ref())),
        Shape::Anything => Ok(None),
        _ => Err(format!(
            "couldn't find default value for {name}: associative list may not have non-map types"
        )),
    }
}
