//! What the workload controllers do, as a pure function of a workload and its children.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value, json};

const REVISION: &str = "deployment.kubernetes.io/revision";
const STATUS: &str = "/status";
const HASH: &str = "pod-template-hash";
const REVISION_HASH: &str = "controller-revision-hash";

/// A write. Every one carries the whole object that it is about.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    Create(Value),
    Delete(Value),
    /// With the subresource, if it is one: `/status`.
    Patch(Value, &'static str, Value),
}

/// What to do for a workload with these children.
pub(super) fn decide(object: &Value, children: &[&Value]) -> Vec<Action> {
    if object["metadata"]["deletionTimestamp"].is_string() {
        return Vec::new();
    }
    let (mut actions, status) = match object["kind"].as_str().unwrap_or_default() {
        "Deployment" => deployment(object, children),
        "ReplicaSet" => replica_set(object, children),
        "StatefulSet" => stateful_set(object, children),
        "DaemonSet" => daemon_set(object, children),
        "Job" if finished(object) => return Vec::new(),
        "Job" => job(object, children),
        _ => return Vec::new(),
    };
    let fields = status.as_object().into_iter().flatten();
    // The server does not store zeros.
    let same = |(key, value): (&String, &Value)| {
        object["status"][key] == *value || object["status"][key].is_null() && *value == 0
    };
    if !fields.into_iter().all(same) {
        actions.push(Action::Patch(object.clone(), STATUS, json!({ "status": status })));
    }
    actions
}

fn deployment(object: &Value, sets: &[&Value]) -> (Vec<Action>, Value) {
    let wanted = replicas(object);
    let (mut actions, hash) = (Vec::new(), template_hash(object));
    let is_new = |set: &Value| set["metadata"]["labels"][HASH] == hash.as_str();
    let new = sets.iter().find(|set| is_new(set));
    let revision = |set: &Value| text(&set["metadata"]["annotations"][REVISION]).parse().unwrap_or(0_u64);
    let newest = sets.iter().map(|set| revision(set)).max().unwrap_or(0);
    let is_newest = new.is_some_and(|set| revision(set) == newest);
    let revised =
        json!({"metadata": {"annotations": {REVISION: (newest + u64::from(!is_newest)).to_string()}}});
    match new {
        None => actions.push(Action::Create(new_replica_set(object, &hash, newest + 1))),
        Some(set) if !is_newest => actions.push(Action::Patch((*set).clone(), "", revised.clone())),
        Some(set) if replicas(set) != wanted => actions.push(scale(set, wanted)),
        Some(_) => {}
    }
    let count = |set: &Value, field: &str| set["status"][field].as_u64().unwrap_or(0);
    let available = new.map_or(0, |set| count(set, "availableReplicas"));
    if new.is_some() && available >= wanted {
        let old = sets.iter().filter(|set| !is_new(set) && replicas(set) > 0);
        actions.extend(old.map(|set| scale(set, 0)));
    }
    if is_newest && revision(object) != newest {
        // Through the status: as a change of the object it would be a new generation.
        actions.push(Action::Patch(object.clone(), STATUS, revised));
    }
    let sum = |field: &str| sets.iter().map(|set| count(set, field)).sum::<u64>();
    let (total, updated) = (sum("replicas"), new.map_or(0, |set| count(set, "replicas")));
    let (ready, all_available) = (sum("readyReplicas"), sum("availableReplicas"));
    let complete = available >= wanted && updated == wanted && total == wanted;
    let (available_reason, progress) = (
        if all_available >= wanted { "MinimumReplicasAvailable" } else { "MinimumReplicasUnavailable" },
        if complete { "NewReplicaSetAvailable" } else { "ReplicaSetUpdated" },
    );
    let status = json!({
        "observedGeneration": object["metadata"]["generation"],
        "replicas": total, "updatedReplicas": updated, "readyReplicas": ready, "availableReplicas": all_available,
        "unavailableReplicas": total.max(wanted).saturating_sub(all_available),
        "conditions": [
            condition(object, "Available", all_available >= wanted, available_reason),
            condition(object, "Progressing", true, progress),
        ],
    });
    (actions, status)
}

