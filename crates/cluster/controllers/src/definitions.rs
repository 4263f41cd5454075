//! Definitions of kinds: what they bring is watched, and what they had goes with them.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::time::Duration;

use podium_client::ObjectKey;
use podium_client::client::{Error, Representation};
use podium_client::watch::WatchEvent;
use podium_controller::Reconciler;
use podium_controller::work_queue::{Backoff, ReconcileResult};
use podium_meta::{GroupVersionKind, Resource};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::act::{self, refused, written};
use crate::catalog::Catalog;
use crate::meta::{finalizers, is_deleting, items, now, text};
use crate::mirror::Mirror;
use crate::world::{World, object};

/// The finalizer of a definition whose objects go first.
pub const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";
/// How long changes are gathered.
const GATHER: Duration = Duration::from_millis(5);
/// How often objects that stay are looked at, though nothing was heard of them.
const PERIOD: Duration = Duration::from_secs(5);
/// How long garbage that the objects have left is waited for: without their kind nobody could tell that it is garbage.
const GARBAGE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(5));
/// The waits for a kind that is defined but not served yet.
const SERVED: Backoff = Backoff { base: Duration::from_millis(20), cap: Duration::from_secs(30) };

/// All definitions.
#[derive(Default)]
pub struct Definitions {
    /// The generation of each, and whether it ends.
    all: RefCell<Mirror<(u64, bool)>>,
    /// Those that are gone, but whose kind was still served.
    leaving: RefCell<HashSet<String>>,
    /// How often the kinds were asked for since a definition has changed.
    tries: Cell<u32>,
    /// Since when those that end have no objects.
    empty: RefCell<HashMap<String, Instant>>,
}

impl Definitions {
    /// Hears of definitions.
    pub fn take(&self, world: &World, event: &WatchEvent) {
        let lose = |key: &ObjectKey| {
            self.empty.borrow_mut().remove(key.name());
            self.leaving.borrow_mut().insert(key.name().to_owned());
            self.renew(world);
        };
        match event {
            WatchEvent::ListStarted => self.all.borrow_mut().begin(),
            WatchEvent::ListDone => {
                let gone = self.all.borrow_mut().end();
                gone.iter().for_each(|(key, _)| lose(key));
            }
            _ => {}
        }
        match object(event) {
            Some((object, true)) => {
                let generation = object.pointer("/metadata/generation").and_then(Value::as_u64).unwrap_or(0);
                let ends = is_deleting(object) && finalizers(object).any(|name| name == CLEANUP);
                let key = ObjectKey::from_object(object);
                if self.all.borrow_mut().put(key.clone(), (generation, ends)) {
                    self.renew(world);
                    if ends {
                        world.queues.definitions.add(key.name().into());
                    }
                }
            }
            Some((object, false)) => {
                let key = ObjectKey::from_object(object);
                self.all.borrow_mut().remove(&key);
                lose(&key);
            }
            None => {}
        }
    }

    /// An object of a kind is gone.
    pub fn lost(&self, world: &World, resource: &Resource) {
        let of_kind = |name: &str| name.split_once('.') == Some((&resource.plural, &resource.kind.group));
        for (key, (_, ends)) in self.all.borrow().iter() {
            if *ends && of_kind(key.name()) {
                world.queues.definitions.enqueue_after(key.name().into(), GATHER);
            }
        }
    }

    fn renew(&self, world: &World) {
        self.tries.set(0);
        world.queues.kinds.add_after((), GATHER);
    }

    /// Whether all kinds are served that are defined, and no others.
    fn is_served(&self, catalog: &Catalog) -> bool {
        let all = self.all.borrow();
        let found = |name: &str| {
            let (plural, group) = name.split_once('.').unwrap_or((name, ""));
            catalog.find(group, plural).is_some() || catalog.is_stale(group)
        };
        let mut leaving = self.leaving.borrow_mut();
        leaving.retain(|name| all.get(&ObjectKey::new(None, name)).is_none() && found(name));
        leaving.is_empty() && all.iter().all(|(key, (_, ends))| *ends || found(key.name()))
    }
}

