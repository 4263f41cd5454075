//! One entry of `watches.yaml` at work: what is remembered of its resources, and the queue of those to look at.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use podium_client::ObjectKey;
use podium_client::watch::WatchEvent;
use podium_controller::Informer;
use podium_controller::log::Log;
use podium_controller::work_queue::{Backoff, WorkQueue};
use podium_meta::{Kind, Resource};
use podium_project::watches::Watch;
use podium_serve::metrics::Gauge;
use serde_json::Value;
use tokio::sync::Notify;

use crate::card::{Card, Done, Held, heed};
use crate::chart::Chart;
use crate::custom::Custom;
use crate::missing::Missing;

/// The first and the longest pause after a failure.
const PAUSES: Backoff = Backoff { base: Duration::from_millis(500), cap: Duration::from_secs(300) };

/// One watch of resources: where it watches, and what the list under way has named.
#[derive(Debug, Default)]
pub struct Round {
    /// A namespace, or all.
    place: Option<String>,
    listed: HashSet<ObjectKey>,
}

impl Round {
    /// Of a watch that begins.
    pub fn of(place: Option<String>) -> Self {
        Self { place, ..Self::default() }
    }
}

/// What could not be brought about.
struct Failed {
    until: Instant,
    wish: u64,
    turn: u64,
    chart: String,
    /// The revision that is there meanwhile, and its objects.
    kept: (i64, Vec<Held>),
}

/// What handles the resources of one kind.
pub struct Controller {
    /// Its name in logs, metrics and Events.
    pub name: String,
    /// What `watches.yaml` says.
    pub watch: Watch,
    /// Where the resources are.
    pub resource: Resource,
    /// The chart that they are the values of, or why there is none.
    pub chart: RefCell<Result<Arc<Chart>, String>>,
    /// Those to look at.
    pub queue: WorkQueue<ObjectKey>,
    /// Where the releases of resources without a namespace are.
    pub home: String,
    cards: RefCell<HashMap<ObjectKey, Card>>,
    failed: RefCell<HashMap<ObjectKey, Failed>>,
    /// Wakes reconciles when what a resource wants has changed, or it is gone.
    pub changed: Notify,
    informers: RefCell<Vec<Informer>>,
    created: Gauge,
    missing: Rc<Missing>,
    log: Log,
}

impl Controller {
    /// For the resources of a watch.
    pub fn new(
        watch: Watch,
        resource: Resource,
        chart: Result<Arc<Chart>, String>,
        home: String,
        log: &Log,
        created: Gauge,
        missing: Rc<Missing>,
    ) -> Rc<Self> {
        let name = format!("{}-controller", watch.kind.kind.to_lowercase());
        Rc::new(Self {
            log: log.with("controller", &name),
            name,
            watch,
            resource,
            chart: RefCell::new(chart),
            queue: WorkQueue::new(PAUSES),
            home,
            cards: RefCell::default(),
            failed: RefCell::default(),
            changed: Notify::new(),
            informers: RefCell::default(),
            created,
            missing,
        })
    }

    /// Whether its resources have a namespace.
    pub fn namespaced(&self) -> bool {
        self.resource.namespaced
    }

    /// The chart, if it can be used.
    pub fn chart(&self) -> Result<Arc<Chart>, String> {
        self.chart.borrow().clone()
    }

    /// The hash of the chart; nothing when there is none.
    pub fn digest(&self) -> String {
        self.chart.borrow().as_ref().map(|chart| chart.digest.clone()).unwrap_or_default()
    }

    /// The namespace of a resource's release.
    pub fn place<'k>(&'k self, key: &'k ObjectKey) -> &'k str {
        key.namespace().unwrap_or(&self.home)
    }

    /// What is remembered of a resource.
    pub fn card(&self, key: &ObjectKey) -> Option<Card> {
        self.cards.borrow().get(key).cloned()
    }

