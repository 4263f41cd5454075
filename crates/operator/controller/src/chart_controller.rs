//! The controller of one entry of `watches.yaml`: the state of its custom resources and their work queue.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use podium_client::ObjectKey;
use podium_client::watch::WatchEvent;
use podium_controller::Informer;
use podium_controller::log::Log;
use podium_controller::work_queue::{Backoff, WorkQueue};
use podium_meta::{GroupVersionKind, Resource};
use podium_project::watches::Watch;
use podium_serve::metrics::Gauge;
use serde_json::Value;
use tokio::sync::Notify;

use crate::chart::Chart;
use crate::custom_resource::CustomResource;
use crate::missing_dependencies::MissingDependencies;
use crate::resource_state::{AppliedObject, LastApplied, ResourceState, carry_over_deletions};

/// The backoff of failed reconciles.
const BACKOFF: Backoff = Backoff { base: Duration::from_millis(500), cap: Duration::from_secs(300) };

/// The state of one informer of custom resources: its namespace, and the keys of the list in progress.
#[derive(Debug, Default)]
pub struct ListState {
    /// The namespace; `None` is all of them.
    namespace: Option<String>,
    listed: HashSet<ObjectKey>,
}

impl ListState {
    /// The state of an informer that starts.
    pub fn new(namespace: Option<String>) -> Self {
        Self { namespace, ..Self::default() }
    }
}

/// A failed reconcile and the inputs that it failed for.
struct FailedReconcile {
    until: Instant,
    spec_hash: u64,
    input_generation: u64,
    chart_digest: String,
    /// The revision that stays deployed meanwhile, and its objects.
    deployed: (i64, Vec<AppliedObject>),
}

/// The controller of the resources of one kind.
pub struct ChartController {
    /// Its name in logs, metrics and Events.
    pub name: String,
    /// The entry of `watches.yaml`.
    pub watch: Watch,
    /// The API resource of its custom resources.
    pub resource: Resource,
    /// The chart, or why it cannot be loaded.
    pub chart: RefCell<Result<Arc<Chart>, String>>,
    /// The keys to reconcile.
    pub queue: WorkQueue<ObjectKey>,
    /// The namespace of the operator, which has the releases of cluster-scoped resources.
    operator_namespace: String,
    states: RefCell<HashMap<ObjectKey, ResourceState>>,
    failed: RefCell<HashMap<ObjectKey, FailedReconcile>>,
    /// Notifies running reconciles when a spec has changed or a resource is deleted.
    pub spec_changed: Notify,
    informers: RefCell<Vec<Informer>>,
    created: Gauge,
    missing: Rc<MissingDependencies>,
    log: Log,
}

impl ChartController {
    /// The controller of an entry of `watches.yaml`.
    pub fn new(
        watch: Watch,
        resource: Resource,
        chart: Result<Arc<Chart>, String>,
        operator_namespace: String,
        log: &Log,
        created: Gauge,
        missing: Rc<MissingDependencies>,
    ) -> Rc<Self> {
        let name = format!("{}-controller", watch.kind.kind.to_lowercase());
        Rc::new(Self {
            log: log.with("controller", &name),
            name,
            watch,
            resource,
            chart: RefCell::new(chart),
            queue: WorkQueue::new(BACKOFF),
            operator_namespace,
            states: RefCell::default(),
            failed: RefCell::default(),
            spec_changed: Notify::new(),
            informers: RefCell::default(),
            created,
            missing,
        })
    }

    /// Whether its resources have a namespace.
    pub fn namespaced(&self) -> bool {
        self.resource.namespaced
    }

    /// The chart, or why it cannot be loaded.
    pub fn chart(&self) -> Result<Arc<Chart>, String> {
        self.chart.borrow().clone()
    }

    /// The digest of the chart; empty when it cannot be loaded.
    pub fn chart_digest(&self) -> String {
        self.chart.borrow().as_ref().map(|chart| chart.digest.clone()).unwrap_or_default()
    }

