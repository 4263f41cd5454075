//! What is read of an object's metadata.

use podium_client::ObjectKey;
use podium_meta::GroupVersionKind;
use serde_json::Value;

use crate::uid::Uid;

/// The finalizer of an object whose dependents go first.
pub const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an object whose dependents stay.
pub const ORPHAN: &str = "orphan";

/// A text in an object, empty where there is none.
pub fn text<'v>(object: &'v Value, path: &str) -> &'v str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// An annotation, empty where there is none.
pub fn annotation<'v>(object: &'v Value, name: &str) -> &'v str {
    object
        .pointer("/metadata/annotations")
        .and_then(|all| all.get(name))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The elements of a list in an object.
pub fn items<'v>(object: &'v Value, path: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    object.pointer(path).and_then(Value::as_array).into_iter().flatten()
}

/// The finalizers of an object.
pub fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    items(object, "/metadata/finalizers").filter_map(Value::as_str)
}

/// Whether an object is on its way out.
pub fn is_deleting(object: &Value) -> bool {
    !text(object, "/metadata/deletionTimestamp").is_empty()
}

/// The version of an object as a number, or 0.
pub fn version(object: &Value) -> u64 {
    text(object, "/metadata/resourceVersion").parse().unwrap_or(0)
}

/// A reference of an object to an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference<'v> {
    /// Which owner.
    pub uid: Uid,
    /// Its kind, as it is written.
    pub kind: GroupVersionKind,
    /// Its name.
    pub name: &'v str,
    /// Whether the owner waits for this object.
    pub block: bool,
}

/// What the graph of owners wants to know of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta<'v> {
    /// Which object.
    pub uid: Uid,
    /// Where it is.
    pub key: ObjectKey,
    /// Its version, or 0.
    pub version: u64,
    /// Whether it is on its way out.
    pub deleting: bool,
    /// Whether it has the finalizer for dependents that go first.
    pub foreground: bool,
    /// Whether it has the finalizer for dependents that stay.
    pub orphan: bool,
    /// Its owners.
    pub owners: Vec<Reference<'v>>,
}

impl<'v> Meta<'v> {
    /// Of an object, whole or not.
    pub fn of(object: &'v Value) -> Self {
        let reference = |value: &'v Value| Reference {
            uid: Uid::read(text(value, "/uid")),
            kind: GroupVersionKind::new(text(value, "/apiVersion"), text(value, "/kind")),
            name: text(value, "/name"),
            block: value.get("blockOwnerDeletion").and_then(Value::as_bool).unwrap_or(false),
        };
        Self {
            uid: Uid::read(text(object, "/metadata/uid")),
            key: ObjectKey::from_object(object),
            version: version(object),
            deleting: is_deleting(object),
            foreground: finalizers(object).any(|name| name == FOREGROUND),
            orphan: finalizers(object).any(|name| name == ORPHAN),
            owners: items(object, "/metadata/ownerReferences").map(reference).collect(),
        }
    }
}

/// Now, as servers write times.
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
