//! What the server fills in and takes away of pods, and of templates of pods.

use std::cmp::Ordering;

use podium_meta::{GroupVersionKind, Quantity};
use serde_json::{Value, json};

use super::amounts;
use super::facts::Facts;
use super::place::Place;
use super::prepare::{in_metadata, keep};
use crate::stored::view::{Object, made, part, text};

/// Where templates of pods stand.
const TEMPLATE: &[(&str, &str)] = &[
    ("PodTemplate", "/template"),
    ("ReplicationController", "/spec/template"),
    ("Deployment", "/spec/template"),
    ("ReplicaSet", "/spec/template"),
    ("DaemonSet", "/spec/template"),
    ("StatefulSet", "/spec/template"),
    ("Job", "/spec/template"),
    ("CronJob", "/spec/jobTemplate/spec/template"),
];

pub(super) fn pod_status(map: &mut Object, old: &Value) {
    let before = old.get("metadata").unwrap_or(&Value::Null);
    in_metadata(map, |meta| {
        meta.remove("deletionTimestamp");
        keep(meta, before, "ownerReferences");
    });
    let was = old.get("status").unwrap_or(&Value::Null);
    let Some(status) = made(map, "status") else { return };
    if text(status, "qosClass").is_empty() {
        keep(status, was, "qosClass");
    }
    let zero = |value: Option<&Value>| value.and_then(Value::as_i64).unwrap_or(0) == 0;
    if zero(status.get("observedGeneration")) {
        keep(status, was, "observedGeneration");
    }
    // Conditions of one type are told apart by their order.
    let conditions = was.get("conditions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut known: Vec<(&Value, Option<&Value>)> = conditions
        .iter()
        .map(|one| (one.get("type").unwrap_or(&Value::Null), one.get("observedGeneration")))
        .collect();
    for one in status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(one) = one.as_object_mut() else { continue };
        let at = known.iter().position(|(kind, _)| Some(*kind) == one.get("type"));
        let generation = at.map(|at| known.remove(at).1);
        if zero(one.get("observedGeneration"))
            && let Some(Some(generation)) = generation
        {
            one.insert("observedGeneration".to_owned(), generation.clone());
        }
    }
}

/// Fields of features that are not switched on, unless they were there before.
pub(super) fn dropped(kind: &GroupVersionKind, map: &mut Object, old: Option<&Value>) {
    match kind.kind.as_str() {
        "Pod" => {
            let before = old.and_then(|old| old.get("spec"));
            if let Some(spec) = part(map, "spec") {
                drop_from_pod(spec, before);
            }
        }
        "Lease" => {
            for key in ["strategy", "preferredHolder"] {
                let before = old.and_then(|old| old.get("spec")).and_then(|spec| spec.get(key));
                if let Some(spec) = part(map, "spec").filter(|_| before.is_none()) {
                    spec.remove(key);
                }
            }
        }
        name => {
            if let Some((_, path)) = TEMPLATE.iter().find(|(kind, _)| *kind == name) {
                let path = format!("{path}/spec");
                let before = old.and_then(|old| old.pointer(&path));
                let mut at = Some(map);
                for step in path.trim_start_matches('/').split('/') {
                    at = at.and_then(|map| part(map, step));
                }
                if let Some(spec) = at {
                    drop_from_pod(spec, before);
                }
            }
        }
    }
}

fn drop_from_pod(spec: &mut Object, old: Option<&Value>) {
    let lists = ["containers", "initContainers", "ephemeralContainers"];
    let had_signal = old.is_some_and(|old| {
        lists.iter().any(|list| {
            let own = old.get(list).and_then(Value::as_array).into_iter().flatten();
            own.into_iter().any(|one| one.pointer("/lifecycle/stopSignal").is_some())
        })
    });
    for list in lists.iter().filter(|_| !had_signal) {
        for container in spec.get_mut(*list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(container) = container.as_object_mut() else { continue };
            if let Some(lifecycle) = part(container, "lifecycle")
                && lifecycle.remove("stopSignal").is_some()
                && lifecycle.is_empty()
            {
                container.remove("lifecycle");
            }
        }
    }
    if old.and_then(|old| old.get("schedulingGroup")).is_none() {
        spec.remove("schedulingGroup");
    }
    let projected = |spec: &Value, key: &str| {
        let volumes = spec.get("volumes").and_then(Value::as_array).into_iter().flatten();
        volumes
            .filter_map(|volume| volume.pointer("/projected/sources"))
            .filter_map(Value::as_array)
            .flatten()
            .any(|source| source.get(key).is_some())
    };
    for key in ["clusterTrustBundle", "podCertificate"] {
        if old.is_some_and(|old| projected(old, key)) {
            continue;
        }
        for volume in spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten() {
            let sources = volume.pointer_mut("/projected/sources").and_then(Value::as_array_mut);
            for source in sources.into_iter().flatten() {
                source.as_object_mut().map(|source| source.remove(key));
            }
        }
    }
}