    /// The namespace of a resource's release.
    pub fn release_namespace<'k>(&'k self, key: &'k ObjectKey) -> &'k str {
        key.namespace().unwrap_or(&self.operator_namespace)
    }

    /// The state of a resource; `None` when it does not exist or is not selected.
    pub fn state(&self, key: &ObjectKey) -> Option<ResourceState> {
        self.states.borrow().get(key).cloned()
    }

    /// Updates the state of a resource if it still exists.
    pub fn update_state<T>(
        &self,
        key: &ObjectKey,
        update: impl FnOnce(&mut ResourceState) -> T,
    ) -> Option<T> {
        self.states.borrow_mut().get_mut(key).map(update)
    }

    /// Forgets a resource.
    pub fn forget(&self, key: &ObjectKey) {
        self.states.borrow_mut().remove(key);
        self.failed.borrow_mut().remove(key);
        self.missing.set(&self.watch.kind, &key.to_string(), None);
        self.queue.forget(key);
        self.spec_changed.notify_waiters();
    }

    /// Records that a reconcile failed with the present inputs, so that it backs off until they change.
    pub fn record_failure(&self, key: &ObjectKey) {
        let until = Instant::now() + self.queue.next_backoff(key);
        if let Some(ResourceState { spec_hash, input_generation, .. }) = self.state(key) {
            let chart_digest = self.chart_digest();
            let mut failed = self.failed.borrow_mut();
            let deployed = failed.remove(key).map(|before| before.deployed).unwrap_or_default();
            let failure = FailedReconcile { until, spec_hash, input_generation, chart_digest, deployed };
            failed.insert(key.clone(), failure);
        }
    }

    /// Removes the failure of a resource.
    pub fn clear_failure(&self, key: &ObjectKey) {
        self.failed.borrow_mut().remove(key);
    }

    /// The rest of the backoff of a failed resource; `None` when its inputs have changed since.
    pub fn backoff_left(&self, key: &ObjectKey) -> Option<Duration> {
        let state = self.state(key)?;
        let failed = self.failed.borrow();
        let same = |failed: &&FailedReconcile| {
            (failed.spec_hash, failed.input_generation) == (state.spec_hash, state.input_generation)
                && failed.chart_digest == self.chart_digest()
        };
        let wait = failed.get(key).filter(same)?.until.saturating_duration_since(Instant::now());
        (!wait.is_zero()).then_some(wait)
    }

    /// The objects of the revision that stays deployed while reconciles of the resource fail.
    pub fn deployed_objects(&self, key: &ObjectKey, revision: i64) -> Option<Vec<AppliedObject>> {
        let failed = self.failed.borrow();
        failed.get(key).filter(|failed| failed.deployed.0 == revision).map(|failed| failed.deployed.1.clone())
    }

    /// Stores those objects.
    pub fn set_deployed_objects(&self, key: &ObjectKey, revision: i64, mut objects: Vec<AppliedObject>) {
        if let Some(failed) = self.failed.borrow_mut().get_mut(key) {
            carry_over_deletions(&mut objects, &failed.deployed.1);
            failed.deployed = (revision, objects);
        }
    }

    /// Enqueues a resource. While it backs off, its reconcile repairs the deployed revision only.
    pub fn enqueue(&self, key: ObjectKey) {
        match self.backoff_left(&key) {
            Some(_) => self.queue.add(key),
            None => self.queue.enqueue(key),
        }
    }

    /// Runs an informer as long as the controller.
    pub fn add_informer(&self, informer: Informer) {
        self.informers.borrow_mut().push(informer);
    }

