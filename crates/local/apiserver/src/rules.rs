//! What is decided for each kind when an object is written.

use podium_objects::Flaw;
use serde_json::{Value, json};

use crate::api::Api;
use crate::meta;
use crate::refusal::Outcome;
use crate::served::Resource;
use crate::write::Write;

/// Something that is held while an object is written.
pub struct Held;

pub fn admit_create(_write: &Write<'_>, _object: &mut Value) -> Outcome<()> {
    Ok(())
}

pub fn prepare_create(write: &Write<'_>, object: &mut Value) -> Outcome<()> {
    if write.resource.writing.counted {
        meta::set(object, "generation", 1);
    }
    Ok(())
}

pub fn prepare_update(write: &Write<'_>, new: &mut Value, live: &Value) -> Outcome<()> {
    let _ = (write, new, live);
    Ok(())
}

pub fn validate_create(_write: &Write<'_>, object: &Value) -> Vec<Flaw> {
    if meta::text(object, "name").is_empty() {
        return vec![Flaw::required("metadata.name", "name or generateName is required")];
    }
    Vec::new()
}

pub fn validate_update(_write: &Write<'_>, _new: &Value, _live: &Value) -> Vec<Flaw> {
    Vec::new()
}

pub fn warnings(_resource: &Resource, _new: &Value, _live: Option<&Value>) -> Vec<String> {
    Vec::new()
}

pub fn authorize_write(_write: &Write<'_>, _new: &Value, _live: Option<&Value>) -> Outcome<()> {
    Ok(())
}

pub fn allocate(_write: &Write<'_>, _object: &mut Value, _live: Option<&Value>) -> Outcome<Held> {
    Ok(Held)
}

pub fn may_go(resource: &Resource, object: &Value) -> bool {
    // A namespace also has finalizers of its own.
    let spec = object.pointer("/spec/finalizers").and_then(Value::as_array);
    !resource.is("", "Namespace") || spec.is_none_or(Vec::is_empty)
}

pub fn released(_api: &Api, _resource: &Resource, _live: &Value) {}

const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Whether a definition is deleted for the first time: its objects go before it.
pub fn definition_must_wait(resource: &Resource, live: &Value) -> bool {
    resource.is("apiextensions.k8s.io", "CustomResourceDefinition") && !meta::is_deleted(live)
}

/// A definition that waits for its objects says so.
pub fn mark_definition(definition: &mut Value, now: &str) {
    let mut finalizers: Vec<String> = meta::finalizers(definition).into_iter().map(str::to_owned).collect();
    if !finalizers.iter().any(|one| one == CLEANUP) {
        finalizers.push(CLEANUP.to_owned());
        meta::set(definition, "finalizers", json!(finalizers));
    }
    let condition = json!({"type": "Terminating", "status": "True", "lastTransitionTime": now,
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"});
    let status = definition.as_object_mut().map(|one| one.entry("status").or_insert_with(|| json!({})));
    if let Some(conditions) = status.and_then(Value::as_object_mut) {
        let conditions = conditions.entry("conditions").or_insert_with(|| json!([]));
        match conditions.as_array_mut() {
            Some(list) => {
                list.retain(|one| one.get("type").and_then(Value::as_str) != Some("Terminating"));
                list.push(condition);
            }
            None => *conditions = json!([condition]),
        }
    }
}
