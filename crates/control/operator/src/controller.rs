//! One entry of `watches.yaml` at work: what is remembered of its resources, and the queue of those to look at.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::Duration;

use podium_objects::{Kind, Resource};
use podium_project::watches::Watch;
use podium_runtime::Key;
use podium_runtime::log::Log;
use podium_runtime::queue::{Backoff, Queue};
use podium_runtime::watch::Event;
use podium_serve::metrics::Gauge;
use serde_json::Value;

use crate::card::{Card, Done};
use crate::chart::Chart;
use crate::custom::Custom;

/// The first and the longest pause after a failure.
const PAUSES: Backoff = Backoff { base: Duration::from_millis(500), cap: Duration::from_secs(300) };

/// One watch of resources: where it watches, and what the list under way has named.
#[derive(Debug, Default)]
pub struct Round {
    /// A namespace, or all.
    place: Option<String>,
    listed: HashSet<Key>,
    complete: bool,
}

impl Round {
    /// Of a watch that begins.
    pub fn of(place: Option<String>) -> Self {
        Self { place, ..Self::default() }
    }
}

/// What handles the resources of one kind.
pub struct Controller {
    /// Its name in logs, metrics and Events.
    pub name: String,
    /// What `watches.yaml` says.
    pub watch: Watch,
    /// Where the resources are.
    pub resource: Resource,
    /// The chart that they are the values of.
    pub chart: RefCell<Rc<Chart>>,
    /// Those to look at.
    pub queue: Queue<Key>,
    /// Where the releases of resources without a namespace are.
    pub home: String,
    cards: RefCell<HashMap<Key, Card>>,
    /// How many of its watches have not seen a whole list yet.
    incomplete: Cell<usize>,
    created: Gauge,
    log: Log,
}

impl Controller {
    /// For the resources of a watch.
    pub fn new(
        watch: Watch,
        resource: Resource,
        chart: Rc<Chart>,
        home: String,
        log: &Log,
        created: Gauge,
    ) -> Rc<Self> {
        let name = format!("{}-controller", watch.kind.kind.to_lowercase());
        Rc::new(Self {
            log: log.with("controller", &name),
            name,
            watch,
            resource,
            chart: RefCell::new(chart),
            queue: Queue::new(PAUSES),
            home,
            cards: RefCell::default(),
            incomplete: Cell::new(usize::MAX),
            created,
        })
    }

    /// Whether its resources have a namespace.
    pub fn namespaced(&self) -> bool {
        self.resource.namespaced
    }

    /// The namespace of a resource's release.
    pub fn place<'k>(&'k self, key: &'k Key) -> &'k str {
        key.namespace().unwrap_or(&self.home)
    }

    /// Whether all resources are known.
    pub fn is_complete(&self) -> bool {
        self.incomplete.get() == 0
    }

    /// What is remembered of a resource.
    pub fn card(&self, key: &Key) -> Option<Card> {
        self.cards.borrow().get(key).cloned()
    }

    /// Changes what is remembered of a resource, if it is still there.
    pub fn change<T>(&self, key: &Key, change: impl FnOnce(&mut Card) -> T) -> Option<T> {
        self.cards.borrow_mut().get_mut(key).map(change)
    }

    /// Forgets a resource.
    pub fn forget(&self, key: &Key) {
        self.cards.borrow_mut().remove(key);
        self.queue.forget(key);
    }

    /// Says how many watches there will be.
    pub fn expect(&self, watches: usize) {
        self.incomplete.set(watches);
    }

    /// Takes an event of a watch of its resources in a place.
    pub fn take(&self, round: &mut Round, event: Event) {
        match event {
            Event::Begin => round.listed.clear(),
            Event::Applied(object) => {
                let custom = Custom(object);
                round.listed.insert(custom.key());
                self.seen(custom);
            }
            Event::Deleted(object) => {
                let key = Key::of(&object);
                self.cards.borrow_mut().remove(&key);
                self.created.remove(&self.labels(&key));
                self.queue.add(key);
            }
            Event::End => {
                let listed = std::mem::take(&mut round.listed);
                let here = |key: &Key| round.place.is_none() || round.place.as_deref() == key.namespace();
                self.cards.borrow_mut().retain(|key, _| !here(key) || listed.contains(key));
                if !std::mem::replace(&mut round.complete, true) {
                    self.incomplete.set(self.incomplete.get().saturating_sub(1));
                }
            }
            Event::Broken(key) => self.log.error("the resource is nested too deeply", &[("resource", &key)]),
            Event::Trouble(trouble) => self.log.error(&trouble.message, &[]),
            Event::Well => self.log.info("watching again", &[]),
        }
    }

