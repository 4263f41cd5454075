//! What the server fills in and takes away before it checks an object.

use podium_meta::GroupVersionKind;
use serde_json::{Map, Value, json};

use super::facts::Facts;
use super::jobs;
use super::place::Place;
use super::prepare_pods::{dropped, new_pod, pod_status};
use super::services;
use super::workloads::TEMPLATES;
use crate::stored::view::{Object, made, part, text};
use crate::table::{Form, kinds};
use crate::typed;
use crate::writing::writing;

/// Kinds whose status is written without any metadata.
const STATUS_ONLY: &[&str] = &[
    "ValidatingAdmissionPolicy",
    "FlowSchema",
    "PriorityLevelConfiguration",
    "ServiceCIDR",
    "ResourceClaim",
    "VolumeAttachment",
];

/// Makes of a new object what the server checks and stores; its name and identity are there by now.
pub fn prepare_create(kind: &GroupVersionKind, object: &mut Value, facts: &Facts<'_>) {
    let counted = writing(kind).counted;
    let has_status = kinds().row_of(kind).is_some_and(|row| row.subresource("status").is_some());
    let Some(map) = object.as_object_mut() else { return };
    if has_status && kind.kind != "Node" {
        empty_status(kind, map);
    }
    if counted {
        in_metadata(map, |meta| drop(meta.insert("generation".to_owned(), 1.into())));
    }
    match kind.kind.as_str() {
        "Pod" => new_pod(map, facts),
        "Job" => new_job(map, facts),
        "DaemonSet" => count_templates(map, 1),
        "Namespace" => new_namespace(map),
        "PersistentVolume" => {
            if let Some(status) = made(map, "status") {
                status.insert("phase".to_owned(), "Pending".into());
                status.insert("lastPhaseTransitionTime".to_owned(), facts.now.into());
            }
        }
        "PersistentVolumeClaim" => {
            if let Some(status) = made(map, "status") {
                status.insert("phase".to_owned(), "Pending".into());
            }
            data_sources(map, None);
        }
        "ServiceAccount" => plain_secrets(map),
        "LimitRange" => name_limits(map),
        "CertificateSigningRequest" => new_request(map, facts),
        "EndpointSlice" => drop_topology(map, None),
        "StatefulSet" => no_unavailable(map, None),
        "Node" => no_source(map, None),
        _ => {}
    }
    dropped(kind, map, None);
}

/// Makes of a changed object what the server checks and stores; `subresource` is empty for the main address.
pub fn prepare_update(
    kind: &GroupVersionKind,
    subresource: &str,
    new: &mut Value,
    old: &Value,
    facts: &Facts<'_>,
) {
    let Some(map) = new.as_object_mut() else { return };
    in_metadata(map, |meta| keep(meta, old.get("metadata").unwrap_or(&Value::Null), "generation"));
    let has_status = kinds().row_of(kind).is_some_and(|row| row.subresource("status").is_some());
    match subresource {
        "status" => of_status(kind, map, old, facts),
        "finalize" => keep(map, old, "status"),
        "approval" => {
            let conditions = map.get("status").and_then(|status| status.get("conditions")).cloned();
            keep(map, old, "spec");
            keep(map, old, "status");
            if let (Some(conditions), Some(status)) = (conditions, made(map, "status")) {
                status.insert("conditions".to_owned(), conditions);
            }
        }
        "ephemeralcontainers" => {
            let own = map.get("spec").and_then(|spec| spec.get("ephemeralContainers")).cloned();
            keep(map, old, "spec");
            keep(map, old, "status");
            old_metadata(map, old);
            if let Some(spec) = part(map, "spec") {
                match own {
                    Some(own) => drop(spec.insert("ephemeralContainers".to_owned(), own)),
                    None => drop(spec.remove("ephemeralContainers")),
                }
            }
            count_change(kind, map, old, facts);
        }
        _ => {
            if has_status {
                keep(map, old, "status");
            }
            of_main(kind, map, old);
            dropped(kind, map, Some(old));
            count_change(kind, map, old, facts);
            // What is taken away now has counted.
            if kind.kind == "EndpointSlice" {
                drop_topology(map, Some(old));
            }
        }
    }
    settle_metadata(map, old);
}

