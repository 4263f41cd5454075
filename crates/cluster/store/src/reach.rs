//! Waiting for a revision that has not happened yet.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use crate::shared::Shared;
use crate::ticket::block_on;
use crate::{Error, Result, Revision};

/// Ready when a revision is there: what a reader waits for who has heard of it elsewhere.
#[must_use = "it does nothing unless it is waited for"]
pub struct Reach {
    shared: Arc<Shared>,
    revision: Revision,
    id: u64,
}

impl Reach {
    pub(crate) fn new(shared: Arc<Shared>, revision: Revision) -> Self {
        let id = shared.id();
        Self { shared, revision, id }
    }

    /// Blocks until the revision is there, or the moment has come.
    ///
    /// # Errors
    /// `Future` when the moment came first, `Closed` when the store is closed.
    pub fn wait_until(self, until: Instant) -> Result<()> {
        let (asked, shared) = (self.revision, self.shared.clone());
        block_on(self, Some(until))
            .unwrap_or_else(|| Err(Error::Future { asked, newest: shared.published() }))
    }

    fn look(&self) -> Poll<Result<()>> {
        match (self.shared.published() >= self.revision, self.shared.is_closed()) {
            (true, _) => Poll::Ready(Ok(())),
            (_, true) => Poll::Ready(Err(Error::Closed)),
            _ => Poll::Pending,
        }
    }
}

impl Future for Reach {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.look().is_pending() {
            self.shared.await_revision(self.id, self.revision, context.waker());
        }
        // What came in between woke nobody.
        self.look()
    }
}

impl Drop for Reach {
    fn drop(&mut self) {
        self.shared.forget_waiter(self.id);
    }
}
