//! Why pods are not ready, from their own status.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::view::{at, clip, items, number, text, with_reason};

/// How many pods are named.
const NAMED: usize = 3;

/// Reasons that a container waits for while all is well.
const STARTING: &[&str] = &["ContainerCreating", "PodInitializing"];

/// How much a problem deserves to be told before others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Broken,
    Unschedulable,
    Unready,
    Starting,
}

/// What is wrong, with its rank.
type Problem = (Rank, String);

/// How many of these pods are ready, and why the others are not: `2 of 3 pods ready; pod web-x: container app:
/// ImagePullBackOff: …`.
///
/// Pods that are going away, and those that have ended well, do not count. Nothing when no pod has a problem.
pub fn explain(pods: &[Value]) -> Option<String> {
    told(pods).map(|(count, reasons)| format!("{count}; {reasons}"))
}

/// How many are ready, and the reasons, apart.
pub(crate) fn told(pods: &[Value]) -> Option<(String, String)> {
    let counted = pods.iter().filter(|pod| {
        text(pod, &["metadata", "deletionTimestamp"]).is_empty()
            && text(pod, &["status", "phase"]) != "Succeeded"
    });
    let mut total = 0_usize;
    let mut problems: Vec<(Rank, &Value)> = Vec::new();
    for pod in counted {
        total += 1;
        if let Some((rank, _)) = ranked(pod) {
            problems.push((rank, pod));
        }
    }
    if problems.is_empty() {
        return None;
    }
    // Stable: pods of one rank stay in the caller's order.
    problems.sort_by_key(|(rank, _)| *rank);
    let mut reasons: Vec<String> = Vec::new();
    for (_, pod) in problems.iter().take(NAMED) {
        let said = problem(pod).unwrap_or_default();
        reasons.push(format!("pod {}: {said}", clip(text(pod, &["metadata", "name"]))));
    }
    if problems.len() > NAMED {
        reasons.push(format!("and {} more", problems.len() - NAMED));
    }
    Some((format!("{} of {total} pods ready", total - problems.len()), reasons.join("; ")))
}

/// Why one pod is not ready.
pub(crate) fn problem(pod: &Value) -> Option<String> {
    ranked(pod).map(|(_, said)| said)
}

fn ranked(pod: &Value) -> Option<Problem> {
    let phase = text(pod, &["status", "phase"]);
    if phase == "Failed" {
        return Some((Rank::Broken, failed_pod(pod)));
    }
    let ready = condition(pod, "Ready");
    let is =
        |condition: Option<&Value>, status| condition.is_some_and(|one| text(one, &["status"]) == status);
    if phase == "Succeeded" || is(ready, "True") {
        return None;
    }
    if let Some(scheduled) = condition(pod, "PodScheduled").filter(|one| text(one, &["status"]) == "False") {
        let said = match text(scheduled, &["reason"]) {
            "Unschedulable" => with_reason("cannot be scheduled", "", text(scheduled, &["message"])),
            reason => with_reason("not scheduled", reason, text(scheduled, &["message"])),
        };
        return Some((Rank::Unschedulable, said));
    }
    let problems = containers(pod).filter_map(|(role, status)| container(role, status));
    // The first of the worst: later containers wait for earlier ones.
    if let Some(worst) = problems.min_by_key(|(rank, _)| *rank) {
        return Some(worst);
    }
    let gates = ready.filter(|one| is(Some(one), "False") && !text(one, &["reason"]).is_empty());
    Some(match (gates, phase) {
        (Some(one), _) => {
            (Rank::Unready, with_reason("not ready", text(one, &["reason"]), text(one, &["message"])))
        }
        (None, "Running") => (Rank::Unready, "running, but not ready".to_owned()),
        (None, "") => (Rank::Starting, "not started".to_owned()),
        (None, phase) => (Rank::Starting, clip(&phase.to_lowercase())),
    })
}

fn condition<'a>(pod: &'a Value, kind: &str) -> Option<&'a Value> {
    items(pod, &["status", "conditions"]).iter().find(|one| text(one, &["type"]) == kind)
}

/// What a container is in its pod.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Runs before the others, to its end.
    Init,
    /// Starts with the init containers, and stays.
    Sidecar,
    Main,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Init => "init container",
            Self::Sidecar => "sidecar",
            Self::Main => "container",
        }
    }
}

/// The statuses of all containers in the order of their start.
fn containers(pod: &Value) -> impl Iterator<Item = (Role, &Value)> {
    let always = |init: &&Value| text(init, &["restartPolicy"]) == "Always";
    let sidecars: BTreeSet<&str> = items(pod, &["spec", "initContainers"])
        .iter()
        .filter(always)
        .map(|init| text(init, &["name"]))
        .collect();
    let role = move |status: &Value| {
        if sidecars.contains(text(status, &["name"])) { Role::Sidecar } else { Role::Init }
    };
    let inits =
        items(pod, &["status", "initContainerStatuses"]).iter().map(move |status| (role(status), status));
    let mains = items(pod, &["status", "containerStatuses"]).iter().map(|status| (Role::Main, status));
    inits.chain(mains)
}