fn new_replica_set(object: &Value, hash: &str, revision: u64) -> Value {
    let mut set =
        child(object, "apps/v1", "ReplicaSet", &format!("{}-{hash}", text(&object["metadata"]["name"])));
    let template = &object["spec"]["template"];
    set["metadata"]["labels"] = labelled(&template["metadata"]["labels"], HASH, hash);
    set["metadata"]["annotations"] = json!({ REVISION: revision.to_string() });
    set["spec"] =
        json!({"replicas": replicas(object), "selector": object["spec"]["selector"], "template": template});
    set["spec"]["selector"]["matchLabels"] = labelled(&object["spec"]["selector"]["matchLabels"], HASH, hash);
    set["spec"]["template"]["metadata"]["labels"] = set["metadata"]["labels"].clone();
    set
}

fn replica_set(object: &Value, pods: &[&Value]) -> (Vec<Action>, Value) {
    let live: Vec<&&Value> = pods.iter().filter(|pod| is_active(pod)).collect();
    let wanted = replicas(object) as usize;
    let mut actions = free_names(object, pods, wanted.saturating_sub(live.len()))
        .map(|name| Action::Create(pod(object, &name, None)))
        .collect::<Vec<_>>();
    // Pods that are not ready go first.
    let mut surplus = live.clone();
    surplus.sort_by_key(|pod| is_ready(pod));
    actions.extend(
        surplus.iter().take(live.len().saturating_sub(wanted)).map(|pod| Action::Delete((**pod).clone())),
    );
    let ready = live.iter().filter(|pod| is_ready(pod)).count();
    let status = json!({
        "observedGeneration": object["metadata"]["generation"], "replicas": live.len(),
        "fullyLabeledReplicas": live.len(), "readyReplicas": ready, "availableReplicas": ready,
    });
    (actions, status)
}

fn stateful_set(object: &Value, pods: &[&Value]) -> (Vec<Action>, Value) {
    let wanted = replicas(object);
    let name = |index: u64| format!("{}-{index}", text(&object["metadata"]["name"]));
    let (hash, mut actions) = (template_hash(object), Vec::new());
    let (current, outdated) = by_hash(pods, &hash);
    for index in 0..wanted {
        if !pods.iter().any(|pod| pod["metadata"]["name"] == name(index)) {
            actions.push(Action::Create(pod(object, &name(index), Some(&hash))));
        }
    }
    let surplus = |pod: &&&Value| !(0..wanted).any(|index| pod["metadata"]["name"] == name(index));
    actions.extend(
        outdated.iter().chain(current.iter().filter(surplus)).map(|pod| Action::Delete((**pod).clone())),
    );
    let ready = current.iter().chain(&outdated).filter(|pod| is_ready(pod)).count();
    let revision = format!("{}-{hash}", text(&object["metadata"]["name"]));
    let status = json!({
        "observedGeneration": object["metadata"]["generation"], "replicas": current.len() + outdated.len(),
        "readyReplicas": ready, "availableReplicas": ready, "currentReplicas": current.len(),
        "updatedReplicas": current.len(), "currentRevision": revision, "updateRevision": revision,
    });
    (actions, status)
}

