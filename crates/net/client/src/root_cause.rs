//! Root causes of errors, for short messages.

use std::error::Error;

/// Message of the innermost source: the outer errors of hyper and kube only say that a request failed.
pub fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut current = error;
    while let Some(source) = current.source() {
        current = source;
    }
    current.to_string()
}
