//! Deployments and their like.

use serde_json::Value;

use super::formats;
use super::inner;
use super::metadata;
use super::place::{Flaws, Place};
use super::pods;
use super::rules::{Rule, check};
use super::selectors;
use crate::typed::json::quote;

/// A number of pods, or hundredths of them.
pub fn number_or_percent(place: &Place<'_>, out: &mut Flaws) {
    match place.value {
        Value::String(text) => out.wrong(place, formats::percent(text)),
        _ => out.not_negative(place),
    }
}

fn hundredths(place: &Place<'_>) -> Option<i64> {
    let text = place.value.as_str().filter(|text| formats::percent(text).is_empty())?;
    // Too many of them are as good as very many.
    Some(text.trim_end_matches('%').parse().unwrap_or(i64::MAX))
}

fn amount(place: &Place<'_>) -> i64 {
    let number = || place.value.as_str().map_or_else(|| place.number(), |text| text.parse().unwrap_or(0));
    hundredths(place).unwrap_or_else(number)
}

/// At most all of them.
pub fn at_most_all(place: &Place<'_>, out: &mut Flaws) {
    if hundredths(place).is_some_and(|number| number > 100) {
        out.invalid(place, "must not be greater than 100%");
    }
}

/// A selector that has to be there and to select something.
fn own_selector(spec: &Place<'_>, what: &str, out: &mut Flaws) {
    let selector = spec.at("selector");
    if !selector.is() {
        return out.required(&selector, "");
    }
    selectors::selector(&selector, out);
    if selectors::is_empty(&selector) {
        out.invalid(&selector, &format!("empty selector is invalid for {what}"));
    }
}

/// The labels of a template, which a selector has to select.
fn selected(spec: &Place<'_>, out: &mut Flaws) -> bool {
    let labels = spec.at("template").at("metadata").at("labels");
    let selects = selectors::selects(spec.at("selector").value, labels.value);
    if selects == Some(false) {
        out.invalid(&labels, "`selector` does not match template `labels`");
    }
    selects.is_some()
}

fn always(template: &Place<'_>, what: &str, out: &mut Flaws) {
    let spec = template.at("spec");
    if spec.at("restartPolicy").text() != "Always" {
        out.unsupported(&spec.at("restartPolicy"), &["Always"]);
    }
    if spec.has("activeDeadlineSeconds") {
        let detail = format!("activeDeadlineSeconds in {what} is not Supported");
        out.forbidden(&spec.at("activeDeadlineSeconds"), &detail);
    }
}

/// A selector and the template that goes with it.
fn selector_and_template(spec: &Place<'_>, out: &mut Flaws) {
    own_selector(spec, "deployment", out);
    if selected(spec, out) {
        pods::template(&spec.at("template"), out);
        always(&spec.at("template"), "ReplicaSet", out);
    } else {
        out.invalid(&spec.at("selector"), "invalid label selector");
    }
}

pub fn deployment(object: &Place<'_>, out: &mut Flaws) {
    let spec = object.at("spec");
    out.not_negative(&spec.at("replicas"));
    selector_and_template(&spec, out);
    let strategy = spec.at("strategy");
    let rolling = strategy.at("rollingUpdate");
    match strategy.at("type").text() {
        "Recreate" if rolling.is() => {
            out.forbidden(&rolling, "may not be specified when strategy `type` is 'Recreate'");
        }
        "Recreate" => {}
        "RollingUpdate" if !rolling.is() => {
            out.required(&rolling, "this should be defaulted and never be nil");
        }
        "RollingUpdate" => {
            let (gone, more) = (rolling.at("maxUnavailable"), rolling.at("maxSurge"));
            number_or_percent(&gone, out);
            number_or_percent(&more, out);
            if amount(&gone) == 0 && amount(&more) == 0 {
                out.invalid(&gone, "may not be 0 when `maxSurge` is 0");
            }
            at_most_all(&gone, out);
        }
        _ => {
            let shown = inner::shown("apps.DeploymentStrategy", strategy.value);
            out.unsupported_as(&strategy.path, &shown, &["Recreate", "RollingUpdate"]);
        }
    }
    out.not_negative(&spec.at("minReadySeconds"));
    out.not_negative(&spec.at("revisionHistoryLimit"));
    let rollback = object.at("metadata").at("annotations").key("deprecated.deployment.rollback.to");
    if let Some(number) = rollback.text().parse::<i64>().ok().filter(|number| *number < 0) {
        out.invalid_as("spec.rollback.version", &number.to_string(), super::place::NEGATIVE);
    }
    let deadline = spec.at("progressDeadlineSeconds");
    if deadline.is() {
        out.not_negative(&deadline);
        if deadline.number() <= spec.at("minReadySeconds").number() {
            out.invalid(&deadline, "must be greater than minReadySeconds");
        }
    }
}

