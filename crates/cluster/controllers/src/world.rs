//! Everything that the controllers know and share: the watches, the graph, the queues.
//!
//! ```text
//!  discovery ──▶ a watch per kind, metadata only ──▶ graph ──▶ collect
//!      ▲                     │
//!      └── definitions ◀─────┼──▶ namespaces, accounts, tokens, protection, roles
//! ```

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::hash::Hash;
use std::rc::Rc;
use std::time::Duration;

use podium_client::client::{Error, Representation};
use podium_client::watch::{ListWatch, WatchEvent, WatchFailureKind};
use podium_client::{Client, ObjectKey};
use podium_controller::events::{EventRecorder, EventType, ObjectReference};
use podium_controller::work_queue::{Backoff, ReconcileResult, WorkQueue};
use podium_controller::{Informer, Manager};
use podium_meta::Resource;
use serde_json::Value;

use crate::Options;
use crate::accounts::Accounts;
use crate::catalog::{Catalog, Served, Verb};
use crate::definitions::Definitions;
use crate::graph::{Graph, Number, Todo};
use crate::meta::{Meta, text};
use crate::namespaces::Namespaces;
use crate::protection::{Kept, Protection};
use crate::tokens::Tokens;
use crate::uid::Uid;

/// How long an owner that was not heard of is waited for, and orphans that may have been made just before.
const UNHEARD: Duration = Duration::from_millis(250);
/// How long changes of kinds are gathered before the server is asked for them.
const GATHER: Duration = Duration::from_millis(20);
/// The same for changes of roles.
const ROLES: Duration = Duration::from_millis(20);
/// The waits after failures.
const BACKOFF: Backoff = Backoff { base: Duration::from_millis(25), cap: Duration::from_secs(30) };

/// A kind that is watched.
struct Watched {
    served: Served,
    number: Number,
    /// Ends its watch when the resource is no longer served.
    _informer: Informer,
    state: Rc<State>,
}

#[derive(Default)]
struct State {
    /// Nothing is heard of it.
    trouble: Cell<bool>,
    /// It takes no strategic patches.
    plain: Cell<bool>,
}

/// To whom a kind matters beside the garbage collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// To nobody.
    None,
    /// Namespaces.
    Namespaces,
    /// Service accounts.
    Accounts,
    /// The maps with the root certificate.
    Maps,
    /// The secrets with tokens.
    Secrets,
    /// Claims of storage and volumes.
    Kept(Kept),
    /// Pods, which have claims.
    Pods,
    /// Roles of the cluster.
    Roles,
    /// Definitions of kinds.
    Definitions,
    /// Other servers' groups.
    Services,
}

impl Interest {
    fn of(served: &Served) -> Self {
        let table = [
            ("", "namespaces", Interest::Namespaces),
            ("", "serviceaccounts", Interest::Accounts),
            ("", "configmaps", Interest::Maps),
            ("", "secrets", Interest::Secrets),
            ("", "persistentvolumeclaims", Interest::Kept(Kept::Claim)),
            ("", "persistentvolumes", Interest::Kept(Kept::Volume)),
            ("", "pods", Interest::Pods),
            ("rbac.authorization.k8s.io", "clusterroles", Interest::Roles),
            ("apiextensions.k8s.io", "customresourcedefinitions", Interest::Definitions),
            ("apiregistration.k8s.io", "apiservices", Interest::Services),
        ];
        let found = table.iter().find(|(group, plural, _)| served.is(group, plural));
        found.map_or(Interest::None, |(_, _, interest)| *interest)
    }
}

/// The queues of the controllers.
pub struct Queues {
    /// Objects that may be garbage.
    pub garbage: WorkQueue<Uid>,
    /// Namespaces that end.
    pub endings: WorkQueue<Rc<str>>,
    /// Namespaces that need accounts and certificates.
    pub homes: WorkQueue<Rc<str>>,
    /// Secrets with tokens.
    pub tokens: WorkQueue<ObjectKey>,
    /// Claims and volumes that are deleted.
    pub kept: WorkQueue<(Kept, ObjectKey)>,
    /// All roles.
    pub roles: WorkQueue<()>,
    /// Definitions that end.
    pub definitions: WorkQueue<Rc<str>>,
    /// All kinds.
    pub kinds: WorkQueue<()>,
}

/// What the controllers know and share.
pub struct World {
    /// The API.
    pub client: Client,
    /// How they run.
    pub options: Options,
    /// What they say about objects.
    pub recorder: EventRecorder,
    /// Who owns whom.
    pub graph: RefCell<Graph>,
    /// The queues.
    pub queues: Queues,
    /// Namespaces.
    pub namespaces: Namespaces,
    /// Accounts and certificates.
    pub accounts: Accounts,
    /// Tokens.
    pub tokens: Tokens,
    /// What is in use.
    pub protection: Protection,
    /// Definitions of kinds.
    pub definitions: Definitions,
    watched: RefCell<Vec<Watched>>,
    resources: RefCell<HashMap<Number, Resource>>,
    /// Objects that are looked at when everything has been listed.
    parked: RefCell<HashSet<Uid>>,
    /// The last question for kinds, and the last that was answered.
    asked: Cell<u64>,
    answered: Cell<u64>,
}

