//! Which keys have work to do, and when.
//!
//! A key is in at most one place: with a worker, ready, or due later. What is added while a worker has it runs again
//! when that worker is done. Keys that have nothing to do cost nothing.

use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// How long a key waits after it has failed: the base, doubled with every failure, at most the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// After the first failure.
    pub base: Duration,
    /// After many.
    pub cap: Duration,
}

impl Backoff {
    /// The wait after so many failures in a row.
    pub fn after(&self, failures: u32) -> Duration {
        let factor = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        self.base.saturating_mul(factor).min(self.cap)
    }
}

/// What a worker says when it is done with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconcileResult {
    /// Nothing more until the key is added again.
    Done,
    /// It went well, but look again after this time.
    RequeueAfter(Duration),
    /// It failed: again after the back-off.
    Retry,
    /// It still waits because it failed before: again after this time, and its failures count.
    BackingOff(Duration),
}

/// What has happened in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Keys that could run now.
    pub ready: usize,
    /// Keys that wait for their time.
    pub waiting: usize,
    /// Keys that workers have.
    pub running: usize,
    /// How often a key has become ready.
    pub adds: u64,
    /// How often a key has failed.
    pub retries: u64,
}

/// A work queue; copies are the same queue.
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
    /// The number tells keys of the same moment apart.
    due: BTreeMap<(Instant, u64), K>,
    number: u64,
    stats: Stats,
    closed: bool,
}

#[derive(Default)]
struct Entry {
    ready: bool,
    running: bool,
    again: bool,
    nudged: bool,
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
        if self.closed {
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
        if self.closed {
            return;
        }
        let entry = self.keys.entry(key.clone()).or_default();
        match entry.due {
            Some((earlier, _)) if earlier <= at => return,
            Some(later) => drop(self.due.remove(&later)),
            None => {}
        }
        self.number += 1;
        entry.due = Some((at, self.number));
        self.due.insert((at, self.number), key);
    }

    /// What is due becomes ready.
    fn ripen(&mut self, now: Instant) {
        while let Some(first) = self.due.first_entry().filter(|first| first.key().0 <= now) {
            let key = first.remove();
            if let Some(entry) = self.keys.get_mut(&key) {
                entry.due = None;
            }
            self.add(key);
        }
    }

