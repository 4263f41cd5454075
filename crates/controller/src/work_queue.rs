//! A work queue with deduplication, delays and exponential backoff per key, as in client-go.
//!
//! A key is either with a worker, ready, or due later. A key that is added while a worker has it becomes ready again when
//! that worker is done, so one key is never reconciled twice at the same time. Idle keys take no memory.

use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Exponential backoff: the base, doubled with every failure in a row, at most the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The delay after the first failure.
    pub base: Duration,
    /// The longest delay.
    pub cap: Duration,
}

impl Backoff {
    /// The delay after this many failures in a row.
    pub fn after(&self, failures: u32) -> Duration {
        let factor = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        self.base.saturating_mul(factor).min(self.cap)
    }
}

/// The result of a reconcile: when the key is reconciled again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconcileResult {
    /// The desired state is reached: not before the key is added again.
    Done,
    /// It succeeded: again after this time, even if no event comes.
    RequeueAfter(Duration),
    /// It failed: again after the backoff.
    Failed,
    /// It was not tried because an earlier failure still backs off: again after this time, keeping the failure count.
    BackingOff(Duration),
}

/// The counters of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Keys that wait for a worker.
    pub ready: usize,
    /// Keys that are due later.
    pub waiting: usize,
    /// Keys that workers have.
    pub running: usize,
    /// How often a key became ready.
    pub adds: u64,
    /// How often a key failed.
    pub retries: u64,
}

/// A work queue; clones share it.
pub struct WorkQueue<K>(Arc<Inner<K>>);

impl<K> Clone for WorkQueue<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

struct Inner<K> {
    state: Mutex<State<K>>,
    wake: Notify,
    backoff: Backoff,
}

struct State<K> {
    keys: HashMap<K, Entry>,
    ready: VecDeque<K>,
    /// The sequence number keeps keys that are due at the same instant apart.
    due: BTreeMap<(Instant, u64), K>,
    sequence: u64,
    stats: Stats,
    shut_down: bool,
}

#[derive(Default)]
struct Entry {
    ready: bool,
    running: bool,
    again: bool,
    enqueued: bool,
    due: Option<(Instant, u64)>,
    failures: u32,
}

impl Entry {
    fn idle(&self) -> bool {
        !self.ready && !self.running && self.due.is_none() && self.failures == 0
    }
}

impl<K: Clone + Eq + Hash> State<K> {
    fn add(&mut self, key: K) {
        if self.shut_down {
            return;
        }
        let entry = self.keys.entry(key.clone()).or_default();
        if entry.running {
            entry.again = true;
        } else if !entry.ready {
            entry.ready = true;
            self.stats.adds += 1;
            self.ready.push_back(key);
        }
    }

    fn add_at(&mut self, key: K, at: Instant) {
        if self.shut_down {
            return;
        }
        let entry = self.keys.entry(key.clone()).or_default();
        match entry.due {
            Some((earlier, _)) if earlier <= at => return,
            Some(later) => drop(self.due.remove(&later)),
            None => {}
        }
        self.sequence += 1;
        entry.due = Some((at, self.sequence));
        self.due.insert((at, self.sequence), key);
    }

    /// Makes the keys ready that are due.
    fn promote_due(&mut self, now: Instant) {
        while let Some(first) = self.due.first_entry().filter(|first| first.key().0 <= now) {
            let key = first.remove();
            if let Some(entry) = self.keys.get_mut(&key) {
                entry.due = None;
            }
            self.add(key);
        }
    }

    /// The next key for a worker; this run replaces the one that was due later.
    fn pop(&mut self) -> Option<K> {
        let key = self.ready.pop_front()?;
        if let Some(entry) = self.keys.get_mut(&key) {
            (entry.ready, entry.running) = (false, true);
            if let Some(due) = entry.due.take() {
                self.due.remove(&due);
            }
        }
        self.stats.running += 1;
        Some(key)
    }

    fn finish(&mut self, key: &K) {
        let Some(entry) = self.keys.get_mut(key) else { return };
        entry.running = false;
        self.stats.running = self.stats.running.saturating_sub(1);
        let enqueued = std::mem::take(&mut entry.enqueued) && entry.failures == 0;
        if std::mem::take(&mut entry.again) || enqueued {
            self.add(key.clone());
        }
        self.remove_if_idle(key);
    }

