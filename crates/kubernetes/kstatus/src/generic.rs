//! Short rules, and the rule for kinds without one of their own.

use crate::conditions::Condition;
use crate::fields::{InvalidField, join_reason, string_at, truncate_line};
use crate::status::{RuleInput, Status};

/// Current as soon as the object exists.
pub fn always_current(_: &RuleInput<'_>) -> Result<Status, InvalidField> {
    Ok(Status::Current)
}

/// Current when bound to a volume.
pub fn persistent_volume_claim(input: &RuleInput<'_>) -> Result<Status, InvalidField> {
    Ok(match string_at(input.object, &["status", "phase"]) {
        "Bound" => Status::Current,
        "" => Status::InProgress("not bound to a volume".to_owned()),
        phase => Status::InProgress(format!("not bound to a volume: phase {}", truncate_line(phase))),
    })
}

/// Current when it exists; type LoadBalancer also needs a cluster IP.
pub fn service(input: &RuleInput<'_>) -> Result<Status, InvalidField> {
    let balanced = string_at(input.object, &["spec", "type"]) == "LoadBalancer";
    Ok(if balanced && string_at(input.object, &["spec", "clusterIP"]).is_empty() {
        Status::InProgress("has no address in the cluster".to_owned())
    } else {
        Status::Current
    })
}

/// Current when established.
pub fn custom_resource_definition(input: &RuleInput<'_>) -> Result<Status, InvalidField> {
    for condition in &input.conditions {
        let message = |summary| join_reason(summary, condition.reason, condition.message);
        if condition.is("NamesAccepted", "False") {
            return Ok(Status::Failed(message("its names are not accepted")));
        }
        if condition.is("Established", "False") && condition.reason != "Installing" {
            return Ok(Status::Failed(message("not established")));
        }
        if condition.is("Established", "True") {
            return Ok(Status::Current);
        }
    }
    Ok(Status::InProgress("not established yet".to_owned()))
}

/// Current when the aggregated API server is available. Helm does not wait for this, but objects of that API can be
/// applied only afterwards.
pub fn api_service(input: &RuleInput<'_>) -> Result<Status, InvalidField> {
    let unknown = || Status::InProgress("not known to be available yet".to_owned());
    let unready = condition_status(&input.conditions, "Ready").filter(|status| !status.is_current());
    Ok(unready.or_else(|| condition_status(&input.conditions, "Available")).unwrap_or_else(unknown))
}

/// Rule for other kinds: the `Ready` condition decides, else `Available` (which Helm ignores); current with neither.
pub fn by_conditions(input: &RuleInput<'_>) -> Result<Status, InvalidField> {
    let decided = ["Ready", "Available"]
        .iter()
        .find_map(|condition_type| condition_status(&input.conditions, condition_type));
    Ok(decided.unwrap_or(Status::Current))
}

/// Status by the first condition of a type with a valid condition status.
fn condition_status(conditions: &[Condition<'_>], condition_type: &str) -> Option<Status> {
    conditions.iter().filter(|condition| condition.condition_type == condition_type).find_map(|condition| {
        let message = || {
            join_reason(
                &format!("not {}", condition_type.to_lowercase()),
                condition.reason,
                condition.message,
            )
        };
        match condition.status {
            "True" => Some(Status::Current),
            "False" | "Unknown" => Some(Status::InProgress(message())),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::{Status, compute};

    fn status_of(version: &str, kind: &str, conditions: Value) -> Status {
        compute(&json!({"apiVersion": version, "kind": kind, "status": {"conditions": conditions}}))
    }

    #[test]
    fn available_condition_counts_for_api_services_and_custom_resources() {
        let in_progress = |message: &str| Status::InProgress(message.to_owned());
        let refused =
            json!([{"type": "Available", "status": "False", "reason": "MissingEndpoints", "message": "m"}]);
        let message = "not available: MissingEndpoints: m";
        let api = |conditions| status_of("apiregistration.k8s.io/v1", "APIService", conditions);
        let any = |conditions| status_of("example.com/v1", "Thing", conditions);
        assert_eq!(api(refused.clone()), in_progress(message));
        assert_eq!(any(refused), in_progress(message));
        assert_eq!(api(json!([])), in_progress("not known to be available yet"));
        assert_eq!(api(json!([{"type": "Available", "status": "True"}])), Status::Current);
        assert_eq!(any(json!([])), Status::Current);
        // `Ready` takes precedence over `Available`.
        let both = json!([{"type": "Available", "status": "False"}, {"type": "Ready", "status": "True"}]);
        assert_eq!(any(both), Status::Current);
    }

    #[test]
    fn ingresses_and_namespaces_are_current_when_they_exist() {
        assert_eq!(status_of("networking.k8s.io/v1", "Ingress", json!([])), Status::Current);
        assert_eq!(status_of("v1", "Namespace", json!(null)), Status::Current);
    }
}
