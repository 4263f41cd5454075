//! The schemas that the real server publishes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::pair::Pair;
use super::seeds::Subject;
use super::wire::{self, Request};

/// How often a reference leads to another one.
const HOPS: usize = 8;

/// The documents of the real server, by group and version.
#[derive(Debug, Default)]
pub struct Documents(BTreeMap<String, Value>);

impl Documents {
    /// Asks for those of some kinds.
    pub fn fetch(pair: &Pair, subjects: &[Subject]) -> Result<Self, wire::Error> {
        let mut all = Self::default();
        for subject in subjects {
            if !all.0.contains_key(&subject.api_version) {
                let at = match subject.api_version.contains('/') {
                    true => format!("/openapi/v3/apis/{}", subject.api_version),
                    false => format!("/openapi/v3/api/{}", subject.api_version),
                };
                all.0.insert(subject.api_version.clone(), pair.real(&Request::get(at))?.value());
            }
        }
        Ok(all)
    }

    /// The schema of a kind.
    pub fn of<'d>(&'d self, subject: &'d Subject) -> Schema<'d> {
        let none = &Value::Null;
        if let Some(own) = &subject.schema {
            return Schema { document: none, at: own };
        }
        let document = self.0.get(&subject.api_version).unwrap_or(none);
        let (group, version) = subject.api_version.split_once('/').unwrap_or(("", &subject.api_version));
        let schemas = document.pointer("/components/schemas").and_then(Value::as_object);
        let is_it = |schema: &&Value| {
            let kinds = schema.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
            kinds.into_iter().flatten().any(|kind| {
                let is = |key: &str, value: &str| kind.get(key).and_then(Value::as_str) == Some(value);
                is("kind", &subject.kind) && is("group", group) && is("version", version)
            })
        };
        let at = schemas.into_iter().flat_map(|all| all.values()).find(is_it).unwrap_or(none);
        Schema { document, at }
    }
}

/// A place in a document.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'d> {
    document: &'d Value,
    at: &'d Value,
}

impl<'d> Schema<'d> {
    /// A schema that stands alone.
    pub fn alone(at: &'d Value) -> Self {
        Self { document: &Value::Null, at }
    }

    /// What stands here, behind all references.
    pub fn resolved(self) -> Self {
        let mut at = self.at;
        for _ in 0..HOPS {
            let alone = at.get("allOf").and_then(Value::as_array).and_then(|all| all.first());
            let target = at.get("$ref").or_else(|| alone.and_then(|one| one.get("$ref")));
            let Some(name) = target.and_then(Value::as_str).and_then(|name| name.strip_prefix('#')) else {
                break;
            };
            match self.document.pointer(name) {
                Some(next) => at = next,
                None => break,
            }
        }
        Self { at, ..self }
    }

    /// The name of the type that a reference leads to.
    pub fn name(self) -> &'d str {
        let alone = self.at.get("allOf").and_then(Value::as_array).and_then(|all| all.first());
        let target = self.at.get("$ref").or_else(|| alone.and_then(|one| one.get("$ref")));
        target.and_then(Value::as_str).and_then(|name| name.rsplit('.').next()).unwrap_or_default()
    }

    /// A text of the schema.
    pub fn text(self, key: &str) -> &'d str {
        self.at.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// Something of the schema.
    pub fn get(self, key: &str) -> Option<&'d Value> {
        self.at.get(key)
    }

    /// A list of texts of the schema.
    pub fn texts(self, key: &str) -> Vec<&'d str> {
        self.at.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The fields.
    pub fn fields(self) -> Vec<(&'d str, Schema<'d>)> {
        let all = self.at.get("properties").and_then(Value::as_object);
        all.into_iter().flatten().map(|(key, at)| (key.as_str(), Schema { at, ..self })).collect()
    }

    /// A field.
    pub fn field(self, name: &str) -> Option<Schema<'d>> {
        self.at.get("properties")?.get(name).map(|at| Schema { at, ..self })
    }

    /// What a list has.
    pub fn items(self) -> Option<Schema<'d>> {
        self.at.get("items").map(|at| Schema { at, ..self })
    }

    /// What a map has.
    pub fn values(self) -> Option<Schema<'d>> {
        self.at.get("additionalProperties").filter(|at| at.is_object()).map(|at| Schema { at, ..self })
    }
}
