//! When a Deployment is ready.

use crate::conditions::find;
use crate::health::{Facts, Health};
use crate::view::{Unreadable, number, with_reason};

/// The controller's word for "no deadline".
const NO_DEADLINE: i64 = i32::MAX as i64;

/// All pods are of the newest template, and available.
pub fn deployment(facts: &Facts<'_>) -> Result<Health, Unreadable> {
    let object = facts.object;
    let deadline = number(object, &["spec", "progressDeadlineSeconds"], NO_DEADLINE);
    let mut progressed = deadline == NO_DEADLINE;
    let mut available = false;
    for condition in &facts.conditions {
        match condition.kind {
            "Progressing" if condition.reason == "ProgressDeadlineExceeded" => {
                let words = with_reason("made no progress in time", "", condition.message);
                return Ok(Health::Failed(words));
            }
            "Progressing" => {
                progressed |=
                    condition.is("Progressing", "True") && condition.reason == "NewReplicaSetAvailable"
            }
            "Available" => available |= condition.status == "True",
            _ => {}
        }
    }
    let status = |field| number(object, &["status", field], 0);
    let wanted = number(object, &["spec", "replicas"], 1);
    let (there, updated) = (status("replicas"), status("updatedReplicas"));
    let (free, ready) = (status("availableReplicas"), status("readyReplicas"));
    let words = if wanted > there {
        // A quota or an admission webhook stands in the way: only this condition says so.
        let refused = find(&facts.conditions, "ReplicaFailure", "True").unwrap_or_default();
        with_reason(&format!("{there} of {wanted} pods created"), refused.reason, refused.message)
    } else if wanted > updated {
        format!("{updated} of {wanted} pods updated")
    } else if there > wanted {
        format!("{} old pods still to go", there.saturating_sub(wanted))
    } else if updated > free {
        format!("{free} of {updated} pods available")
    } else if wanted > ready {
        format!("{ready} of {wanted} pods ready")
    } else if !progressed {
        "its newest pods are not complete yet".to_owned()
    } else if !available {
        let refused = find(&facts.conditions, "Available", "False").unwrap_or_default();
        with_reason("not available", refused.reason, refused.message)
    } else {
        return Ok(Health::Ready);
    };
    Ok(Health::Waiting(words))
}
