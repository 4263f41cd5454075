//! What changes for users between two versions of an operator, and the least step of the version that is honest.
//!
//! Channels are cut by major versions, and a new version of a channel is installed by itself: what breaks somebody
//! needs a new major version, also before 1.0.0.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use podium_versions::blang::Version;
use serde_json::{Value, json};

use crate::generate::{KINDS_FILE, suffixed};
use crate::grants::{Grant, grants, more};
use crate::registry::Registry;
use crate::report::Finding;
use crate::value::{list, plain, text};
use crate::{Tree, check, decode};

/// How large a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// No user sees it.
    Patch,
    /// Something is new.
    Minor,
    /// Something that worked may not.
    Major,
}

impl Step {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Step::Patch => "patch",
            Step::Minor => "minor",
            Step::Major => "major",
        }
    }
}

/// What is different.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Area {
    /// The kinds and the values that their resources take.
    Kinds,
    /// What the operator is allowed.
    Rights,
    /// What runs.
    Images,
    /// Objects beside the operator.
    Objects,
    /// Where and with what it can be installed.
    Installation,
    /// What is asked before objects are written.
    Webhooks,
}

impl Area {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Area::Kinds => "kinds",
            Area::Rights => "rights",
            Area::Images => "images",
            Area::Objects => "objects",
            Area::Installation => "installation",
            Area::Webhooks => "webhooks",
        }
    }
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// The step that it needs.
    pub step: Step,
    /// What it is about.
    pub area: Area,
    /// What changed.
    pub text: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<5} {:<12} {}", self.step.word(), self.area.word(), self.text)
    }
}

/// Why two bundles cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// One cannot be read.
    #[error("the {which} bundle cannot be read: {finding}")]
    Bundle {
        /// Which of the two.
        which: &'static str,
        /// Why.
        finding: Finding,
    },
    /// They are of different packages.
    #[error("the old bundle is of the package {0:?}, the new one of {1:?}: compare versions of one package")]
    Packages(String, String),
    /// A version is none.
    #[error("the version {version:?} of the {which} bundle is no semantic version: {error}")]
    Version {
        /// Which of the two.
        which: &'static str,
        /// What it says.
        version: String,
        /// Why.
        error: String,
    },
}

/// Two versions beside each other.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The package.
    pub package: String,
    /// The old version.
    pub old: Version,
    /// The new version.
    pub new: Version,
    /// What changed, the largest first.
    pub changes: Vec<Change>,
}

impl Comparison {
    /// The least step that is honest; nothing if nobody can tell the two apart.
    pub fn needed(&self) -> Option<Step> {
        self.changes.iter().map(|change| change.step).max()
    }

    /// The step that the versions make; nothing if the new one is not newer.
    pub fn made(&self) -> Option<Step> {
        let (old, new) = (&self.old, &self.new);
        if new.compare(old) != std::cmp::Ordering::Greater {
            None
        } else if new.major > old.major {
            Some(Step::Major)
        } else if new.minor > old.minor {
            Some(Step::Minor)
        } else {
            Some(Step::Patch)
        }
    }

    /// Whether the version says at least as much as has changed.
    pub fn is_honest(&self) -> bool {
        match self.made() {
            None => false,
            Some(made) => self.needed().is_none_or(|needed| made >= needed),
        }
    }

    /// The least version that is honest.
    pub fn least(&self) -> String {
        let Version { major, minor, patch, .. } = &self.old;
        match self.needed() {
            Some(Step::Major) => format!("{}.0.0", major + 1),
            Some(Step::Minor) => format!("{major}.{}.0", minor + 1),
            _ => format!("{major}.{minor}.{}", patch + 1),
        }
    }
}

/// One of the two bundles.
struct Side {
    registry: Registry,
    version: Version,
    crds: BTreeMap<String, Value>,
    /// What the charts' values would be, where that is not what the definitions say.
    values: BTreeMap<String, Value>,
}

impl Side {
    fn new(tree: &Tree, which: &'static str) -> Result<Self, Error> {
        let registry = Registry::new(tree).map_err(|finding| Error::Bundle { which, finding })?;
        let said = text(&registry.csv.value, "/spec/version");
        let version = Version::parse_tolerant(said).map_err(|error| Error::Version {
            which,
            version: said.to_owned(),
            error: error.to_string(),
        })?;
        let mut crds = BTreeMap::new();
        let beside =
            tree.get(KINDS_FILE).and_then(|text| decode::first(text).ok().flatten()).map(|node| plain(&node));
        let list_of = |key: &str| beside.as_ref().map(|value| list(value, key)).unwrap_or_default();
        for crd in list_of("/kinds").iter().chain(registry.crds.iter().map(|placed| &placed.value)) {
            crds.insert(text(crd, "/metadata/name").to_owned(), crd.clone());
        }
        let named = |crd: &Value| (text(crd, "/metadata/name").to_owned(), crd.clone());
        let values = list_of("/values").iter().map(named).collect();
        Ok(Side { registry, version, crds, values })
    }

