//! Managed fields as kube-apiserver keeps them: who owns which field after a write, and what an applied
//! configuration makes of an object.

mod cap;
mod change;
mod conflict;
mod filter;
mod last_applied;
mod owners;
mod prune;
pub mod scale;

use podium_schema::shape::{Shape, ShapeId, Shapes};
use serde_json::{Map, Value};

pub use conflict::{Cause, Conflicts};
pub use filter::Filter;
pub use owners::{Operation, Owner, Owners, Unreadable};

use self::change::Merged;
use crate::go;
use crate::set::FieldSet;
use crate::typed::{self, Duplicates};

/// The versions of a kind.
pub trait Versions {
    /// The shape of the kind in a version; nothing where the version is not known, whose entries are dropped.
    fn shape(&self, version: &str) -> Option<ShapeId>;

    /// The object in another version that is known. Where versions only differ by name, [`renamed`] does it.
    fn convert(&self, object: &Value, version: &str) -> Result<Value, String>;

    /// Which fields are tracked in a version; nothing is all.
    fn filter(&self, version: &str) -> Option<&Filter> {
        let _ = version;
        None
    }

    /// What every object of the kind has though nobody has written it; nothing where that is nothing.
    fn zero(&self) -> Option<Value> {
        None
    }
}

/// A kind that has one version.
#[derive(Debug, Clone, Copy)]
pub struct OneVersion<'a> {
    /// Its name, such as `apps/v1`.
    pub version: &'a str,
    /// Its shape.
    pub shape: ShapeId,
    /// Which fields are tracked; nothing is all.
    pub filter: Option<&'a Filter>,
}

impl Versions for OneVersion<'_> {
    fn shape(&self, version: &str) -> Option<ShapeId> {
        (version == self.version).then_some(self.shape)
    }

    fn convert(&self, object: &Value, version: &str) -> Result<Value, String> {
        Ok(renamed(object, version))
    }

    fn filter(&self, version: &str) -> Option<&Filter> {
        self.filter.filter(|_| version == self.version)
    }
}

/// The object with another `apiVersion`.
pub fn renamed(object: &Value, version: &str) -> Value {
    let mut object = object.clone();
    if let Value::Object(map) = &mut object {
        map.insert("apiVersion".to_owned(), Value::String(version.to_owned()));
    }
    object
}

/// Where and when a write happens.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The shapes that the versions speak of.
    pub shapes: &'a Shapes,
    /// The versions of the kind.
    pub versions: &'a dyn Versions,
    /// The version of the request, such as `apps/v1`.
    pub version: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// The part of the object's address that is written to; empty is the object itself.
    pub subresource: &'a str,
    /// The time of the write, as it is stored: RFC 3339, seconds, UTC.
    pub now: &'a str,
}

/// Why a write is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The request is wrong (400).
    #[error("{0}")]
    BadRequest(String),
    /// Others own what it would change (409).
    #[error("{0}")]
    Conflict(Conflicts),
    /// It cannot be done (500).
    #[error("{0}")]
    Failed(String),
}

/// What came of an applied configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// The object, with its managed fields.
    pub object: Value,
    /// Whether more than the managed fields differs from the live object.
    pub changed: bool,
}

/// The name of a manager that gives none.
const UNKNOWN: &str = "unknown";
/// Who owns what was there before anybody applied.
const BEFORE: &str = "before-first-apply";
/// The client that keeps its configuration in an annotation.
const KUBECTL: &str = "kubectl";

/// Merges an applied configuration into the live object; without one it is created.
pub fn apply(
    scope: &Scope<'_>,
    live: Option<&Value>,
    config: &Value,
    manager: &str,
    force: bool,
) -> Result<Applied, Error> {
    let empty = scope.empty();
    let live = live.unwrap_or(&empty);
    let given = gvk(config);
    if given != gvk(&empty) {
        return Err(Error::BadRequest(format!("invalid object type: {given}")));
    }
    let read = || {
        let entries = live.pointer("/metadata/managedFields").unwrap_or(&Value::Null);
        Owners::read(entries)
            .map_err(|error| Error::Failed(format!("failed to decode managed fields: {error}")))
    };
    let mut result = change::apply(scope, live, config, read()?, manager, force);
    if let (Err(Error::Conflict(conflicts)), KUBECTL) = (&result, manager)
        && let Some(allowed) = last_applied::unchanged(scope, &bare(live))
    {
        result = if conflicts.fields().difference(&allowed).is_empty() {
            change::apply(scope, live, config, read()?, manager, true)
        } else {
            Err(Error::Conflict(conflicts.clone().beyond(&allowed)))
        };
    }
    let Merged { mut object, changed, owners, same_owners } = result?;
    let stored = live.pointer("/metadata/managedFields").filter(|_| same_owners);
    let entries = stored.cloned().unwrap_or_else(|| owners.to_value());
    if manager == KUBECTL {
        last_applied::renew(&mut object, config);
    }
    put(&mut object, entries);
    Ok(Applied { object, changed })
}

