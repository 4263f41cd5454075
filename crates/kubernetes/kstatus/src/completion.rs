//! When Jobs and Pods that are hooks have done their work.

use serde_json::Value;

use crate::conditions::{Condition, conditions};
use crate::explain::failed_pod;
use crate::health::{Health, group_kind, unreadable};
use crate::view::{number, text, with_reason};

/// Whether a hook has ended: Jobs and Pods when they have succeeded or failed, anything else when it exists.
pub fn completion(object: &Value) -> Health {
    match group_kind(object) {
        ("batch", "Job") => match conditions(object) {
            Err(error) => unreadable(error),
            Ok(conditions) => ended(object, &conditions).unwrap_or_else(|| Health::Waiting(progress(object))),
        },
        ("", "Pod") => match text(object, &["status", "phase"]) {
            "Succeeded" => Health::Ready,
            "Failed" => Health::Failed(failed_pod(object)),
            "" => Health::Waiting("not started".to_owned()),
            phase => Health::Waiting(with_reason("has not ended", "", &format!("phase {phase}"))),
        },
        _ => Health::Ready,
    }
}

/// How a Job has ended, if it has.
pub(crate) fn ended(object: &Value, conditions: &[Condition<'_>]) -> Option<Health> {
    conditions.iter().find_map(|condition| match condition.kind {
        "Complete" if condition.status == "True" => Some(Health::Ready),
        "Failed" if condition.status == "True" => {
            let words = with_reason(&progress(object), condition.reason, condition.message);
            Some(Health::Failed(words))
        }
        _ => None,
    })
}

fn progress(object: &Value) -> String {
    let wanted = number(object, &["spec", "completions"], number(object, &["spec", "parallelism"], 1));
    let status = |field| number(object, &["status", field], 0);
    let mut words = format!("{} of {wanted} pods succeeded", status("succeeded"));
    for (count, word) in [(status("active"), "active"), (status("failed"), "failed")] {
        if count > 0 {
            words.push_str(&format!(", {count} {word}"));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_tells_how_far_it_is_and_why_it_failed() {
        let job = |conditions: Value| {
            json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"completions": 3},
                "status": {"succeeded": 1, "failed": 2, "active": 1, "conditions": conditions}})
        };
        let words = "1 of 3 pods succeeded, 1 active, 2 failed";
        assert_eq!(completion(&job(json!([]))), Health::Waiting(words.to_owned()));
        let failed = json!([{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded",
            "message": "Job has reached the specified backoff limit"}]);
        let words = format!("{words}: BackoffLimitExceeded: Job has reached the specified backoff limit");
        assert_eq!(completion(&job(failed)), Health::Failed(words));
    }

    #[test]
    fn a_pod_that_failed_names_the_container_and_its_exit_code() {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Failed", "containerStatuses": [
            {"name": "ok", "state": {"terminated": {"exitCode": 0}}},
            {"name": "migrate", "state": {"terminated": {"exitCode": 3, "reason": "Error", "message": "no table"}}}]}});
        let words = "failed: container migrate: ended with exit code 3 (Error): no table";
        assert_eq!(completion(&pod), Health::Failed(words.to_owned()));
    }
}
