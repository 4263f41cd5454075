//! What a server stores of a body: defaults of the code, and what the way through its own types changes.
//!
//! Both are rules about types, not about kinds: wherever a probe stands, it gets a probe's defaults. `rules` has
//! those that are plain facts; what must look around is a named function in the module of its subject.

mod autoscaling;
mod definitions;
mod image;
mod nothing;
mod pods;
mod resources;
mod rules;
mod services;
mod twins;
pub(crate) mod view;
mod walk;
mod workloads;

use std::sync::OnceLock;

use podium_meta::GroupVersionKind;
use serde_json::Value;

use crate::table::kinds;
use crate::typed::json::{self, JsonError, Read};
use crate::typed::protobuf::{self, ProtobufError};
pub use nothing::{forget_empty, recall_empty, wrap_numbers};
pub use twins::{convert, stored_kind};
use walk::Rules;

/// Reads a body of a built-in kind as the server does: the value that it stores before anybody else changes it.
pub fn decode(body: &[u8], usual: &GroupVersionKind) -> Result<Read, JsonError> {
    let mut read = json::read(kinds(), body, usual)?;
    settle(&read.kind, &mut read.value).map_err(JsonError::Value)?;
    Ok(read)
}

/// Reads a body in protobuf as the server does.
pub fn decode_protobuf(body: &[u8], usual: Option<&GroupVersionKind>) -> Result<Read, ProtobufError> {
    let mut value = protobuf::transcode(body, usual)?;
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let kind = GroupVersionKind::new(text("apiVersion"), text("kind"));
    settle(&kind, &mut value).map_err(ProtobufError::Value)?;
    Ok(Read { kind, value, strict: Vec::new() })
}

/// Makes of a value, as its type keeps it, what the server stores; an error is the server's.
pub fn settle(kind: &GroupVersionKind, value: &mut Value) -> Result<(), String> {
    default(kind, value);
    let table = kinds();
    if let (Some(id), Some(object)) = (table.type_of(kind), value.as_object_mut()) {
        // A body that says nothing of itself is what the address says.
        object.insert("apiVersion".to_owned(), kind.api_version().into());
        object.insert("kind".to_owned(), kind.kind.as_str().into());
        static CHANGES: OnceLock<Rules> = OnceLock::new();
        CHANGES.get_or_init(|| Rules::new(table, rules::CHANGES)).apply(id, value)?;
    }
    Ok(())
}

/// Adds the defaults of the server's code to a value of a built-in kind.
pub fn default(kind: &GroupVersionKind, value: &mut Value) {
    static DEFAULTS: OnceLock<Rules> = OnceLock::new();
    let table = kinds();
    if let Some(id) = table.type_of(kind) {
        let rules = DEFAULTS.get_or_init(|| Rules::new(table, rules::DEFAULTS).with_declared(table));
        // Defaults never refuse.
        let _ = rules.apply(id, value);
    }
}
