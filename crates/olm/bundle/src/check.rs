//! What the lifecycle controller checks of a bundle that it could read, in its words.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::names::subdomain;
use crate::registry::{Placed, Registry};
use crate::render::Options;
use crate::report::{Finding, Refuser, Rule};
use crate::value::{list, text};

const VALIDATING: &str = "ValidatingAdmissionWebhook";
const MUTATING: &str = "MutatingAdmissionWebhook";
const CONVERSION: &str = "ConversionWebhook";

/// The kinds that bundles can have, and whether they are put in the namespace of the installation.
pub const KINDS: &[(&str, bool)] = &[
    ("ClusterServiceVersion", true),
    ("CustomResourceDefinition", false),
    ("ClusterRole", false),
    ("ClusterRoleBinding", false),
    ("Service", true),
    ("ServiceAccount", true),
    ("Role", true),
    ("RoleBinding", true),
    ("PrometheusRule", true),
    ("ServiceMonitor", true),
    ("Secret", true),
    ("ConfigMap", true),
    ("PodDisruptionBudget", true),
    ("PriorityClass", false),
    ("VerticalPodAutoscaler", false),
    ("ConsoleYAMLSample", false),
    ("ConsoleQuickStart", false),
    ("ConsoleCLIDownload", false),
    ("ConsoleLink", false),
    ("ConsolePlugin", false),
    ("NetworkPolicy", true),
    ("PodMonitor", true),
];

/// The modes that a ClusterServiceVersion says that it supports.
pub fn modes(registry: &Registry) -> BTreeSet<&str> {
    let supported = |mode: &&Value| mode.get("supported").and_then(Value::as_bool) == Some(true);
    list(&registry.csv.value, "/spec/installModes")
        .iter()
        .filter(supported)
        .map(|mode| text(mode, "/type"))
        .collect()
}

/// The webhooks, each with its number.
pub fn webhooks(registry: &Registry) -> &[Value] {
    list(&registry.csv.value, "/spec/webhookdefinitions")
}

/// The Deployments.
pub fn deployments(registry: &Registry) -> &[Value] {
    list(&registry.csv.value, "/spec/install/spec/deployments")
}

/// Of which kind a webhook is.
pub fn is_validating(webhook: &Value) -> bool {
    text(webhook, "/type") == VALIDATING
}

/// Of which kind a webhook is.
pub fn is_mutating(webhook: &Value) -> bool {
    text(webhook, "/type") == MUTATING
}

/// Of which kind a webhook is.
pub fn is_conversion(webhook: &Value) -> bool {
    text(webhook, "/type") == CONVERSION
}

struct Report<'r> {
    registry: &'r Registry,
    findings: Vec<Finding>,
}

impl Report<'_> {
    fn csv(&mut self, rule: Rule, path: &[&str], text: String) {
        let line = self.registry.csv.line(path);
        self.at(rule, (self.registry.csv.file.clone(), line), text);
    }

    fn object(&mut self, rule: Rule, object: &Placed, text: String) {
        self.at(rule, (object.file.clone(), object.node.pos.line), text);
    }

    fn at(&mut self, rule: Rule, (file, line): (String, u32), text: String) {
        self.findings.push(Finding { file, line, rule, by: Refuser::Controller, text });
    }

    /// The number of the last of several that a test is true of.
    fn last(all: &[Value], is: impl Fn(&Value) -> bool) -> String {
        all.iter().rposition(is).unwrap_or_default().to_string()
    }
}

/// What is refused whatever it is rendered with.
pub fn all(registry: &Registry) -> Vec<Finding> {
    let mut report = Report { registry, findings: Vec::new() };
    duplicate_deployments(&mut report);
    deployment_names(&mut report);
    definitions(&mut report);
    if registry.package.is_empty() {
        let place = (crate::ANNOTATIONS_FILE.to_owned(), 0);
        report.at(Rule::PackageName, place, "package name is empty".to_owned());
    }
    conversion_modes(&mut report);
    webhook_deployments(&mut report);
    duplicate_webhooks(&mut report);
    webhook_names(&mut report);
    conversions(&mut report);
    webhook_rules(&mut report);
    for object in &registry.others {
        let kind = text(&object.value, "/kind");
        if !KINDS.iter().any(|(known, _)| *known == kind) {
            let name = text(&object.value, "/metadata/name");
            report.object(Rule::Kind, object, format!("unsupported resource {name:?} with kind {kind:?}"));
        }
    }
    report.findings
}

