//! Webhooks: their configurations, the Services in front of them, and definitions whose versions they convert.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::certificates::{Certificate, inject};
use super::{Job, Object};
use crate::check::{deployments, is_conversion, is_mutating, is_validating, webhooks};
use crate::registry::Registry;
use crate::report::{Finding, Refuser, Rule};
use crate::value::{list, text};

const SERVICE: &str = "core/v1.Service";
const CRD: &str = "apiextensions/v1.CustomResourceDefinition";

fn converters(registry: &Registry) -> BTreeMap<&str, &Value> {
    let mut all = BTreeMap::new();
    for webhook in webhooks(registry).iter().filter(|webhook| is_conversion(webhook)) {
        for crd in list(webhook, "/conversionCRDs").iter().filter_map(Value::as_str) {
            all.insert(crd, webhook);
        }
    }
    all
}

/// Definitions that cannot be converted by a webhook because they keep what they do not know.
pub fn preserved(registry: &Registry) -> Vec<Finding> {
    let converters = converters(registry);
    let keeps = |crd: &&crate::registry::Placed| {
        converters.contains_key(text(&crd.value, "/metadata/name"))
            && crd.value.pointer("/spec/preserveUnknownFields") == Some(&Value::Bool(true))
    };
    let finding = |crd: &crate::registry::Placed| {
        let words = format!(
            "custom resource definition '{}' must have .spec.preserveUnknownFields set to false to let API Server call \
             webhook to do the conversion",
            text(&crd.value, "/metadata/name")
        );
        let line = crd.line(&["spec", "preserveUnknownFields"]);
        Finding::new(Refuser::Controller, Rule::ConversionPreserve, (&crd.file, line), words)
    };
    registry.crds.iter().filter(keeps).map(finding).collect()
}

fn port(webhook: &Value) -> i64 {
    webhook.get("containerPort").and_then(Value::as_i64).unwrap_or(0)
}

/// The definitions of the bundle.
pub fn definitions(job: &Job<'_>) -> Vec<Object> {
    let converters = converters(job.registry);
    let one = |crd: &crate::registry::Placed| {
        let mut object = Object { ty: Some(CRD), value: crd.value.clone() };
        if let Some(webhook) = converters.get(text(&crd.value, "/metadata/name")) {
            let deployment = text(webhook, "/deploymentName");
            let path = webhook.get("webhookPath").and_then(Value::as_str).unwrap_or("/");
            let service = json!({
                "namespace": job.options.namespace, "name": Certificate::of(deployment).service,
                "path": path, "port": port(webhook),
            });
            object.value["spec"]["conversion"] = json!({
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": {"service": service},
                    "conversionReviewVersions": webhook.get("admissionReviewVersions"),
                },
            });
            inject(job, deployment, &mut object);
        }
        object
    };
    job.registry.crds.iter().map(one).collect()
}

/// The configurations: first of those that check, then of those that change.
pub fn configurations(job: &Job<'_>) -> Vec<Object> {
    let all = webhooks(job.registry);
    let mut out = Vec::new();
    for (kind, ty, is) in [
        (
            "ValidatingWebhookConfiguration",
            "admissionregistration/v1.ValidatingWebhookConfiguration",
            is_validating as fn(&Value) -> bool,
        ),
        (
            "MutatingWebhookConfiguration",
            "admissionregistration/v1.MutatingWebhookConfiguration",
            is_mutating,
        ),
    ] {
        out.extend(
            all.iter().filter(|webhook| is(webhook)).map(|webhook| configuration(job, webhook, kind, ty)),
        );
    }
    out
}

fn configuration(job: &Job<'_>, webhook: &Value, kind: &str, ty: &'static str) -> Object {
    let name = text(webhook, "/generateName");
    let name = name.strip_suffix('-').unwrap_or(name);
    let deployment = text(webhook, "/deploymentName");
    let mut one = serde_json::Map::new();
    for key in [
        "rules",
        "failurePolicy",
        "matchPolicy",
        "objectSelector",
        "sideEffects",
        "timeoutSeconds",
        "admissionReviewVersions",
        "reinvocationPolicy",
    ] {
        if let Some(value) = webhook.get(key).filter(|_| key != "reinvocationPolicy" || is_mutating(webhook))
        {
            one.insert(key.to_owned(), value.clone());
        }
    }
    let service = json!({
        "namespace": job.options.namespace, "name": Certificate::of(deployment).service,
        "path": webhook.get("webhookPath"), "port": port(webhook),
    });
    one.insert("name".to_owned(), Value::from(name));
    one.insert("clientConfig".to_owned(), json!({"service": service}));
    if !job.targets.is_empty() && !job.targets.iter().any(String::is_empty) {
        let selector = json!({"matchExpressions": [{
            "key": "kubernetes.io/metadata.name", "operator": "In", "values": job.targets,
        }]});
        one.insert("namespaceSelector".to_owned(), selector);
    }
    let value = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
        "metadata": {"name": name, "namespace": job.options.namespace},
        "webhooks": [one],
    });
    let mut object = Object::typed(ty, value);
    inject(job, deployment, &mut object);
    object
}

/// A port of a Service: what sorts it, then what it is.
type Port = (i64, i64, String, Value);

/// The Services in front of the Deployments that serve webhooks.
pub fn services(job: &Job<'_>) -> Vec<Object> {
    let mut ports: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut known: BTreeMap<String, Port> = BTreeMap::new();
    for webhook in webhooks(job.registry) {
        let number = match port(webhook) {
            number if number > 0 => number,
            _ => 443,
        };
        let target = webhook.get("targetPort").cloned().unwrap_or_else(|| Value::from(number));
        let order = match &target {
            Value::String(text) => text.parse().unwrap_or(0),
            number => number.as_i64().unwrap_or(0),
        };
        let key = format!("{number} {target}");
        known.insert(key.clone(), (number, order, key.clone(), target));
        ports.entry(text(webhook, "/deploymentName")).or_default().insert(key);
    }
    let mut out = Vec::new();
    for deployment in deployments(job.registry) {
        let name = text(deployment, "/name");
        let Some(keys) = ports.get(name) else { continue };
        let mut all: Vec<&Port> = keys.iter().filter_map(|key| known.get(key)).collect();
        all.sort_by(|a, b| (a.0, a.1, &a.2).cmp(&(b.0, b.1, &b.2)));
        let all: Vec<Value> = all
            .into_iter()
            .map(|(number, _, _, target)| json!({"name": number.to_string(), "port": number, "targetPort": target}))
            .collect();
        let value = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": Certificate::of(name).service, "namespace": job.options.namespace},
            "spec": {"ports": all, "selector": deployment.pointer("/spec/selector/matchLabels")},
        });
        let mut object = Object::typed(SERVICE, value);
        inject(job, name, &mut object);
        out.push(object);
    }
    out
}
