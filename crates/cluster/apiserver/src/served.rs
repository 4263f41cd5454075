//! What is served: the built-in kinds and those that users define, at their addresses.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use podium_meta::GroupVersionKind;
use podium_resources::stored::stored_kind;
use podium_resources::{Row, Writing, kinds, writing};
use serde_json::json;

use crate::custom::Custom;
use crate::{discovery, openapi, openapi2};

/// Groups of the table that are not served, because nothing would follow from what is written to them.
const NOT_YET: &[&str] =
    &["admissionregistration.k8s.io", "apiregistration.k8s.io", "flowcontrol.apiserver.k8s.io"];

/// Parts of objects that are not served, because nothing runs.
const NOT_YET_PARTS: &[(&str, &str)] = &[
    ("pods", "attach"),
    ("pods", "exec"),
    ("pods", "log"),
    ("pods", "portforward"),
    ("pods", "proxy"),
    ("nodes", "proxy"),
    ("services", "proxy"),
];

/// Resources that are not served: what they told of is not there.
const NOT_YET_RESOURCES: &[&str] = &["componentstatuses"];

/// What is served at one address.
#[derive(Debug)]
pub struct Resource {
    /// The kind of its objects.
    pub kind: GroupVersionKind,
    /// The name in addresses.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// What can be done with it.
    pub verbs: Vec<String>,
    /// What is served below each object.
    pub parts: Vec<Part>,
    /// Where its objects are in the store.
    pub place: Arc<str>,
    /// The kind, in the version in which it is stored.
    pub stored: GroupVersionKind,
    /// What writes may do.
    pub writing: Writing,
    /// What its definition says, unless it is built in.
    pub custom: Option<Arc<Custom>>,
}

/// What is served below an object.
#[derive(Debug)]
pub struct Part {
    /// The last part of the address.
    pub name: String,
    /// The kind that it takes and gives.
    pub kind: GroupVersionKind,
    /// What can be done with it.
    pub verbs: Vec<String>,
}

impl Resource {
    fn built_in(row: &Row<'static>) -> Self {
        let kind = row.full_kind();
        let stored = stored_kind(&kind);
        let parts = row.subresources.iter().filter(|sub| !NOT_YET_PARTS.contains(&(row.plural, sub.name)));
        let part = |sub: &podium_resources::Subresource<'static>| Part {
            name: sub.name.to_owned(),
            kind: sub.full_kind(row),
            verbs: sub.verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        };
        Self {
            plural: row.plural.to_owned(),
            namespaced: row.namespaced,
            verbs: row.verbs.iter().map(|verb| (*verb).to_owned()).collect(),
            parts: parts.map(part).collect(),
            place: place(&stored.group, row.plural),
            writing: writing(&kind),
            custom: None,
            kind,
            stored,
        }
    }

    /// `plural.group`, or the plural alone for the core group.
    pub fn qualified(&self) -> String {
        match self.kind.group.as_str() {
            "" => self.plural.clone(),
            group => format!("{}.{group}", self.plural),
        }
    }

    /// What everybody is told who uses it, if it is not to be used any more.
    pub fn deprecation(&self) -> Vec<String> {
        let custom = self.custom.as_ref().and_then(|custom| custom.rules(&self.kind)?.deprecation());
        if self.is("", "Endpoints") {
            return vec![
                "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice".to_owned(),
            ];
        }
        custom.map(str::to_owned).into_iter().collect()
    }

    /// Whether something can be done with it.
    pub fn allows(&self, verb: &str) -> bool {
        self.verbs.iter().any(|one| one == verb)
    }

    /// What is served below its objects under a name.
    pub fn part(&self, name: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// Whether it is this kind of the built-in ones.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.custom.is_none() && self.kind.group == group && self.kind.kind == kind
    }
}

/// Where objects of a resource are in the store.
pub fn place(group: &str, plural: &str) -> Arc<str> {
    if group.is_empty() { plural.into() } else { format!("{group}/{plural}").into() }
}

/// The resources of a group and version, by their names in addresses.
pub type Version = BTreeMap<String, Arc<Resource>>;

/// Everything that is served.
#[derive(Debug, Default)]
pub struct Served {
    /// By group and version.
    versions: BTreeMap<(String, String), Version>,
    /// What users have defined, in the order of names.
    pub customs: Vec<Arc<Custom>>,
    /// What clients ask for again and again, made when it is first asked for.
    pages: Pages,
}

/// Pages about what is served.
#[derive(Debug, Default)]
struct Pages {
    documents: OnceLock<BTreeMap<String, Page>>,
    index: OnceLock<Page>,
    old: [OnceLock<Page>; 2],
    core: OnceLock<Page>,
    groups: OnceLock<Page>,
}

/// A page, and a name for its content.
#[derive(Debug, Clone)]
pub struct Page {
    /// The text.
    pub text: Bytes,
    /// The name.
    pub tag: String,
}

impl Page {
    fn new(text: impl Into<Bytes>) -> Self {
        let text = text.into();
        let tag = discovery::etag(&text);
        Self { text, tag }
    }
}

impl Served {
    /// The built-in kinds and these.
    pub fn new(customs: Vec<Arc<Custom>>) -> Self {
        let mut served = Self::default();
        for row in built_in_rows() {
            served.add(Resource::built_in(row));
        }
        for custom in &customs {
            for resource in custom.resources() {
                served.add(resource);
            }
        }
        served.customs = customs;
        served
    }

