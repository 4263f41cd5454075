//! Runs the example controller on our own API server: a Greeting becomes a ConfigMap, drift is repaired, and fault plans
//! (killed processes, lost answers, old reads, broken watches) end in the same state.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::process::Command;
use std::time::Duration;

use podium_rig::cluster::Cluster;
use podium_rig::cluster::admin::Admin;
use podium_rig::faults::FaultRun;
use serde_json::{Value, json};

const GREETING: &str = "greeting.example.podium.dev";
const STEPS: [&str; 4] = ["create", "change", "drift", "delete"];

const YAML: &str =
    "{apiVersion: example.podium.dev/v1, kind: Greeting, metadata: {name: hello}, spec: {text: Hello}}";

/// What the user, or another client, does in each step.
fn act(admin: &Admin, namespace: &str, step: &str) {
    let text = |text: &str| json!({"text": text});
    match step {
        "create" => admin.apply(namespace, YAML),
        "change" => admin.merge(GREETING, namespace, "hello", &json!({"spec": text("Bonjour")})),
        "drift" => admin.merge("configmap", namespace, "hello", &json!({"data": text("changed")})),
        _ => admin.delete(GREETING, namespace, "hello"),
    }
    .unwrap();
}

/// The text of the ConfigMap, and whether the Greeting says that it is current.
fn state(admin: &Admin, namespace: &str) -> Value {
    let config_map = admin.find("configmap", namespace, "hello").unwrap().unwrap_or_default();
    let greeting = admin.find(GREETING, namespace, "hello").unwrap().unwrap_or_default();
    let current = greeting["status"]["observedGeneration"] == greeting["metadata"]["generation"];
    json!({"text": config_map["data"]["text"], "current": current})
}

#[test]
fn converges_whatever_goes_wrong() {
    let cluster = Cluster::start().unwrap();
    cluster.admin().apply("default", include_str!("../crd.yaml")).unwrap();
    cluster.established("greetings.example.podium.dev").unwrap();
    let run = FaultRun {
        cluster: &cluster,
        command: &|_| Command::new(env!("CARGO_BIN_EXE_podium-example-controller")),
        steps: &STEPS,
        act: &act,
        state: &state,
        patience: Duration::from_secs(20),
    };
    let states = run.undisturbed().unwrap();
    let texts: Vec<&Value> = states.iter().map(|step| &step.state["text"]).collect();
    assert_eq!(texts, [&json!("Hello"), &json!("Bonjour"), &json!("Bonjour"), &Value::Null]);
    let plans = run.with_faults(&states, Duration::from_secs(20)).unwrap();
    assert!(plans >= STEPS.len(), "only {plans} plans were run");
}
