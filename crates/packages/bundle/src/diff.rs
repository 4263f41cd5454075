//! What is different between the objects of two bundles, field by field.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::compare::bare;
use crate::registry::Registry;
use crate::render::Object;

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The kind and the name of the object.
    pub object: String,
    /// The field; empty for the whole object.
    pub path: String,
    /// What was there; nothing for what is new.
    pub old: Option<String>,
    /// What is there; nothing for what is gone.
    pub new: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what =
            if self.path.is_empty() { self.object.clone() } else { format!("{} {}", self.object, self.path) };
        match (&self.old, &self.new) {
            (None, Some(_)) if self.path.is_empty() => write!(f, "+ {what}"),
            (Some(_), None) if self.path.is_empty() => write!(f, "- {what}"),
            (None, Some(new)) => write!(f, "+ {what}: {new}"),
            (Some(old), None) => write!(f, "- {what}: {old}"),
            (old, new) => {
                write!(
                    f,
                    "~ {what}: {} -> {}",
                    old.as_deref().unwrap_or("null"),
                    new.as_deref().unwrap_or("null")
                )
            }
        }
    }
}

/// The longest value that is shown whole, in characters.
const LONGEST: usize = 200;

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// Compares what two bundles put into a cluster. Objects whose names differ in the version only are the same.
pub fn diff(was: &Registry, old: &[Object], is: &Registry, new: &[Object]) -> Vec<Difference> {
    let by_name = |registry: &Registry, objects: &[Object]| -> BTreeMap<String, Value> {
        let mut out = BTreeMap::new();
        for object in objects {
            let mut name = bare(registry, &object.name());
            // Names with hashes in them are new whenever the rules are: what they are for stays.
            if let Some((base, _)) = hashed(&name) {
                name = base;
            }
            let mut key = name.clone();
            let mut number = 1;
            while out.contains_key(&key) {
                number += 1;
                key = format!("{name}#{number}");
            }
            out.insert(key, object.value.clone());
        }
        out
    };
    let (old, new) = (by_name(was, old), by_name(is, new));
    let mut out = Vec::new();
    for (name, value) in &old {
        match new.get(name) {
            Some(other) => fields(name, value, other, &mut out),
            None => out.push(Difference {
                object: name.clone(),
                path: String::new(),
                old: Some(shown(value)),
                new: None,
            }),
        }
    }
    for (name, value) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
        out.push(Difference {
            object: name.clone(),
            path: String::new(),
            old: None,
            new: Some(shown(value)),
        });
    }
    out.sort();
    out
}

/// The parts of a name that ends in a hash.
fn hashed(name: &str) -> Option<(String, &str)> {
    let (base, hash) = name.rsplit_once('-')?;
    let is =
        (40..=44).contains(&hash.len()) && hash.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    is.then(|| (base.to_owned(), hash))
}

/// The differences of two values; objects are as deep as their reader allows.
fn fields(name: &str, old: &Value, new: &Value, out: &mut Vec<Difference>) {
    let mut work = vec![(String::new(), Some(old), Some(new))];
    while let Some((path, old, new)) = work.pop() {
        match (old, new) {
            (Some(old), Some(new)) if old == new => {}
            (Some(Value::Object(a)), Some(Value::Object(b))) => {
                for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                    work.push((format!("{path}.{key}"), a.get(key), b.get(key)));
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
                    old: old.map(shown),
                    new: new.map(shown),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::diff;
    use crate::render::Object;
    use crate::{Registry, Tree};
    use serde_json::json;

    fn registry(version: &str) -> Registry {
        let csv =
            json!({"kind": "ClusterServiceVersion", "metadata": {"name": "a"}, "spec": {"version": version}});
        let files = [
            ("manifests/csv.yaml".to_owned(), csv.to_string().into_bytes()),
            ("metadata/annotations.yaml".to_owned(), b"annotations: {}".to_vec()),
        ];
        Registry::new(&Tree::new(files).unwrap()).unwrap()
    }

    #[test]
    fn fields_are_named() {
        let object = |name: &str, value: serde_json::Value| {
            Object::plain(json!({"kind": "ConfigMap", "metadata": {"name": name}, "data": value}))
        };
        let old = [object("a-1-0-0", json!({"x": [1, 2], "gone": true})), object("b-1-0-0", json!({}))];
        let new = [object("a-2-0-0", json!({"x": [1, 3], "new": null})), object("c-2-0-0", json!({}))];
        let all = diff(&registry("1.0.0"), &old, &registry("2.0.0"), &new);
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
