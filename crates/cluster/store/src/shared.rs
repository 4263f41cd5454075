//! What readers, watchers and the writer have in common.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::task::Waker;

use crate::kind::Kind;
use crate::{Error, Event, Revision};

/// The state in memory.
#[derive(Default)]
pub(crate) struct Shared {
    kinds: RwLock<HashMap<Arc<str>, Arc<Kind>>>,
    /// The newest revision that everybody may see.
    published: AtomicU64,
    /// What is before it was never read by this process.
    base: AtomicU64,
    pins: Mutex<BTreeMap<Revision, usize>>,
    history: Mutex<History>,
    live: AtomicU64,
    next_id: AtomicU64,
    /// Who waits for which revision.
    awaited: Mutex<HashMap<u64, (Revision, Waker)>>,
    closed: AtomicBool,
    trouble: Mutex<Option<Error>>,
}

#[derive(Default)]
struct History {
    /// What happened to whom, in the order of revisions.
    events: VecDeque<(Arc<Event>, Arc<Kind>)>,
    weight: usize,
}

impl Shared {
    /// A resource; it is there as soon as somebody asks for it.
    pub fn kind(&self, resource: &str) -> Arc<Kind> {
        let read = self.kinds.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(kind) = read.get(resource) {
            return kind.clone();
        }
        drop(read);
        let mut kinds = self.kinds.write().unwrap_or_else(PoisonError::into_inner);
        let base = self.base.load(Ordering::Acquire);
        let resource: Arc<str> = resource.into();
        kinds.entry(resource.clone()).or_insert_with(|| Arc::new(Kind::new(resource, base))).clone()
    }

    /// All resources, in the order of their names.
    pub fn kinds(&self) -> Vec<Arc<Kind>> {
        let mut kinds: Vec<_> =
            self.kinds.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        kinds.sort_by(|a, b| a.resource().cmp(b.resource()));
        kinds
    }

    /// Begins at the revision of a snapshot.
    pub fn begin_at(&self, revision: Revision) {
        self.base.store(revision, Ordering::Release);
        self.published.store(revision, Ordering::Release);
    }

    pub fn published(&self) -> Revision {
        self.published.load(Ordering::Acquire)
    }

    /// The revision before which no history is known of any resource.
    pub fn base(&self) -> Revision {
        self.base.load(Ordering::Acquire)
    }

    /// Everything up to this revision is in its place.
    pub fn publish(&self, revision: Revision) {
        self.published.store(revision, Ordering::Release);
        self.wake_up_to(revision);
    }

    /// Asks to be woken when a revision is there.
    pub fn await_revision(&self, id: u64, revision: Revision, waker: &Waker) {
        self.awaited().insert(id, (revision, waker.clone()));
    }

    /// Takes that back.
    pub fn forget_waiter(&self, id: u64) {
        self.awaited().remove(&id);
    }

    fn wake_up_to(&self, revision: Revision) {
        let woken: Vec<_> = self.awaited().extract_if(|_, (awaited, _)| *awaited <= revision).collect();
        for (_, (_, waker)) in woken {
            waker.wake();
        }
    }

    /// Makes a change that is certain visible, and remembers it.
    pub fn apply(&self, kind: &Arc<Kind>, event: Arc<Event>) {
        let size = |object: Option<&crate::Object>| object.map_or(0, |o| o.size() as u64);
        let (gone, come) = (size(event.before()), size(event.now()));
        self.live.fetch_add(come, Ordering::Relaxed);
        self.live.fetch_sub(gone, Ordering::Relaxed);
        let mut history = self.history();
        history.weight += event.weight();
        history.events.push_back((event.clone(), kind.clone()));
        kind.apply(event);
    }

    /// Counts an object of a snapshot.
    pub fn count_live(&self, bytes: usize) {
        self.live.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// How many bytes the newest objects have.
    pub fn live(&self) -> u64 {
        self.live.load(Ordering::Relaxed)
    }

    /// Forgets the oldest events beyond the limit, but for what somebody reads just now.
    pub fn trim(&self, limit: usize) {
        let mut history = self.history();
        while history.weight > limit {
            let pinned = self.pins().first_key_value().map(|(revision, _)| *revision);
            let Some((event, kind)) = history
                .events
                .pop_front_if(|(event, _)| pinned.is_none_or(|revision| event.revision() <= revision))
            else {
                return;
            };
            history.weight -= event.weight();
            kind.forget(event.revision());
        }
    }

    /// How many bytes the history keeps.
    pub fn history_bytes(&self) -> usize {
        self.history().weight
    }

    /// Keeps the history after a revision (the newest one, if none is named) until the pin is dropped.
    pub fn pin(self: &Arc<Self>, revision: Option<Revision>) -> Pin {
        let mut pins = self.pins();
        let revision = revision.unwrap_or_else(|| self.published());
        *pins.entry(revision).or_default() += 1;
        Pin { shared: self.clone(), revision }
    }

    /// A number that nobody else has.
    pub fn id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        for kind in self.kinds() {
            kind.wake(None);
        }
        self.wake_up_to(Revision::MAX);
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// What went wrong in the background and was not put right since.
    pub fn trouble(&self) -> MutexGuard<'_, Option<Error>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pins(&self) -> MutexGuard<'_, BTreeMap<Revision, usize>> {
        self.pins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn awaited(&self) -> MutexGuard<'_, HashMap<u64, (Revision, Waker)>> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps what happened after a revision.
pub(crate) struct Pin {
    shared: Arc<Shared>,
    revision: Revision,
}

impl Pin {
    pub fn revision(&self) -> Revision {
        self.revision
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut pins = self.shared.pins();
        if let Some(count) = pins.get_mut(&self.revision) {
            *count -= 1;
            if *count == 0 {
                pins.remove(&self.revision);
            }
        }
    }
}