impl World {
    /// Of a cluster that has not been asked anything.
    pub fn new(manager: &Manager, options: Options) -> Rc<Self> {
        fn queue<K: Clone + Eq + Hash>() -> WorkQueue<K> {
            WorkQueue::new(BACKOFF)
        }
        Rc::new(Self {
            client: manager.client.clone(),
            options,
            recorder: manager.recorder.clone(),
            graph: RefCell::default(),
            queues: Queues {
                garbage: queue(),
                endings: queue(),
                homes: queue(),
                tokens: queue(),
                kept: queue(),
                roles: queue(),
                definitions: queue(),
                kinds: queue(),
            },
            namespaces: Namespaces::default(),
            accounts: Accounts::default(),
            tokens: Tokens::default(),
            protection: Protection::default(),
            definitions: Definitions::default(),
            watched: RefCell::default(),
            resources: RefCell::default(),
            parked: RefCell::default(),
            asked: Cell::default(),
            answered: Cell::default(),
        })
    }

    /// Asks for the kinds, watches those that are new and forgets those that are no more.
    pub async fn refresh(self: &Rc<Self>) -> Result<Catalog, Error> {
        let asked = self.asked.get() + 1;
        self.asked.set(asked);
        let catalog = Catalog::ask(&self.client).await?;
        // An answer that was overtaken by a newer one is old.
        if asked > self.answered.get() {
            self.answered.set(asked);
            self.follow(&catalog);
        }
        Ok(catalog)
    }

    /// Watches exactly the kinds that there are.
    fn follow(self: &Rc<Self>, catalog: &Catalog) {
        let all = [Verb::List, Verb::Watch, Verb::Delete];
        // What happened to an object owns nothing and is owned by nothing.
        let wanted =
            |served: &&Served| all.iter().all(|verb| served.can(*verb)) && served.resource.plural != "events";
        let mut dropped = Vec::new();
        self.watched.borrow_mut().retain(|watched| {
            let kind = &watched.served.resource;
            let now = catalog.find(&kind.kind.group, &kind.plural).filter(wanted);
            let stays = match now {
                Some(now) => now.resource == *kind,
                None => catalog.is_stale(&kind.kind.group),
            };
            if !stays {
                // A kind in another version is the same kind.
                dropped.extend(now.is_none().then_some(watched.number));
            }
            stays
        });
        for number in dropped {
            let todo = self.graph.borrow_mut().drop_kind(number);
            self.queue(todo);
        }
        for served in catalog.served.iter().filter(wanted) {
            let same = |watched: &Watched| watched.served.resource == served.resource;
            if !self.watched.borrow().iter().any(same) {
                self.watch(served);
            }
        }
        self.unpark();
    }

    fn watch(self: &Rc<Self>, served: &Served) {
        let resource = served.resource.clone();
        let number = self.graph.borrow_mut().add_kind(&resource.kind, resource.namespaced);
        self.resources.borrow_mut().insert(number, resource.clone());
        let state = Rc::new(State::default());
        let (world, handled, interest) = (self.clone(), resource.clone(), Interest::of(served));
        let handler_state = state.clone();
        let informer =
            Informer::start(&self.client, ListWatch::new(resource, Representation::Metadata), move |event| {
                world.take(&handled, number, interest, &handler_state, &event);
            });
        self.watched.borrow_mut().push(Watched {
            served: served.clone(),
            number,
            _informer: informer,
            state,
        });
    }

    /// Whether every kind that answers has been listed.
    pub fn is_listed(&self) -> bool {
        let graph = self.graph.borrow();
        let watched = self.watched.borrow();
        !watched.is_empty() && watched.iter().all(|w| w.state.trouble.get() || graph.is_complete(w.number))
    }

    /// Has an object looked at when everything has been listed.
    pub fn park(&self, uid: Uid) {
        self.parked.borrow_mut().insert(uid);
    }

    fn unpark(&self) {
        if self.is_listed() {
            self.parked.take().into_iter().for_each(|uid| self.queues.garbage.add(uid));
        }
    }

    /// The kinds that can be listed now.
    pub fn answering(&self) -> Vec<(Number, Resource)> {
        let watched = self.watched.borrow();
        let answering = watched.iter().filter(|watched| !watched.state.trouble.get());
        answering.map(|watched| (watched.number, watched.served.resource.clone())).collect()
    }

    /// Where the objects of a kind are.
    pub fn resource(&self, number: Number) -> Option<Resource> {
        self.resources.borrow().get(&number).cloned()
    }

    /// Whether a kind may take strategic patches.
    pub fn is_strategic(&self, number: Number) -> bool {
        self.watched.borrow().iter().any(|watched| watched.number == number && !watched.state.plain.get())
    }

