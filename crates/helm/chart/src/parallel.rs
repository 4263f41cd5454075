//! Independent work on several threads.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle, ScopedJoinHandle};

use crate::processor;

/// More threads than this wait for memory and not for processors.
const MAX_THREADS: usize = 4;

/// In how many portions each thread takes its share, so that all end at about the same time.
const PORTIONS: usize = 64;

/// Does the same to every item. The answers are in the order of the items; the work is shared by several threads when
/// the items are worth it.
pub fn map<T: Sync, R: Send>(items: &[T], worth_it: bool, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    map_after(items, worth_it, work, || ()).0
}

/// Like [`map`], but this thread does something else first.
pub fn map_after<T: Sync, R: Send, F>(
    items: &[T],
    worth_it: bool,
    work: impl Fn(&T) -> R + Sync,
    first: impl FnOnce() -> F,
) -> (Vec<R>, F) {
    let threads = if worth_it { threads(items.len()) } else { 1 };
    if threads < 2 {
        let first = first();
        return (items.iter().map(work).collect(), first);
    }
    let portions = Portions::new(items, threads, work);
    let (first, done) = portions.share(threads, || {
        let first = first();
        (first, portions.take())
    });
    (done.into_iter().flat_map(|(_, answers)| answers).collect(), first)
}

/// Threads that do something while this one does something else.
#[derive(Debug)]
pub struct Running {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// Has other threads do something, each the same, until it says that it is over. Nothing if there are no others.
pub fn run_beside(work: impl Fn(&AtomicBool) + Clone + Send + 'static) -> Option<Running> {
    let over = Arc::new(AtomicBool::new(false));
    let begin = |_| {
        let (work, over) = (work.clone(), Arc::clone(&over));
        start(|away| thread::Builder::new().spawn(move || away.then(|| work(&over))))
    };
    let threads: Vec<_> = (1..threads(MAX_THREADS)).filter_map(begin).collect();
    (!threads.is_empty()).then_some(Running { over, threads })
}

impl Running {
    /// Tells the threads that it is over, and waits for what they have begun.
    pub fn end(mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Items that another thread follows up as soon as they are done.
pub struct Done<T> {
    ready: Vec<T>,
    all: Vec<T>,
    sender: Option<Sender<Vec<T>>>,
}

/// How many items are handed over at once: waking a thread takes longer than most items.
const HANDED_OVER: usize = 8;

impl<T> Done<T> {
    /// Adds an item.
    pub fn push(&mut self, item: T) {
        self.ready.push(item);
        if self.ready.len() >= HANDED_OVER {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let items = std::mem::take(&mut self.ready);
        match &self.sender {
            // Nobody takes them any more only when the other thread has panicked, which joining it tells.
            Some(sender) => drop(sender.send(items)),
            None => self.all.extend(items),
        }
    }
}

/// Makes items one after the other, and has another thread do something to each meanwhile, if that is worth it and there
/// is one. That thread does `besides` first, which calls what it is given to do what there is to do to items. The items
/// come in their order.
pub fn follow<T: Send, F>(
    worth_it: bool,
    work: impl Fn(&mut T) + Send,
    besides: impl FnOnce(&mut dyn FnMut()) + Send,
    make: impl FnOnce(&mut Done<T>) -> F,
) -> (Vec<T>, F) {
    let mut done = Done { ready: Vec::new(), all: Vec::new(), sender: None };
    thread::scope(|scope| {
        let other = (worth_it && threads(2) > 1).then(|| {
            let (sender, receiver) = channel::<Vec<T>>();
            let follow = move || {
                let mut all = Vec::new();
                let mut take = |mut items: Vec<T>| {
                    items.iter_mut().for_each(&work);
                    all.extend(items);
                };
                besides(&mut || receiver.try_iter().for_each(&mut take));
                receiver.into_iter().for_each(take);
                all
            };
            let other = start(|away| thread::Builder::new().spawn_scoped(scope, || away.then(follow)));
            other.map(|other| (sender, other))
        });
        let other = other.flatten().map(|(sender, other)| {
            done.sender = Some(sender);
            other
        });
        let made = make(&mut done);
        done.hand_over();
        done.sender = None;
        match other.map(ScopedJoinHandle::join) {
            None => {}
            Some(Ok(all)) => done.all = all,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
        (done.all, made)
    })
}

/// How many threads there are for so many items.
fn threads(items: usize) -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MAX_THREADS).min(items)
}

/// Starts a thread, on another processor than this one's.
fn start<H>(spawn: impl FnOnce(Away) -> io::Result<H>) -> Option<H> {
    let other = spawn(Away(processor::current())).ok()?;
    // If it waits for this processor, it comes to leaving it now.
    thread::yield_now();
    Some(other)
}

/// The processor that a new thread is to leave.
struct Away(Option<usize>);

impl Away {
    /// Leaves the processor, and does something.
    fn then<T>(self, work: impl FnOnce() -> T) -> T {
        processor::leave(self.0);
        work()
    }
}

/// Items that several threads take, a portion at a time.
struct Portions<'a, T, W> {
    items: &'a [T],
    size: usize,
    work: W,
    next: AtomicUsize,
}

/// The answers for portions, by number.
type Answers<R> = Vec<(usize, Vec<R>)>;

impl<'a, T: Sync, R: Send, W: Fn(&T) -> R + Sync> Portions<'a, T, W> {
    fn new(items: &'a [T], threads: usize, work: W) -> Self {
        let size = items.len().div_ceil(threads * PORTIONS).max(1);
        Self { items, size, work, next: AtomicUsize::new(0) }
    }

