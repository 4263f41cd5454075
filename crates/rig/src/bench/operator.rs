//! The chart operator beside the two originals: the same project and resources, each on a control plane of its own.

use std::error::Error;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use podium_client::client::Representation;
use podium_client::watch::{ListWatch, WatchEvent};
use podium_client::{Client, ClientConfig};
use podium_meta::{GroupVersionKind, Resource};
use serde_json::{Value, json};

use crate::cluster::{Cluster, run};
use crate::tools;

type Answer<T> = Result<T, Box<dyn Error>>;

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// `podium operator run`.
    Podium,
    /// operator-sdk's.
    HelmOperator,
    /// The hybrid one's.
    Plugins,
}

impl Subject {
    /// Ours first.
    pub const ALL: [Subject; 3] = [Subject::Podium, Subject::HelmOperator, Subject::Plugins];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Subject::Podium => "podium",
            Subject::HelmOperator => "helm-operator",
            Subject::Plugins => "helm-operator-plugins",
        }
    }
}

/// What is done.
pub struct Plan {
    /// Our binary.
    pub podium: PathBuf,
    /// The project: `watches.yaml` with one entry, a chart and `crd.yaml`.
    pub project: PathBuf,
    /// The kind of its resources.
    pub resource: Resource,
    /// What they want.
    pub spec: Value,
    /// Their labels.
    pub labels: Value,
    /// How many there are.
    pub count: usize,
    /// How long nothing happens.
    pub steady: Duration,
    /// How many values are changed one after the other.
    pub changes: usize,
    /// How many Secrets of somebody else there are at the end.
    pub foreign: usize,
}

/// What it cost.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// From the first resource to the last that says Deployed.
    pub create: f64,
    /// The processor time of that.
    pub create_cpu: f64,
    /// The processor time while nothing happens.
    pub steady_cpu: f64,
    /// The requests of that time.
    pub steady_requests: f64,
    /// Objects that were written in that time.
    pub steady_writes: usize,
    /// Resident and anonymous memory, in MB.
    pub memory: (f64, f64),
    /// The same with foreign Secrets.
    pub memory_foreign: (f64, f64),
    /// From a start to all resources looked at.
    pub restart: f64,
    /// Objects that were written by that.
    pub restart_writes: usize,
    /// From a changed value to the changed object, in seconds: half of them, and 99 of 100.
    pub change: (f64, f64),
}

struct Process {
    child: Child,
    metrics: u16,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> Answer<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

impl Process {
    fn start(subject: Subject, plan: &Plan, cluster: &Cluster) -> Answer<Self> {
        let (metrics, probes) = (free_port()?, free_port()?);
        let mut command = match subject {
            Subject::Podium => {
                let mut command = Command::new(&plan.podium);
                command.args(["operator", "run"]);
                command
            }
            other => {
                let mut command = Command::new(tools::kubernetes(other.name())?);
                command.arg("run");
                command
            }
        };
        let log = File::create(cluster.folder().join(format!("{}.log", subject.name())))?;
        command
            .current_dir(&plan.project)
            .env("KUBECONFIG", cluster.kubeconfig())
            .env("WATCH_NAMESPACE", "")
            .arg(format!("--metrics-bind-address=127.0.0.1:{metrics}"))
            .arg(format!("--health-probe-bind-address=127.0.0.1:{probes}"))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        Ok(Self { child: command.spawn()?, metrics })
    }

