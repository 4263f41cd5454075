//! Compares objects field by field, with paths as the API server writes them.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

/// Keys that identify list items; the first key that all items have is used.
const LIST_KEYS: [&str; 6] = ["name", "containerPort", "port", "mountPath", "key", "type"];
/// Metadata that the API server sets.
const SERVER_FIELDS: [&str; 5] =
    ["managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"];

/// A field that differs between two objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The field, such as `.spec.template.spec.containers[name="c"].image`.
    pub path: String,
    /// The old value; `None` when the field is added.
    pub from: Option<Value>,
    /// The new value; `None` when the field is removed.
    pub to: Option<Value>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.from, &self.to) {
            (None, Some(to)) => write!(f, "{}: + {to}", self.path),
            (Some(from), None) => write!(f, "{}: - {from}", self.path),
            (Some(from), Some(to)) => write!(f, "{}: {from} -> {to}", self.path),
            (None, None) => f.write_str(&self.path),
        }
    }
}

/// The fields that differ between two versions of an object, except for its status and server-set metadata.
pub fn changes(from: &Value, to: &Value) -> Vec<Change> {
    let strip = |object: &Value| {
        let mut object = object.clone();
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
            if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
                SERVER_FIELDS.iter().for_each(|field| drop(metadata.remove(*field)));
            }
        }
        object
    };
    let mut out = Vec::new();
    compare(&strip(from), &strip(to), String::new(), &mut out);
    out
}

fn compare(from: &Value, to: &Value, path: String, out: &mut Vec<Change>) {
    match (from, to) {
        (a, b) if a == b => {}
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                compare_optional(a.get(key), b.get(key), format!("{path}{}", path_element(key)), out);
            }
        }
        (Value::Array(a), Value::Array(b)) => match common_key(a, b) {
            Some(key) => compare_by_key(a, b, key, &path, out),
            None => {
                for index in 0..a.len().max(b.len()) {
                    compare_optional(a.get(index), b.get(index), format!("{path}[{index}]"), out);
                }
            }
        },
        (from, to) => out.push(Change { path, from: Some(from.clone()), to: Some(to.clone()) }),
    }
}

fn compare_optional(from: Option<&Value>, to: Option<&Value>, path: String, out: &mut Vec<Change>) {
    match (from, to) {
        (Some(from), Some(to)) => compare(from, to, path, out),
        (from, to) => out.push(Change { path, from: from.cloned(), to: to.cloned() }),
    }
}

/// A key as a path element; keys with path characters are quoted.
fn path_element(key: &str) -> String {
    if key.contains(['.', '/', '[', ']', '"']) { format!("[{key:?}]") } else { format!(".{key}") }
}

/// A key that identifies the items of both lists.
fn common_key(a: &[Value], b: &[Value]) -> Option<&'static str> {
    let distinct = |items: &[Value], key: &str| {
        let mut seen = BTreeSet::new();
        items.iter().all(|item| item.get(key).is_some_and(|value| seen.insert(value.to_string())))
    };
    LIST_KEYS.into_iter().find(|key| distinct(a, key) && distinct(b, key))
}

fn compare_by_key(a: &[Value], b: &[Value], key: &str, path: &str, out: &mut Vec<Change>) {
    let find =
        |items: &[Value], wanted: &Value| items.iter().find(|item| item.get(key) == Some(wanted)).cloned();
    let known: Vec<&Value> = a.iter().chain(b).filter_map(|item| item.get(key)).collect();
    let mut seen: Vec<&Value> = Vec::new();
    for value in known {
        if !seen.contains(&value) {
            seen.push(value);
            let (from, to) = (find(a, value), find(b, value));
            compare_optional(from.as_ref(), to.as_ref(), format!("{path}[{key}={value}]"), out);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(from: Value, to: Value) -> Vec<String> {
        changes(&from, &to).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lists_changed_fields_only() {
        let from = json!({"metadata": {"generation": 1, "annotations": {"a.b/c": "1"}}, "status": {"x": 1},
            "spec": {"replicas": 1, "gone": true, "args": ["a", "b"]}});
        let to = json!({"metadata": {"generation": 2, "annotations": {"a.b/c": "2"}}, "status": {"x": 2},
            "spec": {"replicas": 3, "new": {"k": 1}, "args": ["a", "c"]}});
        assert_eq!(
            lines(from, to),
            [
                ".metadata.annotations[\"a.b/c\"]: \"1\" -> \"2\"",
                ".spec.args[1]: \"b\" -> \"c\"",
                ".spec.gone: - true",
                ".spec.new: + {\"k\":1}",
                ".spec.replicas: 1 -> 3",
            ]
        );
    }

    #[test]
    fn matches_list_items_by_key() {
        let from = json!({"c": [{"name": "a", "image": "x"}, {"name": "b"}]});
        let to = json!({"c": [{"name": "new"}, {"name": "a", "image": "y"}]});
        assert_eq!(
            lines(from, to),
            [
                ".c[name=\"a\"].image: \"x\" -> \"y\"",
                ".c[name=\"b\"]: - {\"name\":\"b\"}",
                ".c[name=\"new\"]: + {\"name\":\"new\"}"
            ]
        );
    }
}
