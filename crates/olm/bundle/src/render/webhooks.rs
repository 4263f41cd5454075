//! Renders webhook configurations, webhook Services and CRDs with conversion webhooks.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::certificates::{CertificateNames, annotate_for_injection};
use super::{RenderContext, RenderedObject};
use crate::registry_v1::RegistryV1;
use crate::report::{Finding, Rule, Validator};
use crate::validation::{
    is_conversion, is_mutating, is_validating, strategy_deployments, webhook_definitions,
};
use crate::value::{array_at, string_at};

const SERVICE_TYPE: &str = "core/v1.Service";
const CRD_TYPE: &str = "apiextensions/v1.CustomResourceDefinition";

fn conversion_webhooks_by_crd(bundle: &RegistryV1) -> BTreeMap<&str, &Value> {
    let mut all = BTreeMap::new();
    for webhook in webhook_definitions(bundle).iter().filter(|webhook| is_conversion(webhook)) {
        for crd in array_at(webhook, "/conversionCRDs").iter().filter_map(Value::as_str) {
            all.insert(crd, webhook);
        }
    }
    all
}

/// Rejects CRDs with a conversion webhook that preserve unknown fields.
pub fn check_preserve_unknown_fields(bundle: &RegistryV1) -> Vec<Finding> {
    let conversion_webhooks_by_crd = conversion_webhooks_by_crd(bundle);
    let preserves = |crd: &&crate::registry_v1::Manifest| {
        conversion_webhooks_by_crd.contains_key(string_at(&crd.value, "/metadata/name"))
            && crd.value.pointer("/spec/preserveUnknownFields") == Some(&Value::Bool(true))
    };
    let finding = |crd: &crate::registry_v1::Manifest| {
        let message = format!(
            "custom resource definition '{}' must have .spec.preserveUnknownFields set to false to let API Server call \
             webhook to do the conversion",
            string_at(&crd.value, "/metadata/name")
        );
        let line = crd.line_of(&["spec", "preserveUnknownFields"]);
        Finding::new(Validator::Controller, Rule::ConversionPreserve, (&crd.file, line), message)
    };
    bundle.crds.iter().filter(preserves).map(finding).collect()
}

fn container_port(webhook: &Value) -> i64 {
    webhook.get("containerPort").and_then(Value::as_i64).unwrap_or(0)
}

/// Renders the CRDs of the bundle.
pub fn crds(ctx: &RenderContext<'_>) -> Vec<RenderedObject> {
    let conversion_webhooks_by_crd = conversion_webhooks_by_crd(ctx.bundle);
    let one = |crd: &crate::registry_v1::Manifest| {
        let mut object = RenderedObject { ty: Some(CRD_TYPE), value: crd.value.clone() };
        if let Some(webhook) = conversion_webhooks_by_crd.get(string_at(&crd.value, "/metadata/name")) {
            let deployment = string_at(webhook, "/deploymentName");
            let path = webhook.get("webhookPath").and_then(Value::as_str).unwrap_or("/");
            let service = json!({
                "namespace": ctx.options.install_namespace, "name": CertificateNames::for_deployment(deployment).service,
                "path": path, "port": container_port(webhook),
            });
            object.value["spec"]["conversion"] = json!({
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": {"service": service},
                    "conversionReviewVersions": webhook.get("admissionReviewVersions"),
                },
            });
            annotate_for_injection(ctx, deployment, &mut object);
        }
        object
    };
    ctx.bundle.crds.iter().map(one).collect()
}

/// Renders the webhook configurations, validating before mutating.
pub fn webhook_configurations(ctx: &RenderContext<'_>) -> Vec<RenderedObject> {
    let all = webhook_definitions(ctx.bundle);
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
            all.iter()
                .filter(|webhook| is(webhook))
                .map(|webhook| webhook_configuration(ctx, webhook, kind, ty)),
        );
    }
    out
}

fn webhook_configuration(
    ctx: &RenderContext<'_>,
    webhook: &Value,
    kind: &str,
    ty: &'static str,
) -> RenderedObject {
    let name = string_at(webhook, "/generateName");
    let name = name.strip_suffix('-').unwrap_or(name);
    let deployment = string_at(webhook, "/deploymentName");
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
        "namespace": ctx.options.install_namespace, "name": CertificateNames::for_deployment(deployment).service,
        "path": webhook.get("webhookPath"), "port": container_port(webhook),
    });
    one.insert("name".to_owned(), Value::from(name));
    one.insert("clientConfig".to_owned(), json!({"service": service}));
    if !ctx.target_namespaces.is_empty() && !ctx.target_namespaces.iter().any(String::is_empty) {
        let selector = json!({"matchExpressions": [{
            "key": "kubernetes.io/metadata.name", "operator": "In", "values": ctx.target_namespaces,
        }]});
        one.insert("namespaceSelector".to_owned(), selector);
    }
    let value = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
        "metadata": {"name": name, "namespace": ctx.options.install_namespace},
        "webhooks": [one],
    });
    let mut object = RenderedObject::typed(ty, value);
    annotate_for_injection(ctx, deployment, &mut object);
    object
}

/// A Service port: sort keys and target port.
type ServicePort = (i64, i64, String, Value);

/// Renders the Services of the deployments that serve webhooks.
pub fn services(ctx: &RenderContext<'_>) -> Vec<RenderedObject> {
    let mut ports: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut known: BTreeMap<String, ServicePort> = BTreeMap::new();
    for webhook in webhook_definitions(ctx.bundle) {
        let number = match container_port(webhook) {
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
        ports.entry(string_at(webhook, "/deploymentName")).or_default().insert(key);
    }
    let mut out = Vec::new();
    for deployment in strategy_deployments(ctx.bundle) {
        let name = string_at(deployment, "/name");
        let Some(keys) = ports.get(name) else { continue };
        let mut all: Vec<&ServicePort> = keys.iter().filter_map(|key| known.get(key)).collect();
        all.sort_by(|a, b| (a.0, a.1, &a.2).cmp(&(b.0, b.1, &b.2)));
        let all: Vec<Value> = all
            .into_iter()
            .map(|(number, _, _, target)| json!({"name": number.to_string(), "port": number, "targetPort": target}))
            .collect();
        let value = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": CertificateNames::for_deployment(name).service, "namespace": ctx.options.install_namespace},
            "spec": {"ports": all, "selector": deployment.pointer("/spec/selector/matchLabels")},
        });
        let mut object = RenderedObject::typed(SERVICE_TYPE, value);
        annotate_for_injection(ctx, name, &mut object);
        out.push(object);
    }
    out
}
