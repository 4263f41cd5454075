//! A node that runs nothing: it takes every pod and reports what a kubelet would report of it at best.
//!
//! Pods of `restartPolicy: Always` become ready, others succeed. Annotations of a pod ask for something else:
//! `rig.podium/ready: "false"` has images that cannot be pulled, `rig.podium/fail: "true"` fails instead of
//! succeeding.

use std::path::PathBuf;
use std::time::Duration;

use http::Method;
use podium_client::Client;
use podium_client::client::{self, Representation};
use podium_client::watch::{ListWatch, WatchEvent};
use podium_meta::Resource;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Error;
use super::background::Background;

/// The name of the node.
pub const NAME: &str = "rig";
const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
/// How often a request is repeated while the server is away, and the pause between.
const TRIES: usize = 300;
const PAUSE: Duration = Duration::from_millis(100);

/// Plays the node as the user of a kubeconfig, who has to be an admin.
pub(super) fn start(kubeconfig: PathBuf) -> Result<Background, Error> {
    Background::start(kubeconfig, async |client| join(&client).await, async |client| play(&client).await)
}

/// Creates the node object.
async fn join(client: &Client) -> Result<(), client::Error> {
    let nodes = Resource::core("Node", "nodes", false);
    client.create(&nodes, None, &node_object(), NAME).await?;
    // Every new node is tainted until the controller that we do without has seen it ready.
    client.merge_patch(&nodes, None, NAME, &json!({"spec": {"taints": null}}), NAME).await?;
    Ok(())
}

/// Watches all pods and takes the next step for each.
async fn play(client: &Client) {
    let (tell, mut pods) = mpsc::unbounded_channel();
    let watch = ListWatch::new(Resource::core("Pod", "pods", true), Representation::Full);
    let hear = watch.run(client, |event| {
        if let WatchEvent::Applied(pod) = event {
            let _ = tell.send(pod);
        }
    });
    let act = async {
        let mut taken = 0;
        while let Some(pod) = pods.recv().await {
            let step = next(&pod, taken);
            taken += usize::from(matches!(step, Step::Report(_)));
            act(client, &pod, &step).await;
        }
    };
    tokio::select! {
        _ = hear => {}
        () = act => {}
    }
}

async fn act(client: &Client, pod: &Value, step: &Step) {
    let name = |field: &str| pod["metadata"][field].as_str().unwrap_or_default();
    let path = format!("/api/v1/namespaces/{}/pods/{}", name("namespace"), name("name"));
    let (method, path, kind, body) = match step {
        Step::Nothing => return,
        Step::Delete => {
            // Only this pod: one of the same name may be there already.
            let options = json!({
                "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
                "preconditions": { "uid": pod["metadata"]["uid"] },
            });
            (Method::DELETE, path, JSON, options)
        }
        Step::Bind(binding) => (Method::POST, format!("{path}/binding"), JSON, binding.clone()),
        Step::Report(status) => (Method::PATCH, format!("{path}/status"), MERGE, json!({ "status": status })),
    };
    for _ in 0..TRIES {
        let body = Some((kind, body.to_string().into_bytes()));
        match client.request(method.clone(), &path, body).await {
            // What is refused was decided on an old state of the pod: the event of the newer one is on its way.
            Err(error) if error.status().is_none() => tokio::time::sleep(PAUSE).await,
            _ => return,
        }
    }
}

#[derive(Debug, PartialEq)]
enum Step {
    Nothing,
    Delete,
    Bind(Value),
    Report(Value),
}

/// What a pod is reported to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    Unready,
    Succeeded,
    Failed,
}

/// What to do for a pod; `taken` pods have an address already.
fn next(pod: &Value, taken: usize) -> Step {
    let metadata = &pod["metadata"];
    if metadata["deletionTimestamp"].is_string() {
        let asked = metadata["deletionGracePeriodSeconds"] == 0;
        return if asked { Step::Nothing } else { Step::Delete };
    }
    if pod["spec"]["nodeName"].is_null() {
        return Step::Bind(json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": { "name": metadata["name"], "namespace": metadata["namespace"] },
            "target": { "apiVersion": "v1", "kind": "Node", "name": NAME },
        }));
    }
    let (now, wanted) = (reported(pod), wanted(pod));
    match now {
        Some(State::Succeeded | State::Failed) => Step::Nothing,
        now if now == Some(wanted) => Step::Nothing,
        _ => Step::Report(status(pod, wanted, taken)),
    }
}

fn wanted(pod: &Value) -> State {
    let annotation = |name: &str| pod["metadata"]["annotations"][name].as_str().unwrap_or_default();
    if annotation("rig.podium/ready") == "false" {
        State::Unready
    } else if pod["spec"]["restartPolicy"] == "Always" {
        State::Ready
    } else if annotation("rig.podium/fail") == "true" {
        State::Failed
    } else {
        State::Succeeded
    }
}

fn reported(pod: &Value) -> Option<State> {
    let status = &pod["status"];
    let ready = |c: &Value| c["type"] == "Ready" && c["status"] == "True";
    match status["phase"].as_str() {
        Some("Succeeded") => Some(State::Succeeded),
        Some("Failed") => Some(State::Failed),
        _ if status["conditions"].as_array().is_some_and(|all| all.iter().any(ready)) => Some(State::Ready),
        _ if status["containerStatuses"].is_array() => Some(State::Unready),
        _ => None,
    }
}

