//! operator-controller's bundle validation, with its messages.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::names::validate_dns1123_subdomain;
use crate::registry_v1::{Manifest, RegistryV1};
use crate::render::Options;
use crate::report::{Finding, Rule, Validator};
use crate::value::{array_at, string_at};

const VALIDATING: &str = "ValidatingAdmissionWebhook";
const MUTATING: &str = "MutatingAdmissionWebhook";
const CONVERSION: &str = "ConversionWebhook";

/// Supported kinds of bundle objects, and whether they are placed into the install namespace.
pub const SUPPORTED_KINDS: &[(&str, bool)] = &[
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

/// Returns the install modes that the CSV supports.
pub fn supported_install_modes(bundle: &RegistryV1) -> BTreeSet<&str> {
    let supported = |mode: &&Value| mode.get("supported").and_then(Value::as_bool) == Some(true);
    array_at(&bundle.csv.value, "/spec/installModes")
        .iter()
        .filter(supported)
        .map(|mode| string_at(mode, "/type"))
        .collect()
}

/// Returns the webhook definitions of the CSV.
pub fn webhook_definitions(bundle: &RegistryV1) -> &[Value] {
    array_at(&bundle.csv.value, "/spec/webhookdefinitions")
}

/// Returns the deployments of the install strategy.
pub fn strategy_deployments(bundle: &RegistryV1) -> &[Value] {
    array_at(&bundle.csv.value, "/spec/install/spec/deployments")
}

/// Reports whether a webhook definition is a validating admission webhook.
pub fn is_validating(webhook: &Value) -> bool {
    string_at(webhook, "/type") == VALIDATING
}

/// Reports whether a webhook definition is a mutating admission webhook.
pub fn is_mutating(webhook: &Value) -> bool {
    string_at(webhook, "/type") == MUTATING
}

/// Reports whether a webhook definition is a conversion webhook.
pub fn is_conversion(webhook: &Value) -> bool {
    string_at(webhook, "/type") == CONVERSION
}

struct FindingCollector<'r> {
    bundle: &'r RegistryV1,
    items: Vec<Finding>,
}

impl FindingCollector<'_> {
    fn add_csv(&mut self, rule: Rule, path: &[&str], message: String) {
        let line = self.bundle.csv.line_of(path);
        self.add(rule, (self.bundle.csv.file.clone(), line), message);
    }

    fn add_object(&mut self, rule: Rule, object: &Manifest, message: String) {
        self.add(rule, (object.file.clone(), object.node.pos.line), message);
    }

    fn add(&mut self, rule: Rule, (file, line): (String, u32), message: String) {
        self.items.push(Finding { file, line, rule, validator: Validator::Controller, message });
    }

    /// Returns the index of the last matching element, as a path segment.
    fn last_index(all: &[Value], predicate: impl Fn(&Value) -> bool) -> String {
        all.iter().rposition(predicate).unwrap_or_default().to_string()
    }
}

/// Checks the bundle itself, independent of render options.
pub fn check_bundle(bundle: &RegistryV1) -> Vec<Finding> {
    let mut findings = FindingCollector { bundle, items: Vec::new() };
    duplicate_deployments(&mut findings);
    deployment_names(&mut findings);
    duplicate_and_missing_crds(&mut findings);
    if bundle.package.is_empty() {
        let location = (crate::ANNOTATIONS_FILE.to_owned(), 0);
        findings.add(Rule::PackageName, location, "package name is empty".to_owned());
    }
    conversion_webhook_install_modes(&mut findings);
    webhook_deployments(&mut findings);
    duplicate_webhooks(&mut findings);
    webhook_names(&mut findings);
    conversion_webhook_crds(&mut findings);
    webhook_rules(&mut findings);
    for object in &bundle.others {
        let kind = string_at(&object.value, "/kind");
        if !SUPPORTED_KINDS.iter().any(|(known, _)| *known == kind) {
            let name = string_at(&object.value, "/metadata/name");
            findings.add_object(
                Rule::Kind,
                object,
                format!("unsupported resource {name:?} with kind {kind:?}"),
            );
        }
    }
    findings.items
}

/// Checks whether the bundle can be installed with these options.
pub fn check_install_support(bundle: &RegistryV1, options: &Options) -> Vec<Finding> {
    let mut findings = FindingCollector { bundle, items: Vec::new() };
    if !array_at(&bundle.csv.value, "/spec/apiservicedefinitions/owned").is_empty() {
        let message = "unsupported bundle: apiServiceDefintions are not supported".to_owned();
        findings.add_csv(Rule::ApiService, &["spec", "apiservicedefinitions", "owned"], message);
    }
    if !webhook_definitions(bundle).is_empty() && options.certificate_provider.is_none() {
        let message = "unsupported bundle: webhookDefinitions are not supported".to_owned();
        findings.add_csv(Rule::Certificates, &["spec", "webhookdefinitions"], message);
    }
    let modes = supported_install_modes(bundle);
    if !options.single_own_namespace && !modes.contains("AllNamespaces") {
        let message = "unsupported bundle: bundle does not support AllNamespaces install mode".to_owned();
        findings.add_csv(Rule::AllNamespaces, &["spec", "installModes"], message);
    } else if !["AllNamespaces", "SingleNamespace", "OwnNamespace"].iter().any(|mode| modes.contains(mode)) {
        let message =
            "unsupported bundle: bundle must support at least one of [AllNamespaces SingleNamespace \
                    OwnNamespace] install modes"
                .to_owned();
        findings.add_csv(Rule::InstallModes, &["spec", "installModes"], message);
    }
    findings.items
}

