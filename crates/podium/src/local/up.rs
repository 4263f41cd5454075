//! `podium up`.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow, bail};
use clap::ArgMatches;
use clap::parser::ValueSource;
use podium_apiserver::User;
use podium_apiserver::server::{self, Error as ServerError};
use podium_client::{Client, ClientConfig};
use podium_controller::log::{Level, Log, Style};
use podium_controllers::Claims;
use podium_operator::Settings;
use podium_serve::server::Error as ListenError;
use podium_store::{Query, Store};
use serde_json::Value;
use tokio::sync::watch;

use super::apply;
use super::background;
use super::home::{Home, Running};
use super::stacks;
use crate::flag::{many, on, one};
use crate::output::{complain, print, styled};

/// The port of Kubernetes' API.
const PORT: &str = "6443";
/// As many threads as requests are answered by.
const THREADS: usize = 2;
/// How many resources of a stack are worked on at the same time.
const CONCURRENCY: usize = 6;
/// How many revisions of a release are kept.
const HISTORY: usize = 10;

/// Brings the cluster up.
pub fn run(matches: &ArgMatches) -> Result<()> {
    let home = Home::of(matches)?;
    if home.root.exists() {
        if !home.root.is_dir() {
            bail!("{} is a file: choose a folder with --data", home.root.display());
        }
        podium_store::check_owner(&home.root)?;
    }
    if home.root.join("store").exists() && !home.is_cluster() {
        bail!(
            "{} has a folder store that is no cluster's: choose another folder with --data",
            home.root.display()
        );
    }
    // What cannot be read is told before anything is done.
    for file in many(matches, "apply") {
        apply::read(&file)?;
    }
    if let Some(running) = home.running() {
        already(&home, &running)?;
        let idle = ["port", "listen", "token-file", "host", "no-stacks"];
        let idle: Vec<String> = idle
            .iter()
            .filter(|flag| matches.value_source(flag) == Some(ValueSource::CommandLine))
            .map(|flag| format!("--{flag}"))
            .collect();
        if !idle.is_empty() {
            let (them, what) = (idle.join(", "), if idle.len() == 1 { "changes" } else { "change" });
            complain(&format!("Warning: {them} {what} nothing while it runs: podium down first"));
        }
        return background::apply_all(&home, matches);
    }
    let port = one(matches, "port").unwrap_or(PORT);
    if port.parse::<u16>().is_err() {
        bail!("--port {port}: write a number up to 65535");
    }
    if on(matches, "detach") {
        return background::up(&home, matches);
    }
    let began = Instant::now();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
    runtime.block_on(async {
        let address = one(matches, "listen").unwrap_or("127.0.0.1");
        let address =
            if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") };
        let options = server::Options {
            home: home.root.clone(),
            address,
            hosts: many(matches, "host"),
            users: users(matches)?,
            store: podium_store::Options::default(),
        };
        let server = server::run(options).await.map_err(|error| explain(error, &home))?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        home.started(&server.url, i64::try_from(since).unwrap_or(0))?;
        let (ending, end) = watch::channel(false);
        let with_stacks = !on(matches, "no-stacks");
        if with_stacks {
            stacks::unpack(&home.root.join("stacks"))?;
        }
        let log = log();
        let helpers = {
            let (root, log) = (home.root.clone(), log.clone());
            let api = server.api.clone();
            let sign = move |claims: &Claims| {
                let account = (claims.account.as_str(), claims.account_uid.as_str());
                api.sign_for_secret(&claims.namespace, account, &claims.secret)
            };
            let controllers = podium_controllers::Options {
                root_ca: server.authority.clone(),
                signer: Some(Arc::new(sign)),
                log: log.clone(),
            };
            thread::Builder::new()
                .name("controllers".to_owned())
                .spawn(move || control(&root, controllers, with_stacks, &log, end))?
        };
        welcome(&home, &server.url, began.elapsed(), with_stacks)?;
        let applying = many(matches, "apply");
        let applied = async {
            let access = ClientConfig { kubeconfig: Some(home.kubeconfig()), ..ClientConfig::default() };
            let client = Client::new(&access).await?;
            for file in &applying {
                apply::apply(&client, file).await?;
            }
            Ok::<(), anyhow::Error>(())
        };
        // What cannot be applied is said; the cluster stays.
        if let Err(error) = applied.await {
            complain(&format!("Error: {error:#}"));
        }
        tokio::select! {
            () = podium_controller::shutdown_signal() => {}
            () = follow(server.api.store()) => {}
        }
        let _ = ending.send(true);
        server.stop().await;
        let _ = tokio::task::spawn_blocking(move || helpers.join()).await;
        home.ended();
        Ok(())
    })
}

