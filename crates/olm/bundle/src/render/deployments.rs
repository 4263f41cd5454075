//! Renders the Deployments of the install strategy.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::certificates::CertificateNames;
use super::{RenderContext, RenderedObject, deployment_config};
use crate::report::Finding;
use crate::validation;
use crate::value::{array_at, string_at};

/// Renders the Deployments with certificates and deploymentConfig applied.
pub fn deployments(ctx: &RenderContext<'_>) -> Result<Vec<RenderedObject>, Finding> {
    let config = deployment_config::parse(ctx)?;
    let csv = &ctx.bundle.csv.value;
    let with_webhooks: BTreeSet<&str> = validation::webhook_definitions(ctx.bundle)
        .iter()
        .map(|one| string_at(one, "/deploymentName"))
        .collect();
    let mut out = Vec::new();
    for deployment in validation::strategy_deployments(ctx.bundle) {
        let name = string_at(deployment, "/name");
        let mut spec = deployment.get("spec").cloned().unwrap_or_else(|| json!({}));
        let mut annotations = json!({});
        for more in [csv.pointer("/metadata/annotations"), spec.pointer("/template/metadata/annotations")] {
            merge(&mut annotations, more);
        }
        annotations["olm.targetNamespaces"] = Value::from(ctx.target_namespaces.join(","));
        annotations["olm.operatorNamespace"] = Value::from(ctx.options.install_namespace.as_str());
        spec["revisionHistoryLimit"] = Value::from(1);
        set_at(&mut spec, &["template", "metadata", "annotations"], annotations);
        let mut value = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": ctx.options.install_namespace, "labels": deployment.get("label")},
            "spec": spec,
        });
        if with_webhooks.contains(name) && ctx.options.certificate_provider.is_some() {
            mount_certificates(&mut value, &CertificateNames::for_deployment(name).name);
        }
        deployment_config::apply(&mut value, &config);
        out.push(RenderedObject::typed("apps/v1.Deployment", value));
    }
    Ok(out)
}

/// Merges the entries of an object into another.
fn merge(into: &mut Value, more: Option<&Value>) {
    if let (Some(into), Some(more)) = (into.as_object_mut(), more.and_then(Value::as_object)) {
        into.extend(more.clone());
    }
}

/// Sets the value at a path and creates missing objects on the way.
pub(super) fn set_at(value: &mut Value, path: &[&str], new: Value) {
    let mut current = value;
    for key in path {
        if !current.is_object() {
            *current = json!({});
        }
        current = &mut current[*key];
    }
    *current = new;
}

/// Certificate volumes: name, mount path, certificate file and key file.
const CERTIFICATE_VOLUMES: [(&str, &str, &str, &str); 2] = [
    ("webhook-cert", "/tmp/k8s-webhook-server/serving-certs", "tls.crt", "tls.key"),
    ("apiservice-cert", "/apiserver.local.config/certificates", "apiserver.crt", "apiserver.key"),
];

/// Mounts the certificate Secret and replaces volumes with the same names or mount paths.
fn mount_certificates(deployment: &mut Value, secret: &str) {
    let pod_spec = "/spec/template/spec";
    let mut replaced: BTreeSet<String> =
        CERTIFICATE_VOLUMES.iter().map(|(name, ..)| (*name).to_owned()).collect();
    for container in array_at(deployment, &format!("{pod_spec}/containers")) {
        for mount in array_at(container, "/volumeMounts") {
            if CERTIFICATE_VOLUMES.iter().any(|(_, path, ..)| string_at(mount, "/mountPath") == *path) {
                replaced.insert(string_at(mount, "/name").to_owned());
            }
        }
    }
    let without_replaced = |all: &[Value]| -> Vec<Value> {
        all.iter().filter(|one| !replaced.contains(string_at(one, "/name"))).cloned().collect()
    };
    let mut volumes = without_replaced(array_at(deployment, &format!("{pod_spec}/volumes")));
    volumes.extend(CERTIFICATE_VOLUMES.iter().map(|(name, _, certificate, key)| {
        let items = json!([{"key": "tls.crt", "path": certificate}, {"key": "tls.key", "path": key}]);
        json!({"name": name, "secret": {"secretName": secret, "items": items}})
    }));
    set_at(deployment, &["spec", "template", "spec", "volumes"], Value::Array(volumes));
    let containers = deployment.pointer_mut(&format!("{pod_spec}/containers")).and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten() {
        let mut mounts = without_replaced(array_at(container, "/volumeMounts"));
        mounts.extend(
            CERTIFICATE_VOLUMES.iter().map(|(name, path, ..)| json!({"name": name, "mountPath": path})),
        );
        set_at(container, &["volumeMounts"], Value::Array(mounts));
    }
}