    fn bare(&self, name: &str) -> String {
        bare(&self.registry, name)
    }

    fn csv(&self) -> &Value {
        &self.registry.csv.value
    }

    fn rules<'s>(&'s self, which: &str) -> impl Iterator<Item = &'s Value> {
        list(self.csv(), &format!("/spec/install/spec/{which}")).iter().flat_map(|one| list(one, "/rules"))
    }

    fn images(&self) -> BTreeSet<String> {
        let mut images = BTreeSet::new();
        for deployment in check::deployments(&self.registry) {
            for key in ["containers", "initContainers"] {
                let all = list(deployment, &format!("/spec/template/spec/{key}"));
                images.extend(all.iter().map(|one| text(one, "/image").to_owned()));
            }
        }
        images
            .extend(list(self.csv(), "/spec/relatedImages").iter().map(|one| text(one, "/image").to_owned()));
        images.remove("");
        images
    }

    /// The objects beside the operator, by kind and name.
    fn objects(&self) -> BTreeMap<(String, String), Value> {
        let mut objects = BTreeMap::new();
        for placed in &self.registry.others {
            let key =
                (text(&placed.value, "/kind").to_owned(), self.bare(text(&placed.value, "/metadata/name")));
            objects.insert(key, placed.value.clone());
        }
        for deployment in check::deployments(&self.registry) {
            let key = ("Deployment".to_owned(), self.bare(text(deployment, "/name")));
            objects.insert(key, deployment.clone());
        }
        objects
    }
}

/// A name without the version of its bundle in it.
pub(crate) fn bare(registry: &Registry, name: &str) -> String {
    let said = text(&registry.csv.value, "/spec/version");
    if said.is_empty() {
        return name.to_owned();
    }
    name.replace(&suffixed("", said), "").replace(&format!(".v{said}"), "")
}

/// Compares two bundles of a package.
pub fn compare(old: &Tree, new: &Tree) -> Result<Comparison, Error> {
    let (old, new) = (Side::new(old, "old")?, Side::new(new, "new")?);
    if old.registry.package != new.registry.package {
        return Err(Error::Packages(old.registry.package, new.registry.package));
    }
    let mut changes = Vec::new();
    kinds(&old, &new, &mut changes);
    rights(&old, &new, &mut changes);
    images(&old, &new, &mut changes);
    objects(&old, &new, &mut changes);
    installation(&old, &new, &mut changes);
    webhooks(&old, &new, &mut changes);
    changes.sort_by(|a, b| {
        (std::cmp::Reverse(a.step), a.area, &a.text).cmp(&(std::cmp::Reverse(b.step), b.area, &b.text))
    });
    changes.dedup();
    Ok(Comparison { package: new.registry.package, old: old.version, new: new.version, changes })
}

fn add(changes: &mut Vec<Change>, step: Step, area: Area, text: impl Into<String>) {
    changes.push(Change { step, area, text: text.into() });
}

