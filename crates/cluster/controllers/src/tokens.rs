//! Secrets with the token of an account, as they were made before tokens were asked for.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use podium_client::ObjectKey;
use podium_client::client::Error;
use podium_client::watch::WatchEvent;
use podium_client::write::PropagationPolicy;
use podium_controller::{ReconcileResult, Reconciler};
use podium_meta::{Resource, base64};
use serde_json::{Value, json};

use crate::Claims;
use crate::act::{self, written};
use crate::meta::{annotation, items, text, version};
use crate::mirror::Mirror;
use crate::world::{World, object};

const TYPE: &str = "kubernetes.io/service-account-token";
const NAME: &str = "kubernetes.io/service-account.name";
const UID: &str = "kubernetes.io/service-account.uid";

/// What is known of a secret that names an account.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Secret {
    uid: String,
    account: String,
    account_uid: String,
    version: u64,
}

/// All secrets that name an account.
#[derive(Default)]
pub struct Tokens {
    all: RefCell<Mirror<Secret>>,
    /// Those that are gone, until their accounts do not name them any more.
    gone: RefCell<HashMap<ObjectKey, Secret>>,
    /// The versions that need nothing.
    right: RefCell<HashMap<ObjectKey, u64>>,
}

impl Tokens {
    /// Hears of secrets.
    pub fn take(&self, world: &World, event: &WatchEvent) {
        let lose = |key: ObjectKey, secret: Secret| {
            self.right.borrow_mut().remove(&key);
            self.gone.borrow_mut().insert(key.clone(), secret);
            world.queues.tokens.add(key);
        };
        match event {
            WatchEvent::ListStarted => self.all.borrow_mut().begin(),
            WatchEvent::ListDone => {
                let gone = self.all.borrow_mut().end();
                gone.into_iter().for_each(|(key, secret)| lose(key, secret));
            }
            _ => {}
        }
        let Some((object, there)) = object(event) else { return };
        let (key, account) = (ObjectKey::from_object(object), annotation(object, NAME));
        if !there || account.is_empty() {
            let known = self.all.borrow_mut().remove(&key);
            if let Some(secret) = known {
                lose(key, secret);
            }
            return;
        }
        let secret = Secret {
            uid: text(object, "/metadata/uid").to_owned(),
            account: account.to_owned(),
            account_uid: annotation(object, UID).to_owned(),
            version: version(object),
        };
        if self.all.borrow_mut().put(key.clone(), secret) {
            world.queues.tokens.add(key);
        }
    }

    /// Has all secrets looked at.
    pub fn look_at_all(&self, world: &World) {
        self.all.borrow().iter().for_each(|(key, _)| world.queues.tokens.add(key.clone()));
    }

    /// An account is gone.
    pub fn lose_account(&self, world: &World, account: &ObjectKey) {
        for (key, secret) in self.all.borrow().iter() {
            if key.namespace() == account.namespace() && secret.account == account.name() {
                self.right.borrow_mut().remove(key);
                world.queues.tokens.add(key.clone());
            }
        }
    }
}

/// Fills Secrets of type `kubernetes.io/service-account-token`.
pub struct ServiceAccountTokens(pub Rc<World>);

impl Reconciler for ServiceAccountTokens {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey) -> ReconcileResult {
        let world = &self.0;
        match step(world, key).await {
            Ok(verdict) => verdict,
            Err(error) => world.failed("token", key, &error),
        }
    }
}

