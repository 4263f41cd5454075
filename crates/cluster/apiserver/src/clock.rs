//! The time of this machine.

use std::time::{SystemTime, UNIX_EPOCH};

use podium_meta::time;

/// Seconds since 1970.
pub fn seconds() -> i64 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(passed.as_secs()).unwrap_or(i64::MAX)
}

/// Now, as objects have it.
pub fn now() -> String {
    time::format_seconds(seconds())
}
