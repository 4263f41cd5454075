//! Status of Pods.

use serde_json::{Map, Value};

use crate::conditions::find_condition;
use crate::fields::{InvalidField, join_reason, parse_rfc3339, string_at, truncate_line};
use crate::pod_summary::{crash_loop_message, pod_message};
use crate::status::{RuleInput, Status, compute_at};

/// Seconds that a pod may be unschedulable before it has failed.
const SCHEDULE_WINDOW: i64 = 15;

/// Current when it has ended, successfully or not, or when it is ready.
pub fn pod(input: &RuleInput<'_>) -> Result<Status, InvalidField> {
    let object = input.object;
    let message = |default: &str| pod_message(object).unwrap_or_else(|| default.to_owned());
    Ok(match string_at(object, &["status", "phase"]) {
        "Succeeded" | "Failed" => Status::Current,
        "Running" if find_condition(&input.conditions, "Ready", "True").is_some() => Status::Current,
        "Running" if in_crash_loop(object)? => Status::Failed(crash_loop_message(object)),
        "Running" => Status::InProgress(message("running, but not ready")),
        "Pending" => match find_condition(&input.conditions, "PodScheduled", "False") {
            Some(condition) if condition.reason == "Unschedulable" => {
                let message = join_reason("cannot be scheduled", "", condition.message);
                let created =
                    parse_rfc3339(string_at(object, &["metadata", "creationTimestamp"])).unwrap_or(i64::MIN);
                match input.now {
                    Some(now) if now.saturating_sub(SCHEDULE_WINDOW) >= created => Status::Failed(message),
                    _ => Status::InProgress(message),
                }
            }
            _ => Status::InProgress(message("pending")),
        },
        "" => Status::InProgress("not started".to_owned()),
        phase => Status::InProgress(format!("in a phase that is not known: {}", truncate_line(phase))),
    })
}

/// Whether a container waits in `CrashLoopBackOff`.
fn in_crash_loop(object: &Value) -> Result<bool, InvalidField> {
    const NAME: &str = "status.containerStatuses";
    let list = match object.get("status").and_then(|status| status.get("containerStatuses")) {
        None => return Ok(false),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(InvalidField(NAME)),
    };
    let mut found = false;
    for status in list {
        let status = map(status, NAME)?;
        let Some(name) = status.get("name") else { continue };
        if !name.is_string() {
            return Err(InvalidField(NAME));
        }
        let Some(state) = status.get("state") else { continue };
        let Some(waiting) = map(state, NAME)?.get("waiting") else { continue };
        let Some(reason) = map(waiting, NAME)?.get("reason") else { continue };
        found |= reason.as_str().ok_or(InvalidField(NAME))? == "CrashLoopBackOff";
    }
    Ok(found)
}

fn map<'a>(value: &'a Value, name: &'static str) -> Result<&'a Map<String, Value>, InvalidField> {
    value.as_object().ok_or(InvalidField(name))
}

/// Whether a pod has failed for a reason other than scheduling, which more nodes or the end of a rollout may resolve.
pub(crate) fn is_permanent_failure(pod: &Value, now: Option<i64>) -> bool {
    matches!(compute_at(pod, now), Status::Failed(_)) && !unschedulable(pod)
}

fn unschedulable(pod: &Value) -> bool {
    crate::conditions::conditions(pod).is_ok_and(|conditions| {
        conditions.iter().any(|one| one.is("PodScheduled", "False") && one.reason == "Unschedulable")
    })
}
