//! Applies the user's deploymentConfig to the Deployments of a bundle.

use serde_json::{Value, json};

use super::RenderContext;
use super::deployments::set_at;
use crate::report::{Finding, Rule, Validator};
use crate::types::{self, type_name};
use crate::value::array_at;

/// Decodes the deploymentConfig; null if there is none.
pub fn parse(ctx: &RenderContext<'_>) -> Result<Value, Finding> {
    let config = &ctx.options.deployment_config;
    if config.is_null() {
        return Ok(Value::Null);
    }
    types::convert(type_name::CONFIG, config).map_err(|error| {
        let message = format!("invalid deploymentConfig: {error}");
        Finding::new(Validator::Controller, Rule::CsvShape, ("", 0), message)
    })
}

/// Applies a deploymentConfig to a Deployment.
pub fn apply(deployment: &mut Value, config: &Value) {
    if config.is_null() {
        return;
    }
    let pod_spec = ["spec", "template", "spec"];
    let path_to = |key: &'static str| [pod_spec[0], pod_spec[1], pod_spec[2], key];
    let pointer = |key: &str| format!("/spec/template/spec/{key}");
    let containers = array_at(deployment, &pointer("containers")).to_vec();
    let containers_with_config =
        containers.into_iter().map(|container| apply_to_container(container, config)).collect();
    if deployment.pointer(&pointer("containers")).is_some_and(Value::is_array) {
        set_at(deployment, &path_to("containers"), Value::Array(containers_with_config));
    }
    if let Some(new) = merge_by_name(array_at(deployment, &pointer("volumes")), array_at(config, "/volumes"))
    {
        set_at(deployment, &path_to("volumes"), new);
    }
    if let Some(new) =
        append_missing(array_at(deployment, &pointer("tolerations")), array_at(config, "/tolerations"))
    {
        set_at(deployment, &path_to("tolerations"), new);
    }
    if let Some(selector) = config.get("nodeSelector") {
        set_at(deployment, &path_to("nodeSelector"), selector.clone());
    }
    apply_affinity(deployment, config);
    let new = config.get("annotations").and_then(Value::as_object).filter(|new| !new.is_empty());
    for path in [&["metadata", "annotations"][..], &["spec", "template", "metadata", "annotations"][..]] {
        let Some(new) = new else { continue };
        let old = deployment.pointer(&format!("/{}", path.join("/"))).and_then(Value::as_object);
        let mut all = new.clone();
        all.extend(old.cloned().unwrap_or_default());
        set_at(deployment, path, Value::Object(all));
    }
}

fn apply_to_container(mut container: Value, config: &Value) -> Value {
    for (key, merged) in [
        ("env", merge_by_name(array_at(&container, "/env"), array_at(config, "/env"))),
        ("envFrom", append_missing(array_at(&container, "/envFrom"), array_at(config, "/envFrom"))),
        (
            "volumeMounts",
            merge_by_name(array_at(&container, "/volumeMounts"), array_at(config, "/volumeMounts")),
        ),
    ] {
        if let Some(merged) = merged {
            set_at(&mut container, &[key], merged);
        }
    }
    if let Some(resources) = config.get("resources") {
        set_at(&mut container, &["resources"], resources.clone());
    }
    container
}

/// Merges lists by element name; of several old elements with the name, the last one is replaced. New
/// elements do not replace each other.
fn merge_by_name(old: &[Value], new: &[Value]) -> Option<Value> {
    if new.is_empty() {
        return None;
    }
    let mut all = old.to_vec();
    for one in new {
        match old.iter().rposition(|other| other.get("name") == one.get("name")) {
            Some(index) => {
                if let Some(slot) = all.get_mut(index) {
                    *slot = one.clone();
                }
            }
            None => all.push(one.clone()),
        }
    }
    Some(Value::Array(all))
}

/// Appends the elements that are not in the list yet.
fn append_missing(old: &[Value], new: &[Value]) -> Option<Value> {
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

const AFFINITY_FIELDS: [&str; 3] = ["nodeAffinity", "podAffinity", "podAntiAffinity"];

fn apply_affinity(deployment: &mut Value, config: &Value) {
    let Some(new) = config.get("affinity") else { return };
    let path = ["spec", "template", "spec", "affinity"];
    let set = |deployment: &mut Value, value: Value| {
        if value.is_null() {
            if let Some(pod_spec) =
                deployment.pointer_mut("/spec/template/spec").and_then(Value::as_object_mut)
            {
                pod_spec.remove("affinity");
            }
        } else {
            set_at(deployment, &path, value);
        }
    };
    if AFFINITY_FIELDS.iter().all(|field| new.get(field).is_none()) {
        set(deployment, Value::Null);
        return;
    }
    let mut all = deployment.pointer("/spec/template/spec/affinity").cloned().unwrap_or_else(|| json!({}));
    if let Some(all) = all.as_object_mut() {
        for field in AFFINITY_FIELDS {
            match new.get(field) {
                None => {}
                Some(value) if is_empty(value) => {
                    all.remove(field);
                }
                Some(value) => {
                    all.insert(field.to_owned(), value.clone());
                }
            }
        }
    }
    let unset = AFFINITY_FIELDS.iter().all(|field| all.get(field).is_none_or(is_empty));
    set(deployment, if unset { Value::Null } else { all });
}

/// Reports whether an affinity has no terms.
fn is_empty(affinity: &Value) -> bool {
    let required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution");
    let none = match required {
        Some(Value::Array(terms)) => terms.is_empty(),
        Some(Value::Object(selector)) => {
            selector.get("nodeSelectorTerms").and_then(Value::as_array).is_none_or(Vec::is_empty)
        }
        _ => true,
    };
    none && array_at(affinity, "/preferredDuringSchedulingIgnoredDuringExecution").is_empty()
}
