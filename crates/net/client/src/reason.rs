//! The cause of a failed connection in a few words.

use std::error::Error;

/// The innermost error says what happened; those around it only that something did.
pub fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut at = error;
    while let Some(source) = at.source() {
        at = source;
    }
    at.to_string()
}