async fn step(world: &World, key: &ObjectKey) -> Result<ReconcileResult, Error> {
    let tokens = &world.tokens;
    let gone = tokens.gone.borrow().get(key).cloned();
    if let Some(gone) = gone {
        if strike(world, key, &gone).await? != ReconcileResult::Done {
            return Ok(ReconcileResult::Failed);
        }
        tokens.gone.borrow_mut().remove(key);
    }
    let Some(secret) = tokens.all.borrow().get(key).cloned() else { return Ok(ReconcileResult::Done) };
    let account = ObjectKey::new(key.namespace(), &secret.account);
    // When the accounts are known, all secrets are looked at again.
    let Some(mut uid) = world.accounts.uid(&account) else { return Ok(ReconcileResult::Done) };
    let is_meant = |uid: &String| secret.account_uid.is_empty() || secret.account_uid == *uid;
    if uid.as_ref().is_some_and(is_meant) && tokens.right.borrow().get(key) == Some(&secret.version) {
        return Ok(ReconcileResult::Done);
    }
    let Some(body) = world.client.get(&secrets(), key.namespace(), key.name()).await? else {
        return Ok(ReconcileResult::Done);
    };
    if text(&body, "/type") != TYPE || text(&body, "/metadata/uid") != secret.uid {
        return Ok(ReconcileResult::Done);
    }
    if !uid.as_ref().is_some_and(is_meant) {
        // It may only not have been heard of yet.
        let found = world.client.get(&accounts(), account.namespace(), account.name()).await?;
        uid = found.map(|found| text(&found, "/metadata/uid").to_owned());
    }
    match uid.filter(is_meant) {
        Some(uid) => fill(world, key, body, &secret.account, &uid).await,
        None => {
            let options = act::options(PropagationPolicy::Background, Some(&secret.uid), 0);
            written(act::delete(&world.client, &secrets(), key, &options).await)
        }
    }
}

fn secrets() -> Resource {
    Resource::core("Secret", "secrets", true)
}

fn accounts() -> Resource {
    Resource::core("ServiceAccount", "serviceaccounts", true)
}

/// Writes into a secret what it lacks.
async fn fill(
    world: &World,
    key: &ObjectKey,
    mut body: Value,
    account: &str,
    uid: &str,
) -> Result<ReconcileResult, Error> {
    let Some(signer) = &world.options.signer else { return Ok(ReconcileResult::Done) };
    let namespace = key.namespace().unwrap_or_default();
    let mut lacks = false;
    let certificate = base64::encode(world.options.root_ca.as_bytes());
    if !certificate.is_empty() && text(&body, "/data/ca.crt") != certificate {
        body["data"]["ca.crt"] = certificate.into();
        lacks = true;
    }
    if text(&body, "/data/namespace").is_empty() {
        body["data"]["namespace"] = base64::encode(namespace.as_bytes()).into();
        lacks = true;
    }
    if text(&body, "/data/token").is_empty() {
        let claims = Claims {
            namespace: namespace.to_owned(),
            account: account.to_owned(),
            account_uid: uid.to_owned(),
            secret: key.name().to_owned(),
        };
        match signer(&claims) {
            Ok(token) => body["data"]["token"] = base64::encode(token.as_bytes()).into(),
            Err(reason) => {
                world.options.log.error("a token cannot be signed", &[("name", key), ("reason", &reason)]);
                return Ok(ReconcileResult::Failed);
            }
        }
        lacks = true;
    }
    let mut right = version(&body);
    if lacks {
        body["metadata"]["annotations"][NAME] = account.into();
        body["metadata"]["annotations"][UID] = uid.into();
        match act::put(&world.client, &secrets(), key, "", &body).await {
            Ok(now) => right = version(&now),
            result => return written(result),
        }
    }
    world.tokens.right.borrow_mut().insert(key.clone(), right);
    Ok(ReconcileResult::Done)
}

/// Takes a secret that is gone out of the list of its account.
async fn strike(world: &World, key: &ObjectKey, secret: &Secret) -> Result<ReconcileResult, Error> {
    let account = ObjectKey::new(key.namespace(), &secret.account);
    if world.accounts.uid(&account).flatten().is_none() {
        return Ok(ReconcileResult::Done);
    }
    let Some(body) = world.client.get(&accounts(), account.namespace(), account.name()).await? else {
        return Ok(ReconcileResult::Done);
    };
    let is_other = |reference: &&Value| text(reference, "/name") != key.name();
    let rest: Vec<&Value> = items(&body, "/secrets").filter(is_other).collect();
    let meant = secret.account_uid.is_empty() || text(&body, "/metadata/uid") == secret.account_uid;
    if !meant || rest.len() == items(&body, "/secrets").count() {
        return Ok(ReconcileResult::Done);
    }
    let version = text(&body, "/metadata/resourceVersion");
    let patch = json!({"metadata": {"resourceVersion": version}, "secrets": rest});
    written(act::merge(&world.client, &accounts(), &account, &patch).await)
}
