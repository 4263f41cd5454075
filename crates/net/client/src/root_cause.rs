//! The cause of a failed connection in a few words.

use std::error::Error;

/// The root_cause error says what happened; those around it only that something did.
pub fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut current = error;
    while let Some(source) = current.source() {
        current = source;
    }
    current.to_string()
}
