//! The metadata watches of everything that releases have made.

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
use podium_meta::{Kind, Resource};
use serde_json::Value;

use crate::controller::Controller;
use crate::missing::Missing;
use crate::names::{CHART, OBJECTS, PRIMARY, PRIMARY_TYPE, RENDER};

/// How long changes of a status are gathered before it is looked at.
const GATHER: Duration = Duration::from_millis(300);
/// What the names of records begin with.
const RECORD: &str = "sh.helm.release.v1.";

/// What is known of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Nothing yet.
    Nothing,
    /// Nothing ever: it is in a namespace that is not watched.
    Unwatched,
    /// It is not there, in any version up to this one.
    Absent(u64),
    /// It is there.
    There(ObjectState),
}

/// What is known of the last revision of a release without reading it.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Its number.
    pub revision: i64,
    /// Its status.
    pub status: String,
    /// What it was rendered from.
    pub render: String,
    /// Its objects as one line, if it says: seldom needed, and much smaller than what it means.
    pub objects: Option<Box<str>>,
    /// The revisions that say that they are deployed: more than one where a change was interrupted at its very end.
    pub deployed: BTreeSet<i64>,
}

/// All watches of a process.
pub struct Hub {
    /// What is missing.
    pub missing: Rc<Missing>,
    client: Client,
    log: Log,
    /// The namespaces that are watched; one that is `None` is all.
    namespaces: Vec<Option<String>>,
    /// The names of all charts that objects may be of.
    charts: RefCell<BTreeSet<String>>,
    informers: RefCell<Vec<(Resource, Rc<Vec<Informer>>)>>,
    stores: RefCell<HashMap<Kind, Vec<Rc<RefCell<ObjectStore>>>>>,
    records: RefCell<HashMap<ObjectKey, Record>>,
    controllers: RefCell<Vec<Rc<Controller>>>,
}

impl Hub {
    /// For charts with these names.
    pub fn new(
        client: Client,
        log: Log,
        namespaces: Vec<Option<String>>,
        charts: &[String],
        missing: Rc<Missing>,
    ) -> Rc<Self> {
        Rc::new(Self {
            missing,
            client,
            log,
            namespaces,
            charts: RefCell::new(charts.iter().cloned().collect()),
            informers: RefCell::default(),
            stores: RefCell::default(),
            records: RefCell::default(),
            controllers: RefCell::default(),
        })
    }

    /// Who is told about objects of its resources.
    pub fn join(&self, controller: Rc<Controller>) {
        self.controllers.borrow_mut().push(controller);
    }

    /// Watches a kind, if it is not watched yet.
    pub fn watch(self: &Rc<Self>, resource: &Resource) {
        if self.stores.borrow().contains_key(&resource.kind) {
            return;
        }
        let stores: Vec<_> =
            self.places(resource).iter().map(|_| Rc::new(RefCell::new(ObjectStore::default()))).collect();
        self.stores.borrow_mut().insert(resource.kind.clone(), stores);
        self.follow(resource);
    }

    fn places(&self, resource: &Resource) -> &[Option<String>] {
        const EVERYWHERE: &[Option<String>] = &[None];
        if resource.namespaced { &self.namespaces } else { EVERYWHERE }
    }

    /// Starts the informers of a kind.
    fn follow(self: &Rc<Self>, resource: &Resource) {
        let stores = self.stores.borrow().get(&resource.kind).cloned().unwrap_or_default();
        let charts: Vec<String> = self.charts.borrow().iter().cloned().collect();
        let mut informers = Vec::new();
        for (namespace, store) in self.places(resource).iter().zip(stores) {
            let list_watch = ListWatch {
                namespace: namespace.clone(),
                label_selector: format!("{CHART} in ({})", charts.join(",")),
                ..ListWatch::new(resource.clone(), Representation::Metadata)
            };
            let (hub, resource, namespace) = (self.clone(), resource.clone(), namespace.clone());
            let handler_store = store.clone();
            informers.push(Informer::start_with_store(
                &self.client,
                list_watch,
                store,
                managed_fields_hash,
                move |event, changes| {
                    hub.take(&resource, namespace.as_deref(), &handler_store, event, changes);
                },
            ));
        }
        self.informers.borrow_mut().push((resource.clone(), Rc::new(informers)));
    }

    /// Watches the objects of a chart with a new name too.
    pub fn add_chart(self: &Rc<Self>, name: &str) {
        if !self.charts.borrow_mut().insert(name.to_owned()) {
            return;
        }
        for (resource, _) in self.informers.take() {
            self.follow(&resource);
        }
    }

