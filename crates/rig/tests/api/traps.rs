//! What servers that only look like Kubernetes get wrong, on both servers.

use std::time::{Duration, Instant};

use podium_rig::api::wire::{Body, Request};
use serde_json::{Value, json};

use crate::case::{Case, deployment, map, owned};

const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// A message of protobuf: fields of bytes, each shorter than 128.
fn message(fields: &[(u8, &str)]) -> String {
    let mut out = String::new();
    for (number, content) in fields {
        out.push(char::from(number << 3 | 2));
        out.push(char::from(u8::try_from(content.len()).unwrap()));
        out.push_str(content);
    }
    out
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn bodies_may_be_protobuf() {
    let mut case = Case::new("trap-1");
    let object = message(&[(1, &message(&[(1, "c")])), (2, &message(&[(1, "a"), (2, "1")]))]);
    let kind = message(&[(1, "v1"), (2, "ConfigMap")]);
    let mut request =
        Request::new("POST", case.maps("")).header("Content-Type", "application/vnd.kubernetes.protobuf");
    request.body = Body::Text(format!("k8s\0{}", message(&[(1, &kind), (2, &object), (3, ""), (4, "")])));
    request = request.header("Accept", "application/json");
    assert_eq!(case.expect(201, &request)["data"], json!({"a": "1"}));
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn a_streaming_list_says_when_all_was_sent() {
    let mut case = Case::new("trap-2");
    case.expect(201, &Request::post(case.maps(""), map("c", json!({}))));
    let request = Request::get(case.maps(""))
        .with("watch", "true")
        .with("sendInitialEvents", "true")
        .with("resourceVersionMatch", "NotOlderThan")
        .with("allowWatchBookmarks", "true");
    let streams = case.hear(&request);
    let events = case.heard(&streams, 2);
    let bookmark = events.last().unwrap();
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(
        bookmark.pointer("/object/metadata/annotations/k8s.io~1initial-events-end"),
        Some(&json!("true"))
    );
    case.expect(201, &Request::post(case.maps(""), map("d", json!({}))));
    assert_eq!(case.heard(&streams, 3)[2]["type"], "ADDED");
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn a_revision_of_the_future_is_waited_for_and_then_refused() {
    // One that is gone is tried where history can be made short: in the tests of our own server.
    let mut case = Case::new("trap-3");
    let request = Request::get(case.maps("")).with("resourceVersion", "99999999");
    let answer = case.refused(504, "Too large resource version: 99999999", &request);
    assert_eq!(answer["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn who_leaves_a_selection_is_deleted_there() {
    let mut case = Case::new("trap-4");
    let streams = case.hear(&Request::get(case.maps("")).with("watch", "1").with("labelSelector", "app=x"));
    let label = |value: &str| json!({"metadata": {"labels": {"app": value}}});
    case.expect(201, &Request::post(case.maps(""), map("c", json!({"a": "1"}))));
    case.expect(200, &Request::patch(case.maps("c"), MERGE, label("x")));
    let last = case.expect(200, &Request::patch(case.maps("c"), MERGE, label("y")));
    let events = case.heard(&streams, 2);
    let types: Vec<&Value> = events.iter().map(|event| &event["type"]).collect();
    assert_eq!(types, ["ADDED", "DELETED"]);
    assert_eq!(events[1].pointer("/object/metadata/labels/app"), Some(&json!("x")));
    assert_eq!(
        events[1].pointer("/object/metadata/resourceVersion"),
        Some(&last["metadata"]["resourceVersion"])
    );
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn a_deletion_has_a_revision_of_its_own() {
    let mut case = Case::new("trap-5");
    let streams = case.hear(&Request::get(case.maps("")).with("watch", "1"));
    let made = case.expect(201, &Request::post(case.maps(""), map("c", json!({}))));
    case.expect(200, &Request::delete(case.maps("c")));
    case.expect(201, &Request::post(case.maps(""), map("d", json!({}))));
    case.heard(&streams, 3);
    for stream in &streams {
        let lines = stream.heard().lines;
        let revision = |line: &String| -> u64 {
            let event: Value = serde_json::from_str(line).unwrap();
            event.pointer("/object/metadata/resourceVersion").unwrap().as_str().unwrap().parse().unwrap()
        };
        let all: Vec<u64> = lines.iter().map(revision).collect();
        assert!(all.windows(2).all(|two| two[0] < two[1]), "{all:?} {made}");
    }
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn openapi_tells_of_patches_with_field_validation() {
    let case = Case::new("trap-6");
    for (document, path) in [
        ("/openapi/v3/api/v1", "/api/v1/namespaces/{namespace}/configmaps/{name}"),
        ("/openapi/v3/apis/apps/v1", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"),
    ] {
        let request = Request::get(document);
        for answer in case.pair.both(&request, &request).unwrap() {
            let value = answer.value();
            let patch = &value["paths"][path]["patch"];
            assert!(patch["x-kubernetes-group-version-kind"]["kind"].is_string(), "{patch}");
            let parameters = patch["parameters"].as_array().unwrap();
            assert!(
                parameters.iter().any(|one| one["name"] == "fieldValidation" && one["in"] == "query"),
                "{patch}"
            );
        }
    }
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn what_changes_nothing_writes_nothing() {
    let mut case = Case::new("trap-7");
    let made = case.expect(
        201,
        &Request::post(case.deployments(""), deployment("d", json!([{"name": "c", "image": "i"}]))),
    );
    let again = case.expect(200, &Request::put(case.deployments("d"), made.clone()));
    assert_eq!(made["metadata"]["resourceVersion"], again["metadata"]["resourceVersion"]);
    case.expect(200, &Request::patch(case.deployments("d"), MERGE, json!({})));
    let labelled = case.expect(
        200,
        &Request::patch(case.deployments("d"), MERGE, json!({"metadata": {"labels": {"a": "b"}}})),
    );
    assert_eq!(labelled["metadata"]["generation"], 1);
    let place = format!("{}/status", case.deployments("d"));
    let status = case.expect(200, &Request::patch(place, MERGE, json!({"status": {"replicas": 1}})));
    assert_eq!(status["metadata"]["generation"], 1);
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn a_template_has_the_same_defaults_wherever_it_is() {
    let mut case = Case::new("trap-8");
    let made = case.expect(
        201,
        &Request::post(case.deployments(""), deployment("d", json!([{"name": "c", "image": "i"}]))),
    );
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": made["spec"]["template"]}});
    let set = case.expect(201, &Request::post(case.place("/apis/apps/v1", "replicasets", ""), set));
    assert_eq!(set["spec"]["template"], made["spec"]["template"]);
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}});
    case.expect(201, &Request::post(case.place("/apis/batch/v1", "jobs", ""), job));
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn refusals_say_why_where_and_about_what() {
    let mut case = Case::new("trap-9");
    let answer = case.expect(422, &Request::post(case.maps(""), map("Not_A_Name", json!({}))));
    let cause = &answer["details"]["causes"][0];
    assert_eq!((&cause["reason"], &cause["field"]), (&json!("FieldValueInvalid"), &json!("metadata.name")));
    assert_eq!((&answer["details"]["kind"], &answer["code"]), (&json!("ConfigMap"), &json!(422)));
    let answer = case.expect(404, &Request::get(case.deployments("nope")));
    assert_eq!(
        (&answer["details"]["kind"], &answer["details"]["group"]),
        (&json!("deployments"), &json!("apps"))
    );
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn empty_lists_are_lists_with_a_revision() {
    let mut case = Case::new("trap-10");
    let list = case.expect(200, &Request::get(case.maps("")));
    assert_eq!(list["items"], json!([]));
    assert!(list["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap() > 0);
    case.expect(200, &Request::get("/api/v1/namespaces/not-there/configmaps"));
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn discovery_in_one_answer_says_what_it_is() {
    let case = Case::new("trap-11");
    let kind = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    for path in ["/api", "/apis"] {
        let request = Request::get(path).header("Accept", &format!("{kind},application/json"));
        let [real, ours] = case.pair.both(&request, &request).unwrap();
        for answer in [&real, &ours] {
            assert_eq!(answer.header("content-type"), [kind]);
            assert_eq!(answer.value()["kind"], "APIGroupDiscoveryList");
            let tag = answer.header("etag").first().cloned().unwrap();
            assert!(tag.starts_with('"') && tag.ends_with('"'), "{tag}");
        }
        for (answer, server) in [(&real, &case.pair.real), (&ours, &case.pair.ours)] {
            let _ = server;
            let tag = answer.header("etag").first().cloned().unwrap();
            let again = request.clone().header("If-None-Match", &tag);
            let both = case.pair.both(&again, &again).unwrap();
            assert!(both.iter().any(|answer| answer.code == 304));
        }
        let plain = case.pair.both(&Request::get(path), &Request::get(path)).unwrap();
        assert!(plain.iter().all(|answer| answer.header("content-type") == ["application/json"]));
    }
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn status_and_the_rest_are_written_apart() {
    let mut case = Case::new("trap-12");
    let mut object = deployment("d", json!([{"name": "c", "image": "i"}]));
    object["status"] = json!({"replicas": 9});
    let made = case.expect(201, &Request::post(case.deployments(""), object));
    assert_eq!(made["status"], json!({}));
    let both = json!({"spec": {"replicas": 9}, "status": {"replicas": 9}});
    let main = case.expect(200, &Request::patch(case.deployments("d"), MERGE, both.clone()));
    assert_eq!((&main["spec"]["replicas"], main.pointer("/status/replicas")), (&json!(9), None));
    let both = json!({"spec": {"replicas": 2}, "status": {"replicas": 2}});
    let place = format!("{}/status", case.deployments("d"));
    let part = case.expect(200, &Request::patch(place, MERGE, both).with("fieldManager", "s"));
    assert_eq!((&part["spec"]["replicas"], &part["status"]["replicas"]), (&json!(9), &json!(2)));
    assert!(
        part["metadata"]["managedFields"]
            .as_array()
            .unwrap()
            .iter()
            .any(|entry| entry["subresource"] == "status")
    );
    assert!(owned(&part, "s").is_some());
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn a_watch_begins_before_its_first_event() {
    let mut case = Case::new("trap-13");
    let begin = Instant::now();
    let streams =
        case.hear(&Request::get(case.maps("")).with("watch", "1").with("labelSelector", "no=thing"));
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert_eq!(case.heard(&streams, 0).len(), 0);
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn strategic_patches_have_keys_of_their_own() {
    let mut case = Case::new("trap-14");
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {
        "ports": [{"name": "a", "port": 53, "protocol": "UDP"}, {"name": "b", "port": 80}]}});
    case.expect(201, &Request::post(case.place("/api/v1", "services", ""), service));
    // The key of a strategic patch is the port alone.
    let patch = json!({"spec": {"ports": [{"port": 53, "name": "x"}], "$setElementOrder/ports": [{"port": 80}, {"port": 53}]}});
    let place = case.place("/api/v1", "services", "s");
    let patched = case.expect(200, &Request::patch(place, STRATEGIC, patch));
    let names: Vec<&Value> =
        patched["spec"]["ports"].as_array().unwrap().iter().map(|port| &port["name"]).collect();
    assert_eq!(names, ["b", "x"]);
    // Lists without a key are one value.
    let object = deployment("d", json!([{"name": "c", "image": "i", "args": ["a", "b"]}]));
    case.expect(201, &Request::post(case.deployments(""), object));
    let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "args": ["z"]}]}}}});
    let patched = case.expect(200, &Request::patch(case.deployments("d"), STRATEGIC, patch));
    assert_eq!(patched.pointer("/spec/template/spec/containers/0/args"), Some(&json!(["z"])));
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn a_deletion_waits_for_who_has_to_be_asked() {
    let mut case = Case::new("trap-15");
    let mut object = map("c", json!({}));
    object["metadata"]["finalizers"] = json!(["a.b/c"]);
    let made = case.expect(201, &Request::post(case.maps(""), object));
    let wrong = json!({"preconditions": {"uid": "11111111-2222-3333-4444-555555555555"}});
    let request = Request::delete(case.maps("c")).json("application/json", wrong);
    case.refused(409, "the UID in the precondition", &request);
    let right = json!({"preconditions": {"uid": made["metadata"]["uid"]}});
    let marked = case.expect(200, &Request::delete(case.maps("c")).json("application/json", right));
    assert!(marked.pointer("/metadata/deletionTimestamp").is_some());
    case.expect(200, &Request::get(case.maps("c")));
    case.expect(200, &Request::patch(case.maps("c"), MERGE, json!({"metadata": {"finalizers": null}})));
    case.expect(404, &Request::get(case.maps("c")));
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]}});
    let pods = case.place("/api/v1", "pods", "");
    case.expect(201, &Request::post(&pods, pod));
    let marked = case.expect(200, &Request::delete(format!("{pods}/p")));
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 30);
    case.expect(200, &Request::delete(format!("{pods}/p")).with("gracePeriodSeconds", "0"));
    case.expect(404, &Request::get(format!("{pods}/p")));
}
