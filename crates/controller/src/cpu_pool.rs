//! Runs CPU-bound work of reconciles on blocking threads, away from the thread that renews leases, answers probes and
//! reads watches.
//!
//! The number of threads is bounded, and slow work does not hold up quick work: everything starts in the fast lane with a
//! short time slice. Work that does not fit into its slice gives up and starts again in the slow lane, which has threads of
//! its own, so that the fast lane is free again after one slice whatever a resource asks for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

/// How long work may take in the fast lane.
const SLICE: Duration = Duration::from_millis(250);

/// Threads for CPU-bound work; clones share them.
#[derive(Clone)]
pub struct CpuPool {
    fast: Arc<Semaphore>,
    slow: Arc<Semaphore>,
}

/// The time that a piece of work has. The work asks for it and gives up when it is over.
#[derive(Clone, Debug)]
pub struct Budget {
    until: Instant,
    cancelled: Arc<AtomicBool>,
}

impl Budget {
    /// Whether the time is over, or the caller no longer waits for the result.
    pub fn is_over(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || Instant::now() > self.until
    }
}

/// The result of work that stops when its budget is over.
pub enum Outcome<T> {
    /// The work ended, with a result or an error of its own.
    Finished(T),
    /// The budget ran out first.
    OutOfTime,
}

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The work did not end within its limit.
    #[error("it takes longer than {} s", .0.as_secs())]
    OutOfTime(Duration),
    /// The work panicked, or the process is shutting down.
    #[error("it was interrupted by an internal error")]
    Interrupted,
}

/// Cancels the work when the caller is dropped while it waits.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Default for CpuPool {
    fn default() -> Self {
        Self::new(std::thread::available_parallelism().map_or(1, usize::from))
    }
}

impl CpuPool {
    /// With this many threads in the fast lane, and half as many in the slow one.
    pub fn new(threads: usize) -> Self {
        let threads = threads.max(1);
        Self { fast: Arc::new(Semaphore::new(threads)), slow: Arc::new(Semaphore::new(threads.div_ceil(2))) }
    }

    /// Runs work that is short by its nature, such as hashing.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let permit = self.fast.clone().acquire_owned().await.map_err(|_| Error::Interrupted)?;
        let work = move || {
            // The permit is held until the work ends, even when the caller is gone.
            let _permit = permit;
            work()
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| Error::Interrupted)
    }

    /// Runs work that may take up to `limit` and asks its budget whether to go on. `is_slow` remembers for the caller
    /// whether the work needed the slow lane, so that the next call starts there.
    pub async fn run_within<T: Send + 'static>(
        &self,
        limit: Duration,
        is_slow: &AtomicBool,
        work: impl Fn(&Budget) -> Outcome<T> + Clone + Send + 'static,
    ) -> Result<T, Error> {
        if !is_slow.load(Ordering::Relaxed)
            && let Outcome::Finished(result) = attempt(&self.fast, SLICE.min(limit), work.clone()).await?.0
        {
            return Ok(result);
        }
        is_slow.store(true, Ordering::Relaxed);
        let (outcome, took) = attempt(&self.slow, limit, work).await?;
        is_slow.store(took > SLICE, Ordering::Relaxed);
        match outcome {
            Outcome::Finished(result) => Ok(result),
            Outcome::OutOfTime => Err(Error::OutOfTime(limit)),
        }
    }
}

/// Runs work on a thread of a lane, with a budget that begins when the thread does.
async fn attempt<T: Send + 'static>(
    lane: &Arc<Semaphore>,
    limit: Duration,
    work: impl FnOnce(&Budget) -> Outcome<T> + Send + 'static,
) -> Result<(Outcome<T>, Duration), Error> {
    let permit = lane.clone().acquire_owned().await.map_err(|_| Error::Interrupted)?;
    let cancelled = Arc::new(AtomicBool::new(false));
    let _cancel = CancelOnDrop(cancelled.clone());
    let work = move || {
        let _permit = permit;
        let begin = Instant::now();
        let outcome = work(&Budget { until: begin + limit, cancelled });
        (outcome, begin.elapsed())
    };
    tokio::task::spawn_blocking(work).await.map_err(|_| Error::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Burns time until the budget is over, or this long.
    fn busy(budget: &Budget, time: Duration) -> Outcome<()> {
        let begin = Instant::now();
        while begin.elapsed() < time {
            if budget.is_over() {
                return Outcome::OutOfTime;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Outcome::Finished(())
    }

    #[tokio::test]
    async fn quick_work_passes_slow_work() {
        let pool = CpuPool::new(1);
        let slow: Vec<_> = (0..2)
            .map(|_| {
                let pool = pool.clone();
                tokio::spawn(async move {
                    let is_slow = AtomicBool::new(false);
                    pool.run_within(Duration::from_secs(10), &is_slow, |budget| {
                        busy(budget, Duration::from_secs(2))
                    })
                    .await
                    .unwrap();
                    is_slow.into_inner()
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(20)).await;
        let begin = Instant::now();
        for _ in 0..8 {
            let is_slow = AtomicBool::new(false);
            pool.run_within(Duration::from_secs(10), &is_slow, |_| Outcome::Finished(())).await.unwrap();
            assert!(!is_slow.into_inner());
        }
        assert!(begin.elapsed() < Duration::from_millis(1500), "{:?}", begin.elapsed());
        for slow in slow {
            assert!(slow.await.unwrap(), "the next call starts in the slow lane");
        }
    }

    #[tokio::test]
    async fn work_that_exceeds_its_limit_ends() {
        let limit = Duration::from_millis(300);
        let result = CpuPool::new(1)
            .run_within(limit, &AtomicBool::new(false), |budget| busy(budget, Duration::from_secs(60)))
            .await;
        assert_eq!(result, Err(Error::OutOfTime(limit)));
    }

    #[tokio::test]
    async fn abandoned_work_frees_its_thread() {
        let pool = CpuPool::new(1);
        let is_slow = AtomicBool::new(true);
        let long = pool
            .run_within(Duration::from_secs(60), &is_slow, |budget| busy(budget, Duration::from_secs(60)));
        assert!(tokio::time::timeout(Duration::from_millis(50), long).await.is_err());
        let begin = Instant::now();
        pool.run_within(Duration::from_secs(60), &is_slow, |_| Outcome::Finished(())).await.unwrap();
        assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
        assert!(!is_slow.into_inner(), "quick work returns to the fast lane");
    }

    #[tokio::test]
    async fn a_panic_fails_only_its_caller() {
        let pool = CpuPool::new(1);
        assert_eq!(pool.run(|| panic!("on purpose")).await, Err::<(), _>(Error::Interrupted));
        assert_eq!(pool.run(|| 1).await, Ok(1));
    }
}
