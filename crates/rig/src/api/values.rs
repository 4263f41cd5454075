//! Random values and changes, led by a schema.

use serde_json::{Map, Value, json};

use super::schema::Schema;
use crate::random::Random;

/// How deep made values are.
const DEEP: usize = 6;

/// Names that are good, and some that are not.
const NAMES: &[&str] = &["a", "b", "web", "x-1", "data", "conf", "c", "http"];
const ODD_NAMES: &[&str] = &[
    "A",
    "x_y",
    "-a",
    "a.b",
    "",
    "a/b",
    "sehr-lang-sehr-lang-sehr-lang-sehr-lang-sehr-lang-sehr-lang-sehr-lang",
    "ä",
];
const TEXTS: &[&str] = &["a", "b", "hello", "1", "x.y", "example.com/z", "80", "http", "/data", "TCP"];
const ODD_TEXTS: &[&str] = &["", "A_b C", "true", "null", "ü\u{1F600}", "a\nb", "..", "-1", "1e9", "*"];
const QUANTITIES: &[&str] = &["1", "100m", "1Gi", "0.5", "1024Ki", "1e3", "0", "2000000", "1.5Gi"];
const ODD_QUANTITIES: &[&str] = &["", "1GiB", "-1", "abc", "1 Gi", "0.0001m"];
const TIMES: &[&str] = &["2024-01-02T03:04:05Z", "2030-12-31T23:59:59Z"];
const ODD_TIMES: &[&str] =
    &["2024-01-02", "", "2024-01-02T03:04:05+02:00", "2024-01-02T03:04:05.123456Z", "now"];
const NUMBERS: &[i64] = &[1, 2, 3, 5, 10, 80, 443, 8080];
const ODD_NUMBERS: &[i64] = &[0, -1, 65535, 65536, 100_000, i32::MAX as i64 + 1, i64::MAX];

/// How far a value may be from what is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taste {
    /// Only what looks right.
    Plain,
    /// Sometimes values that are not.
    Odd,
}

impl Taste {
    fn odd(self) -> usize {
        if self == Taste::Odd { 35 } else { 2 }
    }
}

/// A value that fits a schema, more or less.
pub fn value(random: &mut Random, schema: Schema<'_>, key: &str, taste: Taste, depth: usize) -> Value {
    let name = schema.name();
    let schema = schema.resolved();
    let odd = taste.odd();
    match name {
        "Quantity" => return random.pick_or(QUANTITIES, odd, ODD_QUANTITIES).into(),
        "IntOrString" => {
            return match random.below(3) {
                0 => random.pick_or(NUMBERS, odd, ODD_NUMBERS).into(),
                1 => random.pick_or(&["25%", "50%", "1%"], odd, &["x", "", "200%"]).into(),
                _ => random.pick_or(NAMES, odd, ODD_NAMES).into(),
            };
        }
        "Time" | "MicroTime" => return time(random, name, odd).into(),
        "JSON" | "RawExtension" | "FieldsV1" => return json!({"any": random.pick(NUMBERS)}),
        _ => {}
    }
    let words = schema.texts("enum");
    if !words.is_empty() {
        return random.pick_or(&words, odd, &["Wrong", ""]).into();
    }
    match schema.text("type") {
        "string" => text(random, schema.text("format"), key, odd).into(),
        "integer" => random.pick_or(NUMBERS, odd, ODD_NUMBERS).into(),
        "number" => json!(1.5),
        "boolean" => random.chance(50).into(),
        "array" => {
            let most = if depth >= DEEP { 1 } else { 3 };
            let items = schema.items();
            let make = |random: &mut Random| items.map(|items| value(random, items, key, taste, depth + 1));
            Value::Array((0..random.below(most)).filter_map(|_| make(random)).collect())
        }
        _ => object(random, schema, taste, depth),
    }
}

