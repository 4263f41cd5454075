//! Pods and what they are made of.

use serde_json::Value;

use super::image;
use super::resources::complete_from;
use super::view::{Object, count, has, items, part, set, text};
use super::walk::Rule::{self, Call, Set};
use super::workloads::drop_empty_annotations;

/// The defaults of a container.
pub const CONTAINER: &[Rule] = &[
    Call(pull_policy),
    Set("terminationMessagePath", "\"/dev/termination-log\""),
    Set("terminationMessagePolicy", "\"File\""),
];

/// Annotations of a time when init containers had no fields.
const OLD_INIT: [&str; 4] = [
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
];

fn policy_for(reference: &str) -> &'static str {
    if image::is_latest(reference) { "Always" } else { "IfNotPresent" }
}

fn pull_policy(container: &mut Object) {
    let policy = policy_for(text(container, "image"));
    set(container, "imagePullPolicy", policy);
}

/// A volume without a source is an empty directory.
pub fn volume(volume: &mut Object) {
    if !volume.iter().any(|(key, value)| key != "name" && !value.is_null()) {
        volume.insert("emptyDir".to_owned(), Value::Object(Object::new()));
    }
    if let Some(source) = part(volume, "image") {
        let policy = policy_for(text(source, "reference"));
        set(source, "pullPolicy", policy);
    }
}

/// What only pods themselves get, and templates of pods do not.
pub fn pod(object: &mut Object) {
    let Some(spec) = part(object, "spec") else { return };
    for list in ["containers", "initContainers"] {
        for container in items(spec, list) {
            if let Some(resources) = part(container, "resources") {
                complete_from(resources, "requests", "limits");
            }
        }
    }
    super::resources::pod_level(spec);
    set(spec, "enableServiceLinks", true);
    if spec.get("hostNetwork") == Some(&Value::Bool(true)) {
        for list in ["containers", "initContainers"] {
            for container in items(spec, list) {
                for port in items(container, "ports") {
                    let number = port.get("containerPort").cloned().unwrap_or(Value::from(0));
                    if !has(port, "hostPort") && number != 0 {
                        port.insert("hostPort".to_owned(), number);
                    }
                }
            }
        }
    }
}

pub fn pod_through(object: &mut Object) {
    annotations_through(object);
    if let Some(spec) = part(object, "spec")
        && spec
            .get("terminationGracePeriodSeconds")
            .and_then(Value::as_i64)
            .is_some_and(|seconds| seconds < 0)
    {
        spec.insert("terminationGracePeriodSeconds".to_owned(), 1.into());
    }
}

/// The account has two names, of which one is old.
pub fn spec_through(spec: &mut Object) {
    let account = match text(spec, "serviceAccountName") {
        "" => text(spec, "serviceAccount"),
        account => account,
    }
    .to_owned();
    if !account.is_empty() {
        spec.insert("serviceAccountName".to_owned(), account.clone().into());
        spec.insert("serviceAccount".to_owned(), account.into());
    }
    set(spec, "securityContext", Value::Object(Object::new()));
}

/// The first address has two places.
pub fn status_through(status: &mut Object) {
    let single = text(status, "podIP").to_owned();
    let first = status.get("podIPs").and_then(|list| list.get(0));
    let first = first.map(|first| first.get("ip").and_then(Value::as_str).unwrap_or_default().to_owned());
    match first {
        Some(first) if single.is_empty() && !first.is_empty() => {
            status.insert("podIP".to_owned(), first.into());
        }
        Some(first) if first == single => {}
        _ if !single.is_empty() => {
            status.insert("podIPs".to_owned(), serde_json::json!([{"ip": single}]));
        }
        _ => {}
    }
}

pub fn annotations_through(object: &mut Object) {
    let annotations = part(object, "metadata").and_then(|metadata| part(metadata, "annotations"));
    if let Some(annotations) = annotations {
        OLD_INIT.iter().for_each(|key| drop(annotations.remove(*key)));
        if count(object, "metadata") > 0 {
            drop_empty_annotations(object);
        }
    }
}
