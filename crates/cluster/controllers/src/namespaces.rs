//! Namespace termination: lists every resource of a terminating namespace, deletes its objects, and waits for the watches to report
//! that the rest is gone. The conditions are those of kube-controller-manager.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;
use podium_client::ObjectKey;
use podium_client::client::{Client, Error, Representation};
use podium_client::watch::WatchEvent;
use podium_client::write::PropagationPolicy;
use podium_controller::{ReconcileResult, Reconciler};
use podium_meta::Resource;
use serde_json::{Value, json};

use crate::act::{self, refused};
use crate::catalog::{Catalog, Served, Verb};
use crate::conditions::Findings;
use crate::gather::gather;
use crate::meta::{finalizers, is_deleting, items, now, text};
use crate::mirror::Mirror;
use crate::world::{World, object};

/// The finalizer in the spec of a namespace that stands for its content.
const CONTENT: &str = "kubernetes";
/// How many kinds are emptied at once.
const AT_ONCE: usize = 12;
/// How many objects are looked at before all of them are.
const PAGE: usize = 500;
/// How long deletions of objects are gathered before a namespace is looked at again.
const GATHER: Duration = Duration::from_millis(5);
/// How often content that stays is looked at, though nothing was heard of it.
const PERIOD: Duration = Duration::from_secs(8);

/// All namespaces.
#[derive(Default)]
pub struct Namespaces {
    /// Whether each ends.
    all: RefCell<Mirror<bool>>,
    /// Those that are being emptied.
    endings: RefCell<HashMap<String, Ending>>,
}

/// What is known of a namespace that ends.
struct Ending {
    uid: String,
    /// The kinds that may have objects in it. Nothing new is made there, so what was empty stays empty.
    left: Vec<Served>,
}

impl Namespaces {
    /// Hears of namespaces.
    pub fn take(&self, world: &World, event: &WatchEvent) {
        match event {
            WatchEvent::ListStarted => self.all.borrow_mut().begin(),
            WatchEvent::ListDone => {
                let gone = self.all.borrow_mut().end();
                gone.iter().for_each(|(key, _)| self.forget(world, key.name()));
                self.look_at_homes(world);
            }
            _ => {}
        }
        let Some((object, there)) = object(event) else { return };
        let key = ObjectKey::from_object(object);
        if !there {
            self.all.borrow_mut().remove(&key);
            return self.forget(world, key.name());
        }
        let ends = is_deleting(object);
        if self.all.borrow_mut().put(key.clone(), ends) {
            let queue = if ends { &world.queues.endings } else { &world.queues.homes };
            queue.add(key.name().into());
        }
    }

    /// An object in a namespace is gone.
    pub fn lost(&self, world: &World, namespace: &str) {
        if self.endings.borrow().contains_key(namespace) {
            world.queues.endings.enqueue_after(namespace.into(), GATHER);
        }
    }

    /// Whether a namespace is there and stays; nothing if that is not known yet.
    pub fn is_active(&self, name: &str) -> Option<bool> {
        let all = self.all.borrow();
        all.is_complete().then(|| all.get(&ObjectKey::new(None, name)) == Some(&false))
    }

    /// Has all namespaces looked at that stay.
    pub fn look_at_homes(&self, world: &World) {
        for (key, _) in self.all.borrow().iter().filter(|(_, ends)| !**ends) {
            world.queues.homes.add(key.name().into());
        }
    }

    fn forget(&self, world: &World, name: &str) {
        self.endings.borrow_mut().remove(name);
        world.accounts.forget(name);
    }

    fn left(&self, name: &str, uid: &str) -> Option<Vec<Served>> {
        let endings = self.endings.borrow();
        endings.get(name).filter(|ending| ending.uid == uid).map(|ending| ending.left.clone())
    }
}

/// Deletes the content of terminating namespaces, then removes their finalizer.
pub struct NamespaceTermination(pub Rc<World>);

impl Reconciler for NamespaceTermination {
    type Key = Rc<str>;

    async fn reconcile(&self, key: &Rc<str>) -> ReconcileResult {
        let world = &self.0;
        let name = key;
        match end(world, name).await {
            Ok(verdict) => verdict,
            // Another client wrote it: read it again.
            Err(error) if refused(&error, 409) => ReconcileResult::Failed,
            Err(error) if refused(&error, 404) => ReconcileResult::Done,
            Err(error) => world.failed("namespace", name, &error),
        }
    }
}