    /// Handles an event of an informer of its resources.
    pub fn handle_event(&self, list: &mut ListState, event: WatchEvent) {
        match event {
            WatchEvent::ListStarted => list.listed.clear(),
            WatchEvent::Applied(object) => {
                let cr = CustomResource(object);
                list.listed.insert(cr.key());
                self.resource_applied(cr);
            }
            WatchEvent::Deleted(object) => {
                let key = ObjectKey::from_object(&object);
                self.states.borrow_mut().remove(&key);
                self.failed.borrow_mut().remove(&key);
                self.missing.set(&self.watch.kind, &key.to_string(), None);
                self.created.remove(&self.metric_labels(&key));
                self.queue.add(key);
                self.spec_changed.notify_waiters();
            }
            WatchEvent::ListDone => {
                let listed = std::mem::take(&mut list.listed);
                let here = |key: &ObjectKey| {
                    list.namespace.is_none() || list.namespace.as_deref() == key.namespace()
                };
                self.states.borrow_mut().retain(|key, _| !here(key) || listed.contains(key));
                self.spec_changed.notify_waiters();
            }
            WatchEvent::TooDeep(key) => {
                self.log.error("the resource is nested too deeply", &[("resource", &key)])
            }
            WatchEvent::Failing(failure) => {
                self.log.error(&failure.message, &[]);
                let namespace = list.namespace.as_deref().unwrap_or_default();
                self.missing.watch_failed(&self.watch.kind, namespace, &failure);
            }
            WatchEvent::Recovered => {
                self.log.info("watching again", &[]);
                self.missing.watch_recovered(&self.watch.kind, list.namespace.as_deref().unwrap_or_default());
            }
        }
    }