    /// Processor time so far, in seconds.
    fn cpu(&self) -> Answer<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/schedstat", self.child.id()))?;
        let main: f64 = stat.split(' ').next().unwrap_or_default().parse()?;
        // The first line of schedstat is of the first thread only.
        let mut all = main;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))?.flatten() {
            if task.file_name().to_string_lossy() != self.child.id().to_string() {
                let stat = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
                all += stat.split(' ').next().unwrap_or_default().parse::<f64>().unwrap_or(0.0);
            }
        }
        Ok(all / 1e9)
    }

    /// Resident and anonymous memory, in MB.
    fn memory(&self) -> Answer<(f64, f64)> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0) / 1000.0
        };
        Ok((field("VmRSS:"), field("RssAnon:")))
    }

    /// The sum of a metric over all of its labels.
    fn metric(&self, name: &str) -> Answer<f64> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.metrics))?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let lines = text.lines().filter(|line| line.starts_with(name) && !line.starts_with('#'));
        let exact =
            lines.filter(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' '])));
        Ok(exact.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum())
    }

    fn wait_for(&self, what: &str, mut there: impl FnMut(&Self) -> Answer<bool>) -> Answer<f64> {
        let begin = Instant::now();
        while !there(self).unwrap_or(false) {
            if begin.elapsed() > Duration::from_secs(240) {
                return Err(format!("{what}: not after 240 s").into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(begin.elapsed().as_secs_f64())
    }
}

/// What a watch of resources and of their objects has seen.
#[derive(Default)]
struct Seen {
    deployed: std::collections::HashMap<String, Instant>,
    /// The value that each object shows, and since when.
    shown: std::collections::HashMap<String, (String, Instant)>,
    last: Option<Instant>,
}

fn lock(seen: &Arc<Mutex<Seen>>) -> std::sync::MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn text<'v>(value: &'v Value, path: &str) -> &'v str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn is_deployed(object: &Value) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|condition| text(condition, "/type") == "Deployed" && text(condition, "/status") == "True")
}

/// The versions of everything that the operator may have written.
async fn versions(client: &Client, plan: &Plan) -> Answer<std::collections::BTreeMap<String, String>> {
    let mut out = std::collections::BTreeMap::new();
    let namespaced = |api: &str, kind: &str, plural: &str| Resource {
        kind: GroupVersionKind::new(api, kind),
        plural: plural.to_owned(),
        namespaced: true,
    };
    let kinds = [
        plan.resource.clone(),
        namespaced("v1", "Secret", "secrets"),
        namespaced("v1", "ConfigMap", "configmaps"),
        namespaced("v1", "Service", "services"),
        namespaced("v1", "ServiceAccount", "serviceaccounts"),
        namespaced("apps/v1", "Deployment", "deployments"),
    ];
    for kind in kinds {
        for object in client.list(&kind, Some(NAMESPACE), "", Representation::Metadata).await? {
            let key = format!("{}/{}", kind.plural, text(&object, "/metadata/name"));
            out.insert(key, text(&object, "/metadata/resourceVersion").to_owned());
        }
    }
    Ok(out)
}

fn changed(
    before: &std::collections::BTreeMap<String, String>,
    after: &std::collections::BTreeMap<String, String>,
) -> usize {
    let new = after.iter().filter(|(key, version)| before.get(*key) != Some(version)).count();
    new + before.keys().filter(|key| !after.contains_key(*key)).count()
}

const NAMESPACE: &str = "bench";

/// Measures one of them.
pub fn measure(subject: Subject, plan: &Plan) -> Answer<Figures> {
    let cluster = Cluster::upstream()?;
    run(cluster.kubectl().args(["apply", "-f"]).arg(plan.project.join("crd.yaml")))?;
    cluster.namespace(NAMESPACE)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let access =
            ClientConfig { kubeconfig: Some(cluster.kubeconfig().into()), ..ClientConfig::default() };
        let client = Client::new(&access).await?;
        let seen = Arc::new(Mutex::new(Seen::default()));
        watch(&client, &plan.resource, Representation::Full, &seen);
        watch(&client, &Resource::core("ConfigMap", "configmaps", true), Representation::Full, &seen);
        let bench = Bench { subject, plan, cluster: &cluster, client: &client, seen: &seen };
        bench.run().await
    })
}

fn watch(client: &Client, resource: &Resource, form: Representation, seen: &Arc<Mutex<Seen>>) {
    let watch = ListWatch { namespace: Some(NAMESPACE.to_owned()), ..ListWatch::new(resource.clone(), form) };
    let (client, seen) = (client.clone(), seen.clone());
    tokio::spawn(async move {
        let tell = |event: WatchEvent| {
            let WatchEvent::Applied(object) = event else { return };
            let now = Instant::now();
            let mut seen = lock(&seen);
            seen.last = Some(now);
            let name = text(&object, "/metadata/name").to_owned();
            if is_deployed(&object) {
                seen.deployed.entry(name).or_insert(now);
            } else if let Some(data) = object.get("data") {
                seen.shown.insert(name, (data.to_string(), now));
            }
        };
        match watch.run(&client, tell).await {}
    });
}