async fn end(world: &Rc<World>, name: &str) -> Result<ReconcileResult, Error> {
    let (client, spaces, key) = (&world.client, spaces(), ObjectKey::new(None, name));
    let Some(mut space) = client.get(&spaces, None, name).await? else { return Ok(ReconcileResult::Done) };
    if !is_deleting(&space) {
        return Ok(ReconcileResult::Done);
    }
    if text(&space, "/status/phase") != "Terminating" {
        space["status"]["phase"] = "Terminating".into();
        space = act::put(client, &spaces, &key, "/status", &space).await?;
    }
    let others: Vec<Value> =
        items(&space, "/spec/finalizers").filter(|name| name.as_str() != Some(CONTENT)).cloned().collect();
    if others.len() == items(&space, "/spec/finalizers").count() {
        return Ok(ReconcileResult::Done);
    }
    let mut findings = Findings::default();
    let uid = text(&space, "/metadata/uid").to_owned();
    let kinds = match world.namespaces.left(name, &uid) {
        Some(kinds) => kinds,
        None => discover(world, &mut findings).await,
    };
    // Kinds that are not known may have content too: they are asked for again.
    let known = findings.discovery.is_none() && findings.parsing.is_none();
    let remember = |left: Vec<Served>| {
        if known {
            let ending = Ending { uid: uid.clone(), left };
            world.namespaces.endings.borrow_mut().insert(name.to_owned(), ending);
        }
    };
    // From here on it is heard when something in it goes.
    remember(kinds.clone());
    remember(empty(world, name, kinds, &mut findings).await);
    let stays = !others.is_empty() || finalizers(&space).next().is_some();
    let before: Vec<Value> = items(&space, "/status/conditions").cloned().collect();
    // Of one that is gone at once nobody would read them.
    if (stays || !before.is_empty() || !findings.is_empty())
        && let Some(conditions) = findings.conditions(&before, &now())
    {
        space["status"]["conditions"] = conditions.into();
        space = act::put(client, &spaces, &key, "/status", &space).await?;
    }
    if findings.has_failed() {
        for failure in &findings.failures {
            world.options.log.error(failure, &[("work", &"namespace"), ("name", &name)]);
        }
        return Ok(ReconcileResult::Failed);
    }
    if !findings.is_empty() {
        return Ok(ReconcileResult::RequeueAfter(PERIOD));
    }
    let last = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": space["metadata"], "spec": {"finalizers": others}});
    act::put(client, &spaces, &key, "/finalize", &last).await?;
    Ok(ReconcileResult::Done)
}

fn spaces() -> Resource {
    Resource::core("Namespace", "namespaces", false)
}

/// The kinds that may have objects in a namespace.
async fn discover(world: &Rc<World>, findings: &mut Findings) -> Vec<Served> {
    let Catalog { served, mut stale, odd } = match world.refresh().await {
        Ok(catalog) => catalog,
        Err(error) => {
            findings.discovery = Some(error.to_string());
            return Vec::new();
        }
    };
    if !stale.is_empty() {
        stale.sort();
        let list: Vec<String> =
            stale.iter().map(|name| format!("{name}: stale GroupVersion discovery: {name}")).collect();
        findings.discovery = Some(format!(
            "Discovery failed for some groups, {} failing: unable to retrieve the complete list of server APIs: {}",
            stale.len(),
            list.join(", ")
        ));
    }
    if let Some(odd) = odd.first() {
        findings.parsing = Some(format!("unexpected GroupVersion string: {odd}"));
    }
    served.into_iter().filter(|served| served.resource.namespaced && served.can(Verb::Delete)).collect()
}

/// Deletes what is in a namespace; gives the kinds that have something left.
async fn empty(world: &Rc<World>, name: &str, kinds: Vec<Served>, findings: &mut Findings) -> Vec<Served> {
    // Pods first: while they run they may need the rest.
    let (pods, rest): (Vec<_>, Vec<_>) = kinds.into_iter().partition(|served| served.is("", "pods"));
    let mut left = clear_all(world, name, pods, findings).await;
    if left.is_empty() {
        left = clear_all(world, name, rest, findings).await;
    } else {
        left.extend(rest);
    }
    left
}