    fn remove_if_idle(&mut self, key: &K) {
        if let Slot::Occupied(entry) = self.keys.entry(key.clone())
            && entry.get().idle()
        {
            entry.remove();
        }
        // The memory of a burst of keys is given back.
        if self.keys.is_empty() && self.keys.capacity() > 1024 {
            (self.keys, self.ready) = (HashMap::new(), VecDeque::new());
        }
    }
}

impl<K: Clone + Eq + Hash> WorkQueue<K> {
    /// An empty queue.
    pub fn new(backoff: Backoff) -> Self {
        let state = State {
            keys: HashMap::new(),
            ready: VecDeque::new(),
            due: BTreeMap::new(),
            sequence: 0,
            stats: Stats::default(),
            shut_down: false,
        };
        Self(Arc::new(Inner { state: Mutex::new(state), wake: Notify::new(), backoff }))
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a key ready now, even if it backs off.
    pub fn add(&self, key: K) {
        self.state().add(key);
        self.0.wake.notify_one();
    }

    /// Makes a key ready now unless it backs off: the writes of a failing reconcile must not cut its backoff short.
    pub fn enqueue(&self, key: K) {
        let mut state = self.state();
        match state.keys.get_mut(&key) {
            Some(entry) if entry.running => entry.enqueued = true,
            Some(entry) if entry.failures > 0 => {}
            _ => state.add(key),
        }
        drop(state);
        self.0.wake.notify_one();
    }

    /// Makes a key ready after a delay unless it backs off; see [`WorkQueue::enqueue`].
    pub fn enqueue_after(&self, key: K, delay: Duration) {
        let mut state = self.state();
        match state.keys.get_mut(&key) {
            Some(entry) if entry.running => entry.enqueued = true,
            Some(entry) if entry.failures > 0 => {}
            _ => state.add_at(key, later(delay)),
        }
        drop(state);
        self.0.wake.notify_one();
    }

    /// Makes a key ready after a delay; the earliest of several times counts.
    pub fn add_after(&self, key: K, delay: Duration) {
        self.state().add_at(key, later(delay));
        self.0.wake.notify_one();
    }

    /// Counts a failure of a key and makes it ready after its backoff, which is returned.
    pub fn add_rate_limited(&self, key: K) -> Duration {
        let mut state = self.state();
        let entry = state.keys.entry(key.clone()).or_default();
        entry.failures = entry.failures.saturating_add(1);
        let delay = self.0.backoff.after(entry.failures);
        state.stats.retries += 1;
        state.add_at(key, later(delay));
        drop(state);
        self.0.wake.notify_one();
        delay
    }

    /// The backoff that the next failure of a key will have.
    pub fn next_backoff(&self, key: &K) -> Duration {
        self.0.backoff.after(self.failures(key).saturating_add(1))
    }

    /// Resets the failure count of a key.
    pub fn forget(&self, key: &K) {
        let mut state = self.state();
        if let Some(entry) = state.keys.get_mut(key) {
            entry.failures = 0;
            state.remove_if_idle(key);
        }
    }

    /// How often a key failed in a row.
    pub fn failures(&self, key: &K) -> u32 {
        self.state().keys.get(key).map_or(0, |entry| entry.failures)
    }

    /// The time until a key is ready, if it is queued.
    #[cfg(test)]
    pub fn due_in(&self, key: &K) -> Option<Duration> {
        let state = self.state();
        let entry = state.keys.get(key)?;
        if entry.ready || entry.again {
            return Some(Duration::ZERO);
        }
        entry.due.map(|(at, _)| at.saturating_duration_since(Instant::now()))
    }

    /// The counters so far.
    pub fn stats(&self) -> Stats {
        let state = self.state();
        Stats { ready: state.ready.len(), waiting: state.due.len(), ..state.stats }
    }

    /// Hands out no more keys; workers finish those that they have.
    pub fn shut_down(&self) {
        let mut state = self.state();
        state.shut_down = true;
        state.ready.clear();
        state.due.clear();
        drop(state);
        self.0.wake.notify_waiters();
        self.0.wake.notify_one();
    }

    /// Waits for the next key; `None` once the queue is shut down. No other worker gets the key until the task is dropped.
    pub async fn next(&self) -> Option<Task<K>> {
        loop {
            // Registered before the queue is read: a key that is added in between is not missed.
            let woken = self.0.wake.notified();
            let first_due = {
                let mut state = self.state();
                if state.shut_down {
                    // Wakes the next waiting worker.
                    self.0.wake.notify_one();
                    return None;
                }
                state.promote_due(Instant::now());
                if let Some(key) = state.pop() {
                    if !state.ready.is_empty() {
                        self.0.wake.notify_one();
                    }
                    return Some(Task { key, queue: self.clone() });
                }
                state.due.first_key_value().map(|((at, _), _)| *at)
            };
            match first_due {
                Some(at) => tokio::select! {
                    () = woken => {}
                    () = sleep_until(at) => {}
                },
                None => woken.await,
            }
        }
    }

    /// Applies the result of a reconcile to its key.
    pub fn complete(&self, key: &K, result: ReconcileResult) {
        match result {
            ReconcileResult::Done => self.forget(key),
            ReconcileResult::RequeueAfter(delay) => {
                self.forget(key);
                self.add_after(key.clone(), delay);
            }
            ReconcileResult::Failed => drop(self.add_rate_limited(key.clone())),
            ReconcileResult::BackingOff(delay) => self.add_after(key.clone(), delay),
        }
    }
}

/// An instant in the future, at most a year from now.
fn later(delay: Duration) -> Instant {
    Instant::now() + delay.min(Duration::from_secs(365 * 24 * 3600))
}

/// A key that a worker has.
pub struct Task<K: Clone + Eq + Hash> {
    /// The key.
    pub key: K,
    queue: WorkQueue<K>,
}

impl<K: Clone + Eq + Hash> Drop for Task<K> {
    fn drop(&mut self) {
        self.queue.state().finish(&self.key);
        self.queue.0.wake.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> WorkQueue<&'static str> {
        WorkQueue::new(Backoff { base: Duration::from_secs(1), cap: Duration::from_secs(10) })
    }

