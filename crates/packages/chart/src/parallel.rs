//! Independent work on several threads.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// More threads than this wait for memory and not for processors.
const MAX_THREADS: usize = 4;

/// In how many portions each thread takes its share, so that all end at about the same time.
const PORTIONS: usize = 4;

/// Does the same to every item. The answers are in the order of the items; the work is shared by several threads when
/// the items are worth it.
pub fn map<T: Sync, R: Send>(items: &[T], worth_it: bool, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = if worth_it {
        thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MAX_THREADS).min(items.len())
    } else {
        1
    };
    if threads < 2 {
        return items.iter().map(work).collect();
    }
    let portion = items.len().div_ceil(threads * PORTIONS);
    let portions: Vec<&[T]> = items.chunks(portion).collect();
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(items) = portions.get(index) else { return done };
            done.push((index, items.iter().map(&work).collect::<Vec<R>>()));
        }
    };
    let mut done = thread::scope(|scope| {
        // Where no thread can be had, this one does it all.
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, run).ok();
        let others: Vec<_> = (1..threads).filter_map(spawn).collect();
        let mut done = run();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().flat_map(|(_, answers)| answers).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn answers_keep_the_order_of_the_items() {
        for count in [0, 1, 2, 3, 17, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let expected: Vec<usize> = items.iter().map(|n| n * n).collect();
            assert_eq!(super::map(&items, true, |n| n * n), expected);
        }
    }
}
