//! What metadata has to be.

use std::collections::BTreeSet;

use podium_meta::{ErrorType, FieldError};
use serde_json::{Map, Value};

use crate::check::too_long;
use crate::go;
use crate::names;
use crate::path::Path;

/// The most bytes of all annotations together.
const ANNOTATIONS: usize = 256 * 1024;
const MANAGER: usize = 128;
const SUBRESOURCE: usize = 256;

/// How an object of a kind may be called; the flag says that it is only the beginning of a name.
pub type Naming<'a> = &'a dyn Fn(&str, bool) -> Vec<String>;

/// A view of metadata.
struct Meta<'a>(&'a Map<String, Value>);

impl<'a> Meta<'a> {
    fn text(&self, name: &str) -> &'a str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn whole(&self, name: &str) -> i64 {
        self.0.get(name).and_then(Value::as_i64).unwrap_or_default()
    }

    fn words(&self, name: &str) -> impl Iterator<Item = (&'a String, &'a str)> {
        let words = self.0.get(name).and_then(Value::as_object).into_iter().flatten();
        words.map(|(name, value)| (name, value.as_str().unwrap_or_default()))
    }

    fn list(&self, name: &str) -> &'a [Value] {
        self.0.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn texts(&self, name: &str) -> BTreeSet<&'a str> {
        self.list(name).iter().filter_map(Value::as_str).collect()
    }
}

fn invalid(at: &Path, text: &str, detail: &str) -> FieldError {
    FieldError::new(ErrorType::Invalid, at, &go::quote(text), detail)
}

/// Metadata of an object inside another: any name that can be part of a path, and none is needed.
pub fn inside(metadata: &Value, at: &Path) -> Vec<FieldError> {
    let empty = Map::new();
    let meta = Meta(metadata.as_object().unwrap_or(&empty));
    let mut flaws = named(&meta, &names::path_segment, true, at);
    flaws.extend(common(&meta, !meta.text("namespace").is_empty(), at));
    flaws
}

/// Metadata of a new object.
pub fn on_create(metadata: &Value, namespaced: bool, naming: Naming<'_>, at: &Path) -> Vec<FieldError> {
    let empty = Map::new();
    let meta = Meta(metadata.as_object().unwrap_or(&empty));
    let mut flaws = named(&meta, naming, false, at);
    flaws.extend(common(&meta, namespaced, at));
    flaws
}

fn named(meta: &Meta<'_>, naming: Naming<'_>, nameless: bool, at: &Path) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    let (beginning, name) = (meta.text("generateName"), meta.text("name"));
    if !beginning.is_empty() {
        let wrong = naming(beginning, true).into_iter();
        flaws.extend(wrong.map(|wrong| invalid(&at.child("generateName"), beginning, &wrong)));
    }
    if !name.is_empty() {
        flaws.extend(naming(name, false).into_iter().map(|wrong| invalid(&at.child("name"), name, &wrong)));
    } else if !nameless {
        flaws.push(FieldError::required(at.child("name"), "name or generateName is required"));
    }
    flaws
}

fn common(meta: &Meta<'_>, namespaced: bool, at: &Path) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    let namespace = meta.text("namespace");
    let place = at.child("namespace");
    match (namespaced, namespace) {
        (true, "") => flaws.push(FieldError::required(&place, "")),
        (true, name) => {
            flaws.extend(names::label(name).into_iter().map(|wrong| invalid(&place, name, &wrong)))
        }
        (false, "") => {}
        (false, _) => flaws.push(FieldError::forbidden(&place, "not allowed on this type")),
    }
    let generation = meta.whole("generation");
    if generation < 0 {
        let detail = "must be greater than or equal to 0";
        flaws.push(FieldError::new(
            ErrorType::Invalid,
            at.child("generation"),
            &generation.to_string(),
            detail,
        ));
    }
    flaws.extend(labels(meta, &at.child("labels")));
    flaws.extend(annotations(meta, &at.child("annotations")));
    flaws.extend(owners(meta, &at.child("ownerReferences")));
    flaws.extend(finalizers(meta, &at.child("finalizers")));
    flaws.extend(managers(meta, &at.child("managedFields")));
    flaws
}

fn labels(meta: &Meta<'_>, at: &Path) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    for (name, value) in meta.words("labels") {
        flaws.extend(names::qualified(name).into_iter().map(|wrong| invalid(at, name, &wrong)));
        flaws.extend(names::label_value(value).into_iter().map(|wrong| invalid(at, value, &wrong)));
    }
    flaws
}

fn annotations(meta: &Meta<'_>, at: &Path) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    let mut size = 0;
    for (name, value) in meta.words("annotations") {
        size += name.len() + value.len();
        let wrong = names::qualified(&name.to_lowercase());
        flaws.extend(wrong.into_iter().map(|wrong| invalid(at, name, &wrong)));
    }
    if size > ANNOTATIONS {
        flaws.push(FieldError::without_value(ErrorType::TooLong, at, &too_long(262_144)));
    }
    flaws
}