    fn add(&mut self, resource: Resource) {
        let version = (resource.kind.group.clone(), resource.kind.version.clone());
        self.versions
            .entry(version)
            .or_default()
            .entry(resource.plural.clone())
            .or_insert_with(|| Arc::new(resource));
    }

    /// The OpenAPI documents, by their addresses.
    pub fn documents(&self) -> &BTreeMap<String, Page> {
        self.pages.documents.get_or_init(|| {
            let page = |(group, version, _): (&str, &str, &Version)| {
                let document = openapi::document(self, group, version).unwrap_or_default();
                (openapi::path(group, version), Page::new(document.to_string()))
            };
            self.versions().map(page).collect()
        })
    }

    /// The OpenAPI document of the second version, as JSON or in the binary form.
    pub fn old_document(&self, binary: bool) -> &Page {
        let [json, packed] = &self.pages.old;
        let place = if binary { packed } else { json };
        place.get_or_init(|| {
            let document = openapi2::document(self);
            if binary { Page::new(openapi2::binary(&document)) } else { Page::new(document.to_string()) }
        })
    }

    /// The list of the OpenAPI documents.
    pub fn index(&self) -> &Page {
        self.pages.index.get_or_init(|| {
            let mut paths = serde_json::Map::new();
            for (path, page) in self.documents() {
                let url = format!("/openapi/v3/{path}?hash={}", page.tag.trim_matches('"'));
                paths.insert(path.clone(), json!({"serverRelativeURL": url}));
            }
            Page::new(json!({"paths": paths}).to_string())
        })
    }

    /// Everything that is served at once: the core group, or all others.
    pub fn everything(&self, core: bool) -> &Page {
        let place = if core { &self.pages.core } else { &self.pages.groups };
        place.get_or_init(|| Page::new(discovery::aggregated(self, core).to_string()))
    }

    /// What is served of a group and version.
    pub fn version(&self, group: &str, version: &str) -> Option<&Version> {
        self.versions.get(&(group.to_owned(), version.to_owned()))
    }

    /// All groups and versions.
    pub fn versions(&self) -> impl Iterator<Item = (&str, &str, &Version)> {
        self.versions
            .iter()
            .map(|((group, version), resources)| (group.as_str(), version.as_str(), resources))
    }

    /// What is served at an address.
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.version(group, version)?.get(plural)
    }

    /// Some version of a resource: of those that are stored, the stored one.
    pub fn any_version(&self, group: &str, plural: &str) -> Option<&Arc<Resource>> {
        let all = self.versions.iter().filter(|((one, _), _)| one == group);
        let mut found = all.filter_map(|(_, resources)| resources.get(plural));
        let first = found.next()?;
        Some(found.find(|resource| resource.kind == resource.stored).unwrap_or(first))
    }
}

/// The rows of the table that are served.
pub fn built_in_rows() -> impl Iterator<Item = &'static Row<'static>> {
    kinds()
        .rows()
        .filter(|row| !NOT_YET.contains(&row.group))
        .filter(|row| !NOT_YET_RESOURCES.contains(&row.plural))
}

/// Whether a part of built-in objects is served.
pub fn serves_part(plural: &str, part: &str) -> bool {
    !NOT_YET_PARTS.contains(&(plural, part))
}

/// The order of versions: stable ones first, the higher number first.
pub fn newer_first(a: &str, b: &str) -> Ordering {
    match (rank(a), rank(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// The major number, whether it is stable, beta or alpha, and the number of that.
fn rank(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, rest) = text.split_at(end);
        (!number.is_empty() && !number.starts_with('0'))
            .then(|| Some((number.parse::<u64>().ok()?, rest.to_owned())))?
    };
    let (major, rest) = digits(rest)?;
    for (word, level) in [("alpha", 0), ("beta", 1)] {
        if let Some(rest) = rest.strip_prefix(word) {
            let (minor, rest) = if rest.is_empty() { (0, String::new()) } else { digits(rest)? };
            return rest.is_empty().then_some((level, major, minor));
        }
    }
    rest.is_empty().then_some((2, major, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_the_order_of_discovery() {
        let mut versions = ["foo1", "v1alpha1", "v2beta2", "v1", "v10", "v2beta10", "v2", "foo10"];
        versions.sort_by(|a, b| newer_first(a, b));
        assert_eq!(versions, ["v10", "v2", "v1", "v2beta10", "v2beta2", "v1alpha1", "foo1", "foo10"]);
    }

    #[test]
    fn resources_with_two_versions_have_one_place() {
        let served = Served::new(Vec::new());
        let place = |group: &str, version: &str, plural: &str| {
            served.resource(group, version, plural).unwrap().place.to_string()
        };
        assert_eq!(place("", "v1", "events"), "events");
        assert_eq!(place("events.k8s.io", "v1", "events"), "events");
        assert_eq!(place("apps", "v1", "deployments"), "apps/deployments");
        let hpa = served.any_version("autoscaling", "horizontalpodautoscalers").unwrap();
        assert_eq!(hpa.kind.version, "v2");
        assert!(served.resource("", "v1", "pods").unwrap().part("exec").is_none());
    }
}
