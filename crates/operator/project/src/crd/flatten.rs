//! References written out and `allOf` merged, so that one object says all about a place.

use serde_json::{Map, Value, json};

use super::convert::Converter;
use super::{Note, Problem};

/// A JSON schema as an object.
pub type Schema = Map<String, Value>;

/// What is known on the way down to a place.
#[derive(Clone, Debug, Default)]
pub struct Trail<'v> {
    /// The path below the values.
    pub path: String,
    /// The chart's own value of the place.
    pub values: Option<&'v Value>,
    /// References that were followed, so that one that comes back to itself is seen.
    pub followed: Vec<String>,
    /// How deep it is.
    pub depth: usize,
}

impl Trail<'_> {
    /// One level down.
    pub fn below(&self, name: &str) -> Self {
        let path = match (self.path.is_empty(), name.starts_with('[')) {
            (true, _) => name.to_owned(),
            (false, true) => format!("{}{name}", self.path),
            (false, false) => format!("{}.{name}", self.path),
        };
        let values = self.values.and_then(|values| values.get(name));
        Self { path, values, followed: self.followed.clone(), depth: self.depth + 1 }
    }
}

/// What a schema comes to.
pub enum Flat {
    /// Everything that it says.
    Says(Schema),
    /// Everything is allowed, or nothing more can be said.
    Open,
    /// Nothing is allowed.
    Never,
}

/// Where the parts are that others refer to.
const PARTS: [&str; 2] = ["$defs", "definitions"];
/// Words without meaning for a server.
const SILENT: [&str; 12] = [
    "$schema",
    "$id",
    "id",
    "$comment",
    "$anchor",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$vocabulary",
    "contentMediaType",
];
/// References may lead to references so often.
const MAX_DEPTH: usize = 100;

