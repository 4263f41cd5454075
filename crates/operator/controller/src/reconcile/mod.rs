//! What is done for one resource: observe, validate, plan, apply, report.

mod bring;
mod claim;
mod keep;
mod look;
mod remove;
mod report;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use podium_chart::capabilities::{Capabilities, KubeVersion};
use podium_client::discovery::ServerVersion;
use podium_client::{Client, Discovery, DiscoveryCache, ObjectKey, client};
use podium_controller::Manager;
use podium_controller::cpu_pool::CpuPool;
use podium_controller::events::{EventRecorder, EventType};
use podium_controller::log::Log;
use podium_controller::work_queue::ReconcileResult;
use podium_meta::Kind;
use podium_release::engine::{self, Engine, ReleaseOwner, Reporter};
use podium_release::{Driver, ReadAfterWrite, Store};
use podium_sprig::gotime::Location;

use crate::chart::Chart;
use crate::controller::Controller;
use crate::custom::Custom;
use crate::hub::Hub;
use crate::missing::What;
use crate::roster::{Role, Roster};

/// What all reconciles of a process share.
pub struct Context {
    /// The cluster.
    pub client: Client,
    /// Its kinds.
    pub kinds: Rc<DiscoveryCache>,
    /// What watches tell.
    pub hub: Rc<Hub>,
    /// Which operators there are.
    pub roster: Rc<Roster>,
    /// Where Events go.
    pub recorder: EventRecorder,
    /// Where lines go.
    pub log: Log,
    /// The threads for rendering, hashing and loading charts.
    pub pool: CpuPool,
    /// How many revisions are kept.
    pub history: usize,
    /// Whether override values are hidden in Events.
    pub hide_overrides: bool,
    /// How often resources are looked at even if nothing happens, unless they or their watch say otherwise.
    pub period: Option<Duration>,
    /// Up to where records are known.
    records: ReadAfterWrite,
    capabilities: RefCell<Option<(Arc<Discovery>, Arc<Capabilities>)>>,
}

/// Why a resource is not as it should be.
#[derive(Debug)]
pub struct Trouble {
    /// The condition that says so.
    pub condition: &'static str,
    /// One word.
    pub reason: &'static str,
    /// A sentence.
    pub message: String,
    /// Whether there is nobody to tell, or nothing: the server did not answer, or somebody was faster.
    pub quiet: bool,
}

impl Trouble {
    fn new(condition: &'static str, reason: &'static str, message: impl ToString) -> Self {
        Self { condition, reason, message: message.to_string(), quiet: false }
    }

    /// The resource cannot be handled at all.
    fn irreconcilable(reason: &'static str, message: impl ToString) -> Self {
        Self::new("Irreconcilable", reason, message)
    }
}

impl From<client::Error> for Trouble {
    fn from(error: client::Error) -> Self {
        let quiet = match &error {
            client::Error::Unreachable { .. } | client::Error::InvalidResponse { .. } => true,
            client::Error::Api(status) => status.code == 409,
            client::Error::Config(_) => false,
        };
        Self { quiet, ..Self::irreconcilable("ReconcileError", error) }
    }
}

/// Warnings of an engine, as log lines.
struct Quiet(Log);

impl Reporter for Quiet {
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
    pub fn new(manager: &Manager, kinds: Rc<DiscoveryCache>, hub: Rc<Hub>, roster: Rc<Roster>) -> Self {
        Self {
            client: manager.client.clone(),
            kinds,
            hub,
            roster,
            recorder: manager.recorder.clone(),
            log: manager.log.clone(),
            pool: manager.pool.clone(),
            history: 10,
            hide_overrides: false,
            period: None,
            records: ReadAfterWrite::default(),
            capabilities: RefCell::default(),
        }
    }

