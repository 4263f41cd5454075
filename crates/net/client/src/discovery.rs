//! API discovery: the resources and the version of a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use podium_meta::{GroupVersionKind, Resource};
use serde_json::Value;

use crate::client::{Client, Error};

const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// Resources that a cluster serves, by kind.
#[derive(Clone, Debug, Default)]
pub struct Discovery {
    kinds: BTreeMap<GroupVersionKind, Resource>,
    /// `group/version` and `group/version/Kind`, including the kinds of subresources.
    api_versions: BTreeSet<String>,
}

/// Version of the API server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerVersion {
    /// Full version, such as `v1.36.0`.
    pub git_version: String,
    /// Major version.
    pub major: String,
    /// Minor version.
    pub minor: String,
}

impl ServerVersion {
    /// Reads `/version`.
    pub async fn fetch(client: &Client) -> Result<Self, Error> {
        let response = client.get_path("/version", "application/json").await?;
        Ok(Self {
            git_version: text(&response, "/gitVersion"),
            major: text(&response, "/major"),
            minor: text(&response, "/minor"),
        })
    }
}

impl Discovery {
    /// Reads aggregated discovery: `/api` and `/apis`.
    pub async fn fetch(client: &Client) -> Result<Self, Error> {
        let mut discovery = Self::default();
        for path in ["/api", "/apis"] {
            let response = client.get_path(path, ACCEPT).await?;
            if response.get("kind").and_then(Value::as_str) != Some("APIGroupDiscoveryList") {
                let reason = "it lists no kinds; Kubernetes 1.30 or newer is needed".to_owned();
                return Err(Error::InvalidResponse { path: path.to_owned(), reason });
            }
            discovery.add_groups(&response);
        }
        Ok(discovery)
    }

    /// Resource of a kind, if the cluster serves it.
    pub fn find(&self, kind: &GroupVersionKind) -> Option<&Resource> {
        self.kinds.get(kind)
    }

    /// Whether the cluster serves a `group/version` or `group/version/Kind`.
    pub fn has_api_version(&self, api_version: &str) -> bool {
        self.api_versions.contains(api_version)
    }

    /// Every served `group/version` and `group/version/Kind`.
    pub fn api_versions(&self) -> impl Iterator<Item = &str> {
        self.api_versions.iter().map(String::as_str)
    }

    /// Adds the groups of an `APIGroupDiscoveryList`.
    fn add_groups(&mut self, response: &Value) {
        for group in items(response, "items") {
            for version in items(group, "versions") {
                let group_version = GroupVersionKind {
                    group: text(group, "/metadata/name"),
                    version: text(version, "/version"),
                    kind: String::new(),
                };
                self.api_versions.insert(group_version.api_version());
                for resource in items(version, "resources") {
                    for served in std::iter::once(resource).chain(items(resource, "subresources")) {
                        let kind = text(served, "/responseKind/kind");
                        if !kind.is_empty() {
                            self.api_versions.insert(format!("{}/{kind}", group_version.api_version()));
                        }
                    }
                    let kind = GroupVersionKind {
                        kind: text(resource, "/responseKind/kind"),
                        ..group_version.clone()
                    };
                    let plural = text(resource, "/resource");
                    let namespaced = text(resource, "/scope") == "Namespaced";
                    self.kinds.insert(kind.clone(), Resource { kind, plural, namespaced });
                }
            }
        }
    }
}

/// Discovery of a cluster, read on first use and shared until it is refreshed.
pub struct DiscoveryCache {
    client: Client,
    cached: Mutex<Option<Arc<Discovery>>>,
}

impl DiscoveryCache {
    /// Creates an empty cache.
    pub fn new(client: Client) -> Self {
        Self { client, cached: Mutex::new(None) }
    }

    /// Returns the cached discovery; reads it from the cluster on first use.
    pub async fn get(&self) -> Result<Arc<Discovery>, Error> {
        let cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match cached {
            Some(discovery) => Ok(discovery),
            None => self.refresh().await,
        }
    }

    /// Reads discovery from the cluster and replaces the cached one.
    pub async fn refresh(&self) -> Result<Arc<Discovery>, Error> {
        let discovery = Arc::new(Discovery::fetch(&self.client).await?);
        *self.cached.lock().unwrap_or_else(PoisonError::into_inner) = Some(discovery.clone());
        Ok(discovery)
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
    fn reads_groups_versions_kinds_and_scopes() {
        let response = json!({"items": [
            {"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": [
                {"resource": "deployments", "responseKind": {"group": "apps", "version": "v1", "kind": "Deployment"},
                 "scope": "Namespaced", "subresources": [{"subresource": "scale", "responseKind": {"kind": "Scale"}}]},
            ]}]},
            {"metadata": {}, "versions": [{"version": "v1", "resources": [
                {"resource": "nodes", "responseKind": {"version": "v1", "kind": "Node"}, "scope": "Cluster"},
            ]}]},
        ]});
        let mut discovery = Discovery::default();
        discovery.add_groups(&response);
        let deployments = discovery.find(&GroupVersionKind::new("apps/v1", "Deployment")).unwrap();
        assert_eq!(deployments.collection(Some("a")), "/apis/apps/v1/namespaces/a/deployments");
        assert!(!discovery.find(&GroupVersionKind::new("v1", "Node")).unwrap().namespaced);
        assert!(discovery.find(&GroupVersionKind::new("v1", "Nodes")).is_none());
        let api_versions: Vec<&str> = discovery.api_versions().collect();
        assert_eq!(api_versions, ["apps/v1", "apps/v1/Deployment", "apps/v1/Scale", "v1", "v1/Node"]);
    }
}