/// Refreshes the served resources after a CRD or APIService has changed.
pub struct ResourceDiscovery(pub Rc<World>);

impl Reconciler for ResourceDiscovery {
    type Key = ();

    async fn reconcile(&self, _key: &()) -> ReconcileResult {
        let world = &self.0;
        let definitions = &world.definitions;
        match world.refresh().await {
            Ok(catalog) if definitions.is_served(&catalog) => ReconcileResult::Done,
            Ok(_) => {
                definitions.tries.set(definitions.tries.get().saturating_add(1));
                ReconcileResult::RequeueAfter(SERVED.after(definitions.tries.get()))
            }
            Err(error) => world.failed("kinds", "", &error),
        }
    }
}

/// Deletes the objects of a deleted CustomResourceDefinition, then removes its finalizer.
pub struct CrdFinalizer(pub Rc<World>);

impl Reconciler for CrdFinalizer {
    type Key = Rc<str>;

    async fn reconcile(&self, key: &Rc<str>) -> ReconcileResult {
        let world = &self.0;
        let name = key;
        match end(world, name).await {
            Ok(verdict) => verdict,
            // Another client wrote it: read it again.
            Err(error) if refused(&error, 409) => ReconcileResult::Failed,
            Err(error) if refused(&error, 404) => ReconcileResult::Done,
            Err(error) => world.failed("definition", name, &error),
        }
    }
}

