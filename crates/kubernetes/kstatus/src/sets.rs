//! Status of StatefulSets, ReplicaSets and DaemonSets.

use crate::conditions::find_condition;
use crate::fields::{InvalidField, int_at, join_reason, string_at};
use crate::status::{RuleInput, Status, generation, observed_generation};

/// Current when all pods are ready and of the update revision, as far as the update strategy demands.
pub fn stateful_set(input: &RuleInput<'_>) -> Result<Status, InvalidField> {
    let object = input.object;
    if string_at(object, &["spec", "updateStrategy", "type"]) == "OnDelete" {
        return Ok(Status::Current);
    }
    let status = |field| int_at(object, &["status", field], 0);
    let wanted = int_at(object, &["spec", "replicas"], 1);
    let (created, ready) = (status("replicas"), status("readyReplicas"));
    let (current, updated) = (status("currentReplicas"), status("updatedReplicas"));
    let partition = int_at(object, &["spec", "updateStrategy", "rollingUpdate", "partition"], -1);
    let message = if wanted > created {
        format!("{created} of {wanted} pods created")
    } else if wanted > ready {
        format!("{ready} of {wanted} pods ready")
    } else if created > wanted {
        format!("{} pods still to go", created.saturating_sub(wanted))
    } else if partition != -1 {
        let due = wanted.wrapping_sub(partition);
        if updated >= due {
            return Ok(Status::Current);
        }
        format!("{updated} of {due} pods updated")
    } else if wanted > current {
        format!("{updated} of {wanted} pods updated")
    } else if string_at(object, &["status", "currentRevision"])
        != string_at(object, &["status", "updateRevision"])
    {
        "not all pods are of the newest revision yet".to_owned()
    } else {
        return Ok(Status::Current);
    };
    Ok(Status::InProgress(message))
}

/// Current when all pods are created and available.
pub fn replica_set(input: &RuleInput<'_>) -> Result<Status, InvalidField> {
    let object = input.object;
    let status = |field| int_at(object, &["status", field], 0);
    let wanted = int_at(object, &["spec", "replicas"], 1);
    let (created, ready) = (status("replicas"), status("readyReplicas"));
    let (available, labelled) = (status("availableReplicas"), status("fullyLabeledReplicas"));
    let message = if let Some(refused) = find_condition(&input.conditions, "ReplicaFailure", "True") {
        join_reason(&format!("{created} of {wanted} pods created"), refused.reason, refused.message)
    } else if wanted > labelled {
        format!("{labelled} of {wanted} pods created")
    } else if wanted > available {
        format!("{available} of {wanted} pods available")
    } else if wanted > ready {
        format!("{ready} of {wanted} pods ready")
    } else if created > wanted {
        format!("{} pods still to go", created.saturating_sub(wanted))
    } else {
        return Ok(Status::Current);
    };
    Ok(Status::InProgress(message))
}

/// Current when every eligible node has an available pod of the latest template.
pub fn daemon_set(input: &RuleInput<'_>) -> Result<Status, InvalidField> {
    let object = input.object;
    let status = |field, otherwise| int_at(object, &["status", field], otherwise);
    let wanted = status("desiredNumberScheduled", -1);
    // The controller always sets these: without them it has not observed the object yet.
    if generation(object)?.is_none() || observed_generation(object)?.is_none() || wanted == -1 {
        return Ok(Status::InProgress("its controller has not seen it yet".to_owned()));
    }
    let counts = [
        ("currentNumberScheduled", "scheduled"),
        ("updatedNumberScheduled", "updated"),
        ("numberAvailable", "available"),
        ("numberReady", "ready"),
    ];
    for (field, state) in counts {
        let count = status(field, 0);
        if wanted > count {
            return Ok(Status::InProgress(format!("{count} of {wanted} pods {state}")));
        }
    }
    Ok(Status::Current)
}
