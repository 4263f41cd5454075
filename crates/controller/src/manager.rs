//! The frame of a controller process: leader election, probes, metrics, Events and a clean shutdown.
//!
//! ```text
//!  Manager::run
//!   ├── probes and metrics servers     answer on a standby, too
//!   └── leader election
//!        └── work: informers, controllers, reconciles on one thread; CPU-bound work on the CpuPool
//! ```

use std::convert::Infallible;
use std::hash::Hash;
use std::rc::Rc;

use podium_client::{Client, client};
use podium_serve::probes::ProbeService;
use podium_serve::server::{self, ConnectionLimits};
use podium_serve::tls::TlsIdentity;
use podium_serve::{Health, Registry, Server};
use tokio::task::LocalSet;

use crate::controller::{Controller, Reconciler};
use crate::cpu_pool::CpuPool;
use crate::events::EventRecorder;
use crate::leader_election::{LeaderElection, LeadershipEnd};
use crate::log::Log;
use crate::metrics::{self, ReconcileMetrics};
use crate::metrics_auth::MetricsAuthorizer;

/// How a controller process runs.
#[derive(Clone)]
pub struct Options {
    /// The component that its Events name as their source.
    pub component: String,
    /// The identity of this process: unique, also after a restart.
    pub identity: String,
    /// The version of the program, for the metric `helm_operator_build_info`.
    pub version: &'static str,
    /// The address of `/healthz` and `/readyz`, if they are served.
    pub probes: Option<String>,
    /// The metrics server, if there is one.
    pub metrics: Option<MetricsServer>,
    /// The lease that the leader of several processes holds, if only one may work.
    pub leader_election: Option<LeaderElection>,
}

impl Options {
    /// A process without servers and leader election, identified by its host and process id.
    pub fn new(component: &str) -> Self {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Self {
            component: component.to_owned(),
            identity: format!("{}_{}", host.trim(), std::process::id()),
            version: env!("CARGO_PKG_VERSION"),
            probes: None,
            metrics: None,
            leader_election: None,
        }
    }
}

/// How `/metrics` is served.
#[derive(Clone)]
pub struct MetricsServer {
    /// Its address.
    pub address: String,
    /// The certificate and key, if it is served with TLS.
    pub tls: Option<TlsIdentity>,
    /// Whether the API server decides which clients may read it.
    pub require_rbac: bool,
}

/// Why a manager cannot start or ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address cannot be listened on.
    #[error(transparent)]
    Serve(#[from] server::Error),
    /// Another process is the leader now.
    #[error("another operator holds the lease now: {0}")]
    LeadershipLost(String),
}

/// What the controllers of a process share.
pub struct Manager {
    /// The API server.
    pub client: Client,
    /// Records Events.
    pub recorder: EventRecorder,
    /// The metrics of the process.
    pub registry: Registry,
    /// The conditions behind `/readyz`.
    pub ready: Health,
    /// The log.
    pub log: Log,
    /// The threads for CPU-bound work.
    pub pool: CpuPool,
    reconcile_metrics: ReconcileMetrics,
}

impl Manager {
    /// A manager for the controllers of `options.component`.
    pub fn new(client: Client, options: &Options, log: Log) -> Rc<Self> {
        let registry = Registry::default();
        metrics::process(&registry, options.version, "");
        Rc::new(Self {
            client,
            recorder: EventRecorder::new(&options.component, &options.identity),
            reconcile_metrics: ReconcileMetrics::new(&registry),
            registry,
            ready: Health::default(),
            log,
            pool: CpuPool::default(),
        })
    }

    /// Starts the workers of a controller. To be called by the work of [`Manager::run`].
    pub fn start<R>(&self, controller: Controller<R::Key>, reconciler: Rc<R>)
    where
        R: Reconciler,
        R::Key: Send,
    {
        metrics::work_queue(&self.registry, &controller.name, &controller.queue);
        self.spawn_workers(controller, reconciler, Some(self.reconcile_metrics.clone()));
    }

    /// Starts the workers of a controller without metrics of its own.
    pub fn start_unmeasured<R: Reconciler>(&self, controller: Controller<R::Key>, reconciler: Rc<R>) {
        self.spawn_workers(controller, reconciler, None);
    }

    fn spawn_workers<K, R>(
        &self,
        controller: Controller<K>,
        reconciler: Rc<R>,
        metrics: Option<ReconcileMetrics>,
    ) where
        K: Clone + Eq + Hash + 'static,
        R: Reconciler<Key = K>,
    {
        tokio::task::spawn_local(async move { controller.run(reconciler, metrics).await });
    }

    /// Serves probes and metrics, waits for the leader's lease if there is one, and then runs `work` until `stop`. All
    /// tasks that `work` spawned on the [`LocalSet`] end with it, also when leadership is lost.
    pub async fn run(
        self: Rc<Self>,
        options: Options,
        work: impl Future<Output = Infallible>,
        stop: impl Future<Output = ()>,
    ) -> Result<(), Error> {
        let local = LocalSet::new();
        self.serve(&options, &local).await?;
        let manager = self.clone();
        local.spawn_local(async move {
            let failed = |error: &client::Error| {
                manager.log.error("an Event cannot be written", &[("error", error)]);
            };
            match manager.recorder.run(&manager.client, failed).await {}
        });
        let work = async {
            tokio::select! {
                never = work => match never {},
                () = stop => {}
            }
        };
        let Some(election) = options.leader_election else {
            local.run_until(work).await;
            return Ok(());
        };
        metrics::leader_election(&self.registry, &election);
        let lease: [(&str, &dyn std::fmt::Display); 2] =
            [("namespace", &election.namespace), ("name", &election.name)];
        self.log.info("waiting for the lease", &lease);
        let failed = |error: &client::Error| self.log.error("the lease cannot be had", &[("error", error)]);
        match local.run_until(election.run(&self.client, failed, work)).await {
            LeadershipEnd::Finished(()) => Ok(()),
            LeadershipEnd::Lost(reason) => Err(Error::LeadershipLost(reason)),
        }
    }

    /// Starts the servers of probes and metrics.
    async fn serve(&self, options: &Options, local: &LocalSet) -> Result<(), Error> {
        let listening = |server: &Server, purpose: &str| {
            if let Some(address) = server.local_addr() {
                self.log.info("listening", &[("for", &purpose), ("address", &address)]);
            }
        };
        if let Some(address) = &options.probes {
            let server = Server::bind(address, ConnectionLimits::default()).await?;
            listening(&server, "probes");
            let probes = ProbeService {
                liveness: Some(Health::default()),
                readiness: Some(self.ready.clone()),
                metrics: None,
            };
            local.spawn_local(server.run(probes.into_service(), std::future::pending()));
        }
        if let Some(MetricsServer { address, tls, require_rbac }) = &options.metrics {
            let mut server = Server::bind(address, ConnectionLimits::default()).await?;
            if let Some(identity) = tls {
                server = server.with_tls(identity.clone());
            }
            listening(&server, "metrics");
            let metrics = ProbeService { metrics: Some(self.registry.clone()), ..ProbeService::default() };
            if *require_rbac {
                let authorizer = MetricsAuthorizer::new(self.client.clone());
                let service = metrics.into_authorized_service(move |head| authorizer.authorize(head));
                local.spawn_local(server.run(service, std::future::pending()));
            } else {
                local.spawn_local(server.run(metrics.into_service(), std::future::pending()));
            }
        }
        Ok(())
    }
}

/// Waits for SIGTERM or SIGINT.
pub async fn shutdown_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
