//! Pods of a workload.

use serde_json::Value;

/// Label selector of a workload's pods; ignores `matchExpressions`.
pub fn pod_selector(object: &Value) -> Option<String> {
    let path = match object.get("kind")?.as_str()? {
        "ReplicaSet" | "Deployment" | "StatefulSet" | "DaemonSet" | "Job" => "/spec/selector/matchLabels",
        "ReplicationController" => "/spec/selector",
        _ => return None,
    };
    let labels = object.pointer(path)?.as_object()?;
    let pairs: Vec<String> =
        labels.iter().filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?))).collect();
    (!pairs.is_empty()).then(|| pairs.join(","))
}

/// Whether the status of a workload counts any pods. Their state may change while the workload itself does not.
pub fn has_pods(object: &Value) -> bool {
    let counts = ["replicas", "currentNumberScheduled", "active"];
    let status = object.get("status");
    counts
        .iter()
        .any(|count| status.and_then(|s| s.get(count)).and_then(Value::as_i64).is_some_and(|n| n > 0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selects_pods_of_workloads_only() {
        let labels = json!({"app": "web", "tier": "front"});
        let deployment = json!({"kind": "Deployment", "spec": {"selector": {"matchLabels": labels}}});
        assert_eq!(pod_selector(&deployment).as_deref(), Some("app=web,tier=front"));
        let old = json!({"kind": "ReplicationController", "spec": {"selector": labels}});
        assert_eq!(pod_selector(&old).as_deref(), Some("app=web,tier=front"));
        // An empty selector would match every pod in the namespace.
        let none = json!({"kind": "Job", "spec": {"selector": {"matchLabels": {}}}});
        assert_eq!(pod_selector(&none), None);
        assert_eq!(pod_selector(&json!({"kind": "Service", "spec": {"selector": labels}})), None);
    }

    #[test]
    fn has_pods_when_status_counts_some() {
        let statuses = [
            (json!({"replicas": 2}), true),
            (json!({"currentNumberScheduled": 1, "numberReady": 0}), true),
            (json!({"active": 1}), true),
            (json!({"replicas": 0, "observedGeneration": 3}), false),
            (json!({}), false),
        ];
        for (status, has) in statuses {
            assert_eq!(has_pods(&json!({"status": status})), has, "{status}");
        }
        assert!(!has_pods(&json!({"spec": {"replicas": 3}})));
    }
}
