//! When the other keepers of pods are ready.

use crate::conditions::find;
use crate::health::{Facts, Health, generation, observed};
use crate::view::{Unreadable, number, text, with_reason};

/// All pods are ready and of one revision, as far as its strategy lets them.
pub fn stateful_set(facts: &Facts<'_>) -> Result<Health, Unreadable> {
    let object = facts.object;
    if text(object, &["spec", "updateStrategy", "type"]) == "OnDelete" {
        return Ok(Health::Ready);
    }
    let status = |field| number(object, &["status", field], 0);
    let wanted = number(object, &["spec", "replicas"], 1);
    let (there, ready) = (status("replicas"), status("readyReplicas"));
    let (current, updated) = (status("currentReplicas"), status("updatedReplicas"));
    let partition = number(object, &["spec", "updateStrategy", "rollingUpdate", "partition"], -1);
    let words = if wanted > there {
        format!("{there} of {wanted} pods created")
    } else if wanted > ready {
        format!("{ready} of {wanted} pods ready")
    } else if there > wanted {
        format!("{} pods still to go", there.saturating_sub(wanted))
    } else if partition != -1 {
        let due = wanted.wrapping_sub(partition);
        if updated >= due {
            return Ok(Health::Ready);
        }
        format!("{updated} of {due} pods updated")
    } else if wanted > current {
        format!("{updated} of {wanted} pods updated")
    } else if text(object, &["status", "currentRevision"]) != text(object, &["status", "updateRevision"]) {
        "not all pods are of the newest revision yet".to_owned()
    } else {
        return Ok(Health::Ready);
    };
    Ok(Health::Waiting(words))
}

/// All pods are there and available.
pub fn replica_set(facts: &Facts<'_>) -> Result<Health, Unreadable> {
    let object = facts.object;
    let status = |field| number(object, &["status", field], 0);
    let wanted = number(object, &["spec", "replicas"], 1);
    let (there, ready) = (status("replicas"), status("readyReplicas"));
    let (free, labelled) = (status("availableReplicas"), status("fullyLabeledReplicas"));
    let words = if let Some(refused) = find(&facts.conditions, "ReplicaFailure", "True") {
        with_reason(&format!("{there} of {wanted} pods created"), refused.reason, refused.message)
    } else if wanted > labelled {
        format!("{labelled} of {wanted} pods created")
    } else if wanted > free {
        format!("{free} of {wanted} pods available")
    } else if wanted > ready {
        format!("{ready} of {wanted} pods ready")
    } else if there > wanted {
        format!("{} pods still to go", there.saturating_sub(wanted))
    } else {
        return Ok(Health::Ready);
    };
    Ok(Health::Waiting(words))
}

/// Every node that should have a pod has one of the newest template, and it is available.
pub fn daemon_set(facts: &Facts<'_>) -> Result<Health, Unreadable> {
    let object = facts.object;
    let status = |field, otherwise| number(object, &["status", field], otherwise);
    let wanted = status("desiredNumberScheduled", -1);
    // Its controller always writes these: without them it has not come by yet.
    if generation(object)?.is_none() || observed(object)?.is_none() || wanted == -1 {
        return Ok(Health::Waiting("its controller has not seen it yet".to_owned()));
    }
    let counts = [
        ("currentNumberScheduled", "scheduled"),
        ("updatedNumberScheduled", "updated"),
        ("numberAvailable", "available"),
        ("numberReady", "ready"),
    ];
    for (field, word) in counts {
        let count = status(field, 0);
        if wanted > count {
            return Ok(Health::Waiting(format!("{count} of {wanted} pods {word}")));
        }
    }
    Ok(Health::Ready)
}
