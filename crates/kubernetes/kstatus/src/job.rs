//! When a Job is ready: it has begun, and has not failed.

use crate::completion::ended;
use crate::health::{Facts, Health};
use crate::view::{Unreadable, text};

/// It runs or has ended well; see [`crate::completion`] for waiting until its end.
pub fn job(facts: &Facts<'_>) -> Result<Health, Unreadable> {
    Ok(match ended(facts.object, &facts.conditions) {
        Some(end) => end,
        None if text(facts.object, &["status", "startTime"]).is_empty() => {
            let suspended =
                facts.object.pointer("/spec/suspend").and_then(serde_json::Value::as_bool) == Some(true);
            Health::Waiting(if suspended { "suspended" } else { "not started" }.to_owned())
        }
        None => Health::Ready,
    })
}