/// What is refused because of where and how it would be installed.
pub fn acceptance(registry: &Registry, options: &Options) -> Vec<Finding> {
    let mut report = Report { registry, findings: Vec::new() };
    if !list(&registry.csv.value, "/spec/apiservicedefinitions/owned").is_empty() {
        let text = "unsupported bundle: apiServiceDefintions are not supported".to_owned();
        report.csv(Rule::ApiService, &["spec", "apiservicedefinitions", "owned"], text);
    }
    if !webhooks(registry).is_empty() && options.certificates.is_none() {
        let text = "unsupported bundle: webhookDefinitions are not supported".to_owned();
        report.csv(Rule::Certificates, &["spec", "webhookdefinitions"], text);
    }
    let modes = modes(registry);
    if !options.namespaces && !modes.contains("AllNamespaces") {
        let text = "unsupported bundle: bundle does not support AllNamespaces install mode".to_owned();
        report.csv(Rule::AllNamespaces, &["spec", "installModes"], text);
    } else if !["AllNamespaces", "SingleNamespace", "OwnNamespace"].iter().any(|mode| modes.contains(mode)) {
        let text = "unsupported bundle: bundle must support at least one of [AllNamespaces SingleNamespace \
                    OwnNamespace] install modes"
            .to_owned();
        report.csv(Rule::InstallModes, &["spec", "installModes"], text);
    }
    report.findings
}

fn duplicate_deployments(report: &mut Report<'_>) {
    let all = deployments(report.registry);
    for name in doubles(all.iter().map(|one| text(one, "/name"))) {
        let at = Report::last(all, |one| text(one, "/name") == name);
        let words = format!("cluster service version contains duplicate strategy deployment spec '{name}'");
        report.csv(
            Rule::DuplicateDeployment,
            &["spec", "install", "spec", "deployments", &at, "name"],
            words,
        );
    }
}

/// The texts that are there more than once, sorted.
fn doubles<'t>(all: impl Iterator<Item = &'t str>) -> BTreeSet<&'t str> {
    let mut seen = BTreeSet::new();
    all.filter(|one| !seen.insert(*one)).collect()
}

fn deployment_names(report: &mut Report<'_>) {
    let all = deployments(report.registry);
    let names: BTreeSet<&str> = all.iter().map(|one| text(one, "/name")).collect();
    for name in names {
        let problems = subdomain(name);
        if !problems.is_empty() {
            let at = Report::last(all, |one| text(one, "/name") == name);
            let words = format!(
                "invalid cluster service version strategy deployment name '{name}': {}",
                problems.join(", ")
            );
            report.csv(Rule::DeploymentName, &["spec", "install", "spec", "deployments", &at, "name"], words);
        }
    }
}

fn definitions(report: &mut Report<'_>) {
    let registry = report.registry;
    let name = |crd: &Placed| text(&crd.value, "/metadata/name").to_owned();
    let names: Vec<String> = registry.crds.iter().map(name).collect();
    for double in doubles(names.iter().map(String::as_str)) {
        if let Some(crd) = registry.crds.iter().rfind(|crd| name(crd) == double) {
            let words = format!("bundle contains duplicate custom resource definition '{double}'");
            report.object(Rule::DuplicateCrd, crd, words);
        }
    }
    let owned = list(&registry.csv.value, "/spec/customresourcedefinitions/owned");
    let missing: BTreeSet<&str> = owned
        .iter()
        .map(|one| text(one, "/name"))
        .filter(|owned| !names.iter().any(|name| name == owned))
        .collect();
    for name in missing {
        let at = Report::last(owned, |one| text(one, "/name") == name);
        let words = format!(
            "cluster service definition references owned custom resource definition '{name}' not found in bundle"
        );
        report.csv(Rule::OwnedCrd, &["spec", "customresourcedefinitions", "owned", &at], words);
    }
}

fn conversion_modes(report: &mut Report<'_>) {
    let registry = report.registry;
    let modes = modes(registry);
    if modes.len() == 1 && modes.contains("AllNamespaces") {
        return;
    }
    let listed = modes.iter().copied().collect::<Vec<_>>().join(" ");
    for (at, webhook) in webhooks(registry).iter().enumerate().filter(|(_, webhook)| is_conversion(webhook)) {
        let words = format!(
            "bundle contains conversion webhook {:?} and supports install modes [{listed}] - conversion webhooks are \
             only supported for bundles that only support AllNamespaces install mode",
            text(webhook, "/generateName")
        );
        report.csv(Rule::ConversionModes, &["spec", "webhookdefinitions", &at.to_string()], words);
    }
}

fn webhook_deployments(report: &mut Report<'_>) {
    let registry = report.registry;
    let known: BTreeSet<&str> = deployments(registry).iter().map(|one| text(one, "/name")).collect();
    let mut lost: Vec<(&str, &str, &str, usize)> = webhooks(registry)
        .iter()
        .enumerate()
        .map(|(at, one)| (text(one, "/deploymentName"), text(one, "/type"), text(one, "/generateName"), at))
        .filter(|(deployment, ..)| !known.contains(deployment))
        .collect();
    lost.sort();
    for (deployment, ty, name, at) in lost {
        let words = format!(
            "webhook of type '{ty}' with name '{name}' references non-existent deployment '{deployment}'"
        );
        report.csv(
            Rule::WebhookDeployment,
            &["spec", "webhookdefinitions", &at.to_string(), "deploymentName"],
            words,
        );
    }
}

