//! Kinds that are served in two versions from one store: one becomes the other.

use podium_meta::GroupVersionKind;
use serde_json::{Value, json};

use super::autoscaling::CARRIED;
use super::view::{Object, made, part};
use super::workloads::drop_empty_annotations;
use crate::table::kinds;
use crate::typed::json::read_as;
use crate::typed::write::{quote, to_json_as};

/// The versions that are stored: of what is asked for under another name, this is what is kept.
pub fn stored_kind(kind: &GroupVersionKind) -> GroupVersionKind {
    match (kind.api_version().as_str(), kind.kind.as_str()) {
        ("autoscaling/v1", "HorizontalPodAutoscaler") => GroupVersionKind::new("autoscaling/v2", &kind.kind),
        ("events.k8s.io/v1", "Event") => GroupVersionKind::new("v1", &kind.kind),
        _ => kind.clone(),
    }
}

/// Makes of a settled object of one version the same object of another; what has but one version stays as it is.
pub fn convert(value: &mut Value, to: &GroupVersionKind) {
    let Some(object) = value.as_object_mut() else { return };
    let from = super::view::text(object, "apiVersion").to_owned();
    match (from.as_str(), to.api_version().as_str(), to.kind.as_str()) {
        ("autoscaling/v1", "autoscaling/v2", "HorizontalPodAutoscaler") => to_second(object),
        ("autoscaling/v2", "autoscaling/v1", "HorizontalPodAutoscaler") => to_first(object),
        ("v1", "events.k8s.io/v1", "Event") => rename(object, |(core, events)| (core, events)),
        ("events.k8s.io/v1", "v1", "Event") => rename(object, |(core, events)| (events, core)),
        _ => return,
    }
    object.insert("apiVersion".to_owned(), to.api_version().into());
    if to.kind == "Event" {
        // The two do not agree on which fields are left out when they are empty.
        let read = kinds().type_of(to).and_then(|id| read_as(kinds(), id, value.to_string().as_bytes()).ok());
        if let Some((read, _)) = read {
            *value = read;
        }
    }
}

// Events.

/// Names of the same fields in the core group and in that of events.
const EVENT: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

fn rename(object: &mut Object, order: fn((&'static str, &'static str)) -> (&'static str, &'static str)) {
    for names in EVENT {
        let (from, to) = order(names);
        if let Some(value) = object.remove(from) {
            object.insert(to.to_owned(), value);
        }
    }
}

// Autoscalers.

/// A field of the first version, where it is in the second, and what is written if it is not there.
type Names = (&'static str, &'static str, Option<&'static str>);

const SPECS: [(&str, &[Names]); 5] = [
    (
        "object",
        &[
            ("target", "describedObject", None),
            ("metricName", "metric.name", Some("\"\"")),
            ("targetValue", "target.value", Some("\"0\"")),
            ("selector", "metric.selector", None),
            ("averageValue", "target.averageValue", None),
        ],
    ),
    (
        "pods",
        &[
            ("metricName", "metric.name", Some("\"\"")),
            ("targetAverageValue", "target.averageValue", Some("\"0\"")),
            ("selector", "metric.selector", None),
        ],
    ),
    (
        "resource",
        &[
            ("name", "name", Some("\"\"")),
            ("targetAverageUtilization", "target.averageUtilization", None),
            ("targetAverageValue", "target.averageValue", None),
        ],
    ),
    (
        "containerResource",
        &[
            ("name", "name", Some("\"\"")),
            ("targetAverageUtilization", "target.averageUtilization", None),
            ("targetAverageValue", "target.averageValue", None),
            ("container", "container", Some("\"\"")),
        ],
    ),
    (
        "external",
        &[
            ("metricName", "metric.name", Some("\"\"")),
            ("metricSelector", "metric.selector", None),
            ("targetValue", "target.value", None),
            ("targetAverageValue", "target.averageValue", None),
        ],
    ),
];

const STATUSES: [(&str, &[Names]); 5] = [
    (
        "object",
        &[
            ("target", "describedObject", None),
            ("metricName", "metric.name", Some("\"\"")),
            ("currentValue", "current.value", Some("\"0\"")),
            ("selector", "metric.selector", None),
            ("averageValue", "current.averageValue", None),
        ],
    ),
    (
        "pods",
        &[
            ("metricName", "metric.name", Some("\"\"")),
            ("currentAverageValue", "current.averageValue", Some("\"0\"")),
            ("selector", "metric.selector", None),
        ],
    ),
    (
        "resource",
        &[
            ("name", "name", Some("\"\"")),
            ("currentAverageUtilization", "current.averageUtilization", None),
            ("currentAverageValue", "current.averageValue", Some("\"0\"")),
        ],
    ),
    (
        "containerResource",
        &[
            ("name", "name", Some("\"\"")),
            ("currentAverageUtilization", "current.averageUtilization", None),
            ("currentAverageValue", "current.averageValue", Some("\"0\"")),
            ("container", "container", Some("\"\"")),
        ],
    ),
    (
        "external",
        &[
            ("metricName", "metric.name", Some("\"\"")),
            ("metricSelector", "metric.selector", None),
            ("currentValue", "current.value", Some("\"0\"")),
            ("currentAverageValue", "current.averageValue", None),
        ],
    ),
];

fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, key| value.get(key)).filter(|value| !value.is_null())
}