impl Converter<'_> {
    /// Writes a schema out. The trail learns which references were followed.
    pub fn flatten(&mut self, schema: &Value, trail: &mut Trail<'_>) -> Flat {
        self.parts += 1;
        if self.parts > super::convert::MAX_PARTS {
            return Flat::Open;
        }
        if trail.depth > MAX_DEPTH || trail.followed.len() > MAX_DEPTH {
            self.note(trail, "nested too deeply; any value is taken");
            return Flat::Open;
        }
        let object = match schema {
            Value::Bool(true) => return Flat::Open,
            Value::Bool(false) => return Flat::Never,
            Value::Object(object) => object,
            _ => {
                self.problems.push(Problem::NotASchema { path: trail.path.clone() });
                return Flat::Open;
            }
        };
        let mut flat: Schema = Map::new();
        for (key, value) in object {
            let skip = SILENT.contains(&key.as_str())
                || PARTS.contains(&key.as_str())
                || key == "$ref"
                || key == "allOf";
            if !skip {
                flat.insert(key.clone(), value.clone());
            }
        }
        let mut branches: Vec<Value> = Vec::new();
        if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
            // Before draft 2019-09 nothing counts beside a reference but what is for people.
            if self.old {
                flat.retain(|key, _| matches!(key.as_str(), "description" | "title" | "default"));
            }
            match self.follow(reference, trail) {
                Some(target) => branches.push(target),
                None => return Flat::Open,
            }
        }
        if !self.old || !object.contains_key("$ref") {
            branches.extend(object.get("allOf").and_then(Value::as_array).into_iter().flatten().cloned());
        }
        let mut left = Vec::new();
        let before = trail.followed.clone();
        for branch in branches {
            // What one branch refers to, another one may refer to as well.
            let mut inner = Trail { followed: before.clone(), depth: trail.depth + 1, ..trail.clone() };
            let flattened = self.flatten(&branch, &mut inner);
            trail.followed.extend(inner.followed.into_iter().skip(before.len()));
            match flattened {
                Flat::Says(mut more) => {
                    left.extend(
                        more.remove("allOf").and_then(|list| list.as_array().cloned()).unwrap_or_default(),
                    );
                    let rest = merge(&mut flat, more);
                    if !rest.is_empty() {
                        left.push(Value::Object(rest));
                    }
                }
                Flat::Open => {}
                Flat::Never => return Flat::Never,
            }
        }
        if !left.is_empty() {
            flat.insert("allOf".to_owned(), Value::Array(left));
        }
        if flat.is_empty() { Flat::Open } else { Flat::Says(flat) }
    }

    /// What a reference leads to; nothing if it leads back, or out.
    fn follow(&mut self, reference: &str, trail: &mut Trail<'_>) -> Option<Value> {
        let Some(fragment) = reference.strip_prefix('#') else {
            let known = self.anchors.get(reference).cloned();
            if known.is_none() {
                self.note(
                    trail,
                    &format!("{reference:?} is another document, which is not read; any value is taken"),
                );
            }
            return known;
        };
        let times = trail.followed.iter().filter(|before| *before == reference).count();
        if times >= self.repeats {
            self.note(trail, &format!("{reference:?} refers to itself; any value is taken from here on"));
            return None;
        }
        let decoded = percent_decoded(fragment);
        let root: &Value = self.root;
        let found = match fragment {
            "" => Some(root),
            _ if fragment.starts_with('/') => root.pointer(&decoded),
            _ => None,
        };
        let found = found.cloned().or_else(|| self.anchors.get(fragment).cloned());
        match found {
            Some(target) => {
                trail.followed.push(reference.to_owned());
                Some(target)
            }
            None => {
                let path = trail.path.clone();
                self.problems.push(Problem::Reference { path, reference: reference.to_owned() });
                None
            }
        }
    }

    /// Says what cannot be said.
    pub fn note(&mut self, trail: &Trail<'_>, text: &str) {
        self.dropped += 1;
        let note = Note { path: trail.path.clone(), text: text.to_owned() };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

fn percent_decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = (*first == b'%').then(|| after.get(..2)).flatten();
        let byte = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        out.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Merges a schema into another, so that both hold; hands back what cannot be merged.
pub fn merge(into: &mut Schema, from: Schema) -> Schema {
    let mut left = Map::new();
    for (key, value) in from {
        let Some(there) = into.get_mut(&key) else {
            into.insert(key, value);
            continue;
        };
        if *there == value {
            continue;
        }
        let merged = match key.as_str() {
            "title" | "description" | "default" | "format" => Some(there.clone()),
            "properties" | "patternProperties" => merge_properties(there, &value),
            "required" => union(there, &value),
            "enum" => intersection(there, &value),
            "type" => intersection(&listed(there), &listed(&value)).map(|list| {
                match list.as_array().map(Vec::as_slice) {
                    Some([one]) => one.clone(),
                    _ => list,
                }
            }),
            "minimum" | "minLength" | "minItems" | "minProperties" => limit(there, &value, true),
            "maximum" | "maxLength" | "maxItems" | "maxProperties" => limit(there, &value, false),
            "additionalProperties" | "unevaluatedProperties" => match (&*there, &value) {
                (Value::Bool(false), _) | (_, Value::Bool(false)) => Some(Value::Bool(false)),
                (Value::Bool(true), other) | (other, Value::Bool(true)) => Some(other.clone()),
                (a, b) => Some(json!({ "allOf": [a, b] })),
            },
            "items" if there.is_object() && value.is_object() => Some(json!({ "allOf": [there, value] })),
            _ => None,
        };
        match merged {
            Some(merged) => *there = merged,
            None => drop(left.insert(key, value)),
        }
    }
    left
}

fn listed(value: &Value) -> Value {
    if value.is_array() { value.clone() } else { json!([value]) }
}

fn merge_properties(a: &Value, b: &Value) -> Option<Value> {
    let (mut all, b) = (a.as_object()?.clone(), b.as_object()?);
    for (name, schema) in b {
        let merged = match all.get(name) {
            Some(there) if there != schema => json!({ "allOf": [there, schema] }),
            _ => schema.clone(),
        };
        all.insert(name.clone(), merged);
    }
    Some(Value::Object(all))
}

fn union(a: &Value, b: &Value) -> Option<Value> {
    let mut all = a.as_array()?.clone();
    for item in b.as_array()? {
        if !all.contains(item) {
            all.push(item.clone());
        }
    }
    Some(Value::Array(all))
}

/// What is in both; nothing if that is nothing.
fn intersection(a: &Value, b: &Value) -> Option<Value> {
    let b = b.as_array()?;
    let both: Vec<Value> = a.as_array()?.iter().filter(|item| b.contains(item)).cloned().collect();
    (!both.is_empty()).then_some(Value::Array(both))
}

fn limit(a: &Value, b: &Value, larger: bool) -> Option<Value> {
    let a_wins = (a.as_f64()? > b.as_f64()?) == larger;
    Some(if a_wins { a.clone() } else { b.clone() })
}
