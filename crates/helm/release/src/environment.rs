//! What templates see of the machine that they are rendered on, whoever renders them: its clock, its chance, and an end
//! of their time.

use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The time: seconds since 1970, and nanoseconds.
pub fn now() -> (i64, u32) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (i64::try_from(since.as_secs()).unwrap_or(i64::MAX), since.subsec_nanos())
}

/// Fills bytes by chance.
pub fn random(buffer: &mut [u8]) {
    // Without a source of chance there must be no secrets: better none than the same for everybody.
    if getrandom::fill(buffer).is_err() {
        std::process::abort();
    }
}

/// Until when a render has to be done.
#[derive(Debug, Default)]
pub struct Deadline {
    at: Option<Instant>,
    expired: Cell<bool>,
}

impl Deadline {
    /// This long from now; nothing is for ever.
    pub fn after(timeout: Option<Duration>) -> Self {
        Self {
            at: timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            expired: Cell::new(false),
        }
    }

    /// Whether it is over; what is over stays so.
    pub fn is_expired(&self) -> bool {
        if !self.expired.get() && self.at.is_some_and(|at| Instant::now() > at) {
            self.expired.set(true);
        }
        self.expired.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_over_when_it_is() {
        assert!(
            !Deadline::after(None).is_expired()
                && !Deadline::after(Some(Duration::from_secs(60))).is_expired()
        );
        let short = Deadline::after(Some(Duration::ZERO));
        std::thread::sleep(Duration::from_millis(2));
        assert!(short.is_expired() && short.is_expired());
    }

    #[test]
    fn chance_differs() {
        let mut both = [[0_u8; 16]; 2];
        both.iter_mut().for_each(|bytes| random(bytes));
        assert_ne!(both[0], both[1]);
        assert!(now().0 > 1_700_000_000);
    }
}
