//! Autoscalers, whose two versions are checked as one.

use std::cmp::Ordering;

use podium_meta::GroupVersionKind;
use serde_json::Value;

use super::amounts;
use super::formats;
use super::place::{Flaws, NEGATIVE, Place};
use super::rules::{Rule, check};
use crate::stored;
use crate::typed::json::quote;

const METRICS: &[&str] = &["ContainerResource", "External", "Object", "Pods", "Resource"];

/// The object in the version that has all fields.
fn newest(object: &Place<'_>) -> Value {
    let mut value = object.value.clone();
    if object.at("apiVersion").text() == "autoscaling/v1" {
        let to = GroupVersionKind::new("autoscaling/v2", "HorizontalPodAutoscaler");
        stored::convert(&mut value, &to);
    }
    value
}

pub fn autoscaler(object: &Place<'_>, out: &mut Flaws) {
    let value = newest(object);
    specification(&Place::root(&value), None, out);
}

pub fn autoscaler_change(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    let (value, before) = (newest(new), newest(old));
    specification(&Place::root(&value), Some(&Place::root(&before)), out);
}

fn specification(object: &Place<'_>, old: Option<&Place<'_>>, out: &mut Flaws) {
    let spec = object.at("spec");
    let (least, most) = (spec.at("minReplicas"), spec.at("maxReplicas"));
    let lowest = i64::from(!old.is_some_and(|old| old.at("spec.minReplicas").value == &Value::from(0)));
    if least.is() && least.number() < lowest {
        out.invalid_number(&least, &format!("must be greater than or equal to {lowest}"));
    }
    match most.number() {
        0 => out.required(&most, "must be set and greater than 0"),
        number if number < 0 => out.invalid_number(&most, "must be greater than or equal to 1"),
        _ => {}
    }
    if least.is() && most.number() < least.number() {
        out.invalid_number(&most, "must be greater than or equal to `minReplicas`");
    }
    let target = spec.at("scaleTargetRef");
    let same = old.is_some_and(|old| {
        let before = old.at("spec.scaleTargetRef");
        ["apiVersion", "kind"].iter().all(|key| before.at(key).text() == target.at(key).text())
    });
    let groupless = target.at("kind").text() == "ReplicationController";
    reference(&target, same, groupless, out);
    for metric in spec.each("metrics") {
        one_metric(&metric, out);
    }
    if least.is() && least.number() == 0 {
        let kinds = ["Object", "External"];
        if !spec.each("metrics").iter().any(|metric| kinds.contains(&metric.at("type").text())) {
            let detail =
                "must specify at least one Object or External metric to support scaling to zero replicas";
            out.forbidden(&spec.at("metrics"), detail);
        }
    }
    for key in ["scaleUp", "scaleDown"] {
        let rules = spec.at("behavior").at(key);
        if rules.is() {
            behavior(&rules, out);
        }
    }
}

fn reference(place: &Place<'_>, any_version: bool, groupless: bool, out: &mut Flaws) {
    check(place, &[Rule::Name("kind", formats::segment), Rule::Name("name", formats::segment)], out);
    let version = place.at("apiVersion");
    if any_version {
        return;
    }
    if version.text().matches('/').count() > 1 {
        let detail = format!("unexpected GroupVersion string: {}", version.text());
        out.invalid_text(&version, &detail);
    } else if !groupless && version.text().split_once('/').is_none_or(|(group, _)| group.is_empty()) {
        out.invalid_text(&version, "apiVersion must specify API group");
    }
}

fn one_metric(place: &Place<'_>, out: &mut Flaws) {
    let kind = place.at("type");
    if kind.text().is_empty() {
        out.required(&kind, "must specify a metric source type");
    }
    let known = METRICS.contains(&kind.text());
    if !known {
        out.unsupported(&kind, METRICS);
    }
    let sources = ["object", "external", "pods", "resource", "containerResource"];
    let found: Vec<&str> = sources.into_iter().filter(|key| place.has(key)).collect();
    if let Some(first) = found.first() {
        source(first, &place.at(first), out);
    }
    let mut chars = kind.text().chars();
    let field: String =
        chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default();
    if !known {
        out.unsupported(&kind, METRICS);
    } else if !place.has(&field) {
        out.required(&place.at(&field), "must populate information for the given metric source");
    }
    if found.len() != 1 {
        for other in found.iter().filter(|key| **key != field || !known) {
            out.forbidden(&place.at(other), "must populate the given metric source only");
        }
    }
}

