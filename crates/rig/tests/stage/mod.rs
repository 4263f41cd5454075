//! What the tests with faults share: a control plane, charts, and the state of a namespace as data.

#![allow(dead_code, reason = "each of the tests uses a part of it")]

pub mod state;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use http::Method;
use podium_client::client::Representation;
use podium_client::watch::{ListWatch, WatchEvent};
use podium_client::{Client, ClientConfig};
use podium_meta::{GroupVersionKind, Resource};
use podium_rig::cluster::Cluster;
use podium_rig::tools;
use serde_json::{Value, json};

/// The group of the custom resources.
pub const GROUP: &str = "faults.rig.podium";

/// One control plane for all tests of a process, in which Jobs end at once.
pub fn stage() -> &'static Cluster {
    static READY: OnceLock<()> = OnceLock::new();
    let cluster = Cluster::shared().unwrap_or_else(|error| panic!("{error}"));
    READY.get_or_init(|| {
        let desk = Desk::new(cluster);
        desk.make(&crds(), None, &crd(GROUP, "Show", "shows", true));
        std::thread::spawn(move || desk.block(finish_jobs(&desk.client)));
    });
    cluster
}

/// Says of every Job that it has ended well.
async fn finish_jobs(client: &Client) {
    let jobs = resource("batch/v1", "Job", "jobs");
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let watch = ListWatch::new(jobs.clone(), Representation::Full);
    let follow = watch.run(client, |event| {
        if let WatchEvent::Applied(job) = event
            && job.pointer("/status/conditions").is_none()
        {
            let _ = tell.send(job);
        }
    });
    let work = async {
        while let Some(job) = told.recv().await {
            let text = |path: &str| job.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
            let now = text("/metadata/creationTimestamp");
            let condition = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": now});
            let status = json!({"status": {"startTime": now, "completionTime": now, "succeeded": 1,
                "conditions": [condition("SuccessCriteriaMet"), condition("Complete")]}});
            let path = jobs.object(Some(&text("/metadata/namespace")), &text("/metadata/name"));
            let body = Some(("application/merge-patch+json", status.to_string().into_bytes()));
            // What is refused is gone, or has ended already.
            let _ = client.request(Method::PATCH, &format!("{path}/status"), body).await;
        }
    };
    tokio::select! {
        never = follow => match never {},
        () = work => {}
    }
}

/// A client with a runtime of its own.
pub struct Desk {
    runtime: tokio::runtime::Runtime,
    pub client: Client,
}

impl Desk {
    pub fn new(cluster: &Cluster) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let access =
            ClientConfig { kubeconfig: Some(cluster.kubeconfig().to_owned()), ..ClientConfig::default() };
        let client = runtime.block_on(Client::new(&access)).unwrap();
        Self { runtime, client }
    }

    pub fn block<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    pub fn make(&self, resource: &Resource, namespace: Option<&str>, body: &Value) {
        self.block(self.client.create(resource, namespace, body, "rig")).unwrap();
    }

    pub fn namespace(&self, name: &str) {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.make(&Resource::core("Namespace", "namespaces", false), None, &body);
    }

    pub fn get(&self, resource: &Resource, namespace: &str, name: &str) -> Option<Value> {
        self.block(self.client.get(resource, Some(namespace), name)).unwrap()
    }

    pub fn list(&self, resource: &Resource, namespace: &str) -> Vec<Value> {
        match self.block(self.client.list_objects(resource, Some(namespace), "")) {
            Ok(mut list) => list["items"].as_array_mut().map(std::mem::take).unwrap_or_default(),
            // Its CRD is not there.
            Err(podium_client::Error::Api(status)) if status.code == 404 => Vec::new(),
            Err(error) => panic!("{error}"),
        }
    }

    /// Whether it was taken.
    pub fn merge(&self, resource: &Resource, namespace: &str, name: &str, patch: &Value) -> bool {
        self.block(self.client.merge_patch(resource, Some(namespace), name, patch, "rig")).is_ok()
    }

    pub fn delete(&self, resource: &Resource, namespace: &str, name: &str) {
        let gone = self.client.delete(resource, Some(namespace), name, None, Default::default());
        self.block(gone).unwrap();
    }

    /// Deletes a CRD with everything of its kind, and waits until it is gone.
    pub fn delete_crd(&self, name: &str) {
        let crds = crds();
        self.block(self.client.delete(&crds, None, name, None, Default::default())).unwrap();
        wait(name, || self.block(self.client.get(&crds, None, name)).unwrap().is_none());
    }
}

/// Waits until something is so.
pub fn wait(what: &str, mut ready: impl FnMut() -> bool) {
    for _ in 0..600 {
        if ready() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{what}: not after 30 s");
}

pub fn resource(api_version: &str, kind: &str, plural: &str) -> Resource {
    Resource { kind: GroupVersionKind::new(api_version, kind), plural: plural.to_owned(), namespaced: true }
}

pub fn crds() -> Resource {
    let kind = GroupVersionKind::new("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    Resource { kind, plural: "customresourcedefinitions".to_owned(), namespaced: false }
}

pub fn shows() -> Resource {
    resource(&format!("{GROUP}/v1"), "Show", "shows")
}

pub fn owns(group: &str) -> Resource {
    resource(&format!("{group}/v1"), "Own", "owns")
}

/// A CRD that takes everything.
pub fn crd(group: &str, kind: &str, plural: &str, status: bool) -> Value {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let mut version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
        "type": "object", "properties": {"spec": any, "status": any}}}});
    if status {
        version["subresources"] = json!({"status": {}});
    }
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural}, "versions": [version]}})
}

/// A project on disk: a chart and its `watches.yaml`.
pub struct Project {
    pub chart: PathBuf,
    pub watches: PathBuf,
}

impl Project {
    pub fn write(folder: &Path, files: &[(&str, String)]) -> Self {
        let chart = folder.join("chart");
        for (name, text) in files {
            let path = chart.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let watches = folder.join("watches.yaml");
        let text = format!("- {{group: {GROUP}, version: v1, kind: Show, chart: {}}}\n", chart.display());
        std::fs::write(&watches, text).unwrap();
        Self { chart, watches }
    }

    /// `podium operator run` for one namespace.
    pub fn operator(&self, kubeconfig: &Path, namespace: &str, log: &Path) -> Command {
        let mut command = podium(kubeconfig, log);
        command
            .args([
                "operator",
                "run",
                "--metrics-bind-address=0",
                "--health-probe-bind-address=0",
                "--watches-file",
            ])
            .arg(&self.watches)
            .env("WATCH_NAMESPACE", namespace);
        command
    }
}

/// `podium` that writes into a file.
pub fn podium(kubeconfig: &Path, log: &Path) -> Command {
    let out = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
    let mut command = tools::quiet_command(&tools::podium().unwrap());
    command.env("KUBECONFIG", kubeconfig).stdin(Stdio::null());
    command.stdout(out.try_clone().unwrap()).stderr(out);
    command
}

/// The end of a file.
pub fn tail(path: &Path, lines: usize) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
