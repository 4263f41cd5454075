//! Webhook certificates: names, provider annotations and cert-manager objects.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{RenderContext, RenderedObject};
use crate::names::object_name_with_suffix;
use crate::validation::webhook_definitions;
use crate::value::string_at;

/// Issues the certificates of webhook servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateProvider {
    /// cert-manager.
    CertManager,
    /// The OpenShift service CA operator.
    OpenShift,
}

/// Names of the Service and the certificate for the webhooks of a deployment.
pub struct CertificateNames {
    /// Service name.
    pub service: String,
    /// Name of the certificate and its Secret.
    pub name: String,
}

impl CertificateNames {
    /// Derives the names from a deployment name.
    pub fn for_deployment(deployment: &str) -> Self {
        let service = object_name_with_suffix(&deployment.replace('.', "-"), "service");
        let name = object_name_with_suffix(&service, "cert");
        Self { service, name }
    }
}

/// Adds the annotations for CA injection, or for a serving certificate if the object is a Service.
pub fn annotate_for_injection(ctx: &RenderContext<'_>, deployment: &str, object: &mut RenderedObject) {
    let name = CertificateNames::for_deployment(deployment).name;
    let is_service = string_at(&object.value, "/kind") == "Service";
    match ctx.options.certificate_provider {
        Some(CertificateProvider::CertManager) if !is_service => {
            let from = format!("{}/{name}", ctx.options.install_namespace);
            object.annotate("cert-manager.io/inject-ca-from", &from);
        }
        Some(CertificateProvider::OpenShift) if is_service => {
            object.annotate("service.beta.openshift.io/serving-cert-secret-name", &name);
        }
        Some(CertificateProvider::OpenShift) => {
            object.annotate("service.beta.openshift.io/inject-cabundle", "true");
        }
        _ => {}
    }
}

/// Renders the cert-manager objects of all webhook deployments.
pub fn additional_objects(ctx: &RenderContext<'_>) -> Vec<RenderedObject> {
    if ctx.options.certificate_provider != Some(CertificateProvider::CertManager) {
        return Vec::new();
    }
    let deployments: BTreeSet<&str> =
        webhook_definitions(ctx.bundle).iter().map(|one| string_at(one, "/deploymentName")).collect();
    deployments
        .into_iter()
        .flat_map(|deployment| issuer_and_certificate(deployment, &ctx.options.install_namespace))
        .collect()
}

fn issuer_and_certificate(deployment: &str, namespace: &str) -> [RenderedObject; 2] {
    let CertificateNames { service, name } = CertificateNames::for_deployment(deployment);
    let issuer = object_name_with_suffix(&name, "selfsigned-issuer");
    let host = format!("{service}.{namespace}");
    let api_version = "cert-manager.io/v1";
    let object = |kind: &str, object_name: &str, spec: Value| {
        let mut metadata = json!({"name": object_name, "namespace": namespace});
        if namespace.is_empty()
            && let Some(metadata) = metadata.as_object_mut()
        {
            metadata.remove("namespace");
        }
        RenderedObject::untyped(json!({
            "apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec, "status": {},
        }))
    };
    [
        object("Issuer", &issuer, json!({"selfSigned": {}})),
        object(
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