pub(super) fn in_metadata(map: &mut Object, change: impl FnOnce(&mut Object)) {
    if let Some(meta) = made(map, "metadata") {
        change(meta);
    }
}

/// Takes a field from what was before.
pub(super) fn keep(map: &mut Object, old: &Value, key: &str) {
    match old.get(key) {
        Some(value) => drop(map.insert(key.to_owned(), value.clone())),
        None => drop(map.remove(key)),
    }
}

/// What nobody can change of the metadata.
fn settle_metadata(map: &mut Object, old: &Value) {
    let before = old.get("metadata").unwrap_or(&Value::Null);
    let there = |key: &str| before.get(key).is_some_and(|value| !value.is_null());
    in_metadata(map, |meta| {
        if text(meta, "uid").is_empty() && there("uid") {
            keep(meta, before, "uid");
        }
        for key in ["creationTimestamp", "deletionTimestamp"] {
            if there(key) {
                keep(meta, before, key);
            }
        }
        let grace = "deletionGracePeriodSeconds";
        if there(grace) && meta.get(grace).is_none_or(Value::is_null) {
            keep(meta, before, grace);
        }
    });
}

/// A status of which nothing is known.
fn empty_status(kind: &GroupVersionKind, map: &mut Object) {
    let types = kinds().types();
    let id = kinds().type_of(kind).and_then(|id| types.target(id).1.form.as_struct());
    let field = id.and_then(|id| types.struct_(id).field("status"));
    let zero = field.map(|(_, field)| match types.get(field.ty).form {
        Form::Pointer(_) => Value::Null,
        _ => typed::zero(types, field.ty),
    });
    match zero {
        Some(Value::Null) | None => drop(map.remove("status")),
        Some(zero) => drop(map.insert("status".to_owned(), zero)),
    }
}

fn of_status(kind: &GroupVersionKind, map: &mut Object, old: &Value, facts: &Facts<'_>) {
    keep(map, old, "spec");
    match kind.kind.as_str() {
        "Deployment" => {
            let before = old.get("metadata").unwrap_or(&Value::Null);
            in_metadata(map, |meta| keep(meta, before, "labels"));
        }
        "Pod" => pod_status(map, old),
        "DaemonSet" => set_templates(map, templates(old)),
        "PersistentVolume" => volume_phase(map, old, facts),
        name if STATUS_ONLY.contains(&name) => old_metadata(map, old),
        _ => {}
    }
}

fn old_metadata(map: &mut Object, old: &Value) {
    let before = old.get("metadata").unwrap_or(&Value::Null);
    let keys = [
        "deletionTimestamp",
        "generation",
        "selfLink",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
    ];
    in_metadata(map, |meta| keys.iter().for_each(|key| keep(meta, before, key)));
}

fn volume_phase(map: &mut Object, old: &Value, facts: &Facts<'_>) {
    let was = old.get("status").unwrap_or(&Value::Null);
    let key = "lastPhaseTransitionTime";
    let Some(status) = made(map, "status") else { return };
    let same = status.get("phase") == was.get("phase");
    let (own, before) = (status.get(key), was.get(key));
    if same && own.is_none() {
        keep(status, was, key);
    } else if !same && (own.is_none() || own == before) {
        status.insert(key.to_owned(), facts.now.into());
    }
}

fn of_main(kind: &GroupVersionKind, map: &mut Object, old: &Value) {
    match kind.kind.as_str() {
        "Namespace" => {
            let before = old.get("spec").unwrap_or(&Value::Null);
            if let Some(spec) = made(map, "spec") {
                keep(spec, before, "finalizers");
            }
            label_namespace(map);
        }
        "DaemonSet" => {
            let count = templates(old);
            let changed =
                !same(map.get("spec").and_then(|spec| spec.get("template")), old.pointer("/spec/template"));
            set_templates(map, count.saturating_add(i64::from(changed)));
        }
        "Service" => type_change(map, old),
        "PersistentVolumeClaim" => data_sources(map, old.get("spec")),
        "ServiceAccount" => plain_secrets(map),
        "CertificateSigningRequest" => keep(map, old, "spec"),
        "StatefulSet" => no_unavailable(map, Some(old)),
        "Node" => no_source(map, Some(old)),
        _ => {}
    }
}

