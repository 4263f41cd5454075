//! Whether a definition in a cluster may be replaced by another.

use serde_json::Value;

use crate::canonical::{canonical, too_deep};
use crate::compare::{neighbours, successor};
use crate::problem::{Check, Problem, clip};
use crate::version::order;

/// How many problems are told one by one.
const TOLD: usize = 100;

/// How many versions are compared with each other.
const VERSIONS: usize = 20;

/// The longest path that is shown whole, in bytes.
const PATH: usize = 1000;

/// One version of a definition.
struct Version<'a> {
    name: &'a str,
    served: bool,
    schema: Value,
}

/// Whether `new` may safely replace `old`, which is in the cluster: every object that is stored stays valid, and every
/// client that reads or writes one of the old versions still can.
///
/// These are the rules of OLM's upgrade safety, and one more: a version that was served may not vanish. Inside one
/// version, fields stay, and nothing about a field becomes stricter. Where versions of the new definition are served
/// beside each other without a webhook that converts, the newer may not be stricter than the older, unless it was so
/// before. Parts of a schema that no rule knows may not change at all.
pub fn upgrade(old: &Value, new: &Value) -> Result<(), Vec<Problem>> {
    let name =
        [new, old].into_iter().find_map(|one| one.pointer("/metadata/name")?.as_str()).unwrap_or_default();
    let mut problems = Problems { definition: clip(name), told: Vec::new(), more: 0 };
    if too_deep(old) || too_deep(new) {
        problems.add("", String::new, Check::Size, || "nests too deeply to be compared".to_owned());
        return problems.into_result();
    }
    let (before, after) = (versions(old), versions(new));
    if before.len().max(after.len()) > VERSIONS {
        problems.add("", String::new, Check::Size, || {
            format!("has more than {VERSIONS} versions: too many to be compared")
        });
        return problems.into_result();
    }
    whole(old, new, &before, &after, &mut problems);
    for was in &before {
        if let Some(is) = after.iter().find(|is| is.name == was.name) {
            successor(&was.schema, &is.schema, &mut |path, check, words| {
                problems.add(was.name, path, check, words);
            });
        }
    }
    if new.pointer("/spec/conversion/strategy").and_then(Value::as_str) != Some("Webhook") {
        beside(&before, &after, &mut problems);
    }
    problems.into_result()
}

fn versions(definition: &Value) -> Vec<Version<'_>> {
    let list = definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    let version = |one| -> Version<'_> {
        let one: &Value = one;
        Version {
            name: one.get("name").and_then(Value::as_str).unwrap_or_default(),
            served: one.get("served").and_then(Value::as_bool).unwrap_or(false),
            schema: canonical(one.pointer("/schema/openAPIV3Schema").unwrap_or(&Value::Null)),
        }
    };
    // One more than can be compared is enough to know.
    list.take(VERSIONS + 1).map(version).collect()
}

/// What is about the whole definition.
fn whole(old: &Value, new: &Value, before: &[Version<'_>], after: &[Version<'_>], problems: &mut Problems) {
    let scope =
        |one: &Value| one.pointer("/spec/scope").and_then(Value::as_str).unwrap_or_default().to_owned();
    let (was, is) = (scope(old), scope(new));
    if was != is {
        problems.add("", String::new, Check::Scope, || {
            format!("scope changed from {} to {}", clip(&was), clip(&is))
        });
    }
    let there = |name: &str| after.iter().any(|version| version.name == name);
    let stored = old.pointer("/status/storedVersions").and_then(Value::as_array).into_iter().flatten();
    let stored: Vec<&str> = stored.filter_map(Value::as_str).collect();
    for name in stored.iter().filter(|name| !there(name)) {
        let words = || "objects may be stored in this version, and it is gone".to_owned();
        problems.add(name, String::new, Check::StoredVersion, words);
    }
    let served = before.iter().filter(|version| version.served && !there(version.name));
    for version in served.filter(|version| !stored.contains(&version.name)) {
        let words = || "this version was served, and it is gone".to_owned();
        problems.add(version.name, String::new, Check::ServedVersion, words);
    }
}

/// Versions that are served beside each other: each with every newer one.
fn beside(before: &[Version<'_>], after: &[Version<'_>], problems: &mut Problems) {
    let served = |versions| -> Vec<&Version<'_>> {
        let versions: &[Version<'_>] = versions;
        let mut served: Vec<&Version<'_>> = versions.iter().filter(|version| version.served).collect();
        served.sort_by(|a, b| order(a.name, b.name));
        served
    };
    let known = served(before);
    let known = |name: &str| known.iter().copied().find(|version| version.name == name);
    let all = served(after);
    for (index, older) in all.iter().enumerate() {
        for newer in all.iter().skip(index + 1) {
            let past = known(older.name).zip(known(newer.name));
            let past = past.map(|(older, newer)| (&older.schema, &newer.schema));
            let version = format!("{} -> {}", older.name, newer.name);
            let gone = format!("field is missing in {}", clip(newer.name));
            neighbours(&older.schema, &newer.schema, past, &gone, &mut |path, check, words| {
                problems.add(&version, path, check, words);
            });
        }
    }
}

/// Problems of one definition, with a bound on their number.
struct Problems {
    definition: String,
    told: Vec<Problem>,
    more: usize,
}