/// There is one node.
fn daemon_set(object: &Value, pods: &[&Value]) -> (Vec<Action>, Value) {
    let hash = template_hash(object);
    let (current, outdated) = by_hash(pods, &hash);
    let mut actions: Vec<Action> = outdated.iter().map(|pod| Action::Delete((**pod).clone())).collect();
    if current.is_empty() && outdated.is_empty() {
        let name = free_names(object, pods, 1);
        actions.extend(name.map(|name| Action::Create(pod(object, &name, Some(&hash)))));
    }
    let ready = current.iter().chain(&outdated).filter(|pod| is_ready(pod)).count();
    let scheduled = (current.len() + outdated.len()).min(1);
    let status = json!({
        "observedGeneration": object["metadata"]["generation"], "desiredNumberScheduled": 1,
        "currentNumberScheduled": scheduled, "updatedNumberScheduled": current.len(), "numberReady": ready,
        "numberAvailable": ready, "numberUnavailable": 1 - ready.min(1), "numberMisscheduled": 0,
    });
    (actions, status)
}

fn finished(job: &Value) -> bool {
    let last = |c: &Value| (c["type"] == "Complete" || c["type"] == "Failed") && c["status"] == "True";
    job["status"]["conditions"].as_array().is_some_and(|all| all.iter().any(last))
}

fn job(object: &Value, pods: &[&Value]) -> (Vec<Action>, Value) {
    let number = |field: &str, default: u64| object["spec"][field].as_u64().unwrap_or(default) as usize;
    let ended = |phase: &str| pods.iter().filter(|pod| pod["status"]["phase"] == phase).count();
    let (succeeded, failed) = (ended("Succeeded"), ended("Failed"));
    let active = pods.iter().filter(|pod| is_active(pod)).count();
    let time = &object["metadata"]["creationTimestamp"];
    let mut status = json!({"startTime": time, "active": active, "succeeded": succeeded, "failed": failed});
    let conclude = |status: &mut Value, first: &str, last: &str, reason: &str| {
        status["conditions"] =
            json!([condition(object, first, true, reason), condition(object, last, true, reason)]);
        status["active"] = 0.into();
    };
    if succeeded >= number("completions", 1) {
        conclude(&mut status, "SuccessCriteriaMet", "Complete", "CompletionsReached");
        status["completionTime"] = time.clone();
        return (Vec::new(), status);
    }
    if failed > number("backoffLimit", 6) {
        conclude(&mut status, "FailureTarget", "Failed", "BackoffLimitExceeded");
        let left = pods.iter().filter(|pod| is_active(pod)).map(|pod| Action::Delete((*pod).clone()));
        return (left.collect(), status);
    }
    let wanted = number("parallelism", 1).min(number("completions", 1) - succeeded);
    let create = free_names(object, pods, wanted.saturating_sub(active));
    (create.map(|name| Action::Create(pod(object, &name, None))).collect(), status)
}

/// The names of so many new pods: the first that no pod has, not even one that is going.
fn free_names(object: &Value, pods: &[&Value], count: usize) -> impl Iterator<Item = String> {
    let owner = text(&object["metadata"]["name"]);
    let taken: BTreeSet<String> = pods.iter().map(|pod| text(&pod["metadata"]["name"])).collect();
    let name = move |index: usize| format!("{owner}-x{index:03}");
    (0..).map(name).filter(move |name| !taken.contains(name)).take(count)
}

fn by_hash<'p>(pods: &[&'p Value], hash: &str) -> (Vec<&'p Value>, Vec<&'p Value>) {
    let active = pods.iter().copied().filter(|pod| is_active(pod));
    active.partition(|pod| pod["metadata"]["labels"][REVISION_HASH] == hash)
}

fn is_active(pod: &Value) -> bool {
    let ended = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    !ended && pod["metadata"]["deletionTimestamp"].is_null()
}

fn is_ready(pod: &Value) -> bool {
    let ready = |c: &Value| c["type"] == "Ready" && c["status"] == "True";
    pod["status"]["conditions"].as_array().is_some_and(|all| all.iter().any(ready))
}

fn replicas(object: &Value) -> u64 {
    object["spec"]["replicas"].as_u64().unwrap_or(1)
}

fn scale(set: &Value, replicas: u64) -> Action {
    Action::Patch(set.clone(), "", json!({"spec": {"replicas": replicas}}))
}

