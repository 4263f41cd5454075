//! Completion of hook Jobs and Pods.

use serde_json::Value;

use crate::conditions::{Condition, conditions};
use crate::fields::{int_at, join_reason, string_at};
use crate::pod_summary::failed_pod_message;
use crate::status::{Status, group_kind, invalid_field_status};

/// Status of a hook: Jobs and Pods are current when they have succeeded, other kinds when they exist.
pub fn completion_status(object: &Value) -> Status {
    match group_kind(object) {
        ("batch", "Job") => match conditions(object) {
            Err(error) => invalid_field_status(error),
            Ok(conditions) => {
                job_result(object, &conditions).unwrap_or_else(|| Status::InProgress(progress(object)))
            }
        },
        ("", "Pod") => match string_at(object, &["status", "phase"]) {
            "Succeeded" => Status::Current,
            "Failed" => Status::Failed(failed_pod_message(object)),
            "" => Status::InProgress("not started".to_owned()),
            phase => Status::InProgress(join_reason("has not ended", "", &format!("phase {phase}"))),
        },
        _ => Status::Current,
    }
}

/// Result of a finished Job; `None` while it runs.
pub(crate) fn job_result(object: &Value, conditions: &[Condition<'_>]) -> Option<Status> {
    conditions.iter().find_map(|condition| match condition.condition_type {
        "Complete" if condition.status == "True" => Some(Status::Current),
        "Failed" if condition.status == "True" => {
            let message = join_reason(&progress(object), condition.reason, condition.message);
            Some(Status::Failed(message))
        }
        _ => None,
    })
}

fn progress(object: &Value) -> String {
    let wanted = int_at(object, &["spec", "completions"], int_at(object, &["spec", "parallelism"], 1));
    let status = |field| int_at(object, &["status", field], 0);
    let mut message = format!("{} of {wanted} pods succeeded", status("succeeded"));
    for (count, state) in [(status("active"), "active"), (status("failed"), "failed")] {
        if count > 0 {
            message.push_str(&format!(", {count} {state}"));
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn job_reports_progress_and_failure() {
        let job = |conditions: Value| {
            json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"completions": 3},
                "status": {"succeeded": 1, "failed": 2, "active": 1, "conditions": conditions}})
        };
        let message = "1 of 3 pods succeeded, 1 active, 2 failed";
        assert_eq!(completion_status(&job(json!([]))), Status::InProgress(message.to_owned()));
        let failed = json!([{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded",
            "message": "Job has reached the specified backoff limit"}]);
        let message = format!("{message}: BackoffLimitExceeded: Job has reached the specified backoff limit");
        assert_eq!(completion_status(&job(failed)), Status::Failed(message));
    }

    #[test]
    fn failed_pod_names_container_and_exit_code() {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Failed", "containerStatuses": [
            {"name": "ok", "state": {"terminated": {"exitCode": 0}}},
            {"name": "migrate", "state": {"terminated": {"exitCode": 3, "reason": "Error", "message": "no table"}}}]}});
        let message = "failed: container migrate: ended with exit code 3 (Error): no table";
        assert_eq!(completion_status(&pod), Status::Failed(message.to_owned()));
    }
}
