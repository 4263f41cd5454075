//! May somebody do this? What may they do?

use std::collections::BTreeMap;

use podium_meta::{ErrorType, FieldError};
use serde_json::{Map, Value, json};

use super::selectors::{self, Kind};
use super::{given, text};
use crate::attributes::Attributes;
use crate::policy::{Missing, Policy};
use crate::refusal::Refusal;
use crate::rule::{Rule, texts};
use crate::text::{aggregate, invalid};
use crate::user::User;

const GROUP: &str = "authorization.k8s.io";

/// Answers a SubjectAccessReview.
pub fn subject_access(policy: &Policy, mut review: Value) -> Result<Value, Refusal> {
    wipe(&mut review, false);
    let mut flaws = spec_flaws(&review, true);
    flaws.extend(metadata_flaws(&review, &[], "must be empty"));
    refuse(flaws)?;
    Ok(answer(policy, &subject(&review), review))
}

/// Answers a SelfSubjectAccessReview.
pub fn self_subject_access(policy: &Policy, user: &User, mut review: Value) -> Result<Value, Refusal> {
    wipe(&mut review, false);
    let mut flaws = spec_flaws(&review, false);
    flaws.extend(metadata_flaws(&review, &[], "must be empty"));
    refuse(flaws)?;
    Ok(answer(policy, user, review))
}

/// Answers a LocalSubjectAccessReview that was sent to a namespace.
pub fn local_subject_access(policy: &Policy, namespace: &str, mut review: Value) -> Result<Value, Refusal> {
    wipe(&mut review, true);
    settle(&mut review, namespace)?;
    let mut flaws = spec_flaws(&review, true);
    flaws.extend(metadata_flaws(&review, &["namespace"], "must be empty except for namespace"));
    let spec = review.get("spec").unwrap_or(&Value::Null);
    if let Some(resource) = given(spec, "resourceAttributes")
        && text(resource, "namespace") != namespace
    {
        let field = "spec.resourceAttributes.namespace";
        flaws.push(invalid(field, text(resource, "namespace"), "must match metadata.namespace"));
    }
    if let Some(path) = given(spec, "nonResourceAttributes") {
        flaws.push(path_flaw("spec.nonResourceAttributes", Some(path), "disallowed on this kind of request"));
    }
    refuse(flaws)?;
    Ok(answer(policy, &subject(&review), review))
}

/// Answers a SelfSubjectRulesReview. The order of the rules is that of the names of their bindings.
pub fn self_subject_rules(policy: &Policy, user: &User, review: &Value) -> Result<Value, Refusal> {
    let namespace = review.pointer("/spec/namespace").and_then(Value::as_str).unwrap_or_default();
    if namespace.is_empty() {
        return Err(Refusal::bad_request("no namespace on request"));
    }
    let (rules, missing) = policy.rules(user, namespace);
    let part = |of: fn(&Rule) -> &Vec<String>, keys: &[&str]| -> Vec<Value> {
        let chosen = rules.iter().filter(|rule| !of(rule).is_empty());
        chosen.map(|rule| only(rule.to_json(), keys)).collect()
    };
    let mut status = json!({
        "resourceRules": part(|rule| &rule.resources, &["verbs", "apiGroups", "resources", "resourceNames"]),
        "nonResourceRules": part(|rule| &rule.urls, &["verbs", "nonResourceURLs"]),
        "incomplete": false,
    });
    if !missing.is_empty() {
        let errors: Vec<String> = missing.iter().map(Missing::singular).collect();
        status["evaluationError"] = json!(aggregate(&errors));
    }
    let kind = given(review, "kind").cloned().unwrap_or_else(|| json!("SelfSubjectRulesReview"));
    let version = given(review, "apiVersion").cloned().unwrap_or_else(|| json!("authorization.k8s.io/v1"));
    Ok(json!({"kind": kind, "apiVersion": version, "metadata": {}, "spec": {}, "status": status}))
}

fn only(rule: Value, keys: &[&str]) -> Value {
    match rule {
        Value::Object(fields) => {
            Value::Object(fields.into_iter().filter(|(key, _)| keys.contains(&key.as_str())).collect())
        }
        other => other,
    }
}

fn answer(policy: &Policy, user: &User, mut review: Value) -> Value {
    let spec = review.get("spec").unwrap_or(&Value::Null);
    let (request, evaluation) = match given(spec, "resourceAttributes") {
        Some(resource) => {
            let [verb, group, plural, namespace, name] =
                ["verb", "group", "resource", "namespace", "name"].map(|key| text(resource, key));
            let mut request = Attributes::resource(verb, group, plural, namespace, name);
            request.subresource = text(resource, "subresource").to_owned();
            (request, selectors::unread(resource))
        }
        None => {
            let path = spec.get("nonResourceAttributes").unwrap_or(&Value::Null);
            (Attributes::path(text(path, "verb"), text(path, "path")), String::new())
        }
    };
    let decision = policy.authorize(user, &request);
    let mut status = Map::new();
    status.insert("allowed".to_owned(), json!(decision.allowed));
    for (key, said) in [("reason", decision.reason), ("evaluationError", evaluation)] {
        if !said.is_empty() {
            status.insert(key.to_owned(), json!(said));
        }
    }
    if let Some(fields) = review.as_object_mut() {
        fields.insert("status".to_owned(), Value::Object(status));
    }
    review
}