    /// The next key for a worker; this run is also the one that was due later.
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
        let nudged = std::mem::take(&mut entry.nudged) && entry.failures == 0;
        if std::mem::take(&mut entry.again) || nudged {
            self.add(key.clone());
        }
        self.tidy(key);
    }

    fn tidy(&mut self, key: &K) {
        if let Slot::Occupied(entry) = self.keys.entry(key.clone())
            && entry.get().idle()
        {
            entry.remove();
        }
        // A burst of keys shall not be paid for ever.
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
            number: 0,
            stats: Stats::default(),
            closed: false,
        };
        Self(Arc::new(Inner { state: Mutex::new(state), wake: Notify::new(), backoff }))
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key has work to do now, whatever it waits for.
    pub fn add(&self, key: K) {
        self.state().add(key);
        self.0.wake.notify_one();
    }

    /// The key may have work to do: now, unless it waits because it has failed. What a failing worker writes must not
    /// wake it before its time.
    pub fn nudge(&self, key: K) {
        let mut state = self.state();
        match state.keys.get_mut(&key) {
            Some(entry) if entry.running => entry.nudged = true,
            Some(entry) if entry.failures > 0 => {}
            _ => state.add(key),
        }
        drop(state);
        self.0.wake.notify_one();
    }

    /// The key may have work to do after some time, unless it waits because it has failed; see [`WorkQueue::nudge`].
    pub fn nudge_after(&self, key: K, delay: Duration) {
        let mut state = self.state();
        match state.keys.get_mut(&key) {
            Some(entry) if entry.running => entry.nudged = true,
            Some(entry) if entry.failures > 0 => {}
            _ => state.add_at(key, later(delay)),
        }
        drop(state);
        self.0.wake.notify_one();
    }

    /// The key has work to do after some time; of several times the earliest counts.
    pub fn add_after(&self, key: K, delay: Duration) {
        self.state().add_at(key, later(delay));
        self.0.wake.notify_one();
    }

    /// The key has failed: it runs again after its back-off, which is returned.
    pub fn retry(&self, key: K) -> Duration {
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

    /// The wait that one more failure of the key would have.
    pub fn next_delay(&self, key: &K) -> Duration {
        self.0.backoff.after(self.failures(key).saturating_add(1))
    }

    /// The failures of the key are forgotten.
    pub fn forget(&self, key: &K) {
        let mut state = self.state();
        if let Some(entry) = state.keys.get_mut(key) {
            entry.failures = 0;
            state.tidy(key);
        }
    }

    /// How often the key has failed in a row.
    pub fn failures(&self, key: &K) -> u32 {
        self.state().keys.get(key).map_or(0, |entry| entry.failures)
    }

    /// In how long the key runs, if it waits for anything.
    pub fn next_try(&self, key: &K) -> Option<Duration> {
        let state = self.state();
        let entry = state.keys.get(key)?;
        if entry.ready || entry.again {
            return Some(Duration::ZERO);
        }
        entry.due.map(|(at, _)| at.saturating_duration_since(Instant::now()))
    }

    /// What has happened so far.
    pub fn stats(&self) -> Stats {
        let state = self.state();
        Stats { ready: state.ready.len(), waiting: state.due.len(), ..state.stats }
    }

    /// Nothing is given to workers any more; what they have, they finish.
    pub fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.ready.clear();
        state.due.clear();
        drop(state);
        self.0.wake.notify_waiters();
        self.0.wake.notify_one();
    }

    /// The next key, when there is one; nothing once the queue is closed. Nobody else gets this key before the task is
    /// dropped.
    pub async fn next(&self) -> Option<Task<K>> {
        loop {
            // Before the look: what is added after it is then not missed.
            let woken = self.0.wake.notified();
            let first_due = {
                let mut state = self.state();
                if state.closed {
                    // The next of those who wait.
                    self.0.wake.notify_one();
                    return None;
                }
                state.ripen(Instant::now());
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

    /// Works on keys, at most so many at once, until the queue is closed and the last is done.
    pub async fn run<F, W>(&self, workers: usize, work: F)
    where
        K: Send + 'static,
        F: Fn(K) -> W + Send + Sync + 'static,
        W: Future<Output = ReconcileResult> + Send,
    {
        let work = Arc::new(work);
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..workers.max(1) {
            let (queue, work) = (self.clone(), work.clone());
            tasks.spawn(async move {
                while let Some(task) = queue.next().await {
                    let verdict = work(task.key.clone()).await;
                    queue.settle(&task.key, verdict);
                }
            });
        }
        while tasks.join_next().await.is_some() {}
    }

    /// Does what a worker has said.
    pub fn settle(&self, key: &K, verdict: ReconcileResult) {
        match verdict {
            ReconcileResult::Done => self.forget(key),
            ReconcileResult::RequeueAfter(delay) => {
                self.forget(key);
                self.add_after(key.clone(), delay);
            }
            ReconcileResult::Retry => drop(self.retry(key.clone())),
            ReconcileResult::BackingOff(delay) => self.add_after(key.clone(), delay),
        }
    }
}

/// A time to come; one that is out of reach is a year from now.
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
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn queue() -> WorkQueue<&'static str> {
        WorkQueue::new(Backoff { base: Duration::from_secs(1), cap: Duration::from_secs(10) })
    }

    /// The next key if there is one now.
    async fn now(queue: &WorkQueue<&'static str>) -> Option<Task<&'static str>> {
        tokio::time::timeout(Duration::from_millis(1), queue.next()).await.ok().flatten()
    }

    #[tokio::test(start_paused = true)]
    async fn keys_come_in_their_order_and_once() {
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
    async fn what_is_looked_at_while_it_waits_goes_on_waiting() {
        let queue = queue();
        queue.add("a");
        let task = queue.next().await.unwrap();
        queue.settle(&task.key, ReconcileResult::Retry);
        drop(task);
        queue.add("a");
        let task = queue.next().await.unwrap();
        queue.settle(&task.key, ReconcileResult::BackingOff(Duration::from_millis(700)));
        drop(task);
        assert!(now(&queue).await.is_none() && queue.failures(&"a") == 1);
        assert_eq!(queue.next_delay(&"a"), Duration::from_secs(2));
        tokio::time::advance(Duration::from_millis(700)).await;
        assert!(now(&queue).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_nudge_does_not_end_a_back_off() {
        let queue = queue();
        queue.nudge("a");
        let task = queue.next().await.unwrap();
        queue.nudge("a");
        queue.settle(&task.key, ReconcileResult::Retry);
        drop(task);
        queue.nudge("a");
        queue.nudge_after("a", Duration::ZERO);
        assert!(now(&queue).await.is_none(), "it waits");
        queue.add("a");
        let task = queue.next().await.unwrap();
        queue.nudge("a");
        queue.settle(&task.key, ReconcileResult::Done);
        drop(task);
        assert!(now(&queue).await.is_some(), "what went well is looked at again");
    }

    #[tokio::test(start_paused = true)]
    async fn one_worker_has_a_key_and_what_was_added_meanwhile_runs_after() {
        let queue = queue();
        queue.add("a");
        let task = queue.next().await.unwrap();
        queue.add("a");
        queue.add("a");
        assert!(now(&queue).await.is_none());
        assert_eq!(queue.next_try(&"a"), Some(Duration::ZERO));
        drop(task);
        drop(now(&queue).await.unwrap());
        assert!(now(&queue).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn failures_double_the_wait_up_to_the_cap_and_success_forgets_them() {
        let queue = queue();
        for seconds in [1, 2, 4, 8, 10, 10] {
            assert_eq!(queue.next_delay(&"a"), Duration::from_secs(seconds));
            assert_eq!(queue.retry("a"), Duration::from_secs(seconds));
            assert_eq!(queue.next_try(&"a"), Some(Duration::from_secs(seconds)));
            let begin = Instant::now();
            drop(queue.next().await.unwrap());
            assert_eq!(begin.elapsed().as_secs(), seconds);
        }
        assert_eq!((queue.failures(&"a"), queue.stats().retries), (6, 6));
        queue.forget(&"a");
        assert_eq!((queue.failures(&"a"), queue.next_delay(&"a")), (0, Duration::from_secs(1)));
        assert!(queue.state().keys.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn the_earliest_time_counts_and_an_event_does_not_wait() {
        let queue = queue();
        queue.add_after("a", Duration::from_secs(5));
        queue.add_after("a", Duration::from_secs(3));
        queue.add_after("a", Duration::from_secs(9));
        assert_eq!(queue.next_try(&"a"), Some(Duration::from_secs(3)));
        assert_eq!(queue.stats().waiting, 1);
        queue.add("a");
        drop(now(&queue).await.unwrap());
        // That run was also the one that was due later.
        assert_eq!((queue.next_try(&"a"), queue.stats().waiting), (None, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_due_with_a_worker_runs_after() {
        let queue = queue();
        queue.add("a");
        let task = queue.next().await.unwrap();
        queue.add_after("a", Duration::from_secs(1));
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(now(&queue).await.is_none());
        drop(task);
        assert!(now(&queue).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn workers_share_the_work_and_end_with_the_queue() {
        let queue = WorkQueue::new(Backoff { base: Duration::from_secs(1), cap: Duration::from_secs(10) });
        for key in 0..20 {
            queue.add(key);
        }
        let (at_once, most, tries) =
            (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (closing, most_seen, all_tries) = (queue.clone(), most.clone(), tries.clone());
        let at_once = Arc::new(at_once);
        let begin = Instant::now();
        let work = move |key: u32| {
            let (at_once, most, tries) = (at_once.clone(), most.clone(), tries.clone());
            async move {
                most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(1)).await;
                at_once.fetch_sub(1, Ordering::SeqCst);
                let first = tries.fetch_add(1, Ordering::SeqCst) < 20;
                if key == 7 && first { ReconcileResult::Retry } else { ReconcileResult::Done }
            }
        };
        let closer = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(60)).await;
            closing.close();
        });
        queue.run(4, work).await;
        closer.await.unwrap();
        assert_eq!(begin.elapsed().as_secs(), 60);
        assert_eq!((most_seen.load(Ordering::SeqCst), all_tries.load(Ordering::SeqCst)), (4, 21));
        assert_eq!(queue.stats(), Stats { adds: 21, retries: 1, ..Stats::default() });
        queue.add(1);
        assert!(queue.next().await.is_none());
    }

    /// Whatever happens in whatever order: no key is with two workers, and none is forgotten.
    #[tokio::test(start_paused = true)]
    async fn no_order_of_things_loses_a_key() {
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
                    2 => drop(queue.retry(key)),
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
                owed[key] |= queue.next_try(&key).is_some();
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