/// Who is known by a token: lines of `token,user,uid,"group,group"`.
fn users(matches: &ArgMatches) -> Result<Vec<(String, User)>> {
    let Some(file) = one(matches, "token-file") else { return Ok(Vec::new()) };
    let text = std::fs::read_to_string(file).with_context(|| file.to_owned())?;
    let mut users = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let mut parts = line.splitn(4, ',');
        let (Some(token), Some(name)) = (parts.next(), parts.next()) else {
            bail!("{file}, line {}: write token,user,uid,\"group,group\"", at + 1);
        };
        let uid = parts.next().unwrap_or_default();
        let groups: Vec<&str> =
            parts.next().unwrap_or_default().trim().trim_matches('"').split(',').collect();
        let groups: Vec<&str> = groups.into_iter().filter(|group| !group.is_empty()).collect();
        let mut user = User::new(name.trim(), &groups);
        uid.trim().clone_into(&mut user.uid);
        users.push((token.trim().to_owned(), user));
    }
    Ok(users)
}

/// Somebody else runs it: that is what was wanted.
fn already(home: &Home, running: &Running) -> Result<()> {
    print(
        format!(
            "The cluster is up already: {} (process {}, podium {}).\nkubeconfig: {}\n",
            running.url,
            running.process.pid,
            running.version,
            home.kubeconfig().display()
        )
        .as_bytes(),
    )
}

/// What is wrong, and what to do about it.
fn explain(error: ServerError, home: &Home) -> anyhow::Error {
    match error {
        ServerError::Listen(ListenError::Listen { address, source })
            if source.kind() == std::io::ErrorKind::AddrInUse =>
        {
            let port = address.rsplit(':').next().unwrap_or_default();
            anyhow!(
                "port {port} is taken by another program: choose another one with --port PORT, or --port 0 for any that is free"
            )
        }
        ServerError::Store(podium_store::Error::Locked { holder, .. }) => {
            anyhow!(
                "{} is in use by {holder}: end it with podium down, or choose another folder with --data",
                home.root.display()
            )
        }
        other => anyhow!("{other}"),
    }
}

/// A person sees what matters; a file gets everything.
fn log() -> Log {
    let level = if std::io::stdout().is_terminal() { Level::Error } else { Level::Info };
    Log::new(level, Style::Console)
}

fn welcome(home: &Home, url: &str, took: Duration, with_stacks: bool) -> Result<()> {
    let kubeconfig = home.kubeconfig();
    let mut text = format!(
        "{} Kubernetes API {} at {} after {} ms\n\n  export KUBECONFIG={}\n  kubectl get namespaces\n",
        styled("podium is up:", "1"),
        podium_apiserver::VERSION,
        url,
        took.as_millis(),
        kubeconfig.display(),
    );
    if with_stacks {
        let example = home.root.join("stacks/inference/examples/documented.yaml");
        text.push_str(&format!(
            "  kubectl apply -f {}\n  kubectl get inferencestacks.models.takeoff.co\n",
            example.display()
        ));
    }
    text.push_str("\nThere is no node: objects are stored and kept in order, and pods do not run.\n");
    text.push_str("Ctrl-C ends it, the data stays; podium up -d runs it in the background.\n\n");
    print(text.as_bytes())
}

/// Everything that works through the API like any other client, on a thread of its own.
fn control(
    root: &Path,
    controllers: podium_controllers::Options,
    with_stacks: bool,
    log: &Log,
    end: watch::Receiver<bool>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&format!("Error: {error}")),
    };
    let outcome = runtime.block_on(async {
        let access = ClientConfig { kubeconfig: Some(root.join("kubeconfig")), ..ClientConfig::default() };
        let client = Client::new(&access).await?;
        let mut ending = end.clone();
        let ended = async move {
            let _ = ending.wait_for(|end| *end).await;
        };
        let own = client.clone();
        let mut all: Vec<Work> = vec![Box::pin(async move {
            podium_controllers::run(own, controllers, ended).await;
            Ok(())
        })];
        if with_stacks {
            all.push(Box::pin(operate(root.to_owned(), client, log.clone(), end.clone())));
        }
        together(all).await
    });
    if let Err(error) = outcome {
        complain(&format!("Error: {error:#}"));
    }
}

