//! The reconcile of a custom resource: observe, validate, plan, apply, report.
//!
//! From the event to the status, in reading order:
//!
//! 1. `chart_controller.rs`: events of custom resources become state and keys in the work queue.
//! 2. `informers.rs`: so do events of the objects and records of releases.
//! 3. `reconcile/mod.rs`, this file: the driver.
//! 4. `observe.rs`: is the last sync up to date? If not, reads the resource.
//! 5. `plan.rs`: validates the resource, collects its values and decides whether there is anything to deploy.
//! 6. `ownership.rs`: adds the finalizer, and checks that the release belongs to the resource.
//! 7. `sync.rs`: installs or upgrades the release.
//! 8. `repair_drift.rs`: applies objects again that other clients changed or deleted.
//! 9. `check_readiness.rs`: reads the objects whose readiness may have changed.
//! 10. `report.rs`: writes conditions, Events and log lines.
//!
//! A resource that is being deleted goes from 4 to `uninstall.rs`. A resource that fails keeps its deployed revision, which
//! 8 repairs while it backs off.

mod check_readiness;
mod observe;
mod ownership;
mod plan;
mod repair_drift;
mod report;
mod sync;
mod uninstall;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use podium_chart::capabilities::{Capabilities, KubeVersion};
use podium_client::discovery::ServerVersion;
use podium_client::{Client, Discovery, DiscoveryCache, ObjectKey, client};
use podium_controller::Manager;
use podium_controller::cpu_pool::CpuPool;
use podium_controller::events::EventRecorder;
use podium_controller::log::Log;
use podium_controller::work_queue::ReconcileResult;
use podium_meta::Kind;
use podium_release::engine::{self, Engine, Keeper, Listener};
use podium_release::{Driver, Newest, Store};
use podium_sprig::gotime::Location;

use crate::chart::Chart;
use crate::chart_controller::ChartController;
use crate::informers::Informers;
use crate::missing_dependencies::Dependency;
use crate::peers::{OperatorPeers, Role};
use crate::resource_state::ResourceState;

/// The clients, caches and settings that all reconciles of a process share.
pub struct Context {
    /// The API server.
    pub client: Client,
    /// Its discovery.
    pub kinds: Rc<DiscoveryCache>,
    /// The informers of objects and release records.
    pub informers: Rc<Informers>,
    /// The operators of the cluster.
    pub peers: Rc<OperatorPeers>,
    /// Records Events.
    pub recorder: EventRecorder,
    /// The log.
    pub log: Log,
    /// The threads for rendering, hashing and loading charts.
    pub pool: CpuPool,
    /// How many revisions of a release are kept.
    pub history: usize,
    /// Whether override values are hidden in Events.
    pub hide_overrides: bool,
    /// How often resources are reconciled without an event, unless their annotation or `watches.yaml` sets it.
    pub reconcile_period: Option<Duration>,
    /// The newest resource version of release records that this process has written or observed.
    records: Newest,
    capabilities: RefCell<Option<(Arc<Discovery>, Arc<Capabilities>)>>,
}

/// Why a reconcile failed, as the status reports it.
#[derive(Debug)]
pub struct ReconcileError {
    /// The type of the condition.
    pub condition: &'static str,
    /// The reason of the condition and of the Event.
    pub reason: &'static str,
    /// The message.
    pub message: String,
    /// Whether it is expected to pass without the user, such as a conflict or an unreachable API server: it is logged and
    /// not reported in the status.
    pub transient: bool,
}

impl ReconcileError {
    fn new(condition: &'static str, reason: &'static str, message: impl ToString) -> Self {
        Self { condition, reason, message: message.to_string(), transient: false }
    }

    /// An error before or outside of the change of a release.
    fn irreconcilable(reason: &'static str, message: impl ToString) -> Self {
        Self::new("Irreconcilable", reason, message)
    }

    /// An error that the next try is expected not to have.
    fn transient(message: impl ToString) -> Self {
        Self { transient: true, ..Self::irreconcilable("ReconcileError", message) }
    }
}

impl From<client::Error> for ReconcileError {
    fn from(error: client::Error) -> Self {
        let transient = match &error {
            client::Error::Unreachable { .. } | client::Error::InvalidResponse { .. } => true,
            client::Error::Api(status) => status.code == 409,
            client::Error::Config(_) => false,
        };
        Self { transient, ..Self::irreconcilable("ReconcileError", error) }
    }
}

/// Writes the progress and the warnings of an engine to the log.
struct LogReporter(Log);

impl Listener for LogReporter {
    fn waiting(&self, what: &str) {
        self.0.debug("waiting", &[("for", &what)]);
    }

    fn warn(&self, what: &str) {
        self.0.info(what, &[]);
    }

    fn output(&self, pod: &str, container: &str, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        self.0.info(
            "output of a hook",
            &[("pod", &pod), ("container", &container), ("text", &text.trim_end())],
        );
    }
}

impl Context {
    /// The context of all controllers of a manager.
    pub fn new(
        manager: &Manager,
        kinds: Rc<DiscoveryCache>,
        informers: Rc<Informers>,
        peers: Rc<OperatorPeers>,
    ) -> Self {
        Self {
            client: manager.client.clone(),
            kinds,
            informers,
            peers,
            recorder: manager.recorder.clone(),
            log: manager.log.clone(),
            pool: manager.pool.clone(),
            history: 10,
            hide_overrides: false,
            reconcile_period: None,
            records: Newest::default(),
            capabilities: RefCell::default(),
        }
    }

