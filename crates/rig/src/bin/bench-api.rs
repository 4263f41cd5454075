//! Measures our API server beside etcd and kube-apiserver, in one run.
//!
//! ```text
//! bench-api [--objects 10000] [--seconds 5] [--growth 100000]      PODIUM_BIN is the binary to measure
//! ```

use std::fmt::Write as _;
use std::ops::Range;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use podium_rig::cluster::{Cluster, Options, Server, run};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};

type Answer<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
type Http = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// What is measured, and what has to come of it.
const ROWS: &[(&str, f64)] = &[
    ("start to ready (s)", 30.0),
    ("start to the first kubectl get ns (s)", 8.0),
    ("memory, empty (MB)", 10.0),
    ("durable creates a second, 1 client", 2.0),
    ("durable creates a second, 32 clients", 5.0),
    ("list of all objects (s)", 3.0),
    ("the same as a Table (s)", 3.0),
    ("a list by label (s)", 3.0),
    ("memory with the objects and 100 watchers (MB)", 5.0),
    ("create to watch event, 500 a second, p50 (ms)", 2.0),
    ("create to watch event, 500 a second, p99 (ms)", 2.0),
    ("kubectl apply of 200 objects (s)", 1.0),
    ("kubectl apply of the same again (s)", 5.0),
];

/// Rows where more is better.
const MORE: &[usize] = &[3, 4];

/// How much what stays the same may move between two measurements before it counts as growth.
const FLAT: f64 = 1.5;

