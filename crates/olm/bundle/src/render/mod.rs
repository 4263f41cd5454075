//! Renders a registry+v1 bundle to the objects that operator-controller applies.

mod certificates;
mod deployment_config;
mod deployments;
mod rbac;
mod webhooks;

use std::collections::BTreeSet;

use podium_meta::GroupVersionKind;
use serde_json::{Value, json};

pub use certificates::CertificateProvider;

use crate::registry_v1::RegistryV1;
use crate::report::{Finding, Rule, Validator};
use crate::types;
use crate::validation;
use crate::value::string_at;

/// How a bundle is installed.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Namespace of the operator.
    pub install_namespace: String,
    /// Namespaces that the operator watches; empty for the default of the install modes.
    pub target_namespaces: Vec<String>,
    /// Provider of webhook certificates.
    pub certificate_provider: Option<CertificateProvider>,
    /// Whether SingleNamespace and OwnNamespace installs are allowed (feature gate
    /// `SingleOwnNamespaceInstallSupport`).
    pub single_own_namespace: bool,
    /// The user's deploymentConfig; null for none.
    pub deployment_config: Value,
}

/// A rendered object.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderedObject {
    ty: Option<&'static str>,
    /// The object.
    pub value: Value,
}

impl RenderedObject {
    /// Creates an object of a Go type, with the fields that the type always marshals.
    fn typed(ty: &'static str, value: Value) -> Self {
        let value = types::convert(ty, &value).unwrap_or(value);
        Self { ty: Some(ty), value }
    }

    pub(crate) fn untyped(value: Value) -> Self {
        Self { ty: None, value }
    }

    /// Marshals the object like operator-controller, in the field order of its type.
    pub fn to_json(&self) -> String {
        match self.ty {
            Some(ty) => types::marshal(ty, &self.value),
            None => podium_resources::typed::write::to_json(&GroupVersionKind::default(), &self.value),
        }
    }

    /// Returns `KIND/NAME`.
    pub fn kind_and_name(&self) -> String {
        format!("{}/{}", string_at(&self.value, "/kind"), string_at(&self.value, "/metadata/name"))
    }

    fn annotate(&mut self, key: &str, value: &str) {
        let metadata = self.value.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(metadata) = metadata {
            let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
            if let Some(annotations) = annotations.as_object_mut() {
                annotations.insert(key.to_owned(), Value::from(value));
            }
        }
    }
}

/// Input of all renderers.
pub(crate) struct RenderContext<'a> {
    pub bundle: &'a RegistryV1,
    pub options: &'a Options,
    pub target_namespaces: Vec<String>,
}

impl RenderContext<'_> {
    /// Reports whether the operator watches all namespaces.
    fn watches_all_namespaces(&self) -> bool {
        self.target_namespaces.len() == 1 && self.target_namespaces.first().is_some_and(String::is_empty)
    }
}

/// Renders the objects of a bundle in upstream's order, or returns all findings.
pub fn render(bundle: &RegistryV1, options: &Options) -> Result<Vec<RenderedObject>, Vec<Finding>> {
    let mut findings = validation::check_install_support(bundle, options);
    findings.extend(validation::check_bundle(bundle));
    let target_namespaces = match resolve_target_namespaces(bundle, options) {
        Ok(target_namespaces) => target_namespaces,
        Err(finding) => {
            findings.push(finding);
            Vec::new()
        }
    };
    findings.extend(webhooks::check_preserve_unknown_fields(bundle));
    if !findings.is_empty() {
        return Err(findings);
    }
    let ctx = RenderContext { bundle, options, target_namespaces };
    let mut objects = rbac::service_accounts(&ctx);
    objects.extend(rbac::roles(&ctx));
    objects.extend(rbac::cluster_roles(&ctx));
    objects.extend(webhooks::crds(&ctx));
    objects.extend(additional_resources(&ctx));
    objects.extend(deployments::deployments(&ctx).map_err(|finding| vec![finding])?);
    objects.extend(webhooks::webhook_configurations(&ctx));
    objects.extend(webhooks::services(&ctx));
    objects.extend(certificates::additional_objects(&ctx));
    Ok(objects)
}

/// Renders the remaining objects of the bundle; namespaced ones are placed into the install namespace.
fn additional_resources(ctx: &RenderContext<'_>) -> Vec<RenderedObject> {
    let render = |manifest: &crate::registry_v1::Manifest| {
        let mut value = manifest.value.clone();
        let kind = string_at(&value, "/kind");
        let namespaced =
            validation::SUPPORTED_KINDS.iter().any(|(known, namespaced)| *known == kind && *namespaced);
        if namespaced && let Some(object) = value.as_object_mut() {
            let metadata = object.entry("metadata").or_insert_with(|| json!({}));
            if let Some(metadata) = metadata.as_object_mut() {
                if ctx.options.install_namespace.is_empty() {
                    metadata.remove("namespace");
                } else {
                    metadata
                        .insert("namespace".to_owned(), Value::from(ctx.options.install_namespace.as_str()));
                }
            }
        }
        RenderedObject::untyped(value)
    };
    ctx.bundle.others.iter().map(render).collect()
}

/// Resolves the target namespaces and checks them against the install modes.
fn resolve_target_namespaces(bundle: &RegistryV1, options: &Options) -> Result<Vec<String>, Finding> {
    let install_modes = validation::supported_install_modes(bundle);
    let target_namespaces = match options.target_namespaces.as_slice() {
        [] if install_modes.contains("AllNamespaces") => vec![String::new()],
        requested => requested.to_vec(),
    };
    let unique: BTreeSet<&str> = target_namespaces.iter().map(String::as_str).collect();
    let install_namespace = options.install_namespace.as_str();
    let mode_list = || install_modes.iter().copied().collect::<Vec<_>>().join(" ");
    let invalid = |message: String| {
        let location = (bundle.csv.file.as_str(), bundle.csv.line_of(&["spec", "installModes"]));
        let message = format!(
            "invalid option(s): invalid target namespaces [{}]: {message}",
            target_namespaces.join(" ")
        );
        Err(Finding::new(Validator::Controller, Rule::TargetNamespaces, location, message))
    };
    let own_namespace_unsupported =
        || format!("supported install modes [{}] do not support targeting own namespace", mode_list());
    match unique.len() {
        0 if install_modes.contains("MultiNamespace") => {
            return invalid("at least one target namespace must be specified".to_owned());
        }
        0 => return invalid("exactly one target namespace must be specified".to_owned()),
        1 if unique.contains("") => {
            if !install_modes.contains("AllNamespaces") {
                let message = format!(
                    "supported install modes [{}] do not support targeting all namespaces",
                    mode_list()
                );
                return invalid(message);
            }
            return Ok(target_namespaces);
        }
        1 if unique.contains(install_namespace) => {
            if !install_modes.contains("OwnNamespace") {
                return invalid(own_namespace_unsupported());
            }
            return Ok(target_namespaces);
        }
        1 if install_modes.contains("SingleNamespace") => return Ok(target_namespaces),
        1 => {}
        _ => {
            if !install_modes.contains("OwnNamespace") && unique.contains(install_namespace) {
                return invalid(own_namespace_unsupported());
            }
            if install_modes.contains("MultiNamespace") && !unique.contains("") {
                return Ok(target_namespaces);
            }
        }
    }
    invalid(format!(
        "supported install modes [{}] do not support target namespaces [{}]",
        mode_list(),
        target_namespaces.join(" ")
    ))
}
