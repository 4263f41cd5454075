//! Reasons why pods are not ready, from their status.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::fields::{int_at, join_reason, list_at, string_at, truncate_line, value_at};

/// Pods that a summary names.
const MAX_NAMED_PODS: usize = 3;

/// Waiting reasons of a container that starts normally.
const STARTING_REASONS: &[&str] = &["ContainerCreating", "PodInitializing"];

/// Severity of a problem; the summary names the most severe ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    Broken,
    Unschedulable,
    Unready,
    Starting,
}

/// Problem of a pod, with its severity.
type Problem = (Severity, String);

/// Summarizes how many pods are ready and why the others are not: `2 of 3 pods ready; pod web-x: container app:
/// ImagePullBackOff: …`.
///
/// Ignores pods that are terminating or have succeeded. `None` if all others are ready.
pub fn explain_pods(pods: &[Value]) -> Option<String> {
    summarize(pods).map(|(count, reasons)| format!("{count}; {reasons}"))
}

/// Count of ready pods and reasons of the others, separately.
pub(crate) fn summarize(pods: &[Value]) -> Option<(String, String)> {
    let counted = pods.iter().filter(|pod| {
        string_at(pod, &["metadata", "deletionTimestamp"]).is_empty()
            && string_at(pod, &["status", "phase"]) != "Succeeded"
    });
    let mut total = 0_usize;
    let mut problems: Vec<(Severity, &Value)> = Vec::new();
    for pod in counted {
        total += 1;
        if let Some((severity, _)) = pod_problem(pod) {
            problems.push((severity, pod));
        }
    }
    if problems.is_empty() {
        return None;
    }
    // A stable sort keeps the caller's order within a severity.
    problems.sort_by_key(|(severity, _)| *severity);
    let mut reasons: Vec<String> = Vec::new();
    for (_, pod) in problems.iter().take(MAX_NAMED_PODS) {
        let message = pod_message(pod).unwrap_or_default();
        reasons.push(format!("pod {}: {message}", truncate_line(string_at(pod, &["metadata", "name"]))));
    }
    if problems.len() > MAX_NAMED_PODS {
        reasons.push(format!("and {} more", problems.len() - MAX_NAMED_PODS));
    }
    Some((format!("{} of {total} pods ready", total - problems.len()), reasons.join("; ")))
}

/// Why a pod is not ready.
pub(crate) fn pod_message(pod: &Value) -> Option<String> {
    pod_problem(pod).map(|(_, message)| message)
}

fn pod_problem(pod: &Value) -> Option<Problem> {
    let phase = string_at(pod, &["status", "phase"]);
    if phase == "Failed" {
        return Some((Severity::Broken, failed_pod_message(pod)));
    }
    let ready = condition(pod, "Ready");
    let is = |condition: Option<&Value>, status| {
        condition.is_some_and(|one| string_at(one, &["status"]) == status)
    };
    if phase == "Succeeded" || is(ready, "True") {
        return None;
    }
    if let Some(scheduled) =
        condition(pod, "PodScheduled").filter(|one| string_at(one, &["status"]) == "False")
    {
        let message = match string_at(scheduled, &["reason"]) {
            "Unschedulable" => join_reason("cannot be scheduled", "", string_at(scheduled, &["message"])),
            reason => join_reason("not scheduled", reason, string_at(scheduled, &["message"])),
        };
        return Some((Severity::Unschedulable, message));
    }
    let problems = containers(pod).filter_map(|(role, status)| container_problem(role, status));
    // The first of the most severe: later containers wait for earlier ones.
    if let Some(worst) = problems.min_by_key(|(severity, _)| *severity) {
        return Some(worst);
    }
    let gates = ready.filter(|one| is(Some(one), "False") && !string_at(one, &["reason"]).is_empty());
    Some(match (gates, phase) {
        (Some(one), _) => (
            Severity::Unready,
            join_reason("not ready", string_at(one, &["reason"]), string_at(one, &["message"])),
        ),
        (None, "Running") => (Severity::Unready, "running, but not ready".to_owned()),
        (None, "") => (Severity::Starting, "not started".to_owned()),
        (None, phase) => (Severity::Starting, truncate_line(&phase.to_lowercase())),
    })
}

fn condition<'a>(pod: &'a Value, kind: &str) -> Option<&'a Value> {
    list_at(pod, &["status", "conditions"]).iter().find(|one| string_at(one, &["type"]) == kind)
}

/// Role of a container in its pod.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ContainerRole {
    /// Runs to completion before the main containers.
    Init,
    /// Init container with restart policy `Always`.
    Sidecar,
    Main,
}

impl ContainerRole {
    fn name(self) -> &'static str {
        match self {
            Self::Init => "init container",
            Self::Sidecar => "sidecar",
            Self::Main => "container",
        }
    }
}

