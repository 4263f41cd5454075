//! Which kinds a cluster knows.

use std::collections::BTreeMap;

use podium_objects::{Kind, Resource};
use serde_json::Value;

use crate::client::{Client, Error};

const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// The kinds of a cluster, with where their objects are.
#[derive(Clone, Debug, Default)]
pub struct Discovery(BTreeMap<Kind, Resource>);

impl Discovery {
    /// Asks the cluster for all of its kinds, in two requests.
    pub async fn read(client: &Client) -> Result<Self, Error> {
        let mut all = BTreeMap::new();
        for path in ["/api", "/apis"] {
            let answer = client.read(path, ACCEPT).await?;
            if answer.get("kind").and_then(Value::as_str) != Some("APIGroupDiscoveryList") {
                let reason = "it lists no kinds; Kubernetes 1.30 or newer is needed".to_owned();
                return Err(Error::Answer { path: path.to_owned(), reason });
            }
            all.extend(kinds(&answer));
        }
        Ok(Self(all))
    }

    /// Where the objects of a kind are.
    pub fn find(&self, kind: &Kind) -> Option<&Resource> {
        self.0.get(kind)
    }
}

fn items<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn text(value: &Value, path: &str) -> String {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Everything that an answer names.
fn kinds(answer: &Value) -> Vec<(Kind, Resource)> {
    let mut out = Vec::new();
    for group in items(answer, "items") {
        for version in items(group, "versions") {
            for resource in items(version, "resources") {
                let kind = Kind {
                    group: text(group, "/metadata/name"),
                    version: text(version, "/version"),
                    kind: text(resource, "/responseKind/kind"),
                };
                let plural = text(resource, "/resource");
                let namespaced = text(resource, "/scope") == "Namespaced";
                out.push((kind.clone(), Resource { kind, plural, namespaced }));
            }
        }
    }
    out
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
                 "scope": "Namespaced"},
            ]}]},
            {"metadata": {}, "versions": [{"version": "v1", "resources": [
                {"resource": "nodes", "responseKind": {"version": "v1", "kind": "Node"}, "scope": "Cluster"},
            ]}]},
        ]});
        let found = Discovery(kinds(&answer).into_iter().collect());
        let deployments = found.find(&Kind::new("apps/v1", "Deployment")).unwrap();
        assert_eq!(deployments.collection(Some("a")), "/apis/apps/v1/namespaces/a/deployments");
        assert!(!found.find(&Kind::new("v1", "Node")).unwrap().namespaced);
        assert!(found.find(&Kind::new("v1", "Nodes")).is_none());
    }
}