fn source(kind: &str, place: &Place<'_>, out: &mut Flaws) {
    let goal = place.at("target");
    let (value, average, share) = (goal.at("value"), goal.at("averageValue"), goal.at("averageUtilization"));
    match kind {
        "object" => {
            reference(&place.at("describedObject"), false, true, out);
            metric_name(place, out);
            target(&goal, out);
            if !value.is() && !average.is() {
                out.required(&average, "must set either a target value or averageValue");
            }
        }
        "external" => {
            metric_name(place, out);
            target(&goal, out);
            if !value.is() && !average.is() {
                let detail = "must set either a target value for metric or a per-pod target";
                out.required(&average, detail);
            }
            if value.is() && average.is() {
                let detail = "may not set both a target value for metric and a per-pod target";
                out.forbidden(&value, detail);
            }
        }
        "pods" => {
            metric_name(place, out);
            target(&goal, out);
            if !average.is() {
                out.required(&average, "must specify a positive target averageValue");
            }
        }
        _ => {
            let name = place.at("name");
            if name.text().is_empty() {
                out.required(&name, "must specify a resource name");
            } else if kind == "containerResource" {
                amounts::container_resource(name.text(), &name, out);
            }
            if kind == "containerResource" {
                let container = place.at("container");
                if container.text().is_empty() {
                    out.required(&container, "must specify a container");
                } else {
                    out.wrong(&container, formats::label(container.text()));
                }
            }
            target(&goal, out);
            if !share.is() && !average.is() {
                out.required(&share, "must set either a target raw value or a target utilization");
            }
            if share.is() && average.is() {
                let detail = "may not set both a target raw value and a target utilization";
                out.forbidden(&average, detail);
            }
        }
    }
}

fn metric_name(place: &Place<'_>, out: &mut Flaws) {
    let name = place.at("metric").at("name");
    if name.text().is_empty() {
        out.required(&name, "must specify a metric name");
    } else {
        out.wrong(&name, formats::segment(name.text()));
    }
}

fn target(place: &Place<'_>, out: &mut Flaws) {
    let kind = place.at("type");
    if kind.text().is_empty() {
        out.required(&kind, "must specify a metric target type");
    }
    if !matches!(kind.text(), "Utilization" | "Value" | "AverageValue") {
        out.invalid_text(&kind, "must be either Utilization, Value, or AverageValue");
    }
    for key in ["value", "averageValue"] {
        let amount = amounts::amount(place.at(key).value);
        if amount.is_some_and(|amount| amounts::sign(&amount) != Ordering::Greater) {
            out.invalid(&place.at(key), "must be positive");
        }
    }
    let share = place.at("averageUtilization");
    if share.is() && share.number() < 1 {
        out.invalid(&share, "must be greater than 0");
    }
}

fn behavior(rules: &Place<'_>, out: &mut Flaws) {
    let window = rules.at("stabilizationWindowSeconds");
    if window.number() < 0 {
        out.invalid(&window, "must be greater than or equal to zero");
    }
    if window.number() > 3600 {
        out.invalid(&window, "must be less than or equal to 3600");
    }
    check(rules, &[Rule::Among("selectPolicy", &["Disabled", "Max", "Min"])], out);
    let policies = rules.at("policies");
    if policies.count() == 0 {
        out.required(&policies, "must specify at least one Policy");
    }
    for policy in policies.items() {
        if !matches!(policy.at("type").text(), "Pods" | "Percent") {
            out.unsupported(&policy.at("type"), &["Percent", "Pods"]);
        }
        out.positive(&policy.at("value"));
        let period = policy.at("periodSeconds");
        out.positive(&period);
        if period.number() > 1800 {
            out.invalid_number(&period, "must be less than or equal to 1800");
        }
    }
    let tolerance = amounts::amount(rules.at("tolerance").value);
    if let Some(amount) = tolerance.filter(|amount| amounts::sign(amount) == Ordering::Less) {
        out.invalid_as(rules.child("tolerance"), &quote(&amount.to_string()), NEGATIVE);
    }
}

pub fn autoscaler_status(object: &Place<'_>, out: &mut Flaws) {
    out.not_negative(&object.at("status.currentReplicas"));
    out.not_negative(&object.at("status.desiredReplicas"));
}
