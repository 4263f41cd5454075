//! From a bundle to the objects that the lifecycle controller puts into a cluster: the same names, the same content.

mod certificates;
mod config;
mod deployments;
mod rights;
mod webhooks;

use std::collections::BTreeSet;

use podium_meta::Kind;
use serde_json::{Value, json};

pub use certificates::Certificates;

use crate::check;
use crate::registry::Registry;
use crate::report::{Finding, Refuser, Rule};
use crate::types;
use crate::value::text;

/// Where and how a bundle is installed.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The namespace that the operator runs in.
    pub namespace: String,
    /// The namespaces that it watches; none is what the bundle says by itself.
    pub targets: Vec<String>,
    /// Who makes certificates for webhooks.
    pub certificates: Option<Certificates>,
    /// Whether bundles may be confined to namespaces (the gate `SingleOwnNamespaceInstallSupport`).
    pub namespaces: bool,
    /// What the user changes about the Deployments; null for nothing.
    pub deployment: Value,
}

/// An object that was rendered.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    ty: Option<&'static str>,
    /// The object.
    pub value: Value,
}

impl Object {
    /// An object of a type of the original; what is not said is added as the type writes it.
    fn typed(ty: &'static str, value: Value) -> Self {
        let value = types::retyped(ty, &value).unwrap_or(value);
        Self { ty: Some(ty), value }
    }

    pub(crate) fn plain(value: Value) -> Self {
        Self { ty: None, value }
    }

    /// As the original marshals it: in the order of its type's fields.
    pub fn to_json(&self) -> String {
        match self.ty {
            Some(ty) => types::written(ty, &self.value),
            None => podium_resources::typed::write::to_json(&Kind::default(), &self.value),
        }
    }

    /// The kind and the name, for people.
    pub fn name(&self) -> String {
        format!("{}/{}", text(&self.value, "/kind"), text(&self.value, "/metadata/name"))
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
pub(crate) struct Job<'a> {
    pub registry: &'a Registry,
    pub options: &'a Options,
    pub targets: Vec<String>,
}

impl Job<'_> {
    /// Whether the operator watches all namespaces.
    fn everywhere(&self) -> bool {
        self.targets.len() == 1 && self.targets.first().is_some_and(String::is_empty)
    }
}

/// The objects of a bundle in the order in which they are made, or everything that is wrong with it.
pub fn render(registry: &Registry, options: &Options) -> Result<Vec<Object>, Vec<Finding>> {
    let mut findings = check::acceptance(registry, options);
    findings.extend(check::all(registry));
    let targets = match targets(registry, options) {
        Ok(targets) => targets,
        Err(finding) => {
            findings.push(finding);
            Vec::new()
        }
    };
    findings.extend(webhooks::preserved(registry));
    if !findings.is_empty() {
        return Err(findings);
    }
    let job = Job { registry, options, targets };
    let mut objects = rights::accounts(&job);
    objects.extend(rights::roles(&job));
    objects.extend(rights::cluster_roles(&job));
    objects.extend(webhooks::definitions(&job));
    objects.extend(others(&job));
    objects.extend(deployments::deployments(&job).map_err(|finding| vec![finding])?);
    objects.extend(webhooks::configurations(&job));
    objects.extend(webhooks::services(&job));
    objects.extend(certificates::objects(&job));
    Ok(objects)
}

/// The objects that are in the bundle as they are; some get the namespace of the installation.
fn others(job: &Job<'_>) -> Vec<Object> {
    let one = |placed: &crate::registry::Placed| {
        let mut value = placed.value.clone();
        let kind = text(&value, "/kind");
        let namespaced = check::KINDS.iter().any(|(known, namespaced)| *known == kind && *namespaced);
        if namespaced && let Some(object) = value.as_object_mut() {
            let metadata = object.entry("metadata").or_insert_with(|| json!({}));
            if let Some(metadata) = metadata.as_object_mut() {
                if job.options.namespace.is_empty() {
                    metadata.remove("namespace");
                } else {
                    metadata.insert("namespace".to_owned(), Value::from(job.options.namespace.as_str()));
                }
            }
        }
        Object::plain(value)
    };
    job.registry.others.iter().map(one).collect()
}

/// The namespaces to watch, if the install modes allow them.
fn targets(registry: &Registry, options: &Options) -> Result<Vec<String>, Finding> {
    let modes = check::modes(registry);
    let targets = match options.targets.as_slice() {
        [] if modes.contains("AllNamespaces") => vec![String::new()],
        given => given.to_vec(),
    };
    let set: BTreeSet<&str> = targets.iter().map(String::as_str).collect();
    let own = options.namespace.as_str();
    let listed = || modes.iter().copied().collect::<Vec<_>>().join(" ");
    let wrong = |words: String| {
        let place = (registry.csv.file.as_str(), registry.csv.line(&["spec", "installModes"]));
        let words = format!("invalid option(s): invalid target namespaces [{}]: {words}", targets.join(" "));
        Err(Finding::new(Refuser::Controller, Rule::TargetNamespaces, place, words))
    };
    let not_own = || format!("supported install modes [{}] do not support targeting own namespace", listed());
    match set.len() {
        0 if modes.contains("MultiNamespace") => {
            return wrong("at least one target namespace must be specified".to_owned());
        }
        0 => return wrong("exactly one target namespace must be specified".to_owned()),
        1 if set.contains("") => {
            if !modes.contains("AllNamespaces") {
                let words =
                    format!("supported install modes [{}] do not support targeting all namespaces", listed());
                return wrong(words);
            }
            return Ok(targets);
        }
        1 if set.contains(own) => {
            if !modes.contains("OwnNamespace") {
                return wrong(not_own());
            }
            return Ok(targets);
        }
        1 if modes.contains("SingleNamespace") => return Ok(targets),
        1 => {}
        _ => {
            if !modes.contains("OwnNamespace") && set.contains(own) {
                return wrong(not_own());
            }
            if modes.contains("MultiNamespace") && !set.contains("") {
                return Ok(targets);
            }
        }
    }
    wrong(format!(
        "supported install modes [{}] do not support target namespaces [{}]",
        listed(),
        targets.join(" ")
    ))
}