fn object(random: &mut Random, schema: Schema<'_>, taste: Taste, depth: usize) -> Value {
    let mut object = Map::new();
    if let Some(values) = schema.values() {
        for _ in 0..random.below(3) {
            let key = random.pick_or(NAMES, taste.odd() / 2, ODD_NAMES);
            object.insert(key.to_owned(), value(random, values, key, taste, depth + 1));
        }
        return Value::Object(object);
    }
    let fields = schema.fields();
    let required = schema.texts("required");
    let chance = match depth {
        _ if depth >= DEEP => 0,
        _ if fields.len() > 8 => 8,
        _ => 30,
    };
    // Of a source with many forms one is the usual.
    let one = random.below(fields.len());
    for (at, (key, field)) in fields.iter().enumerate() {
        let wanted = required.contains(key) && !(taste == Taste::Odd && random.chance(10));
        if wanted || depth < DEEP && (at == one || random.chance(chance)) {
            object.insert((*key).to_owned(), value(random, *field, key, taste, depth + 1));
        }
    }
    Value::Object(object)
}

fn time(random: &mut Random, name: &str, odd: usize) -> &'static str {
    if random.chance(odd) {
        return random.pick(ODD_TIMES);
    }
    if name == "MicroTime" { "2024-01-02T03:04:05.000006Z" } else { random.pick(TIMES) }
}

fn text(random: &mut Random, format: &str, key: &str, odd: usize) -> String {
    if format == "date-time" {
        return time(random, "Time", odd).to_owned();
    }
    if format == "byte" {
        return random.pick_or(&["YQ==", "", "AAEC"], odd, &["!", "YQ", "a b"]).to_owned();
    }
    let pick = |random: &mut Random, usual: &[&'static str]| random.pick_or(usual, odd, ODD_TEXTS).to_owned();
    match key {
        "image" => pick(random, &["nginx", "nginx:1.25", "a.b/c@sha256:0123", "x:latest"]),
        "protocol" => pick(random, &["TCP", "UDP", "SCTP"]),
        "operator" => pick(random, &["In", "Exists", "NotIn", "DoesNotExist", "Equal"]),
        "path" | "mountPath" | "hostPath" | "subPath" => pick(random, &["/a", "/data", "a/b", "/"]),
        "ip" | "clusterIP" => pick(random, &["10.0.0.1", "1.2.3.4", "None"]),
        "namespace" => pick(random, &["default"]),
        "apiGroup" => pick(random, &["", "apps", "rbac.authorization.k8s.io"]),
        "apiVersion" => pick(random, &["v1", "apps/v1"]),
        "kind" => pick(random, &["Deployment", "Pod", "User", "Group", "ServiceAccount"]),
        "effect" => pick(random, &["NoSchedule", "NoExecute", "PreferNoSchedule"]),
        "fieldPath" => pick(random, &["metadata.name", "spec.nodeName", "status.podIP"]),
        "host" => pick(random, &["a.example.com", "*.example.com", "b.example"]),
        "generateName" | "resourceVersion" | "uid" | "selfLink" => String::new(),
        _ if key.ends_with("ame") => random.pick_or(NAMES, odd, ODD_NAMES).to_owned(),
        _ => pick(random, TEXTS),
    }
}

/// Changes something of an object that its schema knows.
pub fn change(random: &mut Random, schema: Schema<'_>, target: &mut Value, taste: Taste) {
    descend(random, schema, target, "", taste, 0);
}

/// Where changes are of no use: they are the server's, or would name another object.
const FIXED: &[&str] = &["apiVersion", "kind", "managedFields", "name", "namespace", "generateName", "uid"];

fn descend(
    random: &mut Random,
    schema: Schema<'_>,
    target: &mut Value,
    key: &str,
    taste: Taste,
    depth: usize,
) {
    let full = schema;
    let schema = schema.resolved();
    match target {
        Value::Object(object) if schema.values().is_some() => {
            let Some(values) = schema.values() else { return };
            let keys: Vec<String> = object.keys().cloned().collect();
            if !keys.is_empty() && random.chance(40) {
                let key = keys.get(random.below(keys.len())).cloned().unwrap_or_default();
                if random.chance(40) {
                    object.remove(&key);
                } else if let Some(inner) = object.get_mut(&key) {
                    descend(random, values, inner, &key, taste, depth + 1);
                }
            } else {
                let key = random.pick_or(NAMES, taste.odd() / 2, ODD_NAMES);
                object.insert(key.to_owned(), value(random, values, key, taste, depth + 1));
            }
        }
        Value::Object(object) => {
            let fields: Vec<_> = schema
                .fields()
                .into_iter()
                .filter(|(key, _)| depth > 1 || !FIXED.contains(key))
                .filter(|(key, _)| depth > 0 || *key != "metadata" || random.chance(40))
                .collect();
            let there: Vec<_> = fields.iter().filter(|(key, _)| object.contains_key(*key)).collect();
            if !there.is_empty() && random.chance(if depth < 2 { 80 } else { 55 }) {
                let Some((key, field)) = there.get(random.below(there.len())) else { return };
                if depth > 0 && random.chance(10) {
                    object.remove(*key);
                } else if let Some(inner) = object.get_mut(*key) {
                    descend(random, *field, inner, key, taste, depth + 1);
                }
            } else if let Some((key, field)) = fields.get(random.below(fields.len())) {
                object.insert((*key).to_owned(), value(random, *field, key, taste, depth + 1));
            }
        }
        Value::Array(list) => {
            let Some(items) = schema.items() else { return };
            let at = random.below(list.len());
            match list.get_mut(at) {
                Some(inner) if random.chance(70) => descend(random, items, inner, key, taste, depth + 1),
                Some(_) if random.chance(30) => drop(list.remove(at)),
                _ => list.push(value(random, items, key, taste, depth + 1)),
            }
        }
        plain => *plain = value(random, full, key, taste, depth),
    }
}

/// Makes something wrong on purpose: what a careless client would send.
pub fn spoil(random: &mut Random, target: &mut Value) {
    let odd_labels =
        ["a b", "-x", "ok", "sehr-lang-sehr-lang-sehr-lang-sehr-lang-sehr-lang-sehr-lang-sehr-lang"];
    let meta = |target: &mut Value, key: &str, value: Value| {
        if let Some(metadata) = target.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert(key.to_owned(), value);
        }
    };
    match random.below(14) {
        0 => meta(
            target,
            "labels",
            json!({random.pick(&["a/b/c", "x y", "", "k8s.io/x"]): random.pick(&odd_labels)}),
        ),
        1 => meta(target, "annotations", json!({random.pick(&["A/b", "x y", "", "a.b/c"]): "v"})),
        2 => meta(target, "finalizers", json!([random.pick(&["x", "a.b/c", "kubernetes", "A B"])])),
        3 => meta(
            target,
            "ownerReferences",
            json!([{"apiVersion": random.pick(&["v1", "", "a/b/c"]), "kind": random.pick(&["ConfigMap", "", "Event"]),
                "name": random.pick(&["o", ""]), "uid": random.pick(&["u1", ""]), "controller": true}]),
        ),
        4 => meta(target, "unknownField", json!(1)),
        5 => meta(target, "name", random.pick(ODD_NAMES).into()),
        6 => meta(target, "labels", json!({"a": 1})),
        7 => meta(target, "resourceVersion", random.pick(&["1", "x", "0", "-1"]).into()),
        8 => meta(target, "creationTimestamp", random.pick(&["2020-01-01T00:00:00Z", "x"]).into()),
        9 => meta(target, "generation", json!(7)),
        _ => spoil_inside(random, target, 0),
    }
}

