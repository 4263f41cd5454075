//! The workload controllers of kube-controller-manager as a test double, for clusters on our own API server.
//!
//! Deployments make ReplicaSets; ReplicaSets, StatefulSets, DaemonSets and Jobs make pods; all report their status. It
//! does as much as the tests need: a rollout starts all new pods and removes the old ones when the new ones are ready,
//! there are no ControllerRevisions, no claims of a StatefulSet, no suspended or indexed Jobs.
//!
//! Children have names that follow from their owner, so that a decision made on old state is refused by the server
//! instead of creating a child twice.

mod decide;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use http::Method;
use podium_client::Client;
use podium_client::client::Representation;
use podium_client::watch::{ListWatch, WatchEvent};
use podium_meta::{GroupVersionKind, Resource};
use serde_json::Value;
use tokio::sync::mpsc;

use super::Error;
use super::background::Background;
use decide::{Action, controller, decide, text};

/// The field manager, which is that of kube-controller-manager.
const MANAGER: &str = "kube-controller-manager";
/// The pause before what failed is tried again.
const RETRY: Duration = Duration::from_millis(100);

/// Starts the controllers as the user of a kubeconfig, who has to be an admin.
pub(super) fn start(kubeconfig: PathBuf) -> Result<Background, Error> {
    Background::start(kubeconfig, async |_| Ok(()), async |client| run(&client).await)
}

fn resources() -> [Resource; 6] {
    let apps = |kind: &str, plural: &str| Resource {
        kind: GroupVersionKind::new("apps/v1", kind),
        plural: plural.to_owned(),
        namespaced: true,
    };
    let jobs = Resource { kind: GroupVersionKind::new("batch/v1", "Job"), ..apps("Job", "jobs") };
    [
        apps("Deployment", "deployments"),
        apps("ReplicaSet", "replicasets"),
        apps("StatefulSet", "statefulsets"),
        apps("DaemonSet", "daemonsets"),
        jobs,
        Resource::core("Pod", "pods", true),
    ]
}

/// Kind, namespace and name.
type ObjectKey = (String, String, String);

/// What the watches have reported, and which workloads have to be reconciled.
#[derive(Default)]
struct Cache {
    objects: BTreeMap<ObjectKey, Value>,
    dirty: BTreeSet<ObjectKey>,
}

impl Cache {
    fn update(&mut self, kind: &str, event: WatchEvent) {
        let key = |object: &Value| {
            let metadata = &object["metadata"];
            (kind.to_owned(), text(&metadata["namespace"]), text(&metadata["name"]))
        };
        match event {
            // What the new list does not name is gone.
            WatchEvent::ListStarted => self.objects.retain(|(other, _, _), _| other != kind),
            WatchEvent::Applied(object) => {
                self.touch(&object);
                self.dirty.insert(key(&object));
                self.objects.insert(key(&object), object);
            }
            WatchEvent::Deleted(object) => {
                self.touch(&object);
                self.objects.remove(&key(&object));
            }
            _ => {}
        }
    }

    /// Marks the controller of an object.
    fn touch(&mut self, object: &Value) {
        if let Some(owner) = controller(object) {
            let namespace = text(&object["metadata"]["namespace"]);
            self.dirty.insert((text(&owner["kind"]), namespace, text(&owner["name"])));
        }
    }

    fn actions(&self, key: &ObjectKey) -> Vec<Action> {
        let Some(object) = self.objects.get(key) else { return Vec::new() };
        let uid = &object["metadata"]["uid"];
        let is_child = |child: &&Value| controller(child).is_some_and(|owner| owner["uid"] == *uid);
        let children: Vec<&Value> = self.objects.values().filter(is_child).collect();
        decide(object, &children)
    }
}

async fn run(client: &Client) {
    let (send, mut events) = mpsc::unbounded_channel();
    let resources = resources();
    let watches = resources.clone().map(|resource| {
        let (client, send, kind) = (client.clone(), send.clone(), resource.kind.kind.clone());
        tokio::spawn(async move {
            let report = |event| drop(send.send((kind.clone(), event)));
            match ListWatch::new(resource, Representation::Full).run(&client, report).await {}
        })
    });
    let mut cache = Cache::default();
    loop {
        if cache.dirty.is_empty() {
            let Some((kind, event)) = events.recv().await else { break };
            cache.update(&kind, event);
        }
        while let Ok((kind, event)) = events.try_recv() {
            cache.update(&kind, event);
        }
        for key in std::mem::take(&mut cache.dirty) {
            for action in cache.actions(&key) {
                if !execute(client, &resources, &action).await {
                    cache.dirty.insert(key.clone());
                }
            }
        }
        if !cache.dirty.is_empty() {
            tokio::time::sleep(RETRY).await;
        }
    }
    watches.iter().for_each(tokio::task::JoinHandle::abort);
}

/// Returns false when it has to be tried again.
async fn execute(client: &Client, resources: &[Resource], action: &Action) -> bool {
    let (Action::Create(object) | Action::Delete(object) | Action::Patch(object, ..)) = action;
    let Some(resource) = resources.iter().find(|r| object["kind"] == r.kind.kind.as_str()) else {
        return true;
    };
    let (namespace, name) = (text(&object["metadata"]["namespace"]), text(&object["metadata"]["name"]));
    let namespace = Some(namespace.as_str());
    let done = match action {
        Action::Create(body) => client.create(resource, namespace, body, MANAGER).await.map(drop),
        Action::Delete(_) => {
            let uid = object["metadata"]["uid"].as_str();
            client.delete(resource, namespace, &name, uid, Default::default()).await.map(drop)
        }
        Action::Patch(_, subresource, patch) => {
            let path = resource.object(namespace, &name);
            let path = format!("{path}{subresource}?fieldManager={MANAGER}");
            let body = Some(("application/merge-patch+json", patch.to_string().into_bytes()));
            client.request(Method::PATCH, &path, body).await.map(drop)
        }
    };
    // A conflict or a missing object means that the cache is behind: the event of the newer state is on its way.
    done.is_ok() || done.is_err_and(|error| error.status().is_some_and(|s| matches!(s.code, 404 | 409)))
}