/// Whether two values mean the same: an empty list is no list.
fn same(a: Option<&Value>, b: Option<&Value>) -> bool {
    let nothing = |value: Option<&Value>| match value {
        None | Some(Value::Null) => true,
        Some(Value::Array(list)) => list.is_empty(),
        Some(_) => false,
    };
    match (a, b) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            a.keys().chain(b.keys()).all(|key| same(a.get(key), b.get(key)))
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(Some(a), Some(b)))
        }
        (a, b) => a == b || nothing(a) && nothing(b),
    }
}

/// Counts a change that counts.
fn count_change(kind: &GroupVersionKind, map: &mut Object, old: &Value, facts: &Facts<'_>) {
    let counts = writing(kind).counted && kind.kind != "PriorityClass" || kind.kind == "CSIDriver";
    if !counts {
        return;
    }
    let differs = |key: &str| !same(map.get(key), old.get(key));
    let in_meta = |key: &str| {
        let own = map.get("metadata").and_then(|meta| meta.get(key)).filter(|value| !is_empty(value));
        let before = old.get("metadata").and_then(|meta| meta.get(key)).filter(|value| !is_empty(value));
        own != before
    };
    let changed = match kind.kind.as_str() {
        "Deployment" => differs("spec") || in_meta("annotations"),
        // Here alone a list that is empty is another one than none.
        "NetworkPolicy" => {
            differs("spec") || facts.given.and_then(|given| given.get("spec")).is_some_and(has_empty_list)
        }
        "PodTemplate" => differs("template"),
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => differs("webhooks"),
        "EndpointSlice" => {
            ["addressType", "endpoints", "ports"].into_iter().any(differs) || in_meta("labels")
        }
        _ => differs("spec"),
    };
    if changed {
        let before = old.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
        in_metadata(map, |meta| drop(meta.insert("generation".to_owned(), before.saturating_add(1).into())));
    }
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

fn new_namespace(map: &mut Object) {
    map.insert("status".to_owned(), json!({"phase": "Active"}));
    if let Some(spec) = made(map, "spec") {
        let list = spec.entry("finalizers").or_insert_with(|| json!([]));
        if list.is_null() {
            *list = json!([]);
        }
        if let Some(list) = list.as_array_mut()
            && !list.iter().any(|one| one == "kubernetes")
        {
            list.push("kubernetes".into());
        }
    }
    label_namespace(map);
}

fn label_namespace(map: &mut Object) {
    in_metadata(map, |meta| {
        let name = text(meta, "name").to_owned();
        if let Some(labels) = made(meta, "labels") {
            labels.insert("kubernetes.io/metadata.name".to_owned(), name.into());
        }
    });
}

fn new_job(map: &mut Object, facts: &Facts<'_>) {
    let of = |map: &Object, key: &str| {
        map.get("metadata")
            .and_then(|meta| meta.get(key))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (name, uid) = (of(map, "name"), of(map, "uid"));
    let template = map.get("spec").and_then(|spec| spec.pointer("/template/metadata/labels"));
    let own = map.get("metadata").and_then(|meta| meta.get("labels"));
    let given = facts.given.and_then(|given| given.pointer("/metadata/labels"));
    // A job without labels shares those of its pods, also what comes to them now.
    let shares = own == template && given.is_none_or(is_empty);
    let Some(spec) = part(map, "spec") else { return };
    if spec.get("manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    let labels =
        made(spec, "template").and_then(|one| made(one, "metadata")).and_then(|one| made(one, "labels"));
    if let Some(labels) = labels {
        for (key, is_uid) in jobs::LABELS {
            let value = if is_uid { &uid } else { &name };
            labels.entry(key).or_insert_with(|| value.as_str().into());
        }
    }
    let shared = spec.get("template").and_then(|one| one.pointer("/metadata/labels")).cloned();
    if let Some(labels) = made(spec, "selector").and_then(|one| made(one, "matchLabels")) {
        labels.entry(jobs::UID).or_insert_with(|| uid.into());
    }
    if let Some(shared) = shared.filter(|_| shares) {
        in_metadata(map, |meta| drop(meta.insert("labels".to_owned(), shared)));
    }
}

/// How many templates a stored object has had.
fn templates(object: &Value) -> i64 {
    let count = object.pointer(&format!("/metadata/annotations/{TEMPLATES}")).and_then(Value::as_str);
    count.and_then(|count| count.parse().ok()).unwrap_or(0)
}

fn set_templates(map: &mut Object, count: i64) {
    in_metadata(map, |meta| {
        if let Some(annotations) = made(meta, "annotations") {
            annotations.insert(TEMPLATES.to_owned(), count.to_string().into());
        }
    });
}

fn count_templates(map: &mut Object, least: i64) {
    let own = map.get("metadata").and_then(|meta| meta.get("annotations")).and_then(|all| all.get(TEMPLATES));
    let count = own.and_then(Value::as_str).and_then(|count| count.parse::<i64>().ok()).unwrap_or(0);
    set_templates(map, count.max(least));
}

/// Only the names of an account's secrets are kept.
fn plain_secrets(map: &mut Object) {
    for secret in map.get_mut("secrets").and_then(Value::as_array_mut).into_iter().flatten() {
        let name = secret.get("name").cloned();
        *secret = name.map_or_else(|| json!({}), |name| json!({"name": name}));
    }
}

fn name_limits(map: &mut Object) {
    in_metadata(map, |meta| {
        if text(meta, "name").is_empty() {
            let uid = text(meta, "uid").to_owned();
            meta.insert("name".to_owned(), uid.into());
        }
    });
}

fn new_request(map: &mut Object, facts: &Facts<'_>) {
    if let Some(spec) = made(map, "spec") {
        for (own, from) in
            [("username", "username"), ("uid", "uid"), ("groups", "groups"), ("extra", "extra")]
        {
            match facts.user.and_then(|user| user.get(from)).filter(|value| !value.is_null()) {
                Some(value) => drop(spec.insert(own.to_owned(), value.clone())),
                None => drop(spec.remove(own)),
            }
        }
    }
}

/// Where the topology of endpoints was told before there were fields.
fn drop_topology(map: &mut Object, old: Option<&Value>) {
    let kept = old.is_some_and(|old| map.get("endpoints") == old.get("endpoints"));
    for one in map.get_mut("endpoints").and_then(Value::as_array_mut).into_iter().flatten().filter(|_| !kept)
    {
        if let Some(one) = one.as_object_mut() {
            one.remove("deprecatedTopology");
        }
    }
}

/// Whether a part of a network policy has a list or a map without anything in it.
fn has_empty_list(value: &Value) -> bool {
    // The types of policies are filled in where there are none.
    const MANY: [&str; 9] =
        ["egress", "except", "from", "ingress", "matchExpressions", "matchLabels", "ports", "to", "values"];
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| {
            let empty = match value {
                Value::Array(list) => list.is_empty(),
                Value::Object(map) => map.is_empty(),
                _ => false,
            };
            empty && MANY.contains(&key.as_str()) || has_empty_list(value)
        }),
        Value::Array(list) => list.iter().any(has_empty_list),
        _ => false,
    }
}

/// Where a node's configuration came from, before that was given up.
fn no_source(map: &mut Object, old: Option<&Value>) {
    if old.and_then(|old| old.pointer("/spec/configSource")).is_none()
        && let Some(spec) = part(map, "spec")
    {
        spec.remove("configSource");
    }
}

/// A field that is not switched on.
fn no_unavailable(map: &mut Object, old: Option<&Value>) {
    let path = "/spec/updateStrategy/rollingUpdate/maxUnavailable";
    if old.and_then(|old| old.pointer(path)).is_some() {
        return;
    }
    let rolling = part(map, "spec").and_then(|spec| part(spec, "updateStrategy"));
    if let Some(rolling) = rolling.and_then(|strategy| part(strategy, "rollingUpdate")) {
        rolling.remove("maxUnavailable");
    }
}

/// What a claim is filled from is told in two places.
fn data_sources(map: &mut Object, old: Option<&Value>) {
    let Some(spec) = part(map, "spec") else { return };
    let had = |key: &str| old.and_then(|old| old.get(key)).is_some_and(|value| !value.is_null());
    let elsewhere = spec
        .get("dataSourceRef")
        .and_then(|one| one.get("namespace"))
        .and_then(Value::as_str)
        .is_some_and(|namespace| !namespace.is_empty());
    if elsewhere && !had("dataSourceRef") {
        spec.remove("dataSourceRef");
    }
    let known = spec.get("dataSource").is_some_and(|one| {
        let field = |key: &str| one.get(key).and_then(Value::as_str).unwrap_or_default();
        matches!(
            (field("kind"), field("apiGroup")),
            ("PersistentVolumeClaim", "") | ("VolumeSnapshot", "snapshot.storage.k8s.io")
        )
    });
    if !had("dataSource") && !spec.contains_key("dataSourceRef") && !known {
        spec.remove("dataSource");
    }
    match (spec.get("dataSource").cloned(), spec.get("dataSourceRef").cloned()) {
        (Some(data), None) => drop(spec.insert("dataSourceRef".to_owned(), data)),
        (None, Some(mut data)) if data.get("namespace").is_none_or(|one| one == "") => {
            if let Some(data) = data.as_object_mut() {
                data.remove("namespace");
            }
            spec.insert("dataSource".to_owned(), data);
        }
        _ => {}
    }
}

/// What a service has only because of the type that it had.
fn type_change(map: &mut Object, old: &Value) {
    let value = Value::Object(map.clone());
    let (new, old) = (Place::root(&value), Place::root(old));
    let (spec, before) = (new.at("spec"), old.at("spec"));
    let kind = |spec: &Place<'_>| spec.at("type").text().to_owned();
    let (now, was) = (kind(&spec), kind(&before));
    let unchanged = |key: &str| spec.at(key).value == before.at(key).value;
    let Some(own) = part(map, "spec") else { return };
    if was != "ExternalName" && now == "ExternalName" {
        if unchanged("clusterIP") && unchanged("clusterIPs") {
            own.remove("clusterIP");
            own.remove("clusterIPs");
        }
        for key in ["ipFamilies", "ipFamilyPolicy"] {
            if unchanged(key) {
                own.remove(key);
            }
        }
    }
    let on_nodes = |kind: &str| matches!(kind, "NodePort" | "LoadBalancer");
    let ports = |spec: &Place<'_>| -> Vec<i64> {
        spec.each("ports").iter().map(|port| port.at("nodePort").number()).filter(|port| *port != 0).collect()
    };
    if on_nodes(&was) && !on_nodes(&now) {
        let known = ports(&before);
        if ports(&spec).iter().all(|port| known.contains(port)) {
            for port in own.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
                port.as_object_mut().map(|port| port.remove("nodePort"));
            }
        }
    }
    let same_health = spec.at("healthCheckNodePort").number() == before.at("healthCheckNodePort").number();
    if services::needs_health(&old) && !services::needs_health(&new) && same_health {
        own.remove("healthCheckNodePort");
    }
    if was == "LoadBalancer" && now != "LoadBalancer" {
        for key in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
            if spec.has(key) && unchanged(key) {
                own.remove(key);
            }
        }
    }
    if services::is_open(&old) && !services::is_open(&new) && unchanged("externalTrafficPolicy") {
        own.remove("externalTrafficPolicy");
    }
    if now != "LoadBalancer"
        && let Some(status) = made(map, "status")
    {
        status.insert("loadBalancer".to_owned(), json!({}));
    }
}
