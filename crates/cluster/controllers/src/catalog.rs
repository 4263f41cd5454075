//! Which kinds a cluster serves, each once, and what may be done with them.

use podium_client::Client;
use podium_client::client::Error;
use podium_meta::{GroupVersionKind, Resource};
use serde_json::Value;

use crate::meta::{items, text};

const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// A kind in the version that its group prefers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Where its objects are.
    pub resource: Resource,
    verbs: u8,
}

/// What may be done with a kind.
#[derive(Clone, Copy, Debug)]
pub enum Verb {
    /// Its objects can be listed.
    List = 1,
    /// They can be watched.
    Watch = 2,
    /// They can be deleted.
    Delete = 4,
    /// They can be deleted all at once.
    DeleteCollection = 8,
}

const VERBS: [(&str, Verb); 4] = [
    ("list", Verb::List),
    ("watch", Verb::Watch),
    ("delete", Verb::Delete),
    ("deletecollection", Verb::DeleteCollection),
];

impl Served {
    /// Whether something may be done with it.
    pub fn can(&self, verb: Verb) -> bool {
        self.verbs & verb as u8 != 0
    }

    /// Whether this is the kind of a group with this name in addresses.
    pub fn is(&self, group: &str, plural: &str) -> bool {
        self.resource.kind.group == group && self.resource.plural == plural
    }
}

/// All kinds of a cluster.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// The kinds.
    pub served: Vec<Served>,
    /// The groups, with their versions, whose kinds the server itself does not know for certain.
    pub stale: Vec<String>,
    /// Groups with versions that cannot be told apart.
    pub odd: Vec<String>,
}

impl Catalog {
    /// Asks a cluster, in two requests.
    pub async fn ask(client: &Client) -> Result<Self, Error> {
        let (core, groups) = tokio::join!(client.get_path("/api", ACCEPT), client.get_path("/apis", ACCEPT));
        let mut catalog = Self::default();
        for (path, answer) in [("/api", core?), ("/apis", groups?)] {
            if text(&answer, "/kind") != "APIGroupDiscoveryList" {
                let reason = "it lists no kinds; Kubernetes 1.30 or newer is needed".to_owned();
                return Err(Error::InvalidResponse { path: path.to_owned(), reason });
            }
            catalog.add(&answer);
        }
        Ok(catalog)
    }

    /// The kind of a group with this name in addresses.
    pub fn find(&self, group: &str, plural: &str) -> Option<&Served> {
        self.served.iter().find(|served| served.is(group, plural))
    }

    /// Whether it is not certain which kinds a group has.
    pub fn is_stale(&self, group: &str) -> bool {
        self.stale.iter().any(|stale| stale.split('/').next() == Some(group))
    }

    fn add(&mut self, answer: &Value) {
        for group in items(answer, "/items") {
            let name = text(group, "/metadata/name");
            // Versions come in the order of preference, so the first that has a kind is the one.
            for version in items(group, "/versions") {
                let place = GroupVersionKind {
                    group: name.to_owned(),
                    version: text(version, "/version").to_owned(),
                    kind: String::new(),
                };
                if text(version, "/freshness") == "Stale" {
                    self.stale.push(place.api_version());
                }
                if place.api_version().matches('/').count() > 1 {
                    self.odd.push(place.api_version());
                    continue;
                }
                for resource in items(version, "/resources") {
                    self.add_kind(&place, resource);
                }
            }
        }
    }

    fn add_kind(&mut self, place: &GroupVersionKind, resource: &Value) {
        let plural = text(resource, "/resource");
        // The same Events under two groups.
        let twice = place.group == "events.k8s.io" && self.find("", "events").is_some();
        if twice || self.find(&place.group, plural).is_some() {
            return;
        }
        let may = |name: &str| items(resource, "/verbs").any(|verb| verb.as_str() == Some(name));
        let verbs = VERBS.iter().filter(|(name, _)| may(name)).map(|(_, verb)| *verb as u8).sum();
        let kind =
            GroupVersionKind { kind: text(resource, "/responseKind/kind").to_owned(), ..place.clone() };
        let namespaced = text(resource, "/scope") == "Namespaced";
        self.served
            .push(Served { resource: Resource { kind, plural: plural.to_owned(), namespaced }, verbs });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kind(plural: &str, kind: &str, verbs: &[&str]) -> Value {
        json!({"resource": plural, "responseKind": {"kind": kind}, "scope": "Namespaced", "verbs": verbs})
    }

    #[test]
    fn every_kind_is_there_once_in_the_version_that_is_preferred() {
        let all = ["create", "delete", "deletecollection", "get", "list", "watch"];
        let mut catalog = Catalog::default();
        catalog.add(&json!({"items": [{"metadata": {}, "versions": [{"version": "v1", "resources": [
            kind("events", "Event", &all), kind("bindings", "Binding", &["create"]),
        ]}]}]}));
        catalog.add(&json!({"items": [
            {"metadata": {"name": "events.k8s.io"}, "versions": [{"version": "v1", "resources": [
                kind("events", "Event", &all)]}]},
            {"metadata": {"name": "x.io"}, "versions": [
                {"version": "v2", "resources": [kind("as", "A", &["list"])]},
                {"version": "v1", "freshness": "Stale", "resources": [kind("as", "A", &all), kind("bs", "B", &all)]},
                {"version": "v1/x", "resources": [kind("cs", "C", &all)]},
            ]},
        ]}));
        let found: Vec<String> = catalog.served.iter().map(|s| s.resource.collection(Some("n"))).collect();
        assert_eq!(
            found,
            [
                "/api/v1/namespaces/n/events",
                "/api/v1/namespaces/n/bindings",
                "/apis/x.io/v2/namespaces/n/as",
                "/apis/x.io/v1/namespaces/n/bs"
            ]
        );
        let a = catalog.find("x.io", "as").unwrap();
        assert!(a.can(Verb::List) && !a.can(Verb::Watch) && !a.can(Verb::Delete));
        assert!(catalog.find("x.io", "bs").unwrap().can(Verb::DeleteCollection));
        assert_eq!(
            (catalog.stale.as_slice(), catalog.odd.as_slice()),
            (&["x.io/v1".to_owned()][..], &["x.io/v1/x".to_owned()][..])
        );
        assert!(catalog.is_stale("x.io") && !catalog.is_stale("x"));
    }
}