fn duplicate_webhooks(report: &mut Report<'_>) {
    let all = webhooks(report.registry);
    let mut seen = BTreeSet::new();
    let mut doubles = BTreeMap::new();
    for (at, webhook) in all.iter().enumerate() {
        let key = (text(webhook, "/type"), text(webhook, "/generateName"));
        if !seen.insert(key) {
            doubles.insert(key, at);
        }
    }
    for ((ty, name), at) in doubles {
        let path = ["spec", "webhookdefinitions", &at.to_string(), "generateName"];
        report.csv(Rule::DuplicateWebhook, &path, format!("duplicate webhook '{name}' of type '{ty}'"));
    }
}

fn webhook_names(report: &mut Report<'_>) {
    let mut bad = BTreeMap::new();
    for (at, webhook) in webhooks(report.registry).iter().enumerate() {
        let name = text(webhook, "/generateName");
        let problems = subdomain(name);
        if !problems.is_empty() {
            bad.insert((text(webhook, "/type"), name), (at, problems));
        }
    }
    for ((ty, name), (at, problems)) in bad {
        let path = ["spec", "webhookdefinitions", &at.to_string(), "generateName"];
        let words = format!("webhook of type '{ty}' has invalid name '{name}': {}", problems.join(","));
        report.csv(Rule::WebhookName, &path, words);
    }
}

fn conversions(report: &mut Report<'_>) {
    let registry = report.registry;
    let mut by_crd: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    let mut all: Vec<(&str, usize, Vec<&str>)> = Vec::new();
    for (at, webhook) in webhooks(registry).iter().enumerate().filter(|(_, webhook)| is_conversion(webhook)) {
        let name = text(webhook, "/generateName");
        let mut crds: Vec<&str> = list(webhook, "/conversionCRDs").iter().filter_map(Value::as_str).collect();
        for crd in &crds {
            by_crd.entry(crd).or_default().push((name, at));
        }
        crds.sort_unstable();
        all.push((name, at, crds));
    }
    for (crd, mut names) in by_crd.into_iter().filter(|(_, names)| names.len() > 1) {
        names.sort_unstable();
        let at = names.iter().map(|(_, at)| *at).max().unwrap_or_default();
        let listed = names.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(",");
        let words =
            format!("conversion webhooks [{listed}] reference same custom resource definition '{crd}'");
        report.csv(Rule::ConversionTwice, &["spec", "webhookdefinitions", &at.to_string()], words);
    }
    let owned = list(&registry.csv.value, "/spec/customresourcedefinitions/owned");
    let owned: BTreeSet<&str> = owned.iter().map(|one| text(one, "/name")).collect();
    all.sort();
    for (name, at, crds) in all {
        for crd in crds.into_iter().filter(|crd| !owned.contains(crd)) {
            let words = format!(
                "conversion webhook '{name}' references custom resource definition '{crd}' not owned bundle"
            );
            report.csv(
                Rule::ConversionForeign,
                &["spec", "webhookdefinitions", &at.to_string(), "conversionCRDs"],
                words,
            );
        }
    }
}

const ADMISSION: &str = "admissionregistration.k8s.io";
const OF_ADMISSION: [&str; 5] = [
    "*",
    "mutatingwebhookconfiguration",
    "mutatingwebhookconfigurations",
    "validatingwebhookconfiguration",
    "validatingwebhookconfigurations",
];

fn webhook_rules(report: &mut Report<'_>) {
    let registry = report.registry;
    for (at, webhook) in webhooks(registry).iter().enumerate().filter(|(_, webhook)| !is_conversion(webhook))
    {
        let name = text(webhook, "/generateName");
        for (number, rule) in list(webhook, "/rules").iter().enumerate() {
            let path = ["spec", "webhookdefinitions", &at.to_string(), "rules", &number.to_string()];
            for group in list(rule, "/apiGroups").iter().filter_map(Value::as_str) {
                if matches!(group, "*" | "olm.operatorframework.io") {
                    let words = format!(
                        "webhook {name:?} contains forbidden rule: admission webhook rules cannot reference API group \
                         {group:?}"
                    );
                    report.csv(Rule::WebhookRule, &path, words);
                }
                let resources = list(rule, "/resources").iter().filter_map(Value::as_str);
                for resource in resources.filter(|_| group == ADMISSION) {
                    if OF_ADMISSION.contains(&resource.to_lowercase().as_str()) {
                        let words = format!(
                            "webhook {name:?} contains forbidden rule: admission webhook rules cannot reference \
                             resource {resource:?} for API group {group:?}"
                        );
                        report.csv(Rule::WebhookRule, &path, words);
                    }
                }
            }
        }
    }
}