    /// Changes what is remembered of a resource, if it is still there.
    pub fn change<T>(&self, key: &ObjectKey, change: impl FnOnce(&mut Card) -> T) -> Option<T> {
        self.cards.borrow_mut().get_mut(key).map(change)
    }

    /// Forgets a resource.
    pub fn forget(&self, key: &ObjectKey) {
        self.cards.borrow_mut().remove(key);
        self.failed.borrow_mut().remove(key);
        self.missing.set(&self.watch.kind, &key.to_string(), None);
        self.queue.forget(key);
        self.changed.notify_waiters();
    }

    /// Remembers that a resource cannot be brought about as it is now wanted, and until when it waits.
    pub fn remember_failure(&self, key: &ObjectKey) {
        let until = Instant::now() + self.queue.next_backoff(key);
        if let Some(Card { wish, turn, .. }) = self.card(key) {
            let chart = self.digest();
            let mut failed = self.failed.borrow_mut();
            let kept = failed.remove(key).map(|before| before.kept).unwrap_or_default();
            failed.insert(key.clone(), Failed { until, wish, turn, chart, kept });
        }
    }

    /// Forgets that.
    pub fn forget_failure(&self, key: &ObjectKey) {
        self.failed.borrow_mut().remove(key);
    }

    /// How long a resource that failed waits, unless something else is wanted now.
    pub fn still_waits(&self, key: &ObjectKey) -> Option<Duration> {
        let card = self.card(key)?;
        let failed = self.failed.borrow();
        let same = |failed: &&Failed| {
            (failed.wish, failed.turn) == (card.wish, card.turn) && failed.chart == self.digest()
        };
        let wait = failed.get(key).filter(same)?.until.saturating_duration_since(Instant::now());
        (!wait.is_zero()).then_some(wait)
    }

    /// What is known of the objects of a resource that failed: of a revision.
    pub fn kept(&self, key: &ObjectKey, revision: i64) -> Option<Vec<Held>> {
        let failed = self.failed.borrow();
        failed.get(key).filter(|failed| failed.kept.0 == revision).map(|failed| failed.kept.1.clone())
    }

    /// Remembers that.
    pub fn remember_kept(&self, key: &ObjectKey, revision: i64, mut held: Vec<Held>) {
        if let Some(failed) = self.failed.borrow_mut().get_mut(key) {
            heed(&mut held, &failed.kept.1);
            failed.kept = (revision, held);
        }
    }

    /// Looks at a resource: at what is wanted, or, as long as that failed and waits, at what is there.
    pub fn enqueue(&self, key: ObjectKey) {
        match self.still_waits(&key) {
            Some(_) => self.queue.add(key),
            None => self.queue.enqueue(key),
        }
    }

    /// Keeps an informer running as long as the controller.
    pub fn keep(&self, informer: Informer) {
        self.informers.borrow_mut().push(informer);
    }

    /// Takes an event of a watch of its resources in a place.
    pub fn take(&self, round: &mut Round, event: WatchEvent) {
        match event {
            WatchEvent::ListStarted => round.listed.clear(),
            WatchEvent::Applied(object) => {
                let custom = Custom(object);
                round.listed.insert(custom.key());
                self.seen(custom);
            }
            WatchEvent::Deleted(object) => {
                let key = ObjectKey::from_object(&object);
                self.cards.borrow_mut().remove(&key);
                self.failed.borrow_mut().remove(&key);
                self.missing.set(&self.watch.kind, &key.to_string(), None);
                self.created.remove(&self.labels(&key));
                self.queue.add(key);
                self.changed.notify_waiters();
            }
            WatchEvent::ListDone => {
                let listed = std::mem::take(&mut round.listed);
                let here =
                    |key: &ObjectKey| round.place.is_none() || round.place.as_deref() == key.namespace();
                self.cards.borrow_mut().retain(|key, _| !here(key) || listed.contains(key));
                self.changed.notify_waiters();
            }
            WatchEvent::TooDeep(key) => {
                self.log.error("the resource is nested too deeply", &[("resource", &key)])
            }
            WatchEvent::Failing(trouble) => {
                self.log.error(&trouble.message, &[]);
                self.missing.trouble(&self.watch.kind, round.place.as_deref().unwrap_or_default(), &trouble);
            }
            WatchEvent::Recovered => {
                self.log.info("watching again", &[]);
                self.missing.well(&self.watch.kind, round.place.as_deref().unwrap_or_default());
            }
        }
    }