fn duplicate_deployments(findings: &mut FindingCollector<'_>) {
    let all = strategy_deployments(findings.bundle);
    for name in duplicates(all.iter().map(|one| string_at(one, "/name"))) {
        let index = FindingCollector::last_index(all, |one| string_at(one, "/name") == name);
        let message = format!("cluster service version contains duplicate strategy deployment spec '{name}'");
        findings.add_csv(
            Rule::DuplicateDeployment,
            &["spec", "install", "spec", "deployments", &index, "name"],
            message,
        );
    }
}

/// Returns the duplicate strings, sorted.
fn duplicates<'t>(all: impl Iterator<Item = &'t str>) -> BTreeSet<&'t str> {
    let mut seen = BTreeSet::new();
    all.filter(|one| !seen.insert(*one)).collect()
}

fn deployment_names(findings: &mut FindingCollector<'_>) {
    let all = strategy_deployments(findings.bundle);
    let names: BTreeSet<&str> = all.iter().map(|one| string_at(one, "/name")).collect();
    for name in names {
        let errors = validate_dns1123_subdomain(name);
        if !errors.is_empty() {
            let index = FindingCollector::last_index(all, |one| string_at(one, "/name") == name);
            let message = format!(
                "invalid cluster service version strategy deployment name '{name}': {}",
                errors.join(", ")
            );
            findings.add_csv(
                Rule::DeploymentName,
                &["spec", "install", "spec", "deployments", &index, "name"],
                message,
            );
        }
    }
}

fn duplicate_and_missing_crds(findings: &mut FindingCollector<'_>) {
    let bundle = findings.bundle;
    let name = |crd: &Manifest| string_at(&crd.value, "/metadata/name").to_owned();
    let names: Vec<String> = bundle.crds.iter().map(name).collect();
    for duplicate in duplicates(names.iter().map(String::as_str)) {
        if let Some(crd) = bundle.crds.iter().rfind(|crd| name(crd) == duplicate) {
            let message = format!("bundle contains duplicate custom resource definition '{duplicate}'");
            findings.add_object(Rule::DuplicateCrd, crd, message);
        }
    }
    let owned = array_at(&bundle.csv.value, "/spec/customresourcedefinitions/owned");
    let missing: BTreeSet<&str> = owned
        .iter()
        .map(|one| string_at(one, "/name"))
        .filter(|owned| !names.iter().any(|name| name == owned))
        .collect();
    for name in missing {
        let index = FindingCollector::last_index(owned, |one| string_at(one, "/name") == name);
        let message = format!(
            "cluster service definition references owned custom resource definition '{name}' not found in bundle"
        );
        findings.add_csv(Rule::OwnedCrd, &["spec", "customresourcedefinitions", "owned", &index], message);
    }
}

fn conversion_webhook_install_modes(findings: &mut FindingCollector<'_>) {
    let bundle = findings.bundle;
    let modes = supported_install_modes(bundle);
    if modes.len() == 1 && modes.contains("AllNamespaces") {
        return;
    }
    let listed = modes.iter().copied().collect::<Vec<_>>().join(" ");
    for (index, webhook) in
        webhook_definitions(bundle).iter().enumerate().filter(|(_, webhook)| is_conversion(webhook))
    {
        let message = format!(
            "bundle contains conversion webhook {:?} and supports install modes [{listed}] - conversion webhooks are \
             only supported for bundles that only support AllNamespaces install mode",
            string_at(webhook, "/generateName")
        );
        findings.add_csv(Rule::ConversionModes, &["spec", "webhookdefinitions", &index.to_string()], message);
    }
}

fn webhook_deployments(findings: &mut FindingCollector<'_>) {
    let bundle = findings.bundle;
    let known: BTreeSet<&str> =
        strategy_deployments(bundle).iter().map(|one| string_at(one, "/name")).collect();
    let mut unresolved: Vec<(&str, &str, &str, usize)> = webhook_definitions(bundle)
        .iter()
        .enumerate()
        .map(|(index, one)| {
            (
                string_at(one, "/deploymentName"),
                string_at(one, "/type"),
                string_at(one, "/generateName"),
                index,
            )
        })
        .filter(|(deployment, ..)| !known.contains(deployment))
        .collect();
    unresolved.sort();
    for (deployment, webhook_type, name, index) in unresolved {
        let message = format!(
            "webhook of type '{webhook_type}' with name '{name}' references non-existent deployment '{deployment}'"
        );
        findings.add_csv(
            Rule::WebhookDeployment,
            &["spec", "webhookdefinitions", &index.to_string(), "deploymentName"],
            message,
        );
    }
}

