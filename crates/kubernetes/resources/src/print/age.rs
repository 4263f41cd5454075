//! How long something took or takes, in the words of lists.

use crate::typed::moment;

const MINUTE: i64 = 60;
const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;
/// The longest time that the original can count.
const LONGEST: i64 = i64::MAX / 1_000_000_000;

/// A time as lists show it: two units at most, and the second only while it matters.
pub fn since(seconds: i64) -> String {
    let two = |large: i64, unit: &str, small: i64, rest: &str| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit}{small}{rest}"),
    };
    match seconds.clamp(-LONGEST, LONGEST) {
        i64::MIN..=-2 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(seconds / MINUTE, "m", seconds % MINUTE, "s"),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(seconds / HOUR, "h", seconds / MINUTE % 60, "m"),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(seconds / DAY, "d", seconds / HOUR % 24, "h"),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => two(seconds / YEAR, "y", seconds / DAY % 365, "d"),
        _ => format!("{}y", seconds.min(LONGEST) / YEAR),
    }
}

/// How long ago a moment was.
pub fn age(moment_text: &str, now: i64) -> String {
    match moment(moment_text) {
        Some(then) => since(now.saturating_sub(then)),
        None => "<unknown>".to_owned(),
    }
}
