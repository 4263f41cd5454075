//! Definitions of kinds become kinds: their names are checked, and then they are served.

use std::time::Duration;

use podium_fieldmanager::managed;
use podium_schema::establish::{accept, establish};
use podium_store::{Expect, Key, Query};
use serde_json::Value;
use tokio::time::sleep;

use crate::api::{Api, DEFINITIONS};
use crate::served::Resource;
use crate::{clock, model};

/// Looks after all definitions, for ever.
pub async fn run(api: &Api) {
    loop {
        let collection = api.store().collection(DEFINITIONS);
        let Ok(page) = collection.list(Query::default(), |_| true) else { return };
        settle_all(api).await;
        let Ok(mut watch) = collection.watch("", page.revision) else { continue };
        while let Ok(events) = watch.next().await {
            if !events.is_empty() {
                settle_all(api).await;
            }
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// Settles what is not settled yet: names are accepted, then the kind is served.
async fn settle_all(api: &Api) {
    loop {
        let collection = api.store().collection(DEFINITIONS);
        let Ok(page) = collection.list(Query::default(), |_| true) else { return };
        let all: Vec<Value> = page
            .objects
            .iter()
            .map(|object| serde_json::from_slice(object.body()).unwrap_or_default())
            .collect();
        let now = clock::now();
        let settled = all.iter().zip(&page.objects).find_map(|(definition, object)| {
            let status = accept(definition, &all, &now).or_else(|| establish(definition, &now))?;
            Some((definition, object, status))
        });
        let Some((definition, object, status)) = settled else { return };
        let mut new = definition.clone();
        if let Some(new) = new.as_object_mut() {
            new.insert("status".to_owned(), status);
        }
        let served = api.served();
        let resource = served.resource("apiextensions.k8s.io", "v1", "customresourcedefinitions");
        let Some(resource) = resource else { return };
        let new = owned(resource, definition, new, &now);
        let Ok(draft) = resource.draft(&new) else { return };
        let key = Key::new(DEFINITIONS, "", object.name());
        // If somebody was faster, the next look shows it.
        let _ = api.store().put(key, Expect::At(object.revision()), draft).await;
    }
}

/// What the server itself writes into a status is its own.
fn owned(resource: &Resource, live: &Value, new: Value, now: &str) -> Value {
    let version = resource.kind.api_version();
    let tracked = resource.tracked("status");
    let scope = model::scope(resource, &tracked, &version, "status", now);
    managed::update_or_forget(&scope, Some(live), new, "kube-apiserver")
}
