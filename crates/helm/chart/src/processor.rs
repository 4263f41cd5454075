//! Where threads run.

#[cfg(target_os = "linux")]
pub use linux::{current, leave};

#[cfg(target_os = "linux")]
mod linux {
    use nix::sched::{sched_getaffinity, sched_getcpu, sched_setaffinity};
    use nix::unistd::Pid;

    /// The processor that this thread runs on.
    pub fn current() -> Option<usize> {
        sched_getcpu().ok()
    }

    /// Takes this thread from a processor to any other one that it may run on.
    ///
    /// Linux often has a new thread wait behind the one that made it, for milliseconds, although another processor is
    /// idle: in a virtual machine an idle processor looks as if it were taken.
    pub fn leave(processor: Option<usize>) {
        let Some(here) = processor.filter(|_| current() == processor) else { return };
        let this = Pid::from_raw(0);
        let Ok(all) = sched_getaffinity(this) else { return };
        let mut others = all;
        if others.unset(here).is_ok() && sched_setaffinity(this, &others).is_ok() {
            let _ = sched_setaffinity(this, &all);
        }
    }

    #[cfg(test)]
    mod tests {
        use nix::sched::CpuSet;

        use super::*;

        #[test]
        fn a_thread_leaves_its_processor_and_may_come_back() {
            let all = sched_getaffinity(Pid::from_raw(0)).unwrap();
            let mine = (0..CpuSet::count()).filter(|at| all.is_set(*at).unwrap_or(false));
            let several = mine.count() > 1;
            let moves = |_| {
                let before = current();
                leave(before);
                current() != before
            };
            // The system may have it go back at once, but not always.
            assert_eq!((0..1000).any(moves), several);
            assert!(sched_getaffinity(Pid::from_raw(0)).unwrap() == all);
        }
    }
}

/// Elsewhere the system is trusted to find a processor.
#[cfg(not(target_os = "linux"))]
pub fn current() -> Option<usize> {
    None
}

/// Does nothing.
#[cfg(not(target_os = "linux"))]
pub fn leave(_: Option<usize>) {}
