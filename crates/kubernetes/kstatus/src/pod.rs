//! When a pod is ready.

use serde_json::{Map, Value};

use crate::conditions::find;
use crate::explain::{failed_containers, problem};
use crate::health::{Facts, Health, health_at};
use crate::view::{Unreadable, clip, seconds, text, with_reason};

/// How long a scheduler may look for a place, in seconds.
const SCHEDULING: i64 = 15;

/// It has ended (well or not: nothing more is to come), or it runs and is ready.
pub fn pod(facts: &Facts<'_>) -> Result<Health, Unreadable> {
    let object = facts.object;
    let why = |otherwise: &str| problem(object).unwrap_or_else(|| otherwise.to_owned());
    Ok(match text(object, &["status", "phase"]) {
        "Succeeded" | "Failed" => Health::Ready,
        "Running" if find(&facts.conditions, "Ready", "True").is_some() => Health::Ready,
        "Running" if crashes(object)? => Health::Failed(failed_containers(object)),
        "Running" => Health::Waiting(why("running, but not ready")),
        "Pending" => match find(&facts.conditions, "PodScheduled", "False") {
            Some(condition) if condition.reason == "Unschedulable" => {
                let words = with_reason("cannot be scheduled", "", condition.message);
                let created = seconds(text(object, &["metadata", "creationTimestamp"])).unwrap_or(i64::MIN);
                match facts.now {
                    Some(now) if now.saturating_sub(SCHEDULING) >= created => Health::Failed(words),
                    _ => Health::Waiting(words),
                }
            }
            _ => Health::Waiting(why("pending")),
        },
        "" => Health::Waiting("not started".to_owned()),
        phase => Health::Waiting(format!("in a phase that is not known: {}", clip(phase))),
    })
}

/// Whether a container starts and ends again and again.
fn crashes(object: &Value) -> Result<bool, Unreadable> {
    const NAME: &str = "status.containerStatuses";
    let list = match object.get("status").and_then(|status| status.get("containerStatuses")) {
        None => return Ok(false),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(Unreadable(NAME)),
    };
    let mut found = false;
    for status in list {
        let status = map(status, NAME)?;
        let Some(name) = status.get("name") else { continue };
        if !name.is_string() {
            return Err(Unreadable(NAME));
        }
        let Some(state) = status.get("state") else { continue };
        let Some(waiting) = map(state, NAME)?.get("waiting") else { continue };
        let Some(reason) = map(waiting, NAME)?.get("reason") else { continue };
        found |= reason.as_str().ok_or(Unreadable(NAME))? == "CrashLoopBackOff";
    }
    Ok(found)
}

fn map<'a>(value: &'a Value, name: &'static str) -> Result<&'a Map<String, Value>, Unreadable> {
    value.as_object().ok_or(Unreadable(name))
}

/// Whether a pod has failed in a way that neither a bigger cluster nor the end of a rollout mends.
pub(crate) fn lasting_failure(pod: &Value, now: Option<i64>) -> bool {
    matches!(health_at(pod, now), Health::Failed(_)) && !unschedulable(pod)
}

fn unschedulable(pod: &Value) -> bool {
    crate::conditions::conditions(pod).is_ok_and(|conditions| {
        conditions.iter().any(|one| one.is("PodScheduled", "False") && one.reason == "Unschedulable")
    })
}