/// The object's own time serves as every time: the rig needs no clock for it.
fn condition(object: &Value, kind: &str, holds: bool, reason: &str) -> Value {
    let (time, status) = (&object["metadata"]["creationTimestamp"], if holds { "True" } else { "False" });
    let mut condition = json!({"type": kind, "status": status, "reason": reason, "lastTransitionTime": time});
    let other = if object["kind"] == "Job" { "lastProbeTime" } else { "lastUpdateTime" };
    condition[other] = time.clone();
    condition
}

/// A pod of the object's template.
fn pod(object: &Value, name: &str, hash: Option<&str>) -> Value {
    let template = &object["spec"]["template"];
    let mut pod = child(object, "v1", "Pod", name);
    pod["metadata"]["labels"] = template["metadata"]["labels"].clone();
    pod["metadata"]["annotations"] = template["metadata"]["annotations"].clone();
    pod["spec"] = template["spec"].clone();
    if let Some(hash) = hash {
        pod["metadata"]["labels"] = labelled(&pod["metadata"]["labels"], REVISION_HASH, hash);
    }
    pod
}

fn child(owner: &Value, api_version: &str, kind: &str, name: &str) -> Value {
    let metadata = &owner["metadata"];
    json!({
        "apiVersion": api_version, "kind": kind,
        "metadata": {
            "name": name, "namespace": metadata["namespace"],
            "ownerReferences": [{
                "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"],
                "uid": metadata["uid"], "controller": true, "blockOwnerDeletion": true,
            }],
        },
    })
}

fn labelled(labels: &Value, key: &str, value: &str) -> Value {
    let mut labels: Map<String, Value> = labels.as_object().cloned().unwrap_or_default();
    labels.insert(key.to_owned(), value.into());
    labels.into()
}

pub(super) fn controller(object: &Value) -> Option<&Value> {
    object["metadata"]["ownerReferences"].as_array()?.iter().find(|owner| owner["controller"] == true)
}

