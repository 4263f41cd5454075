//! Moments in metadata.

use podium_meta::moment;

/// Reads a moment and writes it as the API does, in whole seconds; the moment that stands for none is none.
pub fn read(text: &str) -> Result<Option<String>, String> {
    let (seconds, nanoseconds) = moment::read(text, false)?;
    let rest = if seconds == moment::NEVER { nanoseconds } else { 0 };
    Ok(moment::write(seconds, rest, false))
}
