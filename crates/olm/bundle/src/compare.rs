//! Compares two versions of an operator and derives the minimum semantic version of the new one.
//!
//! Channels are split by major version and upgrades within a channel are automatic, so a breaking change
//! needs a new major version, even before 1.0.0.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use podium_versions::blang::Version;
use serde_json::{Value, json};

use crate::generate::{KINDS_FILE, versioned_name};
use crate::policy_rules::{Grant, expand_rules, uncovered};
use crate::registry_v1::RegistryV1;
use crate::report::Finding;
use crate::value::{array_at, string_at, to_json};
use crate::{BundleFiles, decode, validation};

/// The semantic version component that a change has to increment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum VersionBump {
    /// Not visible to users.
    Patch,
    /// New functionality.
    Minor,
    /// A breaking change.
    Major,
}

impl VersionBump {
    /// Name in output.
    pub fn as_str(self) -> &'static str {
        match self {
            VersionBump::Patch => "patch",
            VersionBump::Minor => "minor",
            VersionBump::Major => "major",
        }
    }
}

/// What a change affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Area {
    /// CRDs and the chart values behind them.
    Crds,
    /// Permissions of the operator.
    Rbac,
    /// Container images.
    Images,
    /// Objects of the bundle besides CSV and CRDs.
    Objects,
    /// Install modes, Kubernetes version and required APIs.
    Installation,
    /// Admission and conversion webhooks.
    Webhooks,
}

impl Area {
    /// Name in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Area::Crds => "kinds",
            Area::Rbac => "rights",
            Area::Images => "images",
            Area::Objects => "objects",
            Area::Installation => "installation",
            Area::Webhooks => "webhooks",
        }
    }
}

/// A change between two bundles.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// Required version bump.
    pub bump: VersionBump,
    /// What the change affects.
    pub area: Area,
    /// Description.
    pub message: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<5} {:<12} {}", self.bump.as_str(), self.area.as_str(), self.message)
    }
}

/// Why two bundles cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A bundle cannot be parsed.
    #[error("the {side} bundle is invalid: {finding}")]
    Bundle {
        /// `old` or `new`.
        side: &'static str,
        /// Reason.
        finding: Finding,
    },
    /// The bundles belong to different packages.
    #[error(
        "the old bundle belongs to package {0:?}, the new one to {1:?}: compare versions of the same package"
    )]
    Packages(String, String),
    /// A bundle has no valid version.
    #[error("the version {version:?} of the {side} bundle is not a semantic version: {error}")]
    Version {
        /// `old` or `new`.
        side: &'static str,
        /// The invalid version.
        version: String,
        /// Parse error.
        error: String,
    },
}

/// The result of comparing two bundles.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Package name.
    pub package: String,
    /// Old version.
    pub old: Version,
    /// New version.
    pub new: Version,
    /// Changes, largest bump first.
    pub changes: Vec<Change>,
}

impl Comparison {
    /// Returns the bump that the changes require, or nothing if there are no changes.
    pub fn required_bump(&self) -> Option<VersionBump> {
        self.changes.iter().map(|change| change.bump).max()
    }

    /// Returns the bump from the old to the new version, or nothing if the new version is not higher.
    pub fn actual_bump(&self) -> Option<VersionBump> {
        let (old, new) = (&self.old, &self.new);
        if new.compare(old) != std::cmp::Ordering::Greater {
            None
        } else if new.major > old.major {
            Some(VersionBump::Major)
        } else if new.minor > old.minor {
            Some(VersionBump::Minor)
        } else {
            Some(VersionBump::Patch)
        }
    }

    /// Reports whether the new version is at least the required bump.
    pub fn satisfies_semver(&self) -> bool {
        match self.actual_bump() {
            None => false,
            Some(actual_bump) => {
                self.required_bump().is_none_or(|required_bump| actual_bump >= required_bump)
            }
        }
    }

