//! Services and the other small kinds.

use serde_json::{Value, json};

use super::view::{Object, count, items, made, part, set, text};
use crate::typed::encode_base64;

/// The time that a client sticks to a server.
const STICKY_SECONDS: i64 = 10_800;

pub fn service(object: &mut Object) {
    let Some(spec) = part(object, "spec") else { return };
    set(spec, "sessionAffinity", "None");
    match text(spec, "sessionAffinity") {
        "None" => drop(spec.remove("sessionAffinityConfig")),
        "ClientIP" => {
            let config = spec.get("sessionAffinityConfig");
            let timeout = config.and_then(|config| config.pointer("/clientIP/timeoutSeconds"));
            if timeout.is_none_or(Value::is_null) {
                let config = json!({"clientIP": {"timeoutSeconds": STICKY_SECONDS}});
                spec.insert("sessionAffinityConfig".to_owned(), config);
            }
        }
        _ => {}
    }
    set(spec, "type", "ClusterIP");
    for port in items(spec, "ports") {
        set(port, "protocol", "TCP");
        let target = port.get("targetPort");
        if target.is_none_or(|target| target == &json!(0) || target == &json!("")) {
            let number = port.get("port").cloned().unwrap_or(json!(0));
            port.insert("targetPort".to_owned(), number);
        }
    }
    let kind = text(spec, "type").to_owned();
    let balanced = kind == "LoadBalancer";
    let open = balanced || kind == "NodePort";
    if open || kind == "ClusterIP" && count(spec, "externalIPs") > 0 {
        set(spec, "externalTrafficPolicy", "Cluster");
    }
    if open || kind == "ClusterIP" {
        set(spec, "internalTrafficPolicy", "Cluster");
    }
    if balanced {
        set(spec, "allocateLoadBalancerNodePorts", true);
        let status = part(object, "status").and_then(|status| part(status, "loadBalancer"));
        for ingress in status.into_iter().flat_map(|status| items(status, "ingress")) {
            if !text(ingress, "ip").is_empty() {
                set(ingress, "ipMode", "VIP");
            }
        }
    }
}

/// The name is a label too.
pub fn namespace(object: &mut Object) {
    let Some(metadata) = part(object, "metadata") else { return };
    let name = text(metadata, "name").to_owned();
    if !name.is_empty()
        && let Some(labels) = made(metadata, "labels")
    {
        labels.insert("kubernetes.io/metadata.name".to_owned(), name.into());
    }
}

pub fn network_policy(object: &mut Object) {
    let Some(spec) = part(object, "spec") else { return };
    if count(spec, "policyTypes") == 0 {
        let types = if count(spec, "egress") > 0 { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
        spec.insert("policyTypes".to_owned(), types);
    }
}

pub fn subject(object: &mut Object) {
    if text(object, "apiGroup").is_empty() && matches!(text(object, "kind"), "User" | "Group") {
        object.insert("apiGroup".to_owned(), "rbac.authorization.k8s.io".into());
    }
}

/// What was given as text is kept as bytes.
pub fn secret_through(object: &mut Object) {
    let Some(Value::Object(texts)) = object.remove("stringData") else { return };
    if texts.is_empty() {
        return;
    }
    if let Some(data) = made(object, "data") {
        for (key, value) in texts {
            data.insert(key, encode_base64(value.as_str().unwrap_or_default().as_bytes()).into());
        }
    }
}

/// The label with which an older version told an empty selector from none.
const OLD_EMPTY: &str = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";

/// That label never stands beside others.
pub fn budget_through(spec: &mut Object) {
    let Some(selector) = part(spec, "selector") else { return };
    let term = |operator: &str| json!({"matchExpressions": [{"key": OLD_EMPTY, "operator": operator}]});
    let whole = Value::Object(selector.clone());
    if whole == term("Exists") || whole == term("DoesNotExist") {
        return;
    }
    if let Some(Value::Array(terms)) = selector.get_mut("matchExpressions") {
        terms.retain(|term| term.get("key").and_then(Value::as_str) != Some(OLD_EMPTY));
    }
    if count(selector, "matchExpressions") == 0 {
        selector.remove("matchExpressions");
    }
}
