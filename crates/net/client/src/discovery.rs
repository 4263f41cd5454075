//! Which kinds a cluster knows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use podium_meta::{Kind, Resource};
use serde_json::Value;

use crate::client::{Client, Error};

const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// The kinds of a cluster, with where their objects are.
#[derive(Clone, Debug, Default)]
pub struct Discovery {
    kinds: BTreeMap<Kind, Resource>,
    /// `group/version`, and `group/version/Kind` also of subresources.
    names: BTreeSet<String>,
}

/// The version of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerVersion {
    /// The whole version.
    pub git: String,
    /// The major part.
    pub major: String,
    /// The minor part.
    pub minor: String,
}

impl ServerVersion {
    /// Asks the cluster.
    pub async fn read(client: &Client) -> Result<Self, Error> {
        let answer = client.read("/version", "application/json").await?;
        Ok(Self {
            git: text(&answer, "/gitVersion"),
            major: text(&answer, "/major"),
            minor: text(&answer, "/minor"),
        })
    }
}

impl Discovery {
    /// Asks the cluster for all of its kinds, in two requests.
    pub async fn read(client: &Client) -> Result<Self, Error> {
        let mut all = Self::default();
        for path in ["/api", "/apis"] {
            let answer = client.read(path, ACCEPT).await?;
            if answer.get("kind").and_then(Value::as_str) != Some("APIGroupDiscoveryList") {
                let reason = "it lists no kinds; Kubernetes 1.30 or newer is needed".to_owned();
                return Err(Error::InvalidResponse { path: path.to_owned(), reason });
            }
            all.add(&answer);
        }
        Ok(all)
    }

    /// Where the objects of a kind are.
    pub fn find(&self, kind: &Kind) -> Option<&Resource> {
        self.kinds.get(kind)
    }

    /// Whether there is such a group and version, or `group/version/Kind`.
    pub fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Every `group/version`, and every `group/version/Kind`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Adds everything that an answer names.
    fn add(&mut self, answer: &Value) {
        for group in items(answer, "items") {
            for version in items(group, "versions") {
                let place = Kind {
                    group: text(group, "/metadata/name"),
                    version: text(version, "/version"),
                    kind: String::new(),
                };
                self.names.insert(place.api_version());
                for resource in items(version, "resources") {
                    for part in std::iter::once(resource).chain(items(resource, "subresources")) {
                        let kind = text(part, "/responseKind/kind");
                        if !kind.is_empty() {
                            self.names.insert(format!("{}/{kind}", place.api_version()));
                        }
                    }
                    let kind = Kind { kind: text(resource, "/responseKind/kind"), ..place.clone() };
                    let plural = text(resource, "/resource");
                    let namespaced = text(resource, "/scope") == "Namespaced";
                    self.kinds.insert(kind.clone(), Resource { kind, plural, namespaced });
                }
            }
        }
    }
}

/// The kinds of a cluster as they were last seen, for everybody who asks.
pub struct DiscoveryCache {
    client: Client,
    seen: Mutex<Option<Arc<Discovery>>>,
}

impl DiscoveryCache {
    /// Of a cluster that has not been asked yet.
    pub fn new(client: Client) -> Self {
        Self { client, seen: Mutex::new(None) }
    }

    /// As they were last seen; the cluster is asked when they never were.
    pub async fn get(&self) -> Result<Arc<Discovery>, Error> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match seen {
            Some(seen) => Ok(seen),
            None => self.refresh().await,
        }
    }

    /// As they are now.
    pub async fn refresh(&self) -> Result<Arc<Discovery>, Error> {
        let found = Arc::new(Discovery::read(&self.client).await?);
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(found.clone());
        Ok(found)
    }
}

fn items<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn text(value: &Value, path: &str) -> String {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn groups_versions_and_scopes_are_read() {
        let answer = json!({"items": [
            {"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": [
                {"resource": "deployments", "responseKind": {"group": "apps", "version": "v1", "kind": "Deployment"},
                 "scope": "Namespaced", "subresources": [{"subresource": "scale", "responseKind": {"kind": "Scale"}}]},
            ]}]},
            {"metadata": {}, "versions": [{"version": "v1", "resources": [
                {"resource": "nodes", "responseKind": {"version": "v1", "kind": "Node"}, "scope": "Cluster"},
            ]}]},
        ]});
        let mut found = Discovery::default();
        found.add(&answer);
        let deployments = found.find(&Kind::new("apps/v1", "Deployment")).unwrap();
        assert_eq!(deployments.collection(Some("a")), "/apis/apps/v1/namespaces/a/deployments");
        assert!(!found.find(&Kind::new("v1", "Node")).unwrap().namespaced);
        assert!(found.find(&Kind::new("v1", "Nodes")).is_none());
        let names: Vec<&str> = found.names().collect();
        assert_eq!(names, ["apps/v1", "apps/v1/Deployment", "apps/v1/Scale", "v1", "v1/Node"]);
    }
}
