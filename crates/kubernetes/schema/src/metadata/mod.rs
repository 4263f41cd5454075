//! The metadata of objects, and of objects inside objects: read, put in order, checked.

mod decode;
mod rules;
mod time;

use podium_meta::{ErrorType, FieldError};
use serde_json::Value;

use crate::go;
use crate::names;
use crate::node::Node;
use crate::path::Path;
pub use decode::{Decoded, decode};
pub use rules::{Naming, on_create, on_update};

/// Puts the metadata of objects inside an object in order: what cannot be read is refused or dropped. The names of
/// unknown fields come back, in order.
pub fn coerce(
    value: &mut Value,
    node: &Node,
    root: bool,
    drop: bool,
) -> Result<Vec<String>, Box<FieldError>> {
    coerce_at(value, node, root, drop, &Path::default())
}

/// The same for a value that is somewhere inside another.
pub fn coerce_at(
    value: &mut Value,
    node: &Node,
    root: bool,
    drop: bool,
    at: &Path,
) -> Result<Vec<String>, Box<FieldError>> {
    let mut unknown = Vec::new();
    below(value, node, root || node.embedded, drop, at, &mut unknown)?;
    unknown.sort_unstable();
    Ok(unknown)
}

fn below(
    value: &mut Value,
    node: &Node,
    embedded: bool,
    drop: bool,
    at: &Path,
    unknown: &mut Vec<String>,
) -> Result<(), Box<FieldError>> {
    match value {
        Value::Object(fields) => {
            if embedded {
                for name in ["apiVersion", "kind"] {
                    match fields.get(name) {
                        Some(value) if !value.is_string() => {
                            if !drop {
                                return Err(not_text(&at.child(name), value).into());
                            }
                            fields.remove(name);
                        }
                        _ => {}
                    }
                }
                if let Some(metadata) = fields.get_mut("metadata") {
                    let at = at.child("metadata");
                    match decode(metadata, drop) {
                        Ok(decoded) => {
                            unknown
                                .extend(decoded.unknown.iter().map(|path| format!("{}.{path}", at.text())));
                            *metadata = decoded.value;
                        }
                        Err(_) if drop => {}
                        Err(error) => {
                            return Err(FieldError::new(
                                ErrorType::Invalid,
                                &at,
                                &go::shown(metadata),
                                &error,
                            )
                            .into());
                        }
                    }
                }
            }
            for (name, value) in fields.iter_mut() {
                if let Some(schema) = node.properties.get(name) {
                    below(value, schema, schema.embedded, drop, &at.child(name), unknown)?;
                } else if let Some(schema) = node.extra.as_ref().and_then(|extra| extra.node.as_deref()) {
                    below(value, schema, schema.embedded, drop, &at.key(name), unknown)?;
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = node.items.as_deref() else { return Ok(()) };
            for (index, item) in items.iter_mut().enumerate() {
                below(item, schema, schema.embedded, drop, &at.index(index), unknown)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn not_text(at: &Path, value: &Value) -> FieldError {
    FieldError::new(ErrorType::Invalid, at, &go::shown(value), "must be a string")
}

/// What is wrong with the objects inside an object.
pub fn embedded(value: &Value, node: &Node, root: bool, at: &Path) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    look(&mut flaws, value, node, root || node.embedded, at);
    flaws
}

fn look(flaws: &mut Vec<FieldError>, value: &Value, node: &Node, embedded: bool, at: &Path) {
    match value {
        Value::Object(fields) => {
            if embedded {
                one(flaws, value, at);
            }
            for (name, value) in fields {
                if let Some(schema) = node.properties.get(name) {
                    look(flaws, value, schema, schema.embedded, &at.child(name));
                } else if let Some(schema) = node.extra.as_ref().and_then(|extra| extra.node.as_deref()) {
                    look(flaws, value, schema, schema.embedded, &at.key(name));
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = node.items.as_deref() else { return };
            for (index, item) in items.iter().enumerate() {
                look(flaws, item, schema, schema.embedded, &at.index(index));
            }
        }
        _ => {}
    }
}

/// One object inside another: it has to say what it is, and its metadata has to be right.
fn one(flaws: &mut Vec<FieldError>, object: &Value, at: &Path) {
    for name in ["apiVersion", "kind"] {
        if object.get(name).is_none() {
            flaws.push(FieldError::required(at.child(name), ""));
        }
    }
    let invalid = |name: &str, value: &Value, detail: &str| {
        FieldError::new(ErrorType::Invalid, at.child(name), &go::shown(value), detail)
    };
    match object.get("apiVersion") {
        Some(value @ Value::String(text)) if text.is_empty() => {
            flaws.push(invalid("apiVersion", value, "must not be empty"));
        }
        Some(value @ Value::String(text)) if text != "/" && text.matches('/').count() > 1 => {
            let detail = format!("unexpected GroupVersion string: {text}");
            flaws.push(invalid("apiVersion", value, &detail));
        }
        Some(Value::String(_)) | None => {}
        Some(value) => flaws.push(invalid("apiVersion", value, "must be a string")),
    }
    match object.get("kind") {
        Some(value @ Value::String(text)) if text.is_empty() => {
            flaws.push(invalid("kind", value, "must not be empty"))
        }
        Some(value @ Value::String(text)) => {
            let wrong = names::label_1035(&text.to_lowercase());
            if !wrong.is_empty() {
                let detail = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
                flaws.push(invalid("kind", value, &detail));
            }
        }
        None => {}
        Some(value) => flaws.push(invalid("kind", value, "must be a string")),
    }
    if let Some(metadata) = object.get("metadata") {
        match decode(metadata, false) {
            Ok(decoded) => flaws.extend(rules::inside(&decoded.value, &at.child("metadata"))),
            Err(error) => flaws.push(invalid("metadata", metadata, &error)),
        }
    }
}
