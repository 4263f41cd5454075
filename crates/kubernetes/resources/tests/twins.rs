//! Recorded answers of the original: objects of kinds that are served in two versions, in both.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use podium_meta::GroupVersionKind;
use podium_resources::stored::{convert, settle, stored_kind};
use podium_resources::typed::write::to_json;
use serde_json::{Value, json};

#[test]
fn objects_become_the_recorded_ones_byte_for_byte() {
    for line in include_str!("twins.txt").lines() {
        let answer: Value = serde_json::from_str(line).unwrap();
        let kind = |key: &str| {
            let (api_version, kind) = answer[key].as_str().unwrap().split_once(' ').unwrap();
            GroupVersionKind::new(api_version, kind)
        };
        let mut value = answer["value"].clone();
        settle(&kind("from"), &mut value).unwrap();
        convert(&mut value, &kind("to"));
        assert_eq!(value, answer["other"], "{line}");
        assert!(line.contains(&to_json(&kind("to"), &value)), "{line}");
    }
}

#[test]
fn one_version_is_stored() {
    let hpa =
        |version: &str| GroupVersionKind::new(&format!("autoscaling/{version}"), "HorizontalPodAutoscaler");
    assert_eq!(stored_kind(&hpa("v1")), hpa("v2"));
    assert_eq!(
        stored_kind(&GroupVersionKind::new("events.k8s.io/v1", "Event")),
        GroupVersionKind::new("v1", "Event")
    );
    assert_eq!(stored_kind(&GroupVersionKind::new("v1", "Pod")), GroupVersionKind::new("v1", "Pod"));
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod"});
    convert(&mut pod, &GroupVersionKind::new("v1", "Pod"));
    assert_eq!(pod, json!({"apiVersion": "v1", "kind": "Pod"}));
}
