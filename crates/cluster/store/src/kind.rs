//! The objects of one resource, what happened to them lately, and who waits for more.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::task::Waker;

use crate::object::Slot;
use crate::{Error, Event, Object, Result, Revision};

/// One resource. It costs nothing to others.
pub(crate) struct Kind {
    resource: Arc<str>,
    state: RwLock<State>,
    waiting: Mutex<HashMap<u64, Waiter>>,
}

struct State {
    objects: BTreeSet<Slot>,
    /// In the order of revisions.
    events: VecDeque<Arc<Event>>,
    /// The newest event that was forgotten.
    forgotten: Revision,
}

struct Waiter {
    prefix: Arc<str>,
    waker: Waker,
}

/// A part of a list, in the order of paths.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    pub prefix: &'a str,
    pub after: &'a str,
    pub revision: Revision,
}

impl Kind {
    pub fn new(resource: Arc<str>, forgotten: Revision) -> Self {
        let state = State { objects: BTreeSet::new(), events: VecDeque::new(), forgotten };
        Self { resource, state: RwLock::new(state), waiting: Mutex::default() }
    }

    pub fn resource(&self) -> &Arc<str> {
        &self.resource
    }

    /// The newest content of an object.
    pub fn get(&self, path: &str) -> Option<Object> {
        self.read().objects.get(path.as_bytes()).map(|slot| slot.0.clone())
    }

    /// The content of an object at a revision.
    pub fn get_at(&self, path: &str, revision: Revision) -> Result<Option<Object>> {
        let state = self.read();
        state.reaches(revision)?;
        let first = state.after(revision).find(|event| event.path() == path);
        Ok(match first {
            Some(event) => event.before().cloned(),
            None => state.objects.get(path.as_bytes()).map(|slot| slot.0.clone()),
        })
    }

    /// Objects at a revision, at most as many as asked for.
    pub fn part(&self, part: Part<'_>, most: usize) -> Result<Vec<Object>> {
        let mut objects = Vec::new();
        self.walk(part, |object| {
            objects.push(object.clone());
            objects.len() < most
        })?;
        Ok(objects)
    }

    /// How many objects there are at a revision.
    pub fn count(&self, part: Part<'_>) -> Result<usize> {
        let mut count = 0;
        self.walk(part, |_| {
            count += 1;
            true
        })?;
        Ok(count)
    }

    /// Goes through the objects of a revision: those of now, with everything since then undone.
    fn walk(&self, part: Part<'_>, mut each: impl FnMut(&Object) -> bool) -> Result<()> {
        let state = self.read();
        state.reaches(part.revision)?;
        let all = part.prefix.is_empty();
        let inside = |path: &str| path.starts_with(part.prefix);
        let mut undone: BTreeMap<&str, Option<&Object>> = BTreeMap::new();
        for event in state.after(part.revision) {
            if inside(event.path()) && event.path() > part.after {
                undone.entry(event.path()).or_insert(event.before());
            }
        }
        let start =
            if part.after < part.prefix { Bound::Included(part.prefix) } else { Bound::Excluded(part.after) };
        let range = (start.map(str::as_bytes), Bound::Unbounded);
        let mut undone = undone.into_iter().peekable();
        let of_part = |slot: &&Slot| all || slot.0.path_bytes().starts_with(part.prefix.as_bytes());
        for slot in state.objects.range::<[u8], _>(range).take_while(of_part) {
            while let Some((_, old)) = undone.next_if(|(path, _)| *path < slot.0.path()) {
                if old.is_some_and(|old| !each(old)) {
                    return Ok(());
                }
            }
            let object = match undone.next_if(|(path, _)| *path == slot.0.path()) {
                Some((_, old)) => old,
                None => Some(&slot.0),
            };
            if object.is_some_and(|object| !each(object)) {
                return Ok(());
            }
        }
        for (_, old) in undone {
            if old.is_some_and(|old| !each(old)) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes an object of a snapshot, which has no history.
    pub fn load(&self, object: Object) {
        self.write().objects.insert(Slot(object));
    }

    /// Makes a change that is certain.
    pub fn apply(&self, event: Arc<Event>) {
        let mut state = self.write();
        match event.now() {
            Some(new) => drop(state.objects.replace(Slot(new.clone()))),
            None => drop(state.objects.remove(event.path().as_bytes())),
        }
        state.events.push_back(event);
    }

    /// Forgets the oldest event, if it is that old.
    pub fn forget(&self, revision: Revision) {
        let mut state = self.write();
        while let Some(event) = state.events.pop_front_if(|event| event.revision() <= revision) {
            state.forgotten = event.revision();
        }
    }

    /// The oldest revision that can be asked for.
    pub fn oldest(&self) -> Revision {
        self.read().forgotten
    }

    /// Events after a revision whose paths begin so, and whether there were too many to give all of them.
    pub fn events(&self, prefix: &str, after: Revision, most: usize) -> Result<Vec<Arc<Event>>> {
        let state = self.read();
        state.reaches(after)?;
        Ok(state.after(after).filter(|e| e.path().starts_with(prefix)).take(most).cloned().collect())
    }

    /// Asks to be woken by the next event whose path begins so.
    pub fn wait(&self, id: u64, prefix: &Arc<str>, waker: &Waker) {
        let mut waiting = self.waiting();
        match waiting.get_mut(&id) {
            Some(waiter) => waiter.waker.clone_from(waker),
            None => {
                waiting.insert(id, Waiter { prefix: prefix.clone(), waker: waker.clone() });
            }
        }
    }

    /// Takes that back.
    pub fn leave(&self, id: u64) {
        self.waiting().remove(&id);
    }

    /// Wakes who waits for one of these paths; without paths, everybody.
    pub fn wake(&self, paths: Option<&[&str]>) {
        let concerned = |waiter: &Waiter| {
            paths.is_none_or(|paths| paths.iter().any(|path| path.starts_with(&*waiter.prefix)))
        };
        let woken: Vec<_> = self.waiting().extract_if(|_, waiter| concerned(waiter)).collect();
        for (_, waiter) in woken {
            waiter.waker.wake();
        }
    }

    /// How many objects there are, and how many bytes they have.
    pub fn totals(&self) -> (usize, usize) {
        let state = self.read();
        (state.objects.len(), state.objects.iter().map(|slot| slot.0.size()).sum())
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, Waiter>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn reaches(&self, revision: Revision) -> Result<()> {
        if revision < self.forgotten {
            return Err(Error::Compacted { asked: revision, oldest: self.forgotten });
        }
        Ok(())
    }

    fn after(&self, revision: Revision) -> impl Iterator<Item = &Arc<Event>> {
        let from = self.events.partition_point(|event| event.revision() <= revision);
        self.events.range(from..)
    }
}