async fn clear_all(
    world: &Rc<World>,
    name: &str,
    kinds: Vec<Served>,
    findings: &mut Findings,
) -> Vec<Served> {
    let work = |served: Served| {
        let (world, name) = (world.clone(), name.to_owned());
        async move { (clear(&world.client, &served, &name).await, served) }
    };
    let mut left = Vec::new();
    for (result, served) in gather(kinds, AT_ONCE, work).await {
        let Resource { kind, plural, .. } = &served.resource;
        match result {
            Ok(Left { count: 0, .. }) => continue,
            Ok(Left { count, finalizers, unexpected }) => {
                if unexpected {
                    let place = format!("{}/{}, Resource={plural}", kind.group, kind.version);
                    findings
                        .failures
                        .push(format!("unexpected items still remain in namespace: {name} for gvr: {place}"));
                }
                findings.remaining.insert(format!("{plural}.{}", kind.group), count);
                for (finalizer, count) in finalizers {
                    *findings.finalizers.entry(finalizer).or_default() += count;
                }
            }
            Err(error) => findings.failures.push(error.to_string()),
        }
        left.push(served);
    }
    left
}

/// What is left of a kind.
#[derive(Debug, Default, PartialEq)]
struct Left {
    count: usize,
    finalizers: BTreeMap<String, usize>,
    /// Nothing holds it, but it is there.
    unexpected: bool,
}

impl Left {
    fn of(objects: &[Value], time: Timestamp) -> Self {
        let mut left = Self { count: objects.len(), ..Self::default() };
        for finalizer in objects.iter().flat_map(finalizers) {
            *left.finalizers.entry(finalizer.to_owned()).or_default() += 1;
        }
        // What has time to end, as pods have, is still within it.
        let in_time = |object: &Value| {
            text(object, "/metadata/deletionTimestamp").parse::<Timestamp>().is_ok_and(|until| until >= time)
        };
        left.unexpected = left.count > 0 && left.finalizers.is_empty() && !objects.iter().any(in_time);
        left
    }
}

/// Deletes the objects of a kind in a namespace, and says what is left of them.
async fn clear(client: &Client, served: &Served, namespace: &str) -> Result<Left, Error> {
    let resource = &served.resource;
    if served.can(Verb::List) {
        let path = format!("{}?limit={PAGE}", resource.collection(Some(namespace)));
        let page = match client.get_path(&path, &Representation::Metadata.accept(true)).await {
            Ok(page) => page,
            // Named, but not there.
            Err(error) if refused(&error, 404) || refused(&error, 405) => return Ok(Left::default()),
            Err(error) => return Err(error),
        };
        let objects: Vec<Value> = items(&page, "/items").cloned().collect();
        let whole = text(&page, "/metadata/continue").is_empty();
        if whole && objects.iter().all(is_deleting) {
            return Ok(Left::of(&objects, Timestamp::now()));
        }
    }
    let mut all_at_once = served.can(Verb::DeleteCollection);
    if all_at_once {
        match act::delete_all(client, resource, Some(namespace)).await {
            Err(error) if refused(&error, 404) || refused(&error, 405) => all_at_once = false,
            result => result?,
        }
    }
    if !served.can(Verb::List) {
        return Ok(Left::default());
    }
    let mut objects = client.list(resource, Some(namespace), "", Representation::Metadata).await?;
    if !all_at_once {
        let options = act::options(PropagationPolicy::Background, None, 0);
        for object in objects.iter().filter(|object| !is_deleting(object)) {
            match act::delete(client, resource, &ObjectKey::from_object(object), &options).await {
                Err(error) if refused(&error, 404) || refused(&error, 405) => {}
                result => drop(result?),
            }
        }
        objects = client.list(resource, Some(namespace), "", Representation::Metadata).await?;
    }
    Ok(Left::of(&objects, Timestamp::now()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_expected_if_a_finalizer_or_a_grace_period_holds_it() {
        let time: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let object = |until: &str, finalizers: &[&str]| json!({"metadata": {"deletionTimestamp": until, "finalizers": finalizers}});
        let (past, future) = ("2025-12-31T23:59:59Z", "2026-01-01T00:00:30Z");
        let of = |objects: &[Value]| Left::of(objects, time);
        assert_eq!(of(&[]), Left::default());
        assert!(of(&[object(past, &[])]).unexpected && of(&[json!({"metadata": {}})]).unexpected);
        assert!(!of(&[object(past, &[]), object(future, &[])]).unexpected);
        let held = of(&[object(past, &["a", "b"]), object(past, &["a"])]);
        assert_eq!((held.count, held.unexpected), (2, false));
        assert_eq!(held.finalizers, BTreeMap::from([("a".to_owned(), 2), ("b".to_owned(), 1)]));
    }
}
