//! What a user changes about the Deployments of a bundle.

use serde_json::{Value, json};

use super::Job;
use super::deployments::put;
use crate::report::{Finding, Refuser, Rule};
use crate::types::{self, name};
use crate::value::list;

/// The changes as their type keeps them; null for none.
pub fn read(job: &Job<'_>) -> Result<Value, Finding> {
    let given = &job.options.deployment;
    if given.is_null() {
        return Ok(Value::Null);
    }
    types::retyped(name::CONFIG, given).map_err(|error| {
        let words = format!("invalid deploymentConfig: {error}");
        Finding::new(Refuser::Controller, Rule::CsvShape, ("", 0), words)
    })
}

/// Changes a Deployment.
pub fn apply(deployment: &mut Value, changes: &Value) {
    if changes.is_null() {
        return;
    }
    let pods = ["spec", "template", "spec"];
    let at = |key: &'static str| [pods[0], pods[1], pods[2], key];
    let pointer = |key: &str| format!("/spec/template/spec/{key}");
    let containers = list(deployment, &pointer("containers")).to_vec();
    let changed = containers.into_iter().map(|container| changed_container(container, changes)).collect();
    if deployment.pointer(&pointer("containers")).is_some_and(Value::is_array) {
        put(deployment, &at("containers"), Value::Array(changed));
    }
    if let Some(new) = named(list(deployment, &pointer("volumes")), list(changes, "/volumes")) {
        put(deployment, &at("volumes"), new);
    }
    if let Some(new) = appended(list(deployment, &pointer("tolerations")), list(changes, "/tolerations")) {
        put(deployment, &at("tolerations"), new);
    }
    if let Some(selector) = changes.get("nodeSelector") {
        put(deployment, &at("nodeSelector"), selector.clone());
    }
    affinity(deployment, changes);
    let new = changes.get("annotations").and_then(Value::as_object).filter(|new| !new.is_empty());
    for path in [&["metadata", "annotations"][..], &["spec", "template", "metadata", "annotations"][..]] {
        let Some(new) = new else { continue };
        let old = deployment.pointer(&format!("/{}", path.join("/"))).and_then(Value::as_object);
        let mut all = new.clone();
        all.extend(old.cloned().unwrap_or_default());
        put(deployment, path, Value::Object(all));
    }
}

fn changed_container(mut container: Value, changes: &Value) -> Value {
    for (key, merged) in [
        ("env", named(list(&container, "/env"), list(changes, "/env"))),
        ("envFrom", appended(list(&container, "/envFrom"), list(changes, "/envFrom"))),
        ("volumeMounts", named(list(&container, "/volumeMounts"), list(changes, "/volumeMounts"))),
    ] {
        if let Some(merged) = merged {
            put(&mut container, &[key], merged);
        }
    }
    if let Some(resources) = changes.get("resources") {
        put(&mut container, &["resources"], resources.clone());
    }
    container
}

/// Elements that have names: those of the same name are replaced, the last of them if there are several. What is added
/// counts as there only for who comes later.
fn named(old: &[Value], new: &[Value]) -> Option<Value> {
    if new.is_empty() {
        return None;
    }
    let mut all = old.to_vec();
    for one in new {
        match old.iter().rposition(|other| other.get("name") == one.get("name")) {
            Some(at) => {
                if let Some(slot) = all.get_mut(at) {
                    *slot = one.clone();
                }
            }
            None => all.push(one.clone()),
        }
    }
    Some(Value::Array(all))
}

/// Elements without names: those that are there already are not added.
fn appended(old: &[Value], new: &[Value]) -> Option<Value> {
    if new.is_empty() {
        return None;
    }
    let mut all = old.to_vec();
    for one in new {
        if !all.contains(one) {
            all.push(one.clone());
        }
    }
    Some(Value::Array(all))
}

const PARTS: [&str; 3] = ["nodeAffinity", "podAffinity", "podAntiAffinity"];

fn affinity(deployment: &mut Value, changes: &Value) {
    let Some(new) = changes.get("affinity") else { return };
    let path = ["spec", "template", "spec", "affinity"];
    let set = |deployment: &mut Value, value: Value| {
        if value.is_null() {
            if let Some(pods) = deployment.pointer_mut("/spec/template/spec").and_then(Value::as_object_mut) {
                pods.remove("affinity");
            }
        } else {
            put(deployment, &path, value);
        }
    };
    if PARTS.iter().all(|part| new.get(part).is_none()) {
        set(deployment, Value::Null);
        return;
    }
    let mut all = deployment.pointer("/spec/template/spec/affinity").cloned().unwrap_or_else(|| json!({}));
    if let Some(all) = all.as_object_mut() {
        for part in PARTS {
            match new.get(part) {
                None => {}
                Some(value) if is_empty(value) => {
                    all.remove(part);
                }
                Some(value) => {
                    all.insert(part.to_owned(), value.clone());
                }
            }
        }
    }
    let nothing = PARTS.iter().all(|part| all.get(part).is_none_or(is_empty));
    set(deployment, if nothing { Value::Null } else { all });
}

/// Whether a part of an affinity asks for nothing.
fn is_empty(part: &Value) -> bool {
    let required = part.get("requiredDuringSchedulingIgnoredDuringExecution");
    let none = match required {
        Some(Value::Array(terms)) => terms.is_empty(),
        Some(Value::Object(selector)) => {
            selector.get("nodeSelectorTerms").and_then(Value::as_array).is_none_or(Vec::is_empty)
        }
        _ => true,
    };
    none && list(part, "/preferredDuringSchedulingIgnoredDuringExecution").is_empty()
}
