//! A typed CRD from the schema of a chart's values.
//!
//! A JSON schema can say more than a structural schema, the form that API servers take. What both can say is kept, so
//! that the server refuses what the chart would refuse; what cannot be said is left open and noted.
//!
//! ```text
//! values.schema.json ──▶ flatten: references, allOf ──▶ structure: types, fields ──▶ rules: the rest
//! values.yaml        ──▶ types, if there is no schema; defaults, if they are asked for
//! ```

mod check;
mod convert;
mod flatten;
mod infer;
mod junctor;

use std::fmt;

use serde_json::{Map, Value, json};

pub use check::takes;
pub use infer::infer;

/// What the resources are called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The API group, such as `models.example.com`.
    pub group: String,
    /// The kind, such as `Model`.
    pub kind: String,
    /// The plural name, such as `models`.
    pub plural: String,
    /// Short names for kubectl.
    pub short: Vec<String>,
    /// Whether resources live in no namespace.
    pub cluster: bool,
    /// The versions, each with the same schema; the first one is stored.
    pub versions: Vec<String>,
}

/// How the schema is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Take fields that the schema does not name as mistakes unless it says `additionalProperties: true`.
    pub closed: bool,
    /// Take defaults from the values too.
    pub defaults: bool,
}

/// A CRD, and what it does not say.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// The CRD.
    pub crd: Value,
    /// What could not be expressed.
    pub notes: Vec<Note>,
}

/// Something that the schema says and the CRD does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where, as a path below the values, such as `image.tag`.
    pub path: String,
    /// What.
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", if self.path.is_empty() { "(the whole)" } else { &self.path }, self.text)
    }
}

/// Why there is no CRD.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A name that a server does not take.
    #[error("{what} {value:?}: {rule}")]
    Name {
        /// Which.
        what: &'static str,
        /// The name.
        value: String,
        /// What it has to be like.
        rule: &'static str,
    },
    /// There is no version.
    #[error("at least one version is needed")]
    NoVersion,
    /// The schema is none.
    #[error("{path}: a schema is an object, true or false")]
    NotASchema {
        /// Where.
        path: String,
    },
    /// The values are no mapping.
    #[error("the schema does not allow an object: the values of a chart are one")]
    Root,
    /// A reference into nowhere.
    #[error("{path}: there is nothing at $ref {reference:?}")]
    Reference {
        /// Where.
        path: String,
        /// The reference.
        reference: String,
    },
    /// More than a server would keep.
    #[error("the schema has more than {0} parts when its references are written out")]
    TooLarge(usize),
}

/// Makes a CRD. The values are the chart's own: what they have need not be in a resource. Without a schema (null) the
/// types are theirs.
pub fn crd(
    names: &Names,
    schema: &Value,
    values: Option<&Value>,
    options: Options,
) -> Result<Generated, Vec<Problem>> {
    let mut problems = check_names(names);
    let inferred;
    let schema = match (schema, values) {
        (Value::Null, Some(values)) => {
            inferred = infer(values);
            &inferred
        }
        (schema, _) => schema,
    };
    let converted = convert::convert(schema, values, options);
    let (spec, notes) = match converted {
        Ok(converted) if problems.is_empty() => converted,
        Ok(_) => return Err(problems),
        Err(more) => {
            problems.extend(more);
            return Err(problems);
        }
    };
    let versions: Vec<Value> = names
        .versions
        .iter()
        .enumerate()
        .map(|(at, name)| {
            json!({
                "name": name,
                "served": true,
                "storage": at == 0,
                "additionalPrinterColumns": columns(),
                "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "apiVersion": { "type": "string" },
                        "kind": { "type": "string" },
                        "metadata": { "type": "object" },
                        "spec": spec,
                        "status": status(),
                    },
                } },
            })
        })
        .collect();
    let mut called = json!({
        "kind": names.kind,
        "listKind": format!("{}List", names.kind),
        "plural": names.plural,
        "singular": names.kind.to_ascii_lowercase(),
    });
    if !names.short.is_empty() {
        called["shortNames"] = names.short.clone().into();
    }
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{}.{}", names.plural, names.group) },
        "spec": {
            "group": names.group,
            "names": called,
            "scope": if names.cluster { "Cluster" } else { "Namespaced" },
            "versions": versions,
        },
    });
    Ok(Generated { crd, notes })
}

/// Lets the values of subcharts through: each below its name, and `global`.
pub fn with_subcharts(schema: &Value, names: &[String]) -> Value {
    let mut schema = schema.clone();
    let Some(object) = schema.as_object_mut().filter(|_| !names.is_empty()) else { return schema };
    let properties = object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    for name in names.iter().map(String::as_str).chain(["global"]) {
        if let Some(properties) = properties.as_object_mut()
            && !properties.contains_key(name)
        {
            properties.insert(name.to_owned(), Value::Bool(true));
        }
    }
    schema
}

fn columns() -> Value {
    let condition = |kind: &str, field: &str| format!(".status.conditions[?(@.type==\"{kind}\")].{field}");
    json!([
        { "name": "Deployed", "type": "string", "jsonPath": condition("Deployed", "status") },
        { "name": "Ready", "type": "string", "jsonPath": condition("Ready", "status") },
        { "name": "Reason", "type": "string", "priority": 1, "jsonPath": condition("Ready", "reason") },
        { "name": "Revision", "type": "integer", "jsonPath": ".status.deployedRelease.revision" },
        { "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" },
    ])
}

/// The status that operators of charts write; more fields are let through.
fn status() -> Value {
    let text = || json!({ "type": "string" });
    json!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "observedGeneration": { "type": "integer", "format": "int64" },
            "conditions": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": {
                    "type": "object",
                    "required": ["type", "status"],
                    "properties": {
                        "type": text(),
                        "status": { "type": "string", "enum": ["True", "False", "Unknown"] },
                        "reason": text(),
                        "message": text(),
                        "observedGeneration": { "type": "integer", "format": "int64" },
                        "lastTransitionTime": { "type": "string", "format": "date-time", "nullable": true },
                    },
                },
            },
            "deployedRelease": {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": true,
                "properties": { "name": text(), "revision": { "type": "integer", "format": "int64" } },
            },
        },
    })
}

fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

fn check_names(names: &Names) -> Vec<Problem> {
    const LABEL: &str = "write small letters, digits and hyphens, first a letter, at most 63 characters";
    let starts = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic());
    let lower = names.kind.to_ascii_lowercase();
    let mut problems = Vec::new();
    let mut demand = |good: bool, what, value: &str, rule| {
        if !good {
            problems.push(Problem::Name { what, value: value.to_owned(), rule });
        }
    };
    let group = names.group.contains('.') && names.group.len() <= 253 && names.group.split('.').all(is_label);
    demand(group, "group", &names.group, "write a domain, such as models.example.com");
    demand(
        is_label(&lower) && starts(&lower),
        "kind",
        &names.kind,
        "write letters and digits, first a letter, such as InferenceStack",
    );
    for (what, list) in [
        ("plural", std::slice::from_ref(&names.plural)),
        ("version", &names.versions),
        ("short name", &names.short),
    ] {
        for name in list {
            demand(is_label(name) && starts(name), what, name, LABEL);
        }
    }
    if names.versions.is_empty() {
        problems.push(Problem::NoVersion);
    }
    problems
}

#[cfg(test)]
mod tests;
