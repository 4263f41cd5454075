//! The roles and bindings that every server begins with.

use serde_json::{Map, Value, json};

use crate::aggregate::aggregate;
use crate::refusal::RBAC;
use crate::rule::Rule;

/// What a real server begins with, written by `make roles`.
const TABLE: &str = include_str!("../roles.txt");

/// The objects that a new server has, those that are put together from others complete.
pub fn bootstrap() -> Vec<Value> {
    let mut all = read(TABLE);
    let (mut made, mut left) = (Vec::new(), all.len());
    // A role that is put together may be part of another one: until nothing changes, at most once for each.
    while left > 0 {
        left -= 1;
        for (at, role) in all.iter().enumerate() {
            made.extend(aggregate(role, all.iter().filter(is_cluster_role)).map(|rules| (at, rules)));
        }
        if made.is_empty() {
            break;
        }
        for (at, rules) in made.drain(..) {
            if let Some(role) = all.get_mut(at) {
                role["rules"] = Value::Array(rules);
            }
        }
    }
    all
}

fn is_cluster_role(object: &&Value) -> bool {
    object.get("kind").and_then(Value::as_str) == Some("ClusterRole")
}

/// Reads a table: an object a line, and under it what it has, a line each.
fn read(table: &str) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if !line.starts_with(' ') {
            all.extend(object(&words));
        } else if let Some(object) = all.last_mut() {
            part(object, &words);
        }
    }
    all
}

fn object(words: &[&str]) -> Option<Value> {
    let (kind, place, rest) = match words {
        [kind, place, rest @ ..] => (*kind, *place, rest),
        _ => return None,
    };
    let (namespace, name) = match place.split_once('/') {
        Some((namespace, name)) if !kind.starts_with("Cluster") => (namespace, name),
        _ => ("", place),
    };
    let mut metadata = json!({
        "name": name,
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    });
    if !namespace.is_empty() {
        metadata["namespace"] = json!(namespace);
    }
    let mut out = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata});
    for word in rest {
        if let Some((key, value)) = word.split_once('=') {
            out["metadata"]["labels"][key] = json!(value);
        } else if let Some((kind, name)) = word.split_once('/') {
            out["roleRef"] = json!({"apiGroup": RBAC, "kind": kind, "name": name});
        }
    }
    Some(out)
}

/// A rule, a subject, or a label that says which roles it is put together from.
fn part(object: &mut Value, words: &[&str]) {
    let list = |words: &str| {
        words.split(',').map(|word| if word == "-" { "" } else { word }.to_owned()).collect::<Vec<_>>()
    };
    match words {
        ["aggregates", label] => {
            let (key, value) = label.split_once('=').unwrap_or((label, ""));
            let selector = json!({"matchLabels": {key: value}});
            add(object, "clusterRoleSelectors", selector, true);
        }
        [kind @ ("User" | "Group"), name] => {
            add(object, "subjects", json!({"apiGroup": RBAC, "kind": kind, "name": name}), false);
        }
        ["ServiceAccount", place] => {
            let (namespace, name) = place.split_once('/').unwrap_or_default();
            add(
                object,
                "subjects",
                json!({"kind": "ServiceAccount", "name": name, "namespace": namespace}),
                false,
            );
        }
        [verbs, urls] => {
            add(
                object,
                "rules",
                Rule { verbs: list(verbs), urls: list(urls), ..Rule::default() }.to_json(),
                false,
            );
        }
        [verbs, groups, resources, names @ ..] => {
            let names = names.first().map(|names| list(names)).unwrap_or_default();
            let [verbs, groups, resources] = [verbs, groups, resources].map(|words| list(words));
            let rule = Rule { verbs, groups, resources, names, urls: Vec::new() };
            add(object, "rules", rule.to_json(), false);
        }
        _ => {}
    }
}

fn add(object: &mut Value, key: &str, value: Value, aggregation: bool) {
    let Some(mut fields) = object.as_object_mut() else { return };
    if aggregation {
        let inner = fields.entry("aggregationRule").or_insert_with(|| Value::Object(Map::new()));
        let Some(inner) = inner.as_object_mut() else { return };
        fields = inner;
    }
    if let Some(list) = fields.entry(key).or_insert_with(|| json!([])).as_array_mut() {
        list.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attributes, Policy, User};

    #[test]
    fn a_server_begins_with_roles_that_are_complete() {
        let all = bootstrap();
        let count = |kind: &str| all.iter().filter(|object| object["kind"] == kind).count();
        assert_eq!(["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"].map(count), [69, 50, 7, 7]);
        let rules = |name: &str| {
            let role = all
                .iter()
                .find(|object| object["metadata"]["name"] == name && object["kind"] == "ClusterRole");
            role.and_then(|role| role["rules"].as_array()).map_or(0, Vec::len)
        };
        assert_eq!(["cluster-admin", "admin", "edit", "view"].map(rules), [2, 29, 27, 12]);
    }

    #[test]
    fn nobody_unknown_sees_more_than_health_and_version() {
        let policy = Policy::of(&bootstrap());
        let may = |path: &str| policy.authorize(&User::anonymous(), &Attributes::path("get", path)).allowed;
        for path in ["/healthz", "/livez", "/readyz", "/version", "/version/"] {
            assert!(may(path), "{path}");
        }
        for path in ["/", "/api", "/apis", "/openapi/v3", "/metrics", "/healthzz", "/livez/ping"] {
            assert!(!may(path), "{path}");
        }
        let list = Attributes::resource("list", "", "pods", "default", "");
        assert!(!policy.authorize(&User::anonymous(), &list).allowed);
    }
}
