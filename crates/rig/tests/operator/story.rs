//! A story: a namespace, a chart project, and the steps of users and operators.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use podium_client::client::{ApplyOptions, Representation};
use podium_client::write::PropagationPolicy;
use podium_client::{Client, ClientConfig, DiscoveryCache};
use podium_meta::{GroupVersionKind, Resource};
use podium_rig::cluster::{Cluster, Controllers, Options, Server, User, run};
use podium_rig::request::Dialect;
use podium_rig::tools;
use serde_json::{Value, json};
use tokio::time::sleep;

/// How long a condition is waited for on a busy machine.
const PATIENCE: Duration = Duration::from_secs(45);
/// How often a condition is polled: requests of the upstream server are slower and would delay the story.
static POLL: LazyLock<Duration> = LazyLock::new(|| match Server::chosen() {
    Server::Podium => Duration::from_millis(10),
    Server::Kubernetes => Duration::from_millis(50),
});
const GROUP: &str = "stories.podium.dev";
/// Users without any role of their own.
pub const WEAK: [&str; 4] = ["weak", "narrow", "moody", "deaf"];

static CLUSTER: LazyLock<Cluster> = LazyLock::new(|| {
    let users = WEAK.map(User::weak).to_vec();
    let cluster = Cluster::with(Options {
        controllers: Controllers::Workloads,
        node: true,
        users,
        ..Options::default()
    })
    .unwrap_or_else(|error| panic!("{error}"));
    for (kind, scope) in [("Widget", "Namespaced"), ("Other", "Namespaced"), ("World", "Cluster")] {
        cluster.admin().create("", &crd(kind, scope)).unwrap();
        cluster.established(&format!("{}s.{GROUP}", kind.to_lowercase())).unwrap();
    }
    cluster
});