/// Whether a measure is the one that the first version has a field for.
fn is_load(metric: &Value, part: &str) -> bool {
    metric.get("type").and_then(Value::as_str) == Some("Resource")
        && at(metric, "resource.name").and_then(Value::as_str) == Some("cpu")
        && at(metric, &format!("resource.{part}.averageUtilization")).is_some()
}

/// The measures of the second version as a text of the first one's fields, in its order.
fn older(metrics: &[Value], names: &[(&str, &[Names])]) -> String {
    let mut out = String::from("[");
    for (index, metric) in metrics.iter().enumerate() {
        out.push_str(if index > 0 { ",{\"type\":" } else { "{\"type\":" });
        quote(metric.get("type").and_then(Value::as_str).unwrap_or_default(), &mut out);
        for (kind, fields) in names {
            let Some(source) = at(metric, kind) else { continue };
            out.push_str(&format!(",\"{kind}\":{{"));
            let mut first = true;
            for (key, path, usual) in *fields {
                let written = match (at(source, path), usual) {
                    (Some(value), _) => field_text(key, value),
                    (None, Some(usual)) => (*usual).to_owned(),
                    (None, None) => continue,
                };
                out.push_str(if first { "" } else { "," });
                out.push_str(&format!("\"{key}\":{written}"));
                first = false;
            }
            out.push('}');
        }
        out.push('}');
    }
    out.push(']');
    out
}

fn field_text(key: &str, value: &Value) -> String {
    let mut out = String::new();
    let name = match key {
        "target" => "autoscaling/v2.CrossVersionObjectReference",
        _ => "meta/v1.LabelSelector",
    };
    match value {
        Value::Object(_) => to_json_as(name, value, &mut out),
        Value::String(text) => quote(text, &mut out),
        other => out.push_str(&other.to_string()),
    }
    out
}

/// The way back: measures of the first version as those of the second.
fn newer(metrics: &Value, names: &[(&str, &[Names])], status: bool) -> Vec<Value> {
    let mut out = Vec::new();
    for metric in metrics.as_array().into_iter().flatten() {
        let mut made = json!({"type": metric.get("type").and_then(Value::as_str).unwrap_or_default()});
        for (kind, fields) in names {
            let Some(source) = at(metric, kind) else { continue };
            let mut target = json!({});
            for (key, path, usual) in *fields {
                let value = at(source, key).cloned();
                let usual = usual.and_then(|usual| serde_json::from_str(usual).ok());
                if let Some(value) = value.or(usual) {
                    put(&mut target, path, value);
                }
            }
            finish(kind, &mut target, status);
            put(&mut made, kind, target);
        }
        out.push(made);
    }
    out
}

fn put(value: &mut Value, path: &str, new: Value) {
    let mut at = value;
    for key in path.split('.') {
        if !at.is_object() {
            *at = json!({});
        }
        let Some(object) = at.as_object_mut() else { return };
        at = object.entry(key).or_insert(Value::Null);
    }
    *at = new;
}