/// Of whom a review asks.
fn subject(review: &Value) -> User {
    let spec = review.get("spec").unwrap_or(&Value::Null);
    let extra = spec.get("extra").and_then(Value::as_object).into_iter().flatten();
    let extra: BTreeMap<_, _> = extra.map(|(key, _)| (key.clone(), texts(&spec["extra"], key))).collect();
    User {
        name: text(spec, "user").to_owned(),
        uid: text(spec, "uid").to_owned(),
        groups: groups(spec),
        extra,
    }
}

fn groups(spec: &Value) -> Vec<String> {
    texts(spec, "groups")
}

fn refuse(flaws: Vec<FieldError>) -> Result<(), Refusal> {
    if flaws.is_empty() { Ok(()) } else { Err(Refusal::invalid(GROUP, "", "", flaws)) }
}

fn spec_flaws(review: &Value, of_somebody: bool) -> Vec<FieldError> {
    let spec = review.get("spec").unwrap_or(&Value::Null);
    let (resource, path) = (given(spec, "resourceAttributes"), given(spec, "nonResourceAttributes"));
    let mut flaws = Vec::new();
    if resource.is_some() && path.is_some() {
        let detail = "cannot be specified in combination with resourceAttributes";
        flaws.push(path_flaw("spec.nonResourceAttributes", path, detail));
    }
    if resource.is_none() && path.is_none() {
        let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        flaws.push(path_flaw("spec.resourceAttributes", None, detail));
    }
    if of_somebody && text(spec, "user").is_empty() && groups(spec).is_empty() {
        flaws.push(invalid("spec.user", "", "at least one of user or group must be specified"));
    }
    for (key, kind) in [("fieldSelector", Kind::Field), ("labelSelector", Kind::Label)] {
        if let Some(selector) = resource.and_then(|resource| given(resource, key)) {
            flaws.extend(selectors::flaws(selector, kind, &format!("spec.resourceAttributes.{key}")));
        }
    }
    flaws
}

/// A flaw that shows the path and verb that were asked for.
fn path_flaw(field: &str, path: Option<&Value>, detail: &str) -> FieldError {
    let shown = match path {
        Some(path) => json!({"Path": text(path, "path"), "Verb": text(path, "verb")}),
        None => Value::Null,
    };
    FieldError::invalid(field, &shown, detail)
}

/// The order in which metadata is shown, and what is in it.
const METADATA: [&str; 10] = [
    "name",
    "generateName",
    "namespace",
    "resourceVersion",
    "generation",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];
const OWNER: [&str; 6] = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
const MANAGED: [&str; 7] =
    ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"];

/// Takes away what only a server may set, and the namespace of what has none.
fn wipe(review: &mut Value, local: bool) {
    let own = ["selfLink", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"];
    if let Some(metadata) = review.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, _| !own.contains(&key.as_str()) && (local || key != "namespace"));
    }
}

/// What is sent to a namespace is of it.
fn settle(review: &mut Value, namespace: &str) -> Result<(), Refusal> {
    let Some(fields) = review.as_object_mut() else { return Ok(()) };
    let metadata = fields.entry("metadata").or_insert(Value::Null);
    match text(metadata, "namespace") {
        "" => {
            let mut own = metadata.as_object().cloned().unwrap_or_default();
            own.insert("namespace".to_owned(), json!(namespace));
            *metadata = Value::Object(own);
            Ok(())
        }
        own if own == namespace => Ok(()),
        _ => Err(Refusal::other_namespace()),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// An object with its fields in an order.
fn shown(object: &Value, order: &[&str]) -> String {
    let given = order.iter().filter_map(|key| object.get(*key).map(|value| (*key, value)));
    let all: Vec<String> = given
        .filter(|(_, value)| !is_empty(value))
        .map(|(key, value)| {
            let list = |order: &[&str]| {
                let items = value.as_array().into_iter().flatten();
                format!("[{}]", items.map(|item| shown(item, order)).collect::<Vec<_>>().join(","))
            };
            match key {
                "ownerReferences" => format!("{key:?}:{}", list(&OWNER)),
                "managedFields" => format!("{key:?}:{}", list(&MANAGED)),
                _ => format!("{key:?}:{value}"),
            }
        })
        .collect();
    format!("{{{}}}", all.join(","))
}

fn metadata_flaws(review: &Value, allowed: &[&str], detail: &str) -> Option<FieldError> {
    let metadata = review.get("metadata")?;
    let passed = |key: &str| key == "managedFields" || allowed.contains(&key);
    let mut fields = metadata.as_object().into_iter().flatten();
    if fields.all(|(key, value)| is_empty(value) || passed(key)) {
        return None;
    }
    Some(FieldError::new(ErrorType::Invalid, "metadata", &shown(metadata, &METADATA), detail))
}
