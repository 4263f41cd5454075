//! The server itself: its store, and what it serves at the moment.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use podium_rbac::User;
use podium_rbac::token::{Claims, Ref};
use podium_store::Store;
use serde_json::Value;

use crate::custom::Custom;
use crate::follow::{Follower, News};
use crate::guard::Guard;
use crate::served::Served;

/// Where definitions of kinds are in the store.
pub const DEFINITIONS: &str = "apiextensions.k8s.io/customresourcedefinitions";

/// Who asks.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Who it is.
    pub user: User,
}

/// A server of the API; a copy is the same one.
#[derive(Clone)]
pub struct Api(Arc<Inner>);

struct Inner {
    store: Store,
    served: RwLock<Arc<Served>>,
    definitions: Mutex<Definitions>,
    guard: Guard,
    /// Only one Service at a time gets addresses.
    services: Arc<tokio::sync::Mutex<()>>,
}

struct Definitions {
    follower: Follower,
    known: BTreeMap<String, Arc<Custom>>,
}

impl Api {
    /// Over a store, with somebody who knows who may do what.
    pub fn new(store: Store, guard: Guard) -> Self {
        let follower = Follower::new(&store, DEFINITIONS);
        Self(Arc::new(Inner {
            served: RwLock::new(Arc::new(Served::new(Vec::new()))),
            definitions: Mutex::new(Definitions { follower, known: BTreeMap::new() }),
            services: Arc::default(),
            store,
            guard,
        }))
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// Who knows who may do what.
    pub fn guard(&self) -> &Guard {
        &self.0.guard
    }

    /// The lock of those who give addresses to Services.
    pub fn services(&self) -> &Arc<tokio::sync::Mutex<()>> {
        &self.0.services
    }

    /// A token for a Secret of a service account: it does not expire.
    ///
    /// # Errors
    /// When nothing can be signed.
    pub fn sign_for_secret(
        &self,
        namespace: &str,
        account: (&str, &str),
        secret: &str,
    ) -> Result<String, String> {
        let account = Ref { name: account.0.to_owned(), uid: account.1.to_owned() };
        let claims = Claims::legacy(namespace, account, secret);
        self.guard().issuer().sign(&claims).map_err(|error| error.to_string())
    }

    /// What is served now, with everything that was defined so far.
    pub fn served(&self) -> Arc<Served> {
        let mut definitions = self.0.definitions.lock().unwrap_or_else(PoisonError::into_inner);
        let Definitions { follower, known } = &mut *definitions;
        let changed = follower.catch_up(|news| match news {
            News::Restart => known.clear(),
            News::Gone(object) => drop(known.remove(object.name())),
            News::Put(object) => {
                let definition: Value = serde_json::from_slice(object.body()).unwrap_or_default();
                // One that cannot be served is none; its conditions say so.
                match is_established(&definition).then(|| Custom::new(definition)) {
                    Some(Ok(custom)) => drop(known.insert(object.name().to_owned(), Arc::new(custom))),
                    _ => drop(known.remove(object.name())),
                }
            }
        });
        if changed {
            let served = Arc::new(Served::new(known.values().cloned().collect()));
            *self.0.served.write().unwrap_or_else(PoisonError::into_inner) = served;
        }
        Arc::clone(&self.0.served.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whether a kind's names are its own and it is served.
fn is_established(definition: &Value) -> bool {
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        let is = |key: &str, value: &str| condition.get(key).and_then(Value::as_str) == Some(value);
        is("type", "Established") && is("status", "True")
    })
}