/// A CustomResourceDefinition whose objects may have any field.
pub fn crd(kind: &str, scope: &str) -> Value {
    let singular = kind.to_lowercase();
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{singular}s.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": scope,
            "names": {"kind": kind, "plural": format!("{singular}s"), "singular": singular},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

/// A namespace of the shared cluster, and a chart project in a folder.
pub struct Story {
    pub cluster: &'static Cluster,
    pub client: Client,
    pub kinds: DiscoveryCache,
    /// The namespace, which is also the chart's name.
    pub name: String,
    /// The kind of its resources.
    pub kind: String,
    folder: PathBuf,
}

impl Story {
    /// A story of resources of the kind Widget with a chart of these files.
    pub async fn new(name: &str, files: &[(&str, &str)]) -> Self {
        Self::for_kind("Widget", name, files).await
    }

    /// A story of resources of some kind.
    pub async fn for_kind(kind: &str, name: &str, files: &[(&str, &str)]) -> Self {
        let cluster = &*CLUSTER;
        let kubeconfig = Some(cluster.kubeconfig().to_owned());
        let client = Client::new(&ClientConfig { kubeconfig, ..ClientConfig::default() }).await.unwrap();
        let folder = cluster.folder().join("stories").join(name);
        let story = Self {
            cluster,
            kinds: DiscoveryCache::new(client.clone()),
            client,
            name: name.to_owned(),
            kind: kind.to_owned(),
            folder,
        };
        story.namespace(name).await;
        story.file("chart/Chart.yaml", &format!("apiVersion: v2\nname: {name}\nversion: 0.1.0\n"));
        story.file("chart/values.yaml", "");
        files.iter().for_each(|(path, text)| story.file(&format!("chart/{path}"), text));
        story.watches("");
        story
    }

    /// Creates a namespace and waits for its service account, without which no pod is accepted.
    pub async fn namespace(&self, name: &str) {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let namespaces = Resource::core("Namespace", "namespaces", false);
        self.client.create(&namespaces, None, &body, "story").await.unwrap();
        let accounts = Resource::core("ServiceAccount", "serviceaccounts", true);
        self.until(&format!("the service account of {name}"), async || {
            self.client.get(&accounts, Some(name), "default").await.ok().flatten().ok_or_else(String::new)
        })
        .await;
    }

    /// Writes a file of the project.
    pub fn file(&self, path: &str, text: &str) {
        let path = self.folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Removes a file of the project.
    pub fn remove_file(&self, path: &str) {
        std::fs::remove_file(self.folder.join(path)).unwrap();
    }

    /// The folder of the project.
    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// Writes `watches.yaml` with more lines in its one entry.
    pub fn watches(&self, more: &str) {
        let kind = &self.kind;
        let more: String = more.lines().map(|line| format!("  {line}\n")).collect();
        let text = format!("- group: {GROUP}\n  version: v1\n  kind: {kind}\n  chart: chart\n{more}");
        self.file("watches.yaml", &text);
    }

    /// How an operator of this project is started.
    pub fn command(&self) -> Command {
        let mut command = Command::new(tools::podium().unwrap());
        command
            .args(["operator", "run", "--metrics-bind-address=0", "--health-probe-bind-address=0"])
            .current_dir(&self.folder)
            .env("KUBECONFIG", self.cluster.kubeconfig())
            .env("WATCH_NAMESPACE", &self.name);
        command
    }

    /// Starts an operator and waits until it watches.
    pub async fn operator(&self) -> Operator {
        self.operator_with(|_| ()).await
    }

    /// Starts an operator and waits until it watches; its metrics are at the address that comes with it.
    pub async fn operator_with_metrics(&self) -> (Operator, String) {
        let metrics = format!("127.0.0.1:{}", port());
        let operator = self
            .operator_with(|command| {
                command.args(["--metrics-bind-address", &metrics]);
            })
            .await;
        (operator, metrics)
    }

    /// Starts an operator of all namespaces, for the resources of this story only: other stories run at the same time.
    pub async fn operator_everywhere(&self) -> Operator {
        self.watches(&format!("selector: {{matchLabels: {{story: {}}}}}", self.name));
        self.operator_with(|command| {
            command.env("WATCH_NAMESPACE", "").args(["--namespace", &self.name]);
        })
        .await
    }

    /// Starts an operator in another way and waits until it watches.
    pub async fn operator_with(&self, change: impl FnOnce(&mut Command)) -> Operator {
        let operator = self.start(change);
        operator.wait_log("all kinds are watched").await;
        operator
    }

    /// Starts an operator.
    pub fn start(&self, change: impl FnOnce(&mut Command)) -> Operator {
        let mut command = self.command();
        change(&mut command);
        let log = (0..).map(|n| self.folder.join(format!("log{n}"))).find(|path| !path.exists()).unwrap();
        let file = File::create(&log).unwrap();
        command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        Operator { child: command.spawn().unwrap(), log }
    }

    /// The logs of all operators of this story.
    pub fn logs(&self) -> String {
        let logs = (0..).map(|n| self.folder.join(format!("log{n}"))).take_while(|path| path.exists());
        logs.map(|path| std::fs::read_to_string(path).unwrap()).collect()
    }

    /// Polls until the closure returns a result.
    pub async fn until<T>(&self, what: &str, mut look: impl AsyncFnMut() -> Result<T, String>) -> T {
        let begin = Instant::now();
        loop {
            match look().await {
                Ok(found) => return found,
                Err(seen) if begin.elapsed() > PATIENCE => {
                    let list = |kind| self.cluster.admin().list(kind, &self.name, "").unwrap_or_default();
                    let workloads = ["pods", "replicasets", "deployments"].map(list).concat();
                    panic!(
                        "{}: waited in vain for {what}: {seen}\n{}\n{workloads:#?}",
                        self.name,
                        self.tail()
                    )
                }
                Err(_) => sleep(*POLL).await,
            }
        }
    }

    fn tail(&self) -> String {
        let logs = self.logs();
        let lines: Vec<&str> = logs.lines().collect();
        lines[lines.len().saturating_sub(25)..].join("\n")
    }

    /// The resource of a kind: `Deployment`, or `Kind.group`.
    pub async fn resource(&self, kind: &str) -> Resource {
        let groups =
            ["", "apps", "batch", "rbac.authorization.k8s.io", "networking.k8s.io", "policy", "autoscaling"];
        let (kind, groups) = match kind.split_once('.') {
            Some((kind, group)) => (kind, vec![group]),
            None => (kind, [&groups[..], &[GROUP, "apiextensions.k8s.io", "coordination.k8s.io"]].concat()),
        };
        for renewed in [false, true] {
            let known = if renewed { self.kinds.refresh().await } else { self.kinds.get().await }.unwrap();
            for group in &groups {
                for version in ["v1", "v2"] {
                    let kind = GroupVersionKind {
                        group: (*group).to_owned(),
                        version: version.to_owned(),
                        kind: kind.to_owned(),
                    };
                    if let Some(resource) = known.find(&kind) {
                        return resource.clone();
                    }
                }
            }
        }
        panic!("no kind {kind}")
    }

    /// The namespace of this story, and the name; `elsewhere/name` is in another one.
    fn namespaced_name<'t>(&'t self, name: &'t str) -> (&'t str, &'t str) {
        name.split_once('/').unwrap_or((&self.name, name))
    }

    /// An object, if it exists.
    pub async fn find(&self, kind: &str, name: &str) -> Option<Value> {
        let (namespace, name) = self.namespaced_name(name);
        self.client.get(&self.resource(kind).await, Some(namespace), name).await.unwrap()
    }

    /// An object, which has to exist.
    pub async fn get(&self, kind: &str, name: &str) -> Value {
        self.find(kind, name)
            .await
            .unwrap_or_else(|| panic!("{}: no {kind} {name}\n{}", self.name, self.tail()))
    }

    /// All objects of a kind in the namespace.
    pub async fn list(&self, kind: &str) -> Vec<Value> {
        self.client
            .list(&self.resource(kind).await, Some(&self.name), "", Representation::Full)
            .await
            .unwrap()
    }

    /// Waits until an object exists.
    pub async fn wait_created(&self, kind: &str, name: &str) -> Value {
        self.until(&format!("{kind} {name}"), async || self.find(kind, name).await.ok_or_else(String::new))
            .await
    }

    /// Waits until an object is gone.
    pub async fn wait_deleted(&self, kind: &str, name: &str) {
        self.until(&format!("the end of {kind} {name}"), async || match self.find(kind, name).await {
            None => Ok(()),
            Some(still) => Err(still["metadata"].to_string()),
        })
        .await;
    }

    /// Waits until a field of an object has a value.
    pub async fn wait_field(&self, kind: &str, name: &str, path: &str, value: impl Into<Value>) -> Value {
        let value = value.into();
        self.until(&format!("{kind} {name} {path} = {value}"), async || {
            let found = self.find(kind, name).await.unwrap_or_default();
            match found.pointer(path).unwrap_or(&Value::Null) {
                seen if *seen == value => Ok(found),
                seen => Err(seen.to_string()),
            }
        })
        .await
    }

    /// Edits an object as `kubectl edit` does; null removes a field.
    pub async fn edit(&self, kind: &str, name: &str, patch: Value) {
        let (namespace, name) = self.namespaced_name(name);
        let resource = self.resource(kind).await;
        self.client.merge_patch(&resource, Some(namespace), name, &patch, "kubectl-edit").await.unwrap();
    }

    /// Deletes an object.
    pub async fn delete(&self, kind: &str, name: &str) {
        self.delete_as(kind, name, PropagationPolicy::Background).await;
    }

    /// Deletes an object, and what depends on it in some way.
    pub async fn delete_as(&self, kind: &str, name: &str, how: PropagationPolicy) {
        let (namespace, name) = self.namespaced_name(name);
        self.client.delete(&self.resource(kind).await, Some(namespace), name, None, how).await.unwrap();
    }

    /// Creates any object.
    pub async fn create(&self, object: Value) {
        let kind =
            GroupVersionKind::new(object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
        let known = self.kinds.refresh().await.unwrap();
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or(&self.name).to_owned();
        let resource = known.find(&kind).unwrap();
        self.client.create(resource, Some(&namespace), &object, "story").await.unwrap();
    }

    /// A user applies a resource with a spec.
    pub async fn apply(&self, name: &str, spec: Value) {
        self.apply_with(name, spec, json!({})).await;
    }

    /// A user applies a resource with a spec and metadata.
    pub async fn apply_with(&self, name: &str, spec: Value, metadata: Value) {
        let (namespace, name) = self.namespaced_name(name);
        let mut object = json!({"apiVersion": format!("{GROUP}/v1"), "kind": self.kind, "metadata": metadata, "spec": spec});
        object["metadata"]["name"] = name.into();
        object["metadata"]["labels"]["story"] = self.name.as_str().into();
        let how = ApplyOptions { field_manager: "user", force: true, dry_run: false };
        let resource = self.resource(&self.kind).await;
        self.client.apply(&resource, Some(namespace), name, &object, how).await.unwrap();
    }

    /// The resource.
    pub async fn custom(&self, name: &str) -> Value {
        self.get(&self.kind, name).await
    }

    /// A condition of a resource now.
    pub async fn condition(&self, name: &str, kind: &str) -> Option<Value> {
        condition(&self.custom(name).await, kind)
    }

    /// Waits until a condition has a status, and its reason and message have a text; gives the condition.
    pub async fn wait_condition(&self, name: &str, kind: &str, status: &str, text: &str) -> Value {
        self.until(&format!("{name} {kind}={status} with {text:?}"), async || {
            let custom = self.find(&self.kind, name).await.unwrap_or_default();
            match condition(&custom, kind) {
                Some(found) if found["status"] == status && found.to_string().contains(text) => Ok(found),
                _ => Err(custom["status"].to_string()),
            }
        })
        .await
    }

    /// Waits until the present spec of a resource is deployed.
    pub async fn wait_deployed(&self, name: &str) -> Value {
        self.until(&format!("{name} to be deployed"), async || {
            let custom = self.find(&self.kind, name).await.unwrap_or_default();
            let is = |kind: &str| condition(&custom, kind).is_some_and(|found| found["status"] == "True");
            let current = custom["status"]["observedGeneration"] == custom["metadata"]["generation"];
            match current && is("Deployed") && !is("ReleaseFailed") && !is("Irreconcilable") {
                true => Ok(custom),
                false => Err(custom["status"].to_string()),
            }
        })
        .await
    }

    /// Waits until the release of a resource has a revision.
    pub async fn wait_revision(&self, name: &str, revision: i64) {
        let path = "/status/deployedRelease/revision";
        self.wait_field(&self.kind, name, path, revision).await;
    }

    /// Waits for an Event about a resource with a reason; gives its message.
    pub async fn wait_event(&self, name: &str, reason: &str) -> String {
        self.until(&format!("an Event {reason} about {name}"), async || {
            let all = self.list("Event").await;
            let about = |e: &&Value| e["involvedObject"]["name"] == name && e["reason"] == reason;
            let message = |e: &Value| e["message"].as_str().unwrap_or_default().to_owned();
            all.iter().find(about).map(message).ok_or_else(|| format!("{} others", all.len()))
        })
        .await
    }

    /// Waits for any Event about a resource.
    pub async fn wait_any_event(&self, name: &str) {
        self.until(&format!("an Event about {name}"), async || {
            let all = self.list("Event").await;
            let about = all.iter().any(|event| event["involvedObject"]["name"] == name);
            if about { Ok(()) } else { Err(format!("{} others", all.len())) }
        })
        .await;
    }

    /// The versions of everything that the operator could have written; they change with every write.
    pub async fn versions(&self) -> Vec<String> {
        let mut all = Vec::new();
        for kind in [&self.kind, "ConfigMap", "Secret", "Deployment", "Service", "Event"] {
            let line =
                |o: &Value| format!("{kind} {} {}", o["metadata"]["name"], o["metadata"]["resourceVersion"]);
            all.extend(self.list(kind).await.iter().map(line));
        }
        all
    }

    /// Asserts that nothing is written during so many reconciles of the operator with these metrics.
    pub async fn assert_no_writes(&self, metrics: &str, looks: usize) {
        let before = self.versions().await;
        let enough = reconciles(metrics) + looks;
        self.until(&format!("{enough} reconciles"), async || match reconciles(metrics) {
            seen if seen >= enough => Ok(()),
            seen => Err(seen.to_string()),
        })
        .await;
        assert_eq!(
            before,
            self.versions().await,
            "{}: there should have been no write\n{}",
            self.name,
            self.tail()
        );
    }

    /// Works on releases of the namespace as another user: with helm, or with `podium release` in its place.
    pub fn helm(&self, dialect: Dialect, args: &[&str]) -> String {
        let mut command = self.cluster.release(dialect, args).unwrap();
        run(command.args(["-n", &self.name]).current_dir(&self.folder)).unwrap()
    }

    /// Scales a Deployment as an autoscaler does.
    pub fn scale(&self, name: &str, replicas: usize) {
        self.cluster.admin().scale("deployments", &self.name, name, replicas).unwrap();
    }

    /// Applies manifests of a text.
    pub fn manifests(&self, text: &str) {
        self.cluster.admin().apply(&self.name, text).unwrap();
    }
}

/// A condition of a resource.
pub fn condition(custom: &Value, kind: &str) -> Option<Value> {
    let all = custom["status"]["conditions"].as_array()?;
    all.iter().find(|condition| condition["type"] == kind).cloned()
}

/// A process of the operator; gone when dropped.
pub struct Operator {
    child: Child,
    log: PathBuf,
}

impl Operator {
    /// Its log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until its log contains a text.
    pub async fn wait_log(&self, text: &str) {
        let begin = Instant::now();
        while !self.log().contains(text) {
            assert!(begin.elapsed() < PATIENCE, "{text:?} is not in:\n{}", self.log());
            sleep(*POLL).await;
        }
    }

    /// Sends SIGTERM and waits until it has ended.
    pub async fn stop(mut self) {
        run(Command::new("kill").arg(self.child.id().to_string())).unwrap();
        let begin = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(begin.elapsed() < PATIENCE, "it does not end");
            sleep(*POLL).await;
        }
    }

    /// Kills it.
    pub fn kill(self) {}
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How many reconciles an operator has done.
fn reconciles(metrics: &str) -> usize {
    let page = read(metrics, "/metrics");
    let lines = page.lines().filter(|line| line.starts_with("controller_runtime_reconcile_total{"));
    lines.map(|line| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap()).sum()
}

/// The HTTP response of a local address.
pub fn read(address: &str, path: &str) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// A port that is free now.
pub fn port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