    /// Returns the lowest version that the changes allow.
    pub fn minimum_version(&self) -> String {
        let Version { major, minor, patch, .. } = &self.old;
        match self.required_bump() {
            Some(VersionBump::Major) => format!("{}.0.0", major + 1),
            Some(VersionBump::Minor) => format!("{major}.{}.0", minor + 1),
            _ => format!("{major}.{minor}.{}", patch + 1),
        }
    }
}

/// A parsed bundle with the data to compare.
struct ComparedBundle {
    bundle: RegistryV1,
    version: Version,
    crds: BTreeMap<String, Value>,
    /// CRDs derived from chart values, where they differ from the CRDs themselves.
    values: BTreeMap<String, Value>,
}

impl ComparedBundle {
    fn new(files: &BundleFiles, side: &'static str) -> Result<Self, Error> {
        let bundle = RegistryV1::new(files).map_err(|finding| Error::Bundle { side, finding })?;
        let version_text = string_at(&bundle.csv.value, "/spec/version");
        let version = Version::parse_tolerant(version_text).map_err(|error| Error::Version {
            side,
            version: version_text.to_owned(),
            error: error.to_string(),
        })?;
        let mut crds = BTreeMap::new();
        let kinds_file = files
            .get(KINDS_FILE)
            .and_then(|text| decode::first_document(text).ok().flatten())
            .map(|node| to_json(&node));
        let kinds_file_list =
            |key: &str| kinds_file.as_ref().map(|value| array_at(value, key)).unwrap_or_default();
        for crd in kinds_file_list("/kinds").iter().chain(bundle.crds.iter().map(|manifest| &manifest.value))
        {
            crds.insert(string_at(crd, "/metadata/name").to_owned(), crd.clone());
        }
        let by_name = |crd: &Value| (string_at(crd, "/metadata/name").to_owned(), crd.clone());
        let values = kinds_file_list("/values").iter().map(by_name).collect();
        Ok(ComparedBundle { bundle, version, crds, values })
    }

    fn unversioned_name(&self, name: &str) -> String {
        unversioned_name(&self.bundle, name)
    }

    fn csv(&self) -> &Value {
        &self.bundle.csv.value
    }

    fn rules<'s>(&'s self, section: &str) -> impl Iterator<Item = &'s Value> {
        array_at(self.csv(), &format!("/spec/install/spec/{section}"))
            .iter()
            .flat_map(|one| array_at(one, "/rules"))
    }

    fn images(&self) -> BTreeSet<String> {
        let mut images = BTreeSet::new();
        for deployment in validation::strategy_deployments(&self.bundle) {
            for key in ["containers", "initContainers"] {
                let all = array_at(deployment, &format!("/spec/template/spec/{key}"));
                images.extend(all.iter().map(|one| string_at(one, "/image").to_owned()));
            }
        }
        images.extend(
            array_at(self.csv(), "/spec/relatedImages").iter().map(|one| string_at(one, "/image").to_owned()),
        );
        images.remove("");
        images
    }

    /// Returns the additional objects and the Deployments, by kind and name.
    fn objects(&self) -> BTreeMap<(String, String), Value> {
        let mut objects = BTreeMap::new();
        for manifest in &self.bundle.others {
            let key = (
                string_at(&manifest.value, "/kind").to_owned(),
                self.unversioned_name(string_at(&manifest.value, "/metadata/name")),
            );
            objects.insert(key, manifest.value.clone());
        }
        for deployment in validation::strategy_deployments(&self.bundle) {
            let key = ("Deployment".to_owned(), self.unversioned_name(string_at(deployment, "/name")));
            objects.insert(key, deployment.clone());
        }
        objects
    }
}

/// Removes the bundle version from a name.
pub(crate) fn unversioned_name(bundle: &RegistryV1, name: &str) -> String {
    let version_text = string_at(&bundle.csv.value, "/spec/version");
    if version_text.is_empty() {
        return name.to_owned();
    }
    name.replace(&versioned_name("", version_text), "").replace(&format!(".v{version_text}"), "")
}