    /// The next key if one is ready now.
    async fn now(queue: &WorkQueue<&'static str>) -> Option<Task<&'static str>> {
        tokio::time::timeout(Duration::from_millis(1), queue.next()).await.ok().flatten()
    }

    #[tokio::test(start_paused = true)]
    async fn keys_are_handed_out_in_order_and_once() {
        let queue = queue();
        for key in ["a", "b", "a", "c", "b"] {
            queue.add(key);
        }
        assert_eq!(queue.stats(), Stats { ready: 3, adds: 3, ..Stats::default() });
        for key in ["a", "b", "c"] {
            assert_eq!(queue.next().await.unwrap().key, key);
        }
        assert!(now(&queue).await.is_none() && queue.state().keys.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn backing_off_keeps_the_failure_count() {
        let queue = queue();
        queue.add("a");
        let task = queue.next().await.unwrap();
        queue.complete(&task.key, ReconcileResult::Failed);
        drop(task);
        queue.add("a");
        let task = queue.next().await.unwrap();
        queue.complete(&task.key, ReconcileResult::BackingOff(Duration::from_millis(700)));
        drop(task);
        assert!(now(&queue).await.is_none() && queue.failures(&"a") == 1);
        assert_eq!(queue.next_backoff(&"a"), Duration::from_secs(2));
        tokio::time::advance(Duration::from_millis(700)).await;
        assert!(now(&queue).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn enqueue_does_not_cut_a_backoff_short() {
        let queue = queue();
        queue.enqueue("a");
        let task = queue.next().await.unwrap();
        queue.enqueue("a");
        queue.complete(&task.key, ReconcileResult::Failed);
        drop(task);
        queue.enqueue("a");
        queue.enqueue_after("a", Duration::ZERO);
        assert!(now(&queue).await.is_none(), "it backs off");
        queue.add("a");
        let task = queue.next().await.unwrap();
        queue.enqueue("a");
        queue.complete(&task.key, ReconcileResult::Done);
        drop(task);
        assert!(now(&queue).await.is_some(), "a success runs again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_added_while_running_runs_again_afterwards() {
        let queue = queue();
        queue.add("a");
        let task = queue.next().await.unwrap();
        queue.add("a");
        queue.add("a");
        assert!(now(&queue).await.is_none());
        assert_eq!(queue.due_in(&"a"), Some(Duration::ZERO));
        drop(task);
        drop(now(&queue).await.unwrap());
        assert!(now(&queue).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn failures_double_the_backoff_up_to_the_cap() {
        let queue = queue();
        for seconds in [1, 2, 4, 8, 10, 10] {
            assert_eq!(queue.next_backoff(&"a"), Duration::from_secs(seconds));
            assert_eq!(queue.add_rate_limited("a"), Duration::from_secs(seconds));
            assert_eq!(queue.due_in(&"a"), Some(Duration::from_secs(seconds)));
            let begin = Instant::now();
            drop(queue.next().await.unwrap());
            assert_eq!(begin.elapsed().as_secs(), seconds);
        }
        assert_eq!((queue.failures(&"a"), queue.stats().retries), (6, 6));
        queue.forget(&"a");
        assert_eq!((queue.failures(&"a"), queue.next_backoff(&"a")), (0, Duration::from_secs(1)));
        assert!(queue.state().keys.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn the_earliest_delay_counts_and_add_skips_it() {
        let queue = queue();
        queue.add_after("a", Duration::from_secs(5));
        queue.add_after("a", Duration::from_secs(3));
        queue.add_after("a", Duration::from_secs(9));
        assert_eq!(queue.due_in(&"a"), Some(Duration::from_secs(3)));
        assert_eq!(queue.stats().waiting, 1);
        queue.add("a");
        drop(now(&queue).await.unwrap());
        // That run replaced the one that was due later.
        assert_eq!((queue.due_in(&"a"), queue.stats().waiting), (None, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_due_while_running_runs_afterwards() {
        let queue = queue();
        queue.add("a");
        let task = queue.next().await.unwrap();
        queue.add_after("a", Duration::from_secs(1));
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(now(&queue).await.is_none());
        drop(task);
        assert!(now(&queue).await.is_some());
    }

    /// In every order of calls no key is with two workers, and none is lost.
    #[tokio::test(start_paused = true)]
    async fn no_interleaving_loses_a_key() {
        let mut seed = 1_u64;
        let mut chance = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for _ in 0..200 {
            let queue = WorkQueue::new(Backoff { base: Duration::from_secs(1), cap: Duration::from_secs(4) });
            let mut owed = [false; 4];
            let mut tasks: Vec<Task<usize>> = Vec::new();
            for _ in 0..100 {
                let key = chance(4) as usize;
                match chance(6) {
                    0 => queue.add(key),
                    1 => queue.add_after(key, Duration::from_secs(chance(3))),
                    2 => drop(queue.add_rate_limited(key)),
                    3 => tokio::time::advance(Duration::from_millis(chance(2000))).await,
                    4 if !tasks.is_empty() => drop(tasks.swap_remove(chance(tasks.len() as u64) as usize)),
                    _ => {
                        let next = tokio::time::timeout(Duration::ZERO, queue.next()).await;
                        if let Ok(Some(task)) = next {
                            assert!(tasks.iter().all(|other| other.key != task.key));
                            owed[task.key] = false;
                            tasks.push(task);
                        }
                        continue;
                    }
                }
                owed[key] |= queue.due_in(&key).is_some();
            }
            tasks.clear();
            while let Ok(Some(task)) = tokio::time::timeout(Duration::from_secs(60), queue.next()).await {
                owed[task.key] = false;
            }
            assert_eq!(owed, [false; 4]);
            (0..4).for_each(|key| queue.forget(&key));
            let state = queue.state();
            assert!(state.keys.is_empty() && state.ready.is_empty() && state.due.is_empty());
        }
    }

    #[test]
    fn backoff_never_overflows() {
        let backoff = Backoff { base: Duration::from_secs(u64::MAX / 2), cap: Duration::MAX };
        assert_eq!(backoff.after(u32::MAX), Duration::MAX);
        assert_eq!(
            Backoff { base: Duration::from_millis(5), cap: Duration::from_secs(1000) }.after(0).as_millis(),
            5
        );
    }
}