/// What the second version always has, and the type of a target.
fn finish(kind: &str, metric: &mut Value, status: bool) {
    if kind == "object" && at(metric, "describedObject").is_none() {
        put(metric, "describedObject", json!({"kind": "", "name": ""}));
    }
    if status {
        if at(metric, "current").is_none() {
            put(metric, "current", json!({}));
        }
        return;
    }
    let average = at(metric, "target.averageValue").is_some();
    let ty = match kind {
        "object" if average => {
            if at(metric, "target.value") == Some(&json!("0"))
                && let Some(target) = metric.get_mut("target").and_then(Value::as_object_mut)
            {
                target.remove("value");
            }
            "AverageValue"
        }
        "object" => "Value",
        "pods" => "AverageValue",
        "external" if at(metric, "target.value").is_some() => "Value",
        "external" => "AverageValue",
        _ if at(metric, "target.averageUtilization").is_some() => "Utilization",
        _ => "AverageValue",
    };
    put(metric, "target.type", ty.into());
}

/// How fast it goes, in the words of the server's own types, which the annotation has.
fn behavior_text(behavior: &Value) -> String {
    let mut out = String::from("{");
    for (index, (key, name)) in [("scaleUp", "ScaleUp"), ("scaleDown", "ScaleDown")].into_iter().enumerate() {
        out.push_str(if index > 0 { "," } else { "" });
        out.push_str(&format!("\"{name}\":"));
        let Some(rules) = at(behavior, key) else {
            out.push_str("null");
            continue;
        };
        let part = |key: &str| at(rules, key).map_or("null".to_owned(), |value| field_text(key, value));
        let policies = rules.get("policies").and_then(Value::as_array).map_or("null".to_owned(), |list| {
            let policy = |policy: &Value| {
                let part = |key: &str| at(policy, key).map_or("0".to_owned(), |value| field_text(key, value));
                format!(
                    "{{\"Type\":{},\"Value\":{},\"PeriodSeconds\":{}}}",
                    part("type"),
                    part("value"),
                    part("periodSeconds")
                )
            };
            format!("[{}]", list.iter().map(policy).collect::<Vec<String>>().join(","))
        });
        out.push_str(&format!(
            "{{\"StabilizationWindowSeconds\":{},\"SelectPolicy\":{},\"Policies\":{policies},\"Tolerance\":{}}}",
            part("stabilizationWindowSeconds"),
            part("selectPolicy"),
            part("tolerance"),
        ));
    }
    out.push('}');
    out
}

fn behavior_value(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(text).ok()?;
    let mut out = json!({});
    for (key, name) in [("scaleUp", "ScaleUp"), ("scaleDown", "ScaleDown")] {
        let Some(rules) = at(&value, name) else { continue };
        let mut made = json!({});
        for (key, name) in [
            ("stabilizationWindowSeconds", "StabilizationWindowSeconds"),
            ("selectPolicy", "SelectPolicy"),
            ("tolerance", "Tolerance"),
        ] {
            if let Some(value) = at(rules, name) {
                put(&mut made, key, value.clone());
            }
        }
        let policies = at(rules, "Policies").and_then(Value::as_array).map(|list| {
            list.iter()
                .map(|policy| {
                    let part = |key: &str, usual: Value| at(policy, key).cloned().unwrap_or(usual);
                    json!({"type": part("Type", "".into()), "value": part("Value", 0.into()),
                        "periodSeconds": part("PeriodSeconds", 0.into())})
                })
                .collect::<Vec<Value>>()
        });
        if let Some(policies) = policies.filter(|list| !list.is_empty()) {
            put(&mut made, "policies", policies.into());
        }
        put(&mut out, key, made);
    }
    out.as_object().is_some_and(|object| !object.is_empty()).then_some(out)
}

