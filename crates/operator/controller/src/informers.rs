//! The metadata informers of all objects that releases contain, and of the release records.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::time::Duration;

use podium_client::client::Representation;
use podium_client::watch::{ListWatch, WatchEvent};
use podium_client::{Client, ObjectKey};
use podium_controller::Informer;
use podium_controller::log::Log;
use podium_controller::object_store::{Change, ObjectState, ObjectStore};
use podium_deploy::ObjectRef;
use podium_deploy::plan::managed_fields_hash;
use podium_meta::{GroupVersionKind, Resource};
use serde_json::Value;

use crate::chart_controller::ChartController;
use crate::missing_dependencies::MissingDependencies;
use crate::names::{CHART_LABEL, OBJECTS_ANNOTATION, PRIMARY_RESOURCE, PRIMARY_RESOURCE_TYPE, RENDER_LABEL};

/// How long status changes of objects are batched before their resource is reconciled.
const STATUS_BATCH: Duration = Duration::from_millis(300);
/// The prefix of the names of release records.
const RECORD_PREFIX: &str = "sh.helm.release.v1.";

/// The state of an object as the informers know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservedObject {
    /// The informer of its kind has not synced, or does not run.
    Unknown,
    /// Its namespace is not watched.
    Unwatched,
    /// It does not exist at any resource version up to this one.
    Absent(u64),
    /// It exists.
    Present(ObjectState),
}

/// The metadata of the latest revision of a release.
#[derive(Clone, Debug, Default)]
pub struct ReleaseRecord {
    /// Its revision.
    pub revision: i64,
    /// Its status.
    pub status: String,
    /// Its label [`RENDER_LABEL`].
    pub render_label: String,
    /// Its annotation [`OBJECTS_ANNOTATION`], decoded only when it is needed because it is smaller as text.
    pub encoded_objects: Option<Box<str>>,
    /// The revisions with the status `deployed`: more than one when an upgrade was interrupted at its end.
    pub deployed_revisions: BTreeSet<i64>,
}

/// All informers of objects and release records.
pub struct Informers {
    /// The dependencies that are missing.
    pub missing: Rc<MissingDependencies>,
    client: Client,
    log: Log,
    /// The watched namespaces; `None` is all of them.
    namespaces: Vec<Option<String>>,
    /// The names of the charts, by which objects are selected.
    charts: RefCell<BTreeSet<String>>,
    running: RefCell<Vec<(Resource, Rc<Vec<Informer>>)>>,
    stores: RefCell<HashMap<GroupVersionKind, Vec<Rc<RefCell<ObjectStore>>>>>,
    records: RefCell<HashMap<ObjectKey, ReleaseRecord>>,
    controllers: RefCell<Vec<Rc<ChartController>>>,
}

impl Informers {
    /// Informers for the objects of these charts; none of them runs yet.
    pub fn new(
        client: Client,
        log: Log,
        namespaces: Vec<Option<String>>,
        charts: &[String],
        missing: Rc<MissingDependencies>,
    ) -> Rc<Self> {
        Rc::new(Self {
            missing,
            client,
            log,
            namespaces,
            charts: RefCell::new(charts.iter().cloned().collect()),
            running: RefCell::default(),
            stores: RefCell::default(),
            records: RefCell::default(),
            controllers: RefCell::default(),
        })
    }

    /// Registers a controller, whose resources are enqueued when their objects change.
    pub fn register(&self, controller: Rc<ChartController>) {
        self.controllers.borrow_mut().push(controller);
    }

    /// Starts the informers of a kind unless they run already.
    pub fn watch(self: &Rc<Self>, resource: &Resource) {
        if self.stores.borrow().contains_key(&resource.kind) {
            return;
        }
        let namespaces = self.namespaces_of(resource);
        let stores: Vec<_> =
            namespaces.iter().map(|_| Rc::new(RefCell::new(ObjectStore::default()))).collect();
        self.stores.borrow_mut().insert(resource.kind.clone(), stores);
        self.start_informers(resource);
    }

    fn namespaces_of(&self, resource: &Resource) -> &[Option<String>] {
        const CLUSTER: &[Option<String>] = &[None];
        if resource.namespaced { &self.namespaces } else { CLUSTER }
    }

    /// Starts the informers of a kind, one per watched namespace.
    fn start_informers(self: &Rc<Self>, resource: &Resource) {
        let stores = self.stores.borrow().get(&resource.kind).cloned().unwrap_or_default();
        let charts: Vec<String> = self.charts.borrow().iter().cloned().collect();
        let mut started = Vec::new();
        for (namespace, store) in self.namespaces_of(resource).iter().zip(stores) {
            let list_watch = ListWatch {
                namespace: namespace.clone(),
                label_selector: format!("{CHART_LABEL} in ({})", charts.join(",")),
                ..ListWatch::new(resource.clone(), Representation::Metadata)
            };
            let (informers, resource, namespace) = (self.clone(), resource.clone(), namespace.clone());
            let handler_store = store.clone();
            started.push(Informer::start_with_store(
                &self.client,
                list_watch,
                store,
                managed_fields_hash,
                move |event, changes| {
                    informers.handle_event(&resource, namespace.as_deref(), &handler_store, event, changes);
                },
            ));
        }
        self.running.borrow_mut().push((resource.clone(), Rc::new(started)));
    }

