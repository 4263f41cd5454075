//! What reconciles share: clients, caches and settings.

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
use podium_meta::GroupVersionKind;
use podium_release::engine::{Engine, ReleaseOwner, Reporter};
use podium_release::{Driver, ReadAfterWrite, Store};
use podium_sprig::gotime::Location;

use super::error::ReconcileError;
use crate::chart::Chart;
use crate::chart_controller::ChartController;
use crate::informers::Informers;
use crate::peers::OperatorPeers;
use crate::resource_state::LastApplied;

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
    records: ReadAfterWrite,
    capabilities: RefCell<Option<(Arc<Discovery>, Arc<Capabilities>)>>,
}

/// Writes the progress and the warnings of an engine to the log.
pub(super) struct LogReporter(Log);

impl Reporter for LogReporter {
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
            records: ReadAfterWrite::default(),
            capabilities: RefCell::default(),
        }
    }

    /// The capabilities of the cluster, as templates see them; read again after each discovery.
    pub(super) async fn capabilities(&self) -> Result<Arc<Capabilities>, client::Error> {
        let discovery = self.kinds.get().await?;
        if let Some((of, known)) = &*self.capabilities.borrow()
            && Arc::ptr_eq(of, &discovery)
        {
            return Ok(known.clone());
        }
        let ServerVersion { git_version, major, minor } = ServerVersion::fetch(&self.client).await?;
        let read = Arc::new(Capabilities {
            kube_version: KubeVersion { version: git_version, normalized: String::new(), major, minor },
            api_versions: discovery.api_versions().map(str::to_owned).collect(),
        });
        *self.capabilities.borrow_mut() = Some((discovery, read.clone()));
        Ok(read)
    }

    /// The release records of a namespace. They have no owner reference: garbage collection could delete them before
    /// the finalizer is processed, and the uninstall needs their manifests.
    pub(super) fn store(&self, namespace: &str) -> Store {
        self.records.observe(self.informers.observed_version(&GroupVersionKind::new("v1", "Secret")));
        Store::new(self.client.clone(), Driver::Secrets, Some(namespace.to_owned()), Location::UTC)
            .with_read_after_write(self.records.clone())
    }

    pub(super) fn engine<'e>(
        &'e self,
        store: &'e Store,
        listener: &'e LogReporter,
        keeper: Option<&'e dyn ReleaseOwner>,
    ) -> Engine<'e> {
        Engine { store, kinds: &self.kinds, reporter: listener as &dyn Reporter, owner: keeper }
    }

    pub(super) fn listener(&self, controller: &ChartController, key: &ObjectKey) -> LogReporter {
        LogReporter(self.log.with("controller", &controller.name).with("resource", key))
    }

    /// The chart of a controller.
    pub(super) fn chart(controller: &ChartController) -> Result<Arc<Chart>, ReconcileError> {
        controller.chart().map_err(|why| ReconcileError::irreconcilable("ReconcileError", why))
    }

    /// The result of the last sync of a resource.
    pub(super) fn last_applied(controller: &ChartController, key: &ObjectKey) -> Option<LastApplied> {
        controller.state(key).and_then(|state| state.last_applied)
    }
}
