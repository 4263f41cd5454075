//! Kinds whose readiness is a line or two.

use crate::conditions::Condition;
use crate::health::{Facts, Health};
use crate::view::{Unreadable, clip, text, with_reason};

/// There is nothing to wait for.
pub fn exists(_: &Facts<'_>) -> Result<Health, Unreadable> {
    Ok(Health::Ready)
}

/// A claim is ready when it has a volume.
pub fn claim(facts: &Facts<'_>) -> Result<Health, Unreadable> {
    Ok(match text(facts.object, &["status", "phase"]) {
        "Bound" => Health::Ready,
        "" => Health::Waiting("not bound to a volume".to_owned()),
        phase => Health::Waiting(format!("not bound to a volume: phase {}", clip(phase))),
    })
}

/// A service is ready when it exists; one with a load balancer when it has its address in the cluster.
pub fn service(facts: &Facts<'_>) -> Result<Health, Unreadable> {
    let balanced = text(facts.object, &["spec", "type"]) == "LoadBalancer";
    Ok(if balanced && text(facts.object, &["spec", "clusterIP"]).is_empty() {
        Health::Waiting("has no address in the cluster".to_owned())
    } else {
        Health::Ready
    })
}

/// A definition is ready when the server serves its kind.
pub fn definition(facts: &Facts<'_>) -> Result<Health, Unreadable> {
    for condition in &facts.conditions {
        let words = |said| with_reason(said, condition.reason, condition.message);
        if condition.is("NamesAccepted", "False") {
            return Ok(Health::Failed(words("its names are not accepted")));
        }
        if condition.is("Established", "False") && condition.reason != "Installing" {
            return Ok(Health::Failed(words("not established")));
        }
        if condition.is("Established", "True") {
            return Ok(Health::Ready);
        }
    }
    Ok(Health::Waiting("not established yet".to_owned()))
}

/// An API of another server is ready when that server answers. Helm does not wait for this; whoever applies objects of
/// such an API next has to.
pub fn service_of_api(facts: &Facts<'_>) -> Result<Health, Unreadable> {
    let unknown = || Health::Waiting("not known to be available yet".to_owned());
    let unready = decided(&facts.conditions, "Ready").filter(|health| !health.is_ready());
    Ok(unready.or_else(|| decided(&facts.conditions, "Available")).unwrap_or_else(unknown))
}

/// Any other kind: its `Ready` condition decides, else its `Available` condition (which Helm does not look at), and
/// with neither it is ready because it exists.
pub fn by_conditions(facts: &Facts<'_>) -> Result<Health, Unreadable> {
    let decided = ["Ready", "Available"].iter().find_map(|kind| decided(&facts.conditions, kind));
    Ok(decided.unwrap_or(Health::Ready))
}

/// What the first condition of a type says that says anything.
fn decided(conditions: &[Condition<'_>], kind: &str) -> Option<Health> {
    conditions.iter().filter(|condition| condition.kind == kind).find_map(|condition| {
        let words =
            || with_reason(&format!("not {}", kind.to_lowercase()), condition.reason, condition.message);
        match condition.status {
            "True" => Some(Health::Ready),
            "False" | "Unknown" => Some(Health::Waiting(words())),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::{Health, health};

    fn told(version: &str, kind: &str, conditions: Value) -> Health {
        health(&json!({"apiVersion": version, "kind": kind, "status": {"conditions": conditions}}))
    }

    #[test]
    fn availability_counts_where_helm_does_not_look() {
        let waiting = |words: &str| Health::Waiting(words.to_owned());
        let refused =
            json!([{"type": "Available", "status": "False", "reason": "MissingEndpoints", "message": "m"}]);
        let words = "not available: MissingEndpoints: m";
        let api = |conditions| told("apiregistration.k8s.io/v1", "APIService", conditions);
        let any = |conditions| told("example.com/v1", "Thing", conditions);
        assert_eq!(api(refused.clone()), waiting(words));
        assert_eq!(any(refused), waiting(words));
        assert_eq!(api(json!([])), waiting("not known to be available yet"));
        assert_eq!(api(json!([{"type": "Available", "status": "True"}])), Health::Ready);
        assert_eq!(any(json!([])), Health::Ready);
        // `Ready` is the stronger word.
        let both = json!([{"type": "Available", "status": "False"}, {"type": "Ready", "status": "True"}]);
        assert_eq!(any(both), Health::Ready);
    }

    #[test]
    fn ingresses_and_namespaces_are_ready_when_they_exist() {
        assert_eq!(told("networking.k8s.io/v1", "Ingress", json!([])), Health::Ready);
        assert_eq!(told("v1", "Namespace", json!(null)), Health::Ready);
    }
}