    /// Adds the name of a chart, and restarts the informers with the new selector if it was not known.
    pub fn add_chart(self: &Rc<Self>, name: &str) {
        if !self.charts.borrow_mut().insert(name.to_owned()) {
            return;
        }
        for (resource, _) in self.running.take() {
            self.start_informers(&resource);
        }
    }

    /// Waits until the first lists of a kind are complete.
    pub async fn wait_for_sync(&self, kind: &GroupVersionKind) {
        let informers = self.running.borrow().iter().find(|(resource, _)| resource.kind == *kind).cloned();
        for informer in informers.iter().flat_map(|(_, informers)| informers.iter()) {
            informer.wait_for_sync().await;
        }
    }

    /// The observed state of an object.
    pub fn observe(&self, object: &ObjectRef) -> ObservedObject {
        let stores = self.stores.borrow();
        let Some(stores) = stores.get(&object.kind) else { return ObservedObject::Unknown };
        if !self.is_watched(object) {
            return ObservedObject::Unwatched;
        }
        let key = ObjectKey::new(object.namespace.as_deref(), &object.name);
        // A cluster-scoped kind has one store, a namespaced kind one per watched namespace.
        let here = |namespace: &Option<String>| {
            stores.len() == 1 || namespace.is_none() || *namespace == object.namespace
        };
        let mut observed_version = 0;
        for (_, store) in self.namespaces.iter().zip(stores).filter(|(namespace, _)| here(namespace)) {
            let store = store.borrow();
            match store.get(&key) {
                Some(state) => return ObservedObject::Present(*state),
                None if !store.has_synced() => return ObservedObject::Unknown,
                None => observed_version = store.observed_version(),
            }
        }
        ObservedObject::Absent(observed_version)
    }

    /// The highest resource version that the informers of a kind have observed.
    pub fn observed_version(&self, kind: &GroupVersionKind) -> u64 {
        let stores = self.stores.borrow();
        stores
            .get(kind)
            .into_iter()
            .flatten()
            .map(|store| store.borrow().observed_version())
            .max()
            .unwrap_or(0)
    }

    /// Whether the namespace of an object is watched; cluster-scoped objects always are.
    fn is_watched(&self, object: &ObjectRef) -> bool {
        let here = |namespace: &Option<String>| namespace.is_none() || *namespace == object.namespace;
        object.namespace.is_none() || self.namespaces.iter().any(here)
    }

    /// Enqueues all resources of all controllers, without cutting a backoff short.
    pub fn enqueue_all(&self) {
        let controllers = self.controllers.borrow().clone();
        controllers.iter().for_each(|controller| controller.enqueue_all());
    }

    /// Enqueues the resources whose release has this name and ends their backoff, because the name is free now.
    pub fn enqueue_release(&self, namespace: &str, name: &str) {
        let release = ObjectKey::new(Some(namespace), name);
        self.controllers.borrow().iter().for_each(|controller| controller.enqueue_release(&release));
    }

    /// The latest record of a release.
    pub fn record(&self, namespace: &str, name: &str) -> Option<ReleaseRecord> {
        self.records.borrow().get(&ObjectKey::new(Some(namespace), name)).cloned()
    }

    /// Forgets a release.
    pub fn forget(&self, namespace: &str, name: &str) {
        self.records.borrow_mut().remove(&ObjectKey::new(Some(namespace), name));
    }

    fn handle_event(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        store: &RefCell<ObjectStore>,
        event: &WatchEvent,
        changes: Vec<Change>,
    ) {
        let kind = &resource.kind;
        match event {
            WatchEvent::Failing(failure) => {
                self.log.error(&failure.message, &[("kind", &kind)]);
                self.missing.watch_failed(kind, namespace.unwrap_or_default(), failure);
                self.enqueue_all();
            }
            WatchEvent::Recovered => {
                self.log.info("watching again", &[("kind", &kind)]);
                self.missing.watch_recovered(kind, namespace.unwrap_or_default());
                self.enqueue_all();
            }
            WatchEvent::Applied(object) if is_record(object) => self.handle_record(object, true),
            WatchEvent::Deleted(object) if is_record(object) => self.handle_record(object, false),
            _ => {}
        }
        let object = match event {
            WatchEvent::Applied(object) | WatchEvent::Deleted(object) => Some(object),
            _ => None,
        };
        for change in changes {
            // A list reveals the records that were deleted while the watch was down.
            if object.is_none() && change.after.is_none() && kind.kind == "Secret" && kind.group.is_empty() {
                self.secret_deleted(&change.key);
            }
            let owners: Vec<(Rc<ChartController>, ObjectKey)> =
                match object.and_then(|object| self.owner(object)) {
                    Some(owner) => vec![owner],
                    None => self.owners_of(kind, &change.key),
                };
            for (controller, key) in owners {
                if change.after.is_none() {
                    let version = change.before.map_or(0, |state| state.version);
                    controller.object_deleted(&key, kind, &change.key, version);
                }
                if change.is_significant() {
                    controller.enqueue(key);
                } else {
                    controller.queue.enqueue_after(key, STATUS_BATCH);
                }
            }
        }
        if matches!(event, WatchEvent::ListDone) {
            let store = store.borrow();
            let is_listed = |key: &ObjectKey| store.get(key).is_some();
            for controller in self.controllers.borrow().iter() {
                controller.unlisted_objects_deleted(kind, namespace, &is_listed);
                controller.enqueue_all();
            }
        }
    }

