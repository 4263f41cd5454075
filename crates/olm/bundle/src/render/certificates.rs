//! Certificates for webhooks: who makes them, and what has to be there for that.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Job, Object};
use crate::check::webhooks;
use crate::names::joined;
use crate::value::text;

/// Who makes certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certificates {
    /// cert-manager.
    CertManager,
    /// The service CA of OpenShift.
    OpenShift,
}

/// What is called how, for the webhooks of a Deployment.
pub struct Certificate {
    /// The Service in front of them.
    pub service: String,
    /// The certificate and the Secret that has it.
    pub name: String,
}

impl Certificate {
    /// The names for a Deployment.
    pub fn of(deployment: &str) -> Self {
        let service = joined(&deployment.replace('.', "-"), "service");
        let name = joined(&service, "cert");
        Self { service, name }
    }
}

/// Has the CA put into an object, or the certificate made for a Service.
pub fn inject(job: &Job<'_>, deployment: &str, object: &mut Object) {
    let name = Certificate::of(deployment).name;
    let is_service = text(&object.value, "/kind") == "Service";
    match job.options.certificates {
        Some(Certificates::CertManager) if !is_service => {
            let from = format!("{}/{name}", job.options.namespace);
            object.annotate("cert-manager.io/inject-ca-from", &from);
        }
        Some(Certificates::OpenShift) if is_service => {
            object.annotate("service.beta.openshift.io/serving-cert-secret-name", &name);
        }
        Some(Certificates::OpenShift) => {
            object.annotate("service.beta.openshift.io/inject-cabundle", "true");
        }
        _ => {}
    }
}

/// What cert-manager makes the certificates from.
pub fn objects(job: &Job<'_>) -> Vec<Object> {
    if job.options.certificates != Some(Certificates::CertManager) {
        return Vec::new();
    }
    let all: BTreeSet<&str> = webhooks(job.registry).iter().map(|one| text(one, "/deploymentName")).collect();
    all.into_iter().flat_map(|deployment| pair(deployment, &job.options.namespace)).collect()
}

fn pair(deployment: &str, namespace: &str) -> [Object; 2] {
    let Certificate { service, name } = Certificate::of(deployment);
    let issuer = joined(&name, "selfsigned-issuer");
    let host = format!("{service}.{namespace}");
    let api_version = "cert-manager.io/v1";
    let make = |kind: &str, own: &str, spec: Value| {
        let mut metadata = json!({"name": own, "namespace": namespace});
        if namespace.is_empty()
            && let Some(metadata) = metadata.as_object_mut()
        {
            metadata.remove("namespace");
        }
        Object::plain(json!({
            "apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec, "status": {},
        }))
    };
    [
        make("Issuer", &issuer, json!({"selfSigned": {}})),
        make(
            "Certificate",
            &name,
            json!({
                "secretName": name, "commonName": host, "usages": ["server auth"],
                "dnsNames": [host, format!("{host}.svc"), format!("{host}.svc.cluster.local")],
                "issuerRef": {"name": issuer}, "duration": "17520h0m0s", "renewBefore": "24h0m0s",
            }),
        ),
    ]
}
