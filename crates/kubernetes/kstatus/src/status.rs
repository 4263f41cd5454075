//! Status of an object, from a table of rules by kind.

use std::fmt;

use serde_json::Value;

use crate::completion::completion_status;
use crate::conditions::{Condition, conditions};
use crate::deployment::deployment;
use crate::fields::{InvalidField, join_reason, list_at, nested_field, truncate_line};
use crate::generic::{
    always_current, api_service, by_conditions, custom_resource_definition, persistent_volume_claim, service,
};
use crate::job::job;
use crate::pod::{is_permanent_failure, pod};
use crate::pod_summary::summarize;
use crate::sets::{daemon_set, replica_set, stateful_set};

/// Status of an object, with the reason unless it is current.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// The observed state matches the spec, and the object is ready.
    Current,
    /// The controller is still working towards the spec.
    InProgress(String),
    /// Reconciliation failed; the object needs an intervention.
    Failed(String),
    /// The object has a deletion timestamp.
    Terminating(String),
}

impl Status {
    /// Whether the object is ready.
    pub fn is_current(&self) -> bool {
        matches!(self, Self::Current)
    }

    /// Why the object is not ready.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Current => None,
            Self::InProgress(reason) | Self::Failed(reason) | Self::Terminating(reason) => Some(reason),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Current => f.write_str("ready"),
            Self::InProgress(reason) => write!(f, "waiting: {reason}"),
            Self::Failed(reason) => write!(f, "failed: {reason}"),
            Self::Terminating(reason) => f.write_str(reason),
        }
    }
}

/// Input of a rule.
pub(crate) struct RuleInput<'a> {
    pub object: &'a Value,
    pub conditions: Vec<Condition<'a>>,
    /// Unix time in seconds, if the caller has a clock.
    pub now: Option<i64>,
}

