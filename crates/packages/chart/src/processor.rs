//! Where threads run.

use nix::sched::{sched_getaffinity, sched_getcpu, sched_setaffinity};
use nix::unistd::Pid;

/// The processor that this thread runs on.
pub fn current() -> Option<usize> {
    sched_getcpu().ok()
}

/// Takes this thread from a processor to any other one that it may run on.
///
/// Linux often has a new thread wait behind the one that made it, for milliseconds, although another processor is idle:
/// in a virtual machine an idle processor looks as if it were taken.
pub fn leave(processor: Option<usize>) {
    let Some(here) = processor.filter(|_| current() == processor) else { return };
    let this = Pid::from_raw(0);
    let Ok(all) = sched_getaffinity(this) else { return };
    let mut others = all;
    if others.unset(here).is_ok() && sched_setaffinity(this, &others).is_ok() {
        let _ = sched_setaffinity(this, &all);
    }
}
