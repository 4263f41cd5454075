//! A node that runs nothing: it takes every pod and reports what a kubelet would report of it at best.
//!
//! Pods of `restartPolicy: Always` become ready, others succeed. Annotations of a pod ask for something else:
//! `rig.podium/ready: "false"` has images that cannot be pulled, `rig.podium/fail: "true"` fails instead of
//! succeeding.

use std::io::{Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Deserializer, Value, json};

use super::{Error, run};

/// The name of the node.
pub const NAME: &str = "rig";

/// Makes a `kubectl` of the admin.
type Kubectl = Box<dyn Fn() -> Command + Send>;

/// The thread that plays the node; ends when dropped.
pub(super) struct Node {
    shared: Arc<Mutex<Shared>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: bool,
    watch: Option<Child>,
}

impl Node {
    pub(super) fn start(kubectl: Kubectl) -> Result<Self, Error> {
        feed(kubectl().args(["create", "-f", "-"]), &node_object())?;
        // Every new node is tainted until the controller that we do without has seen it ready.
        run(kubectl().args(["patch", "node", NAME, "--type=merge", "-p", r#"{"spec":{"taints":null}}"#]))?;
        let shared = Arc::new(Mutex::new(Shared::default()));
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            // The server ends a watch now and then: the next one begins with all pods again.
            while let Some(events) = watch(&of_thread, &kubectl) {
                follow(events, &kubectl);
            }
        });
        Ok(Node { shared, thread: Some(thread) })
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.stop = true;
        end(&mut shared);
        drop(shared);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn end(shared: &mut Shared) {
    if let Some(mut watch) = shared.watch.take() {
        let _ = watch.kill();
        let _ = watch.wait();
    }
}

/// The events of all pods, until the node shall stop.
fn watch(shared: &Mutex<Shared>, kubectl: &Kubectl) -> Option<ChildStdout> {
    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
    if shared.watch.is_some() {
        // Ended by itself: not again at once, the server may be going down.
        std::thread::sleep(Duration::from_millis(100));
        end(&mut shared);
    }
    if shared.stop {
        return None;
    }
    let mut child = kubectl()
        .args(["get", "pods", "--all-namespaces", "--watch", "--output=json", "--output-watch-events"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let events = child.stdout.take();
    shared.watch = Some(child);
    events
}

fn follow(events: impl Read, kubectl: &Kubectl) {
    let mut taken = 0;
    for event in Deserializer::from_reader(events).into_iter::<Value>() {
        let Ok(event) = event else { return };
        if event["type"] == "DELETED" {
            continue;
        }
        let pod = &event["object"];
        let name = |field: &str| pod["metadata"][field].as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (name("namespace"), name("name"));
        // What is refused was decided on an old state of the pod: the event of the newer one is on its way.
        let _ = match next(pod, taken) {
            Step::Nothing => Ok(String::new()),
            Step::Delete => {
                // Only this pod: one of the same name may be there already.
                let options = json!({
                    "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
                    "preconditions": { "uid": pod["metadata"]["uid"] },
                });
                let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
                feed(kubectl().args(["delete", "--raw", &path, "-f", "-"]), &options)
            }
            Step::Bind(binding) => {
                let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/binding");
                feed(kubectl().args(["create", "--raw", &path, "-f", "-"]), &binding)
            }
            Step::Report(status) => {
                taken += 1;
                run(kubectl()
                    .args(["patch", "pod", &name, "-n", &namespace, "--subresource=status", "--type=merge"])
                    .args(["-p", &json!({ "status": status }).to_string()]))
            }
        };
    }
}

fn feed(command: &mut Command, input: &Value) -> Result<String, Error> {
    let (read, mut write) = std::io::pipe().map_err(Error::io("pipe"))?;
    command.stdin(read);
    // Far smaller than what a pipe holds, so nobody has to read yet.
    write.write_all(input.to_string().as_bytes()).map_err(Error::io("pipe"))?;
    drop(write);
    run(command)
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