fn spoil_inside(random: &mut Random, target: &mut Value, depth: usize) {
    match target {
        Value::Object(object) => {
            let keys: Vec<String> = object
                .keys()
                .filter(|key| depth > 0 || !matches!(key.as_str(), "metadata" | "kind" | "apiVersion"))
                .cloned()
                .collect();
            let key = keys.get(random.below(keys.len())).cloned().unwrap_or_default();
            match random.below(8) {
                0 => drop(object.insert("unknownField".to_owned(), json!({"x": 1}))),
                1 if depth > 0 => drop(object.remove(&key)),
                2 if depth > 0 => drop(object.insert(key, Value::Null)),
                _ => {
                    if let Some(inner) = object.get_mut(&key) {
                        spoil_inside(random, inner, depth + 1);
                    }
                }
            }
        }
        Value::Array(list) if !list.is_empty() => {
            let at = random.below(list.len());
            match random.below(5) {
                0 => list.clear(),
                1 => list.extend(list.get(at).cloned()),
                2 => list.push(Value::Null),
                _ => {
                    if let Some(inner) = list.get_mut(at) {
                        spoil_inside(random, inner, depth + 1);
                    }
                }
            }
        }
        plain => {
            let all = [
                json!("x"),
                json!(""),
                json!(5),
                json!(-1),
                json!(true),
                Value::Null,
                json!([]),
                json!({}),
                json!(1.5),
            ];
            *plain = all.get(random.below(all.len())).cloned().unwrap_or_default();
        }
    }
}