fn owners(meta: &Meta<'_>, at: &Path) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    let owners = meta.list("ownerReferences");
    let mut first = String::new();
    for owner in owners {
        let text = |name: &str| owner.get(name).and_then(Value::as_str).unwrap_or_default();
        let (group, version) = match text("apiVersion").split_once('/') {
            Some((group, version)) => (group, version),
            None => ("", text("apiVersion")),
        };
        // What is no group and version stands for neither.
        let broken = text("apiVersion") != "/" && version.contains('/');
        let (group, version) = if broken { ("", "") } else { (group, version) };
        let kind = text("kind");
        if version.is_empty() {
            flaws.push(invalid(&at.child("apiVersion"), text("apiVersion"), "version must not be empty"));
        }
        if kind.is_empty() {
            flaws.push(invalid(&at.child("kind"), text("kind"), "must not be empty"));
        }
        for name in ["name", "uid"] {
            if text(name).is_empty() {
                flaws.push(invalid(&at.child(name), "", "must not be empty"));
            }
        }
        if (group, version, kind) == ("", "v1", "Event") {
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            flaws.push(FieldError::new(ErrorType::Invalid, at, &owner_json(owner), detail));
        }
        if owner.get("controller") == Some(&Value::Bool(true)) {
            let name = format!("{}/{}", text("kind"), text("name"));
            if first.is_empty() {
                first = name;
            } else {
                let all: Vec<String> = owners.iter().map(owner_json).collect();
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and \
                     {name}"
                );
                flaws.push(FieldError::new(ErrorType::Invalid, at, &format!("[{}]", all.join(",")), &detail));
            }
        }
    }
    flaws
}

/// An owner with its fields in the order of the original.
fn owner_json(owner: &Value) -> String {
    let mut fields = Vec::new();
    for name in ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"] {
        let value = match owner.get(name) {
            Some(value) => go::json(value),
            None if matches!(name, "controller" | "blockOwnerDeletion") => continue,
            None => "\"\"".to_owned(),
        };
        fields.push(format!("\"{name}\":{value}"));
    }
    format!("{{{}}}", fields.join(","))
}

fn finalizers(meta: &Meta<'_>, at: &Path) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    for name in meta.list("finalizers").iter().filter_map(Value::as_str) {
        flaws.extend(names::qualified(name).into_iter().map(|wrong| invalid(at, name, &wrong)));
    }
    let all = meta.texts("finalizers");
    if all.contains("orphan") && all.contains("foregroundDeletion") {
        let shown = meta.0.get("finalizers").map(go::json).unwrap_or_default();
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        flaws.push(FieldError::new(ErrorType::Invalid, at, &shown, detail));
    }
    flaws
}

fn managers(meta: &Meta<'_>, at: &Path) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    for (index, entry) in meta.list("managedFields").iter().enumerate() {
        let at = at.index(index);
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        if !matches!(text("operation"), "Apply" | "Update") {
            flaws.push(invalid(&at.child("operation"), text("operation"), "must be `Apply` or `Update`"));
        }
        if !matches!(text("fieldsType"), "" | "FieldsV1") {
            flaws.push(invalid(&at.child("fieldsType"), text("fieldsType"), "must be `FieldsV1`"));
        }
        let manager = text("manager");
        if manager.len() > MANAGER {
            flaws.push(FieldError::without_value(ErrorType::TooLong, at.child("manager"), &too_long(128)));
        }
        for (place, c) in manager.char_indices().filter(|(_, c)| !podium_re2::is_print(*c)) {
            let detail = format!("invalid character U+{:04X} (at position {place})", u32::from(c));
            flaws.push(invalid(&at.child("manager"), manager, &detail));
        }
        if text("subresource").len() > SUBRESOURCE {
            flaws.push(FieldError::without_value(
                ErrorType::TooLong,
                at.child("subresource"),
                &too_long(256),
            ));
        }
    }
    flaws
}

/// Metadata of an object that replaces another.
pub fn on_update(new: &Value, old: &Value, at: &Path) -> Vec<FieldError> {
    let empty = Map::new();
    let (new, old) = (Meta(new.as_object().unwrap_or(&empty)), Meta(old.as_object().unwrap_or(&empty)));
    let mut flaws = Vec::new();
    if old.0.get("deletionTimestamp").is_some_and(|moment| !moment.is_null()) {
        let before = old.texts("finalizers");
        let fresh: Vec<String> = new
            .texts("finalizers")
            .into_iter()
            .filter(|name| !before.contains(name))
            .map(go::quote)
            .collect();
        if !fresh.is_empty() {
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                fresh.join(", ")
            );
            flaws.push(FieldError::forbidden(at.child("finalizers"), &detail));
        }
    }
    if new.text("resourceVersion").is_empty() {
        flaws.push(invalid(&at.child("resourceVersion"), "", "must be specified for an update"));
    }
    if new.whole("generation") < old.whole("generation") {
        let shown = new.whole("generation").to_string();
        flaws.push(FieldError::new(
            ErrorType::Invalid,
            at.child("generation"),
            &shown,
            "must not be decremented",
        ));
    }
    for name in ["name", "namespace", "uid"] {
        if new.text(name) != old.text(name) {
            flaws.push(invalid(&at.child(name), new.text(name), "field is immutable"));
        }
    }
    for name in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let (new, old) = (new.0.get(name).unwrap_or(&Value::Null), old.0.get(name).unwrap_or(&Value::Null));
        if new != old {
            flaws.push(FieldError::new(
                ErrorType::Invalid,
                at.child(name),
                &go::json(new),
                "field is immutable",
            ));
        }
    }
    flaws.extend(labels(&new, &at.child("labels")));
    flaws.extend(annotations(&new, &at.child("annotations")));
    flaws.extend(owners(&new, &at.child("ownerReferences")));
    flaws.extend(managers(&new, &at.child("managedFields")));
    flaws
}