/// Status rule of a kind.
type Rule = fn(&RuleInput<'_>) -> Result<Status, InvalidField>;

/// Group, kind and rule, sorted; other kinds use [`by_conditions`].
const RULES: &[(&str, &str, Rule)] = &[
    ("", "ConfigMap", always_current),
    ("", "PersistentVolumeClaim", persistent_volume_claim),
    ("", "Pod", pod),
    ("", "Secret", always_current),
    ("", "Service", service),
    ("apiextensions.k8s.io", "CustomResourceDefinition", custom_resource_definition),
    ("apiregistration.k8s.io", "APIService", api_service),
    ("apps", "DaemonSet", daemon_set),
    ("apps", "Deployment", deployment),
    ("apps", "ReplicaSet", replica_set),
    ("apps", "StatefulSet", stateful_set),
    ("batch", "CronJob", always_current),
    ("batch", "Job", job),
    ("extensions", "DaemonSet", daemon_set),
    ("extensions", "Deployment", deployment),
    ("extensions", "ReplicaSet", replica_set),
    ("policy", "PodDisruptionBudget", always_current),
];

/// Kinds that fail with one of their pods, as in Helm.
const FAIL_WITH_PODS: &[(&str, &str)] = &[("apps", "ReplicaSet"), ("apps", "StatefulSet")];

/// Group and kind of an object; empty if its apiVersion is malformed.
pub(crate) fn group_kind(object: &Value) -> (&str, &str) {
    let text = |field| object.get(field).and_then(Value::as_str).unwrap_or_default();
    match text("apiVersion").split_once('/') {
        None => ("", text("kind")),
        Some((group, version)) if !version.contains('/') => (group, text("kind")),
        Some(_) => ("", ""),
    }
}

/// Computes the status of an object from its own fields.
///
/// An unschedulable pod is in progress; see [`compute_at`].
pub fn compute(object: &Value) -> Status {
    compute_at(object, None)
}

/// Like [`compute`], with the Unix time in seconds: a pod that is unschedulable for 15 seconds has failed, as in kstatus.
pub fn compute_at(object: &Value, now: Option<i64>) -> Status {
    evaluate(object, now).unwrap_or_else(invalid_field_status)
}

/// In progress rather than failed, because the next update of the object may correct the field.
pub(crate) fn invalid_field_status(error: InvalidField) -> Status {
    Status::InProgress(format!("cannot be read: {error}"))
}

/// Like [`compute`], but a Job is current only when it has completed (`--wait-for-jobs`).
pub fn compute_with_jobs(object: &Value) -> Status {
    if group_kind(object) == ("batch", "Job") { completion_status(object) } else { compute(object) }
}

/// Like [`compute_at`], with the pods of the object: they refine the reason, and a StatefulSet or ReplicaSet whose pod
/// is in a crash loop has failed.
pub fn compute_with_pods(object: &Value, pods: &[Value], now: Option<i64>) -> Status {
    let own = evaluate(object, now);
    let pod_failed = match own {
        Ok(Status::InProgress(_)) if FAIL_WITH_PODS.contains(&group_kind(object)) => {
            pods.iter().any(|pod| is_permanent_failure(pod, now))
        }
        _ => false,
    };
    let summary = summarize(pods);
    let with_pods = |own: String| match &summary {
        // The own reason already counts the pods.
        Some((_, reasons)) if own.contains(" pods ") => format!("{own}; {reasons}"),
        Some((count, reasons)) => format!("{own}; {count}; {reasons}"),
        None => own,
    };
    match own.unwrap_or_else(invalid_field_status) {
        Status::InProgress(reason) if pod_failed => Status::Failed(with_pods(reason)),
        Status::InProgress(reason) => Status::InProgress(with_pods(reason)),
        Status::Failed(reason) => Status::Failed(with_pods(reason)),
        other => other,
    }
}

/// Whether an object is a paused Deployment: Helm does not wait for those.
pub fn is_paused(object: &Value) -> bool {
    matches!(group_kind(object), ("apps" | "extensions", "Deployment"))
        && object.pointer("/spec/paused").and_then(Value::as_bool).unwrap_or(false)
}

fn evaluate(object: &Value, now: Option<i64>) -> Result<Status, InvalidField> {
    if !object.is_object() {
        return Err(InvalidField("the object"));
    }
    if let Some(status) = terminating(object)? {
        return Ok(status);
    }
    if let Some(status) = stale_generation(object)? {
        return Ok(status);
    }
    let input = RuleInput { object, conditions: conditions(object)?, now };
    for condition in &input.conditions {
        let message = |summary| join_reason(summary, condition.reason, condition.message);
        if condition.is("Reconciling", "True") {
            return Ok(Status::InProgress(message("reconciling")));
        }
        if condition.is("Stalled", "True") {
            return Ok(Status::Failed(message("stalled")));
        }
    }
    let (group, kind) = group_kind(object);
    let rule = RULES.iter().find(|rule| (rule.0, rule.1) == (group, kind));
    rule.map_or(by_conditions as Rule, |rule| rule.2)(&input)
}

/// Status of an object with a deletion timestamp, with the finalizers that it waits for.
fn terminating(object: &Value) -> Result<Option<Status>, InvalidField> {
    let name = "metadata.deletionTimestamp";
    match nested_field(object, "metadata", "deletionTimestamp", name)? {
        None => Ok(None),
        Some(Value::String(time)) if time.is_empty() => Ok(None),
        Some(Value::String(_)) => {
            let names = list_at(object, &["metadata", "finalizers"]).iter().filter_map(Value::as_str);
            let names: Vec<&str> = names.take(5).collect();
            Ok(Some(Status::Terminating(if names.is_empty() {
                "being deleted".to_owned()
            } else {
                format!("being deleted; waits for the finalizers {}", truncate_line(&names.join(", ")))
            })))
        }
        Some(_) => Err(InvalidField(name)),
    }
}

/// Status of an object whose controller has not observed the latest generation.
fn stale_generation(object: &Value) -> Result<Option<Status>, InvalidField> {
    let Some(generation) = generation(object)? else { return Ok(None) };
    Ok(match observed_generation(object)? {
        Some(observed) if observed != generation => Some(Status::InProgress(format!(
            "its controller has seen generation {observed}, the newest is {generation}"
        ))),
        _ => None,
    })
}

/// `metadata.generation`.
pub(crate) fn generation(object: &Value) -> Result<Option<i64>, InvalidField> {
    integer(nested_field(object, "metadata", "generation", "metadata.generation")?, "metadata.generation")
}

/// `status.observedGeneration`.
pub(crate) fn observed_generation(object: &Value) -> Result<Option<i64>, InvalidField> {
    let name = "status.observedGeneration";
    integer(nested_field(object, "status", "observedGeneration", name)?, name)
}

fn integer(value: Option<&Value>, name: &'static str) -> Result<Option<i64>, InvalidField> {
    value.map(|value| value.as_i64().ok_or(InvalidField(name))).transpose()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rules_are_sorted_and_unique() {
        let mut names: Vec<_> = RULES.iter().map(|rule| (rule.0, rule.1)).collect();
        names.dedup();
        assert_eq!(names.len(), RULES.len());
        assert!(names.is_sorted());
    }

    #[test]
    fn names_finalizers_of_terminating_object() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b", "c/d"]}});
        assert_eq!(compute(&object).to_string(), "being deleted; waits for the finalizers a/b, c/d");
    }

    #[test]
    fn is_in_progress_when_value_is_not_an_object() {
        for value in [Value::Null, json!([]), json!("x")] {
            assert_eq!(
                compute(&value),
                Status::InProgress("cannot be read: the object has a value of the wrong type".to_owned())
            );
        }
    }

    #[test]
    fn pods_explain_and_may_fail_their_workload() {
        let set =
            |kind| json!({"apiVersion": "apps/v1", "kind": kind, "spec": {"replicas": 2}, "status": {}});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-0"}, "status": {
            "phase": "Running", "conditions": [{"type": "Ready", "status": "False"}],
            "containerStatuses": [{"name": "app", "restartCount": 4, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}}}]}});
        let message = "0 of 2 pods created; pod web-0: container app: CrashLoopBackOff: last run \
                     ended with exit code 1 (Error), 4 restarts";
        let pods = [pod];
        assert_eq!(compute_with_pods(&set("StatefulSet"), &pods, None), Status::Failed(message.to_owned()));
        assert_eq!(
            compute_with_pods(&set("Deployment"), &pods, None),
            Status::InProgress(message.to_owned())
        );
        assert_eq!(
            compute_with_pods(&set("Deployment"), &[], None),
            Status::InProgress("0 of 2 pods created".to_owned())
        );
    }

    #[test]
    fn detects_paused_deployments() {
        let object = |kind| json!({"apiVersion": "apps/v1", "kind": kind, "spec": {"paused": true}});
        assert!(is_paused(&object("Deployment")));
        assert!(!is_paused(&object("StatefulSet")));
        assert!(!is_paused(&json!({"apiVersion": "apps/v1", "kind": "Deployment"})));
    }
}
