//! The controllers without which an API server is of no use, as clients of its API.
//!
//! - Namespaces that are deleted lose their content, and then go.
//! - Garbage is collected: in the background, in the foreground, or not (orphans).
//! - Every namespace has the account `default` and the certificate that the server is trusted by; secrets for tokens are
//!   filled.
//! - Roles of the cluster that are made of others are kept so.
//! - Claims of storage and volumes that are deleted go when nobody has them.
//! - Definitions of kinds that are deleted lose their objects, and then go.
//!
//! They share one watch per kind, of metadata only, and write nothing when there is nothing to do. Whatever they know
//! is what these watches have told: killed at any moment and started again, they go on.

mod accounts;
mod act;
mod catalog;
mod collect;
mod conditions;
mod definitions;
mod gather;
mod graph;
mod meta;
mod mirror;
mod namespaces;
mod protection;
mod roles;
mod tokens;
mod uid;
mod world;

use std::convert::Infallible;
use std::hash::Hash;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use podium_client::Client;
use podium_controller::log::Log;
use podium_controller::work_queue::{ReconcileResult, WorkQueue};
use serde_json::{Value, json};

use crate::world::World;

/// How many objects are worked on at once, and how many namespaces, definitions and secrets.
const WORKERS: (usize, usize) = (16, 4);
/// The first and the longest pause while the server does not say which kinds it has.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(10));

/// What a token in a secret says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The namespace of account and secret.
    pub namespace: String,
    /// The name of the account.
    pub account: String,
    /// The uid of the account.
    pub account_uid: String,
    /// The name of the secret.
    pub secret: String,
}

impl Claims {
    /// As the payload of the token.
    pub fn to_json(&self) -> Value {
        let Self { namespace, account, account_uid, secret } = self;
        json!({
            "iss": "kubernetes/serviceaccount",
            "kubernetes.io/serviceaccount/namespace": namespace,
            "kubernetes.io/serviceaccount/secret.name": secret,
            "kubernetes.io/serviceaccount/service-account.name": account,
            "kubernetes.io/serviceaccount/service-account.uid": account_uid,
            "sub": format!("system:serviceaccount:{namespace}:{account}"),
        })
    }
}

/// Makes a token that says something, or says why it cannot.
pub type Signer = Arc<dyn Fn(&Claims) -> Result<String, String> + Send + Sync>;

/// How the controllers run.
#[derive(Clone)]
pub struct Options {
    /// The certificates that the server is trusted by, PEM; without any, none are written into namespaces.
    pub root_ca: String,
    /// Signs the tokens of secrets; without it, such secrets are not filled.
    pub signer: Option<Signer>,
    /// Where they say what goes wrong.
    pub log: Log,
}

/// Runs all controllers until `stop` is there; everything that they do is in the thread of the caller, and ends with it.
pub async fn run(client: Client, options: Options, stop: impl Future<Output = ()>) {
    let local = tokio::task::LocalSet::new();
    let work = local.run_until(keep(World::new(client, options)));
    tokio::select! {
        () = stop => {}
        never = work => match never {},
    }
}

async fn keep(world: Rc<World>) -> Infallible {
    let mut pause = PAUSES.0;
    while let Err(error) = world.refresh().await {
        world.options.log.error(&error.to_string(), &[("work", &"kinds")]);
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
    let (many, few) = WORKERS;
    let queues = &world.queues;
    serve(&world, &queues.garbage, many, collect::work);
    serve(&world, &queues.endings, few, namespaces::work);
    serve(&world, &queues.homes, few, accounts::work);
    serve(&world, &queues.tokens, few, tokens::work);
    serve(&world, &queues.kept, few, protection::work);
    serve(&world, &queues.definitions, few, definitions::work);
    serve(&world, &queues.roles, 1, roles::work);
    serve(&world, &queues.kinds, 1, definitions::renew);
    let refused = |error: &podium_client::Error| {
        world.options.log.error(&error.to_string(), &[("work", &"events")]);
    };
    world.recorder.run(&world.client, refused).await
}

/// Works on the keys of a queue, so many at once.
fn serve<K, W>(world: &Rc<World>, queue: &WorkQueue<K>, workers: usize, work: fn(Rc<World>, K) -> W)
where
    K: Clone + Eq + Hash + 'static,
    W: Future<Output = ReconcileResult> + 'static,
{
    for _ in 0..workers {
        let (world, queue) = (world.clone(), queue.clone());
        tokio::task::spawn_local(async move {
            while let Some(task) = queue.next().await {
                let verdict = work(world.clone(), task.key.clone()).await;
                queue.complete(&task.key, verdict);
            }
        });
    }
}