/// What is wrong with one container.
fn container(role: Role, status: &Value) -> Option<Problem> {
    let (rank, said) = if let Some(waiting) = at(status, &["state", "waiting"]) {
        let (reason, message) = (text(waiting, &["reason"]), text(waiting, &["message"]));
        match reason {
            "" => (Rank::Starting, with_reason("waiting", "", message)),
            "CrashLoopBackOff" => (Rank::Broken, with_reason(reason, "", &last_run(status, message))),
            _ if STARTING.contains(&reason) => (Rank::Starting, with_reason("", reason, message)),
            _ => (Rank::Broken, with_reason("", reason, message)),
        }
    } else if let Some(end) = at(status, &["state", "terminated"]) {
        if number(end, &["exitCode"], 0) == 0 && role == Role::Init {
            return None;
        }
        (Rank::Broken, format!("ended with {}", ending(end)))
    } else if status.get("ready").and_then(Value::as_bool) == Some(true) {
        return None;
    } else if role == Role::Init {
        (Rank::Starting, "running".to_owned())
    } else {
        let probe = match status.get("started").and_then(Value::as_bool) {
            Some(false) => "has not passed its startup probe",
            _ => "does not pass its readiness probe",
        };
        (Rank::Unready, format!("running, but {probe}{}", restarts(status)))
    };
    Some((rank, format!("{} {}: {said}", role.name(), clip(text(status, &["name"])))))
}

fn last_run(status: &Value, otherwise: &str) -> String {
    let Some(end) = at(status, &["lastState", "terminated"]) else { return otherwise.to_owned() };
    let count = number(status, &["restartCount"], 0);
    format!("last run ended with {}, {count} restart{}", ending(end), if count == 1 { "" } else { "s" })
}

fn restarts(status: &Value) -> String {
    match at(status, &["lastState", "terminated"]) {
        Some(_) => format!("; {}", last_run(status, "")),
        None => String::new(),
    }
}

/// `exit code 137 (OOMKilled): message`.
fn ending(end: &Value) -> String {
    let mut said = format!("exit code {}", number(end, &["exitCode"], 0));
    let reason = text(end, &["reason"]);
    if !reason.is_empty() {
        said.push_str(&format!(" ({})", clip(reason)));
    }
    with_reason(&said, "", text(end, &["message"]))
}

/// Why a pod has failed.
pub(crate) fn failed_pod(pod: &Value) -> String {
    let (reason, message) = (text(pod, &["status", "reason"]), text(pod, &["status", "message"]));
    let ended = containers(pod).find_map(|(role, status)| {
        let end = at(status, &["state", "terminated"])?;
        let name = clip(text(status, &["name"]));
        (number(end, &["exitCode"], 0) != 0)
            .then(|| format!("{} {name}: ended with {}", role.name(), ending(end)))
    });
    match ended {
        Some(ended) if reason.is_empty() && message.is_empty() => format!("failed: {ended}"),
        _ => with_reason("failed", reason, message),
    }
}

/// The containers of a pod that crash again and again.
pub(crate) fn failed_containers(pod: &Value) -> String {
    problem(pod).unwrap_or_else(|| "a container crashes again and again".to_owned())
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
    fn each_reason_is_told_in_words() {
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
            let told = explain(&[pod("p", status.clone())]);
            assert_eq!(told, Some(format!("0 of 1 pods ready; pod p: {expected}")), "{status}");
        }
    }

    #[test]
    fn a_sidecar_is_told_from_an_init_container_by_the_spec() {
        let mut pod = pod(
            "p",
            json!({"initContainerStatuses": [{"name": "proxy", "started": true, "state": {"running": {}}}]}),
        );
        pod["spec"] = json!({"initContainers": [{"name": "proxy", "restartPolicy": "Always"}]});
        let expected =
            "0 of 1 pods ready; pod p: sidecar proxy: running, but does not pass its readiness probe";
        assert_eq!(explain(&[pod]).as_deref(), Some(expected));
    }

    #[test]
    fn few_pods_are_named_and_the_broken_ones_first() {
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
        assert_eq!(explain(&pods).as_deref(), Some(expected));
    }

    #[test]
    fn nothing_is_told_of_pods_that_are_well() {
        assert_eq!(explain(&[]), None);
        assert_eq!(explain(&[ready("a"), pod("done", json!({"phase": "Succeeded"}))]), None);
    }

    #[test]
    fn hostile_sizes_give_short_words() {
        let long = "x".repeat(100_000);
        let state = json!({"waiting": {"reason": long, "message": long}});
        let pods: Vec<Value> = (0..50).map(|_| container(&long, state.clone())).collect();
        assert!(explain(&pods).unwrap().chars().count() < 4000);
    }
}
