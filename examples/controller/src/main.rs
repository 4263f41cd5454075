//! An example controller: a `Greeting` owns a ConfigMap with its text.
//!
//! `kubectl apply -f examples/controller/crd.yaml && cargo run -p podium-example-controller` runs it on the cluster of the
//! current kubeconfig. Its parts: `reconcile`, the informers that enqueue keys, and `main` with the manager.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use podium_client::client::{ApplyOptions, Error, Representation};
use podium_client::watch::{ListWatch, WatchEvent};
use podium_client::{Client, ClientConfig, ObjectKey};
use podium_controller::log::{Level, Log, Style};
use podium_controller::manager::{self, Manager, shutdown_signal};
use podium_controller::object_store::Change;
use podium_controller::{
    Backoff, Controller, EventType, Informer, ObjectReference, ObjectStore, ReconcileResult, Reconciler,
};
use podium_meta::{GroupVersionKind, Resource};
use serde_json::json;

const FIELD_MANAGER: &str = "greeting-controller";

fn greetings() -> Resource {
    let kind = GroupVersionKind::new("example.podium.dev/v1", "Greeting");
    Resource { kind, plural: "greetings".to_owned(), namespaced: true }
}

fn config_maps() -> Resource {
    Resource::core("ConfigMap", "configmaps", true)
}

struct GreetingReconciler {
    manager: Rc<Manager>,
    greetings: Rc<RefCell<ObjectStore>>,
}

impl Reconciler for GreetingReconciler {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey) -> ReconcileResult {
        self.sync(key).await.unwrap_or_else(|error| {
            self.manager.log.error("reconcile failed", &[("greeting", key), ("error", &error)]);
            ReconcileResult::Failed
        })
    }
}

impl GreetingReconciler {
    /// Observe the Greeting, apply the ConfigMap that it wants, report in its status.
    async fn sync(&self, key: &ObjectKey) -> Result<ReconcileResult, Error> {
        let client = &self.manager.client;
        let observed = self.greetings.borrow().get(key).map_or(0, |state| state.version);
        let found = client.get(&greetings(), key.namespace(), key.name()).await?.unwrap_or_default();
        let version = found["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
        if version.unwrap_or(0) < observed {
            // The API server answered from a cache that is older than the event: try again.
            return Ok(ReconcileResult::Failed);
        }
        if found.is_null() {
            // The garbage collector deletes the ConfigMap of a Greeting that is gone.
            return Ok(ReconcileResult::Done);
        }
        let metadata = &found["metadata"];
        let owner = json!({"apiVersion": "example.podium.dev/v1", "kind": "Greeting", "name": key.name(),
            "uid": metadata["uid"], "controller": true});
        let desired = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": key.name(), "labels": {"example.podium.dev/greeting": key.name()}, "ownerReferences": [owner]},
            "data": {"text": found["spec"]["text"]}});
        let how = ApplyOptions { field_manager: FIELD_MANAGER, force: true, dry_run: false };
        client.apply(&config_maps(), key.namespace(), key.name(), &desired, how).await?;
        if found["status"]["observedGeneration"] != metadata["generation"] {
            let status = json!({"status": {"observedGeneration": metadata["generation"]}});
            client
                .merge_patch_status(&greetings(), key.namespace(), key.name(), &status, FIELD_MANAGER)
                .await?;
            let greeting = ObjectReference::from_object(&found);
            self.manager.recorder.record(
                &greeting,
                EventType::Normal,
                "Applied",
                "the ConfigMap has the text",
            );
        }
        Ok(ReconcileResult::Done)
    }
}

/// Starts the informers and the controller, and runs until the manager stops.
async fn work(manager: Rc<Manager>) -> std::convert::Infallible {
    let backoff = Backoff { base: Duration::from_millis(100), cap: Duration::from_secs(60) };
    let controller = Controller::new("greeting-controller", 2, backoff);
    let watch = |list_watch: ListWatch| {
        let (store, queue) = (Rc::new(RefCell::new(ObjectStore::default())), controller.queue.clone());
        // A ConfigMap has the name of its Greeting: its drift enqueues the same key.
        let handler = move |_: &WatchEvent, changes: Vec<Change>| {
            changes.into_iter().for_each(|change| queue.enqueue(change.key));
        };
        (Informer::start_with_store(&manager.client, list_watch, store.clone(), |_| 0, handler), store)
    };
    let (_greetings, greetings) = watch(ListWatch::new(greetings(), Representation::Metadata));
    let (_config_maps, _) = watch(ListWatch {
        label_selector: "example.podium.dev/greeting".to_owned(),
        ..ListWatch::new(config_maps(), Representation::Metadata)
    });
    manager.start(controller, Rc::new(GreetingReconciler { manager: manager.clone(), greetings }));
    std::future::pending().await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::new(&ClientConfig::default()).await?;
    let options = manager::Options::new(FIELD_MANAGER);
    let manager = Manager::new(client, &options, Log::new(Level::Info, Style::Console));
    manager.clone().run(options, work(manager), shutdown_signal()).await?;
    Ok(())
}
