//! Whether a process is well, and ready: what probes ask for.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// What stands in the way, by the name of who says so; copies are the same.
#[derive(Clone, Default)]
pub struct Health(Arc<Mutex<BTreeMap<&'static str, String>>>);

impl Health {
    /// Something stands in the way.
    pub fn set_unhealthy(&self, check: &'static str, reason: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(check, reason.into());
    }

    /// It no longer does.
    pub fn clear(&self, check: &'static str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(check);
    }

    /// All that stands in the way, a line each; nothing if all is well.
    pub fn reasons(&self) -> Option<String> {
        let reasons = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        for (check, reason) in &*reasons {
            // Writing into a text cannot fail.
            let _ = writeln!(text, "{check}: {reason}");
        }
        (!text.is_empty()).then_some(text)
    }
}