    /// The resource that an object names as its owner, by owner reference or by annotation.
    fn owner(&self, object: &Value) -> Option<(Rc<ChartController>, ObjectKey)> {
        let text = |value: &Value, path: &str| value.pointer(path).and_then(Value::as_str).map(str::to_owned);
        let controllers = self.controllers.borrow();
        let references = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        for reference in references.into_iter().flatten() {
            let kind = GroupVersionKind::new(&text(reference, "/apiVersion")?, &text(reference, "/kind")?);
            let same = |controller: &&Rc<ChartController>| {
                (&controller.watch.kind.group, &controller.watch.kind.kind) == (&kind.group, &kind.kind)
            };
            if let Some(controller) = controllers.iter().find(same) {
                let namespace = text(object, "/metadata/namespace").filter(|_| controller.namespaced());
                return Some((
                    controller.clone(),
                    ObjectKey::new(namespace.as_deref(), &text(reference, "/name")?),
                ));
            }
        }
        let annotations = object.pointer("/metadata/annotations")?;
        let kind = annotations.get(PRIMARY_RESOURCE_TYPE)?.as_str()?;
        let (namespace, name) = annotations.get(PRIMARY_RESOURCE)?.as_str()?.split_once('/')?;
        let same = |controller: &&Rc<ChartController>| {
            format!("{}.{}", controller.watch.kind.kind, controller.watch.kind.group) == kind
        };
        let controller = controllers.iter().find(same)?.clone();
        Some((controller, ObjectKey::new(Some(namespace).filter(|n| !n.is_empty()), name)))
    }

    /// The resources whose last applied release contains an object.
    fn owners_of(
        &self,
        kind: &GroupVersionKind,
        object: &ObjectKey,
    ) -> Vec<(Rc<ChartController>, ObjectKey)> {
        let controllers = self.controllers.borrow();
        let owners = controllers.iter().flat_map(|controller| {
            controller.owners_of(kind, object).into_iter().map(|key| (controller.clone(), key))
        });
        owners.collect()
    }

    fn handle_record(&self, object: &Value, exists: bool) {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let release = ObjectKey::new(Some(text("/metadata/namespace")), text("/metadata/labels/name"));
        let revision = text("/metadata/labels/version").parse().unwrap_or(0);
        if !exists {
            return self.remove_record(&release, revision);
        }
        {
            let mut records = self.records.borrow_mut();
            let record = records.entry(release.clone()).or_default();
            let status = text("/metadata/labels/status");
            match status == "deployed" {
                true => record.deployed_revisions.insert(revision),
                false => record.deployed_revisions.remove(&revision),
            };
            if revision >= record.revision {
                let objects = object
                    .pointer("/metadata/annotations")
                    .and_then(|map| map.get(OBJECTS_ANNOTATION))
                    .and_then(Value::as_str);
                *record = ReleaseRecord {
                    revision,
                    status: status.to_owned(),
                    render_label: object
                        .pointer("/metadata/labels")
                        .and_then(|map| map.get(RENDER_LABEL))
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                        .to_owned(),
                    encoded_objects: objects.map(Box::from),
                    deployed_revisions: std::mem::take(&mut record.deployed_revisions),
                };
            }
        }
        self.notify(&release, None);
    }

    /// Handles the deletion of a Secret of which only the name is known.
    fn secret_deleted(&self, secret: &ObjectKey) {
        let Some((name, revision)) =
            secret.name().strip_prefix(RECORD_PREFIX).and_then(|name| name.rsplit_once(".v"))
        else {
            return;
        };
        self.remove_record(&ObjectKey::new(secret.namespace(), name), revision.parse().unwrap_or(0));
    }

    fn remove_record(&self, release: &ObjectKey, revision: i64) {
        let mut records = self.records.borrow_mut();
        if records.get(release).is_some_and(|record| record.revision == revision) {
            records.remove(release);
        } else if let Some(record) = records.get_mut(release) {
            record.deployed_revisions.remove(&revision);
        }
        drop(records);
        self.notify(release, Some(revision));
    }

    fn notify(&self, release: &ObjectKey, deleted_revision: Option<i64>) {
        for controller in self.controllers.borrow().iter() {
            controller.record_changed(release, deleted_revision);
        }
    }
}

fn is_record(object: &Value) -> bool {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    text("/metadata/labels/owner") == "helm" && text("/metadata/name").starts_with(RECORD_PREFIX)
}
