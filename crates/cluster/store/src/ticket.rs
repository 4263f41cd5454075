//! The answer to a write, which comes when the write is certain.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

use crate::{Error, Object, Result, Revision};

/// A write that is certain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its revision.
    pub revision: Revision,
    /// The object as it is now; of one that was removed, its last content with the revision of the removal.
    pub object: Object,
}

/// Waits for the answer to a write: as a future, or by blocking the thread. Dropping it does not take the write back.
#[derive(Debug)]
#[must_use = "a write is certain only when its ticket says so"]
pub struct Ticket(Arc<Mutex<Answer>>);

/// Where the answer is put. If it is dropped without one, the store was closed.
pub(crate) struct Promise(Arc<Mutex<Answer>>);

#[derive(Debug, Default)]
struct Answer {
    outcome: Option<Result<Written>>,
    waker: Option<Waker>,
}

pub(crate) fn ticket() -> (Promise, Ticket) {
    let answer = Arc::default();
    (Promise(Arc::clone(&answer)), Ticket(answer))
}

fn lock(answer: &Mutex<Answer>) -> MutexGuard<'_, Answer> {
    answer.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Promise {
    pub fn keep(self, outcome: Result<Written>) {
        lock(&self.0).outcome = Some(outcome);
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        let mut answer = lock(&self.0);
        answer.outcome.get_or_insert(Err(Error::Closed));
        let waker = answer.waker.take();
        drop(answer);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Ticket {
    /// Blocks until the answer is there.
    ///
    /// # Errors
    /// When the write was refused.
    pub fn wait(self) -> Result<Written> {
        block_on(self, None).unwrap_or(Err(Error::Closed))
    }
}

impl Future for Ticket {
    type Output = Result<Written>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut answer = lock(&self.0);
        match answer.outcome.take() {
            Some(outcome) => Poll::Ready(outcome),
            None => {
                answer.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

struct Parked(Thread);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Blocks the thread until the future is ready, or the moment has come.
pub(crate) fn block_on<F: Future>(future: F, until: Option<Instant>) -> Option<F::Output> {
    let waker = Waker::from(Arc::new(Parked(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        match until {
            None => thread::park(),
            Some(until) => match until.checked_duration_since(Instant::now()) {
                Some(left) if !left.is_zero() => thread::park_timeout(left),
                _ => return None,
            },
        }
    }
}
