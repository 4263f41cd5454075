//! Garbage: objects whose owners are gone, and owners that wait for what they own.

use std::rc::Rc;
use std::time::Duration;

use podium_client::ObjectKey;
use podium_client::client::{Error, Representation};
use podium_client::write::PropagationPolicy;
use podium_controller::{ReconcileResult, Reconciler};
use podium_meta::Resource;
use serde_json::{Value, json};

use crate::act::{self, refused, written};
use crate::gather::gather;
use crate::graph::{Number, Step, Suspect};
use crate::meta::{Meta, ORPHAN, items, text};
use crate::uid::Uid;
use crate::world::World;

/// How many orphans of one owner are let go at once.
const ORPHANS: usize = 16;

/// An object as requests name it.
struct Spot {
    uid: Uid,
    kind: Number,
    resource: Resource,
    key: ObjectKey,
    version: u64,
}

/// How long an object stays of which something is to be said first.
const UNSAID: Duration = Duration::from_millis(200);

/// Deletes, orphans or detaches the dependents of objects that are gone or go.
pub struct GarbageCollector(pub Rc<World>);

impl Reconciler for GarbageCollector {
    type Key = Uid;

    async fn reconcile(&self, key: &Uid) -> ReconcileResult {
        let world = &self.0;
        let uid = *key;
        // Before everything was listed once, an owner that was not seen means nothing.
        if !world.is_listed() {
            world.park(uid);
            return ReconcileResult::Done;
        }
        match step(world, uid).await {
            Ok(verdict) => verdict,
            Err(error) => world.failed("garbage", uid.text().unwrap_or_default(), &error),
        }
    }
}

async fn step(world: &Rc<World>, uid: Uid) -> Result<ReconcileResult, Error> {
    // A look at owners may be followed by what it makes possible.
    for _ in 0..2 {
        let step = world.graph.borrow().decide(uid);
        let Some(spot) = spot(world, uid) else { return Ok(ReconcileResult::Done) };
        return match step {
            Step::Rest => Ok(ReconcileResult::Done),
            Step::Look(suspects) => {
                if look(world, &suspects).await? {
                    continue;
                }
                // It is there, but its kind's watch has not told yet: until then it could go unseen.
                Ok(ReconcileResult::Failed)
            }
            Step::Delete(propagation, unblock) => {
                if unblock && self::unblock(world, &spot).await? != ReconcileResult::Done {
                    return Ok(ReconcileResult::Failed);
                }
                delete(world, &spot, propagation, !unblock).await
            }
            Step::Detach(owners) => detach(world, &spot, &owners).await,
            Step::Release(finalizer) => release(world, &spot, finalizer).await,
            Step::Orphan(dependents) => orphan(world, &spot, dependents).await,
        };
    }
    Ok(ReconcileResult::Failed)
}

fn spot(world: &World, uid: Uid) -> Option<Spot> {
    let graph = world.graph.borrow();
    let node = graph.node(uid)?;
    let resource = world.resource(node.kind)?;
    Some(Spot { uid, kind: node.kind, resource, key: node.key.clone(), version: node.version })
}

/// Looks for owners that were not seen; says whether every one of them is absent.
async fn look(world: &World, suspects: &[Suspect]) -> Result<bool, Error> {
    let mut all = true;
    for suspect in suspects {
        let Some(resource) = world.resource(suspect.kind) else { return Ok(false) };
        let (namespace, name) = (suspect.key.namespace(), suspect.key.name());
        let found = world.client.get_as(&resource, namespace, name, Representation::Metadata).await?;
        match found {
            Some(found) if Uid::read(text(&found, "/metadata/uid")) == suspect.owner => all = false,
            _ => world.graph.borrow_mut().set_absent(suspect),
        }
    }
    Ok(all)
}

/// Deletes an object if it still has the owners that it was judged by.
async fn delete(
    world: &World,
    spot: &Spot,
    propagation: PropagationPolicy,
    same: bool,
) -> Result<ReconcileResult, Error> {
    let Some(uid) = spot.uid.text() else { return Ok(ReconcileResult::Done) };
    if world.recorder.is_pending(&uid) {
        // Afterwards nobody would know why it went.
        return Ok(ReconcileResult::RequeueAfter(UNSAID));
    }
    let version = if same { spot.version } else { 0 };
    let options = act::options(propagation, Some(&uid), version);
    match act::delete(&world.client, &spot.resource, &spot.key, &options).await {
        Ok(_) => Ok(ReconcileResult::Done),
        Err(error) if refused(&error, 404) => Ok(gone(world, spot)),
        Err(error) if refused(&error, 409) => {
            let Some(found) = find(world, spot).await? else { return Ok(gone(world, spot)) };
            let meta = Meta::of(&found);
            if version == 0 || meta.version == version || !world.graph.borrow().has_owners(&meta) {
                return Ok(ReconcileResult::Failed);
            }
            // Something else of it has changed: whoever changes it all the time shall not keep it.
            let options = act::options(propagation, Some(&uid), 0);
            written(act::delete(&world.client, &spot.resource, &spot.key, &options).await)
        }
        Err(error) => Err(error),
    }
}

