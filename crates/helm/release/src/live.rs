//! The objects of a release as the cluster has them.

use std::collections::{BTreeMap, BTreeSet};

use podium_client::client::{Error, Representation};
use podium_client::{Client, Discovery};
use podium_deploy::named::{Named, named};
use podium_kstatus::pod_selector;
use podium_meta::kind::escape;
use podium_meta::{Kind, Status};
use serde_json::Value;

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

/// The key under which pods are that the manifest does not name.
const RELATED: &str = "v1/Pod(related)";

impl Live {
    /// Asks for every object of a manifest, and for the pods that belong to them; where the manifest names no
    /// namespace, they are looked for in this one.
    pub async fn read(
        client: &Client,
        manifest: &str,
        namespace: &str,
        form: Representation,
    ) -> Result<Self, Error> {
        let discovery = Discovery::fetch(client).await?;
        let mut live = Self::default();
        let mut related = Vec::new();
        let mut asked = BTreeSet::new();
        for object in named(manifest).into_iter().filter(|object| !object.name.is_empty()) {
            let place = object.namespace.as_deref().unwrap_or(namespace);
            let found = match discovery.find(&object.kind) {
                None => None,
                Some(resource) => match client.get(resource, Some(place), &object.name).await {
                    Err(Error::Api(status)) => {
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
            if let Some(selector) = pod_selector(&whole)
                && asked.insert((place.to_owned(), selector.clone()))
                && let Some(pods) = discovery.find(&Kind::new("v1", "Pod"))
            {
                let query = format!("?labelSelector={}", escape(&selector));
                related.push((pods.clone(), place.to_owned(), query));
            }
            let shown = match form {
                Representation::Full => Some(whole),
                _ => client.get_as(resource, Some(place), &object.name, form).await?,
            };
            live.add(&format!("{}/{}", object.kind.version, object.kind.kind), shown);
        }
        for (pods, place, query) in related {
            let answer = match form {
                Representation::Full => client.list_objects(&pods, Some(&place), &query).await,
                _ => {
                    client
                        .get_path(&format!("{}{query}", pods.collection(Some(&place))), &form.accept(true))
                        .await
                }
            };
            match answer {
                Err(Error::Api(status)) => live.refused.push(status),
                answer => live.add(RELATED, Some(answer?)),
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