fn kinds(old: &Side, new: &Side, changes: &mut Vec<Change>) {
    for (name, crd) in &old.crds {
        let Some(other) = new.crds.get(name) else {
            add(
                changes,
                Step::Major,
                Area::Kinds,
                format!("{name} is no longer there: its resources are nobody's"),
            );
            continue;
        };
        match podium_schema::upgrade(crd, other) {
            Err(problems) => {
                for problem in problems {
                    add(changes, Step::Major, Area::Kinds, problem.to_string());
                }
            }
            Ok(()) if surface(crd) != surface(other) => {
                add(changes, Step::Minor, Area::Kinds, format!("{name} takes more than before"));
            }
            Ok(()) => {}
        }
    }
    for name in new.crds.keys().filter(|name| !old.crds.contains_key(*name)) {
        add(changes, Step::Minor, Area::Kinds, format!("{name} is new"));
    }
    for (name, was) in &old.values {
        // Where the two agree now, the definition has been compared already.
        let Some(is) = new.values.get(name).or_else(|| new.crds.get(name)) else { continue };
        match podium_schema::upgrade(was, is) {
            Err(problems) => {
                for problem in problems {
                    add(changes, Step::Major, Area::Kinds, format!("values of the chart: {problem}"));
                }
            }
            Ok(()) if surface(was) != surface(is) => {
                add(
                    changes,
                    Step::Minor,
                    Area::Kinds,
                    format!("the chart behind {name} takes more values than before"),
                );
            }
            Ok(()) => {}
        }
    }
    let owns = |side: &Side| -> BTreeSet<String> {
        side.registry.crds.iter().map(|crd| text(&crd.value, "/metadata/name").to_owned()).collect()
    };
    let (was, is) = (owns(old), owns(new));
    for name in was.difference(&is).filter(|name| new.crds.contains_key(*name)) {
        let words = format!(
            "{name} is no longer installed by the bundle: an upgrade deletes it with all its resources"
        );
        add(changes, Step::Major, Area::Kinds, words);
    }
    for name in is.difference(&was).filter(|name| old.crds.contains_key(*name)) {
        let words = format!(
            "{name} is now installed by the bundle: an upgrade fails where somebody else has installed it"
        );
        add(changes, Step::Major, Area::Kinds, words);
    }
}

