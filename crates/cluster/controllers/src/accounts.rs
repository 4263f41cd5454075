//! What every namespace has: the account `default`, and the certificate that the API server is trusted by.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use podium_client::ObjectKey;
use podium_client::client::Error;
use podium_client::watch::WatchEvent;
use podium_controller::{ReconcileResult, Reconciler};
use podium_meta::Resource;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::act::{self, MANAGER, is_ending, refused};
use crate::meta::{annotation, items, text, version};
use crate::mirror::Mirror;
use crate::world::{World, object};

const ACCOUNT: &str = "default";
const MAP: &str = "kube-root-ca.crt";
const DESCRIPTION: &str = "kubernetes.io/description";
const DESCRIBED: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints \
    such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of \
    Kubernetes clusters.";

/// The accounts of all namespaces, and their maps with the certificate.
#[derive(Default)]
pub struct Accounts {
    /// Their uids.
    all: RefCell<Mirror<String>>,
    /// Their versions.
    maps: RefCell<Mirror<u64>>,
    /// The versions of maps that were right.
    right: RefCell<HashMap<String, u64>>,
    /// Whether all maps of the beginning were looked at.
    looked: OnceCell<()>,
}

impl Accounts {
    /// Hears of accounts.
    pub fn take_account(&self, world: &World, event: &WatchEvent) {
        let lose = |key: &ObjectKey| {
            if key.name() == ACCOUNT {
                world.queues.homes.add(key.namespace().unwrap_or_default().into());
            }
            world.tokens.lose_account(world, key);
        };
        match event {
            WatchEvent::ListStarted => self.all.borrow_mut().begin(),
            WatchEvent::ListDone => {
                let gone = self.all.borrow_mut().end();
                gone.iter().for_each(|(key, _)| lose(key));
                world.namespaces.look_at_homes(world);
                world.tokens.look_at_all(world);
            }
            _ => {}
        }
        match object(event) {
            Some((object, true)) => {
                let uid = text(object, "/metadata/uid").to_owned();
                self.all.borrow_mut().put(ObjectKey::from_object(object), uid);
            }
            Some((object, false)) => {
                let key = ObjectKey::from_object(object);
                self.all.borrow_mut().remove(&key);
                lose(&key);
            }
            None => {}
        }
    }

    /// Hears of maps.
    pub fn take_map(&self, world: &World, event: &WatchEvent) {
        let look = |key: &ObjectKey| world.queues.homes.add(key.namespace().unwrap_or_default().into());
        match event {
            WatchEvent::ListStarted => self.maps.borrow_mut().begin(),
            WatchEvent::ListDone => {
                let gone = self.maps.borrow_mut().end();
                gone.iter().for_each(|(key, _)| look(key));
                world.namespaces.look_at_homes(world);
            }
            _ => {}
        }
        let Some((object, there)) = object(event) else { return };
        if text(object, "/metadata/name") != MAP {
            return;
        }
        let key = ObjectKey::from_object(object);
        let news = match there {
            true => self.maps.borrow_mut().put(key.clone(), version(object)),
            false => self.maps.borrow_mut().remove(&key).is_some(),
        };
        if news {
            look(&key);
        }
    }

    /// The uid of an account, if there is one; nothing if that is not known yet.
    pub fn uid(&self, key: &ObjectKey) -> Option<Option<String>> {
        let all = self.all.borrow();
        all.is_complete().then(|| all.get(key).cloned())
    }

    /// A namespace is gone.
    pub fn forget(&self, namespace: &str) {
        self.right.borrow_mut().remove(namespace);
    }
}

/// Creates the `default` ServiceAccount and the root CA ConfigMap of every namespace.
pub struct ServiceAccounts(pub Rc<World>);

impl Reconciler for ServiceAccounts {
    type Key = Rc<str>;

    async fn reconcile(&self, key: &Rc<str>) -> ReconcileResult {
        let world = &self.0;
        let name = key;
        let accounts = &world.accounts;
        // The end of a list enqueues every namespace again.
        if world.namespaces.is_active(name) != Some(true) || !accounts.maps.borrow().is_complete() {
            return ReconcileResult::Done;
        }
        let Some(account) = accounts.uid(&ObjectKey::new(Some(name), ACCOUNT)) else {
            return ReconcileResult::Done;
        };
        let mut result = Ok(());
        if account.is_none() {
            result = make(world, name, &account_of(name), &accounts_kind()).await.map(drop);
        }
        if result.is_ok() && !world.options.root_ca.is_empty() {
            result = certificate(world, name).await;
        }
        match result {
            Ok(()) => ReconcileResult::Done,
            // Another client wrote it: read it again.
            Err(error) if refused(&error, 409) => ReconcileResult::Failed,
            Err(error) => world.failed("accounts", name, &error),
        }
    }
}

fn accounts_kind() -> Resource {
    Resource::core("ServiceAccount", "serviceaccounts", true)
}

fn maps_kind() -> Resource {
    Resource::core("ConfigMap", "configmaps", true)
}

fn account_of(namespace: &str) -> Value {
    let about = json!({"name": ACCOUNT, "namespace": namespace});
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": about})
}

/// Makes an object, unless it is there or its namespace ends.
async fn make(world: &World, namespace: &str, body: &Value, kind: &Resource) -> Result<Option<Value>, Error> {
    match world.client.create(kind, Some(namespace), body, MANAGER).await {
        Ok(made) => Ok(Some(made)),
        Err(error) if refused(&error, 409) || is_ending(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes the map with the certificate, or makes it right.
async fn certificate(world: &World, namespace: &str) -> Result<(), Error> {
    let (accounts, maps) = (&world.accounts, maps_kind());
    accounts.looked.get_or_try_init(|| look(world)).await?;
    let key = ObjectKey::new(Some(namespace), MAP);
    let there = accounts.maps.borrow().get(&key).copied();
    let Some(there) = there else {
        let about = json!({"name": MAP, "namespace": namespace, "annotations": {DESCRIPTION: DESCRIBED}});
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "data": data(world)});
        if let Some(made) = make(world, namespace, &body, &maps).await? {
            accounts.right.borrow_mut().insert(namespace.to_owned(), version(&made));
        }
        return Ok(());
    };
    if accounts.right.borrow().get(namespace) == Some(&there) {
        return Ok(());
    }
    let Some(mut map) = world.client.get(&maps, Some(namespace), MAP).await? else { return Ok(()) };
    if !is_right(world, &map) {
        map["data"] = data(world);
        if annotation(&map, DESCRIPTION).is_empty() {
            map["metadata"]["annotations"][DESCRIPTION] = DESCRIBED.into();
        }
        map = match act::put(&world.client, &maps, &key, "", &map).await {
            // The watch tells.
            Err(error) if refused(&error, 404) => return Ok(()),
            result => result?,
        };
    }
    accounts.right.borrow_mut().insert(namespace.to_owned(), version(&map));
    Ok(())
}

/// Looks at all maps of the beginning in one request.
async fn look(world: &World) -> Result<(), Error> {
    let query = format!("?fieldSelector=metadata.name%3D{MAP}");
    let list = world.client.list_objects(&maps_kind(), None, &query).await?;
    let mut right = world.accounts.right.borrow_mut();
    for map in items(&list, "/items").filter(|map| is_right(world, map)) {
        right.insert(text(map, "/metadata/namespace").to_owned(), version(map));
    }
    Ok(())
}

fn data(world: &World) -> Value {
    json!({"ca.crt": world.options.root_ca})
}

fn is_right(world: &World, map: &Value) -> bool {
    map.get("data") == Some(&data(world)) && !annotation(map, DESCRIPTION).is_empty()
}