impl Problems {
    fn add(&mut self, version: &str, path: impl Fn() -> String, check: Check, change: impl Fn() -> String) {
        if self.told.len() >= TOLD {
            self.more += 1;
            return;
        }
        let mut path = path();
        if let Some((end, _)) = path.char_indices().find(|(at, _)| *at >= PATH) {
            path.truncate(end);
            path.push('…');
        }
        let definition = self.definition.clone();
        self.told.push(Problem { definition, version: clip(version), path, check, change: change() });
    }

    fn into_result(mut self) -> Result<(), Vec<Problem>> {
        if self.more > 0 {
            let change = format!("and {} more problems", self.more);
            let definition = self.definition;
            self.told.push(Problem {
                definition,
                version: String::new(),
                path: String::new(),
                check: Check::Size,
                change,
            });
        }
        if self.told.is_empty() { Ok(()) } else { Err(self.told) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(versions: &Value) -> Value {
        json!({"metadata": {"name": "webs.example.com"}, "spec": {"scope": "Namespaced", "versions": versions}})
    }

    fn version(name: &str, served: bool, spec: Value) -> Value {
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        json!({"name": name, "served": served, "schema": {"openAPIV3Schema": schema}})
    }

    fn told(old: &Value, new: &Value) -> Vec<String> {
        upgrade(old, new).err().unwrap_or_default().iter().map(Problem::to_string).collect()
    }

    #[test]
    fn a_field_that_is_gone_is_one_problem() {
        let deep = json!({"properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}});
        let old = definition(&json!([version("v1", true, deep)]));
        let new = definition(&json!([version("v1", true, json!({}))]));
        assert_eq!(told(&old, &new), ["webs.example.com: v1: .spec.a: field is gone"]);
        assert_eq!(told(&new, &old), [""; 0], "fields may come");
    }

    #[test]
    fn lists_and_maps_are_in_the_path() {
        let of = |kind: &str| {
            let map = json!({"additionalProperties": {"type": kind}});
            definition(&json!([version("v1", true, json!({"items": {"properties": {"m": map}}}))]))
        };
        let expected = [
            "webs.example.com: v1: .spec[].m: additionalProperties changed",
            r#"webs.example.com: v1: .spec[].m[*]: type changed from "a" to "b""#,
        ];
        assert_eq!(told(&of("a"), &of("b")), expected);
    }

    #[test]
    fn versions_do_not_vanish_while_they_are_used() {
        let version = |name, served| version(name, served, json!({}));
        let mut old = definition(&json!([
            version("v1", true),
            version("v2", true),
            version("v3", false),
            version("v4", true)
        ]));
        old["status"] = json!({"storedVersions": ["v1", "v0"]});
        let mut new = definition(&json!([version("v4", false)]));
        new["spec"]["scope"] = json!("Cluster");
        let expected = [
            "webs.example.com: scope changed from Namespaced to Cluster",
            "webs.example.com: v1: objects may be stored in this version, and it is gone",
            "webs.example.com: v0: objects may be stored in this version, and it is gone",
            "webs.example.com: v2: this version was served, and it is gone",
        ];
        assert_eq!(told(&old, &new), expected);
    }

    #[test]
    fn a_newer_version_beside_an_older_one_is_not_stricter_unless_it_was_or_a_webhook_converts() {
        let spec = |limit: i64| json!({"maximum": limit});
        let old = definition(&json!([version("v1alpha1", true, spec(9))]));
        let mut new = definition(&json!([version("v1", true, spec(8)), version("v1alpha1", true, spec(9))]));
        let words = "webs.example.com: v1alpha1 -> v1: .spec: maximum lowered from 9 to 8";
        assert_eq!(told(&old, &new), [words]);
        assert_eq!(told(&new, &new), [""; 0]);
        new["spec"]["conversion"] = json!({"strategy": "Webhook"});
        assert_eq!(told(&old, &new), [""; 0]);
    }

    #[test]
    fn hostile_definitions_are_refused_in_few_words() {
        let mut deep = json!({});
        for _ in 0..200 {
            deep = json!({"additionalProperties": deep});
        }
        let deep = definition(&json!([version("v1", true, deep)]));
        assert_eq!(told(&deep, &deep), ["webs.example.com: nests too deeply to be compared"]);

        let many: Vec<Value> = (0..5000).map(|n| version(&format!("v{n}"), true, json!({}))).collect();
        let many = definition(&many.into());
        assert_eq!(
            told(&many, &many),
            ["webs.example.com: has more than 20 versions: too many to be compared"]
        );

        let long = "x".repeat(10_000);
        let wide = |kind: &str| {
            let fields = (0..500).map(|n| (format!("{n}{long}"), json!({"type": kind, "pattern": long})));
            let fields: serde_json::Map<String, Value> = fields.collect();
            definition(&json!([version("v1", true, json!({"properties": fields}))]))
        };
        let problems = told(&wide("a"), &wide("b"));
        assert_eq!(problems.len(), 101);
        assert_eq!(problems.last().map(String::as_str), Some("webs.example.com: and 400 more problems"));
        assert!(problems.iter().all(|problem| problem.len() < 1500));
    }

    #[test]
    fn what_is_no_definition_has_no_fields_to_lose() {
        for value in [json!(null), json!([]), json!({"spec": 1}), json!({"spec": {"versions": [1, null]}})] {
            assert_eq!(told(&value, &value), [""; 0]);
        }
    }
}