pub fn replica_set(object: &Place<'_>, out: &mut Flaws) {
    let spec = object.at("spec");
    out.not_negative(&spec.at("replicas"));
    out.not_negative(&spec.at("minReadySeconds"));
    selector_and_template(&spec, out);
}

pub fn replication_controller(object: &Place<'_>, out: &mut Flaws) {
    let spec = object.at("spec");
    out.not_negative(&spec.at("minReadySeconds"));
    let selector = spec.at("selector");
    if selector.count() == 0 {
        out.required(&selector, "");
    }
    out.not_negative(&spec.at("replicas"));
    let template = spec.at("template");
    if !template.is() {
        return out.required(&template, "");
    }
    let labels = template.at("metadata").at("labels");
    let matches = selector.members().iter().all(|(key, value)| labels.value.get(*key) == Some(value.value));
    if !matches {
        out.invalid(&labels, "`selector` does not match template `labels`");
    }
    pods::template(&template, out);
    always(&template, "ReplicationController", out);
}

/// The old annotation that counts templates of a DaemonSet.
pub const TEMPLATES: &str = "deprecated.daemonset.template.generation";

fn templates(object: &Place<'_>) -> i64 {
    object.at("metadata").at("annotations").key(TEMPLATES).text().parse().unwrap_or(0)
}

pub fn daemon_set(object: &Place<'_>, out: &mut Flaws) {
    let spec = object.at("spec");
    let selector = spec.at("selector");
    selectors::selector(&selector, out);
    selected(&spec, out);
    if selector.is() && selectors::is_empty(&selector) {
        out.invalid(&selector, "empty selector is invalid for daemonset");
    }
    pods::template(&spec.at("template"), out);
    always(&spec.at("template"), "DaemonSet", out);
    out.not_negative(&spec.at("minReadySeconds"));
    if templates(object) < 0 {
        out.invalid_as("spec.templateGeneration", &templates(object).to_string(), super::place::NEGATIVE);
    }
    let strategy = spec.at("updateStrategy");
    let rolling = strategy.at("rollingUpdate");
    match strategy.at("type").text() {
        "OnDelete" => {}
        "RollingUpdate" if !rolling.is() => out.required(&rolling, ""),
        "RollingUpdate" => {
            let (gone, more) = (rolling.at("maxUnavailable"), rolling.at("maxSurge"));
            number_or_percent(&gone, out);
            number_or_percent(&more, out);
            at_most_all(&gone, out);
            at_most_all(&more, out);
            match (amount(&gone) != 0, amount(&more) != 0) {
                (true, true) => out.invalid(&more, "may not be set when maxUnavailable is non-zero"),
                (false, false) => out.required(&gone, "cannot be 0 when maxSurge is 0"),
                _ => {}
            }
        }
        _ => {
            let shown = inner::shown("apps.DaemonSetUpdateStrategy", strategy.value);
            out.unsupported_as(&strategy.path, &shown, &["RollingUpdate", "OnDelete"]);
        }
    }
    out.not_negative(&spec.at("revisionHistoryLimit"));
}

pub fn stateful_set(object: &Place<'_>, out: &mut Flaws) {
    stateful_spec(object, true, out);
}

/// What is asked of one that changes: what can no longer change is left alone.
pub fn stateful_set_again(object: &Place<'_>, out: &mut Flaws) {
    stateful_spec(object, false, out);
}

