//! Whether an object is ready, by one table of kinds.

use std::fmt;

use serde_json::Value;

use crate::completion::completion;
use crate::conditions::{Condition, conditions};
use crate::deployment::deployment;
use crate::explain::told;
use crate::job::job;
use crate::pod::{lasting_failure, pod};
use crate::sets::{daemon_set, replica_set, stateful_set};
use crate::simple::{by_conditions, claim, definition, exists, service, service_of_api};
use crate::view::{Unreadable, clip, items, strict, with_reason};

/// How an object is, with the reason where it is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// It does what it is for.
    Ready,
    /// It is on its way.
    Waiting(String),
    /// It will not become ready by itself.
    Failed(String),
    /// It is being deleted.
    Terminating(String),
}

impl Health {
    /// Whether nothing is missing.
    pub fn is_ready(&self) -> bool {
        matches!(self, Self::Ready)
    }

    /// Why it is not ready.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Ready => None,
            Self::Waiting(reason) | Self::Failed(reason) | Self::Terminating(reason) => Some(reason),
        }
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("ready"),
            Self::Waiting(reason) => write!(f, "waiting: {reason}"),
            Self::Failed(reason) => write!(f, "failed: {reason}"),
            Self::Terminating(reason) => f.write_str(reason),
        }
    }
}

/// What a rule of one kind is told.
pub(crate) struct Facts<'a> {
    pub object: &'a Value,
    pub conditions: Vec<Condition<'a>>,
    /// Seconds since 1970, where the caller has a clock.
    pub now: Option<i64>,
}

