//! The live objects of a release.

use std::collections::{BTreeMap, BTreeSet};

use podium_client::client::{Error, Representation};
use podium_client::{Client, Discovery};
use podium_deploy::object_ref::{ObjectRef, object_refs};
use podium_kstatus::pod_selector;
use podium_meta::kind::escape;
use podium_meta::{GroupVersionKind, Status};
use serde_json::Value;

/// Live objects by `version/Kind`.
#[derive(Debug, Default)]
pub struct LiveObjects {
    /// The kinds, in manifest order.
    pub order: Vec<String>,
    /// The objects or tables that the API server returned.
    pub objects: BTreeMap<String, Vec<Value>>,
    /// The objects that do not exist.
    pub missing: Vec<ObjectRef>,
    /// The objects that the API server refused to return.
    pub errors: Vec<Status>,
}

/// The key of pods that are not in the manifest.
const RELATED_PODS: &str = "v1/Pod(related)";

impl LiveObjects {
    /// Reads every object of a manifest and the pods that its workloads select; `default_namespace` is for objects
    /// without a namespace.
    pub async fn read(
        client: &Client,
        manifest: &str,
        default_namespace: &str,
        form: Representation,
    ) -> Result<Self, Error> {
        let discovery = Discovery::fetch(client).await?;
        let mut live = Self::default();
        let mut related = Vec::new();
        let mut queried = BTreeSet::new();
        for object in object_refs(manifest).into_iter().filter(|object| !object.name.is_empty()) {
            let namespace = object.namespace.as_deref().unwrap_or(default_namespace);
            let found = match discovery.find(&object.kind) {
                None => None,
                Some(resource) => match client.get(resource, Some(namespace), &object.name).await {
                    Err(Error::Api(status)) => {
                        live.errors.push(status);
                        continue;
                    }
                    result => result?.map(|whole| (resource, whole)),
                },
            };
            let Some((resource, whole)) = found else {
                live.missing.push(object);
                continue;
            };
            if let Some(selector) = pod_selector(&whole)
                && queried.insert((namespace.to_owned(), selector.clone()))
                && let Some(pods) = discovery.find(&GroupVersionKind::new("v1", "Pod"))
            {
                let query = format!("?labelSelector={}", escape(&selector));
                related.push((pods.clone(), namespace.to_owned(), query));
            }
            let shown = match form {
                Representation::Full => Some(whole),
                _ => client.get_as(resource, Some(namespace), &object.name, form).await?,
            };
            live.add(&format!("{}/{}", object.kind.version, object.kind.kind), shown);
        }
        for (pods, namespace, query) in related {
            let result = match form {
                Representation::Full => client.list_objects(&pods, Some(&namespace), &query).await,
                _ => {
                    client
                        .get_path(
                            &format!("{}{query}", pods.collection(Some(&namespace))),
                            &form.accept(true),
                        )
                        .await
                }
            };
            match result {
                Err(Error::Api(status)) => live.errors.push(status),
                result => live.add(RELATED_PODS, Some(result?)),
            }
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
