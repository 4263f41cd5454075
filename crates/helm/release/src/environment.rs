//! The environment of templates: clock, randomness, and a deadline.

use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The current time: seconds since the Unix epoch, and nanoseconds.
pub fn now() -> (i64, u32) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (i64::try_from(since.as_secs()).unwrap_or(i64::MAX), since.subsec_nanos())
}

/// Fills a buffer with random bytes.
pub fn random(buffer: &mut [u8]) {
    // Without randomness, generated secrets would be predictable.
    if getrandom::fill(buffer).is_err() {
        std::process::abort();
    }
}

/// The deadline of a render.
#[derive(Debug, Default)]
pub struct Deadline {
    at: Option<Instant>,
    expired: Cell<bool>,
}

impl Deadline {
    /// Expires after a timeout; `None` never expires.
    pub fn after(timeout: Option<Duration>) -> Self {
        Self {
            at: timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            expired: Cell::new(false),
        }
    }

    /// Whether the deadline has passed; once expired, it stays expired.
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
    fn deadline_expires_and_stays_expired() {
        assert!(
            !Deadline::after(None).is_expired()
                && !Deadline::after(Some(Duration::from_secs(60))).is_expired()
        );
        let short = Deadline::after(Some(Duration::ZERO));
        std::thread::sleep(Duration::from_millis(2));
        assert!(short.is_expired() && short.is_expired());
    }

    #[test]
    fn random_bytes_differ() {
        let mut both = [[0_u8; 16]; 2];
        both.iter_mut().for_each(|bytes| random(bytes));
        assert_ne!(both[0], both[1]);
        assert!(now().0 > 1_700_000_000);
    }
}
