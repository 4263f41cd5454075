//! The roles and bindings that a real server begins with.

use std::fmt::Write as _;

use serde_json::Value;

use crate::cluster::{Cluster, Error, run};

const HEAD: &str = "# The roles and bindings that Kubernetes 1.36.3 begins with, written by `make roles`: what a real server has.
#
# An object a line: kind, name (in its namespace), labels, the role of a binding. Under it, a line each:
#   a rule: verbs, groups (`-`: the one without a name), resources and perhaps names; or verbs and paths
#   a subject of a binding; a label of the roles whose rules it has too
# All have the label kubernetes.io/bootstrapping=rbac-defaults and are brought up to date.
";

/// The lists of them, in the order of the table.
pub const LISTS: [&str; 4] = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"];

/// All objects of one kind.
pub fn all(cluster: &Cluster, plural: &str) -> Result<Vec<Value>, Error> {
    let path = format!("/apis/rbac.authorization.k8s.io/v1/{plural}");
    let answer = run(cluster.kubectl().args(["get", "--raw", &path]))?;
    let fail =
        |error: serde_json::Error| Error::Command { command: path.clone(), message: error.to_string() };
    let mut list: Value = serde_json::from_str(&answer).map_err(fail)?;
    match list.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => Ok(items),
        _ => Ok(Vec::new()),
    }
}

/// The whole text of the table.
pub fn table(cluster: &Cluster) -> Result<String, Error> {
    let mut text = HEAD.to_owned();
    for (plural, kind) in LISTS.iter().zip(["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]) {
        for object in all(cluster, plural)? {
            write_object(&mut text, kind, &object);
        }
    }
    Ok(text)
}

fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn word<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn pairs(value: Option<&Value>) -> impl Iterator<Item = String> {
    let fields = value.and_then(Value::as_object).into_iter().flatten();
    fields.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
}

fn write_object(text: &mut String, kind: &str, object: &Value) {
    let place = match word(object, "/metadata/namespace") {
        "" => word(object, "/metadata/name").to_owned(),
        namespace => format!("{namespace}/{}", word(object, "/metadata/name")),
    };
    let _ = write!(text, "{kind} {place}");
    let labels = pairs(object.pointer("/metadata/labels"));
    for label in labels.filter(|label| label != "kubernetes.io/bootstrapping=rbac-defaults") {
        let _ = write!(text, " {label}");
    }
    if object.get("roleRef").is_some() {
        let _ = write!(text, " {}/{}", word(object, "/roleRef/kind"), word(object, "/roleRef/name"));
    }
    text.push('\n');
    for selector in list(object, "/aggregationRule/clusterRoleSelectors") {
        for label in pairs(selector.get("matchLabels")) {
            let _ = writeln!(text, "  aggregates {label}");
        }
    }
    // The rules of a role that is put together are those of others.
    if object.get("aggregationRule").is_none() {
        for rule in list(object, "/rules") {
            let words = |key: &str| {
                let all: Vec<&str> = list(rule, key).iter().filter_map(Value::as_str).collect();
                all.iter().map(|word| if word.is_empty() { "-" } else { word }).collect::<Vec<_>>().join(",")
            };
            let parts =
                ["/verbs", "/apiGroups", "/resources", "/resourceNames", "/nonResourceURLs"].map(words);
            let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
            let _ = writeln!(text, "  {}", parts.join(" "));
        }
    }
    for subject in list(object, "/subjects") {
        let name = match word(subject, "/namespace") {
            "" => word(subject, "/name").to_owned(),
            namespace => format!("{namespace}/{}", word(subject, "/name")),
        };
        let _ = writeln!(text, "  {} {name}", word(subject, "/kind"));
    }
}
