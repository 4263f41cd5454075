//! The table of usual kinds beside what a real API server says of itself.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;

use podium_meta::{GroupVersionKind, Resource};
use podium_resources::{all_usual, usual};
use podium_rig::cluster::{Cluster, run};
use serde_json::Value;

/// Everything that a server keeps of one group and version, as it says itself.
fn served(cluster: &Cluster, version: &str) -> Vec<Resource> {
    let path = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
    let answer = run(cluster.kubectl().args(["get", "--raw", &path])).unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let kept = |one: &&Value| one["verbs"].as_array().unwrap().iter().any(|verb| verb == "get");
    let resources = answer["resources"].as_array().unwrap().iter().filter(kept);
    resources
        .filter(|one| !one["name"].as_str().unwrap().contains('/'))
        .map(|one| Resource {
            kind: GroupVersionKind::new(version, one["kind"].as_str().unwrap()),
            plural: one["name"].as_str().unwrap().to_owned(),
            namespaced: one["namespaced"].as_bool().unwrap(),
        })
        .collect()
}

/// What servers older than this one do not have: only discovery can tell.
const YOUNG: &[&str] = &[
    "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy",
    "admissionregistration.k8s.io/v1/MutatingAdmissionPolicyBinding",
    "networking.k8s.io/v1/IPAddress",
    "networking.k8s.io/v1/ServiceCIDR",
    "storage.k8s.io/v1/VolumeAttributesClass",
];

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn usual_kinds_are_where_the_server_keeps_them() {
    let cluster = Cluster::shared_upstream().unwrap();
    let versions: BTreeSet<String> = all_usual().map(|resource| resource.kind.api_version()).collect();
    let (mut count, mut others) = (0, Vec::new());
    for version in versions {
        let served = served(cluster, &version);
        for resource in &served {
            match usual(&resource.kind) {
                None => others.push(resource.kind.to_string()),
                Some(ours) => assert_eq!(ours, *resource),
            }
        }
        let ours = all_usual().filter(|resource| resource.kind.api_version() == version);
        for resource in ours {
            assert!(served.contains(&resource), "{resource:?}");
            count += 1;
        }
    }
    assert!(count > 40, "{count}");
    assert_eq!(others, YOUNG, "kinds that older servers lack");
}