fn definitions() -> Resource {
    let kind = GroupVersionKind::new("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    Resource { kind, plural: "customresourcedefinitions".to_owned(), namespaced: false }
}

async fn end(world: &World, name: &str) -> Result<ReconcileResult, Error> {
    let (client, kind, key) = (&world.client, definitions(), ObjectKey::new(None, name));
    let Some(mut definition) = client.get(&kind, None, name).await? else { return Ok(ReconcileResult::Done) };
    if !is_deleting(&definition) || !finalizers(&definition).any(|name| name == CLEANUP) {
        return Ok(ReconcileResult::Done);
    }
    let mut last = ("NeverEstablished", "resource was never established");
    if is_established(&definition) {
        let begun = ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress");
        if set_terminating(&mut definition, begun) {
            definition = act::put(client, &kind, &key, "/status", &definition).await?;
        }
        if let Some(verdict) = empty(world, &mut definition, &kind, &key).await? {
            return Ok(verdict);
        }
        last = ("InstanceDeletionCompleted", "removed all instances");
    }
    // Nobody reads the last word of one that goes with it.
    if finalizers(&definition).count() > 1 && set_terminating(&mut definition, ("False", last.0, last.1)) {
        definition = act::put(client, &kind, &key, "/status", &definition).await?;
    }
    match act::without_finalizer(&definition, CLEANUP) {
        Some(patch) => written(act::merge(client, &kind, &key, &patch).await),
        None => Ok(ReconcileResult::Done),
    }
}

/// Deletes the objects of a kind; says what to do if some of them are left.
async fn empty(
    world: &World,
    definition: &mut Value,
    kind: &Resource,
    key: &ObjectKey,
) -> Result<Option<ReconcileResult>, Error> {
    // A kind without a version that is served cannot be asked for its objects.
    let Some(resource) = defined(definition) else { return Ok(None) };
    let left = match clear(world, &resource).await {
        Ok(left) => left,
        Err(error) => {
            let message = format!("could not issue all deletes: {error}");
            if set_terminating(definition, ("True", "InstanceDeletionFailed", &message)) {
                act::put(&world.client, kind, key, "/status", definition).await?;
            }
            return Ok(Some(world.failed("definition", key, &error)));
        }
    };
    let mut empty = world.definitions.empty.borrow_mut();
    if left > 0 {
        empty.remove(key.name());
        return Ok(Some(ReconcileResult::RequeueAfter(PERIOD)));
    }
    let since = empty.entry(key.name().to_owned()).or_insert_with(Instant::now).elapsed();
    let GroupVersionKind { group, kind, .. } = &resource.kind;
    let garbage = !world.is_listed() || world.graph.borrow().has_dependents_of(group, kind);
    Ok((garbage && since < GARBAGE.1).then_some(ReconcileResult::RequeueAfter(GARBAGE.0)))
}

/// Deletes all objects of a kind, and says how many are left.
async fn clear(world: &World, resource: &Resource) -> Result<usize, Error> {
    let objects = match world.client.list(resource, None, "", Representation::Metadata).await {
        // The server has no such kind any more, or not yet again.
        Err(error) if refused(&error, 404) => return Ok(0),
        result => result?,
    };
    let stay = objects.iter().filter(|object| !is_deleting(object));
    let spaces: BTreeSet<&str> = stay.map(|object| text(object, "/metadata/namespace")).collect();
    if spaces.is_empty() {
        return Ok(objects.len());
    }
    for space in spaces {
        act::delete_all(&world.client, resource, Some(space).filter(|space| !space.is_empty())).await?;
    }
    Ok(world.client.list(resource, None, "", Representation::Metadata).await?.len())
}

/// Where the objects of a defined kind are.
fn defined(definition: &Value) -> Option<Resource> {
    let served = |version: &&Value| version.get("served").and_then(Value::as_bool).unwrap_or(false);
    let version = items(definition, "/spec/versions").find(served)?;
    let kind = GroupVersionKind {
        group: text(definition, "/spec/group").to_owned(),
        version: text(version, "/name").to_owned(),
        kind: text(definition, "/spec/names/kind").to_owned(),
    };
    let plural = text(definition, "/spec/names/plural").to_owned();
    Some(Resource { kind, plural, namespaced: text(definition, "/spec/scope") == "Namespaced" })
}

fn is_established(definition: &Value) -> bool {
    items(definition, "/status/conditions")
        .any(|condition| text(condition, "/type") == "Established" && text(condition, "/status") == "True")
}

/// Writes the condition `Terminating`; says whether that changes anything.
fn set_terminating(definition: &mut Value, (status, reason, message): (&str, &str, &str)) -> bool {
    let mut conditions: Vec<Value> = items(definition, "/status/conditions").cloned().collect();
    let old = conditions.iter_mut().find(|condition| text(condition, "/type") == "Terminating");
    let mut time = now();
    if let Some(old) = &old
        && text(old, "/status") == status
    {
        if text(old, "/reason") == reason && text(old, "/message") == message {
            return false;
        }
        time = text(old, "/lastTransitionTime").to_owned();
    }
    let new = json!({"type": "Terminating", "status": status, "lastTransitionTime": time, "reason": reason, "message": message});
    match old {
        Some(old) => *old = new,
        None => conditions.push(new),
    }
    definition["status"]["conditions"] = conditions.into();
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_condition_is_written_once_and_keeps_its_time() {
        let mut definition = json!({"status": {"conditions": [{"type": "Established", "status": "True"}]}});
        assert!(is_established(&definition));
        assert!(set_terminating(&mut definition, ("True", "A", "a")));
        definition["status"]["conditions"][1]["lastTransitionTime"] = "then".into();
        assert!(!set_terminating(&mut definition, ("True", "A", "a")));
        assert!(set_terminating(&mut definition, ("True", "B", "b")));
        assert_eq!(definition["status"]["conditions"][1]["lastTransitionTime"], "then");
        assert!(set_terminating(&mut definition, ("False", "B", "b")));
        assert_ne!(definition["status"]["conditions"][1]["lastTransitionTime"], "then");
        assert_eq!(items(&definition, "/status/conditions").count(), 2);
    }

    #[test]
    fn a_kind_is_asked_for_in_a_version_that_is_served() {
        let mut definition = json!({"spec": {"group": "x.io", "scope": "Namespaced", "names": {"plural": "as", "kind": "A"},
            "versions": [{"name": "v1", "served": false}, {"name": "v2", "served": true}]}});
        let resource = defined(&definition).unwrap();
        assert_eq!(resource.collection(Some("n")), "/apis/x.io/v2/namespaces/n/as");
        definition["spec"]["versions"][1]["served"] = false.into();
        assert_eq!(defined(&definition), None);
    }
}
