//! Definitions of kinds: what is stored of them, and what they have to be.
//!
//! A definition is the JSON of an `apiextensions.k8s.io/v1` CustomResourceDefinition whose defaults are filled in.

mod before;
mod conversion;
mod costs;
mod defaults;
pub(crate) mod model;
mod parts;
mod schema;
mod shown;
mod status;
pub(crate) mod structure;
mod validate;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::expressions::Language;
use crate::formats::Format;
use crate::props::Props;
use model::Spec;

pub(crate) use conversion::is_bundle;
pub use validate::{validate_create, validate_status, validate_update};

/// What is asked of a definition; of one that replaces an older one only what that one kept.
struct Options<'a> {
    language: Option<&'a dyn Language>,
    known_review: bool,
    fixed_names: bool,
    schemas: bool,
    valid_types: bool,
    structural: bool,
    pruned_defaults: bool,
    atomic_sets: bool,
    map_keys: bool,
    broken_bundle: bool,
    expressions: BTreeSet<String>,
    messages: BTreeSet<String>,
    unchanged: BTreeSet<String>,
    crowded: BTreeSet<String>,
    /// Whether what single rules cost was accepted before.
    cheap: bool,
}

/// Prepares a new definition: its generation is 1, and its status knows nothing but the version that is stored.
pub fn prepare_create(definition: &mut Value) {
    let stored = storage(definition).map_or_else(Vec::new, |name| vec![name]);
    let Value::Object(fields) = definition else { return };
    let status = json!({
        "acceptedNames": {"kind": "", "plural": ""},
        "conditions": null,
        "storedVersions": if stored.is_empty() { Value::Null } else { stored.into() },
    });
    fields.insert("status".to_owned(), status);
    set_generation(fields, 1);
}

/// Prepares a definition that replaces another: the status is kept, a new stored version joins the old ones, and a
/// change of the specification counts.
pub fn prepare_update(new: &mut Value, old: &Value) {
    let stored = storage(new);
    let Value::Object(fields) = new else { return };
    match old.get("status") {
        Some(status) => _ = fields.insert("status".to_owned(), status.clone()),
        None => _ = fields.remove("status"),
    }
    let (now, before) = (fields.get("spec"), old.get("spec"));
    if now != before && now.map(Spec::read) != before.map(Spec::read) {
        let generation = old.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default();
        set_generation(fields, generation.saturating_add(1));
    }
    let Some(stored) = stored else { return };
    let status = fields.entry("status").or_insert_with(|| json!({}));
    let Value::Object(status) = status else { return };
    let versions = status.entry("storedVersions").or_insert(Value::Null);
    match versions {
        Value::Array(versions) if versions.contains(&stored) => {}
        Value::Array(versions) => versions.push(stored),
        other => *other = Value::Array(vec![stored]),
    }
}

/// Prepares a write of the status: what the definition says is kept. Its metadata can be written here too.
pub fn prepare_status(new: &mut Value, old: &Value) {
    let Value::Object(fields) = new else { return };
    if let Some(spec) = old.get("spec") {
        fields.insert("spec".to_owned(), spec.clone());
    }
}

/// The name of the first version that is marked as stored.
fn storage(definition: &Value) -> Option<Value> {
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array)?;
    let found = versions.iter().find(|version| version.get("storage") == Some(&Value::Bool(true)))?;
    Some(found.get("name").cloned().unwrap_or_else(|| "".into()))
}

fn set_generation(fields: &mut Map<String, Value>, generation: i64) {
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    if let Value::Object(metadata) = metadata {
        metadata.insert("generation".to_owned(), generation.into());
    }
}

/// Formats that the schemas of a definition ask for and nobody checks; with an old definition, those that are new.
pub fn warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let before = old.map(unknown_formats).unwrap_or_default();
    let fresh = unknown_formats(new).into_iter().filter(|format| !before.contains(format));
    fresh.map(|format| format!("unrecognized format {}", crate::go::quote(&format))).collect()
}

fn unknown_formats(definition: &Value) -> Vec<String> {
    let spec = Spec::read(definition.get("spec").unwrap_or(&Value::Null));
    let mut formats = Vec::new();
    for (props, _) in spec.schemas() {
        collect_formats(&mut formats, props);
    }
    formats
}

fn collect_formats(formats: &mut Vec<String>, props: &Props) {
    let known = match props.kind.as_str() {
        "" | "string" => Format::supported(&props.format),
        "integer" => matches!(props.format.as_str(), "int32" | "int64"),
        "number" => matches!(props.format.as_str(), "float" | "double"),
        _ => false,
    };
    if !props.format.is_empty() && !known {
        formats.push(props.format.clone());
    }
    for part in props.parts() {
        collect_formats(formats, part);
    }
}
