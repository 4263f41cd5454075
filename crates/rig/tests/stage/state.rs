//! A namespace as data, without what is different each time.

use std::collections::BTreeMap;
use std::io::Read;

use podium_meta::Resource;
use podium_sprig::encoding::base64_decode;
use serde_json::{Map, Value, json};

use super::{Desk, owns, resource, shows};

/// The objects of a namespace by their names, the releases, and the custom resources.
#[derive(Clone, Debug, PartialEq)]
pub struct State(pub BTreeMap<String, Value>);

pub fn kinds(group: &str) -> Vec<Resource> {
    vec![
        Resource::core("ConfigMap", "configmaps", true),
        Resource::core("Secret", "secrets", true),
        Resource::core("Service", "services", true),
        Resource::core("ServiceAccount", "serviceaccounts", true),
        resource("apps/v1", "Deployment", "deployments"),
        resource("batch/v1", "Job", "jobs"),
        owns(group),
        shows(),
    ]
}

impl State {
    /// Of a namespace; `group` is the one of the chart's own kind. Both count as if they had always the same name.
    pub fn read(desk: &Desk, namespace: &str, group: &str) -> Self {
        let mut all = BTreeMap::new();
        let mut uids = Vec::new();
        let mut releases: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for kind in kinds(group) {
            for mut object in desk.list(&kind, namespace) {
                let name = text(&object, "/metadata/name");
                if text(&object, "/type") == "helm.sh/release.v1" {
                    releases.entry(text(&object, "/metadata/labels/name")).or_default().push(record(&object));
                    continue;
                }
                if kind.kind.kind == "Show" {
                    uids.push(text(&object, "/metadata/uid"));
                    object = resource_state(&object);
                } else {
                    clean(&mut object);
                }
                all.insert(format!("{} {name}", kind.kind.kind), object);
            }
        }
        for (name, records) in releases {
            all.insert(format!("release {name}"), history(&records));
        }
        let text = Value::Object(all.into_iter().collect()).to_string();
        let text = text.replace(namespace, "NAMESPACE").replace(group, "GROUP");
        // Owners are named by their uids, also where fields are.
        let text = uids.iter().fold(text, |text, uid| text.replace(uid, "UID"));
        let all: Map<String, Value> = serde_json::from_str(&text).unwrap();
        State(all.into_iter().collect())
    }

    /// What differs, in lines.
    pub fn difference(&self, other: &State) -> String {
        let mut lines = Vec::new();
        let names: std::collections::BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        for name in names {
            match (self.0.get(name), other.0.get(name)) {
                (Some(a), Some(b)) => differ(name, a, b, &mut lines),
                (Some(_), None) => lines.push(format!("{name}: missing")),
                (None, Some(b)) => lines.push(format!("{name}: too much: {b}")),
                (None, None) => {}
            }
        }
        lines.join("\n")
    }
}

fn differ(path: &str, a: &Value, b: &Value, lines: &mut Vec<String>) {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            let keys: std::collections::BTreeSet<&String> = x.keys().chain(y.keys()).collect();
            for key in keys {
                let (a, b) = (x.get(key).unwrap_or(&Value::Null), y.get(key).unwrap_or(&Value::Null));
                differ(&format!("{path}.{key}"), a, b, lines);
            }
        }
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            for (at, (a, b)) in x.iter().zip(y).enumerate() {
                differ(&format!("{path}[{at}]"), a, b, lines);
            }
        }
        _ if a != b => lines.push(format!("{path}: {a} expected, {b} found")),
        _ => {}
    }
}

pub fn text(value: &Value, path: &str) -> String {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Takes away what the server makes up.
pub fn clean(object: &mut Value) {
    let Some(fields) = object.as_object_mut() else { return };
    fields.remove("status");
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        for name in ["uid", "resourceVersion", "creationTimestamp", "generation"] {
            metadata.remove(name);
        }
        let list = |value: Option<&mut Value>| value.and_then(Value::as_array_mut).map(std::mem::take);
        let mut managers = list(metadata.get_mut("managedFields")).unwrap_or_default();
        managers.retain(|entry| text(entry, "/subresource").is_empty());
        managers.iter_mut().for_each(|entry| entry["time"] = Value::Null);
        managers.sort_by_key(|entry| (text(entry, "/manager"), text(entry, "/operation")));
        metadata.insert("managedFields".to_owned(), managers.into());
    }
    if let Some(spec) = fields.get_mut("spec").and_then(Value::as_object_mut) {
        for name in ["clusterIP", "clusterIPs"] {
            spec.remove(name);
        }
    }
}

/// A custom resource: what it wants, and what it says.
fn resource_state(object: &Value) -> Value {
    let conditions =
        object.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    // The reason of Deployed and the number of the revision say how often it was tried.
    let mut conditions: Vec<String> = conditions
        .iter()
        .map(|condition| format!("{} {}", text(condition, "/type"), text(condition, "/status")))
        .collect();
    conditions.sort();
    let field = |path: &str| object.pointer(path).cloned().unwrap_or_default();
    json!({
        "spec": object["spec"],
        "finalizers": field("/metadata/finalizers"),
        "deleted": object.pointer("/metadata/deletionTimestamp").is_some(),
        "conditions": conditions,
        "observed": field("/status/observedGeneration") == field("/metadata/generation"),
        "warnings": field("/status/warnings"),
        "left": field("/status/leftToOthers"),
        "release": field("/status/deployedRelease/name"),
    })
}

/// The content of a record.
pub fn record(secret: &Value) -> Value {
    let decode = |data: &[u8]| base64_decode(data).unwrap();
    let packed = decode(&decode(text(secret, "/data/release").as_bytes()));
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut plain).unwrap();
    serde_json::from_slice(&plain).unwrap()
}

/// What counts of a history: what is deployed, and what is under way.
fn history(records: &[Value]) -> Value {
    let status = |record: &&Value| text(record, "/info/status");
    let deployed: Vec<Value> = records
        .iter()
        .filter(|record| status(record) == "deployed")
        .map(|record| json!({"manifest": record["manifest"], "config": record["config"]}))
        .collect();
    let underway: Vec<String> = records
        .iter()
        .map(|record| text(record, "/info/status"))
        .filter(|status| !matches!(status.as_str(), "deployed" | "superseded" | "failed"))
        .collect();
    json!({"deployed": deployed, "underway": underway})
}