/// Statuses of all containers, in start order.
fn containers(pod: &Value) -> impl Iterator<Item = (ContainerRole, &Value)> {
    let always = |init: &&Value| string_at(init, &["restartPolicy"]) == "Always";
    let sidecars: BTreeSet<&str> = list_at(pod, &["spec", "initContainers"])
        .iter()
        .filter(always)
        .map(|init| string_at(init, &["name"]))
        .collect();
    let role = move |status: &Value| {
        if sidecars.contains(string_at(status, &["name"])) {
            ContainerRole::Sidecar
        } else {
            ContainerRole::Init
        }
    };
    let inits =
        list_at(pod, &["status", "initContainerStatuses"]).iter().map(move |status| (role(status), status));
    let mains =
        list_at(pod, &["status", "containerStatuses"]).iter().map(|status| (ContainerRole::Main, status));
    inits.chain(mains)
}

/// Problem of a container, if it has one.
fn container_problem(role: ContainerRole, status: &Value) -> Option<Problem> {
    let (severity, message) = if let Some(waiting) = value_at(status, &["state", "waiting"]) {
        let (reason, message) = (string_at(waiting, &["reason"]), string_at(waiting, &["message"]));
        match reason {
            "" => (Severity::Starting, join_reason("waiting", "", message)),
            "CrashLoopBackOff" => (Severity::Broken, join_reason(reason, "", &last_run(status, message))),
            _ if STARTING_REASONS.contains(&reason) => (Severity::Starting, join_reason("", reason, message)),
            _ => (Severity::Broken, join_reason("", reason, message)),
        }
    } else if let Some(end) = value_at(status, &["state", "terminated"]) {
        if int_at(end, &["exitCode"], 0) == 0 && role == ContainerRole::Init {
            return None;
        }
        (Severity::Broken, format!("ended with {}", termination_message(end)))
    } else if status.get("ready").and_then(Value::as_bool) == Some(true) {
        return None;
    } else if role == ContainerRole::Init {
        (Severity::Starting, "running".to_owned())
    } else {
        let probe = match status.get("started").and_then(Value::as_bool) {
            Some(false) => "has not passed its startup probe",
            _ => "does not pass its readiness probe",
        };
        (Severity::Unready, format!("running, but {probe}{}", restarts(status)))
    };
    Some((severity, format!("{} {}: {message}", role.name(), truncate_line(string_at(status, &["name"])))))
}

fn last_run(status: &Value, otherwise: &str) -> String {
    let Some(end) = value_at(status, &["lastState", "terminated"]) else { return otherwise.to_owned() };
    let count = int_at(status, &["restartCount"], 0);
    format!(
        "last run ended with {}, {count} restart{}",
        termination_message(end),
        if count == 1 { "" } else { "s" }
    )
}

fn restarts(status: &Value) -> String {
    match value_at(status, &["lastState", "terminated"]) {
        Some(_) => format!("; {}", last_run(status, "")),
        None => String::new(),
    }
}

/// `exit code 137 (OOMKilled): message`.
fn termination_message(end: &Value) -> String {
    let mut message = format!("exit code {}", int_at(end, &["exitCode"], 0));
    let reason = string_at(end, &["reason"]);
    if !reason.is_empty() {
        message.push_str(&format!(" ({})", truncate_line(reason)));
    }
    join_reason(&message, "", string_at(end, &["message"]))
}

/// Why a pod has failed.
pub(crate) fn failed_pod_message(pod: &Value) -> String {
    let (reason, message) = (string_at(pod, &["status", "reason"]), string_at(pod, &["status", "message"]));
    let ended = containers(pod).find_map(|(role, status)| {
        let end = value_at(status, &["state", "terminated"])?;
        let name = truncate_line(string_at(status, &["name"]));
        (int_at(end, &["exitCode"], 0) != 0)
            .then(|| format!("{} {name}: ended with {}", role.name(), termination_message(end)))
    });
    match ended {
        Some(ended) if reason.is_empty() && message.is_empty() => format!("failed: {ended}"),
        _ => join_reason("failed", reason, message),
    }
}