    /// Waits until the objects of a kind are all known.
    pub async fn wait_for_sync(&self, kind: &Kind) {
        let informers = self.informers.borrow().iter().find(|(resource, _)| resource.kind == *kind).cloned();
        for informer in informers.iter().flat_map(|(_, informers)| informers.iter()) {
            informer.wait_for_sync().await;
        }
    }

    /// What is known of an object.
    pub fn known(&self, named: &ObjectRef) -> Known {
        let stores = self.stores.borrow();
        let Some(stores) = stores.get(&named.kind) else { return Known::Nothing };
        if !self.is_watched(named) {
            return Known::Unwatched;
        }
        let key = ObjectKey::new(named.namespace.as_deref(), &named.name);
        // Kinds without a namespace have one store, others one for each place.
        let here = |place: &Option<String>| stores.len() == 1 || place.is_none() || *place == named.namespace;
        let mut heard = 0;
        for (_, store) in self.namespaces.iter().zip(stores).filter(|(place, _)| here(place)) {
            let store = store.borrow();
            match store.get(&key) {
                Some(row) => return Known::There(*row),
                None if !store.has_synced() => return Known::Nothing,
                None => heard = store.observed_version(),
            }
        }
        Known::Absent(heard)
    }

    /// The version up to which the objects of a kind are known in some place.
    pub fn heard(&self, kind: &Kind) -> u64 {
        let stores = self.stores.borrow();
        stores
            .get(kind)
            .into_iter()
            .flatten()
            .map(|store| store.borrow().observed_version())
            .max()
            .unwrap_or(0)
    }

    /// Whether an object is in a place that is watched; one without a namespace is.
    fn is_watched(&self, named: &ObjectRef) -> bool {
        let here = |place: &Option<String>| place.is_none() || *place == named.namespace;
        named.namespace.is_none() || self.namespaces.iter().any(here)
    }

    /// Looks at all resources; what failed is tried again when its time has come.
    pub fn enqueue_all(&self) {
        let controllers = self.controllers.borrow().clone();
        controllers.iter().for_each(|controller| controller.enqueue_all());
    }

    /// Looks at once at all resources whose release has this name, also those that failed: it is free now.
    pub fn wake_namesakes(&self, namespace: &str, name: &str) {
        let release = ObjectKey::new(Some(namespace), name);
        self.controllers.borrow().iter().for_each(|controller| controller.wake_release(&release));
    }

    /// What is known of a release.
    pub fn record(&self, namespace: &str, name: &str) -> Option<Record> {
        self.records.borrow().get(&ObjectKey::new(Some(namespace), name)).cloned()
    }

    /// Forgets a release.
    pub fn forget(&self, namespace: &str, name: &str) {
        self.records.borrow_mut().remove(&ObjectKey::new(Some(namespace), name));
    }

    fn take(
        &self,
        resource: &Resource,
        place: Option<&str>,
        store: &RefCell<ObjectStore>,
        event: &WatchEvent,
        changes: Vec<Change>,
    ) {
        let kind = &resource.kind;
        match event {
            WatchEvent::Failing(trouble) => {
                self.log.error(&trouble.message, &[("kind", &kind)]);
                self.missing.trouble(kind, place.unwrap_or_default(), trouble);
                self.enqueue_all();
            }
            WatchEvent::Recovered => {
                self.log.info("watching again", &[("kind", &kind)]);
                self.missing.well(kind, place.unwrap_or_default());
                self.enqueue_all();
            }
            WatchEvent::Applied(object) if is_record(object) => self.take_record(object, true),
            WatchEvent::Deleted(object) if is_record(object) => self.take_record(object, false),
            _ => {}
        }
        let object = match event {
            WatchEvent::Applied(object) | WatchEvent::Deleted(object) => Some(object),
            _ => None,
        };
        for change in changes {
            // A list shows what went while nothing was heard.
            if object.is_none() && change.after.is_none() && kind.kind == "Secret" && kind.group.is_empty() {
                self.lose_record(&change.key);
            }
            let owners: Vec<(Rc<Controller>, ObjectKey)> = match object.and_then(|object| self.owner(object))
            {
                Some(owner) => vec![owner],
                None => self.holders(kind, &change.key),
            };
            for (controller, key) in owners {
                if change.after.is_none() {
                    let version = change.before.map_or(0, |row| row.version);
                    controller.lose(&key, kind, &change.key, version);
                }
                if change.is_significant() {
                    controller.enqueue(key);
                } else {
                    controller.queue.enqueue_after(key, GATHER);
                }
            }
        }
        if matches!(event, WatchEvent::ListDone) {
            let store = store.borrow();
            let listed = |key: &ObjectKey| store.get(key).is_some();
            for controller in self.controllers.borrow().iter() {
                controller.lose_unlisted(kind, place, &listed);
                controller.enqueue_all();
            }
        }
    }

