//! Recorded answers of the original: objects of all kinds and the cells of their rows.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use podium_meta::GroupVersionKind;
use podium_resources::print::{Printer, columns, row, since};
use serde_json::{Value, json};

#[test]
fn rows_have_the_recorded_cells() {
    let mut count = 0;
    for line in include_str!("rows.txt").lines() {
        let answer: Value = serde_json::from_str(line).unwrap();
        let (api_version, kind) = answer["kind"].as_str().unwrap().split_once(' ').unwrap();
        let row = row(
            &GroupVersionKind::new(api_version, kind),
            &answer["object"],
            answer["now"].as_i64().unwrap(),
        );
        assert_eq!(row.cells, answer["cells"].as_array().unwrap().as_slice(), "{line}");
        assert_eq!(row.conditions, answer["conditions"], "{line}");
        count += 1;
    }
    assert!(count > 50, "{count}");
}

#[test]
fn cells_from_text_are_those_from_values() {
    let mut written = 0;
    for line in include_str!("rows.txt").lines() {
        let answer: Value = serde_json::from_str(line).unwrap();
        let (api_version, kind) = answer["kind"].as_str().unwrap().split_once(' ').unwrap();
        let (printer, now) =
            (Printer::new(&GroupVersionKind::new(api_version, kind)), answer["now"].as_i64().unwrap());
        let metadata = answer["object"]["metadata"].to_string().len();
        let mut out = b"rows".to_vec();
        if printer.write(answer["object"].to_string().as_bytes(), metadata, now, &mut out) {
            assert_eq!(str::from_utf8(&out).unwrap(), format!("rows{}", answer["cells"]), "{line}");
            assert_eq!(answer["conditions"], Value::Null);
            written += 1;
        } else {
            assert_eq!(out, b"rows");
        }
    }
    assert!(written > 40, "{written}");
}

#[test]
fn odd_fields_are_the_same_in_cells_from_text() {
    let odd = [
        json!(null),
        json!(""),
        json!("a\"<\n\u{7f}ü\u{2028}"),
        json!("2026-01-02T03:04:05Z"),
        json!(-3),
        json!(1.5),
        json!(18_446_744_073_709_551_615_u64),
        json!(true),
        json!([]),
        json!({}),
        json!(["x", {"name": "a\"b", "image": "i"}]),
        json!({"b": "1", "a": "<"}),
        json!({"matchLabels": {"z": "1"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}),
    ];
    let mut written = 0;
    for (api_version, kind) in [
        ("v1", "ConfigMap"),
        ("v1", "Secret"),
        ("v1", "Namespace"),
        ("v1", "PodTemplate"),
        ("v1", "ReplicationController"),
        ("apps/v1", "Deployment"),
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "StatefulSet"),
        ("apps/v1", "DaemonSet"),
        ("autoscaling/v1", "Scale"),
        ("coordination.k8s.io/v1", "Lease"),
        ("networking.k8s.io/v1", "NetworkPolicy"),
        ("storage.k8s.io/v1", "VolumeAttachment"),
        ("scheduling.k8s.io/v1", "PriorityClass"),
        ("rbac.authorization.k8s.io/v1", "Role"),
        ("resource.k8s.io/v1", "ResourceSlice"),
    ] {
        let printer = Printer::new(&GroupVersionKind::new(api_version, kind));
        for one in &odd {
            let spec = json!({"replicas": one, "template": {"spec": {"containers": one, "nodeSelector": one}}, "selector": one,
                "podSelector": one, "holderIdentity": one, "attacher": one, "source": one, "nodeName": one, "pool": {"name": one}});
            let status = json!({"readyReplicas": one, "replicas": one, "phase": one, "attached": one});
            let text = one.as_str().map_or(json!("2020-01-02T03:04:05Z"), Value::from);
            let object = json!({"metadata": {"name": one, "creationTimestamp": text}, "spec": spec, "status": status, "data": one,
                "binaryData": one, "type": one, "value": one, "globalDefault": one, "template": spec["template"]});
            let metadata = object["metadata"].to_string().len();
            let mut out = Vec::new();
            if printer.write(object.to_string().as_bytes(), metadata, 1_794_829_824, &mut out) {
                let cells = Value::Array(printer.row(&object, 1_794_829_824).cells).to_string();
                assert_eq!(str::from_utf8(&out).unwrap(), cells, "{object}");
                written += 1;
            }
        }
    }
    assert_eq!(written, odd.len() * 16);
}

#[test]
fn a_pods_status_tells_what_hinders_it() {
    let show = |status: Value, spec: Value| {
        let pod = json!({"metadata": {"name": "p"}, "spec": spec, "status": status});
        row(&GroupVersionKind::new("v1", "Pod"), &pod, 0).cells.get(1..4).unwrap().to_vec()
    };
    let two = json!({"containers": [{"name": "a"}, {"name": "b"}]});
    let crash = json!({"phase": "Running", "containerStatuses": [
        {"name": "a", "ready": true, "state": {"running": {}}},
        {"name": "b", "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]});
    assert_eq!(show(crash, two.clone()), ["1/2", "CrashLoopBackOff", "3"]);
    let init = json!({"containers": [{"name": "a"}], "initContainers": [{"name": "i"}, {"name": "j"}]});
    let first = json!({"phase": "Pending", "initContainerStatuses": [
        {"name": "i", "state": {"terminated": {"exitCode": 0}}}, {"name": "j", "state": {"running": {}}}]});
    assert_eq!(show(first, init.clone()), ["0/1", "Init:1/2", "0"]);
    let failed = json!({"phase": "Pending", "initContainerStatuses": [
        {"name": "i", "state": {"terminated": {"exitCode": 7}}}]});
    assert_eq!(show(failed, init), ["0/1", "Init:ExitCode:7", "0"]);
    let done = json!({"phase": "Running", "containerStatuses": [
        {"name": "a", "ready": true, "state": {"running": {}}},
        {"name": "b", "state": {"terminated": {"reason": "Completed"}}}]});
    assert_eq!(
        show(done, two),
        ["1/2", "Completed", "0"].map(|word| if word == "Completed" { "NotReady" } else { word })
    );
}

#[test]
fn kinds_without_a_printer_have_a_name_and_a_date() {
    let kind = GroupVersionKind::new("rbac.authorization.k8s.io/v1", "Role");
    let names: Vec<&str> = columns(&kind).iter().map(|column| column.name).collect();
    assert_eq!(names, ["Name", "Created At"]);
    let role = json!({"metadata": {"name": "r", "creationTimestamp": "2026-01-02T03:04:05Z"}});
    assert_eq!(row(&kind, &role, 0).cells, ["r", "2026-01-02T03:04:05Z"]);
    let pod = columns(&GroupVersionKind::new("v1", "Pod"));
    assert_eq!((pod.len(), pod.first().unwrap().format, pod.last().unwrap().priority), (9, "name", 1));
}

#[test]
fn ages_have_two_units_at_most() {
    for (seconds, words) in [
        (-5, "<invalid>"),
        (119, "119s"),
        (207, "3m27s"),
        (45 * 60, "45m"),
        (3 * 3600 + 1200, "3h20m"),
        (30 * 3600, "30h"),
        (76 * 3600, "3d4h"),
        (100 * 86_400, "100d"),
        (1_115 * 86_400, "3y20d"),
        (3_650 * 86_400, "10y"),
    ] {
        assert_eq!(since(seconds), words);
    }
}
