//! Moments in metadata.

use podium_meta::timestamp;

/// Reads a moment and writes it as the API does, in whole seconds; the moment that stands for none is none.
pub fn read(text: &str) -> Result<Option<String>, String> {
    let (seconds, nanoseconds) = timestamp::parse(text, false)?;
    let rest = if seconds == timestamp::ZERO_TIME { nanoseconds } else { 0 };
    Ok(timestamp::format(seconds, rest, false))
}
