//! Metadata as the API reads it: known fields of known types, written back without what is empty.

use serde_json::{Map, Value};

use super::time;
use crate::go::{Figure, json_float};

/// Metadata that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// The metadata, without what is unknown or empty.
    pub value: Value,
    /// The names of fields that nobody knows, such as `ownerReferences[0].x`.
    pub unknown: Vec<String>,
}

/// The most unknown fields that are told.
const MOST_UNKNOWN: usize = 100;

/// What a field of metadata holds.
#[derive(Clone, Copy)]
enum Holds {
    Text(&'static str),
    Whole,
    MaybeWhole,
    Flag,
    Time,
    Texts,
    Words,
    Owners,
    Managers,
    Raw,
}

type Fields = &'static [(&'static str, Holds)];

const METADATA: Fields = &[
    ("annotations", Holds::Words),
    ("creationTimestamp", Holds::Time),
    ("deletionGracePeriodSeconds", Holds::MaybeWhole),
    ("deletionTimestamp", Holds::Time),
    ("finalizers", Holds::Texts),
    ("generateName", Holds::Text("string")),
    ("generation", Holds::Whole),
    ("labels", Holds::Words),
    ("managedFields", Holds::Managers),
    ("name", Holds::Text("string")),
    ("namespace", Holds::Text("string")),
    ("ownerReferences", Holds::Owners),
    ("resourceVersion", Holds::Text("string")),
    ("selfLink", Holds::Text("string")),
    ("uid", Holds::Text("types.UID")),
];
const OWNER: Fields = &[
    ("apiVersion", Holds::Text("string")),
    ("blockOwnerDeletion", Holds::Flag),
    ("controller", Holds::Flag),
    ("kind", Holds::Text("string")),
    ("name", Holds::Text("string")),
    ("uid", Holds::Text("types.UID")),
];
const MANAGER: Fields = &[
    ("apiVersion", Holds::Text("string")),
    ("fieldsType", Holds::Text("string")),
    ("fieldsV1", Holds::Raw),
    ("manager", Holds::Text("string")),
    ("operation", Holds::Text("v1.ManagedFieldsOperationType")),
    ("subresource", Holds::Text("string")),
    ("time", Holds::Time),
];

/// Reads metadata. With `drop`, fields that cannot be read are left out one by one instead of failing.
pub fn decode(metadata: &Value, drop: bool) -> Result<Decoded, String> {
    let mut reader = Reader::default();
    let value = match metadata {
        Value::Null => Value::Object(Map::new()),
        Value::Object(fields) => {
            Value::Object(reader.fields(fields, METADATA, "ObjectMeta", &mut String::new(), &[]))
        }
        other => {
            return Err(format!(
                "json: cannot unmarshal {} into Go value of type v1.ObjectMeta",
                word(other)
            ));
        }
    };
    match reader.error {
        None => Ok(Decoded { value, unknown: reader.unknown }),
        Some(error) if !drop => Err(error),
        Some(_) => Ok(one_by_one(metadata)),
    }
}

fn one_by_one(metadata: &Value) -> Decoded {
    let mut all = Decoded { value: Value::Object(Map::new()), unknown: Vec::new() };
    for (name, value) in metadata.as_object().into_iter().flatten() {
        let single = Value::Object(Map::from_iter([(name.clone(), value.clone())]));
        if let (Ok(one), Some(fields)) = (decode(&single, false), all.value.as_object_mut()) {
            all.unknown.extend(one.unknown);
            if let Value::Object(one) = one.value {
                fields.extend(one);
            }
        }
    }
    all
}

/// What JSON calls a value.
fn word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[derive(Default)]
struct Reader {
    error: Option<String>,
    unknown: Vec<String>,
}

impl Reader {
    fn fields(
        &mut self,
        fields: &Map<String, Value>,
        known: Fields,
        kind: &str,
        at: &mut String,
        stack: &[&str],
    ) -> Map<String, Value> {
        let mut out = Map::new();
        for (name, value) in fields {
            let length = at.len();
            if length > 0 {
                at.push('.');
            }
            at.push_str(name);
            match known.iter().find(|(known, _)| known == name) {
                None if self.unknown.len() < MOST_UNKNOWN => self.unknown.push(at.clone()),
                None => {}
                Some((name, holds)) => {
                    let stack: Vec<&str> = stack.iter().copied().chain([*name]).collect();
                    if !value.is_null()
                        && let Some(value) = self.value(value, *holds, kind, at, &stack)
                    {
                        out.insert((*name).to_owned(), value);
                    }
                }
            }
            at.truncate(length);
        }
        out
    }