/// The object itself, unless there is another one in its place.
async fn find(world: &World, spot: &Spot) -> Result<Option<Value>, Error> {
    let (namespace, name) = (spot.key.namespace(), spot.key.name());
    let found = world.client.get_as(&spot.resource, namespace, name, Representation::Metadata).await?;
    Ok(found.filter(|found| Uid::read(text(found, "/metadata/uid")) == spot.uid))
}

/// It went before its watch has told.
fn gone(world: &World, spot: &Spot) -> ReconcileResult {
    let todo = world.graph.borrow_mut().delete(spot.kind, spot.uid);
    world.queue(todo);
    ReconcileResult::Done
}

/// Takes references away from an object.
async fn detach(world: &World, spot: &Spot, owners: &[Uid]) -> Result<ReconcileResult, Error> {
    let texts: Option<Vec<String>> = owners.iter().map(|owner| owner.text()).collect();
    if let (Some(uid), Some(owners)) = (spot.uid.text(), texts)
        && world.is_strategic(spot.kind)
    {
        let gone: Vec<Value> = owners.iter().map(|owner| json!({"$patch": "delete", "uid": owner})).collect();
        let patch = json!({"metadata": {"uid": uid, "ownerReferences": gone}});
        match act::strategic(&world.client, &spot.resource, &spot.key, &patch).await {
            // A kind that the server learned at run time: it takes the plain patch.
            Err(error) if refused(&error, 415) => world.set_plain(spot.kind),
            result => return written(result),
        }
    }
    let lost = |reference: &Value| owners.contains(&Uid::read(text(reference, "/uid")));
    rewrite(world, spot, |list| list.into_iter().filter(|reference| !lost(reference)).collect()).await
}

/// Lets no owner of an object wait for it.
async fn unblock(world: &World, spot: &Spot) -> Result<ReconcileResult, Error> {
    let free = |mut reference: Value| {
        if reference.get("blockOwnerDeletion").is_some() {
            reference["blockOwnerDeletion"] = false.into();
        }
        reference
    };
    rewrite(world, spot, |list| list.into_iter().map(free).collect()).await
}

/// Writes the references of an object anew, if that changes them.
async fn rewrite(
    world: &World,
    spot: &Spot,
    change: impl FnOnce(Vec<Value>) -> Vec<Value>,
) -> Result<ReconcileResult, Error> {
    let Some(found) = find(world, spot).await? else { return Ok(gone(world, spot)) };
    let before: Vec<Value> = items(&found, "/metadata/ownerReferences").cloned().collect();
    let after = change(before.clone());
    if after == before {
        return Ok(ReconcileResult::Done);
    }
    let version = text(&found, "/metadata/resourceVersion");
    let patch = json!({"metadata": {"resourceVersion": version, "ownerReferences": after}});
    written(act::merge(&world.client, &spot.resource, &spot.key, &patch).await)
}

/// Takes a finalizer away from an object.
async fn release(world: &World, spot: &Spot, finalizer: &str) -> Result<ReconcileResult, Error> {
    let Some(found) = find(world, spot).await? else { return Ok(gone(world, spot)) };
    match act::without_finalizer(&found, finalizer) {
        Some(patch) => written(act::merge(&world.client, &spot.resource, &spot.key, &patch).await),
        None => Ok(ReconcileResult::Done),
    }
}

/// Lets the dependents of an object stay, and then the object go.
async fn orphan(world: &Rc<World>, spot: &Spot, dependents: Vec<Uid>) -> Result<ReconcileResult, Error> {
    let owner = spot.uid;
    let let_go = |dependent: Uid| {
        let world = world.clone();
        async move {
            match self::spot(&world, dependent) {
                Some(spot) => detach(&world, &spot, &[owner]).await,
                None => Ok(ReconcileResult::Done),
            }
        }
    };
    for result in gather(dependents, ORPHANS, let_go).await {
        if result? != ReconcileResult::Done {
            return Ok(ReconcileResult::Failed);
        }
    }
    unheard(world, spot).await?;
    release(world, spot, ORPHAN).await
}

/// Lets dependents stay that no watch has told of yet: without their owner they would be taken for garbage.
async fn unheard(world: &Rc<World>, spot: &Spot) -> Result<(), Error> {
    let owner = spot.uid;
    let namespace = spot.key.namespace().map(str::to_owned);
    let let_go = |(kind, resource): (Number, Resource)| {
        let (world, namespace) = (world.clone(), namespace.clone());
        async move {
            for found in
                world.client.list(&resource, namespace.as_deref(), "", Representation::Metadata).await?
            {
                let Meta { uid, key, version, owners, .. } = Meta::of(&found);
                if owners.iter().any(|reference| reference.uid == owner) {
                    let spot = Spot { uid, kind, resource: resource.clone(), key, version };
                    detach(&world, &spot, &[owner]).await?;
                }
            }
            Ok(())
        }
    };
    // What is in a namespace owns only what is there too.
    let mut kinds = world.answering();
    kinds.retain(|(_, resource)| namespace.is_none() || resource.namespaced);
    gather(kinds, ORPHANS, let_go).await.into_iter().collect()
}
