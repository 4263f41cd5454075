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
use podium_meta::{GroupVersionKind, Resource};
use podium_project::watches::Watch as Entry;
use tokio::task::JoinSet;

use crate::certificate;
use crate::chart_controller::{ChartController, ListState};
use crate::custom_resource::CustomResource;
use crate::informers::Informers;
use crate::missing_dependencies::{Dependency, MissingDependencies};
use crate::peers::OperatorPeers;
use crate::reconcile::Context;
use crate::reload;
use crate::values::source_resource;

/// How long other operators have to publish their Leases before a resource counts as selected by none.
const PEER_GRACE_PERIOD: Duration = Duration::from_secs(2);
/// How long the start waits for the release records.
const RECORDS_TIMEOUT: Duration = Duration::from_secs(10);
/// The first and the longest pause between checks for a kind that is missing.
const DISCOVERY_PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));

/// How an operator runs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The entries of `watches.yaml`; their charts are paths.
    pub watches: Vec<Entry>,
    /// The namespaces that are watched; empty is all of them.
    pub namespaces: Vec<String>,
    /// The namespace of the operator itself.
    pub namespace: String,
    /// The identity of the process, different after each start.
    pub identity: String,
    /// The pod or machine that it runs on.
    pub host: String,
    /// How many resources of a kind are reconciled at the same time.
    pub concurrency: usize,
    /// How often resources are reconciled without an event.
    pub reconcile_period: Option<Duration>,
    /// The address of the metrics server, if there is one.
    pub metrics: Option<String>,
    /// Whether metrics are served with TLS.
    pub metrics_secure: bool,
    /// Whether the API server authenticates and authorizes the readers of metrics.
    pub metrics_require_rbac: bool,
    /// The address of the probes, if they are served.
    pub probes: Option<String>,
    /// The lease of the leader, if only one of several operators may work.
    pub election: Option<Election>,
    /// Whether override values are hidden in Events.
    pub hide_overrides: bool,
    /// How many revisions of a release are kept.
    pub history: usize,
    /// Whether charts are reloaded when their files change.
    pub reload: bool,
    /// The version of the program.
    pub version: &'static str,
}

/// The lease that the leader of several operators holds.
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
            require_rbac: settings.metrics_require_rbac,
        }),
        leader_election: election
            .map(|Election { id, namespace }| LeaderElection::new(namespace, id, &settings.identity)),
    };
    let identity = settings.identity.clone();
    let peers =
        OperatorPeers::new(&settings.namespace, &settings.host, &settings.watches, &settings.namespaces);
    let manager = Manager::new(client.clone(), &options, log);
    let work = operate(manager.clone(), settings, peers.clone());
    let stop = async {
        stop.await;
        peers.withdraw(&client, &identity).await;
    };
    Ok(manager.run(options, work, stop).await?)
}

/// Waits until the API server serves a kind.
async fn wait_for_kind(
    kinds: &DiscoveryCache,
    kind: &GroupVersionKind,
    log: &Log,
    missing: &MissingDependencies,
) -> Resource {
    let mut pause = DISCOVERY_PAUSES.0;
    let mut logged = false;
    loop {
        let why = match kinds.refresh().await {
            Ok(discovery) => match discovery.find(kind) {
                Some(resource) => {
                    missing.watch_recovered(kind, "");
                    if logged {
                        log.info("the API server serves the kind now", &[("kind", kind)]);
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
        if !logged {
            log.error(&why, &[("kind", kind)]);
            missing.watch_failed(kind, "", &WatchFailure { kind: WatchFailureKind::NotFound, message: why });
            logged = true;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(DISCOVERY_PAUSES.1);
    }
}

/// Runs the controllers of all entries of `watches.yaml`.
async fn operate(manager: Rc<Manager>, settings: Settings, peers: Rc<OperatorPeers>) -> Infallible {
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
        // A chart usually has the name of its directory.
        Err(_) => watch.chart.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned(),
    });
    let names: Vec<String> = names.collect();
    let missing = Rc::new(MissingDependencies::new(
        &manager.registry,
        manager.recorder.clone(),
        peers.lease_reference(),
    ));
    let informers = Informers::new(client.clone(), log.clone(), namespaces.clone(), &names, missing.clone());
    let mut context = Context::new(&manager, kinds.clone(), informers.clone(), peers.clone());
    context.history = settings.history;
    context.hide_overrides = settings.hide_overrides;
    context.reconcile_period = settings.reconcile_period;
    let context = Rc::new(context);
    let created = manager.registry.gauge(
        "resource_created_at_seconds",
        "Timestamp at which a resource was created.",
        &["name", "namespace", "group", "version", "kind"],
    );
    informers.watch(&Resource::core("Secret", "secrets", true));
    {
        // An operator that is restricted to namespaces may list the Leases of its own one only.
        let namespace = (!settings.namespaces.is_empty()).then(|| settings.namespace.clone());
        let informers = informers.clone();
        peers.start(client, &settings.identity, namespace, log, move || informers.enqueue_all());
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
                missing.set(&entry.kind, "chart", Some(Dependency::Chart));
            }
            let resource = wait_for_kind(&kinds, &entry.kind, log, &missing).await;
            let namespace = settings.namespace.clone();
            let controller = ChartController::new(entry, resource, chart, namespace, log, created, missing);
            context.informers.register(controller.clone());
            wait_for_records(&context.informers).await;
            start(&manager, &controller, &context, &namespaces, &settings).await;
        });
    }
    while starting.join_next().await.is_some() {}
    manager.ready.clear("cluster");
    log.info("all kinds are watched", &[("kinds", &settings.watches.len())]);
    std::future::pending().await
}

