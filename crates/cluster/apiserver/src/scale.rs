//! The number of replicas of an object, as a small object of its own.

use std::collections::BTreeMap;

use podium_fieldmanager::managed::{self, OneVersion, Scope, scale};
use podium_meta::{FieldError, GroupVersionKind};
use podium_resources::kinds;
use podium_resources::typed::write::to_json;
use serde_json::{Value, json};

use crate::meta;
use crate::model::{self, Format};
use crate::patch::Patch;
use crate::refusal::{Outcome, Refusal};
use crate::served::Resource;
use crate::write::{Write, Written};

/// Where an object has what its scale tells.
pub struct Paths {
    replicas: Vec<String>,
    current: Vec<String>,
    /// Where the selector is; empty if there is none.
    selector: Vec<String>,
}

impl Paths {
    /// Of a resource; nothing if it has no scale.
    pub fn of(resource: &Resource) -> Option<Self> {
        let path = |path: &str| -> Vec<String> {
            path.trim_start_matches('.')
                .split('.')
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect()
        };
        match &resource.custom {
            Some(custom) => {
                let scale = custom.scale(&resource.kind)?;
                Some(Self {
                    replicas: path(&scale.spec),
                    current: path(&scale.status),
                    selector: path(scale.selector.as_deref().unwrap_or_default()),
                })
            }
            None => {
                resource.part("scale")?;
                Some(Self {
                    replicas: path("spec.replicas"),
                    current: path("status.replicas"),
                    selector: path("spec.selector"),
                })
            }
        }
    }
}

fn at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

fn put(value: &mut Value, path: &[String], new: Value) {
    let Some((last, way)) = path.split_last() else { return };
    let mut place = value;
    for key in way {
        let Some(object) = place.as_object_mut() else { return };
        place = object.entry(key.clone()).or_insert_with(|| json!({}));
    }
    if let Some(object) = place.as_object_mut() {
        object.insert(last.clone(), new);
    }
}

/// What stands for a number of replicas that an object does not say, while it is being changed.
const UNSAID: i64 = i32::MIN as i64;

/// The scale of an object.
pub fn of(resource: &Resource, paths: &Paths, object: &Value) -> Outcome<Value> {
    if resource.custom.is_some() && at(object, &paths.replicas).is_none() {
        let message = format!("the spec replicas field \".{}\" does not exist", paths.replicas.join("."));
        return Err(Refusal::internal(message));
    }
    Ok(of_any(paths, object, json!(0)))
}

/// The scale of an object, with a number where it says none.
fn of_any(paths: &Paths, object: &Value, unsaid: Value) -> Value {
    let replicas = at(object, &paths.replicas).cloned().unwrap_or(unsaid);
    let mut metadata = json!({});
    for key in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let (Some(value), Some(fields)) =
            (meta::of(object).and_then(|all| all.get(key)), metadata.as_object_mut())
        {
            fields.insert(key.to_owned(), value.clone());
        }
    }
    let mut spec = json!({});
    if let Some(spec) = spec.as_object_mut()
        && replicas.as_i64() != Some(0)
    {
        spec.insert("replicas".to_owned(), replicas);
    }
    let mut status = json!({"replicas": at(object, &paths.current).and_then(Value::as_i64).unwrap_or(0)});
    let selector = match at(object, &paths.selector) {
        Some(Value::String(text)) => text.clone(),
        Some(selector) if !paths.selector.is_empty() => selector_text(selector),
        _ => String::new(),
    };
    if let Some(status) = status.as_object_mut()
        && !selector.is_empty()
    {
        status.insert("selector".to_owned(), selector.into());
    }
    json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status})
}

/// A scale as a row for people.
pub fn table(scale: &Value, version: &str, now: i64) -> Value {
    let column = |name: &str, kind: &str, format: &str| json!({"name": name, "type": kind, "format": format, "description": "", "priority": 0});
    let row = podium_resources::print::row(&GroupVersionKind::new("autoscaling/v1", "Scale"), scale, now);
    let metadata = scale.get("metadata").cloned().unwrap_or_default();
    json!({"kind": "Table", "apiVersion": version,
        "metadata": {"resourceVersion": meta::text(scale, "resourceVersion")},
        "columnDefinitions": [column("Name", "string", "name"), column("Desired", "integer", ""),
            column("Available", "integer", ""), column("Age", "string", "")],
        "rows": [{"cells": row.cells,
            "object": {"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": metadata}}]})
}

/// A selector as text: `a=b,c in (d,e)`.
pub fn selector_text(selector: &Value) -> String {
    let mut terms: Vec<(String, String)> = Vec::new();
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    let plain = selector.as_object().filter(|map| map.values().all(Value::is_string));
    for (key, value) in labels.or(plain).into_iter().flatten() {
        terms.push((key.clone(), format!("{key}={}", value.as_str().unwrap_or_default())));
    }
    for one in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
        let text = |key: &str| one.get(key).and_then(Value::as_str).unwrap_or_default();
        let mut values: Vec<&str> = one
            .get("values")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        values.sort_unstable();
        let key = text("key");
        let term = match text("operator") {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        };
        terms.push((key.to_owned(), term));
    }
    terms.sort_by(|(a, _), (b, _)| a.cmp(b));
    terms.into_iter().map(|(_, term)| term).collect::<Vec<_>>().join(",")
}

