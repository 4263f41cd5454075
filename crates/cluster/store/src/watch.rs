//! Following a resource from a revision on.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use crate::kind::Kind;
use crate::shared::Shared;
use crate::ticket::block_on;
use crate::{Error, Event, Result, Revision};

/// How many events are given at once, so that a slow reader keeps little alive.
const BATCH: usize = 256;

/// A reader of events: everything after its revision in order, nothing twice. It has a place in the common history and
/// no queue of its own: whoever is slow costs nothing, and is told when the history has gone on without them.
pub struct Watch {
    shared: Arc<Shared>,
    kind: Arc<Kind>,
    prefix: Arc<str>,
    seen: Revision,
    id: u64,
}

impl Watch {
    pub(crate) fn new(shared: Arc<Shared>, kind: Arc<Kind>, prefix: &str, seen: Revision) -> Self {
        let id = shared.id();
        Self { shared, kind, prefix: prefix.into(), seen, id }
    }

    /// The next events, if there are any now.
    ///
    /// # Errors
    /// `Compacted` for a reader that was too slow, `Closed` after the last event of a store that was closed.
    pub fn try_next(&mut self) -> Result<Vec<Arc<Event>>> {
        // What is published before the look at the events is among them.
        let published = self.shared.published();
        let events = self.kind.events(&self.prefix, self.seen, BATCH)?;
        match events.last() {
            Some(last) => self.seen = last.revision(),
            None if self.shared.is_closed() => return Err(Error::Closed),
            None => self.seen = self.seen.max(published),
        }
        Ok(events)
    }

    /// The next events, for whoever polls by hand.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Vec<Arc<Event>>>> {
        match self.try_next() {
            Ok(events) if events.is_empty() => {}
            ready => return Poll::Ready(ready),
        }
        self.kind.wait(self.id, &self.prefix, context.waker());
        // What came in between woke nobody.
        match self.try_next() {
            Ok(events) if events.is_empty() => Poll::Pending,
            ready => Poll::Ready(ready),
        }
    }

    /// Waits for the next events.
    ///
    /// # Errors
    /// As [`Watch::try_next`].
    pub async fn next(&mut self) -> Result<Vec<Arc<Event>>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// Blocks until the next events are there; none when the moment has come.
    ///
    /// # Errors
    /// As [`Watch::try_next`].
    pub fn next_until(&mut self, until: Instant) -> Result<Vec<Arc<Event>>> {
        block_on(self.next(), Some(until)).unwrap_or(Ok(Vec::new()))
    }

    /// The revision up to which everything was given: what a bookmark says. It is as new as it can be when there are
    /// no events left to give.
    pub fn seen(&mut self) -> Revision {
        let published = self.shared.published();
        if self.kind.events(&self.prefix, self.seen, 1).is_ok_and(|events| events.is_empty()) {
            self.seen = self.seen.max(published);
        }
        self.seen
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.kind.leave(self.id);
    }
}
