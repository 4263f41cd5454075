//! The controllers that an API server needs, as clients of its API: what kube-controller-manager does for the API itself.
//!
//! - Namespace termination: the content of a deleted namespace is deleted first.
//! - Garbage collection: background, foreground, orphan.
//! - Every namespace has the service account `default` and the ConfigMap with the cluster's CA; token Secrets are filled.
//! - Aggregated ClusterRoles are kept up to date.
//! - Storage protection: PersistentVolumeClaims and PersistentVolumes in use are not removed.
//! - The objects of a deleted CRD are deleted before it.
//!
//! All run on one thread. Discovery lists the resources, and each has one metadata watch, which all controllers share; a new CRD adds a
//! watch. They write nothing when there is nothing to do. All of their state comes from these watches: killed at any
//! point and restarted, they converge.
//!
//! The scenarios of `crates/rig/tests/controllers` run on a real API server with kube-controller-manager and with these controllers,
//! which are also killed repeatedly; both have to end in the same state.

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
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use podium_client::Client;
use podium_controller::log::Log;
use podium_controller::manager;
use podium_controller::{Controller, Manager, Reconciler, WorkQueue};
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

/// Runs all controllers on the calling thread until `stop` resolves.
pub async fn run(client: Client, options: Options, stop: impl Future<Output = ()>) {
    let manager_options =
        manager::Options { identity: String::new(), ..manager::Options::new("garbage-collector-controller") };
    let manager = Manager::new(client, &manager_options, options.log.clone());
    let world = World::new(&manager, options);
    // Without servers and leader election a manager has no reason to fail.
    let _ = manager.clone().run(manager_options, work(manager, world), stop).await;
}

async fn work(manager: Rc<Manager>, world: Rc<World>) -> Infallible {
    let mut pause = PAUSES.0;
    while let Err(error) = world.refresh().await {
        manager.log.error(&error.to_string(), &[("work", &"kinds")]);
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
    let (many, few) = WORKERS;
    let queues = &world.queues;
    start(&manager, &queues.garbage, many, collect::GarbageCollector(world.clone()));
    start(&manager, &queues.endings, few, namespaces::NamespaceTermination(world.clone()));
    start(&manager, &queues.homes, few, accounts::ServiceAccounts(world.clone()));
    start(&manager, &queues.tokens, few, tokens::ServiceAccountTokens(world.clone()));
    start(&manager, &queues.kept, few, protection::StorageProtection(world.clone()));
    start(&manager, &queues.definitions, few, definitions::CrdFinalizer(world.clone()));
    start(&manager, &queues.roles, 1, roles::ClusterRoleAggregation(world.clone()));
    start(&manager, &queues.kinds, 1, definitions::ResourceDiscovery(world.clone()));
    std::future::pending().await
}

/// Starts the workers of a controller.
fn start<R: Reconciler>(manager: &Manager, queue: &WorkQueue<R::Key>, workers: usize, reconciler: R) {
    let controller = Controller { name: String::new(), queue: queue.clone(), workers };
    manager.start_unmeasured(controller, Rc::new(reconciler));
}