/// The rule of one kind.
type Rule = fn(&Facts<'_>) -> Result<Health, Unreadable>;

/// Group, kind and rule; other kinds go by their conditions.
const RULES: &[(&str, &str, Rule)] = &[
    ("", "ConfigMap", exists),
    ("", "PersistentVolumeClaim", claim),
    ("", "Pod", pod),
    ("", "Secret", exists),
    ("", "Service", service),
    ("apiextensions.k8s.io", "CustomResourceDefinition", definition),
    ("apiregistration.k8s.io", "APIService", service_of_api),
    ("apps", "DaemonSet", daemon_set),
    ("apps", "Deployment", deployment),
    ("apps", "ReplicaSet", replica_set),
    ("apps", "StatefulSet", stateful_set),
    ("batch", "CronJob", exists),
    ("batch", "Job", job),
    ("extensions", "DaemonSet", daemon_set),
    ("extensions", "Deployment", deployment),
    ("extensions", "ReplicaSet", replica_set),
    ("policy", "PodDisruptionBudget", exists),
];

/// Kinds that have failed when one of their pods has, as Helm sees it.
const FAIL_WITH_PODS: &[(&str, &str)] = &[("apps", "ReplicaSet"), ("apps", "StatefulSet")];

/// Group and kind of an object; both are empty where its version is none.
pub(crate) fn group_kind(object: &Value) -> (&str, &str) {
    let text = |field| object.get(field).and_then(Value::as_str).unwrap_or_default();
    match text("apiVersion").split_once('/') {
        None => ("", text("kind")),
        Some((group, version)) if !version.contains('/') => (group, text("kind")),
        Some(_) => ("", ""),
    }
}

/// How an object is, by its own status.
///
/// A pod that the scheduler finds no place for is waiting; see [`health_at`].
pub fn health(object: &Value) -> Health {
    health_at(object, None)
}

/// As [`health`], with the time in seconds since 1970: a pod without a place for 15 seconds has then failed, which is
/// what Helm thinks of it.
pub fn health_at(object: &Value, now: Option<i64>) -> Health {
    judge(object, now).unwrap_or_else(unreadable)
}

/// Whoever wrote this may still mend it.
pub(crate) fn unreadable(error: Unreadable) -> Health {
    Health::Waiting(format!("cannot be read: {error}"))
}

/// As [`health`], but Jobs are ready when they have ended well (`--wait-for-jobs`).
pub fn health_with_jobs(object: &Value) -> Health {
    if group_kind(object) == ("batch", "Job") { completion(object) } else { health(object) }
}

/// As [`health_at`], with what an object's pods tell: they give the reason, and a StatefulSet or ReplicaSet that waits
/// for a pod that crashes again and again has failed.
pub fn health_with_pods(object: &Value, pods: &[Value], now: Option<i64>) -> Health {
    let own = judge(object, now);
    let failed = match own {
        Ok(Health::Waiting(_)) if FAIL_WITH_PODS.contains(&group_kind(object)) => {
            pods.iter().any(|pod| lasting_failure(pod, now))
        }
        _ => false,
    };
    let told = told(pods);
    let both = |own: String| match &told {
        // One count is enough.
        Some((_, reasons)) if own.contains(" pods ") => format!("{own}; {reasons}"),
        Some((count, reasons)) => format!("{own}; {count}; {reasons}"),
        None => own,
    };
    match own.unwrap_or_else(unreadable) {
        Health::Waiting(reason) if failed => Health::Failed(both(reason)),
        Health::Waiting(reason) => Health::Waiting(both(reason)),
        Health::Failed(reason) => Health::Failed(both(reason)),
        other => other,
    }
}

/// Whether an object is a Deployment that is paused: Helm does not wait for those.
pub fn paused(object: &Value) -> bool {
    matches!(group_kind(object), ("apps" | "extensions", "Deployment"))
        && object.pointer("/spec/paused").and_then(Value::as_bool).unwrap_or(false)
}

fn judge(object: &Value, now: Option<i64>) -> Result<Health, Unreadable> {
    if !object.is_object() {
        return Err(Unreadable("the object"));
    }
    if let Some(health) = deleted(object)? {
        return Ok(health);
    }
    if let Some(health) = unseen(object)? {
        return Ok(health);
    }
    let facts = Facts { object, conditions: conditions(object)?, now };
    for condition in &facts.conditions {
        let words = |said| with_reason(said, condition.reason, condition.message);
        if condition.is("Reconciling", "True") {
            return Ok(Health::Waiting(words("reconciling")));
        }
        if condition.is("Stalled", "True") {
            return Ok(Health::Failed(words("stalled")));
        }
    }
    let (group, kind) = group_kind(object);
    let rule = RULES.iter().find(|rule| (rule.0, rule.1) == (group, kind));
    rule.map_or(by_conditions as Rule, |rule| rule.2)(&facts)
}

/// Whether it is being deleted, and what that waits for.
fn deleted(object: &Value) -> Result<Option<Health>, Unreadable> {
    let name = "metadata.deletionTimestamp";
    match strict(object, "metadata", "deletionTimestamp", name)? {
        None => Ok(None),
        Some(Value::String(time)) if time.is_empty() => Ok(None),
        Some(Value::String(_)) => {
            let names = items(object, &["metadata", "finalizers"]).iter().filter_map(Value::as_str);
            let names: Vec<&str> = names.take(5).collect();
            Ok(Some(Health::Terminating(if names.is_empty() {
                "being deleted".to_owned()
            } else {
                format!("being deleted; waits for the finalizers {}", clip(&names.join(", ")))
            })))
        }
        Some(_) => Err(Unreadable(name)),
    }
}

/// Whether its controller has yet to see the last change.
fn unseen(object: &Value) -> Result<Option<Health>, Unreadable> {
    let Some(generation) = generation(object)? else { return Ok(None) };
    Ok(match observed(object)? {
        Some(observed) if observed != generation => Some(Health::Waiting(format!(
            "its controller has seen generation {observed}, the newest is {generation}"
        ))),
        _ => None,
    })
}

/// The count of changes of the spec.
pub(crate) fn generation(object: &Value) -> Result<Option<i64>, Unreadable> {
    whole(strict(object, "metadata", "generation", "metadata.generation")?, "metadata.generation")
}

/// The last of those that the controller has seen.
pub(crate) fn observed(object: &Value) -> Result<Option<i64>, Unreadable> {
    let name = "status.observedGeneration";
    whole(strict(object, "status", "observedGeneration", name)?, name)
}

fn whole(value: Option<&Value>, name: &'static str) -> Result<Option<i64>, Unreadable> {
    value.map(|value| value.as_i64().ok_or(Unreadable(name))).transpose()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kinds_have_one_rule_each() {
        let mut names: Vec<_> = RULES.iter().map(|rule| (rule.0, rule.1)).collect();
        names.dedup();
        assert_eq!(names.len(), RULES.len());
        assert!(names.is_sorted());
    }

    #[test]
    fn a_deleted_object_names_what_it_waits_for() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b", "c/d"]}});
        assert_eq!(health(&object).to_string(), "being deleted; waits for the finalizers a/b, c/d");
    }

    #[test]
    fn what_is_no_object_is_not_ready() {
        for value in [Value::Null, json!([]), json!("x")] {
            assert_eq!(
                health(&value),
                Health::Waiting("cannot be read: the object has a value of the wrong type".to_owned())
            );
        }
    }

    #[test]
    fn pods_give_the_reason_and_may_fail_their_set() {
        let set =
            |kind| json!({"apiVersion": "apps/v1", "kind": kind, "spec": {"replicas": 2}, "status": {}});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-0"}, "status": {
            "phase": "Running", "conditions": [{"type": "Ready", "status": "False"}],
            "containerStatuses": [{"name": "app", "restartCount": 4, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}}}]}});
        let words = "0 of 2 pods created; pod web-0: container app: CrashLoopBackOff: last run \
                     ended with exit code 1 (Error), 4 restarts";
        let pods = [pod];
        assert_eq!(health_with_pods(&set("StatefulSet"), &pods, None), Health::Failed(words.to_owned()));
        assert_eq!(health_with_pods(&set("Deployment"), &pods, None), Health::Waiting(words.to_owned()));
        assert_eq!(
            health_with_pods(&set("Deployment"), &[], None),
            Health::Waiting("0 of 2 pods created".to_owned())
        );
    }

    #[test]
    fn a_paused_deployment_is_told_apart() {
        let object = |kind| json!({"apiVersion": "apps/v1", "kind": kind, "spec": {"paused": true}});
        assert!(paused(&object("Deployment")));
        assert!(!paused(&object("StatefulSet")));
        assert!(!paused(&json!({"apiVersion": "apps/v1", "kind": "Deployment"})));
    }
}
