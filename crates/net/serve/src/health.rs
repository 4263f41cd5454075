//! Health checks behind liveness and readiness probes.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// Failing checks by name; healthy when there are none. Clones share their state.
#[derive(Clone, Default)]
pub struct Health(Arc<Mutex<BTreeMap<&'static str, String>>>);

impl Health {
    /// Marks a check as failing.
    pub fn set_unhealthy(&self, check: &'static str, reason: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(check, reason.into());
    }

    /// Marks a check as passing.
    pub fn clear(&self, check: &'static str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(check);
    }

    /// Failing checks with their reasons, one per line; `None` if healthy.
    pub fn reasons(&self) -> Option<String> {
        let reasons = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        for (check, reason) in &*reasons {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{check}: {reason}");
        }
        (!text.is_empty()).then_some(text)
    }
}