/// Message about the container of a pod that is in a crash loop.
pub(crate) fn crash_loop_message(pod: &Value) -> String {
    pod_message(pod).unwrap_or_else(|| "a container crashes again and again".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, status: Value) -> Value {
        json!({"metadata": {"name": name}, "status": status})
    }

    fn container(name: &str, state: Value) -> Value {
        let unready = json!([{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}]);
        pod(
            name,
            json!({"phase": "Pending", "conditions": unready,
            "containerStatuses": [{"name": "app", "ready": false, "state": state}]}),
        )
    }

    fn ready(name: &str) -> Value {
        pod(name, json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}))
    }

    #[test]
    fn explains_each_reason() {
        let pull = "Back-off pulling image \"x\"";
        let table = [
            (
                json!({"containerStatuses": [{"name": "app", "state": {"waiting": {"reason": "ImagePullBackOff", "message": pull}}}]}),
                "container app: ImagePullBackOff: Back-off pulling image \"x\"",
            ),
            (
                json!({"containerStatuses": [{"name": "app", "restartCount": 1, "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
                    "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}}]}),
                "container app: CrashLoopBackOff: last run ended with exit code 137 (OOMKilled), 1 restart",
            ),
            (
                json!({"containerStatuses": [{"name": "app", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}}]}),
                "container app: CrashLoopBackOff: back-off 5m0s",
            ),
            (
                json!({"containerStatuses": [{"name": "app", "state": {"waiting": {"reason": "CreateContainerConfigError", "message": "secret \"s\" not found"}}}]}),
                "container app: CreateContainerConfigError: secret \"s\" not found",
            ),
            (
                json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}]}),
                "cannot be scheduled: 0/3 nodes are available",
            ),
            (
                json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "gated"}]}),
                "not scheduled: SchedulingGated: gated",
            ),
            (
                json!({"initContainerStatuses": [{"name": "first", "state": {"terminated": {"exitCode": 0}}}, {"name": "second", "state": {"terminated": {"exitCode": 2, "reason": "Error"}}}],
                    "containerStatuses": [{"name": "app", "state": {"waiting": {"reason": "PodInitializing"}}}]}),
                "init container second: ended with exit code 2 (Error)",
            ),
            (
                json!({"initContainerStatuses": [{"name": "first", "started": true, "state": {"running": {}}}],
                    "containerStatuses": [{"name": "app", "state": {"waiting": {"reason": "PodInitializing"}}}]}),
                "init container first: running",
            ),
            (
                json!({"phase": "Running", "containerStatuses": [{"name": "ok", "ready": true, "state": {"running": {}}}, {"name": "app", "started": true, "state": {"running": {}}}]}),
                "container app: running, but does not pass its readiness probe",
            ),
            (
                json!({"phase": "Running", "containerStatuses": [{"name": "app", "started": false, "restartCount": 2, "state": {"running": {}}, "lastState": {"terminated": {"exitCode": 1}}}]}),
                "container app: running, but has not passed its startup probe; last run ended with exit code 1, 2 restarts",
            ),
            (
                json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "False", "reason": "ReadinessGatesNotReady", "message": "gate x is missing"}]}),
                "not ready: ReadinessGatesNotReady: gate x is missing",
            ),
            (
                json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory"}),
                "failed: Evicted: The node was low on memory",
            ),
            (json!({"phase": "Pending"}), "pending"),
            (json!({}), "not started"),
            (json!("nonsense"), "not started"),
        ];
        for (status, expected) in table {
            let explained = explain_pods(&[pod("p", status.clone())]);
            assert_eq!(explained, Some(format!("0 of 1 pods ready; pod p: {expected}")), "{status}");
        }
    }

    #[test]
    fn distinguishes_sidecars_by_restart_policy() {
        let mut pod = pod(
            "p",
            json!({"initContainerStatuses": [{"name": "proxy", "started": true, "state": {"running": {}}}]}),
        );
        pod["spec"] = json!({"initContainers": [{"name": "proxy", "restartPolicy": "Always"}]});
        let expected =
            "0 of 1 pods ready; pod p: sidecar proxy: running, but does not pass its readiness probe";
        assert_eq!(explain_pods(&[pod]).as_deref(), Some(expected));
    }

    #[test]
    fn names_few_pods_and_broken_ones_first() {
        let mut pods: Vec<Value> = (0..4)
            .map(|n| container(&format!("new-{n}"), json!({"waiting": {"reason": "ContainerCreating"}})))
            .collect();
        pods.push(container("broken", json!({"waiting": {"reason": "ErrImagePull"}})));
        pods.push(ready("good"));
        let mut leaving = container("old", json!({"waiting": {"reason": "ErrImagePull"}}));
        leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        pods.push(leaving);
        let expected = "1 of 6 pods ready; pod broken: container app: ErrImagePull; pod new-0: container app: \
                        ContainerCreating; pod new-1: container app: ContainerCreating; and 2 more";
        assert_eq!(explain_pods(&pods).as_deref(), Some(expected));
    }

    #[test]
    fn explains_nothing_when_all_pods_are_ready() {
        assert_eq!(explain_pods(&[]), None);
        assert_eq!(explain_pods(&[ready("a"), pod("done", json!({"phase": "Succeeded"}))]), None);
    }

    #[test]
    fn bounds_message_length() {
        let long = "x".repeat(100_000);
        let state = json!({"waiting": {"reason": long, "message": long}});
        let pods: Vec<Value> = (0..50).map(|_| container(&long, state.clone())).collect();
        assert!(explain_pods(&pods).unwrap().chars().count() < 4000);
    }
}