/// The first version has fields for the processor's load; all else goes into annotations.
pub(super) fn to_first(object: &mut Object) {
    let [metrics_key, behavior_key, statuses_key, conditions_key, ..] = CARRIED;
    let mut carried: Vec<(&str, String)> = Vec::new();
    if let Some(spec) = part(object, "spec") {
        let metrics = match spec.remove("metrics") {
            Some(Value::Array(metrics)) => metrics,
            _ => Vec::new(),
        };
        if let Some(load) = metrics.iter().find(|metric| is_load(metric, "target")) {
            let percent = at(load, "resource.target.averageUtilization").cloned().unwrap_or(Value::Null);
            spec.insert("targetCPUUtilizationPercentage".to_owned(), percent);
        }
        let others: Vec<Value> = metrics.into_iter().filter(|metric| !is_load(metric, "target")).collect();
        if !others.is_empty() {
            carried.push((metrics_key, older(&others, &SPECS)));
        }
        if let Some(behavior) = spec.remove("behavior").filter(|behavior| !behavior.is_null()) {
            carried.push((behavior_key, behavior_text(&behavior)));
        }
    }
    if let Some(status) = part(object, "status") {
        if let Some(Value::Array(metrics)) = status.remove("currentMetrics")
            && !metrics.is_empty()
        {
            if let Some(load) = metrics.iter().rfind(|metric| is_load(metric, "current")) {
                let percent = at(load, "resource.current.averageUtilization").cloned().unwrap_or(Value::Null);
                status.insert("currentCPUUtilizationPercentage".to_owned(), percent);
            }
            carried.push((statuses_key, older(&metrics, &STATUSES)));
        }
        if let Some(Value::Array(conditions)) = status.remove("conditions")
            && !conditions.is_empty()
        {
            let mut text = String::from("[");
            for (index, condition) in conditions.iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                to_json_as("autoscaling/v2.HorizontalPodAutoscalerCondition", condition, &mut text);
            }
            text.push(']');
            carried.push((conditions_key, text));
        }
        status.entry("desiredReplicas").or_insert(0.into());
        status.entry("currentReplicas").or_insert(0.into());
    }
    if !carried.is_empty()
        && let Some(annotations) = part(object, "metadata").and_then(|metadata| made(metadata, "annotations"))
    {
        annotations.extend(carried.into_iter().map(|(key, text)| (key.to_owned(), Value::String(text))));
    }
}

/// The second version has fields for all.
pub(super) fn to_second(object: &mut Object) {
    let [metrics_key, behavior_key, statuses_key, conditions_key, ..] = CARRIED;
    let mut texts = Vec::new();
    if let Some(annotations) = part(object, "metadata").and_then(|metadata| part(metadata, "annotations")) {
        for key in CARRIED {
            if let Some(Value::String(text)) = annotations.remove(key) {
                texts.push((key, text));
            }
        }
    }
    if !texts.is_empty() {
        drop_empty_annotations(object);
    }
    let text = |key: &str| texts.iter().find(|(one, _)| *one == key).map(|(_, text)| text.as_str());
    let list = |key: &str| {
        text(key).and_then(|text| serde_json::from_str::<Value>(text).ok()).filter(Value::is_array)
    };
    if let Some(spec) = part(object, "spec") {
        let load = spec.remove("targetCPUUtilizationPercentage").filter(|load| !load.is_null());
        let mut metrics = list(metrics_key).map(|list| newer(&list, &SPECS, false)).unwrap_or_default();
        if let Some(load) = load.or_else(|| metrics.is_empty().then(|| json!(80))) {
            metrics.push(json!({"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": load}}}));
        }
        spec.insert("metrics".to_owned(), metrics.into());
        if let Some(behavior) = text(behavior_key).and_then(behavior_value) {
            spec.insert("behavior".to_owned(), behavior);
        }
    }
    if let Some(status) = part(object, "status") {
        let load = status.remove("currentCPUUtilizationPercentage").filter(|load| !load.is_null());
        let load = load.map(|load| {
            vec![json!({"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": load}}})]
        });
        let metrics =
            list(statuses_key).map(|list| newer(&list, &STATUSES, true)).or(load).unwrap_or_default();
        status.insert(
            "currentMetrics".to_owned(),
            if metrics.is_empty() { Value::Null } else { metrics.into() },
        );
        if let Some(conditions) = list(conditions_key) {
            status.insert("conditions".to_owned(), conditions);
        }
        if status.get("currentReplicas") == Some(&json!(0)) {
            status.remove("currentReplicas");
        }
    }
}