fn stateful_spec(object: &Place<'_>, new: bool, out: &mut Flaws) {
    let spec = object.at("spec");
    let policy = spec.at("podManagementPolicy");
    match policy.text() {
        "" => out.required(&policy, ""),
        "OrderedReady" | "Parallel" => {}
        _ => out.invalid_text(&policy, "must be 'OrderedReady' or 'Parallel'"),
    }
    stateful_strategy(&spec.at("updateStrategy"), out);
    let kept = spec.at("persistentVolumeClaimRetentionPolicy");
    for key in ["whenDeleted", "whenScaled"] {
        let one = kept.at(key);
        if kept.is() && !matches!(one.text(), "Retain" | "Delete") {
            out.unsupported(&one, &["Retain", "Delete"]);
        }
    }
    if new {
        spec.each("volumeClaimTemplates").iter().for_each(|claim| pods::claim_spec(&claim.at("spec"), out));
    }
    check(&spec, &[Rule::NotNegative("replicas"), Rule::NotNegative("minReadySeconds")], out);
    if spec.has("ordinals") {
        check(&spec, &[Rule::NotNegative("ordinals.start")], out);
    }
    if new {
        check(&spec, &[Rule::Form("serviceName", formats::label)], out);
    }
    own_selector(&spec, "statefulset", out);
    if selected(&spec, out) {
        let value = with_claims(spec.value);
        let template = Place { value: &value, path: spec.child("template") };
        pods::template(&template, out);
        // The server looks at these twice.
        let meta = template.at("metadata");
        selectors::labels(&meta.at("labels").moved(template.child("labels")), out);
        let annotations = meta.at("annotations").moved(template.child("annotations"));
        metadata::annotations(&annotations, out);
        pods::annotations(&annotations, &template.at("spec"), out);
    } else {
        out.invalid(&spec.at("selector"), "");
    }
    always(&spec.at("template"), "StatefulSet", out);
}

fn stateful_strategy(strategy: &Place<'_>, out: &mut Flaws) {
    let rolling = strategy.at("rollingUpdate");
    match strategy.at("type").text() {
        "" => out.required(strategy, ""),
        "OnDelete" if rolling.is() => {
            let shown = inner::shown("apps.RollingUpdateStatefulSetStrategy", rolling.value);
            out.invalid_as(&rolling.path, &shown, "only allowed for updateStrategy 'RollingUpdate'");
        }
        "OnDelete" => {}
        "RollingUpdate" => {
            out.not_negative(&rolling.at("partition"));
            let gone = rolling.at("maxUnavailable");
            if gone.is() {
                number_or_percent(&gone, out);
                if amount(&gone) == 0 {
                    out.invalid(&gone, "cannot be 0");
                }
                at_most_all(&gone, out);
            }
        }
        _ => {
            let shown = inner::shown("apps.StatefulSetUpdateStrategy", strategy.value);
            out.invalid_as(&strategy.path, &shown, "must be 'RollingUpdate' or 'OnDelete'");
        }
    }
}

/// The template with a volume for every claim, and without the names that its pods get.
fn with_claims(spec: &Value) -> Value {
    let mut template = spec.get("template").cloned().unwrap_or(Value::Null);
    let claims =
        spec.get("volumeClaimTemplates").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let name = |claim: &'_ Value| claim.pointer("/metadata/name").cloned().unwrap_or_else(|| "".into());
    let names: Vec<Value> = claims.iter().map(name).collect();
    if let Some(pod) = template.get_mut("spec").and_then(Value::as_object_mut) {
        pod.remove("subdomain");
        pod.remove("hostname");
        if !names.is_empty() {
            let claim = |name: &Value| serde_json::json!({"name": name, "persistentVolumeClaim": {"claimName": name}});
            let mut volumes: Vec<Value> = names.iter().map(claim).collect();
            volumes.dedup();
            let own = pod.get("volumes").and_then(Value::as_array).cloned().unwrap_or_default();
            let named = |volume: &Value| volume.get("name").is_some_and(|name| names.contains(name));
            volumes.extend(own.into_iter().filter(|volume| !named(volume)));
            pod.insert("volumes".to_owned(), Value::Array(volumes));
        }
    }
    template
}

