//! Starts the operator: the manager, the informers and a controller per entry of `watches.yaml`.

use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;

use podium_client::client::Representation;
use podium_client::watch::{ListWatch, WatchEvent, WatchFailure, WatchFailureKind};
use podium_client::{Client, DiscoveryCache, ObjectKey};
use podium_controller::log::Log;
use podium_controller::manager::{self, MetricsServer};
use podium_controller::{Informer, LeaderElection, Manager, ReconcileResult, Reconciler};
use podium_meta::{Kind, Resource};
use podium_project::watches::Watch as Entry;
use tokio::task::JoinSet;

use crate::certificate;
use crate::controller::{Controller, Round};
use crate::custom::Custom;
use crate::hub::Hub;
use crate::missing::{Missing, What};
use crate::reconcile::Context;
use crate::reload;
use crate::roster::Roster;
use crate::values::holder;

/// How long other operators have to announce themselves before a resource counts as chosen by none.
const ANNOUNCEMENT: Duration = Duration::from_secs(2);
/// How long the start waits for the release records.
const RECORDS_TIMEOUT: Duration = Duration::from_secs(10);
/// The first and the longest pause between checks for a kind that is missing.
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

/// Why an operator cannot start or ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address cannot be listened on, or another operator is the leader now.
    #[error(transparent)]
    Manager(#[from] manager::Error),
    /// No certificate can be made.
    #[error("metrics cannot be served with TLS: {0}")]
    Certificate(String),
}

/// Runs until `stop` resolves.
pub async fn run(
    client: Client,
    settings: Settings,
    log: Log,
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    let tls = match settings.metrics_secure {
        true => Some(certificate::identity().map_err(Error::Certificate)?),
        false => None,
    };
    let election = settings.election.as_ref();
    let options = manager::Options {
        component: "podium-operator".to_owned(),
        identity: settings.identity.clone(),
        version: settings.version,
        probes: settings.probes.clone(),
        metrics: settings.metrics.clone().map(|address| MetricsServer {
            address,
            tls,
            require_rbac: settings.metrics_guarded,
        }),
        leader_election: election
            .map(|Election { id, namespace }| LeaderElection::new(namespace, id, &settings.identity)),
    };
    let identity = settings.identity.clone();
    let roster = Roster::new(&settings.home, &settings.host, &settings.watches, &settings.namespaces);
    let manager = Manager::new(client.clone(), &options, log);
    let work = operate(manager.clone(), settings, roster.clone());
    let stop = async {
        stop.await;
        roster.leave(&client, &identity).await;
    };
    Ok(manager.run(options, work, stop).await?)
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

/// Runs the controllers of all entries of `watches.yaml`.
async fn operate(manager: Rc<Manager>, settings: Settings, roster: Rc<Roster>) -> Infallible {
    let (client, log) = (&manager.client, &manager.log);
    // A standby is ready: a rollout that waits for it would wait for the leader that it replaces.
    manager.ready.set_unhealthy("cluster", "the resources are not known yet");
    let kinds = Rc::new(DiscoveryCache::new(client.clone()));
    let namespaces: Vec<Option<String>> = match settings.namespaces.as_slice() {
        [] => vec![None],
        some => some.iter().cloned().map(Some).collect(),
    };
    let mut charts = Vec::new();
    for watch in &settings.watches {
        charts.push(reload::load(&manager.pool, &watch.chart).await);
    }
    let names = settings.watches.iter().zip(&charts).map(|(watch, chart)| match chart {
        Ok(chart) => chart.name.clone(),
        // A chart is usually named like its folder.
        Err(_) => watch.chart.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned(),
    });
    let names: Vec<String> = names.collect();
    let missing = Rc::new(Missing::new(&manager.registry, manager.recorder.clone(), roster.about()));
    let hub = Hub::new(client.clone(), log.clone(), namespaces.clone(), &names, missing.clone());
    let mut context = Context::new(&manager, kinds.clone(), hub.clone(), roster.clone());
    context.history = settings.history;
    context.hide_overrides = settings.hide_overrides;
    context.period = settings.period;
    let context = Rc::new(context);
    let created = manager.registry.gauge(
        "resource_created_at_seconds",
        "Timestamp at which a resource was created.",
        &["name", "namespace", "group", "version", "kind"],
    );
    hub.watch(&Resource::core("Secret", "secrets", true));
    {
        // An operator that may only read its own namespace sees only the operators there.
        let namespace = (!settings.namespaces.is_empty()).then(|| settings.home.clone());
        let hub = hub.clone();
        roster.begin(client, &settings.identity, namespace, log, move || hub.enqueue_all());
    }
    let mut starting = JoinSet::new();
    for (entry, chart) in settings.watches.iter().cloned().zip(charts) {
        let (manager, context, kinds) = (manager.clone(), context.clone(), kinds.clone());
        let (namespaces, settings) = (namespaces.clone(), settings.clone());
        let (created, missing) = (created.clone(), missing.clone());
        starting.spawn_local(async move {
            let log = &manager.log;
            if let Err(why) = &chart {
                let about: [(&str, &dyn std::fmt::Display); 2] = [("kind", &entry.kind), ("error", why)];
                log.error("the chart cannot be used, and is waited for", &about);
                missing.set(&entry.kind, "chart", Some(What::Chart));
            }
            let resource = find(&kinds, &entry.kind, log, &missing).await;
            let home = settings.home.clone();
            let controller = Controller::new(entry, resource, chart, home, log, created, missing);
            context.hub.join(controller.clone());
            records_synced(&context.hub).await;
            start(&manager, &controller, &context, &namespaces, &settings).await;
        });
    }
    while starting.join_next().await.is_some() {}
    manager.ready.clear("cluster");
    log.info("all kinds are watched", &[("kinds", &settings.watches.len())]);
    std::future::pending().await
}

/// Waits until the release records are known, so that a resource in its desired state needs no request. Where the operator
/// may not list them, it goes on without.
async fn records_synced(hub: &Hub) {
    let secrets = Kind::new("v1", "Secret");
    let _ = tokio::time::timeout(RECORDS_TIMEOUT, hub.wait_for_sync(&secrets)).await;
}

/// Reconciles the resources of one entry of `watches.yaml`.
struct ChartReconciler {
    controller: Rc<Controller>,
    context: Rc<Context>,
}

impl Reconciler for ChartReconciler {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey) -> ReconcileResult {
        self.context.reconcile(&self.controller, key).await
    }
}