    /// Takes portions until there are no more.
    fn take(&self) -> Answers<R> {
        let mut done = Vec::new();
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(items) = self.items.chunks(self.size).nth(index) else { return done };
            done.push((index, items.iter().map(&self.work).collect()));
        }
    }

    /// Lets other threads take portions while this one does its own part. All answers are in order.
    fn share<F>(&self, threads: usize, own: impl FnOnce() -> (F, Answers<R>)) -> (F, Answers<R>) {
        let (first, mut done) = thread::scope(|scope| {
            // Where no thread can be had, this one does it all.
            let spawn =
                |_| start(|away| thread::Builder::new().spawn_scoped(scope, || away.then(|| self.take())));
            let others: Vec<_> = (1..threads).filter_map(spawn).collect();
            let (first, mut done) = own();
            for other in others {
                match other.join() {
                    Ok(more) => done.extend(more),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            (first, done)
        });
        done.sort_unstable_by_key(|(index, _)| *index);
        (first, done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_keep_the_order_of_the_items() {
        for count in [0, 1, 2, 3, 17, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let expected: Vec<usize> = items.iter().map(|n| n * n).collect();
            assert_eq!(super::map(&items, true, |n| n * n), expected);
            let after = super::map_after(&items, true, |n| n * n, || "first");
            assert_eq!(after, (expected, "first"));
        }
    }

    #[test]
    fn items_are_followed_up_in_their_order() {
        for count in [0, 1, 7, 8, 100] {
            for worth_it in [false, true] {
                let (items, made) = super::follow(
                    worth_it,
                    |(_, seen)| *seen = true,
                    |serve| serve(),
                    |done| {
                        (0..count).for_each(|n| done.push((n, false)));
                        "made"
                    },
                );
                assert_eq!(made, "made");
                assert!(items.iter().map(|(n, _)| *n).eq(0..count));
                let several = std::thread::available_parallelism().is_ok_and(|n| n.get() > 1);
                assert!(items.iter().all(|(_, seen)| *seen == (worth_it && several)));
            }
        }
    }

    #[test]
    fn what_runs_beside_ends_when_it_is_told_to() {
        let turns = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&turns);
        let running = super::run_beside(move |over| {
            while !over.load(Ordering::Relaxed) {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        let several = std::thread::available_parallelism().is_ok_and(|n| n.get() > 1);
        assert_eq!(running.is_some(), several);
        if let Some(running) = running {
            running.end();
            let last = turns.load(Ordering::Relaxed);
            std::thread::sleep(std::time::Duration::from_millis(2));
            assert_eq!(turns.load(Ordering::Relaxed), last);
        }
    }
}
