//! Puts everything together and keeps it running.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use podium_chart::dialect::{Dialect, HELM3};
use podium_client::client::Representation;
use podium_client::watch::{ListWatch, WatchEvent, WatchFailure, WatchFailureKind};
use podium_client::{Client, DiscoveryCache, client};
use podium_controller::cpu_pool::CpuPool;
use podium_controller::events::EventRecorder;
use podium_controller::leader_election::{LeaderElection, LeadershipEnd};
use podium_controller::log::Log;
use podium_controller::metrics::{self, ReconcileMetrics};
use podium_meta::{Kind, Resource};
use podium_project::watches::Watch as Entry;
use podium_serve::probes::ProbeService;
use podium_serve::server::ConnectionLimits;
use podium_serve::{Health, Registry, Server};

use crate::certificate;
use crate::chart::Chart;
use crate::controller::{Controller, Round};
use crate::custom::Custom;
use crate::guard::Guard;
use crate::hub::Hub;
use crate::missing::{Missing, What};
use crate::reconcile::Context;
use crate::roster::Roster;
use crate::values::holder;

/// How often a chart's files are looked at when they may change.
const RELOAD: Duration = Duration::from_secs(1);
/// How long other operators are waited for before a resource counts as nobody's.
const HEARING: Duration = Duration::from_secs(2);
/// The first and the longest pause between looks for a kind that is missing.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));

/// How an operator runs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The entries of `watches.yaml`; their charts are paths.
    pub watches: Vec<Entry>,
    /// The namespaces that are watched; none is all of them.
    pub namespaces: Vec<String>,
    /// Where the operator itself is.
    pub home: String,
    /// Who it is; another one after each start.
    pub identity: String,
    /// The pod or machine that it runs on.
    pub host: String,
    /// How many resources of a kind are worked on at the same time.
    pub concurrency: usize,
    /// How often resources are looked at even if nothing happens.
    pub period: Option<Duration>,
    /// Where metrics are served; nothing is nowhere.
    pub metrics: Option<String>,
    /// Whether metrics are served with TLS.
    pub metrics_secure: bool,
    /// Whether only those read metrics whom the cluster lets.
    pub metrics_guarded: bool,
    /// Where probes are served; nothing is nowhere.
    pub probes: Option<String>,
    /// Whether one of several leads.
    pub election: Option<Election>,
    /// Whether override values are hidden in Events.
    pub hide_overrides: bool,
    /// How many revisions are kept.
    pub history: usize,
    /// Whether charts are loaded anew when their files change.
    pub reload: bool,
    /// The version of this program.
    pub version: &'static str,
}

/// A Lease that one of several operators holds.
#[derive(Clone, Debug)]
pub struct Election {
    /// Its name.
    pub id: String,
    /// Its namespace.
    pub namespace: String,
}

/// Why an operator does not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A port cannot be had.
    #[error(transparent)]
    Serve(#[from] podium_serve::server::Error),
    /// There is no certificate.
    #[error("metrics cannot be served with TLS: {0}")]
    Certificate(String),
    /// The cluster does not answer.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// Another one leads now.
    #[error("another operator holds the lease now: {0}")]
    Lost(String),
}

/// The Helm that charts of Helm operators are written for.
const DIALECT: &Dialect = &HELM3;