    fn labels<'k>(&'k self, key: &'k Key) -> [&'k str; 5] {
        let Kind { group, version, kind } = &self.watch.kind;
        [key.name(), key.namespace().unwrap_or_default(), group, version, kind]
    }

    fn seen(&self, custom: Custom) {
        // The server has chosen already; what it no longer chooses is somebody else's.
        if !self.watch.selector.matches(&custom.labels()) {
            self.forget(&custom.key());
            return;
        }
        let key = custom.key();
        let wish = custom.wish();
        self.created.set(&self.labels(&key), custom.created());
        let mut cards = self.cards.borrow_mut();
        let card = cards.entry(key.clone()).or_default();
        let news = card.wish != wish;
        card.wish = wish;
        card.labels = custom.labels();
        card.status = custom.status();
        // Back to what was done already: nothing is to be done, and it is observed.
        if let Some(done) = card.done.as_mut().filter(|done| done.wish == wish) {
            done.generation = custom.generation();
        }
        card.body = news.then(|| Box::new(custom.0));
        drop(cards);
        if news {
            // A new wish is worth a try at once, whatever became of the old one.
            self.queue.forget(&key);
            self.queue.add(key);
        }
    }

    /// An object of a resource is gone.
    pub fn lose(&self, key: &Key, kind: &Kind, object: &Key, version: u64) {
        self.change(key, |card| {
            for held in card.done.iter_mut().flat_map(|done| &mut done.held) {
                let named = &held.named;
                let same =
                    named.kind == *kind && Key::new(named.namespace.as_deref(), &named.name) == *object;
                if same && version >= held.version {
                    held.lost = true;
                }
            }
        });
    }

    /// The resources that have an object.
    pub fn holders(&self, kind: &Kind, object: &Key) -> Vec<Key> {
        let holds = |done: &Done| {
            done.held.iter().any(|held| {
                held.named.kind == *kind
                    && Key::new(held.named.namespace.as_deref(), &held.named.name) == *object
            })
        };
        let cards = self.cards.borrow();
        cards
            .iter()
            .filter(|(_, card)| card.done.as_ref().is_some_and(holds))
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// What a list of objects in a place has not named is lost.
    pub fn lose_unlisted(&self, kind: &Kind, place: Option<&str>, listed: &dyn Fn(&Key) -> bool) {
        for card in self.cards.borrow_mut().values_mut() {
            for held in card.done.iter_mut().flat_map(|done| &mut done.held) {
                let named = &held.named;
                let here = named.kind == *kind && (place.is_none() || place == named.namespace.as_deref());
                if here && !listed(&Key::new(named.namespace.as_deref(), &named.name)) {
                    held.lost = true;
                }
            }
        }
    }

    /// A record of a release changed; or the revision is gone that it had.
    pub fn record_changed(&self, release: &Key, gone: Option<i64>) {
        let mut cards = self.cards.borrow_mut();
        let same = |key: &Key| key.name() == release.name() && release.namespace() == Some(self.place(key));
        if let Some((key, card)) = cards.iter_mut().find(|(key, _)| same(key)) {
            if card.done.as_ref().is_some_and(|done| gone == Some(done.revision)) {
                card.turn += 1;
            }
            self.queue.nudge(key.clone());
        }
    }

    /// Looks at the resource of a release at once, whatever became of it before.
    pub fn wake_release(&self, release: &Key) {
        let same = |key: &&Key| key.name() == release.name() && release.namespace() == Some(self.place(key));
        for key in self.cards.borrow().keys().filter(same) {
            self.queue.forget(key);
            self.queue.add(key.clone());
        }
    }

    /// Looks at all resources.
    pub fn wake_all(&self) {
        self.cards.borrow().keys().for_each(|key| self.queue.add(key.clone()));
    }

    /// Looks at all resources that do not wait because they failed.
    pub fn nudge_all(&self) {
        self.cards.borrow().keys().for_each(|key| self.queue.nudge(key.clone()));
    }

    /// Looks at all resources of a namespace.
    pub fn wake(&self, namespace: Option<&str>) {
        let cards = self.cards.borrow();
        cards.keys().filter(|key| key.namespace() == namespace).for_each(|key| self.queue.add(key.clone()));
    }

    /// The versions of the objects that values come from changed: they have to be read again.
    pub fn sources_changed(&self, object: &Value) {
        let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
        let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
        let mut wake = false;
        for (key, card) in self.cards.borrow_mut().iter_mut() {
            let known = |done: &Done| done.sources.iter().any(|source| source == version);
            if key.namespace() == namespace && !card.done.as_ref().is_some_and(known) {
                card.turn += 1;
                wake = true;
            }
        }
        if wake {
            self.wake(namespace);
        }
    }
}
