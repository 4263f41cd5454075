//! The writer: takes what is waiting, checks it, makes it certain with one synchronisation, and shows it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::disk::Disk;
use crate::kind::Kind;
use crate::log::Log;
use crate::shared::{Pin, Shared};
use crate::ticket::{Promise, Written};
use crate::{Draft, Error, Event, Key, Object, Options, Result, Revision, frame, snapshot};

/// What has to be so for a write to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Nothing; but what is to be removed has to be there.
    Any,
    /// The object is not there.
    Absent,
    /// The object is at this revision.
    At(Revision),
}

/// A write that waits.
pub(crate) struct Request {
    pub key: Key,
    pub expect: Expect,
    /// The new content; without one, the object is removed.
    pub draft: Option<Draft>,
    pub promise: Promise,
}

/// How many bytes are made certain at once, at most; one object may be larger.
const GROUP: usize = 4 << 20;

/// A write that was checked.
struct Change {
    kind: Arc<Kind>,
    event: Arc<Event>,
}

/// A snapshot that is due.
pub(crate) struct Due {
    number: u64,
    pin: Pin,
}

/// The only one who changes anything.
pub(crate) struct Committer {
    disk: Arc<dyn Disk>,
    shared: Arc<Shared>,
    log: Log,
    options: Options,
    revision: Revision,
    /// Bytes of log since the last snapshot, without the file that is being written.
    log_bytes: u64,
    compacting: Arc<AtomicBool>,
}

impl Committer {
    pub fn new(disk: Arc<dyn Disk>, shared: Arc<Shared>, log: Log, options: Options, log_bytes: u64) -> Self {
        let revision = shared.published();
        let log_bytes = log_bytes.saturating_sub(log.size());
        Self { disk, shared, log, options, revision, log_bytes, compacting: Arc::default() }
    }

    /// Makes all of these writes, or says of each why not.
    pub fn commit(&mut self, requests: Vec<Request>) -> Option<Due> {
        let mut requests = requests.into_iter().peekable();
        while requests.peek().is_some() {
            self.group(&mut requests);
        }
        self.shared.trim(self.options.history_bytes);
        self.turn_if_long()
    }

    /// Makes the writes of one group.
    fn group(&mut self, requests: &mut impl Iterator<Item = Request>) {
        let mut changes: Vec<Change> = Vec::new();
        let mut answers = Vec::new();
        let mut pending = HashMap::new();
        let mut records = Vec::new();
        let first = self.revision + 1;
        for request in requests {
            let outcome = self.check(&request, first + changes.len() as u64, &pending);
            answers.push((
                request.promise,
                outcome.as_ref().map(|change| change.event.clone()).map_err(Clone::clone),
            ));
            if let Ok(change) = outcome {
                match change.event.now() {
                    Some(object) => frame::put(&mut records, change.kind.resource(), object),
                    None => frame::delete(&mut records, change.kind.resource(), change.event.path()),
                }
                pending.insert(request.key, change.event.now().cloned());
                changes.push(change);
            }
            if records.len() >= GROUP {
                break;
            }
        }
        let certain = if changes.is_empty() { Ok(()) } else { self.log.append(first, &records) };
        if certain.is_ok() {
            self.show(&changes);
        }
        // Also who was refused was refused because of writes of this group, and is told only now.
        for (promise, outcome) in answers {
            promise.keep(certain.clone().and(outcome).map(|event| written(&event)));
        }
        if certain.is_ok() {
            wake(&changes);
        }
    }

    /// What a write comes to, if it may be made, after those of the group before it.
    fn check(
        &self,
        request: &Request,
        revision: Revision,
        pending: &HashMap<Key, Option<Object>>,
    ) -> Result<Change> {
        let key = || request.key.clone();
        let kind = self.shared.kind(request.key.resource());
        let path = request.key.path();
        let old = pending.get(&request.key).cloned().unwrap_or_else(|| kind.get(path));
        match (request.expect, &old) {
            (Expect::Absent, Some(_)) => return Err(Error::Exists { key: key() }),
            (Expect::At(_), None) => return Err(Error::Absent { key: key() }),
            (Expect::At(expected), Some(old)) if old.revision() != expected => {
                return Err(Error::Conflict { key: key(), expected, found: old.revision() });
            }
            _ => {}
        }
        let event = match (&request.draft, old) {
            (None, None) => return Err(Error::Absent { key: key() }),
            (None, Some(old)) => Event::removed(revision, old),
            (Some(draft), old) => {
                let unfit = |reason| Err(Error::Unfit { key: key(), reason });
                if draft.size() > self.options.object_bytes {
                    return unfit("it is larger than objects may be");
                }
                if path.is_empty() || path.len() > 4096 || request.key.resource().len() > 4096 {
                    return unfit("its name is empty or too long");
                }
                Event::put(revision, old, draft.finish(path, revision))
            }
        };
        Ok(Change { kind, event: Arc::new(event) })
    }

    /// Lets everybody see what is certain.
    fn show(&mut self, changes: &[Change]) {
        for change in changes {
            self.shared.apply(&change.kind, change.event.clone());
            self.revision = change.event.revision();
        }
        self.shared.publish(self.revision);
    }

    /// Begins a new file of the log when this one is long, and says when a snapshot is due: when there is as much log
    /// as there are objects, so that over time snapshots cost no more than the log itself.
    fn turn_if_long(&mut self) -> Option<Due> {
        let size = self.log.size();
        if size < self.options.segment_bytes {
            return None;
        }
        // When it fails, the next write tries again, and says so.
        self.log.turn(self.revision).ok()?;
        self.log_bytes += size;
        let enough = self.shared.live().max(self.options.compact_bytes);
        if self.log_bytes < enough || self.compacting.swap(true, Ordering::AcqRel) {
            return None;
        }
        self.log_bytes = 0;
        Some(Due { number: self.log.number(), pin: self.shared.pin(Some(self.revision)) })
    }

    /// What makes snapshots.
    pub fn compactor(&self) -> Compactor {
        Compactor {
            disk: self.disk.clone(),
            shared: self.shared.clone(),
            compacting: self.compacting.clone(),
        }
    }
}

/// Makes snapshots, beside the writer.
pub(crate) struct Compactor {
    disk: Arc<dyn Disk>,
    shared: Arc<Shared>,
    compacting: Arc<AtomicBool>,
}

impl Compactor {
    /// Writes one snapshot. When it fails the log just stays, and the next one is due when there is as much log again.
    pub fn run(&self, due: &Due) {
        let outcome = snapshot::write(&*self.disk, &self.shared, due.number, &due.pin);
        *self.shared.trouble() = outcome.err();
        self.compacting.store(false, Ordering::Release);
    }
}

fn written(event: &Event) -> Written {
    Written { revision: event.revision(), object: event.outcome().clone() }
}

fn wake(changes: &[Change]) {
    let mut kinds: Vec<&Arc<Kind>> = Vec::new();
    for change in changes {
        if !kinds.iter().any(|kind| Arc::ptr_eq(kind, &change.kind)) {
            kinds.push(&change.kind);
        }
    }
    for kind in kinds {
        let concerned = changes.iter().filter(|change| Arc::ptr_eq(kind, &change.kind));
        let paths: Vec<&str> = concerned.map(|change| change.event.path()).collect();
        kind.wake(Some(&paths));
    }
}