/// Compares two bundles of the same package.
pub fn compare(old: &BundleFiles, new: &BundleFiles) -> Result<Comparison, Error> {
    let (old, new) = (ComparedBundle::new(old, "old")?, ComparedBundle::new(new, "new")?);
    if old.bundle.package != new.bundle.package {
        return Err(Error::Packages(old.bundle.package, new.bundle.package));
    }
    let mut changes = Vec::new();
    compare_crds(&old, &new, &mut changes);
    compare_permissions(&old, &new, &mut changes);
    compare_images(&old, &new, &mut changes);
    compare_objects(&old, &new, &mut changes);
    compare_install_requirements(&old, &new, &mut changes);
    compare_webhooks(&old, &new, &mut changes);
    changes.sort_by(|a, b| {
        (std::cmp::Reverse(a.bump), a.area, &a.message).cmp(&(std::cmp::Reverse(b.bump), b.area, &b.message))
    });
    changes.dedup();
    Ok(Comparison { package: new.bundle.package, old: old.version, new: new.version, changes })
}

fn push(changes: &mut Vec<Change>, bump: VersionBump, area: Area, message: impl Into<String>) {
    changes.push(Change { bump, area, message: message.into() });
}

fn compare_crds(old: &ComparedBundle, new: &ComparedBundle, changes: &mut Vec<Change>) {
    for (name, crd) in &old.crds {
        let Some(other) = new.crds.get(name) else {
            push(
                changes,
                VersionBump::Major,
                Area::Crds,
                format!("CRD {name} is removed: its resources are no longer reconciled"),
            );
            continue;
        };
        match podium_schema::upgrade(crd, other) {
            Err(problems) => {
                for problem in problems {
                    push(changes, VersionBump::Major, Area::Crds, problem.to_string());
                }
            }
            Ok(()) if without_descriptions(crd) != without_descriptions(other) => {
                push(changes, VersionBump::Minor, Area::Crds, format!("CRD {name} accepts more than before"));
            }
            Ok(()) => {}
        }
    }
    for name in new.crds.keys().filter(|name| !old.crds.contains_key(*name)) {
        push(changes, VersionBump::Minor, Area::Crds, format!("CRD {name} is new"));
    }
    for (name, before) in &old.values {
        // A new bundle without a values schema uses the CRD for its values.
        let Some(after) = new.values.get(name).or_else(|| new.crds.get(name)) else { continue };
        match podium_schema::upgrade(before, after) {
            Err(problems) => {
                for problem in problems {
                    push(changes, VersionBump::Major, Area::Crds, format!("chart values: {problem}"));
                }
            }
            Ok(()) if without_descriptions(before) != without_descriptions(after) => {
                push(
                    changes,
                    VersionBump::Minor,
                    Area::Crds,
                    format!("the chart of {name} accepts more values than before"),
                );
            }
            Ok(()) => {}
        }
    }
    let owns = |bundle: &ComparedBundle| -> BTreeSet<String> {
        bundle.bundle.crds.iter().map(|crd| string_at(&crd.value, "/metadata/name").to_owned()).collect()
    };
    let (before, after) = (owns(old), owns(new));
    for name in before.difference(&after).filter(|name| new.crds.contains_key(*name)) {
        let message = format!(
            "CRD {name} is no longer part of the bundle: an upgrade deletes it with all its resources"
        );
        push(changes, VersionBump::Major, Area::Crds, message);
    }
    for name in after.difference(&before).filter(|name| old.crds.contains_key(*name)) {
        let message =
            format!("CRD {name} is now part of the bundle: an upgrade fails if the CRD has another owner");
        push(changes, VersionBump::Major, Area::Crds, message);
    }
}

/// Returns the CRD's `spec` without descriptions.
fn without_descriptions(crd: &Value) -> Value {
    let mut value = crd.get("spec").cloned().unwrap_or_default();
    let mut work = vec![&mut value];
    while let Some(value) = work.pop() {
        match value {
            Value::Object(map) => {
                // A property named `description` is an object, not a string.
                if map.get("description").is_some_and(Value::is_string) {
                    map.remove("description");
                }
                work.extend(map.values_mut());
            }
            Value::Array(list) => work.extend(list.iter_mut()),
            _ => {}
        }
    }
    value
}