    /// A kind takes no strategic patches.
    pub fn set_plain(&self, number: Number) {
        for watched in self.watched.borrow().iter().filter(|watched| watched.number == number) {
            watched.state.plain.set(true);
        }
    }

    /// Has objects looked at.
    pub fn queue(&self, todo: Todo) {
        todo.now.into_iter().for_each(|uid| self.queues.garbage.add(uid));
        todo.later.into_iter().for_each(|uid| self.queues.garbage.add_after(uid, UNHEARD));
        for (item, owner) in todo.astray {
            self.report_astray(item, owner);
        }
    }

    /// Says what went wrong; it is tried again.
    pub fn failed(&self, what: &str, name: impl Display, error: &Error) -> ReconcileResult {
        self.options.log.error(&error.to_string(), &[("work", &what), ("name", &name)]);
        ReconcileResult::Failed
    }

    fn take(
        &self,
        resource: &Resource,
        number: Number,
        interest: Interest,
        state: &State,
        event: &WatchEvent,
    ) {
        let todo = match event {
            WatchEvent::ListStarted => {
                self.graph.borrow_mut().begin(number);
                Todo::default()
            }
            WatchEvent::Applied(object) => self.graph.borrow_mut().apply(number, &Meta::of(object)),
            WatchEvent::Deleted(object) => {
                let uid = Uid::read(text(object, "/metadata/uid"));
                self.graph.borrow_mut().delete(number, uid)
            }
            WatchEvent::ListDone => {
                state.trouble.set(false);
                self.graph.borrow_mut().end(number)
            }
            WatchEvent::Failing(trouble) => {
                state.trouble.set(true);
                self.unpark();
                // A kind that goes is no trouble; whether it went is asked.
                match trouble.kind {
                    WatchFailureKind::NotFound => self.queues.kinds.enqueue_after((), GATHER),
                    _ => self.options.log.error(&trouble.message, &[("kind", &resource.kind)]),
                }
                return;
            }
            WatchEvent::Recovered => return state.trouble.set(false),
            WatchEvent::TooDeep(key) => {
                self.options
                    .log
                    .error("its metadata is too deep", &[("kind", &resource.kind), ("name", key)]);
                return;
            }
        };
        self.queue(todo);
        if matches!(event, WatchEvent::ListDone) {
            self.unpark();
        }
        self.tell(resource, interest, event);
    }

    /// Tells a change to whom it matters.
    fn tell(&self, resource: &Resource, interest: Interest, event: &WatchEvent) {
        match interest {
            Interest::None => {}
            Interest::Namespaces => self.namespaces.take(self, event),
            Interest::Accounts => self.accounts.take_account(self, event),
            Interest::Maps => self.accounts.take_map(self, event),
            Interest::Secrets => self.tokens.take(self, event),
            Interest::Kept(kept) => self.protection.take(self, kept, event),
            Interest::Pods => self.protection.take_pod(self, event),
            Interest::Roles if matches!(event, WatchEvent::ListStarted) => {}
            Interest::Roles => self.queues.roles.enqueue_after((), ROLES),
            Interest::Definitions => self.definitions.take(self, event),
            Interest::Services if matches!(event, WatchEvent::ListStarted | WatchEvent::ListDone) => {}
            Interest::Services => self.queues.kinds.enqueue_after((), GATHER),
        }
        if let WatchEvent::Deleted(object) = event {
            self.namespaces.lost(self, text(object, "/metadata/namespace"));
            self.definitions.lost(self, resource);
        }
    }

    /// Says that an object names an owner that is not in its namespace.
    fn report_astray(&self, item: Uid, owner: Uid) {
        let graph = self.graph.borrow();
        let (Some(node), Some((kind, name))) = (graph.node(item), graph.reference(item, owner)) else {
            return;
        };
        let Some(resource) = self.resource(node.kind) else { return };
        let uid = |uid: Uid| uid.text().unwrap_or_default();
        let namespace = node.key.namespace().unwrap_or_default();
        let about = ObjectReference {
            api_version: resource.kind.api_version(),
            kind: resource.kind.kind.clone(),
            namespace: node.key.namespace().map(str::to_owned),
            name: node.key.name().to_owned(),
            uid: uid(item),
        };
        let message = format!(
            "ownerRef [{}/{}, namespace: {namespace}, name: {name}, uid: {}] does not exist in namespace {namespace:?}",
            kind.api_version(),
            kind.kind,
            uid(owner)
        );
        self.recorder.record(&about, EventType::Warning, "OwnerRefInvalidNamespace", &message);
    }
}

/// The object of an event about one object, and whether it is there.
pub fn object(event: &WatchEvent) -> Option<(&Value, bool)> {
    match event {
        WatchEvent::Applied(object) => Some((object, true)),
        WatchEvent::Deleted(object) => Some((object, false)),
        _ => None,
    }
}
