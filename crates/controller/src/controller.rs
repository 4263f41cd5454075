//! Runs a [`Reconciler`]: a work queue, its workers and their metrics.

use std::hash::Hash;
use std::rc::Rc;
use std::time::Instant;

use tokio::task::JoinSet;

use crate::metrics::ReconcileMetrics;
use crate::work_queue::{Backoff, ReconcileResult, WorkQueue};

/// Brings the observed state of one object to its desired state.
///
/// A reconcile reads what it needs, writes what differs and reports the outcome. It may be interrupted at any point, and
/// the next one converges from whatever state it finds.
pub trait Reconciler: 'static {
    /// What is reconciled: usually an [`ObjectKey`](podium_client::ObjectKey).
    type Key: Clone + Eq + Hash + 'static;

    /// Reconciles one key. No other worker has the key meanwhile.
    fn reconcile(&self, key: &Self::Key) -> impl Future<Output = ReconcileResult>;
}

/// A work queue and how it is worked on.
pub struct Controller<K> {
    /// Its name in logs, metrics and Events.
    pub name: String,
    /// The keys to reconcile; event handlers enqueue into a clone of it.
    pub queue: WorkQueue<K>,
    /// How many keys are reconciled at the same time.
    pub workers: usize,
}

impl<K: Clone + Eq + Hash + 'static> Controller<K> {
    /// A controller with an empty queue.
    pub fn new(name: impl Into<String>, workers: usize, backoff: Backoff) -> Self {
        Self { name: name.into(), queue: WorkQueue::new(backoff), workers }
    }

    /// Reconciles the keys of the queue until it is shut down and the last reconcile is done. Runs on a
    /// [`LocalSet`](tokio::task::LocalSet); dropping the future drops the reconciles where they wait.
    pub async fn run<R>(&self, reconciler: Rc<R>, metrics: Option<ReconcileMetrics>)
    where
        R: Reconciler<Key = K>,
    {
        let mut workers = JoinSet::new();
        for _ in 0..self.workers.max(1) {
            let (queue, reconciler) = (self.queue.clone(), reconciler.clone());
            let (name, metrics) = (self.name.clone(), metrics.clone());
            workers.spawn_local(async move {
                while let Some(task) = queue.next().await {
                    let begin = Instant::now();
                    let result = reconciler.reconcile(&task.key).await;
                    if let Some(metrics) = &metrics {
                        metrics.observe(&name, result, begin.elapsed());
                    }
                    queue.complete(&task.key, result);
                }
            });
        }
        while workers.join_next().await.is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use tokio::task::LocalSet;

    use super::*;
    use crate::work_queue::Stats;

    /// Takes a second for each key, and fails for key 7 the first time.
    #[derive(Default)]
    struct Slow {
        running: Cell<usize>,
        most: Cell<usize>,
        reconciles: Cell<usize>,
        failed: Cell<bool>,
    }

    impl Reconciler for Slow {
        type Key = u32;

        async fn reconcile(&self, key: &u32) -> ReconcileResult {
            self.running.set(self.running.get() + 1);
            self.most.set(self.most.get().max(self.running.get()));
            tokio::time::sleep(Duration::from_secs(1)).await;
            self.running.set(self.running.get() - 1);
            self.reconciles.set(self.reconciles.get() + 1);
            match *key == 7 && !self.failed.replace(true) {
                true => ReconcileResult::Failed,
                false => ReconcileResult::Done,
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn workers_share_the_queue_and_end_with_it() {
        let backoff = Backoff { base: Duration::from_secs(1), cap: Duration::from_secs(10) };
        let controller = Controller::new("slow", 4, backoff);
        (0..20).for_each(|key| controller.queue.add(key));
        let (reconciler, queue) = (Rc::new(Slow::default()), controller.queue.clone());
        let begin = tokio::time::Instant::now();
        let stop = async {
            tokio::time::sleep(Duration::from_secs(60)).await;
            queue.shut_down();
        };
        let run = controller.run(reconciler.clone(), None);
        LocalSet::new().run_until(async { tokio::join!(run, stop) }).await;
        assert_eq!(begin.elapsed().as_secs(), 60);
        assert_eq!((reconciler.most.get(), reconciler.reconciles.get()), (4, 21));
        assert_eq!(queue.stats(), Stats { adds: 21, retries: 1, ..Stats::default() });
        queue.add(1);
        assert!(queue.next().await.is_none());
    }
}