fn compare_permissions(old: &ComparedBundle, new: &ComparedBundle, changes: &mut Vec<Change>) {
    for (section, scope) in
        [("permissions", "in target namespaces"), ("clusterPermissions", "in the cluster")]
    {
        let (before, after) = (expand_rules(old.rules(section)), expand_rules(new.rules(section)));
        for (text, bump) in summarize_grants(&uncovered(&before, &after), "may", VersionBump::Minor)
            .into_iter()
            .chain(summarize_grants(&uncovered(&after, &before), "may no longer", VersionBump::Patch))
        {
            push(changes, bump, Area::Rbac, format!("{text} {scope}"));
        }
    }
}

/// Formats grants as one line per resource.
fn summarize_grants(all: &[Grant], phrase: &str, bump: VersionBump) -> Vec<(String, VersionBump)> {
    let mut lines: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for grant in all {
        let (what, verb) = match grant {
            Grant::Url { url, verb } => (url.clone(), verb),
            Grant::Resource { verb, .. } => {
                let text = grant.to_string();
                (text.strip_prefix(verb.as_str()).unwrap_or(&text).trim_start().to_owned(), verb)
            }
        };
        lines.entry(what).or_default().insert(verb);
    }
    let summary_line = |(what, verbs): (String, BTreeSet<&str>)| {
        let verbs = verbs.into_iter().collect::<Vec<_>>().join(", ");
        (format!("the operator {phrase} {verbs} {what}"), bump)
    };
    lines.into_iter().map(summary_line).collect()
}

/// Returns the repository of an image reference.
fn repository(image: &str) -> &str {
    let image = image.split('@').next().unwrap_or(image);
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name,
        _ => image,
    }
}

fn compare_images(old: &ComparedBundle, new: &ComparedBundle, changes: &mut Vec<Change>) {
    let (before, after) = (old.images(), new.images());
    let mut removed: Vec<&String> = before.difference(&after).collect();
    for image in after.difference(&before) {
        let previous = removed.iter().position(|old| repository(old) == repository(image));
        let message = match previous {
            Some(at) => format!("{} becomes {image}", removed.remove(at)),
            None => format!("{image} is new"),
        };
        push(changes, VersionBump::Patch, Area::Images, message);
    }
    for image in removed {
        push(changes, VersionBump::Patch, Area::Images, format!("{image} is no longer used"));
    }
}

/// Kinds whose objects are referenced by name from outside the bundle.
const REFERENCED_KINDS: [&str; 6] =
    ["ClusterRole", "Role", "ConfigMap", "Secret", "Service", "PriorityClass"];

fn compare_objects(old: &ComparedBundle, new: &ComparedBundle, changes: &mut Vec<Change>) {
    let (before, after) = (old.objects(), new.objects());
    for (key @ (kind, name), object) in &before {
        if after.contains_key(key) {
            continue;
        }
        let same = |other: &Value| without_identity(other) == without_identity(object);
        let renamed = after
            .iter()
            .find(|(other, value)| other.0 == *kind && !before.contains_key(*other) && same(value));
        let message = match renamed {
            Some(((_, other), _)) => format!("{kind} {name} is renamed to {other}"),
            None => format!("{kind} {name} is removed"),
        };
        let bump =
            if REFERENCED_KINDS.contains(&kind.as_str()) { VersionBump::Major } else { VersionBump::Minor };
        push(changes, bump, Area::Objects, message);
    }
    for (kind, name) in after.keys().filter(|key| !before.contains_key(*key)) {
        push(changes, VersionBump::Minor, Area::Objects, format!("{kind} {name} is new"));
    }
    for (key @ (kind, name), object) in &after {
        // Images and arguments of the operator's own Deployments are not part of its API.
        let Some(previous) = before.get(key).filter(|_| kind != "Deployment") else { continue };
        if without_identity(previous) != without_identity(object) {
            let fewer = matches!(kind.as_str(), "ClusterRole" | "Role") && {
                let set = |value: &Value| expand_rules(array_at(value, "/rules").iter());
                !uncovered(&set(object), &set(previous)).is_empty()
            };
            let (bump, message) = if fewer {
                (VersionBump::Major, format!("{kind} {name} allows less than before"))
            } else {
                (VersionBump::Minor, format!("{kind} {name} has changed"))
            };
            push(changes, bump, Area::Objects, message);
        }
    }
}