/// What of a StatefulSet may change.
const OPEN: &[&str] = &[
    "replicas",
    "template",
    "updateStrategy",
    "minReadySeconds",
    "ordinals",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
];

pub fn stateful_change(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    let closed = |object: &Place<'_>| {
        let mut spec = object.at("spec").value.clone();
        if let Some(map) = spec.as_object_mut() {
            OPEN.iter().for_each(|key| drop(map.remove(*key)));
        }
        spec
    };
    if closed(new) != closed(old) {
        out.forbidden(
            &new.at("spec"),
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
             'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        );
    }
}

/// The selector never changes.
pub fn selector_stays(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    let (new, old) = (new.at("spec.selector"), old.at("spec.selector"));
    out.fixed(&new, old.value);
}

/// The old count of templates goes up by one with every change of the template.
pub fn templates_counted(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    let (count, before) = (templates(new), templates(old));
    let changed = new.at("spec.template").value != old.at("spec.template").value;
    let detail = if count < before {
        "must not be decremented"
    } else if count == before && changed {
        "must be incremented upon template update"
    } else if count > before && !changed {
        "must not be incremented without template update"
    } else {
        return;
    };
    out.invalid_as("spec.templateGeneration", &count.to_string(), detail);
}

/// Counts of a status: none is below zero, and some are not above others.
fn counts(object: &Place<'_>, keys: &[&str], parts: &[&str], words: &str, out: &mut Flaws) {
    let status = object.at("status");
    keys.iter().for_each(|key| out.not_negative(&status.at(key)));
    for key in parts {
        if status.at(key).number() > status.at("replicas").number() {
            out.invalid_number(&status.at(key), "cannot be greater than status.replicas");
        }
    }
    let (ready, available) = (status.at("readyReplicas"), status.at("availableReplicas"));
    if !parts.is_empty() && available.number() > ready.number() {
        out.invalid_number(&available, words);
    }
}

pub fn deployment_status(object: &Place<'_>, out: &mut Flaws) {
    let keys = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ];
    let parts = ["updatedReplicas", "readyReplicas", "availableReplicas"];
    counts(object, &keys, &parts, "cannot be greater than readyReplicas", out);
}

pub fn replica_status(object: &Place<'_>, out: &mut Flaws) {
    let keys = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ];
    let parts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
    counts(object, &keys, &parts, "cannot be greater than readyReplicas", out);
}

pub fn daemon_status(object: &Place<'_>, out: &mut Flaws) {
    let keys = [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ];
    counts(object, &keys, &[], "", out);
}

pub fn stateful_status(object: &Place<'_>, out: &mut Flaws) {
    let keys = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ];
    let parts = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
    counts(object, &keys, &parts, "cannot be greater than status.readyReplicas", out);
}

/// The count of clashes only grows.
pub fn collisions_grow(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    let (new, old) = (new.at("status.collisionCount"), old.at("status.collisionCount"));
    if old.is() && new.number() < old.number() || old.is() && !new.is() {
        out.invalid_number(&new, "cannot be decremented");
    }
}

pub fn revision(object: &Place<'_>, out: &mut Flaws) {
    out.not_negative(&object.at("revision"));
}

/// A revision keeps something, which is an object.
pub fn revision_data(object: &Place<'_>, out: &mut Flaws) {
    let data = object.at("data");
    match data.value {
        Value::Null => out.required(&data, "data is mandatory"),
        Value::Object(_) => {}
        _ => out.required(&data, "data must be a valid JSON object"),
    }
}

pub fn revision_stays(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    let (new, old) = (new.at("data"), old.at("data"));
    if new.value != old.value {
        out.invalid_as(&new.path, &inner::shown("", new.value), super::place::IMMUTABLE);
    }
}

pub fn pod_template(object: &Place<'_>, out: &mut Flaws) {
    pods::template(&object.at("template"), out);
}

/// A text that must be a name of something in the same template.
pub fn must_be_known(place: &Place<'_>, known: &[&str], detail: &str, out: &mut Flaws) {
    if place.is() && !known.contains(&place.text()) {
        out.invalid_as(&place.path, &quote(place.text()), detail);
    }
}