    /// The resource that an object names as its owner.
    fn owner(&self, object: &Value) -> Option<(Rc<Controller>, ObjectKey)> {
        let text = |value: &Value, path: &str| value.pointer(path).and_then(Value::as_str).map(str::to_owned);
        let controllers = self.controllers.borrow();
        let references = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        for reference in references.into_iter().flatten() {
            let kind = Kind::new(&text(reference, "/apiVersion")?, &text(reference, "/kind")?);
            let same = |controller: &&Rc<Controller>| {
                (&controller.watch.kind.group, &controller.watch.kind.kind) == (&kind.group, &kind.kind)
            };
            if let Some(controller) = controllers.iter().find(same) {
                let place = text(object, "/metadata/namespace").filter(|_| controller.namespaced());
                return Some((
                    controller.clone(),
                    ObjectKey::new(place.as_deref(), &text(reference, "/name")?),
                ));
            }
        }
        let annotations = object.pointer("/metadata/annotations")?;
        let kind = annotations.get(PRIMARY_TYPE)?.as_str()?;
        let (namespace, name) = annotations.get(PRIMARY)?.as_str()?.split_once('/')?;
        let same = |controller: &&Rc<Controller>| {
            format!("{}.{}", controller.watch.kind.kind, controller.watch.kind.group) == kind
        };
        let controller = controllers.iter().find(same)?.clone();
        Some((controller, ObjectKey::new(Some(namespace).filter(|n| !n.is_empty()), name)))
    }

    /// The resources that have an object, by what is remembered of them.
    fn holders(&self, kind: &Kind, object: &ObjectKey) -> Vec<(Rc<Controller>, ObjectKey)> {
        let controllers = self.controllers.borrow();
        let holders = controllers.iter().flat_map(|controller| {
            controller.holders(kind, object).into_iter().map(|key| (controller.clone(), key))
        });
        holders.collect()
    }

    fn take_record(&self, object: &Value, there: bool) {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let release = ObjectKey::new(Some(text("/metadata/namespace")), text("/metadata/labels/name"));
        let revision = text("/metadata/labels/version").parse().unwrap_or(0);
        if !there {
            return self.drop_record(&release, revision);
        }
        {
            let mut records = self.records.borrow_mut();
            let known = records.entry(release.clone()).or_default();
            let status = text("/metadata/labels/status");
            match status == "deployed" {
                true => known.deployed.insert(revision),
                false => known.deployed.remove(&revision),
            };
            if revision >= known.revision {
                let line = object
                    .pointer("/metadata/annotations")
                    .and_then(|map| map.get(OBJECTS))
                    .and_then(Value::as_str);
                *known = Record {
                    revision,
                    status: status.to_owned(),
                    render: object
                        .pointer("/metadata/labels")
                        .and_then(|map| map.get(RENDER))
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                        .to_owned(),
                    objects: line.map(Box::from),
                    deployed: std::mem::take(&mut known.deployed),
                };
            }
        }
        self.tell(&release, None);
    }

    /// The record with this name is gone.
    fn lose_record(&self, secret: &ObjectKey) {
        let Some((name, revision)) =
            secret.name().strip_prefix(RECORD).and_then(|name| name.rsplit_once(".v"))
        else {
            return;
        };
        self.drop_record(&ObjectKey::new(secret.namespace(), name), revision.parse().unwrap_or(0));
    }

    fn drop_record(&self, release: &ObjectKey, revision: i64) {
        let mut records = self.records.borrow_mut();
        if records.get(release).is_some_and(|known| known.revision == revision) {
            records.remove(release);
        } else if let Some(known) = records.get_mut(release) {
            known.deployed.remove(&revision);
        }
        drop(records);
        self.tell(release, Some(revision));
    }

    fn tell(&self, release: &ObjectKey, gone: Option<i64>) {
        for controller in self.controllers.borrow().iter() {
            controller.record_changed(release, gone);
        }
    }
}

fn is_record(object: &Value) -> bool {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    text("/metadata/labels/owner") == "helm" && text("/metadata/name").starts_with(RECORD)
}