/// Runs until `stop` is there.
pub async fn run(
    client: Client,
    settings: Settings,
    log: Log,
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    let registry = Registry::default();
    let (alive, ready) = (Health::default(), Health::default());
    metrics::process(&registry, settings.version, "");
    let mut servers = Vec::new();
    let probes = ProbeService { liveness: Some(alive), readiness: Some(ready.clone()), metrics: None };
    let metrics = ProbeService { metrics: Some(registry.clone()), ..ProbeService::default() };
    for (address, pages) in [(&settings.probes, probes), (&settings.metrics, metrics)] {
        if let Some(address) = address {
            let mut server = Server::bind(address, ConnectionLimits::default()).await?;
            if settings.metrics_secure && pages.metrics.is_some() {
                server = server.with_tls(certificate::identity().map_err(Error::Certificate)?);
            }
            if let Some(address) = server.local_addr() {
                let what = if pages.metrics.is_some() { "metrics" } else { "probes" };
                log.info("listening", &[("for", &what), ("address", &address)]);
            }
            servers.push((server, pages));
        }
    }
    // The servers of probes and metrics are not part of the leader's work: a standby answers too.
    let local = tokio::task::LocalSet::new();
    for (server, pages) in servers {
        if settings.metrics_guarded && pages.metrics.is_some() {
            let guard = Guard::new(client.clone());
            let service = pages.into_authorized_service(move |head| guard.leave(head));
            local.spawn_local(server.run(service, std::future::pending()));
        } else {
            local.spawn_local(server.run(pages.into_service(), std::future::pending()));
        }
    }
    let election = settings.election.clone();
    let identity = settings.identity.clone();
    let roster = Roster::new(&settings.home, &settings.host, &settings.watches, &settings.namespaces);
    let work = {
        let (client, log, registry, roster) = (client.clone(), log.clone(), registry.clone(), roster.clone());
        async move { operate(client, settings, &roster, &log, &registry, &ready).await }
    };
    let stop = async {
        stop.await;
        roster.leave(&client, &identity).await;
    };
    let work = async {
        tokio::select! {
            failed = work => failed,
            () = stop => Ok(()),
        }
    };
    let Some(Election { id, namespace }) = election else { return local.run_until(work).await };
    let election = LeaderElection::new(&namespace, &id, &identity);
    metrics::election(&registry, &election);
    log.info("waiting for the lease", &[("namespace", &namespace), ("name", &id)]);
    let trouble = |error: &client::Error| log.error("the lease cannot be had", &[("error", error)]);
    match local.run_until(election.run(&client, trouble, work)).await {
        LeadershipEnd::Finished(ended) => ended,
        LeadershipEnd::Lost(reason) => Err(Error::Lost(reason)),
    }
}

