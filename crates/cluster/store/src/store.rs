//! The store as a whole.

use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crate::commit::{Committer, Request};
use crate::disk::{Directory, Disk};
use crate::recover::{Recovery, recover};
use crate::shared::Shared;
use crate::ticket::{Ticket, ticket};
use crate::{Collection, Draft, Error, Expect, Key, Reach, Result, Revision};

/// How a store is run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether writes and snapshots have threads of their own, so that many writers share one synchronisation. Without
    /// them everything happens in the call, in an order that can be repeated.
    pub threads: bool,
    /// How many bytes of past contents are kept for watches and lists of past revisions.
    pub history_bytes: usize,
    /// How long a file of the log becomes.
    pub segment_bytes: u64,
    /// How much log there is, at least, before a snapshot is made.
    pub compact_bytes: u64,
    /// How large an object may be.
    pub object_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: true,
            history_bytes: 16 << 20,
            segment_bytes: 4 << 20,
            compact_bytes: 8 << 20,
            object_bytes: 8 << 20,
        }
    }
}

/// What the store holds.
#[derive(Debug, Clone)]
pub struct Stats {
    /// The newest revision.
    pub revision: Revision,
    /// How many objects there are.
    pub objects: usize,
    /// How many bytes they have.
    pub bytes: usize,
    /// How many bytes of past contents are kept.
    pub history_bytes: usize,
    /// Why the last snapshot could not be made, if so. Writes go on, and the log grows.
    pub trouble: Option<Error>,
}

/// A durable sequence of revisions. Copies are the same store; it is closed when the last one is dropped, and what was
/// submitted before that is still written.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    recovery: Recovery,
    writer: Writer,
}

enum Writer {
    Here(Mutex<Committer>),
    Thread { queue: Arc<Queue>, writes: Option<JoinHandle<()>>, snapshots: Option<JoinHandle<()>> },
}

#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

#[derive(Default)]
struct Waiting {
    requests: Vec<Request>,
    closed: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// Opens the store in a directory, and makes it if it is not there.
    ///
    /// # Errors
    /// When the directory is somebody else's or in use, or a file is damaged, missing or from a newer version.
    pub fn open(path: impl Into<PathBuf>, options: Options) -> Result<Self> {
        Self::on(Arc::new(Directory::open(path)?), options)
    }

    /// Opens the store on any disk.
    ///
    /// # Errors
    /// When a file cannot be read or is damaged, missing or from a newer version.
    pub fn on(disk: Arc<dyn Disk>, options: Options) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let (log, recovery) = recover(&disk, &shared, &options)?;
        let threads = options.threads;
        let committer = Committer::new(disk, shared.clone(), log, options, recovery.log_bytes);
        let writer = if threads { start(committer)? } else { Writer::Here(Mutex::new(committer)) };
        Ok(Self(Arc::new(Inner { shared, recovery, writer })))
    }

    /// What was found when the store was opened.
    pub fn recovery(&self) -> &Recovery {
        &self.0.recovery
    }

    /// The newest revision.
    pub fn revision(&self) -> Revision {
        self.0.shared.published()
    }

    /// Waits until a revision is there.
    pub fn reach(&self, revision: Revision) -> Reach {
        Reach::new(self.0.shared.clone(), revision)
    }

    /// A resource, for reading.
    pub fn collection(&self, resource: &str) -> Collection {
        let shared = &self.0.shared;
        Collection::new(shared.clone(), shared.kind(resource))
    }

    /// Writes an object.
    pub fn put(&self, key: Key, expect: Expect, draft: Draft) -> Ticket {
        let (promise, ticket) = ticket();
        self.submit(vec![Request { key, expect, draft: Some(draft), promise }]);
        ticket
    }

    /// Removes an object.
    pub fn delete(&self, key: Key, expect: Expect) -> Ticket {
        let (promise, ticket) = ticket();
        self.submit(vec![Request { key, expect, draft: None, promise }]);
        ticket
    }

    /// Writes or removes several objects, each for itself, one after the other; they share a synchronisation.
    pub fn all(&self, writes: impl IntoIterator<Item = (Key, Expect, Option<Draft>)>) -> Vec<Ticket> {
        let (mut requests, mut tickets) = (Vec::new(), Vec::new());
        for (key, expect, draft) in writes {
            let (promise, ticket) = ticket();
            requests.push(Request { key, expect, draft, promise });
            tickets.push(ticket);
        }
        self.submit(requests);
        tickets
    }

    /// What the store holds.
    pub fn stats(&self) -> Stats {
        let shared = &self.0.shared;
        let totals =
            shared.kinds().iter().map(|kind| kind.totals()).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        Stats {
            revision: shared.published(),
            objects: totals.0,
            bytes: totals.1,
            history_bytes: shared.history_bytes(),
            trouble: shared.trouble().clone(),
        }
    }

    fn submit(&self, requests: Vec<Request>) {
        match &self.0.writer {
            Writer::Here(committer) => {
                let mut committer = lock(committer);
                if let Some(due) = committer.commit(requests) {
                    committer.compactor().run(&due);
                }
            }
            Writer::Thread { queue, .. } => {
                lock(&queue.waiting).requests.extend(requests);
                queue.arrived.notify_one();
            }
        }
    }
}

/// Starts the writer and, beside it, what makes snapshots.
fn start(mut committer: Committer) -> Result<Writer> {
    let queue = Arc::new(Queue::default());
    let compactor = committer.compactor();
    let (due, dues) = channel();
    let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
        let thread = thread::Builder::new().name(name.to_string()).spawn(work);
        thread.map_err(|e| Error::disk("start the thread of", name.to_string(), e))
    };
    let snapshots = spawn(
        "store-snapshot",
        Box::new(move || {
            for due in dues {
                compactor.run(&due);
            }
        }),
    )?;
    let waiting = queue.clone();
    let writes = spawn("store-write", Box::new(move || work(&waiting, &mut committer, &due)))?;
    Ok(Writer::Thread { queue, writes: Some(writes), snapshots: Some(snapshots) })
}

/// Takes everything that waits, again and again: while one group is made certain, the next one gathers.
fn work(queue: &Queue, committer: &mut Committer, snapshots: &Sender<crate::commit::Due>) {
    loop {
        let mut waiting = lock(&queue.waiting);
        while waiting.requests.is_empty() {
            if waiting.closed {
                return;
            }
            waiting = queue.arrived.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        let requests = std::mem::take(&mut waiting.requests);
        drop(waiting);
        if let Some(due) = committer.commit(requests) {
            // Without a receiver the store is closing, and the next process makes the snapshot.
            let _ = snapshots.send(due);
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Writer::Thread { queue, writes, .. } = &mut self.writer {
            lock(&queue.waiting).closed = true;
            queue.arrived.notify_all();
            let _ = writes.take().map(JoinHandle::join);
        }
        // A snapshot that is being written is given up.
        self.shared.close();
        if let Writer::Thread { snapshots, .. } = &mut self.writer {
            let _ = snapshots.take().map(JoinHandle::join);
        }
    }
}