/// What is done to a scale.
pub enum Edit<'e> {
    /// It is replaced.
    Put(&'e [u8], Format),
    /// It is patched.
    Patch(&'e Patch),
}

impl Write<'_> {
    /// Changes an object through its scale; the address of the write is the object's own.
    pub async fn scale(&mut self, paths: &Paths, edit: Edit<'_>) -> Outcome<(Written, bool)> {
        let kind = GroupVersionKind::new("autoscaling/v1", "Scale");
        let put_scale = match &edit {
            Edit::Put(body, format) => Some(model::decode_built_in(body, *format, &kind)?.object),
            Edit::Patch(_) => None,
        };
        let resource = self.resource;
        let versions: scale::Paths = BTreeMap::from([(resource.kind.api_version(), paths.replicas.clone())]);
        self.change(false, |write, live| {
            let live = live.ok_or_else(|| Refusal::not_found(resource, &write.place.name))?;
            let unsaid = if resource.custom.is_some() { UNSAID } else { 0 };
            let mut old = of_any(paths, live, json!(unsaid));
            let none = Value::Null;
            let entries = live.pointer("/metadata/managedFields").unwrap_or(&none);
            if let Ok(entries) = scale::to_scale(entries, &versions)
                && entries.as_array().is_some_and(|all| !all.is_empty())
            {
                meta::set(&mut old, "managedFields", entries);
            }
            let new = match (&put_scale, &edit) {
                (Some(given), _) => write.track_scale(&kind, &old, given.clone()),
                (None, Edit::Patch(Patch::Apply(config))) => write.apply_scale(&kind, &old, config)?,
                (None, Edit::Patch(patch)) => {
                    let patched = patch.of(&kind, &old)?;
                    let read = podium_resources::stored::decode(patched.to_string().as_bytes(), &kind);
                    let read = read.map_err(|error| {
                        let text = crate::shown::text(&to_json(&kind, &old), &patched, &patch.touched(&old));
                        crate::patch::invalid_patch(&text, &error.to_string())
                    })?;
                    write.track_scale(&kind, &old, read.value)
                }
                (None, Edit::Put(..)) => old.clone(),
            };
            let replicas = new.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(0);
            if replicas == UNSAID && resource.custom.is_some() {
                let message =
                    format!("the spec replicas field \".{}\" cannot be empty", paths.replicas.join("."));
                return Err(Refusal::bad_request(message));
            }
            if replicas < 0 {
                let flaw = FieldError::invalid(
                    "spec.replicas",
                    &json!(replicas),
                    "must be greater than or equal to 0",
                );
                return Err(Refusal::invalid("autoscaling", "Scale", &write.place.name, &[flaw]));
            }
            let mut object = live.clone();
            put(&mut object, &paths.replicas, json!(replicas));
            match meta::text(&new, "resourceVersion") {
                "" => {}
                version => meta::set(&mut object, "resourceVersion", version.to_owned()),
            }
            let scaled = new.pointer("/metadata/managedFields").unwrap_or(&none);
            if let Ok(entries) = scale::from_scale(entries, scaled, &resource.kind.api_version(), &versions) {
                meta::set(&mut object, "managedFields", entries);
            }
            Ok(object)
        })
        .await
    }

    fn scope_of_scale<'a>(&'a self, version: &'a OneVersion<'a>, kind: &'a GroupVersionKind) -> Scope<'a> {
        Scope {
            shapes: kinds().shapes(),
            versions: version,
            version: "autoscaling/v1",
            kind: &kind.kind,
            subresource: "scale",
            now: &self.now,
        }
    }

    fn track_scale(&self, kind: &GroupVersionKind, old: &Value, new: Value) -> Value {
        let Some(shape) = kinds().shape_of(kind) else { return new };
        let version = OneVersion { version: "autoscaling/v1", shape, filter: None };
        managed::update_or_forget(&self.scope_of_scale(&version, kind), Some(old), new, &self.options.manager)
    }

    fn apply_scale(&self, kind: &GroupVersionKind, old: &Value, config: &Value) -> Outcome<Value> {
        let Some(shape) = kinds().shape_of(kind) else { return Ok(old.clone()) };
        let version = OneVersion { version: "autoscaling/v1", shape, filter: None };
        let force = self.options.force.unwrap_or(false);
        let scope = self.scope_of_scale(&version, kind);
        managed::apply(&scope, Some(old), config, &self.options.manager, force)
            .map(|applied| applied.object)
            .map_err(crate::patch::not_applied)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_told_in_order() {
        let selector = json!({"matchLabels": {"b": "1", "a": "2"},
            "matchExpressions": [{"key": "a", "operator": "In", "values": ["z", "y"]}, {"key": "c", "operator": "DoesNotExist"}]});
        assert_eq!(selector_text(&selector), "a=2,a in (y,z),b=1,!c");
        assert_eq!(selector_text(&json!({"x": "y"})), "x=y");
    }
}