/// The status of a pod in a state. The pod's own time serves as every time: the rig needs no clock for it.
fn status(pod: &Value, state: State, taken: usize) -> Value {
    let time = &pod["metadata"]["creationTimestamp"];
    let phase = match state {
        State::Ready => "Running",
        State::Unready => "Pending",
        State::Succeeded => "Succeeded",
        State::Failed => "Failed",
    };
    let why = match state {
        State::Ready => None,
        State::Succeeded => Some("PodCompleted"),
        State::Unready | State::Failed => Some("ContainersNotReady"),
    };
    let condition = |kind: &str, why: Option<&str>| {
        let status = if why.is_none() { "True" } else { "False" };
        json!({ "type": kind, "status": status, "lastTransitionTime": time, "reason": why })
    };
    let conditions =
        [("PodScheduled", None), ("Initialized", None), ("ContainersReady", why), ("Ready", why)];
    let containers = |field: &str| -> Vec<Value> {
        let all = pod["spec"][field].as_array().map(Vec::as_slice).unwrap_or_default();
        all.iter().map(|container| container_status(container, field, state, time)).collect()
    };
    let mut status = json!({
        "phase": phase,
        "startTime": time,
        "conditions": conditions.map(|(kind, why)| condition(kind, why)),
        "containerStatuses": containers("containers"),
        "initContainerStatuses": containers("initContainers"),
        "hostIP": "127.0.0.1",
    });
    if pod["status"]["podIP"].is_null() {
        let address = format!("10.244.{}.{}", taken / 250 % 250, taken % 250 + 1);
        status["podIPs"] = json!([{ "ip": address }]);
        status["podIP"] = json!(address);
    }
    status
}

fn container_status(container: &Value, field: &str, state: State, time: &Value) -> Value {
    // Those that start before the others have done their work, but for those that stay beside them.
    let done = field == "initContainers" && container["restartPolicy"] != "Always";
    let ended = |code: i32, reason: &str| json!({ "terminated": { "exitCode": code, "reason": reason, "startedAt": time, "finishedAt": time } });
    let image = container["image"].as_str().unwrap_or_default();
    let now = match state {
        _ if done => ended(0, "Completed"),
        State::Succeeded => ended(0, "Completed"),
        State::Failed => ended(1, "Error"),
        State::Ready => json!({ "running": { "startedAt": time } }),
        State::Unready => {
            let message = format!("Back-off pulling image \"{image}\"");
            json!({ "waiting": { "reason": "ImagePullBackOff", "message": message } })
        }
    };
    json!({
        "name": container["name"],
        "image": image,
        "imageID": if state == State::Unready && !done { "" } else { image },
        "restartCount": 0,
        "ready": done || state == State::Ready,
        "started": !done && state == State::Ready,
        "state": now,
    })
}

fn node_object() -> Value {
    let room = json!({ "cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "1000" });
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": { "name": NAME, "labels": { "kubernetes.io/hostname": NAME, "kubernetes.io/os": "linux" } },
        "status": {
            "capacity": room,
            "allocatable": room,
            "addresses": [{ "type": "InternalIP", "address": "127.0.0.1" }],
            "conditions": [{ "type": "Ready", "status": "True", "reason": "KubeletReady" }],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(policy: &str, annotations: Value) -> Value {
        json!({
            "metadata": { "name": "p", "namespace": "n", "creationTimestamp": "t", "annotations": annotations },
            "spec": {
                "nodeName": NAME,
                "restartPolicy": policy,
                "initContainers": [{ "name": "first", "image": "a" }],
                "containers": [{ "name": "main", "image": "b" }],
            },
        })
    }

    #[test]
    fn a_report_is_believed_so_that_the_next_event_asks_for_nothing() {
        for (policy, annotation, phase) in [
            ("Always", "", "Running"),
            ("Always", "ready", "Pending"),
            ("Never", "", "Succeeded"),
            ("OnFailure", "fail", "Failed"),
            ("Never", "ready", "Pending"),
        ] {
            let value = if annotation == "fail" { "true" } else { "false" };
            let mut pod = pod(policy, json!({ format!("rig.podium/{annotation}"): value }));
            let Step::Report(status) = next(&pod, 300) else { panic!("{policy} {annotation}") };
            assert_eq!((&status["phase"], &status["podIP"]), (&json!(phase), &json!("10.244.1.51")));
            assert_eq!(status["initContainerStatuses"][0]["state"]["terminated"]["exitCode"], 0);
            pod["status"] = status;
            assert_eq!(next(&pod, 0), Step::Nothing, "{policy} {annotation}");
        }
    }

    #[test]
    fn a_pod_becomes_ready_when_its_annotation_goes() {
        let mut pod = pod("Always", json!({ "rig.podium/ready": "false" }));
        let Step::Report(status) = next(&pod, 0) else { panic!() };
        assert_eq!(status["containerStatuses"][0]["state"]["waiting"]["reason"], "ImagePullBackOff");
        pod["status"] = status;
        pod["metadata"]["annotations"] = Value::Null;
        let Step::Report(status) = next(&pod, 0) else { panic!() };
        assert_eq!((&status["phase"], &status["podIP"]), (&json!("Running"), &Value::Null));
    }

    #[test]
    fn a_pod_is_bound_first_and_deleted_once() {
        let mut pod = pod("Always", Value::Null);
        pod["spec"]["nodeName"] = Value::Null;
        assert!(matches!(next(&pod, 0), Step::Bind(binding) if binding["target"]["name"] == NAME));
        pod["metadata"]["deletionTimestamp"] = json!("t");
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(30);
        assert_eq!(next(&pod, 0), Step::Delete);
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        assert_eq!(next(&pod, 0), Step::Nothing);
    }
}