    fn labels<'k>(&'k self, key: &'k ObjectKey) -> [&'k str; 5] {
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
        card.version = custom.number();
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
            self.changed.notify_waiters();
        }
    }

    /// An object of a resource is gone.
    pub fn lose(&self, key: &ObjectKey, kind: &Kind, object: &ObjectKey, version: u64) {
        let lose = |held: &mut Held| {
            let named = &held.named;
            let same =
                named.kind == *kind && ObjectKey::new(named.namespace.as_deref(), &named.name) == *object;
            if same && version >= held.version {
                held.lost = Some(version);
            }
        };
        self.change(key, |card| {
            card.done.iter_mut().flat_map(|done| &mut done.held).for_each(lose);
        });
        if let Some(failed) = self.failed.borrow_mut().get_mut(key) {
            failed.kept.1.iter_mut().for_each(lose);
        }
    }

    /// The resources that have an object.
    pub fn holders(&self, kind: &Kind, object: &ObjectKey) -> Vec<ObjectKey> {
        let holds = |done: &Done| {
            done.held.iter().any(|held| {
                held.named.kind == *kind
                    && ObjectKey::new(held.named.namespace.as_deref(), &held.named.name) == *object
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
    pub fn lose_unlisted(&self, kind: &Kind, place: Option<&str>, listed: &dyn Fn(&ObjectKey) -> bool) {
        let lose = |held: &mut Held| {
            let named = &held.named;
            let here = named.kind == *kind && (place.is_none() || place == named.namespace.as_deref());
            if here && !listed(&ObjectKey::new(named.namespace.as_deref(), &named.name)) {
                held.lost = held.lost.max(Some(held.version));
            }
        };
        for card in self.cards.borrow_mut().values_mut() {
            card.done.iter_mut().flat_map(|done| &mut done.held).for_each(lose);
        }
        for failed in self.failed.borrow_mut().values_mut() {
            failed.kept.1.iter_mut().for_each(lose);
        }
    }

    /// A record of a release changed; or the revision is gone that it had.
    pub fn record_changed(&self, release: &ObjectKey, gone: Option<i64>) {
        let mut cards = self.cards.borrow_mut();
        let same =
            |key: &ObjectKey| key.name() == release.name() && release.namespace() == Some(self.place(key));
        if let Some((key, card)) = cards.iter_mut().find(|(key, _)| same(key)) {
            if card.done.as_ref().is_some_and(|done| gone == Some(done.revision)) {
                card.turn += 1;
            }
            let key = key.clone();
            drop(cards);
            self.enqueue(key);
        }
    }

    /// Looks at the resource of a release at once, whatever became of it before.
    pub fn wake_release(&self, release: &ObjectKey) {
        let same =
            |key: &&ObjectKey| key.name() == release.name() && release.namespace() == Some(self.place(key));
        for key in self.cards.borrow().keys().filter(same) {
            self.failed.borrow_mut().remove(key);
            self.queue.forget(key);
            self.queue.add(key.clone());
        }
    }

    /// Looks at all resources.
    pub fn wake_all(&self) {
        self.cards.borrow().keys().for_each(|key| self.queue.add(key.clone()));
    }

    /// Looks at all resources; of those that wait because they failed, at what is there.
    pub fn enqueue_all(&self) {
        let keys: Vec<ObjectKey> = self.cards.borrow().keys().cloned().collect();
        keys.into_iter().for_each(|key| self.enqueue(key));
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