/// Removes name and metadata, which contain the version.
fn without_identity(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(map) = object.as_object_mut() {
        map.remove("metadata");
        map.remove("name");
    }
    object
}

fn compare_install_requirements(old: &ComparedBundle, new: &ComparedBundle, changes: &mut Vec<Change>) {
    let (before, after) =
        (validation::supported_install_modes(&old.bundle), validation::supported_install_modes(&new.bundle));
    for mode in before.difference(&after) {
        push(
            changes,
            VersionBump::Major,
            Area::Installation,
            format!("the install mode {mode} is no longer supported"),
        );
    }
    for mode in after.difference(&before) {
        push(
            changes,
            VersionBump::Minor,
            Area::Installation,
            format!("the install mode {mode} is supported"),
        );
    }
    let min_kube_version =
        |bundle: &ComparedBundle| string_at(bundle.csv(), "/spec/minKubeVersion").to_owned();
    let (before, after) = (min_kube_version(old), min_kube_version(new));
    if before != after {
        let parsed = |text: &str| Version::parse_tolerant(text).unwrap_or_default();
        let raised = parsed(&after).compare(&parsed(&before)) == std::cmp::Ordering::Greater;
        let bump = if raised { VersionBump::Major } else { VersionBump::Minor };
        let shown = |text: &str| if text.is_empty() { "any".to_owned() } else { text.to_owned() };
        let message =
            format!("the minimum Kubernetes version is {} instead of {}", shown(&after), shown(&before));
        push(changes, bump, Area::Installation, message);
    }
    let required = |bundle: &ComparedBundle| -> BTreeSet<String> {
        let all = ["customresourcedefinitions", "apiservicedefinitions"];
        let all = all.iter().flat_map(|key| array_at(bundle.csv(), &format!("/spec/{key}/required")));
        all.map(|one| format!("{} {}", string_at(one, "/name"), string_at(one, "/version"))).collect()
    };
    for name in required(new).difference(&required(old)) {
        push(
            changes,
            VersionBump::Major,
            Area::Installation,
            format!("{name} is required and has to be installed separately"),
        );
    }
}

fn compare_webhooks(old: &ComparedBundle, new: &ComparedBundle, changes: &mut Vec<Change>) {
    let all = |bundle: &ComparedBundle| -> BTreeMap<(String, String), Value> {
        let one = |webhook: &Value| {
            let key = (
                string_at(webhook, "/type").to_owned(),
                bundle.unversioned_name(string_at(webhook, "/generateName")),
            );
            let part = json!({"rules": webhook.get("rules"), "failurePolicy": webhook.get("failurePolicy"),
                "objectSelector": webhook.get("objectSelector"), "conversionCRDs": webhook.get("conversionCRDs")});
            (key, part)
        };
        validation::webhook_definitions(&bundle.bundle).iter().map(one).collect()
    };
    let (before, after) = (all(old), all(new));
    for (key @ (ty, name), webhook) in &after {
        match before.get(key) {
            None if ty.starts_with("Validating") => {
                push(
                    changes,
                    VersionBump::Major,
                    Area::Webhooks,
                    format!("the {ty} {name} is new and may reject objects that were accepted"),
                );
            }
            None => push(changes, VersionBump::Minor, Area::Webhooks, format!("the {ty} {name} is new")),
            Some(previous) if previous != webhook => {
                let bump = if ty.starts_with("Validating") { VersionBump::Major } else { VersionBump::Minor };
                push(changes, bump, Area::Webhooks, format!("the {ty} {name} intercepts other objects"));
            }
            Some(_) => {}
        }
    }
    for (ty, name) in before.keys().filter(|key| !after.contains_key(*key)) {
        push(changes, VersionBump::Minor, Area::Webhooks, format!("the {ty} {name} is removed"));
    }
}

#[cfg(test)]
mod tests;
