//! The Deployments of a ClusterServiceVersion.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::certificates::Certificate;
use super::{Job, Object, config};
use crate::check;
use crate::report::Finding;
use crate::value::{list, text};

/// The Deployments, with what the user changes about them.
pub fn deployments(job: &Job<'_>) -> Result<Vec<Object>, Finding> {
    let changes = config::read(job)?;
    let csv = &job.registry.csv.value;
    let serving: BTreeSet<&str> =
        check::webhooks(job.registry).iter().map(|one| text(one, "/deploymentName")).collect();
    let mut out = Vec::new();
    for deployment in check::deployments(job.registry) {
        let name = text(deployment, "/name");
        let mut spec = deployment.get("spec").cloned().unwrap_or_else(|| json!({}));
        let mut annotations = json!({});
        for more in [csv.pointer("/metadata/annotations"), spec.pointer("/template/metadata/annotations")] {
            merge(&mut annotations, more);
        }
        annotations["olm.targetNamespaces"] = Value::from(job.targets.join(","));
        annotations["olm.operatorNamespace"] = Value::from(job.options.namespace.as_str());
        spec["revisionHistoryLimit"] = Value::from(1);
        put(&mut spec, &["template", "metadata", "annotations"], annotations);
        let mut value = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": job.options.namespace, "labels": deployment.get("label")},
            "spec": spec,
        });
        if serving.contains(name) && job.options.certificates.is_some() {
            mount(&mut value, &Certificate::of(name).name);
        }
        config::apply(&mut value, &changes);
        out.push(Object::typed("apps/v1.Deployment", value));
    }
    Ok(out)
}

/// Adds the entries of an object to another.
fn merge(into: &mut Value, more: Option<&Value>) {
    if let (Some(into), Some(more)) = (into.as_object_mut(), more.and_then(Value::as_object)) {
        into.extend(more.clone());
    }
}

/// Sets what is at a path; objects on the way are made.
pub(super) fn put(value: &mut Value, path: &[&str], new: Value) {
    let mut here = value;
    for step in path {
        if !here.is_object() {
            *here = json!({});
        }
        here = &mut here[*step];
    }
    *here = new;
}

/// The name and the place of the volumes with certificates, and what their files are called.
const VOLUMES: [(&str, &str, &str, &str); 2] = [
    ("webhook-cert", "/tmp/k8s-webhook-server/serving-certs", "tls.crt", "tls.key"),
    ("apiservice-cert", "/apiserver.local.config/certificates", "apiserver.crt", "apiserver.key"),
];

/// Puts certificates where webhooks look for them, instead of whatever else is there.
fn mount(deployment: &mut Value, secret: &str) {
    let pods = "/spec/template/spec";
    let mut gone: BTreeSet<String> = VOLUMES.iter().map(|(name, ..)| (*name).to_owned()).collect();
    for container in list(deployment, &format!("{pods}/containers")) {
        for mount in list(container, "/volumeMounts") {
            if VOLUMES.iter().any(|(_, path, ..)| text(mount, "/mountPath") == *path) {
                gone.insert(text(mount, "/name").to_owned());
            }
        }
    }
    let kept = |all: &[Value]| -> Vec<Value> {
        all.iter().filter(|one| !gone.contains(text(one, "/name"))).cloned().collect()
    };
    let mut volumes = kept(list(deployment, &format!("{pods}/volumes")));
    volumes.extend(VOLUMES.iter().map(|(name, _, certificate, key)| {
        let items = json!([{"key": "tls.crt", "path": certificate}, {"key": "tls.key", "path": key}]);
        json!({"name": name, "secret": {"secretName": secret, "items": items}})
    }));
    put(deployment, &["spec", "template", "spec", "volumes"], Value::Array(volumes));
    let containers = deployment.pointer_mut(&format!("{pods}/containers")).and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten() {
        let mut mounts = kept(list(container, "/volumeMounts"));
        mounts.extend(VOLUMES.iter().map(|(name, path, ..)| json!({"name": name, "mountPath": path})));
        put(container, &["volumeMounts"], Value::Array(mounts));
    }
}
