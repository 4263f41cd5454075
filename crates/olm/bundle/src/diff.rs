//! Field-by-field diff of the objects that two bundles render to.
//!
//! Names of generated roles end in a hash of their rules, so roles and their bindings are matched by service
//! account. List elements that have a name or are policy rules are matched by that, not by index.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use crate::compare::unversioned_name;
use crate::registry_v1::RegistryV1;
use crate::render::RenderedObject;
use crate::value::{array_at, string_at};

/// A changed field or object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// Kind and name of the object.
    pub object: String,
    /// Field path; empty for the whole object.
    pub path: String,
    /// Old value; nothing if added.
    pub old: Option<String>,
    /// New value; nothing if removed.
    pub new: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject =
            if self.path.is_empty() { self.object.clone() } else { format!("{} {}", self.object, self.path) };
        match (&self.old, &self.new) {
            (None, Some(_)) if self.path.is_empty() => write!(f, "+ {subject}"),
            (Some(_), None) if self.path.is_empty() => write!(f, "- {subject}"),
            (None, Some(new)) => write!(f, "+ {subject}: {new}"),
            (Some(old), None) => write!(f, "- {subject}: {old}"),
            (old, new) => {
                write!(
                    f,
                    "~ {subject}: {} -> {}",
                    old.as_deref().unwrap_or("null"),
                    new.as_deref().unwrap_or("null")
                )
            }
        }
    }
}

/// Longer values are truncated to this many characters.
const MAX_VALUE_CHARS: usize = 200;

fn truncated(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// Diffs the rendered objects of two bundles. Names that differ only in the bundle version match.
pub fn diff(
    old_bundle: &RegistryV1,
    old: &[RenderedObject],
    new_bundle: &RegistryV1,
    new: &[RenderedObject],
) -> Vec<Difference> {
    let by_name = |bundle: &RegistryV1, objects: &[RenderedObject]| -> BTreeMap<String, Value> {
        let service_accounts_by_role = service_accounts_by_role(objects);
        let mut out = BTreeMap::new();
        for object in objects {
            let name = unversioned_name(bundle, &object_identity(object, &service_accounts_by_role));
            out.insert(unique_key(&out, name), object.value.clone());
        }
        out
    };
    let (old, new) = (by_name(old_bundle, old), by_name(new_bundle, new));
    let mut out = Vec::new();
    for (name, value) in &old {
        match new.get(name) {
            Some(other) => diff_fields(name, (old_bundle, value), (new_bundle, other), &mut out),
            None => out.push(Difference {
                object: name.clone(),
                path: String::new(),
                old: Some(truncated(value)),
                new: None,
            }),
        }
    }
    for (name, value) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
        out.push(Difference {
            object: name.clone(),
            path: String::new(),
            old: None,
            new: Some(truncated(value)),
        });
    }
    out.sort();
    out
}

/// Reports whether a name ends in a hash of the object's content.
fn is_hashed(name: &str) -> bool {
    let hash = name.rsplit_once('-').map_or("", |(_, hash)| hash);
    (40..=44).contains(&hash.len()) && hash.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

/// Returns the service account of each bound role.
fn service_accounts_by_role(objects: &[RenderedObject]) -> BTreeMap<&str, &str> {
    let bindings = objects.iter().filter(|object| object.value.get("roleRef").is_some());
    bindings
        .map(|object| {
            (string_at(&object.value, "/roleRef/name"), string_at(&object.value, "/subjects/0/name"))
        })
        .collect()
}

/// Returns the key to match an object by: kind and name, or kind and service account for generated roles and
/// bindings.
fn object_identity(object: &RenderedObject, service_accounts_by_role: &BTreeMap<&str, &str>) -> String {
    let name = string_at(&object.value, "/metadata/name");
    match service_accounts_by_role.get(name).filter(|_| is_hashed(name)) {
        Some(account) => format!("{}/{account}", string_at(&object.value, "/kind")),
        None => object.kind_and_name(),
    }
}

/// Returns the key to match a list element by: policy rules by resource, verbs by themselves, other elements
/// by name.
fn element_identity(path: &str, element: &Value) -> Option<String> {
    if path.ends_with(".verbs") {
        return element.as_str().map(str::to_owned);
    }
    if element.get("verbs").is_some() {
        let join = |key: &str| {
            let all = array_at(element, key).iter();
            all.map(|word| word.as_str().unwrap_or_default()).collect::<Vec<_>>().join(",")
        };
        let (groups, names) = (join("/apiGroups"), join("/resourceNames"));
        let mut out = format!("{}{}", join("/resources"), join("/nonResourceURLs"));
        if !groups.is_empty() {
            out.push_str(&format!(".{groups}"));
        }
        if !names.is_empty() {
            out.push_str(&format!(" {names}"));
        }
        return Some(out);
    }
    element.get("name").and_then(Value::as_str).map(str::to_owned)
}

/// Keys list elements by identity; returns nothing if an element has none.
fn keyed_elements<'v>(
    bundle: &RegistryV1,
    path: &str,
    list: &'v [Value],
) -> Option<BTreeMap<String, &'v Value>> {
    let mut out = BTreeMap::new();
    for element in list {
        out.insert(unique_key(&out, unversioned_name(bundle, &element_identity(path, element)?)), element);
    }
    Some(out)
}

/// Returns the name itself, or with a number if it is already used.
fn unique_key<T>(existing: &BTreeMap<String, T>, name: String) -> String {
    let mut key = name.clone();
    let mut number = 1;
    while existing.contains_key(&key) {
        number += 1;
        key = format!("{name}#{number}");
    }
    key
}