fn main() -> ExitCode {
    let mut objects = 10_000;
    let mut seconds = 5;
    let mut most = 100_000;
    let mut args = std::env::args().skip(1);
    while let (Some(flag), Some(value)) = (args.next(), args.next()) {
        let number = value.parse().unwrap_or(0);
        match flag.as_str() {
            "--objects" => objects = number,
            "--seconds" => seconds = number as u64,
            "--growth" => most = number,
            _ => return fail(&format!("unknown flag {flag}")),
        }
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let Ok(runtime) = runtime else { return fail("no runtime") };
    let mut columns = Vec::new();
    for server in [Server::Podium, Server::Kubernetes] {
        say(&format!("measuring {server:?} ..."));
        match runtime.block_on(measure(server, objects, Duration::from_secs(seconds))) {
            Ok(column) => columns.push(column),
            Err(error) => return fail(&error.to_string()),
        }
    }
    let [ours, theirs] = columns.as_slice() else { return fail("nothing was measured") };
    say(&format!("\n{:<50} {:>12} {:>12} {:>9}", "", "podium", "kubernetes", "ratio"));
    for (at, (name, aim)) in ROWS.iter().enumerate() {
        let (Some(our), Some(their)) = (ours.get(at), theirs.get(at)) else { continue };
        let ratio = if MORE.contains(&at) { our / their } else { their / our };
        let verdict = if ratio >= *aim { "met" } else { "MISSED" };
        say(&format!("{name:<50} {our:>12.4} {their:>12.4} {ratio:>8.1}x {verdict} (at least {aim})"));
    }
    if most > 0
        && let Err(error) = runtime.block_on(growth(most, Duration::from_secs(seconds)))
    {
        return fail(&error.to_string());
    }
    ExitCode::SUCCESS
}

/// What the work with one kind costs while there are ever more objects of another.
async fn growth(most: usize, window: Duration) -> Answer<()> {
    const OWN: usize = 1000;
    let cluster =
        Cluster::with(Options { server: Some(Server::Podium), durable: true, ..Options::default() })?;
    let caller = Caller::new(&cluster)?;
    for name in ["own", "load", "few", "many", "live-few", "live-many"] {
        let body = json!({"metadata": {"name": name}}).to_string();
        caller.call("POST", "/api/v1/namespaces", JSON, Bytes::from(body)).await?;
    }
    fill(&caller, SECRETS, "own", 0..OWN).await?;
    let mut columns = Vec::new();
    let mut there = 0;
    for (namespace, count) in [("few", OWN.min(most)), ("many", most)] {
        say(&format!("measuring with {count} objects of another kind ..."));
        fill(&caller, MAPS, "load", there..count).await?;
        there = count;
        let own = "/api/v1/namespaces/own/secrets";
        let list = median(15, || caller.call("GET", own, JSON, Bytes::new())).await?;
        let write = 1.0 / creates(&caller, SECRETS, namespace, 1, window).await?;
        let (event, _) = latency(&caller, &format!("live-{namespace}"), window).await?;
        columns.push([list * 1e3, write * 1e3, event]);
    }
    let [few, many] = columns.as_slice() else { return Ok(()) };
    say(&format!("\n{:<50} {:>12} {most:>12} {:>9}", "beside objects of another kind", OWN, "growth"));
    for (at, name) in
        ["list of 1000 (ms)", "durable create (ms)", "create to watch event, p50 (ms)"].iter().enumerate()
    {
        let (Some(few), Some(many)) = (few.get(at), many.get(at)) else { continue };
        let verdict = if many / few <= FLAT { "met" } else { "MISSED" };
        say(&format!("{name:<50} {few:>12.4} {many:>12.4} {:>8.2}x {verdict} (at most {FLAT})", many / few));
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a benchmark prints")]
fn say(text: &str) {
    println!("{text}");
}

#[expect(clippy::print_stderr, reason = "a benchmark prints")]
fn fail(text: &str) -> ExitCode {
    eprintln!("bench-api: {text}");
    ExitCode::FAILURE
}

/// A client of one cluster.
#[derive(Clone)]
struct Caller {
    http: Http,
    url: String,
    token: String,
}

impl Caller {
    fn new(cluster: &Cluster) -> Answer<Self> {
        let mut roots = RootCertStore::empty();
        let pem = std::fs::read(cluster.authority())?;
        for certificate in CertificateDer::pem_slice_iter(&pem) {
            roots.add(certificate?)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(config).https_only().enable_http1().build();
        let http = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { http, url: cluster.url(), token: cluster.token().to_owned() })
    }

    async fn call(&self, method: &str, path: &str, accept: &str, body: Bytes) -> Answer<usize> {
        let answer = self.http.request(self.request(method, path, accept, body)?).await?;
        let good = answer.status().is_success();
        let mut body = answer.into_body();
        let mut length = 0;
        let mut first = Vec::new();
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame?.into_data() {
                length += data.len();
                if first.len() < 300 {
                    first.extend_from_slice(&data);
                }
            }
        }
        if good { Ok(length) } else { Err(format!("{path}: {}", String::from_utf8_lossy(&first)).into()) }
    }

    fn request(&self, method: &str, path: &str, accept: &str, body: Bytes) -> Answer<Request<Full<Bytes>>> {
        Ok(Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("authorization", format!("Bearer {}", self.token))
            .header("accept", accept)
            .header("content-type", "application/json")
            .body(Full::new(body))?)
    }

    async fn create(&self, kind: &str, namespace: &str, name: &str, at: usize) -> Answer<()> {
        let body = json!({"metadata": {"name": name, "labels": {"part": (at % 100).to_string()}},
            "data": {"text": "x".repeat(700)}});
        let path = format!("/api/v1/namespaces/{namespace}/{kind}");
        self.call("POST", &path, JSON, Bytes::from(body.to_string())).await.map(drop)
    }
}

const MAPS: &str = "configmaps";
const SECRETS: &str = "secrets";
const JSON: &str = "application/json";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

async fn measure(server: Server, objects: usize, window: Duration) -> Answer<Vec<f64>> {
    let mut column = Vec::new();
    let cluster = Cluster::with(Options { server: Some(server), durable: true, ..Options::default() })?;
    let begin = Instant::now();
    let ready = match server {
        Server::Kubernetes => cluster.ready_after().as_secs_f64(),
        Server::Podium => start(&cluster)?,
    };
    let waited = begin.elapsed().as_secs_f64();
    column.push(ready);
    run(cluster.kubectl().args(["get", "ns"]))?;
    column.push(ready + begin.elapsed().as_secs_f64() - waited);
    tokio::time::sleep(Duration::from_secs(2)).await;
    column.push(memory(&cluster));
    let caller = Caller::new(&cluster)?;
    for name in ["one", "many", "load", "live"] {
        let body = json!({"metadata": {"name": name}}).to_string();
        caller.call("POST", "/api/v1/namespaces", JSON, Bytes::from(body)).await?;
    }
    // First with as many objects on both: the faster one has more after the next rows.
    fill(&caller, MAPS, "load", 0..objects).await?;
    let path = "/api/v1/namespaces/load/configmaps";
    let mut lists = Vec::new();
    lists.push(median(5, || caller.call("GET", path, JSON, Bytes::new())).await?);
    lists.push(median(5, || caller.call("GET", path, TABLE, Bytes::new())).await?);
    let chosen = format!("{path}?labelSelector=part%3D7");
    lists.push(median(5, || caller.call("GET", &chosen, JSON, Bytes::new())).await?);
    let watchers = watch(&caller, "load", 100).await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    lists.push(memory(&cluster));
    drop(watchers);
    column.push(creates(&caller, MAPS, "one", 1, window).await?);
    column.push(creates(&caller, MAPS, "many", 32, window).await?);
    column.append(&mut lists);
    let (p50, p99) = latency(&caller, "live", window).await?;
    column.extend([p50, p99]);
    let manifest = cluster.folder().join("two-hundred.yaml");
    std::fs::write(&manifest, two_hundred())?;
    for _ in 0..2 {
        let begin = Instant::now();
        run(cluster.kubectl().args(["apply", "-n", "one", "-f"]).arg(&manifest))?;
        column.push(begin.elapsed().as_secs_f64());
    }
    Ok(column)
}

/// How long our server takes until it says that it is ready, in a folder of its own: the rig looks too seldom.
fn start(cluster: &Cluster) -> Answer<f64> {
    let mut all = Vec::new();
    for at in 0..5 {
        let data = cluster.folder().join(format!("start-{at}"));
        let mut up = std::process::Command::new(podium_rig::tools::podium()?);
        let begin = Instant::now();
        run(up.args(["up", "-d", "--no-stacks", "--port", "0", "--data"]).arg(&data))?;
        all.push(begin.elapsed().as_secs_f64());
        run(std::process::Command::new(podium_rig::tools::podium()?).args(["down", "--data"]).arg(&data))?;
    }
    all.sort_by(f64::total_cmp);
    Ok(all.get(2).copied().unwrap_or(0.0))
}

/// Resident memory of all servers, in MB.
fn memory(cluster: &Cluster) -> f64 {
    let of = |id: u32| {
        let text = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
        line.trim().split(' ').next().and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
    };
    cluster.ids().into_iter().map(of).sum()
}

/// How many objects some clients create in a second.
async fn creates(
    caller: &Caller,
    kind: &'static str,
    namespace: &str,
    clients: usize,
    window: Duration,
) -> Answer<f64> {
    let end = Instant::now() + window;
    let count = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    for client in 0..clients {
        let (caller, count, namespace) = (caller.clone(), Arc::clone(&count), namespace.to_owned());
        tasks.push(tokio::spawn(async move {
            let mut at = 0;
            while Instant::now() < end {
                caller.create(kind, &namespace, &format!("c{client}-{at}"), at).await?;
                at += 1;
                count.fetch_add(1, Ordering::Relaxed);
            }
            Answer::Ok(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    Ok(count.load(Ordering::Relaxed) as f64 / window.as_secs_f64())
}

async fn fill(
    caller: &Caller,
    kind: &'static str,
    namespace: &'static str,
    range: Range<usize>,
) -> Answer<()> {
    let next = Arc::new(AtomicUsize::new(range.start));
    let mut tasks = Vec::new();
    for _ in 0..32 {
        let (caller, next) = (caller.clone(), Arc::clone(&next));
        tasks.push(tokio::spawn(async move {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= range.end {
                    return Answer::Ok(());
                }
                caller.create(kind, namespace, &format!("o{at}"), at).await?;
            }
        }));
    }
    for task in tasks {
        task.await??;
    }
    Ok(())
}

async fn median<F, A>(times: usize, mut act: F) -> Answer<f64>
where
    F: FnMut() -> A,
    A: Future<Output = Answer<usize>>,
{
    let mut all = Vec::new();
    for _ in 0..times {
        let begin = Instant::now();
        act().await?;
        all.push(begin.elapsed().as_secs_f64());
    }
    all.sort_by(f64::total_cmp);
    Ok(all.get(times / 2).copied().unwrap_or(0.0))
}

/// Watchers that read everything, until they are dropped.
async fn watch(caller: &Caller, namespace: &str, count: usize) -> Answer<Vec<Ended>> {
    let mut all = Vec::new();
    for _ in 0..count {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps?watch=1&resourceVersion=0");
        let mut answer = caller.http.request(caller.request("GET", &path, JSON, Bytes::new())?).await?;
        all.push(Ended(tokio::spawn(
            async move { while let Some(Ok(_)) = answer.body_mut().frame().await {} },
        )));
    }
    Ok(all)
}

struct Ended(tokio::task::JoinHandle<()>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// How long after a create its event is there, in ms: half of them, and 99 of 100.
async fn latency(caller: &Caller, namespace: &str, window: Duration) -> Answer<(f64, f64)> {
    let path = format!("/api/v1/namespaces/{namespace}/secrets?watch=1");
    let mut answer = caller.http.request(caller.request("GET", &path, JSON, Bytes::new())?).await?;
    let begin = Instant::now();
    let starts: Arc<Vec<AtomicU64>> = Arc::new((0..100_000).map(|_| AtomicU64::new(0)).collect());
    let micros = move || u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX);
    let seen = {
        let starts = Arc::clone(&starts);
        tokio::spawn(async move {
            let mut waits = Vec::new();
            let mut rest = Vec::new();
            while let Some(Ok(frame)) = answer.body_mut().frame().await {
                let Ok(data) = frame.into_data() else { continue };
                rest.extend_from_slice(&data);
                while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = rest.drain(..=end).collect();
                    let event: Value = serde_json::from_slice(&line).unwrap_or_default();
                    let name =
                        event.pointer("/object/metadata/name").and_then(Value::as_str).unwrap_or_default();
                    let at = name.strip_prefix('e').and_then(|number| number.parse::<usize>().ok());
                    if let Some(start) = at.and_then(|at| starts.get(at)) {
                        waits.push(micros().saturating_sub(start.load(Ordering::Relaxed)));
                    }
                    if name == "last" {
                        return waits;
                    }
                }
            }
            waits
        })
    };
    let mut tick = tokio::time::interval(Duration::from_millis(2));
    let mut at = 0;
    let mut tasks = Vec::new();
    while begin.elapsed() < window {
        tick.tick().await;
        if let Some(start) = starts.get(at) {
            start.store(micros(), Ordering::Relaxed);
        }
        let (caller, namespace, name) = (caller.clone(), namespace.to_owned(), format!("e{at}"));
        tasks.push(tokio::spawn(async move { caller.create(SECRETS, &namespace, &name, 0).await }));
        at += 1;
    }
    for task in tasks {
        task.await??;
    }
    caller.create(SECRETS, namespace, "last", 0).await?;
    let mut waits = seen.await?;
    waits.sort_unstable();
    let part = |percent: usize| {
        waits.get(waits.len().saturating_sub(1) * percent / 100).copied().unwrap_or(0) as f64 / 1000.0
    };
    Ok((part(50), part(99)))
}

/// Two hundred objects as people apply them.
fn two_hundred() -> String {
    let mut out = String::new();
    for at in 0..50 {
        let _ = write!(
            out,
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a{at}}}\ndata: {{a: b}}\n---\napiVersion: v1\nkind: \
             Service\nmetadata: {{name: a{at}}}\nspec: {{selector: {{app: a{at}}}, ports: [{{port: 80}}]}}\n---\napiVersion: \
             apps/v1\nkind: Deployment\nmetadata: {{name: a{at}}}\nspec:\n  selector: {{matchLabels: {{app: a{at}}}}}\n  template:\n    \
             metadata: {{labels: {{app: a{at}}}}}\n    spec: {{containers: [{{name: c, image: x}}]}}\n---\napiVersion: v1\nkind: \
             Secret\nmetadata: {{name: a{at}}}\nstringData: {{a: b}}\n"
        );
    }
    out
}
