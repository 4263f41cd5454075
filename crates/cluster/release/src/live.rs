//! The objects of a release as the cluster has them.

use std::collections::{BTreeMap, BTreeSet};

use podium_chart::dialect::HELM4;
use podium_chart::manifest;
use podium_goyaml::{Node, yaml};
use podium_objects::kind::escape;
use podium_objects::{Kind, Status};
use podium_runtime::client::{Error, Form};
use podium_runtime::{Client, Discovery};
use serde_json::Value;

/// An object that a manifest names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace, if the manifest says one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// Objects as the cluster has them, by `version/Kind`.
#[derive(Debug, Default)]
pub struct Live {
    /// In the order in which the manifest first names each kind.
    pub order: Vec<String>,
    /// The answers of the server.
    pub objects: BTreeMap<String, Vec<Value>>,
    /// What is not there.
    pub missing: Vec<Named>,
    /// What the server does not let the user see, in its words.
    pub refused: Vec<Status>,
}

/// The objects that a manifest names, in its order; documents that are no objects are left out.
pub fn named(manifest: &str) -> Vec<Named> {
    let documents = manifest::split(manifest.as_bytes(), &HELM4);
    documents.into_iter().filter_map(|document| name(&yaml::parse(document, 0).ok()?)).collect()
}

fn name(node: &Node) -> Option<Named> {
    let metadata = node.get("metadata")?;
    Some(Named {
        kind: Kind::new(node.get("apiVersion")?.as_str()?, node.get("kind")?.as_str()?),
        namespace: metadata.get("namespace").and_then(Node::as_str).map(str::to_owned),
        name: metadata.get("name")?.as_str()?.to_owned(),
    })
}

/// The labels of the pods that an object keeps, as a selector.
fn pods_of(object: &Value) -> Option<String> {
    let path = match object.get("kind")?.as_str()? {
        "ReplicaSet" | "Deployment" | "StatefulSet" | "DaemonSet" | "Job" => "/spec/selector/matchLabels",
        "ReplicationController" => "/spec/selector",
        _ => return None,
    };
    let labels = object.pointer(path)?.as_object()?;
    let pairs: Vec<String> =
        labels.iter().filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?))).collect();
    (!pairs.is_empty()).then(|| pairs.join(","))
}

/// The key under which pods are that the manifest does not name.
const RELATED: &str = "v1/Pod(related)";

impl Live {
    /// Asks for every object of a manifest, and for the pods that belong to them; where the manifest names no
    /// namespace, they are looked for in this one.
    pub async fn read(client: &Client, manifest: &str, namespace: &str, form: Form) -> Result<Self, Error> {
        let discovery = Discovery::read(client).await?;
        let mut live = Self::default();
        let mut related = Vec::new();
        let mut asked = BTreeSet::new();
        for object in named(manifest) {
            let place = object.namespace.as_deref().unwrap_or(namespace);
            let found = match discovery.find(&object.kind) {
                None => None,
                Some(resource) => match client.get(resource, Some(place), &object.name).await {
                    Err(Error::Refused(status)) => {
                        live.refused.push(status);
                        continue;
                    }
                    answer => answer?.map(|whole| (resource, whole)),
                },
            };
            let Some((resource, whole)) = found else {
                live.missing.push(object);
                continue;
            };
            if let Some(selector) = pods_of(&whole)
                && asked.insert((place.to_owned(), selector.clone()))
                && let Some(pods) = discovery.find(&Kind::new("v1", "Pod"))
            {
                related.push(format!("{}?labelSelector={}", pods.collection(Some(place)), escape(&selector)));
            }
            let shown = match form {
                Form::Whole => Some(whole),
                _ => client.get_as(resource, Some(place), &object.name, form).await?,
            };
            live.add(&format!("{}/{}", object.kind.version, object.kind.kind), shown);
        }
        for path in related {
            let mut pods = match client.read(&path, &form.accept(true)).await {
                Err(Error::Refused(status)) => {
                    live.refused.push(status);
                    continue;
                }
                answer => answer?,
            };
            for pod in pods.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
                // The items of a list do not repeat what they are.
                if let Some(fields) = pod.as_object_mut() {
                    fields.insert("apiVersion".to_owned(), "v1".into());
                    fields.insert("kind".to_owned(), "Pod".into());
                }
            }
            live.add(RELATED, Some(pods));
        }
        Ok(live)
    }

    fn add(&mut self, key: &str, object: Option<Value>) {
        let Some(object) = object else { return };
        if !self.objects.contains_key(key) {
            self.order.push(key.to_owned());
        }
        self.objects.entry(key.to_owned()).or_default().push(object);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_names_its_objects() {
        let manifest = "---\n# Source: a\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: d\n  namespace: other\n\
                        ---\n# only a comment\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n";
        let found: Vec<String> = named(manifest)
            .into_iter()
            .map(|o| format!("{} {} {}", o.kind, o.namespace.unwrap_or_default(), o.name))
            .collect();
        assert_eq!(found, ["apps/v1/Deployment other d", "v1/Secret  s"]);
    }
}