/// Reports whether both values are generated names, which change with the rules that are compared anyway.
fn is_generated_rename(path: &str, old: &Value, new: &Value) -> bool {
    let is_generated = |name: &Value| name.as_str().is_some_and(is_hashed);
    matches!(path, ".metadata.name" | ".roleRef.name") && is_generated(old) && is_generated(new)
}

/// Diffs two values. The decoder has bounded the nesting depth.
fn diff_fields(
    name: &str,
    (old_bundle, old): (&RegistryV1, &Value),
    (new_bundle, new): (&RegistryV1, &Value),
    out: &mut Vec<Difference>,
) {
    let mut work = vec![(String::new(), Some(old), Some(new))];
    while let Some((path, old, new)) = work.pop() {
        match (old, new) {
            (Some(old), Some(new)) if old == new || is_generated_rename(&path, old, new) => {}
            (Some(Value::Object(a)), Some(Value::Object(b))) => {
                for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                    work.push((format!("{path}.{key}"), a.get(key), b.get(key)));
                }
            }
            (Some(Value::Array(a)), Some(Value::Array(b)))
                if let (Some(a), Some(b)) =
                    (keyed_elements(old_bundle, &path, a), keyed_elements(new_bundle, &path, b)) =>
            {
                let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
                for name in names {
                    work.push((format!("{path}[{name}]"), a.get(name).copied(), b.get(name).copied()));
                }
            }
            (Some(Value::Array(a)), Some(Value::Array(b))) => {
                for at in 0..a.len().max(b.len()) {
                    work.push((format!("{path}[{at}]"), a.get(at), b.get(at)));
                }
            }
            (old, new) => {
                out.push(Difference {
                    object: name.to_owned(),
                    path,
                    old: old.map(truncated),
                    new: new.map(truncated),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::diff;
    use crate::render::RenderedObject;
    use crate::{BundleFiles, RegistryV1};
    use serde_json::json;

    fn registry_v1(version: &str) -> RegistryV1 {
        let csv =
            json!({"kind": "ClusterServiceVersion", "metadata": {"name": "a"}, "spec": {"version": version}});
        let files = [
            ("manifests/csv.yaml".to_owned(), csv.to_string().into_bytes()),
            ("metadata/annotations.yaml".to_owned(), b"annotations: {}".to_vec()),
        ];
        RegistryV1::new(&BundleFiles::new(files).unwrap()).unwrap()
    }

    #[test]
    fn matches_generated_roles_by_service_account_and_rules_by_resource() {
        let rendered = |version: &str, hash: char, rules: serde_json::Value| {
            // Truncation leaves only a part of the version in the name.
            let name = format!("shop-operator.v{}-{}", &version[..3], hash.to_string().repeat(43));
            let account = format!("shop-operator-{}", version.replace('.', "-"));
            let role = json!({"kind": "ClusterRole", "metadata": {"name": name}, "rules": rules});
            let binding = json!({"kind": "ClusterRoleBinding", "metadata": {"name": name},
                "subjects": [{"kind": "ServiceAccount", "name": account}],
                "roleRef": {"kind": "ClusterRole", "name": name}});
            [RenderedObject::untyped(role), RenderedObject::untyped(binding)]
        };
        let rule = |group: &str, resource: &str, verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
        let kept = rule("", "pods", &["get"]);
        let (narrow, wide) =
            (rule("apps", "deployments", &["get"]), rule("apps", "deployments", &["get", "list"]));
        let (gone, new) = (rule("", "secrets", &["get"]), rule("", "configmaps", &["get"]));
        let old = rendered("1.0.0", 'a', json!([kept, narrow, gone]));
        let after = rendered("1.1.0", 'b', json!([new, wide, kept]));
        let all = diff(&registry_v1("1.0.0"), &old, &registry_v1("1.1.0"), &after);
        let text: Vec<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(
            text,
            [
                "+ ClusterRole/shop-operator .rules[configmaps]: {\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],\"verbs\":[\"get\"]}",
                "+ ClusterRole/shop-operator .rules[deployments.apps].verbs[list]: \"list\"",
                "- ClusterRole/shop-operator .rules[secrets]: {\"apiGroups\":[\"\"],\"resources\":[\"secrets\"],\"verbs\":[\"get\"]}",
                "~ ClusterRoleBinding/shop-operator .subjects[shop-operator].name: \"shop-operator-1-0-0\" -> \"shop-operator-1-1-0\"",
            ]
        );
    }

    #[test]
    fn reports_changed_field_paths() {
        let object = |name: &str, value: serde_json::Value| {
            RenderedObject::untyped(json!({"kind": "ConfigMap", "metadata": {"name": name}, "data": value}))
        };
        let old = [object("a-1-0-0", json!({"x": [1, 2], "gone": true})), object("b-1-0-0", json!({}))];
        let new = [object("a-2-0-0", json!({"x": [1, 3], "new": null})), object("c-2-0-0", json!({}))];
        let all = diff(&registry_v1("1.0.0"), &old, &registry_v1("2.0.0"), &new);
        let text: Vec<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(
            text,
            [
                "- ConfigMap/a .data.gone: true",
                "+ ConfigMap/a .data.new: null",
                "~ ConfigMap/a .data.x[1]: 2 -> 3",
                "~ ConfigMap/a .metadata.name: \"a-1-0-0\" -> \"a-2-0-0\"",
                "- ConfigMap/b",
                "+ ConfigMap/c",
            ]
        );
    }
}
