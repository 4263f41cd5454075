//! An example controller: a `Greeting` owns a ConfigMap with its text.
//!
//! `cargo run -p podium-example-controller` runs it on the cluster of the current kubeconfig. Its parts: the CRD, the
//! informers that enqueue keys, `reconcile`, and `main` with the manager.

use std::rc::Rc;
use std::time::Duration;

use podium_client::client::{ApplyOptions, Error, Representation};
use podium_client::watch::{ListWatch, WatchEvent};
use podium_client::{Client, ClientConfig, ObjectKey};
use podium_controller::log::{Level, Log, Style};
use podium_controller::manager::{self, Manager, shutdown_signal};
use podium_controller::{
    Backoff, Controller, EventRecorder, EventType, Informer, ObjectReference, ReconcileResult, Reconciler,
};
use podium_meta::{GroupVersionKind, Resource};
use serde_json::{Value, json};

const FIELD_MANAGER: &str = "greeting-controller";
const CRD: &str = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "greetings.example.podium.dev"},
  "spec": {"group": "example.podium.dev", "scope": "Namespaced",
    "names": {"kind": "Greeting", "plural": "greetings", "singular": "greeting"},
    "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
      "schema": {"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}},
        "status": {"type": "object", "properties": {"observedGeneration": {"type": "integer"}}}}}}}]}}"#;

fn resource(api_version: &str, kind: &str, plural: &str, namespaced: bool) -> Resource {
    Resource { kind: GroupVersionKind::new(api_version, kind), plural: plural.to_owned(), namespaced }
}

fn greetings() -> Resource {
    resource("example.podium.dev/v1", "Greeting", "greetings", true)
}

fn config_maps() -> Resource {
    resource("v1", "ConfigMap", "configmaps", true)
}

struct GreetingReconciler {
    client: Client,
    recorder: EventRecorder,
    log: Log,
}

impl Reconciler for GreetingReconciler {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey) -> ReconcileResult {
        match self.sync(key).await {
            Ok(()) => ReconcileResult::Done,
            Err(error) => {
                self.log.error("reconcile failed", &[("greeting", key), ("error", &error)]);
                ReconcileResult::Failed
            }
        }
    }
}

impl GreetingReconciler {
    /// Observe the Greeting, apply the ConfigMap that it wants, report in its status.
    async fn sync(&self, key: &ObjectKey) -> Result<(), Error> {
        // The garbage collector deletes the ConfigMap of a Greeting that is gone.
        let Some(greeting) = self.client.get(&greetings(), key.namespace(), key.name()).await? else {
            return Ok(());
        };
        let metadata = &greeting["metadata"];
        let owner = json!({"apiVersion": "example.podium.dev/v1", "kind": "Greeting", "name": key.name(),
            "uid": metadata["uid"], "controller": true});
        let desired = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": key.name(), "labels": {"example.podium.dev/greeting": key.name()}, "ownerReferences": [owner]},
            "data": {"text": greeting["spec"]["text"]}});
        let how = ApplyOptions { field_manager: FIELD_MANAGER, force: true, dry_run: false };
        self.client.apply(&config_maps(), key.namespace(), key.name(), &desired, how).await?;
        if greeting["status"]["observedGeneration"] != metadata["generation"] {
            let status = json!({"status": {"observedGeneration": metadata["generation"]}});
            self.client
                .merge_patch_status(&greetings(), key.namespace(), key.name(), &status, FIELD_MANAGER)
                .await?;
            let greeting = ObjectReference::from_object(&greeting);
            self.recorder.record(&greeting, EventType::Normal, "Applied", "the ConfigMap has the text");
        }
        Ok(())
    }
}

/// Starts the informers and the controller, and runs until the manager stops.
async fn work(manager: Rc<Manager>) -> std::convert::Infallible {
    let backoff = Backoff { base: Duration::from_millis(100), cap: Duration::from_secs(60) };
    let controller = Controller::new("greeting-controller", 2, backoff);
    let enqueue = |queue: podium_controller::WorkQueue<ObjectKey>| {
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
    let (client, recorder, log) = (manager.client.clone(), manager.recorder.clone(), manager.log.clone());
    manager.start(controller, Rc::new(GreetingReconciler { client, recorder, log }));
    std::future::pending().await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::new(&ClientConfig::default()).await?;
    let crd: Value = serde_json::from_str(CRD)?;
    let crds =
        resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", false);
    let how = ApplyOptions { field_manager: FIELD_MANAGER, force: true, dry_run: false };
    client.apply(&crds, None, "greetings.example.podium.dev", &crd, how).await?;
    let options = manager::Options::new(FIELD_MANAGER);
    let manager = Manager::new(client, &options, Log::new(Level::Info, Style::Console));
    manager.clone().run(options, work(manager), shutdown_signal()).await?;
    Ok(())
}
