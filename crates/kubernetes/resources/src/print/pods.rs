//! Pods and jobs.

use serde_json::Value;

use super::age::{age, since};
use super::cell::{Look, at, condition, list, number, text};
use crate::typed::{ZERO_TIME, moment};

/// What a pod's containers say together.
struct Told {
    reason: String,
    restarts: i64,
    /// The newest end of a container that was started again.
    last: Option<(i64, String)>,
    ready: usize,
    all: usize,
}

/// Counts a container's restarts and when the last was.
fn restarted(status: &Value, restarts: &mut i64, last: &mut Option<(i64, String)>) {
    *restarts += number(status, "restartCount");
    let end = text(status, "lastState.terminated.finishedAt");
    if let Some(seconds) = moment(end)
        && last.as_ref().map_or(ZERO_TIME, |(before, _)| *before) < seconds
    {
        *last = Some((seconds, end.to_owned()));
    }
}

/// Why a container ended.
fn ended(state: &Value) -> String {
    let terminated = |key: &str| number(state, &format!("terminated.{key}"));
    match (text(state, "terminated.reason"), terminated("signal")) {
        ("", 0) => format!("ExitCode:{}", terminated("exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn is_true(value: &Value, path: &str) -> bool {
    at(value, path) == Some(&Value::Bool(true))
}

fn tell(pod: &Value) -> Told {
    let phase = text(pod, "status.phase");
    let own = text(pod, "status.reason");
    let mut told = Told {
        reason: if own.is_empty() { phase } else { own }.to_owned(),
        restarts: 0,
        last: None,
        ready: 0,
        all: list(pod, "spec.containers").len(),
    };
    let gated = list(pod, "status.conditions")
        .iter()
        .any(|one| text(one, "type") == "PodScheduled" && text(one, "reason") == "SchedulingGated");
    if gated {
        told.reason = "SchedulingGated".to_owned();
    }
    let initializing = tell_init(pod, &mut told);
    if !initializing || condition(pod, "Initialized") == Some(true) {
        tell_main(pod, &mut told);
    }
    let deleted = at(pod, "metadata.deletionTimestamp").is_some();
    if deleted && own == "NodeLost" {
        told.reason = "Unknown".to_owned();
    } else if deleted && !matches!(phase, "Succeeded" | "Failed") {
        told.reason = "Terminating".to_owned();
    }
    told
}

/// The containers before the main ones; whether one of them is not done.
fn tell_init(pod: &Value, told: &mut Told) -> bool {
    let containers = list(pod, "spec.initContainers");
    // The last one of a name counts.
    let stays = |name: &str| {
        let found = containers.iter().rev().find(|one| text(one, "name") == name);
        found.is_some_and(|one| text(one, "restartPolicy") == "Always")
    };
    told.all += containers.iter().filter(|one| text(one, "restartPolicy") == "Always").count();
    let (mut restarts, mut last) = (0, None);
    let mut initializing = false;
    for (index, status) in list(pod, "status.initContainerStatuses").iter().enumerate() {
        restarted(status, &mut restarts, &mut last);
        let stays = stays(text(status, "name"));
        if stays {
            restarted(status, &mut told.restarts, &mut told.last);
        }
        let state = status.get("state").unwrap_or(&Value::Null);
        let terminated = at(state, "terminated").is_some();
        if terminated && number(state, "terminated.exitCode") == 0 {
            continue;
        }
        if stays && is_true(status, "started") {
            told.ready += usize::from(is_true(status, "ready"));
            continue;
        }
        let waiting = text(state, "waiting.reason");
        told.reason = if terminated {
            format!("Init:{}", ended(state))
        } else if !waiting.is_empty() && waiting != "PodInitializing" {
            format!("Init:{waiting}")
        } else {
            format!("Init:{index}/{}", containers.len())
        };
        initializing = true;
        break;
    }
    if initializing && condition(pod, "Initialized") != Some(true) {
        (told.restarts, told.last) = (restarts, last);
    }
    initializing
}

fn tell_main(pod: &Value, told: &mut Told) {
    let mut running = false;
    let mut failed = String::new();
    for status in list(pod, "status.containerStatuses").iter().rev() {
        restarted(status, &mut told.restarts, &mut told.last);
        let state = status.get("state").unwrap_or(&Value::Null);
        let waiting = text(state, "waiting.reason");
        if !waiting.is_empty() {
            told.reason = waiting.to_owned();
        } else if at(state, "terminated").is_some() {
            told.reason = ended(state);
            if number(state, "terminated.exitCode") != 0 {
                failed.clone_from(&told.reason);
            }
        } else if is_true(status, "ready") && at(state, "running").is_some() {
            running = true;
            told.ready += 1;
        }
    }
    if told.reason == "Completed" {
        let ready = list(pod, "status.conditions")
            .iter()
            .any(|one| text(one, "type") == "Ready" && text(one, "status") == "True");
        if running && ready {
            told.reason = "Running".to_owned();
        } else if !failed.is_empty() {
            told.reason = failed;
        } else if running {
            told.reason = "NotReady".to_owned();
        }
    }
}

pub fn ready(look: &Look<'_>) -> String {
    let told = tell(look.object);
    format!("{}/{}", told.ready, told.all)
}

pub fn status(look: &Look<'_>) -> String {
    tell(look.object).reason
}

pub fn restarts(look: &Look<'_>) -> String {
    let told = tell(look.object);
    match told.last {
        Some((_, last)) if told.restarts != 0 => format!("{} ({} ago)", told.restarts, age(&last, look.now)),
        _ => told.restarts.to_string(),
    }
}

pub fn address(look: &Look<'_>) -> String {
    let first = list(look.object, "status.podIPs").first().map(|one| text(one, "ip")).unwrap_or_default();
    if first.is_empty() { "<none>" } else { first }.to_owned()
}

/// How many of the conditions that others add are true.
pub fn gates(look: &Look<'_>) -> String {
    let gates = list(look.object, "spec.readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = gates.iter().filter(|gate| condition(look.object, text(gate, "conditionType")) == Some(true));
    format!("{}/{}", open.count(), gates.len())
}

pub fn job_state(look: &Look<'_>) -> String {
    let is = |kind: &str| condition(look.object, kind) == Some(true);
    if is("Complete") {
        "Complete"
    } else if is("Failed") {
        "Failed"
    } else if at(look.object, "metadata.deletionTimestamp").is_some() {
        "Terminating"
    } else {
        ["Suspended", "FailureTarget", "SuccessCriteriaMet"]
            .into_iter()
            .find(|kind| is(kind))
            .unwrap_or("Running")
    }
    .to_owned()
}

pub fn completions(look: &Look<'_>) -> String {
    let done = number(look.object, "status.succeeded");
    match (at(look.object, "spec.completions"), number(look.object, "spec.parallelism")) {
        (Some(wanted), _) => format!("{done}/{wanted}"),
        (None, parallel) if parallel > 1 => format!("{done}/1 of {parallel}"),
        _ => format!("{done}/1"),
    }
}

pub fn job_time(look: &Look<'_>) -> String {
    let seconds = |value: &Value| value.as_str().and_then(moment).unwrap_or(ZERO_TIME);
    match (at(look.object, "status.startTime"), at(look.object, "status.completionTime")) {
        (None, _) => String::new(),
        (Some(start), None) => since(look.now.saturating_sub(seconds(start))),
        (Some(start), Some(end)) => since(seconds(end).saturating_sub(seconds(start))),
    }
}

pub fn suspended(look: &Look<'_>) -> String {
    match at(look.object, "spec.suspend").and_then(Value::as_bool) {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    }
    .to_owned()
}