    /// Reconciles a resource, unless another operator is responsible for it or it backs off.
    pub async fn reconcile(&self, controller: &ChartController, key: &ObjectKey) -> ReconcileResult {
        let Some(state) = controller.state(key) else {
            controller.forget(key);
            return ReconcileResult::Done;
        };
        if let Role::Standby(peer) = self.peers.role(&controller.watch.kind, key, &state.labels) {
            self.log.debug("an older operator is responsible", &[("resource", key), ("operator", &peer)]);
            return ReconcileResult::Done;
        }
        if let Some(wait) = controller.backoff_left(key) {
            self.repair_deployed(controller, key).await;
            return ReconcileResult::BackingOff(wait);
        }
        controller.update_state(key, |state| state.reconciling_hash = state.spec_hash);
        let result = tokio::select! {
            biased;
            result = self.converge(controller, key, &state) => result,
            () = superseded(controller, key) => {
                self.listener(controller, key).warn("the spec has changed: the running reconcile is cancelled");
                controller.queue.add(key.clone());
                return ReconcileResult::Done;
            }
        };
        match result {
            Ok(result) => {
                controller.clear_failure(key);
                self.informers.missing.set(&controller.watch.kind, &key.to_string(), None);
                result
            }
            Err(error) => {
                controller.record_failure(key);
                let missing = Dependency::from_message(&error.message);
                self.informers.missing.set(&controller.watch.kind, &key.to_string(), missing);
                self.report_failure(controller, key, &error).await;
                self.repair_deployed(controller, key).await;
                ReconcileResult::Failed
            }
        }
    }

    /// Brings the release of a resource to its desired state. Sends no request when nothing has changed.
    async fn converge(
        &self,
        controller: &ChartController,
        key: &ObjectKey,
        state: &ResourceState,
    ) -> Result<ReconcileResult, ReconcileError> {
        if !self.is_up_to_date(controller, key, state) {
            let Some(observed) = self.observe(controller, key).await? else {
                return Ok(ReconcileResult::Done);
            };
            if observed.cr.is_being_deleted() {
                return self.uninstall(controller, key, &observed.cr).await;
            }
            let options = plan::validate(&observed.cr)?;
            let observed = self.ensure_finalizer(controller, observed).await?;
            let plan = self.plan(controller, &observed.cr, options).await?;
            self.sync(controller, key, &observed, plan).await?;
        }
        self.repair_drift(controller, key).await?;
        self.check_readiness(controller, key).await?;
        self.report(controller, key).await?;
        Ok(self.next_reconcile(controller, key))
    }

    /// The capabilities of the cluster, as templates see them; read again after each discovery.
    async fn capabilities(&self) -> Result<Arc<Capabilities>, client::Error> {
        let discovery = self.kinds.get().await?;
        if let Some((of, known)) = &*self.capabilities.borrow()
            && Arc::ptr_eq(of, &discovery)
        {
            return Ok(known.clone());
        }
        let ServerVersion { git, major, minor } = ServerVersion::read(&self.client).await?;
        let read = Arc::new(Capabilities {
            kube_version: KubeVersion { version: git, normalized: String::new(), major, minor },
            api_versions: discovery.names().map(str::to_owned).collect(),
        });
        *self.capabilities.borrow_mut() = Some((discovery, read.clone()));
        Ok(read)
    }

    /// The release records of a namespace. They have no owner reference: garbage collection could delete them before the
    /// finalizer is processed, and the uninstall needs their manifests.
    fn store(&self, namespace: &str) -> Store {
        self.records.tell(self.informers.observed_version(&Kind::new("v1", "Secret")));
        Store::new(self.client.clone(), Driver::Secrets, Some(namespace.to_owned()), Location::UTC)
            .knowing(self.records.clone())
    }

    fn engine<'e>(
        &'e self,
        store: &'e Store,
        listener: &'e LogReporter,
        keeper: Option<&'e dyn Keeper>,
    ) -> Engine<'e> {
        Engine { store, kinds: &self.kinds, listener: listener as &dyn Listener, keeper }
    }

    fn listener(&self, controller: &ChartController, key: &ObjectKey) -> LogReporter {
        LogReporter(self.log.with("controller", &controller.name).with("resource", key))
    }

    /// The chart of a controller.
    fn chart(controller: &ChartController) -> Result<Arc<Chart>, ReconcileError> {
        controller.chart().map_err(|why| ReconcileError::irreconcilable("ReconcileError", why))
    }
}

/// How long a reconcile runs before a change of the spec cancels it.
const CANCEL_AFTER: Duration = Duration::from_secs(2);

/// Resolves when the spec has changed since a long reconcile started. The next reconcile recovers what this one leaves half
/// done, as after a crash.
async fn superseded(controller: &ChartController, key: &ObjectKey) {
    tokio::time::sleep(CANCEL_AFTER).await;
    loop {
        let changed = controller.spec_changed.notified();
        if controller.state(key).is_none_or(|state| state.spec_hash != state.reconciling_hash) {
            return;
        }
        changed.await;
    }
}

/// The error of an install or upgrade as a condition.
fn release_error(install: bool, error: engine::Error) -> ReconcileError {
    let reason = if install { "InstallError" } else { "UpgradeError" };
    match error {
        engine::Error::Client(error) => error.into(),
        engine::Error::Store(podium_release::Error::Client(error)) => error.into(),
        error => ReconcileError::new("ReleaseFailed", reason, error),
    }
}
