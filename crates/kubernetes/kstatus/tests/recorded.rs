//! States as kstatus and Helm 4's readers gave them for generated objects; words are not compared.
//!
//! Each line has four states and an object with its pods: by itself, with its pods, waiting for jobs, as a hook.

use podium_kstatus::{Health, completion, health_at, health_with_jobs, health_with_pods};
use serde_json::Value;

/// Between the past and the future times of the objects.
const NOW: i64 = 1_800_000_000;

fn state(health: &Health) -> &'static str {
    match health {
        Health::Ready => "ready",
        Health::Waiting(_) => "waiting",
        Health::Failed(_) => "failed",
        Health::Terminating(_) => "terminating",
    }
}

#[test]
fn states_are_those_that_helm_waits_for() {
    let lines = include_str!("recorded.txt").lines();
    assert!(lines.clone().count() > 200);
    for line in lines {
        let mut parts = line.splitn(5, ' ');
        let expected: Vec<&str> = parts.by_ref().take(4).collect();
        let case: Value = serde_json::from_str(parts.next().unwrap()).unwrap();
        let (object, pods) = (&case["object"], case["pods"].as_array().unwrap());
        let with_pods = health_with_pods(object, pods, Some(NOW));
        let is_job = object["apiVersion"].as_str().is_some_and(|version| version.starts_with("batch/"))
            && object["kind"] == "Job";
        let with_jobs = if is_job { health_with_jobs(object) } else { with_pods.clone() };
        let ours = [health_at(object, Some(NOW)), with_pods, with_jobs, completion(object)];
        assert_eq!(ours.each_ref().map(state).as_slice(), expected, "{line}\n{ours:?}");
        for health in &ours {
            assert_eq!(health.is_ready(), health.reason().is_none());
            assert!(health.reason().is_none_or(|reason| !reason.is_empty()), "{line}");
        }
    }
}