struct Bench<'b> {
    subject: Subject,
    plan: &'b Plan,
    cluster: &'b Cluster,
    client: &'b Client,
    seen: &'b Arc<Mutex<Seen>>,
}

impl Bench<'_> {
    fn custom(&self, number: usize) -> Value {
        json!({"apiVersion": self.plan.resource.kind.api_version(), "kind": self.plan.resource.kind.kind,
            "metadata": {"name": format!("r{number}"), "namespace": NAMESPACE, "labels": self.plan.labels},
            "spec": self.plan.spec})
    }

    /// Waits until nothing happens for a while.
    async fn quiet(&self, pause: Duration) {
        loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            if lock(self.seen).last.is_none_or(|last| last.elapsed() > pause) {
                return;
            }
        }
    }

    async fn run(&self) -> Answer<Figures> {
        let plan = self.plan;
        let mut figures = Figures::default();
        let process = Process::start(self.subject, plan, self.cluster)?;
        process.wait_for("metrics", |process| Ok(process.metric("rest_client_requests_total")? > 0.0))?;
        tokio::time::sleep(Duration::from_secs(3)).await;

        let cpu = process.cpu()?;
        let begin = Instant::now();
        for number in 0..plan.count {
            self.client.create(&plan.resource, Some(NAMESPACE), &self.custom(number), "bench").await?;
        }
        while lock(self.seen).deployed.len() < plan.count {
            if begin.elapsed() > Duration::from_secs(300) {
                let count = lock(self.seen).deployed.len();
                return Err(format!(
                    "{}: {count} of {} deployed after 300 s",
                    self.subject.name(),
                    plan.count
                )
                .into());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let last = lock(self.seen).deployed.values().max().copied().unwrap_or(begin);
        figures.create = (last - begin).as_secs_f64();
        self.quiet(Duration::from_secs(2)).await;
        figures.create_cpu = process.cpu()? - cpu;

        let before = versions(self.client, plan).await?;
        let (cpu, requests) = (process.cpu()?, process.metric("rest_client_requests_total")?);
        tokio::time::sleep(plan.steady).await;
        figures.steady_cpu = process.cpu()? - cpu;
        figures.steady_requests = process.metric("rest_client_requests_total")? - requests;
        figures.steady_writes = changed(&before, &versions(self.client, plan).await?);
        figures.memory = process.memory()?;

        figures.change = self.changes().await?;
        self.quiet(Duration::from_secs(2)).await;
        figures.memory_foreign = self.foreign(&process).await?;

        drop(process);
        self.quiet(Duration::from_secs(1)).await;
        let before = versions(self.client, plan).await?;
        let begin = Instant::now();
        let process = Process::start(self.subject, plan, self.cluster)?;
        let all = plan.count as f64;
        process.wait_for("all resources", |process| {
            Ok(process.metric("controller_runtime_reconcile_total")? >= all)
        })?;
        figures.restart = begin.elapsed().as_secs_f64();
        self.quiet(Duration::from_secs(2)).await;
        figures.restart_writes = changed(&before, &versions(self.client, plan).await?);
        Ok(figures)
    }

    /// Changes a value of one resource after the other; times are until a ConfigMap of it shows the change.
    async fn changes(&self) -> Answer<(f64, f64)> {
        let mut times = Vec::new();
        for number in 0..self.plan.changes {
            let name = format!("r{}", number % self.plan.count);
            let word = format!("changed-{number}");
            let patch =
                json!({"spec": {"applications": {"hello-world": {"readerConfig": {"modelName": word}}}}});
            let begin = Instant::now();
            self.client.merge_patch(&self.plan.resource, Some(NAMESPACE), &name, &patch, "bench").await?;
            loop {
                let found =
                    lock(self.seen).shown.values().find(|(data, _)| data.contains(&word)).map(|(_, at)| *at);
                if let Some(at) = found {
                    times.push(at.saturating_duration_since(begin).as_secs_f64());
                    break;
                }
                if begin.elapsed() > Duration::from_secs(30) {
                    // It is told, and counts as what it took at least.
                    let mut err = std::io::stderr().lock();
                    writeln!(err, "{}: {name} did not follow a change in 30 s", self.subject.name())?;
                    times.push(begin.elapsed().as_secs_f64());
                    break;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        times.sort_by(f64::total_cmp);
        let at =
            |share: f64| times.get(((times.len() as f64 * share) as usize).min(times.len() - 1)).copied();
        Ok((at(0.5).unwrap_or(0.0), at(0.99).unwrap_or(0.0)))
    }

    /// Memory when somebody else has many Secrets.
    async fn foreign(&self, process: &Process) -> Answer<(f64, f64)> {
        self.cluster.namespace("foreign")?;
        let secrets = Resource::core("Secret", "secrets", true);
        let mut tasks = tokio::task::JoinSet::new();
        for worker in 0..8 {
            let (client, secrets) = (self.client.clone(), secrets.clone());
            let share = (worker..self.plan.foreign).step_by(8).collect::<Vec<_>>();
            tasks.spawn(async move {
                for number in share {
                    let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": format!("s{number}")},
                        "data": {"a": "eHh4".repeat(64)}});
                    if let Err(error) = client.create(&secrets, Some("foreign"), &body, "bench").await {
                        return Err(error.to_string());
                    }
                }
                Ok(())
            });
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        process.memory()
    }
}

/// How our operator grows: time and memory for several numbers of resources.
pub fn growth(plan: &Plan, counts: &[usize]) -> Answer<Vec<(usize, f64, f64)>> {
    let mut out = Vec::new();
    for count in counts {
        let cluster = Cluster::upstream()?;
        run(cluster.kubectl().args(["apply", "-f"]).arg(plan.project.join("crd.yaml")))?;
        cluster.namespace(NAMESPACE)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        out.push(runtime.block_on(async {
            let access =
                ClientConfig { kubeconfig: Some(cluster.kubeconfig().into()), ..ClientConfig::default() };
            let client = Client::new(&access).await?;
            let seen = Arc::new(Mutex::new(Seen::default()));
            watch(&client, &plan.resource, Representation::Full, &seen);
            let bench =
                Bench { subject: Subject::Podium, plan, cluster: &cluster, client: &client, seen: &seen };
            let process = Process::start(Subject::Podium, plan, &cluster)?;
            tokio::time::sleep(Duration::from_secs(2)).await;
            let begin = Instant::now();
            for number in 0..*count {
                client.create(&plan.resource, Some(NAMESPACE), &bench.custom(number), "bench").await?;
            }
            while lock(&seen).deployed.len() < *count {
                if begin.elapsed() > Duration::from_secs(300) {
                    return Err(format!("{} of {count} deployed", lock(&seen).deployed.len()).into());
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            let seconds = begin.elapsed().as_secs_f64();
            bench.quiet(Duration::from_secs(2)).await;
            Ok::<_, Box<dyn Error>>((*count, seconds, process.memory()?.1))
        })?);
    }
    Ok(out)
}

/// A project for all three: the inference stack with one kind.
pub fn project(root: &Path, folder: &Path) -> Answer<()> {
    std::fs::create_dir_all(folder)?;
    let chart = root.join("stacks/inference/helm-charts");
    run(Command::new("cp").arg("-r").arg(chart).arg(folder))?;
    let mut watches = String::new();
    writeln!(watches, "- group: models.takeoff.co\n  version: v1alpha1\n  kind: InferenceStack")?;
    writeln!(watches, "  chart: helm-charts/inference-stack")?;
    std::fs::write(folder.join("watches.yaml"), watches)?;
    std::fs::copy(
        root.join("stacks/inference/crds/inferencestacks.models.takeoff.co.yaml"),
        folder.join("crd.yaml"),
    )?;
    Ok(())
}