pub(super) fn new_pod(map: &mut Object, facts: &Facts<'_>) {
    let quality = quality(map);
    let mut status = json!({"phase": "Pending", "qosClass": quality});
    let gates = map.get("spec").and_then(|spec| spec.get("schedulingGates")).and_then(Value::as_array);
    if gates.is_some_and(|gates| !gates.is_empty())
        && let Some(status) = status.as_object_mut()
    {
        status.insert(
            "conditions".to_owned(),
            json!([{"type": "PodScheduled", "status": "False", "lastProbeTime": null,
                "lastTransitionTime": facts.now, "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates"}]),
        );
    }
    map.insert("status".to_owned(), status);
    let labels = map.get("metadata").and_then(|meta| meta.get("labels")).cloned().unwrap_or(Value::Null);
    let annotations =
        map.get("metadata").and_then(|meta| meta.get("annotations")).cloned().unwrap_or(Value::Null);
    let Some(spec) = part(map, "spec") else { return };
    let terms = ["podAffinity", "podAntiAffinity"];
    for kind in terms {
        for (list, inside) in [
            ("requiredDuringSchedulingIgnoredDuringExecution", ""),
            ("preferredDuringSchedulingIgnoredDuringExecution", "podAffinityTerm"),
        ] {
            let own = part(spec, "affinity").and_then(|affinity| part(affinity, kind));
            let own = own.and_then(|own| own.get_mut(list)).and_then(Value::as_array_mut);
            for term in own.into_iter().flatten() {
                let term = if inside.is_empty() { Some(term) } else { term.get_mut(inside) };
                if let Some(term) = term.and_then(Value::as_object_mut) {
                    merge_keys(term, "matchLabelKeys", "In", &labels);
                    merge_keys(term, "mismatchLabelKeys", "NotIn", &labels);
                }
            }
        }
    }
    let spread = spec.get_mut("topologySpreadConstraints").and_then(Value::as_array_mut);
    for term in spread.into_iter().flatten().filter_map(Value::as_object_mut) {
        merge_keys(term, "matchLabelKeys", "In", &labels);
    }
    armor_fields(spec, &annotations);
}

/// The pod's own labels become part of what it looks for.
fn merge_keys(term: &mut Object, list: &str, operator: &str, labels: &Value) {
    let keys: Vec<Value> = term.get(list).and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(selector) = part(term, "labelSelector") else { return };
    let mut more = Vec::new();
    for key in keys {
        let name = key.as_str().unwrap_or_default();
        if let Some(value) = labels.get(name) {
            more.push(json!({"key": name, "operator": operator, "values": [value]}));
        }
    }
    if !more.is_empty() {
        let terms = selector.entry("matchExpressions").or_insert_with(|| json!([]));
        if let Some(terms) = terms.as_array_mut() {
            terms.extend(more);
        }
    }
}

/// An old annotation becomes a field.
fn armor_fields(spec: &mut Object, annotations: &Value) {
    if spec.get("os").and_then(|os| os.get("name")).and_then(Value::as_str) == Some("windows") {
        return;
    }
    let whole = spec.get("securityContext").and_then(|one| one.get("appArmorProfile")).cloned();
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(container) = container.as_object_mut() else { continue };
            let key = format!("container.apparmor.security.beta.kubernetes.io/{}", text(container, "name"));
            let said = annotations.get(&key).and_then(Value::as_str);
            let profile = match said {
                Some("unconfined") => json!({"type": "Unconfined"}),
                Some("runtime/default") => json!({"type": "RuntimeDefault"}),
                Some(said) => match said.strip_prefix("localhost/") {
                    Some(path) if !path.is_empty() && path.trim() == path && path.len() <= 4095 => {
                        json!({"type": "Localhost", "localhostProfile": path})
                    }
                    _ => continue,
                },
                None => continue,
            };
            let own = container.get("securityContext").and_then(|one| one.get("appArmorProfile"));
            if own.is_none()
                && Some(&profile) != whole.as_ref()
                && let Some(context) = made(container, "securityContext")
            {
                context.insert("appArmorProfile".to_owned(), profile);
            }
        }
    }
}

/// How well a pod is served when there is not enough: by what it asks for.
fn quality(map: &Object) -> &'static str {
    let nothing = Value::Null;
    let spec = Place::root(map.get("spec").unwrap_or(&nothing));
    let own = spec.at("resources");
    let sources: Vec<Place<'_>> = if own.is() {
        vec![own.clone()]
    } else {
        let all = spec.each("containers").into_iter().chain(spec.each("initContainers"));
        all.map(|container| container.at("resources")).collect()
    };
    let mut sums: [Vec<(&str, Quantity)>; 2] = [Vec::new(), Vec::new()];
    let mut bounded = true;
    for source in &sources {
        for (sum, key) in sums.iter_mut().zip(["requests", "limits"]) {
            let mut found = 0;
            for (name, place) in source.at(key).members() {
                let Some(amount) = amounts::amount(place.value) else { continue };
                if !matches!(name, "cpu" | "memory") || amounts::sign(&amount) != Ordering::Greater {
                    continue;
                }
                found += 1;
                match sum.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, total)) => total.add(&amount),
                    None => sum.push((name, amount)),
                }
            }
            let counts = !own.is() || source.at("limits").count() > 0;
            bounded &= key != "limits" || found == 2 || !counts;
        }
    }
    let [requests, limits] = sums;
    if requests.is_empty() && limits.is_empty() {
        return "BestEffort";
    }
    let equal = requests.iter().all(|(name, amount)| {
        let limit = limits.iter().find(|(known, _)| known == name);
        limit.is_some_and(|(_, limit)| limit.compare(amount) == Ordering::Equal)
    });
    if bounded && equal && requests.len() == limits.len() { "Guaranteed" } else { "Burstable" }
}