    fn metric_labels<'k>(&'k self, key: &'k ObjectKey) -> [&'k str; 5] {
        let GroupVersionKind { group, version, kind } = &self.watch.kind;
        [key.name(), key.namespace().unwrap_or_default(), group, version, kind]
    }

    fn resource_applied(&self, cr: CustomResource) {
        // An update can deliver a resource that has just stopped matching the selector of the watch.
        if !self.watch.selector.matches(&cr.labels()) {
            self.forget(&cr.key());
            return;
        }
        let key = cr.key();
        let spec_hash = cr.spec_hash();
        self.created.set(&self.metric_labels(&key), cr.creation_seconds());
        let mut states = self.states.borrow_mut();
        let state = states.entry(key.clone()).or_default();
        let is_changed = state.spec_hash != spec_hash;
        state.spec_hash = spec_hash;
        state.version = cr.resource_version_number();
        state.labels = cr.labels();
        state.status = cr.status();
        // The spec is back to what was last applied: nothing to apply, but the new generation is observed.
        if let Some(last) = state.last_applied.as_mut().filter(|last| last.spec_hash == spec_hash) {
            last.generation = cr.generation();
        }
        state.object = is_changed.then(|| Box::new(cr.0));
        drop(states);
        if is_changed {
            // A new spec is tried at once, even if the previous one backs off.
            self.queue.forget(&key);
            self.queue.add(key);
            self.spec_changed.notify_waiters();
        }
    }

    /// Records that an object of a resource was deleted at a resource version.
    pub fn object_deleted(&self, key: &ObjectKey, kind: &GroupVersionKind, object: &ObjectKey, version: u64) {
        let mark_deleted = |applied: &mut AppliedObject| {
            if is_object(applied, kind, object) && version >= applied.version {
                applied.deleted_at_version = Some(version);
            }
        };
        self.update_state(key, |state| {
            state.last_applied.iter_mut().flat_map(|last| &mut last.objects).for_each(mark_deleted);
        });
        if let Some(failed) = self.failed.borrow_mut().get_mut(key) {
            failed.deployed.1.iter_mut().for_each(mark_deleted);
        }
    }

    /// The resources whose releases contain an object.
    pub fn owners_of(&self, kind: &GroupVersionKind, object: &ObjectKey) -> Vec<ObjectKey> {
        let contains =
            |last: &LastApplied| last.objects.iter().any(|applied| is_object(applied, kind, object));
        let states = self.states.borrow();
        states
            .iter()
            .filter(|(_, state)| state.last_applied.as_ref().is_some_and(contains))
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// Records that the objects of a kind that a complete list of a namespace does not contain were deleted.
    pub fn unlisted_objects_deleted(
        &self,
        kind: &GroupVersionKind,
        namespace: Option<&str>,
        is_listed: &dyn Fn(&ObjectKey) -> bool,
    ) {
        let mark_deleted = |applied: &mut AppliedObject| {
            let object = &applied.object;
            let here =
                object.kind == *kind && (namespace.is_none() || namespace == object.namespace.as_deref());
            if here && !is_listed(&ObjectKey::new(object.namespace.as_deref(), &object.name)) {
                applied.deleted_at_version = applied.deleted_at_version.max(Some(applied.version));
            }
        };
        for state in self.states.borrow_mut().values_mut() {
            state.last_applied.iter_mut().flat_map(|last| &mut last.objects).for_each(mark_deleted);
        }
        for failed in self.failed.borrow_mut().values_mut() {
            failed.deployed.1.iter_mut().for_each(mark_deleted);
        }
    }

    /// Handles a change of a release record, or the deletion of the record of one revision.
    pub fn record_changed(&self, release: &ObjectKey, deleted_revision: Option<i64>) {
        let mut states = self.states.borrow_mut();
        let same = |key: &ObjectKey| {
            key.name() == release.name() && release.namespace() == Some(self.release_namespace(key))
        };
        if let Some((key, state)) = states.iter_mut().find(|(key, _)| same(key)) {
            if state.last_applied.as_ref().is_some_and(|last| deleted_revision == Some(last.revision)) {
                state.input_generation += 1;
            }
            let key = key.clone();
            drop(states);
            self.enqueue(key);
        }
    }

    /// Enqueues the resource of a release and ends its backoff.
    pub fn enqueue_release(&self, release: &ObjectKey) {
        let same = |key: &&ObjectKey| {
            key.name() == release.name() && release.namespace() == Some(self.release_namespace(key))
        };
        for key in self.states.borrow().keys().filter(same) {
            self.failed.borrow_mut().remove(key);
            self.queue.forget(key);
            self.queue.add(key.clone());
        }
    }

    /// Enqueues all resources, also those in backoff.
    pub fn enqueue_all_now(&self) {
        self.states.borrow().keys().for_each(|key| self.queue.add(key.clone()));
    }

    /// Enqueues all resources as [`ChartController::enqueue`] does.
    pub fn enqueue_all(&self) {
        let keys: Vec<ObjectKey> = self.states.borrow().keys().cloned().collect();
        keys.into_iter().for_each(|key| self.enqueue(key));
    }

    /// Enqueues all resources of a namespace, also those in backoff.
    fn enqueue_namespace(&self, namespace: Option<&str>) {
        let states = self.states.borrow();
        states.keys().filter(|key| key.namespace() == namespace).for_each(|key| self.queue.add(key.clone()));
    }

    /// Handles a change of a Secret or ConfigMap in `valuesFrom`.
    pub fn values_source_changed(&self, object: &Value) {
        let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
        let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
        let mut is_changed = false;
        for (key, state) in self.states.borrow_mut().iter_mut() {
            let is_applied = |last: &LastApplied| last.source_versions.iter().any(|known| known == version);
            if key.namespace() == namespace && !state.last_applied.as_ref().is_some_and(is_applied) {
                state.input_generation += 1;
                is_changed = true;
            }
        }
        if is_changed {
            self.enqueue_namespace(namespace);
        }
    }
}

/// Whether an applied object is the object of this kind and key.
fn is_object(applied: &AppliedObject, kind: &GroupVersionKind, key: &ObjectKey) -> bool {
    let object = &applied.object;
    object.kind == *kind && ObjectKey::new(object.namespace.as_deref(), &object.name) == *key
}
