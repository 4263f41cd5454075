//! Whoever acts in a story, in a namespace of their own, and what is seen of it afterwards.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use flate2::read::GzDecoder;
use podium_client::Client;
use podium_client::client::Representation;
use podium_meta::{GroupVersionKind, Resource};
use podium_rig::cluster::Cluster;
use podium_rig::request::Dialect;
use podium_rig::tools;
use podium_sprig::encoding::base64_decode;
use serde_json::{Value, json};

/// Who does a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Actor {
    #[default]
    Podium,
    Helm4,
    Helm3,
}

/// A namespace with a release and the charts for it.
pub struct Track<'c> {
    cluster: &'c Cluster,
    /// The word that stands for this track in names; it is the namespace too.
    pub token: String,
    charts: PathBuf,
}

/// How a step ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The whole command line.
    pub line: String,
    pub ok: bool,
    /// JSON, or text.
    pub stdout: Value,
    pub stderr: String,
}

/// What there is after a step, with everything taken out that differs by its nature.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The records by revision.
    pub records: BTreeMap<String, Value>,
    /// Objects by kind and name.
    pub objects: BTreeMap<String, Value>,
}

impl<'c> Track<'c> {
    /// Makes the namespace and the charts.
    pub fn new(cluster: &'c Cluster, token: String, seed: u64, helm3: bool) -> Self {
        let charts = cluster.folder().join("stories").join(&token);
        crate::charts::write(&charts, &token, seed, helm3);
        cluster.namespace(&token).unwrap();
        Track { cluster, token, charts }
    }

    fn command(&self, actor: Actor) -> Command {
        match actor {
            Actor::Helm4 => self.cluster.helm(Dialect::Helm4),
            Actor::Helm3 => self.cluster.helm(Dialect::Helm3),
            Actor::Podium => {
                let mut command = tools::quiet_command(&tools::podium().unwrap());
                command.env("KUBECONFIG", self.cluster.kubeconfig());
                command.env("HOME", self.cluster.folder().join("podium")).stdin(Stdio::null()).arg("release");
                command
            }
        }
    }

    /// Has somebody do a step.
    pub fn run(&self, actor: Actor, line: &str) -> Ended {
        let mut words: Vec<String> = line
            .split_whitespace()
            .map(|word| word.replace('@', &self.charts.to_string_lossy()))
            .chain(["-n".to_owned(), self.token.clone()])
            .collect();
        if actor == Actor::Helm3 {
            words
                .iter_mut()
                .filter(|word| *word == "--rollback-on-failure")
                .for_each(|word| *word = "--atomic".to_owned());
        }
        let output = self.command(actor).args(&words).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&self.token, "TOKEN");
        Ended {
            line: format!("{actor:?} {}", line.trim()),
            ok: output.status.success(),
            stdout: self.masked(without_day(&text(&output.stdout))),
            stderr: text(&output.stderr),
        }
    }

    /// Looks at everything.
    pub async fn look(&self, client: &Client) -> Seen {
        let mut seen = Seen::default();
        let things = format!("{}.example.com/v1", self.token);
        for (api, kind, plural) in KINDS.iter().copied().chain([(things.as_str(), "Thing", "things")]) {
            let resource = Resource {
                kind: GroupVersionKind::new(api, kind),
                plural: plural.to_owned(),
                namespaced: kind != "ClusterRole",
            };
            let found = client.list(&resource, Some(&self.token), "", Representation::Full).await;
            for object in found.unwrap_or_default() {
                self.add(&mut seen, kind, &object);
            }
        }
        seen
    }

    fn add(&self, seen: &mut Seen, kind: &str, object: &Value) {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let mine = kind != "ClusterRole" || name.starts_with(&self.token);
        // Pods of controllers come and go by themselves, also when they were orphaned.
        let made = kind == "Pod" && object["metadata"].get("generateName").is_some();
        let going = made || object["metadata"].get("deletionTimestamp").is_some();
        if !mine || going || object["metadata"].get("ownerReferences").is_some() {
            return;
        }
        if object["type"] == "helm.sh/release.v1" {
            seen.records
                .insert(name.rsplit('.').next().unwrap_or_default().to_owned(), self.masked(record(object)));
            return;
        }
        seen.objects.insert(
            format!("{kind} {}", name.replace(&self.token, "TOKEN")),
            self.masked(plain(object.clone())),
        );
    }

    fn masked(&self, value: Value) -> Value {
        serde_json::from_str(&value.to_string().replace(&self.token, "TOKEN")).unwrap()
    }
}

