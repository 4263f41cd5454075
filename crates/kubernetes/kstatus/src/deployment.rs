//! Status of Deployments.

use crate::conditions::find_condition;
use crate::fields::{InvalidField, int_at, join_reason};
use crate::status::{RuleInput, Status};

/// Value of `progressDeadlineSeconds` that disables the deadline.
const NO_DEADLINE: i64 = i32::MAX as i64;

/// Current when all pods have the latest template and are available.
pub fn deployment(input: &RuleInput<'_>) -> Result<Status, InvalidField> {
    let object = input.object;
    let deadline = int_at(object, &["spec", "progressDeadlineSeconds"], NO_DEADLINE);
    let mut progressed = deadline == NO_DEADLINE;
    let mut available = false;
    for condition in &input.conditions {
        match condition.condition_type {
            "Progressing" if condition.reason == "ProgressDeadlineExceeded" => {
                let message = join_reason("made no progress in time", "", condition.message);
                return Ok(Status::Failed(message));
            }
            "Progressing" => {
                progressed |=
                    condition.is("Progressing", "True") && condition.reason == "NewReplicaSetAvailable"
            }
            "Available" => available |= condition.status == "True",
            _ => {}
        }
    }
    let status = |field| int_at(object, &["status", field], 0);
    let wanted = int_at(object, &["spec", "replicas"], 1);
    let (created, updated) = (status("replicas"), status("updatedReplicas"));
    let (available_replicas, ready) = (status("availableReplicas"), status("readyReplicas"));
    let message = if wanted > created {
        // Only this condition reports that a quota or admission rejects the pods.
        let refused = find_condition(&input.conditions, "ReplicaFailure", "True").unwrap_or_default();
        join_reason(&format!("{created} of {wanted} pods created"), refused.reason, refused.message)
    } else if wanted > updated {
        format!("{updated} of {wanted} pods updated")
    } else if created > wanted {
        format!("{} old pods still to go", created.saturating_sub(wanted))
    } else if updated > available_replicas {
        format!("{available_replicas} of {updated} pods available")
    } else if wanted > ready {
        format!("{ready} of {wanted} pods ready")
    } else if !progressed {
        "its newest pods are not complete yet".to_owned()
    } else if !available {
        let refused = find_condition(&input.conditions, "Available", "False").unwrap_or_default();
        join_reason("not available", refused.reason, refused.message)
    } else {
        return Ok(Status::Current);
    };
    Ok(Status::InProgress(message))
}