/// Waits until the release records are listed, so that a resource in its desired state needs no request. Continues
/// after a timeout, because the operator may lack the permission to list them.
async fn wait_for_records(informers: &Informers) {
    let secrets = GroupVersionKind::new("v1", "Secret");
    let _ = tokio::time::timeout(RECORDS_TIMEOUT, informers.wait_for_sync(&secrets)).await;
}

/// Reconciles the resources of one entry of `watches.yaml`.
struct ChartReconciler {
    controller: Rc<ChartController>,
    context: Rc<Context>,
}

impl Reconciler for ChartReconciler {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey) -> ReconcileResult {
        self.context.reconcile(&self.controller, key).await
    }
}

/// Starts the informers and workers of a controller, and waits until all resources are listed.
async fn start(
    manager: &Manager,
    controller: &Rc<ChartController>,
    context: &Rc<Context>,
    namespaces: &[Option<String>],
    settings: &Settings,
) {
    let cluster = [None];
    let namespaces = if controller.namespaced() { namespaces } else { &cluster };
    let client = &manager.client;
    let mut resources = Vec::new();
    for namespace in namespaces {
        let list_watch = ListWatch {
            namespace: namespace.clone(),
            label_selector: controller.watch.selector_text.clone(),
            ..ListWatch::new(controller.resource.clone(), Representation::Full)
        };
        let handler = controller.clone();
        let mut list = ListState::new(namespace.clone());
        resources.push(Informer::start(client, list_watch, move |event| {
            handler.handle_event(&mut list, event);
        }));
        if !controller.watch.selector_text.is_empty() {
            controller.add_informer(watch_unselected(controller, context, client, namespace.clone()));
        }
        for source in &controller.watch.values_from {
            let list_watch = ListWatch {
                namespace: namespace.clone(),
                field_selector: format!("metadata.name={}", source.name),
                ..ListWatch::new(source_resource(source.kind), Representation::Metadata)
            };
            let handler = controller.clone();
            controller.add_informer(Informer::start(client, list_watch, move |event| {
                if let WatchEvent::Applied(object) | WatchEvent::Deleted(object) = &event {
                    handler.values_source_changed(object);
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
    resources.into_iter().for_each(|informer| controller.add_informer(informer));
}

/// Watches the resources that the selector does not match, by metadata, and reports those that no operator selects.
fn watch_unselected(
    controller: &Rc<ChartController>,
    context: &Rc<Context>,
    client: &Client,
    namespace: Option<String>,
) -> Informer {
    let list_watch =
        ListWatch { namespace, ..ListWatch::new(controller.resource.clone(), Representation::Metadata) };
    let (controller, context) = (controller.clone(), context.clone());
    Informer::start(client, list_watch, move |event| {
        let WatchEvent::Applied(object) = event else { return };
        let cr = CustomResource(object);
        let (labels, key) = (cr.labels(), cr.key());
        if controller.watch.selector.matches(&labels) {
            return;
        }
        let (controller, context) = (controller.clone(), context.clone());
        tokio::task::spawn_local(async move {
            // An operator that selects it may be about to publish its Lease.
            tokio::time::sleep(PEER_GRACE_PERIOD).await;
            let Some(why) = context.peers.unclaimed(&controller.watch.kind, &key, &labels) else { return };
            let found = context.client.get(&controller.resource, key.namespace(), key.name()).await;
            if let Ok(Some(object)) = found
                && CustomResource(object.clone()).labels() == labels
            {
                context.report_unclaimed(&controller, &object, &why).await;
            }
        });
    })
}