    /// What templates see of the cluster; read anew when its kinds were.
    async fn capabilities(&self) -> Result<Arc<Capabilities>, client::Error> {
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

    /// The releases of a namespace. Records have no owner: collected before the finalizer is done, they could not say
    /// any more what there is to take away.
    fn store(&self, namespace: &str) -> Store {
        self.records.observe(self.hub.heard(&Kind::new("v1", "Secret")));
        Store::new(self.client.clone(), Driver::Secrets, Some(namespace.to_owned()), Location::UTC)
            .with_read_after_write(self.records.clone())
    }

    fn engine<'e>(
        &'e self,
        store: &'e Store,
        listener: &'e Quiet,
        keeper: Option<&'e dyn ReleaseOwner>,
    ) -> Engine<'e> {
        Engine { store, kinds: &self.kinds, reporter: listener as &dyn Reporter, owner: keeper }
    }

    fn listener(&self, controller: &Controller, key: &ObjectKey) -> Quiet {
        Quiet(self.log.with("controller", &controller.name).with("resource", key))
    }

    /// Makes the cluster equal to a resource, and the resource say how that went.
    pub async fn reconcile(&self, controller: &Controller, key: &ObjectKey) -> ReconcileResult {
        let Some(card) = controller.card(key) else {
            controller.forget(key);
            return ReconcileResult::Done;
        };
        if let Role::StandBy(who) = self.roster.role(&controller.watch.kind, key, &card.labels) {
            self.log.debug("somebody older answers", &[("resource", key), ("operator", &who)]);
            return ReconcileResult::Done;
        }
        if let Some(wait) = controller.still_waits(key) {
            self.keep(controller, key).await;
            return ReconcileResult::BackingOff(wait);
        }
        controller.change(key, |card| card.working = card.wish);
        let work = async {
            match self.is_settled(controller, key, &card) {
                true => self.look(controller, key).await,
                false => self.bring(controller, key).await,
            }
        };
        let result = tokio::select! {
            biased;
            result = work => result,
            () = outdated(controller, key) => {
                self.listener(controller, key).warn("the resource has changed: what was under way is left");
                controller.queue.add(key.clone());
                return ReconcileResult::Done;
            }
        };
        match result {
            Ok(verdict) => {
                controller.forget_failure(key);
                self.hub.missing.set(&controller.watch.kind, &key.to_string(), None);
                verdict
            }
            Err(trouble) => {
                controller.remember_failure(key);
                let what = What::of(&trouble.message);
                self.hub.missing.set(&controller.watch.kind, &key.to_string(), what);
                self.fail(controller, key, &trouble).await;
                self.keep(controller, key).await;
                ReconcileResult::Failed
            }
        }
    }

    /// The chart of a controller; a resource waits for one that cannot be used.
    fn chart(controller: &Controller) -> Result<Arc<Chart>, Trouble> {
        controller.chart().map_err(|why| Trouble::irreconcilable("ReconcileError", why))
    }

    fn say(&self, custom: &Custom, mood: EventType, reason: &str, message: &str) {
        let mut about = podium_controller::events::ObjectReference::from_object(&custom.0);
        // An Event of something without a namespace is in the default one.
        about.namespace = about.namespace.or_else(|| Some("default".to_owned()));
        self.recorder.record(&about, mood, reason, message);
    }
}

/// How long a reconcile may take before it is interrupted because its resource has changed.
const LONG: Duration = Duration::from_secs(2);

/// Resolves when a long reconcile works for a spec that has changed since. What it leaves half done, the next reconcile
/// recovers as after a crash.
async fn outdated(controller: &Controller, key: &ObjectKey) {
    tokio::time::sleep(LONG).await;
    loop {
        let changed = controller.changed.notified();
        if controller.card(key).is_none_or(|card| card.wish != card.working) {
            return;
        }
        changed.await;
    }
}

/// What an engine's error is in a condition.
fn release_trouble(install: bool, error: engine::Error) -> Trouble {
    let reason = if install { "InstallError" } else { "UpgradeError" };
    match error {
        engine::Error::Client(error) => error.into(),
        engine::Error::Store(podium_release::Error::Client(error)) => error.into(),
        error => Trouble::new("ReleaseFailed", reason, error),
    }
}