/// Starts the informers and workers of a controller, and waits until all resources are known.
async fn start(
    manager: &Manager,
    controller: &Rc<Controller>,
    context: &Rc<Context>,
    namespaces: &[Option<String>],
    settings: &Settings,
) {
    let everywhere = [None];
    let namespaces = if controller.namespaced() { namespaces } else { &everywhere };
    let client = &manager.client;
    let mut resources = Vec::new();
    for namespace in namespaces {
        let list_watch = ListWatch {
            namespace: namespace.clone(),
            label_selector: controller.watch.selector_text.clone(),
            ..ListWatch::new(controller.resource.clone(), Representation::Full)
        };
        let handler = controller.clone();
        let mut round = Round::of(namespace.clone());
        resources.push(Informer::start(client, list_watch, move |event| handler.take(&mut round, event)));
        if !controller.watch.selector_text.is_empty() {
            controller.keep(watch_unselected(controller, context, client, namespace.clone()));
        }
        for source in &controller.watch.values_from {
            let list_watch = ListWatch {
                namespace: namespace.clone(),
                field_selector: format!("metadata.name={}", source.name),
                ..ListWatch::new(holder(source.kind), Representation::Metadata)
            };
            let handler = controller.clone();
            controller.keep(Informer::start(client, list_watch, move |event| {
                if let WatchEvent::Applied(object) | WatchEvent::Deleted(object) = &event {
                    handler.sources_changed(object);
                }
            }));
        }
    }
    let workers = controller.watch.max_concurrent_reconciles.and_then(|n| usize::try_from(n).ok());
    let kit = podium_controller::Controller {
        name: controller.name.clone(),
        queue: controller.queue.clone(),
        workers: workers.unwrap_or(settings.concurrency),
    };
    let reconciler = ChartReconciler { controller: controller.clone(), context: context.clone() };
    manager.start(kit, Rc::new(reconciler));
    tokio::task::spawn_local(reload::reload(controller.clone(), context.clone(), settings.reload));
    for informer in &resources {
        informer.wait_for_sync().await;
    }
    resources.into_iter().for_each(|informer| controller.keep(informer));
}

/// Watches the resources that the selector does not choose, and reports those that no operator chooses. Their metadata is
/// enough.
fn watch_unselected(
    controller: &Rc<Controller>,
    context: &Rc<Context>,
    client: &Client,
    namespace: Option<String>,
) -> Informer {
    let list_watch =
        ListWatch { namespace, ..ListWatch::new(controller.resource.clone(), Representation::Metadata) };
    let (controller, context) = (controller.clone(), context.clone());
    Informer::start(client, list_watch, move |event| {
        let WatchEvent::Applied(object) = event else { return };
        let custom = Custom(object);
        let (labels, key) = (custom.labels(), custom.key());
        if controller.watch.selector.matches(&labels) {
            return;
        }
        let (controller, context) = (controller.clone(), context.clone());
        tokio::task::spawn_local(async move {
            // The operators that may choose it announce themselves first.
            tokio::time::sleep(ANNOUNCEMENT).await;
            let Some(why) = context.roster.orphan(&controller.watch.kind, &key, &labels) else { return };
            let found = context.client.get(&controller.resource, key.namespace(), key.name()).await;
            if let Ok(Some(object)) = found
                && Custom(object.clone()).labels() == labels
            {
                context.report_orphan(&controller, &object, &why).await;
            }
        });
    })
}