/// Tells who owns what after any other write: `new` is what the object is to be, with the managed fields that the
/// request gave. Without a live object it is created.
pub fn update(
    scope: &Scope<'_>,
    live: Option<&Value>,
    mut new: Value,
    manager: &str,
) -> Result<Value, Error> {
    let empty = scope.empty();
    let created = live.is_none();
    let live = live.unwrap_or(&empty);
    let given = take(&mut new);
    let stored = live.pointer("/metadata/managedFields").unwrap_or(&Value::Null);
    let of_live = || Owners::read(stored).unwrap_or_default();
    let owners = if !scope.subresource.is_empty() {
        of_live()
    } else if owners::asks_to_forget(&given) {
        Owners::default()
    } else {
        Owners::read(&given).ok().filter(|owners| !owners.is_empty()).unwrap_or_else(of_live)
    };
    let known = live.pointer("/metadata/uid").and_then(Value::as_str).is_some_and(|uid| !uid.is_empty());
    // What nobody has owned so far begins to be tracked when it is created or first applied.
    if owners.is_empty() && known && !created {
        return Ok(new);
    }
    let owners = change::update(scope, live, &new, owners, manager)?;
    let entries = owners.to_value();
    put(&mut new, entries);
    Ok(new)
}

/// As [`update`], and when it fails, as kube-apiserver does it then: without managed fields.
pub fn update_or_forget(scope: &Scope<'_>, live: Option<&Value>, new: Value, manager: &str) -> Value {
    let mut bare = new.clone();
    update(scope, live, new, manager).unwrap_or_else(|_| {
        take(&mut bare);
        bare
    })
}

/// Gives an object back its former managed fields when nothing differs but their times: such a write is none.
pub fn keep_times(old: &Value, new: &mut Value) {
    let entries = |object: &Value| -> Vec<Value> {
        let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
        let mut entries = entries.cloned().unwrap_or_default();
        for entry in &mut entries {
            if let Value::Object(entry) = entry {
                entry.remove("time");
            }
        }
        entries
    };
    let former = entries(old);
    if former.is_empty() || former != entries(new) || bare(old) != bare(new) {
        return;
    }
    if let Some(stored) = old.pointer("/metadata/managedFields") {
        put(new, stored.clone());
    }
}

impl<'a> Scope<'a> {
    pub(crate) fn empty(&self) -> Value {
        let mut map = Map::new();
        map.insert("apiVersion".to_owned(), Value::String(self.version.to_owned()));
        map.insert("kind".to_owned(), Value::String(self.kind.to_owned()));
        Value::Object(map)
    }

    pub(crate) fn shape_of(&self, version: &str) -> Option<&'a Shape> {
        Some(self.shapes.get(self.versions.shape(version)?))
    }

    /// The shape of the request's version.
    pub(crate) fn shape(&self) -> Result<&'a Shape, Error> {
        let missing = || Error::Failed(format!("no corresponding type for {}", gvk(&self.empty())));
        self.shape_of(self.version).ok_or_else(missing)
    }

    /// Whether an object is what its shape says; the error begins with `what`.
    pub(crate) fn check(
        &self,
        what: &str,
        object: &Value,
        duplicates: Duplicates,
        end: &str,
    ) -> Result<(), Error> {
        typed::validate(self.shapes, self.shape()?, object, duplicates).map_err(|errors| {
            Error::Failed(format!("failed to {what} object ({}){end}: {errors}", address(object)))
        })
    }

    pub(crate) fn filtered<'s>(&self, version: &str, set: FieldSet<'s>) -> FieldSet<'s> {
        match self.versions.filter(version) {
            Some(filter) => filter.apply(set),
            None => set,
        }
    }
}

/// The object without its managed fields.
fn bare(object: &Value) -> Value {
    let Some(map) = object.as_object() else { return object.clone() };
    let part = |(key, value): (&String, &Value)| match value.as_object() {
        Some(metadata) if key == "metadata" => {
            let rest = metadata.iter().filter(|(key, _)| *key != "managedFields");
            (key.clone(), Value::Object(rest.map(|(k, v)| (k.clone(), v.clone())).collect()))
        }
        _ => (key.clone(), value.clone()),
    };
    Value::Object(map.iter().map(part).collect())
}

/// Takes the managed fields out of an object.
fn take(object: &mut Value) -> Value {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    metadata.and_then(|metadata| metadata.remove("managedFields")).unwrap_or_default()
}

/// Puts managed fields into an object, if there are any.
fn put(object: &mut Value, entries: Value) {
    if entries.as_array().is_none_or(Vec::is_empty) {
        take(object);
        return;
    }
    let Value::Object(map) = object else { return };
    let metadata = map.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(metadata) = metadata {
        metadata.insert("managedFields".to_owned(), entries);
    }
}

/// The group, version and kind that an object says it has, as Go prints them.
fn gvk(object: &Value) -> String {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let version = text("apiVersion");
    match version.matches('/').count() {
        0 if version.is_empty() => format!("/, Kind={}", text("kind")),
        0 => format!("/{version}, Kind={}", text("kind")),
        1 => format!("{version}, Kind={}", text("kind")),
        _ => "/, Kind=".to_owned(),
    }
}

/// An object's place and kind, as errors tell them.
fn address(object: &Value) -> String {
    let text = |key: &str| object.pointer(key).and_then(Value::as_str).unwrap_or_default();
    format!("{}/{}; {}", text("/metadata/namespace"), text("/metadata/name"), gvk(object))
}

/// A value as the text that an annotation holds: JSON and a line's end.
fn line(value: &Value) -> String {
    let mut out = String::new();
    go::json(&mut out, value);
    out.push('\n');
    out
}