fn template_hash(object: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    object["spec"]["template"].to_string().hash(&mut hasher);
    format!("{:010x}", hasher.finish() >> 24)
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(kind: &str, spec: Value) -> Value {
        let api_version = if kind == "Job" { "batch/v1" } else { "apps/v1" };
        let mut object = json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": {"name": "w", "namespace": "n", "uid": "u", "generation": 3, "creationTimestamp": "t"},
            "spec": {"template": {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": []}}},
        });
        spec.as_object().unwrap().iter().for_each(|(key, value)| object["spec"][key] = value.clone());
        object
    }

    /// What the API server and the node make of created pods.
    fn created(actions: &[Action], status: &Value) -> Vec<Value> {
        let made = actions.iter().filter_map(|action| match action {
            Action::Create(object) => Some(object.clone()),
            _ => None,
        });
        made.map(|mut object| {
            object["status"] = status.clone();
            object
        })
        .collect()
    }

    fn ready() -> Value {
        json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})
    }

    fn status(actions: &[Action]) -> &Value {
        let found = actions.iter().find_map(|action| match action {
            Action::Patch(_, STATUS, patch) => patch.get("status"),
            _ => None,
        });
        found.unwrap_or(&Value::Null)
    }

    #[test]
    fn replica_set_creates_and_deletes_pods_and_reports_each_state_once() {
        let mut set = workload("ReplicaSet", json!({"replicas": 2}));
        let pods = created(&decide(&set, &[]), &ready());
        assert_eq!(
            pods.iter().map(|pod| text(&pod["metadata"]["name"])).collect::<Vec<_>>(),
            ["w-x000", "w-x001"]
        );
        assert_eq!(controller(&pods[0]).unwrap()["uid"], "u");
        let actions = decide(&set, &pods.iter().collect::<Vec<_>>());
        assert_eq!((actions.len(), &status(&actions)["readyReplicas"]), (1, &json!(2)));
        set["status"] = status(&actions).clone();
        assert!(decide(&set, &pods.iter().collect::<Vec<_>>()).is_empty());
        set["spec"]["replicas"] = 1.into();
        let actions = decide(&set, &pods.iter().collect::<Vec<_>>());
        assert_eq!(actions, [Action::Delete(pods[0].clone())]);
    }

    #[test]
    fn deployment_removes_old_pods_when_the_new_ones_are_ready() {
        let mut deployment =
            workload("Deployment", json!({"replicas": 1, "selector": {"matchLabels": {"app": "w"}}}));
        let full = json!({"replicas": 1, "readyReplicas": 1, "availableReplicas": 1});
        let mut old = created(&decide(&deployment, &[]), &full).remove(0);
        let hash = text(&old["metadata"]["labels"][HASH]);
        assert_eq!(old["metadata"]["name"], format!("w-{hash}"));
        assert_eq!(old["spec"]["selector"]["matchLabels"], json!({"app": "w", HASH: hash}));
        let actions = decide(&deployment, &[&old]);
        let revised = json!({"metadata": {"annotations": {REVISION: "1"}}});
        assert_eq!(actions[0], Action::Patch(deployment.clone(), STATUS, revised));
        assert_eq!(status(&actions)["conditions"][1]["reason"], "NewReplicaSetAvailable");
        deployment["spec"]["template"]["spec"]["x"] = 1.into();
        let mut new = created(&decide(&deployment, &[&old]), &json!({"replicas": 1})).remove(0);
        assert_eq!(new["metadata"]["annotations"][REVISION], "2");
        let actions = decide(&deployment, &[&old, &new]);
        assert_eq!(status(&actions)["conditions"][1]["reason"], "ReplicaSetUpdated");
        assert_eq!(status(&actions)["conditions"][0]["status"], "True");
        assert!(!actions.contains(&scale(&old, 0)));
        new["status"] = full;
        assert!(decide(&deployment, &[&old, &new]).contains(&scale(&old, 0)));
        old["spec"]["replicas"] = 0.into();
        old["status"] = json!({});
        let actions = decide(&deployment, &[&old, &new]);
        assert_eq!(status(&actions)["conditions"][1]["reason"], "NewReplicaSetAvailable");
    }

    #[test]
    fn sets_replace_pods_of_an_older_template() {
        for (kind, name) in [("StatefulSet", "w-0"), ("DaemonSet", "w-x000")] {
            let mut set = workload(kind, json!({"replicas": 1}));
            let pods = created(&decide(&set, &[]), &ready());
            assert_eq!(pods[0]["metadata"]["name"], name);
            set["status"] = status(&decide(&set, &[&pods[0]])).clone();
            assert!(decide(&set, &[&pods[0]]).is_empty(), "{kind}");
            set["spec"]["template"]["spec"]["x"] = 1.into();
            assert_eq!(decide(&set, &[&pods[0]])[0], Action::Delete(pods[0].clone()), "{kind}");
        }
    }

    #[test]
    fn job_ends_with_its_completions_or_its_backoff_limit() {
        let mut job = workload("Job", json!({"completions": 1, "parallelism": 1, "backoffLimit": 1}));
        let pods = created(&decide(&job, &[]), &json!({"phase": "Succeeded"}));
        let actions = decide(&job, &[&pods[0]]);
        assert_eq!((actions.len(), &status(&actions)["conditions"][1]["type"]), (1, &json!("Complete")));
        let failed = created(&decide(&job, &[]), &json!({"phase": "Failed"}));
        let again = created(&decide(&job, &[&failed[0]]), &json!({"phase": "Failed"}));
        assert_eq!(again[0]["metadata"]["name"], "w-x001");
        let actions = decide(&job, &[&failed[0], &again[0]]);
        assert_eq!(status(&actions)["conditions"][1]["reason"], "BackoffLimitExceeded");
        job["status"] = status(&actions).clone();
        assert!(decide(&job, &[&failed[0], &again[0]]).is_empty());
    }
}
