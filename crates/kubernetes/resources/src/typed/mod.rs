//! Values as the original's own types keep them: what is left out, what is always there, how scalars are written.
//!
//! A body in JSON ([`json`]) or protobuf ([`protobuf`]) becomes the JSON value that the original would write after it
//! has read the same body into its types.

pub mod json;
pub mod protobuf;
pub mod write;

pub(crate) use podium_meta::base64::{decode as decode_base64, encode as encode_base64};
pub(crate) use timestamp::ZERO_TIME;

use podium_meta::{base64, timestamp};
use serde_json::{Map, Number, Value};

use crate::table::{Field, Form, StructId, TypeId, Types};

/// How deep values may be nested.
const DEEPEST: usize = 200;

/// Puts a field's value in its object, or leaves it out as the original does. A pointer's value is one that is there,
/// even if it is written as null.
pub(crate) fn set(types: &Types, object: &mut Map<String, Value>, field: &Field, value: Value) {
    if omitted(types, field, &value) {
        object.remove(field.key);
    } else {
        object.insert(field.key.to_owned(), value);
    }
}

fn omitted(types: &Types, field: &Field, value: &Value) -> bool {
    if field.omit_zero && value.is_null() {
        return true;
    }
    if !field.omit_empty {
        return false;
    }
    // Types that write themselves are never empty, whatever they write.
    match types.get(field.ty).form {
        Form::String | Form::Bytes => value.as_str().is_none_or(str::is_empty),
        Form::Bool => value != &Value::Bool(true),
        Form::Int32 | Form::Int64 => value.as_i64().is_none_or(|number| number == 0),
        Form::Float64 => value.as_f64().is_none_or(|number| number == 0.0),
        Form::List(_) | Form::Map(_) if field.empty_counts && !value.is_null() => false,
        Form::List(_) => value.as_array().is_none_or(Vec::is_empty),
        Form::Map(_) => value.as_object().is_none_or(Map::is_empty),
        _ => false,
    }
}

/// Adds the fields that are written even when nobody has set them.
pub(crate) fn complete(types: &Types, id: StructId, object: &mut Map<String, Value>) {
    let one = types.struct_(id);
    for field in one.always.iter().filter_map(|at| one.fields.get(usize::from(*at))) {
        if !object.contains_key(field.key) {
            object.insert(field.key.to_owned(), zero(types, field.ty));
        }
    }
}

/// What is written for a value that nobody has set.
pub(crate) fn zero(types: &Types, id: TypeId) -> Value {
    match types.get(id).form {
        Form::String => Value::String(String::new()),
        Form::Bool | Form::SchemaOrBool => Value::Bool(false),
        Form::Int32 | Form::Int64 | Form::Float64 | Form::IntOrString => Value::from(0),
        Form::Duration => Value::from("0s"),
        Form::Quantity => Value::from("0"),
        Form::Struct(id) => {
            let mut object = Map::new();
            complete(types, id, &mut object);
            Value::Object(object)
        }
        _ => Value::Null,
    }
}

/// A number as the original writes it: whole ones without a point.
pub(crate) fn float(number: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        return Value::from(number as i64);
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

/// Text of bytes that should be UTF-8: each byte that is not becomes a replacement character.
pub(crate) fn text(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    out
}

/// The seconds since 1970 of a moment in its usual form, with or without parts of a second.
pub(crate) fn moment(text: &str) -> Option<i64> {
    timestamp::parse(text, false).ok().map(|(seconds, _)| seconds).filter(|seconds| *seconds != ZERO_TIME)
}
