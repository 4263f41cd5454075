//! What is in use stays: a claim of storage while a pod has it, a volume while a claim has it. The server gives both a
//! finalizer when they are made; it is taken away here when they are deleted and nobody has them.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

use podium_client::ObjectKey;
use podium_client::client::Error;
use podium_client::watch::WatchEvent;
use podium_controller::{ReconcileResult, Reconciler};
use podium_meta::Resource;
use serde_json::Value;

use crate::act::{merge, without_finalizer, written};
use crate::meta::{finalizers, is_deleting, items, text};
use crate::world::{World, object};

/// What may be in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kept {
    /// A claim of storage.
    Claim,
    /// A volume.
    Volume,
}

impl Kept {
    fn resource(self) -> Resource {
        match self {
            Kept::Claim => Resource::core("PersistentVolumeClaim", "persistentvolumeclaims", true),
            Kept::Volume => Resource::core("PersistentVolume", "persistentvolumes", false),
        }
    }

    fn finalizer(self) -> &'static str {
        match self {
            Kept::Claim => "kubernetes.io/pvc-protection",
            Kept::Volume => "kubernetes.io/pv-protection",
        }
    }
}

/// The claims that are deleted while pods have them.
#[derive(Default)]
pub struct Protection {
    waiting: RefCell<HashSet<ObjectKey>>,
}

impl Protection {
    /// Hears of claims or volumes.
    pub fn take(&self, world: &World, kept: Kept, event: &WatchEvent) {
        match object(event) {
            Some((object, true)) => {
                let held = finalizers(object).any(|name| name == kept.finalizer());
                if is_deleting(object) && held {
                    world.queues.kept.add((kept, ObjectKey::from_object(object)));
                }
            }
            Some((object, false)) => drop(self.waiting.borrow_mut().remove(&ObjectKey::from_object(object))),
            None => {}
        }
    }

    /// Hears of pods: whatever one of them had may be free.
    pub fn take_pod(&self, world: &World, event: &WatchEvent) {
        let look = |chosen: &dyn Fn(&ObjectKey) -> bool| {
            let waiting = self.waiting.borrow();
            waiting.iter().filter(|key| chosen(key)).for_each(|key| {
                world.queues.kept.add((Kept::Claim, key.clone()));
            });
        };
        match event {
            WatchEvent::Deleted(object) => {
                let namespace = text(object, "/metadata/namespace");
                look(&|key| key.namespace() == Some(namespace));
            }
            WatchEvent::ListDone => look(&|_| true),
            _ => {}
        }
    }
}

/// Removes the protection finalizers of claims and volumes that are deleted and not in use.
pub struct StorageProtection(pub Rc<World>);

impl Reconciler for StorageProtection {
    type Key = (Kept, ObjectKey);

    async fn reconcile(&self, key: &(Kept, ObjectKey)) -> ReconcileResult {
        let world = &self.0;
        let (kept, key) = (key.0, &key.1);
        match release(world, kept, key).await {
            Ok(verdict) => verdict,
            Err(error) => world.failed("protection", key, &error),
        }
    }
}

async fn release(world: &World, kept: Kept, key: &ObjectKey) -> Result<ReconcileResult, Error> {
    let resource = kept.resource();
    let Some(found) = world.client.get(&resource, key.namespace(), key.name()).await? else {
        return Ok(ReconcileResult::Done);
    };
    let Some(patch) = without_finalizer(&found, kept.finalizer()).filter(|_| is_deleting(&found)) else {
        return Ok(ReconcileResult::Done);
    };
    let used = match kept {
        Kept::Volume => text(&found, "/status/phase") == "Bound",
        Kept::Claim => {
            // A pod that goes from now on has it looked at again.
            world.protection.waiting.borrow_mut().insert(key.clone());
            let pods = Resource::core("Pod", "pods", true);
            let list = world.client.list_objects(&pods, key.namespace(), "").await?;
            items(&list, "/items").any(|pod| uses(pod, key.name()))
        }
    };
    if used {
        return Ok(ReconcileResult::Done);
    }
    written(merge(&world.client, &resource, key, &patch).await)
}

/// Whether a pod that has a node has a claim.
fn uses(pod: &Value, claim: &str) -> bool {
    let name = text(pod, "/metadata/name");
    let has = |volume: &Value| {
        let own =
            || volume.get("ephemeral").is_some() && claim == format!("{name}-{}", text(volume, "/name"));
        text(volume, "/persistentVolumeClaim/claimName") == claim || own()
    };
    !text(pod, "/spec/nodeName").is_empty() && items(pod, "/spec/volumes").any(has)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_claim_is_used_by_pods_that_have_a_node() {
        let pod = |node: &str, volume: Value| json!({"metadata": {"name": "p"}, "spec": {"nodeName": node, "volumes": [{"name": "x"}, volume]}});
        let named = json!({"name": "v", "persistentVolumeClaim": {"claimName": "data"}});
        assert!(uses(&pod("n", named.clone()), "data"));
        assert!(!uses(&pod("", named.clone()), "data"));
        assert!(!uses(&pod("n", named), "other"));
        let own = json!({"name": "v", "ephemeral": {"volumeClaimTemplate": {}}});
        assert!(uses(&pod("n", own.clone()), "p-v"));
        assert!(!uses(&pod("n", own), "q-v"));
    }
}