fn duplicate_webhooks(findings: &mut FindingCollector<'_>) {
    let all = webhook_definitions(findings.bundle);
    let mut seen = BTreeSet::new();
    let mut duplicates = BTreeMap::new();
    for (index, webhook) in all.iter().enumerate() {
        let key = (string_at(webhook, "/type"), string_at(webhook, "/generateName"));
        if !seen.insert(key) {
            duplicates.insert(key, index);
        }
    }
    for ((webhook_type, name), index) in duplicates {
        let path = ["spec", "webhookdefinitions", &index.to_string(), "generateName"];
        findings.add_csv(
            Rule::DuplicateWebhook,
            &path,
            format!("duplicate webhook '{name}' of type '{webhook_type}'"),
        );
    }
}

fn webhook_names(findings: &mut FindingCollector<'_>) {
    let mut invalid = BTreeMap::new();
    for (index, webhook) in webhook_definitions(findings.bundle).iter().enumerate() {
        let name = string_at(webhook, "/generateName");
        let errors = validate_dns1123_subdomain(name);
        if !errors.is_empty() {
            invalid.insert((string_at(webhook, "/type"), name), (index, errors));
        }
    }
    for ((webhook_type, name), (index, errors)) in invalid {
        let path = ["spec", "webhookdefinitions", &index.to_string(), "generateName"];
        let message =
            format!("webhook of type '{webhook_type}' has invalid name '{name}': {}", errors.join(","));
        findings.add_csv(Rule::WebhookName, &path, message);
    }
}

fn conversion_webhook_crds(findings: &mut FindingCollector<'_>) {
    let bundle = findings.bundle;
    let mut by_crd: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    let mut all: Vec<(&str, usize, Vec<&str>)> = Vec::new();
    for (index, webhook) in
        webhook_definitions(bundle).iter().enumerate().filter(|(_, webhook)| is_conversion(webhook))
    {
        let name = string_at(webhook, "/generateName");
        let mut crds: Vec<&str> =
            array_at(webhook, "/conversionCRDs").iter().filter_map(Value::as_str).collect();
        for crd in &crds {
            by_crd.entry(crd).or_default().push((name, index));
        }
        crds.sort_unstable();
        all.push((name, index, crds));
    }
    for (crd, mut names) in by_crd.into_iter().filter(|(_, names)| names.len() > 1) {
        names.sort_unstable();
        let index = names.iter().map(|(_, index)| *index).max().unwrap_or_default();
        let listed = names.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(",");
        let message =
            format!("conversion webhooks [{listed}] reference same custom resource definition '{crd}'");
        findings.add_csv(Rule::ConversionTwice, &["spec", "webhookdefinitions", &index.to_string()], message);
    }
    let owned = array_at(&bundle.csv.value, "/spec/customresourcedefinitions/owned");
    let owned: BTreeSet<&str> = owned.iter().map(|one| string_at(one, "/name")).collect();
    all.sort();
    for (name, index, crds) in all {
        for crd in crds.into_iter().filter(|crd| !owned.contains(crd)) {
            let message = format!(
                "conversion webhook '{name}' references custom resource definition '{crd}' not owned bundle"
            );
            findings.add_csv(
                Rule::ConversionForeign,
                &["spec", "webhookdefinitions", &index.to_string(), "conversionCRDs"],
                message,
            );
        }
    }
}

const ADMISSION_GROUP: &str = "admissionregistration.k8s.io";
const FORBIDDEN_ADMISSION_RESOURCES: [&str; 5] = [
    "*",
    "mutatingwebhookconfiguration",
    "mutatingwebhookconfigurations",
    "validatingwebhookconfiguration",
    "validatingwebhookconfigurations",
];

fn webhook_rules(findings: &mut FindingCollector<'_>) {
    let bundle = findings.bundle;
    for (index, webhook) in
        webhook_definitions(bundle).iter().enumerate().filter(|(_, webhook)| !is_conversion(webhook))
    {
        let name = string_at(webhook, "/generateName");
        for (rule_index, rule) in array_at(webhook, "/rules").iter().enumerate() {
            let path = ["spec", "webhookdefinitions", &index.to_string(), "rules", &rule_index.to_string()];
            for group in array_at(rule, "/apiGroups").iter().filter_map(Value::as_str) {
                if matches!(group, "*" | "olm.operatorframework.io") {
                    let message = format!(
                        "webhook {name:?} contains forbidden rule: admission webhook rules cannot reference API group \
                         {group:?}"
                    );
                    findings.add_csv(Rule::WebhookRule, &path, message);
                }
                let resources = array_at(rule, "/resources").iter().filter_map(Value::as_str);
                for resource in resources.filter(|_| group == ADMISSION_GROUP) {
                    if FORBIDDEN_ADMISSION_RESOURCES.contains(&resource.to_lowercase().as_str()) {
                        let message = format!(
                            "webhook {name:?} contains forbidden rule: admission webhook rules cannot reference \
                             resource {resource:?} for API group {group:?}"
                        );
                        findings.add_csv(Rule::WebhookRule, &path, message);
                    }
                }
            }
        }
    }
}
