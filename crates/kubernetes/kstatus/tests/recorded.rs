//! States that kstatus and Helm 4's status readers computed for generated objects; reasons are not compared.
//!
//! Each line has four states and an object with its pods: alone, with its pods, waiting for Jobs, as a hook.

use podium_kstatus::{Status, completion_status, compute_at, compute_with_jobs, compute_with_pods};
use serde_json::Value;

/// Time between the past and the future timestamps of the objects.
const NOW: i64 = 1_800_000_000;

fn state(status: &Status) -> &'static str {
    match status {
        Status::Current => "ready",
        Status::InProgress(_) => "waiting",
        Status::Failed(_) => "failed",
        Status::Terminating(_) => "terminating",
    }
}

#[test]
fn states_match_kstatus_and_helm() {
    let lines = include_str!("recorded.txt").lines();
    assert!(lines.clone().count() > 200);
    for line in lines {
        let mut parts = line.splitn(5, ' ');
        let expected: Vec<&str> = parts.by_ref().take(4).collect();
        let case: Value = serde_json::from_str(parts.next().unwrap()).unwrap();
        let (object, pods) = (&case["object"], case["pods"].as_array().unwrap());
        let with_pods = compute_with_pods(object, pods, Some(NOW));
        let is_job = object["apiVersion"].as_str().is_some_and(|version| version.starts_with("batch/"))
            && object["kind"] == "Job";
        let with_jobs = if is_job { compute_with_jobs(object) } else { with_pods.clone() };
        let ours = [compute_at(object, Some(NOW)), with_pods, with_jobs, completion_status(object)];
        assert_eq!(ours.each_ref().map(state).as_slice(), expected, "{line}\n{ours:?}");
        for status in &ours {
            assert_eq!(status.is_current(), status.reason().is_none());
            assert!(status.reason().is_none_or(|reason| !reason.is_empty()), "{line}");
        }
    }
}