/// What users see of a definition: its versions without what people read.
fn surface(crd: &Value) -> Value {
    let mut value = crd.get("spec").cloned().unwrap_or_default();
    let mut work = vec![&mut value];
    while let Some(value) = work.pop() {
        match value {
            Value::Object(map) => {
                // A field may be called so: then it is an object.
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

fn rights(old: &Side, new: &Side, changes: &mut Vec<Change>) {
    for (which, place) in
        [("permissions", "in watched namespaces"), ("clusterPermissions", "in the whole cluster")]
    {
        let (was, is) = (grants(old.rules(which)), grants(new.rules(which)));
        for (text, step) in summed(&more(&was, &is), "may", Step::Minor).into_iter().chain(summed(
            &more(&is, &was),
            "may no longer",
            Step::Patch,
        )) {
            add(changes, step, Area::Rights, format!("{text} {place}"));
        }
    }
}

/// Grants in lines, one for each resource.
fn summed(all: &[Grant], may: &str, step: Step) -> Vec<(String, Step)> {
    let mut lines: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for grant in all {
        let (what, verb) = match grant {
            Grant::Url { url, verb } => (url.clone(), verb),
            Grant::Resource { verb, .. } => {
                let whole = grant.to_string();
                (whole.strip_prefix(verb.as_str()).unwrap_or(&whole).trim_start().to_owned(), verb)
            }
        };
        lines.entry(what).or_default().insert(verb);
    }
    let line = |(what, verbs): (String, BTreeSet<&str>)| {
        let verbs = verbs.into_iter().collect::<Vec<_>>().join(", ");
        (format!("the operator {may} {verbs} {what}"), step)
    };
    lines.into_iter().map(line).collect()
}

/// The repository of a reference.
fn repository(image: &str) -> &str {
    let image = image.split('@').next().unwrap_or(image);
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name,
        _ => image,
    }
}

fn images(old: &Side, new: &Side, changes: &mut Vec<Change>) {
    let (was, is) = (old.images(), new.images());
    let mut gone: Vec<&String> = was.difference(&is).collect();
    for image in is.difference(&was) {
        let before = gone.iter().position(|old| repository(old) == repository(image));
        let words = match before {
            Some(at) => format!("{} becomes {image}", gone.remove(at)),
            None => format!("{image} is new"),
        };
        add(changes, Step::Patch, Area::Images, words);
    }
    for image in gone {
        add(changes, Step::Patch, Area::Images, format!("{image} is no longer used"));
    }
}

/// Kinds whose objects others refer to by name.
const REFERRED: [&str; 6] = ["ClusterRole", "Role", "ConfigMap", "Secret", "Service", "PriorityClass"];

fn objects(old: &Side, new: &Side, changes: &mut Vec<Change>) {
    let (was, is) = (old.objects(), new.objects());
    for (key @ (kind, name), object) in &was {
        if is.contains_key(key) {
            continue;
        }
        let same = |other: &Value| content(other) == content(object);
        let renamed =
            is.iter().find(|(other, value)| other.0 == *kind && !was.contains_key(*other) && same(value));
        let words = match renamed {
            Some(((_, other), _)) => format!("{kind} {name} is now called {other}"),
            None => format!("{kind} {name} is no longer there"),
        };
        let step = if REFERRED.contains(&kind.as_str()) { Step::Major } else { Step::Minor };
        add(changes, step, Area::Objects, words);
    }
    for (kind, name) in is.keys().filter(|key| !was.contains_key(*key)) {
        add(changes, Step::Minor, Area::Objects, format!("{kind} {name} is new"));
    }
    for (key @ (kind, name), object) in &is {
        // Images and arguments of the operator itself are not what users build on.
        let Some(before) = was.get(key).filter(|_| kind != "Deployment") else { continue };
        if content(before) != content(object) {
            let fewer = matches!(kind.as_str(), "ClusterRole" | "Role") && {
                let set = |value: &Value| grants(list(value, "/rules").iter());
                !more(&set(object), &set(before)).is_empty()
            };
            let (step, words) = if fewer {
                (Step::Major, format!("{kind} {name} allows less than before"))
            } else {
                (Step::Minor, format!("{kind} {name} is different"))
            };
            add(changes, step, Area::Objects, words);
        }
    }
}

/// An object without its name and labels, in which versions stand.
fn content(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(map) = object.as_object_mut() {
        map.remove("metadata");
        map.remove("name");
    }
    object
}

fn installation(old: &Side, new: &Side, changes: &mut Vec<Change>) {
    let (was, is) = (check::modes(&old.registry), check::modes(&new.registry));
    for mode in was.difference(&is) {
        add(
            changes,
            Step::Major,
            Area::Installation,
            format!("the install mode {mode} is no longer supported"),
        );
    }
    for mode in is.difference(&was) {
        add(changes, Step::Minor, Area::Installation, format!("the install mode {mode} is supported"));
    }
    let least = |side: &Side| text(side.csv(), "/spec/minKubeVersion").to_owned();
    let (was, is) = (least(old), least(new));
    if was != is {
        let parsed = |text: &str| Version::parse_tolerant(text).unwrap_or_default();
        let raised = parsed(&is).compare(&parsed(&was)) == std::cmp::Ordering::Greater;
        let step = if raised { Step::Major } else { Step::Minor };
        let shown = |text: &str| if text.is_empty() { "any".to_owned() } else { text.to_owned() };
        let words = format!("it needs Kubernetes {} instead of {}", shown(&is), shown(&was));
        add(changes, step, Area::Installation, words);
    }
    let required = |side: &Side| -> BTreeSet<String> {
        let all = ["customresourcedefinitions", "apiservicedefinitions"];
        let all = all.iter().flat_map(|key| list(side.csv(), &format!("/spec/{key}/required")));
        all.map(|one| format!("{} {}", text(one, "/name"), text(one, "/version"))).collect()
    };
    for name in required(new).difference(&required(old)) {
        add(
            changes,
            Step::Major,
            Area::Installation,
            format!("it needs {name}, which nobody installs for it"),
        );
    }
}

fn webhooks(old: &Side, new: &Side, changes: &mut Vec<Change>) {
    let all = |side: &Side| -> BTreeMap<(String, String), Value> {
        let one = |webhook: &Value| {
            let key = (text(webhook, "/type").to_owned(), side.bare(text(webhook, "/generateName")));
            let part = json!({"rules": webhook.get("rules"), "failurePolicy": webhook.get("failurePolicy"),
                "objectSelector": webhook.get("objectSelector"), "conversionCRDs": webhook.get("conversionCRDs")});
            (key, part)
        };
        check::webhooks(&side.registry).iter().map(one).collect()
    };
    let (was, is) = (all(old), all(new));
    for (key @ (ty, name), webhook) in &is {
        match was.get(key) {
            None if ty.starts_with("Validating") => {
                add(
                    changes,
                    Step::Major,
                    Area::Webhooks,
                    format!("{name} is asked too, and may refuse what was fine"),
                );
            }
            None => add(changes, Step::Minor, Area::Webhooks, format!("the {ty} {name} is new")),
            Some(before) if before != webhook => {
                let step = if ty.starts_with("Validating") { Step::Major } else { Step::Minor };
                add(changes, step, Area::Webhooks, format!("the {ty} {name} is asked about other objects"));
            }
            Some(_) => {}
        }
    }
    for (ty, name) in was.keys().filter(|key| !is.contains_key(*key)) {
        add(changes, Step::Minor, Area::Webhooks, format!("the {ty} {name} is no longer there"));
    }
}

#[cfg(test)]
mod tests;
