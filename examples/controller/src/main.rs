//! An example controller: a `Greeting` owns a ConfigMap with its text.
//!
//! `kubectl apply -f examples/controller/crd.yaml && cargo run -p podium-example-controller` runs it on the cluster of the
//! current kubeconfig. Its parts: `reconcile`, the informers that enqueue keys, and `main` with the manager.

use std::rc::Rc;
use std::time::Duration;

use podium_client::client::{ApplyOptions, Error, Representation};
use podium_client::watch::{ListWatch, WatchEvent};
use podium_client::{Client, ClientConfig, ObjectKey};
use podium_controller::log::{Level, Log, Style};
use podium_controller::manager::{self, Manager, shutdown_signal};
use podium_controller::{
    Backoff, Controller, EventType, Informer, ObjectReference, ReconcileResult, Reconciler, WorkQueue,
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

struct GreetingReconciler(Rc<Manager>);

impl Reconciler for GreetingReconciler {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey) -> ReconcileResult {
        match self.sync(key).await {
            Ok(()) => ReconcileResult::Done,
            Err(error) => {
                self.0.log.error("reconcile failed", &[("greeting", key), ("error", &error)]);
                ReconcileResult::Failed
            }
        }
    }
}

impl GreetingReconciler {
    /// Observe the Greeting, apply the ConfigMap that it wants, report in its status.
    async fn sync(&self, key: &ObjectKey) -> Result<(), Error> {
        let client = &self.0.client;
        // The garbage collector deletes the ConfigMap of a Greeting that is gone.
        let Some(greeting) = client.get(&greetings(), key.namespace(), key.name()).await? else {
            return Ok(());
        };
        let metadata = &greeting["metadata"];
        let owner = json!({"apiVersion": "example.podium.dev/v1", "kind": "Greeting", "name": key.name(),
            "uid": metadata["uid"], "controller": true});
        let desired = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": key.name(), "labels": {"example.podium.dev/greeting": key.name()}, "ownerReferences": [owner]},
            "data": {"text": greeting["spec"]["text"]}});
        let how = ApplyOptions { field_manager: FIELD_MANAGER, force: true, dry_run: false };
        client.apply(&config_maps(), key.namespace(), key.name(), &desired, how).await?;
        if greeting["status"]["observedGeneration"] != metadata["generation"] {
            let status = json!({"status": {"observedGeneration": metadata["generation"]}});
            client
                .merge_patch_status(&greetings(), key.namespace(), key.name(), &status, FIELD_MANAGER)
                .await?;
            let greeting = ObjectReference::from_object(&greeting);
            self.0.recorder.record(&greeting, EventType::Normal, "Applied", "the ConfigMap has the text");
        }
        Ok(())
    }
}

/// Starts the informers and the controller, and runs until the manager stops.
async fn work(manager: Rc<Manager>) -> std::convert::Infallible {
    let backoff = Backoff { base: Duration::from_millis(100), cap: Duration::from_secs(60) };
    let controller = Controller::new("greeting-controller", 2, backoff);
    let enqueue = |queue: WorkQueue<ObjectKey>| {
        move |event: WatchEvent| {
            if let WatchEvent::Applied(object) | WatchEvent::Deleted(object) = event {
                // A ConfigMap has the name of its Greeting: its drift enqueues the same key.
                queue.enqueue(ObjectKey::from_object(&object));
            }
        }
    };
    let labelled = ListWatch {
        label_selector: "example.podium.dev/greeting".to_owned(),
        ..ListWatch::new(config_maps(), Representation::Metadata)
    };
    let all = ListWatch::new(greetings(), Representation::Metadata);
    let _informers = [all, labelled]
        .map(|list_watch| Informer::start(&manager.client, list_watch, enqueue(controller.queue.clone())));
    manager.start(controller, Rc::new(GreetingReconciler(manager.clone())));
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
