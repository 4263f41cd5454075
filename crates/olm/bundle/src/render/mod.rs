//! From a bundle to the objects that the lifecycle controller puts into a cluster: the same names, the same content.

mod certificates;
mod deployment_config;
mod deployments;
mod rbac;
mod webhooks;

use std::collections::BTreeSet;

use podium_meta::Kind;
use serde_json::{Value, json};

pub use certificates::CertificateProvider;

use crate::registry_v1::RegistryV1;
use crate::report::{Finding, Rule, Validator};
use crate::types;
use crate::validation;
use crate::value::string_at;

/// Where and how a bundle is installed.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The namespace that the operator runs in.
    pub install_namespace: String,
    /// The namespaces that it watches; none is what the bundle says by itself.
    pub target_namespaces: Vec<String>,
    /// Who makes certificates for webhooks.
    pub certificate_provider: Option<CertificateProvider>,
    /// Whether bundles may be confined to namespaces (the gate `SingleOwnNamespaceInstallSupport`).
    pub single_own_namespace: bool,
    /// What the user changes about the Deployments; null for nothing.
    pub deployment_config: Value,
}

/// An object that was rendered.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderedObject {
    ty: Option<&'static str>,
    /// The object.
    pub value: Value,
}

impl RenderedObject {
    /// An object of a type of the original; what is not said is added as the type writes it.
    fn typed(ty: &'static str, value: Value) -> Self {
        let value = types::convert(ty, &value).unwrap_or(value);
        Self { ty: Some(ty), value }
    }

    pub(crate) fn untyped(value: Value) -> Self {
        Self { ty: None, value }
    }

    /// As the original marshals it: in the order of its type's fields.
    pub fn to_json(&self) -> String {
        match self.ty {
            Some(ty) => types::marshal(ty, &self.value),
            None => podium_resources::typed::write::to_json(&Kind::default(), &self.value),
        }
    }

    /// The kind and the name, for people.
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

/// What everything is rendered from.
pub(crate) struct RenderContext<'a> {
    pub bundle: &'a RegistryV1,
    pub options: &'a Options,
    pub target_namespaces: Vec<String>,
}

impl RenderContext<'_> {
    /// Whether the operator watches all namespaces.
    fn watches_all_namespaces(&self) -> bool {
        self.target_namespaces.len() == 1 && self.target_namespaces.first().is_some_and(String::is_empty)
    }
}

/// The objects of a bundle in the order in which they are made, or everything that is wrong with it.
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

/// The objects that are in the bundle as they are; some get the namespace of the installation.
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

/// The namespaces to watch, if the install modes allow them.
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
