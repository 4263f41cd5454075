//! The cases that tell right server-side apply from wrong, on both servers.

use podium_rig::api::wire::Request;
use serde_json::{Value, json};

use crate::case::{Case, deployment, map, owned};

const MERGE: &str = "application/merge-patch+json";

fn revision(object: &Value) -> &Value {
    &object["metadata"]["resourceVersion"]
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn the_same_apply_twice_writes_once() {
    let mut case = Case::new("apply-1");
    let request = Request::apply(case.maps("c"), "m1", map("c", json!({"a": "1", "b": "2"})));
    let first = case.expect(201, &request);
    let second = case.expect(200, &request);
    assert_eq!(revision(&first), revision(&second));
    assert_eq!(owned(&second, "m1").unwrap(), &json!({"f:data": {"f:a": {}, "f:b": {}}}));
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn another_value_of_an_owned_field_is_a_conflict() {
    let mut case = Case::new("apply-2");
    case.expect(201, &Request::apply(case.maps("c"), "m1", map("c", json!({"a": "1", "b": "2"}))));
    let answer = case.refused(
        409,
        "Apply failed with 1 conflict: conflict with \"m1\": .data.a",
        &Request::apply(case.maps("c"), "m2", map("c", json!({"a": "9"}))),
    );
    assert_eq!(answer["details"]["causes"][0]["reason"], "FieldManagerConflict");
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn the_same_value_is_owned_by_both() {
    let mut case = Case::new("apply-3");
    case.expect(201, &Request::apply(case.maps("c"), "m1", map("c", json!({"a": "1"}))));
    let both = case.expect(200, &Request::apply(case.maps("c"), "m2", map("c", json!({"a": "1", "c": "3"}))));
    assert_eq!(owned(&both, "m1").unwrap(), &json!({"f:data": {"f:a": {}}}));
    assert_eq!(owned(&both, "m2").unwrap(), &json!({"f:data": {"f:a": {}, "f:c": {}}}));
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn what_only_the_manager_owned_goes_when_it_is_left_out() {
    let mut case = Case::new("apply-4");
    case.expect(201, &Request::apply(case.maps("c"), "m1", map("c", json!({"a": "1", "b": "2"}))));
    case.expect(200, &Request::apply(case.maps("c"), "m2", map("c", json!({"a": "1"}))));
    let left = case.expect(200, &Request::apply(case.maps("c"), "m1", map("c", json!({}))));
    assert_eq!(left["data"], json!({"a": "1"}));
    assert_eq!(owned(&left, "m1").unwrap(), &json!({"f:data": {}}));
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn force_takes_fields_from_others() {
    let mut case = Case::new("apply-5");
    case.expect(201, &Request::apply(case.maps("c"), "m1", map("c", json!({"a": "1"}))));
    case.expect(200, &Request::apply(case.maps("c"), "m2", map("c", json!({"c": "3"}))));
    let request =
        Request::apply(case.maps("c"), "m1", map("c", json!({"a": "x", "c": "y"}))).with("force", "true");
    assert_eq!(owned(&case.expect(200, &request), "m2"), None);
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn a_patch_takes_fields_and_is_a_conflict_later() {
    let mut case = Case::new("apply-6");
    case.expect(201, &Request::apply(case.maps("c"), "m1", map("c", json!({"a": "1", "b": "2"}))));
    let patch = Request::patch(case.maps("c"), MERGE, json!({"data": {"a": "x", "z": "y"}}));
    let patched = case.expect(200, &patch.header("User-Agent", "curl/8.0"));
    assert_eq!(owned(&patched, "m1").unwrap(), &json!({"f:data": {"f:b": {}}}));
    assert_eq!(owned(&patched, "curl").unwrap(), &json!({"f:data": {"f:a": {}, "f:z": {}}}));
    let again = Request::apply(case.maps("c"), "m1", map("c", json!({"a": "1"})));
    case.refused(409, "conflict with \"curl\" using v1: .data.a", &again);
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn who_applies_nothing_owns_nothing() {
    let mut case = Case::new("apply-7");
    case.expect(201, &Request::apply(case.maps("c"), "m1", map("c", json!({"a": "1", "b": "2"}))));
    case.expect(200, &Request::apply(case.maps("c"), "m2", map("c", json!({"a": "1"}))));
    let nothing = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}});
    let left = case.expect(200, &Request::apply(case.maps("c"), "m1", nothing));
    assert_eq!((left["data"].clone(), owned(&left, "m1")), (json!({"a": "1"}), None));
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn what_was_there_before_the_first_apply_has_an_owner() {
    let mut case = Case::new("apply-8");
    case.expect(201, &Request::post(case.maps(""), map("c", json!({"a": "1"}))));
    let reset = json!({"metadata": {"managedFields": [{}]}});
    let reset = case.expect(200, &Request::patch(case.maps("c"), MERGE, reset));
    assert_eq!(reset.pointer("/metadata/managedFields"), None);
    let request = Request::apply(case.maps("c"), "m5", map("c", json!({"a": "9"})));
    case.refused(409, "conflict with \"before-first-apply\" using v1: .data.a", &request);
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn two_managers_own_different_items_of_lists() {
    let mut case = Case::new("apply-9");
    let one = deployment("d", json!([{"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}]}]));
    case.expect(201, &Request::apply(case.deployments("d"), "m1", one));
    let two = json!([{"name": "c", "env": [{"name": "B", "value": "2"}]}, {"name": "d", "image": "j"}]);
    let both = case.expect(200, &Request::apply(case.deployments("d"), "m2", deployment("d", two)));
    let containers = both.pointer("/spec/template/spec/containers").unwrap();
    let names =
        |list: &Value| list.as_array().unwrap().iter().map(|one| one["name"].clone()).collect::<Vec<_>>();
    assert_eq!(
        (names(containers), names(&containers[0]["env"])),
        (vec![json!("c"), json!("d")], vec![json!("A"), json!("B")])
    );
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn an_item_that_is_left_out_goes_alone() {
    let mut case = Case::new("apply-10");
    let env = |list: Value| deployment("d", json!([{"name": "c", "image": "i", "env": list}]));
    let both = env(json!([{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]));
    case.expect(201, &Request::apply(case.deployments("d"), "m1", both));
    let one = env(json!([{"name": "A", "value": "1"}]));
    let left = case.expect(200, &Request::apply(case.deployments("d"), "m1", one));
    assert_eq!(
        left.pointer("/spec/template/spec/containers/0/env"),
        Some(&json!([{"name": "A", "value": "1"}]))
    );
    assert_eq!(left["metadata"]["generation"], 2);
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn a_scale_is_an_owner_of_its_own() {
    let mut case = Case::new("apply-11");
    let with = |replicas: Option<i64>| {
        let mut object = deployment("d", json!([{"name": "c", "image": "i"}]));
        if let Some(replicas) = replicas {
            object["spec"]["replicas"] = replicas.into();
        }
        object
    };
    case.expect(201, &Request::apply(case.deployments("d"), "m1", with(Some(1))));
    let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale",
        "metadata": {"name": "d", "namespace": case.namespace}, "spec": {"replicas": 5}});
    let place = format!("{}/scale", case.deployments("d"));
    case.expect(200, &Request::put(place, scale).header("User-Agent", "curl/8"));
    let words = "conflict with \"curl\" with subresource \"scale\" using apps/v1: .spec.replicas";
    case.refused(409, words, &Request::apply(case.deployments("d"), "m1", with(Some(2))));
    let kept = case.expect(200, &Request::apply(case.deployments("d"), "m1", with(None)));
    assert_eq!(kept["spec"]["replicas"], 5);
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn a_status_is_applied_only_at_its_own_address() {
    let mut case = Case::new("apply-12");
    let object = deployment("d", json!([{"name": "c", "image": "i"}]));
    case.expect(201, &Request::apply(case.deployments("d"), "m1", object));
    let status = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {"replicas": 7}, "status": {"replicas": 3}});
    let mut only = status.clone();
    only.as_object_mut().unwrap().remove("spec");
    let main = case.expect(200, &Request::apply(case.deployments("d"), "m2", only));
    assert_eq!((main.pointer("/status/replicas"), owned(&main, "m2")), (None, None));
    let part = case.expect(200, &Request::apply(format!("{}/status", case.deployments("d")), "m2", status));
    assert_eq!((&part["spec"]["replicas"], &part["status"]["replicas"]), (&json!(1), &json!(3)));
    let entries = part["metadata"]["managedFields"].as_array().unwrap();
    assert!(entries.iter().any(|entry| entry["subresource"] == "status"));
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn keys_of_list_items_have_their_defaults() {
    let mut case = Case::new("apply-13");
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {
        "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 80, "protocol": "UDP"}]}});
    let made = case.expect(201, &Request::apply(case.place("/api/v1", "services", "s"), "m1", service));
    assert_eq!(made["spec"]["ports"].as_array().unwrap().len(), 2);
    let ports = &owned(&made, "m1").unwrap()["f:spec"]["f:ports"];
    assert!(ports.get("k:{\"port\":80,\"protocol\":\"TCP\"}").is_some(), "{ports}");
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn finalizers_of_two_managers_are_a_set() {
    let mut case = Case::new("apply-14");
    let with = |finalizers: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "finalizers": finalizers}});
    case.expect(201, &Request::apply(case.maps("c"), "m1", with(json!(["a.b/one"]))));
    let both = case.expect(200, &Request::apply(case.maps("c"), "m2", with(json!(["a.b/two"]))));
    assert_eq!(both["metadata"]["finalizers"], json!(["a.b/one", "a.b/two"]));
    let left = case.expect(200, &Request::apply(case.maps("c"), "m1", with(json!([]))));
    assert_eq!(left["metadata"]["finalizers"], json!(["a.b/two"]));
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn owner_references_are_items_as_a_whole() {
    let mut case = Case::new("apply-15");
    let owner = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u1"}]);
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "ownerReferences": owner}});
    let made = case.expect(201, &Request::apply(case.maps("c"), "m1", object));
    let fields = &owned(&made, "m1").unwrap()["f:metadata"]["f:ownerReferences"];
    assert_eq!(fields, &json!({"k:{\"uid\":\"u1\"}": {}}));
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn defaults_are_not_taken_away() {
    let mut case = Case::new("apply-16");
    let mut object = deployment("d", json!([{"name": "c", "image": "i"}]));
    case.expect(201, &Request::apply(case.deployments("d"), "m1", object.clone()));
    object["spec"]["strategy"] = json!({"type": "Recreate"});
    let request = Request::apply(case.deployments("d"), "m1", object);
    case.refused(422, "may not be specified when strategy `type` is 'Recreate'", &request);
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn a_null_is_a_value() {
    let mut case = Case::new("apply-17");
    let made = case.expect(201, &Request::apply(case.maps("c"), "m1", map("c", json!({"a": null}))));
    assert_eq!(made["data"], json!({"a": ""}));
    assert_eq!(owned(&made, "m1").unwrap(), &json!({"f:data": {"f:a": {}}}));
}

/// Defines a kind on both servers and waits until it is served.
pub fn define(case: &mut Case, plural: &str, kind: &str, schema: Value) {
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.ex.io")}, "spec": {"group": "ex.io", "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
    case.expect(201, &Request::post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition));
    let probe = Request::get(case.place("/apis/ex.io/v1", plural, ""));
    let begin = std::time::Instant::now();
    while !case.pair.both(&probe, &probe).unwrap().iter().all(|answer| answer.is_good()) {
        assert!(begin.elapsed().as_secs() < 10, "{plural} is not served");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn defined_kinds_have_their_own_keys_and_defaults() {
    let mut case = Case::new("apply-18");
    let item = json!({"type": "object", "required": ["k"],
        "properties": {"k": {"type": "string"}, "v": {"type": "string", "default": "d"}}});
    let list = json!({"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]});
    let schema = json!({"type": "object",
        "properties": {"spec": {"type": "object", "properties": {"list": list}}}});
    define(&mut case, "lists", "List18", schema);
    let object = |spec: Value| json!({"apiVersion": "ex.io/v1", "kind": "List18", "metadata": {"name": "x"}, "spec": spec});
    let place = case.place("/apis/ex.io/v1", "lists", "x");
    let unknown = object(json!({"nope": 1}));
    case.refused(500, ".spec.nope: field not declared in schema", &Request::apply(&place, "m1", unknown));
    case.expect(201, &Request::apply(&place, "m1", object(json!({"list": [{"k": "a"}]}))));
    let both = case.expect(200, &Request::apply(&place, "m2", object(json!({"list": [{"k": "b"}]}))));
    assert_eq!(both["spec"]["list"], json!([{"k": "a", "v": "d"}, {"k": "b", "v": "d"}]));
    assert_eq!(
        owned(&both, "m1").unwrap()["f:spec"]["f:list"]["k:{\"k\":\"a\"}"],
        json!({".": {}, "f:k": {}})
    );
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn what_is_left_of_a_map_is_null_and_a_null_is_refused() {
    let mut case = Case::new("apply-20");
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "required": ["map"],
        "properties": {"map": map, "free": map, "text": {"type": "string"}, "three": {"type": "integer", "default": 3},
            "none": {"type": "string", "nullable": true}}}}});
    define(&mut case, "nulls", "Null20", schema);
    let object = |spec: Value| json!({"apiVersion": "ex.io/v1", "kind": "Null20", "metadata": {"name": "x"}, "spec": spec});
    let place = case.place("/apis/ex.io/v1", "nulls", "x");
    let full = object(json!({"map": {"a": "1"}, "free": {"a": "1"}, "none": null, "three": null}));
    case.expect(201, &Request::apply(&place, "m1", full));
    let null = "must be of type object: \"null\"";
    case.refused(422, null, &Request::apply(&place, "m1", object(json!({"map": {}, "free": {"a": "1"}}))));
    case.refused(422, null, &Request::apply(&place, "m1", object(json!({"map": {"a": "1"}, "free": {}}))));
    let text = object(json!({"map": {"a": "1"}, "text": null}));
    case.refused(422, "must be of type string", &Request::apply(&place, "m1", text));
    case.expect(200, &Request::apply(&place, "m1", object(json!({"map": {"b": "1"}}))));
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn kinds_without_a_schema_have_lists_as_values() {
    let mut case = Case::new("apply-19");
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    define(&mut case, "frees", "Free19", schema);
    let object = json!({"apiVersion": "ex.io/v1", "kind": "Free19", "metadata": {"name": "x"},
        "list": [{"a": 1}], "map": {"in": {"x": 1}}});
    let place = case.place("/apis/ex.io/v1", "frees", "x");
    let made = case.expect(201, &Request::apply(place, "m1", object));
    let fields = owned(&made, "m1").unwrap();
    assert_eq!(fields["f:list"], json!({}), "{fields}");
}
