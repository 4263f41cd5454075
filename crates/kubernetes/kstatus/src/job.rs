//! Status of Jobs.

use crate::completion::job_result;
use crate::fields::{InvalidField, string_at};
use crate::status::{RuleInput, Status};

/// Current when it has started and not failed; see [`crate::completion_status`] to wait for its end.
pub fn job(input: &RuleInput<'_>) -> Result<Status, InvalidField> {
    Ok(match job_result(input.object, &input.conditions) {
        Some(end) => end,
        None if string_at(input.object, &["status", "startTime"]).is_empty() => {
            let suspended =
                input.object.pointer("/spec/suspend").and_then(serde_json::Value::as_bool) == Some(true);
            Status::InProgress(if suspended { "suspended" } else { "not started" }.to_owned())
        }
        None => Status::Current,
    })
}