type Work = std::pin::Pin<Box<dyn Future<Output = Result<()>>>>;

/// Waits for all of them; the first trouble is told.
async fn together(all: Vec<Work>) -> Result<()> {
    let local = tokio::task::LocalSet::new();
    let tasks: Vec<_> = all.into_iter().map(|work| local.spawn_local(work)).collect();
    local
        .run_until(async {
            for task in tasks {
                task.await??;
            }
            Ok(())
        })
        .await
}

/// Defines the kinds of the stacks, and runs their chart operators.
async fn operate(root: PathBuf, client: Client, log: Log, end: watch::Receiver<bool>) -> Result<()> {
    stacks::define(&client).await?;
    let tasks: Vec<_> =
        operators(&root, &client, &log, &end)?.into_iter().map(tokio::task::spawn_local).collect();
    for task in tasks {
        task.await??;
    }
    Ok(())
}

/// The chart operators of all stacks.
fn operators(root: &Path, client: &Client, log: &Log, end: &watch::Receiver<bool>) -> Result<Vec<Work>> {
    let mut all: Vec<Work> = Vec::new();
    for file in stacks::watches() {
        let path = root.join("stacks").join(&file);
        let folder = path.parent().unwrap_or(root).to_owned();
        let mut entries = crate::operator::watches(&path.display().to_string(), false)?.entries;
        for entry in &mut entries {
            entry.chart = folder.join(&entry.chart).display().to_string();
        }
        let mut random = [0_u8; 4];
        getrandom::fill(&mut random)?;
        let settings = Settings {
            watches: entries,
            namespaces: Vec::new(),
            namespace: "default".to_owned(),
            identity: format!("podium-up_{:08x}", u32::from_le_bytes(random)),
            host: "podium-up".to_owned(),
            concurrency: CONCURRENCY,
            reconcile_period: None,
            metrics: None,
            metrics_secure: false,
            metrics_require_rbac: false,
            probes: None,
            election: None,
            hide_overrides: false,
            history: HISTORY,
            reload: false,
            version: env!("CARGO_PKG_VERSION"),
        };
        let (client, log, mut end) = (client.clone(), log.clone(), end.clone());
        all.push(Box::pin(async move {
            let ended = async move {
                let _ = end.wait_for(|end| *end).await;
            };
            Ok(podium_operator::run(client, settings, log, ended).await?)
        }));
    }
    Ok(all)
}

/// Tells what becomes of the resources of the stacks, a line for each change that people care about.
async fn follow(store: &Store) {
    let mut told: BTreeMap<String, String> = BTreeMap::new();
    let mut seen = 0;
    loop {
        let reach = store.reach(seen + 1);
        let _ = reach.await;
        seen = store.revision();
        for place in PLACES {
            let Ok(page) = store.collection(place).list(Query::default(), |_| true) else { continue };
            let mut here: BTreeMap<String, String> = BTreeMap::new();
            for object in &page.objects {
                let value: Value = serde_json::from_slice(object.body()).unwrap_or_default();
                let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default();
                here.insert(format!("{kind} {}", object.path()), summary(&value));
            }
            for (name, line) in &here {
                if told.insert(name.clone(), line.clone()).as_ref() != Some(line) {
                    let _ = print(format!("{name}: {line}\n").as_bytes());
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Where the resources of the stacks are.
const PLACES: &[&str] = &[
    "models.takeoff.co/inferencestacks",
    "models.titanml.co/inferencestacks",
    "doublewordai.co/inferencestacks",
    "models.titanml.co/modelorchestras",
];

/// What a resource says of itself.
fn summary(resource: &Value) -> String {
    let conditions = resource.pointer("/status/conditions").and_then(Value::as_array);
    let find = |kind: &str| {
        let of = |one: &&Value| one.get("type").and_then(Value::as_str) == Some(kind);
        conditions.into_iter().flatten().find(of)
    };
    let text = |one: Option<&Value>, key: &str| {
        one.and_then(|one| one.get(key)).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    if resource.pointer("/metadata/deletionTimestamp").is_some() {
        return "going".to_owned();
    }
    let deployed = find("Deployed");
    let ready = find("Ready");
    match (text(deployed, "status").as_str(), text(ready, "status").as_str()) {
        ("True", "True") => "Deployed and Ready".to_owned(),
        ("True", _) => format!("Deployed; not Ready: {}", text(ready, "message")),
        ("False", _) => format!("not Deployed: {}", text(deployed, "message")),
        _ => "new".to_owned(),
    }
}