const KINDS: &[(&str, &str, &str)] = &[
    ("v1", "Secret", "secrets"),
    ("v1", "ConfigMap", "configmaps"),
    ("v1", "Service", "services"),
    ("v1", "ServiceAccount", "serviceaccounts"),
    ("v1", "Pod", "pods"),
    ("apps/v1", "Deployment", "deployments"),
    ("apps/v1", "StatefulSet", "statefulsets"),
    ("batch/v1", "Job", "jobs"),
    ("rbac.authorization.k8s.io/v1", "Role", "roles"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles"),
];

/// What was printed without the times in it.
fn without_day(text: &str) -> Value {
    const TIMES: [&str; 3] = ["LAST DEPLOYED: ", "Last Started: ", "Last Completed: "];
    let line = |line: &str| match TIMES.iter().find(|start| line.starts_with(**start)) {
        Some(start) => format!("{start}TIME"),
        // Of a failure, each tells in their own words.
        None if line.starts_with("DESCRIPTION: ") => {
            line.split_inclusive(" failed: ").next().unwrap_or_default().to_owned()
        }
        // Of a history, whose second column is a time.
        None => line
            .split('\t')
            .enumerate()
            .filter(|(at, _)| *at != 1)
            .map(|(_, cell)| cell)
            .collect::<Vec<_>>()
            .join("\t"),
    };
    match serde_json::from_str::<Value>(text) {
        Ok(mut value) => {
            without_times(&mut value);
            value
        }
        Err(_) => text.lines().map(line).collect::<Vec<_>>().join("\n").into(),
    }
}

/// An object without what the server or controllers write.
fn plain(mut object: Value) -> Value {
    for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink", "generation"] {
        object["metadata"].as_object_mut().unwrap().remove(field);
    }
    object.as_object_mut().unwrap().remove("status");
    if let Some(notes) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        notes.remove("deployment.kubernetes.io/revision");
        if notes.is_empty() {
            object["metadata"].as_object_mut().unwrap().remove("annotations");
        }
    }
    // The node is given by the scheduler that we play; the numbers of Jobs are theirs.
    for path in ["/spec", "/spec/selector/matchLabels", "/spec/template/metadata/labels", "/metadata/labels"]
    {
        if let Some(map) = object.pointer_mut(path).and_then(Value::as_object_mut) {
            for key in ["nodeName", "volumes", "controller-uid", "batch.kubernetes.io/controller-uid"] {
                map.remove(key);
            }
        }
    }
    if let Some(containers) = object.pointer_mut("/spec/containers").and_then(Value::as_array_mut) {
        containers.iter_mut().for_each(|c| drop(c.as_object_mut().unwrap().remove("volumeMounts")));
    }
    object
}

/// The record in a Secret, with the Secret's labels; times are only there or not.
fn record(secret: &Value) -> Value {
    let packed =
        base64_decode(&base64_decode(secret["data"]["release"].as_str().unwrap().as_bytes()).unwrap())
            .unwrap();
    let mut text = String::new();
    GzDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
    let mut record: Value = serde_json::from_str(&text).unwrap();
    without_times(&mut record);
    let mut labels = secret["metadata"]["labels"].clone();
    for stamp in ["createdAt", "modifiedAt"] {
        if labels.get(stamp).is_some() {
            labels[stamp] = "TIME".into();
        }
    }
    json!({"record": record, "labels": labels, "type": secret["type"]})
}

/// Hides times, and unpacks the files of charts.
fn without_times(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(without_times),
        Value::Object(map) => {
            map.retain(|key, _| key != "modtime" && key != "schemamodtime");
            if let (true, Some(Value::String(data))) = (map.contains_key("name"), map.get_mut("data")) {
                *data =
                    String::from_utf8_lossy(&base64_decode(data.as_bytes()).unwrap_or_default()).into_owned();
            }
            for (key, value) in map {
                match key.as_str() {
                    "first_deployed" | "last_deployed" | "deleted" | "started_at" | "completed_at" => {
                        *value = if value == "" { Value::Null } else { "TIME".into() };
                    }
                    _ => without_times(value),
                }
            }
        }
        _ => {}
    }
}