/// Waits until the cluster knows a kind.
async fn find(kinds: &DiscoveryCache, kind: &Kind, log: &Log, missing: &Missing) -> Resource {
    let mut pause = PAUSES.0;
    let mut said = false;
    loop {
        let why = match kinds.refresh().await {
            Ok(discovery) => match discovery.find(kind) {
                Some(resource) => {
                    missing.well(kind, "");
                    if said {
                        log.info("the kind is there now", &[("kind", kind)]);
                    }
                    return resource.clone();
                }
                None => {
                    "the cluster does not know this kind yet: apply its CRD; the operator goes on by itself"
                        .to_owned()
                }
            },
            Err(error) => error.to_string(),
        };
        if !said {
            log.error(&why, &[("kind", kind)]);
            missing.trouble(kind, "", &WatchFailure { kind: WatchFailureKind::NotFound, message: why });
            said = true;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Handles all watches, for ever.
async fn operate(
    client: Client,
    settings: Settings,
    roster: &Rc<Roster>,
    log: &Log,
    registry: &Registry,
    ready: &Health,
) -> Result<(), Error> {
    // A standby is ready: a rollout that waits for it would wait for the leader that it replaces.
    ready.set_unhealthy("cluster", "the resources are not known yet");
    let kinds = Rc::new(DiscoveryCache::new(client.clone()));
    let places: Vec<Option<String>> = match settings.namespaces.as_slice() {
        [] => vec![None],
        some => some.iter().cloned().map(Some).collect(),
    };
    let pool = CpuPool::default();
    let mut charts = Vec::new();
    for watch in &settings.watches {
        charts.push(load(&pool, &watch.chart).await);
    }
    let names = settings.watches.iter().zip(&charts).map(|(watch, chart)| match chart {
        Ok(chart) => chart.name.clone(),
        // What it will most likely be called when it is there.
        Err(_) => watch.chart.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned(),
    });
    let names: Vec<String> = names.collect();
    let recorder = EventRecorder::new("podium-operator", &settings.identity);
    let missing = Rc::new(Missing::new(registry, recorder.clone(), roster.about()));
    let hub = Hub::new(client.clone(), log.clone(), places.clone(), &names, missing.clone());
    let mut context = Context::new(
        client.clone(),
        kinds.clone(),
        hub.clone(),
        roster.clone(),
        recorder.clone(),
        log.clone(),
        pool,
    );
    context.history = settings.history;
    context.hide_overrides = settings.hide_overrides;
    context.period = settings.period;
    let context = Rc::new(context);
    let reconciles = ReconcileMetrics::new(registry);
    let created = registry.gauge(
        "resource_created_at_seconds",
        "Timestamp at which a resource was created.",
        &["name", "namespace", "group", "version", "kind"],
    );
    {
        let (client, log) = (client.clone(), log.clone());
        tokio::task::spawn_local(async move {
            let failed = |error: &client::Error| log.error("an Event cannot be written", &[("error", error)]);
            match recorder.run(&client, failed).await {}
        });
    }
    hub.watch(&Resource::core("Secret", "secrets", true));
    {
        // Who may only see its own namespace can only see operators there.
        let place = (!settings.namespaces.is_empty()).then(|| settings.home.clone());
        let hub = hub.clone();
        roster.begin(&client, &settings.identity, place, log, move || hub.nudge_all());
    }
    let mut waiting = 0_usize;
    let (told, mut begun) = tokio::sync::mpsc::unbounded_channel();
    for (entry, chart) in settings.watches.iter().cloned().zip(charts) {
        waiting += 1;
        let (context, kinds, hub, client) = (context.clone(), kinds.clone(), hub.clone(), client.clone());
        let (log, registry, reconciles) = (log.clone(), registry.clone(), reconciles.clone());
        let (places, told, settings) = (places.clone(), told.clone(), settings.clone());
        let (created, missing) = (created.clone(), missing.clone());
        tokio::task::spawn_local(async move {
            if let Err(why) = &chart {
                let about: [(&str, &dyn std::fmt::Display); 2] = [("kind", &entry.kind), ("error", why)];
                log.error("the chart cannot be used, and is waited for", &about);
                missing.set(&entry.kind, "chart", Some(What::Chart));
            }
            let resource = find(&kinds, &entry.kind, &log, &missing).await;
            let home = settings.home.clone();
            let controller = Controller::new(entry, resource, chart, home, &log, created, missing);
            metrics::queue(&registry, &controller.name, &controller.queue);
            hub.join(controller.clone());
            records_known(&hub).await;
            begin(&controller, &context, &client, &places, &reconciles, &settings);
            while !controller.is_complete() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            let _ = told.send(());
        });
    }
    while waiting > 0 && begun.recv().await.is_some() {
        waiting -= 1;
    }
    ready.clear("cluster");
    log.info("all kinds are watched", &[("kinds", &settings.watches.len())]);
    std::future::pending().await
}

/// The records are known before the first resource is looked at, so that what is right needs no reading. A cluster that
/// does not let us list them is no reason to wait for ever.
async fn records_known(hub: &Hub) {
    let secrets = Kind::new("v1", "Secret");
    let until = Instant::now() + Duration::from_secs(10);
    while !hub.is_complete(&secrets) && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Starts the watches and workers of a controller.
fn begin(
    controller: &Rc<Controller>,
    context: &Rc<Context>,
    client: &Client,
    places: &[Option<String>],
    reconciles: &ReconcileMetrics,
    settings: &Settings,
) {
    let everywhere = [None];
    let places = if controller.namespaced() { places } else { &everywhere };
    controller.expect(places.len());
    for place in places {
        let watch = ListWatch {
            resource: controller.resource.clone(),
            namespace: place.clone(),
            label_selector: controller.watch.selector_text.clone(),
            field_selector: String::new(),
            representation: Representation::Full,
        };
        let (controller, client) = (controller.clone(), client.clone());
        let mut round = Round::of(place.clone());
        tokio::task::spawn_local(async move {
            match watch.run(&client, |event| controller.take(&mut round, event)).await {}
        });
    }
    if !controller.watch.selector_text.is_empty() {
        places.iter().for_each(|place| orphans(controller, context, client, place.clone()));
    }
    for source in &controller.watch.values_from {
        for place in places {
            let watch = ListWatch {
                resource: holder(source.kind),
                namespace: place.clone(),
                label_selector: String::new(),
                field_selector: format!("metadata.name={}", source.name),
                representation: Representation::Metadata,
            };
            let (controller, client) = (controller.clone(), client.clone());
            tokio::task::spawn_local(async move {
                let tell = |event: WatchEvent| {
                    if let WatchEvent::Applied(object) | WatchEvent::Deleted(object) = &event {
                        controller.sources_changed(object);
                    }
                };
                match watch.run(&client, tell).await {}
            });
        }
    }
    let workers = controller.watch.max_concurrent_reconciles.and_then(|n| usize::try_from(n).ok());
    for _ in 0..workers.unwrap_or(settings.concurrency).max(1) {
        let (controller, context, reconciles) = (controller.clone(), context.clone(), reconciles.clone());
        tokio::task::spawn_local(async move {
            while let Some(task) = controller.queue.next().await {
                let begun = Instant::now();
                let verdict = context.reconcile(&controller, &task.key).await;
                reconciles.count(&controller.name, verdict, begun.elapsed());
                controller.queue.settle(&task.key, verdict);
            }
        });
    }
    tokio::task::spawn_local(reload(controller.clone(), context.clone(), settings.reload));
}

/// Looks for resources that no selector chooses. Their bodies are not needed: only whose they are.
fn orphans(controller: &Rc<Controller>, context: &Rc<Context>, client: &Client, place: Option<String>) {
    let watch = ListWatch {
        namespace: place,
        ..ListWatch::new(controller.resource.clone(), Representation::Metadata)
    };
    let (controller, context, client) = (controller.clone(), context.clone(), client.clone());
    tokio::task::spawn_local(async move {
        let tell = |event: WatchEvent| {
            let WatchEvent::Applied(object) = event else { return };
            let custom = Custom(object);
            let (labels, key) = (custom.labels(), custom.key());
            if controller.watch.selector.matches(&labels) {
                return;
            }
            let (controller, context) = (controller.clone(), context.clone());
            tokio::task::spawn_local(async move {
                // Those who may answer for it are heard of first.
                tokio::time::sleep(HEARING).await;
                let Some(why) = context.roster.orphan(&controller.watch.kind, &key, &labels) else { return };
                let found = context.client.get(&controller.resource, key.namespace(), key.name()).await;
                if let Ok(Some(object)) = found
                    && Custom(object.clone()).labels() == labels
                {
                    context.report_orphan(&controller, &object, &why).await;
                }
            });
        };
        match watch.run(&client, tell).await {}
    });
}

/// Loads the chart of a controller anew when its files change; only until there is one, unless it is to be `followed`.
async fn reload(controller: Rc<Controller>, context: Rc<Context>, followed: bool) {
    let Context { hub, log, pool, .. } = &*context;
    let path = controller.watch.chart.clone();
    let mut seen = stamps(&path);
    let mut failed = String::new();
    while followed || controller.chart().is_err() {
        tokio::time::sleep(RELOAD).await;
        let now = stamps(&path);
        if now == seen {
            continue;
        }
        seen = now;
        match load(pool, &path).await {
            Ok(chart) if chart.digest != controller.digest() => {
                log.info("the chart has changed", &[("chart", &path)]);
                hub.add_chart(&chart.name);
                *controller.chart.borrow_mut() = Ok(chart);
                controller.wake_all();
                failed.clear();
                hub.missing.set(&controller.watch.kind, "chart", None);
            }
            Ok(_) => {
                failed.clear();
                hub.missing.set(&controller.watch.kind, "chart", None);
            }
            Err(error) if error != failed => {
                failed = error;
                hub.missing.set(&controller.watch.kind, "chart", Some(What::Chart));
                let mut chart = controller.chart.borrow_mut();
                let what = match &mut *chart {
                    Ok(_) => "the chart has changed, and cannot be used: the old one stays",
                    Err(why) => {
                        why.clone_from(&failed);
                        "the chart has changed, and still cannot be used"
                    }
                };
                log.error(what, &[("error", &failed)]);
            }
            Err(_) => {}
        }
    }
}

/// Loads a chart on a thread of the pool.
async fn load(pool: &CpuPool, path: &str) -> Result<Arc<Chart>, String> {
    let path = path.to_owned();
    match pool.run(move || Chart::load(&path, DIALECT)).await {
        Ok(loaded) => loaded.map(Arc::new).map_err(|e| e.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// When the files of a chart were last written, and how long they are.
fn stamps(path: &str) -> Vec<(std::path::PathBuf, Option<std::time::SystemTime>, u64)> {
    let mut out = Vec::new();
    let mut work = vec![std::path::PathBuf::from(path)];
    while let Some(path) = work.pop() {
        let Ok(meta) = std::fs::metadata(&path) else { continue };
        if meta.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            work.extend(entries.map(|entry| entry.path()));
        } else {
            out.push((path, meta.modified().ok(), meta.len()));
        }
    }
    out.sort();
    out
}