    /// A value of another type; only the first is told.
    fn wrong(&mut self, found: &str, kind: &str, stack: &[&str], wanted: &str) -> Option<Value> {
        let place = stack.join(".");
        let text =
            format!("json: cannot unmarshal {found} into Go struct field {kind}.{place} of type {wanted}");
        self.error.get_or_insert(text);
        None
    }

    fn value(
        &mut self,
        value: &Value,
        holds: Holds,
        kind: &str,
        at: &mut String,
        stack: &[&str],
    ) -> Option<Value> {
        match (holds, value) {
            (Holds::Text(_), Value::String(text)) => (!text.is_empty()).then(|| value.clone()),
            (Holds::Text(wanted), other) => self.wrong(word(other), kind, stack, wanted),
            (Holds::Whole | Holds::MaybeWhole, Value::Number(number)) => match Figure::of(number) {
                Figure::Whole(0) if matches!(holds, Holds::Whole) => None,
                Figure::Whole(_) => Some(value.clone()),
                Figure::Broken(f) => self.wrong(&format!("number {}", json_float(f)), kind, stack, "int64"),
            },
            (Holds::Whole | Holds::MaybeWhole, other) => self.wrong(word(other), kind, stack, "int64"),
            (Holds::Flag, Value::Bool(_)) | (Holds::Raw, _) => Some(value.clone()),
            (Holds::Flag, other) => self.wrong(word(other), kind, stack, "bool"),
            (Holds::Time, Value::String(text)) => match time::read(text) {
                Ok(moment) => moment.map(Value::String),
                Err(error) => {
                    self.error.get_or_insert(error);
                    None
                }
            },
            (Holds::Time, other) => {
                let text = format!("json: cannot unmarshal {} into Go value of type string", word(other));
                self.error.get_or_insert(text);
                None
            }
            (Holds::Texts, Value::Array(items)) => {
                let mut out = Vec::with_capacity(items.len());
                for item in items {
                    match item {
                        Value::String(_) => out.push(item.clone()),
                        Value::Null => out.push(Value::String(String::new())),
                        other => {
                            self.wrong(word(other), kind, stack, "string");
                        }
                    }
                }
                (!out.is_empty()).then_some(Value::Array(out))
            }
            (Holds::Texts, other) => self.wrong(word(other), kind, stack, "[]string"),
            (Holds::Words, Value::Object(words)) => {
                let mut out = Map::new();
                for (name, word_of) in words {
                    match word_of {
                        Value::String(_) => _ = out.insert(name.clone(), word_of.clone()),
                        Value::Null => _ = out.insert(name.clone(), Value::String(String::new())),
                        other => _ = self.wrong(word(other), kind, stack, "string"),
                    }
                }
                (!out.is_empty()).then_some(Value::Object(out))
            }
            (Holds::Words, other) => self.wrong(word(other), kind, stack, "map[string]string"),
            (Holds::Owners, Value::Array(items)) => self.items(items, OWNER, "OwnerReference", at, stack),
            (Holds::Owners, other) => self.wrong(word(other), kind, stack, "[]v1.OwnerReference"),
            (Holds::Managers, Value::Array(items)) => {
                self.items(items, MANAGER, "ManagedFieldsEntry", at, stack)
            }
            (Holds::Managers, other) => self.wrong(word(other), kind, stack, "[]v1.ManagedFieldsEntry"),
        }
    }

    fn items(
        &mut self,
        items: &[Value],
        known: Fields,
        kind: &str,
        at: &mut String,
        stack: &[&str],
    ) -> Option<Value> {
        let mut out = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let length = at.len();
            at.push_str(&format!("[{index}]"));
            match item {
                Value::Object(fields) => {
                    let mut fields = self.fields(fields, known, kind, at, stack);
                    if kind == "OwnerReference" {
                        for name in ["apiVersion", "kind", "name", "uid"] {
                            fields.entry(name).or_insert_with(|| Value::String(String::new()));
                        }
                    }
                    out.push(Value::Object(fields));
                }
                Value::Null if kind == "OwnerReference" => {
                    let empty = ["apiVersion", "kind", "name", "uid"];
                    out.push(Value::Object(
                        empty.map(|name| (name.to_owned(), "".into())).into_iter().collect(),
                    ));
                }
                Value::Null => out.push(Value::Object(Map::new())),
                other => {
                    self.wrong(word(other), "ObjectMeta", stack, &format!("v1.{kind}"));
                }
            }
            at.truncate(length);
        }
        (!out.is_empty()).then_some(Value::Array(out))
    }
}
