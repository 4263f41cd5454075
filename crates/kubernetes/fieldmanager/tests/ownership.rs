//! The cases that tell right from wrong, on a small kind of each sort; the answers were taken off kube-apiserver.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use podium_fieldmanager::FieldSet;
use podium_fieldmanager::managed::{self, Error, Filter, OneVersion, Scope};
use podium_schema::from_openapi;
use podium_schema::shape::{ShapeId, Shapes};
use serde_json::{Value, json};

struct Bench {
    shapes: Shapes,
    shape: ShapeId,
    live: Option<Value>,
    now: u32,
}

impl Bench {
    fn new() -> Self {
        let text = json!({"type": "string"});
        let texts = json!({"type": "object", "additionalProperties": text});
        let keyed = |keys: Value, properties: Value| {
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys,
                "items": {"type": "object", "properties": properties}})
        };
        let env = keyed(json!(["name"]), json!({"name": text, "value": text}));
        let ports = keyed(
            json!(["port", "protocol"]),
            json!({"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}}),
        );
        let owners = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
            "items": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"uid": text, "name": text}}});
        let metadata = json!({"type": "object", "properties": {
            "name": text, "namespace": text, "uid": text, "labels": texts, "annotations": texts, "ownerReferences": owners,
            "finalizers": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
            "managedFields": {"type": "array", "items": {"type": "object"}}}});
        let spec = json!({"type": "object", "properties": {"replicas": {"type": "integer"}, "ports": ports,
            "containers": keyed(json!(["name"]), json!({"name": text, "image": text, "env": env}))}});
        let thing = json!({"type": "object", "properties": {"apiVersion": text, "kind": text, "metadata": metadata,
            "data": texts, "spec": spec, "status": {"type": "object"}}});
        let mut shapes = Shapes::default();
        let names = from_openapi(&mut shapes, [&json!({"components": {"schemas": {"Thing": thing}}})]);
        Bench { shape: names["Thing"], shapes, live: None, now: 0 }
    }

    fn object(parts: Value) -> Value {
        let mut object =
            json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "t", "namespace": "n"}});
        for (key, value) in parts.as_object().unwrap() {
            if key == "metadata" {
                object["metadata"].as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
            } else {
                object[key] = value.clone();
            }
        }
        object
    }

    fn write(
        &mut self,
        subresource: &str,
        filter: Option<&Filter>,
        run: impl FnOnce(&Scope<'_>, Option<&Value>) -> Result<Value, Error>,
    ) -> Result<(), Error> {
        self.now += 1;
        let now = format!("2020-01-01T00:00:{:02}Z", self.now);
        let versions = OneVersion { version: "v1", shape: self.shape, filter };
        let scope = Scope {
            shapes: &self.shapes,
            versions: &versions,
            version: "v1",
            kind: "Thing",
            subresource,
            now: &now,
        };
        let mut object = run(&scope, self.live.as_ref())?;
        object["metadata"]["uid"] = json!("u");
        self.live = Some(object);
        Ok(())
    }

    fn apply(&mut self, manager: &str, parts: Value, force: bool) -> Result<(), Error> {
        let config = Self::object(parts);
        self.write("", None, |scope, live| {
            managed::apply(scope, live, &config, manager, force).map(|applied| applied.object)
        })
    }

    fn edit(&mut self, manager: &str, change: impl FnOnce(&mut Value)) {
        let mut new = self.live.clone().unwrap();
        change(&mut new);
        self.write("", None, |scope, live| managed::update(scope, live, new, manager)).unwrap();
    }

    /// `manager operation time fields`, one for each entry.
    fn owners(&self) -> Vec<String> {
        let entries =
            self.live.as_ref().unwrap().pointer("/metadata/managedFields").cloned().unwrap_or_default();
        let line = |entry: &Value| {
            let text = |key: &str| entry[key].as_str().unwrap_or("-").to_owned();
            let second = text("time").get(17..19).unwrap_or("-").to_owned();
            format!("{} {} {second} {}", text("manager"), text("operation"), entry["fieldsV1"])
        };
        entries.as_array().into_iter().flatten().map(line).collect()
    }

    fn part(&self, pointer: &str) -> Value {
        self.live.as_ref().unwrap().pointer(pointer).cloned().unwrap_or_default()
    }
}

#[test]
fn applying_twice_changes_nothing_and_keeps_the_time() {
    let mut bench = Bench::new();
    bench.apply("m1", json!({"data": {"a": "1", "b": "2"}}), false).unwrap();
    let first = bench.live.clone();
    bench.apply("m1", json!({"data": {"a": "1", "b": "2"}}), false).unwrap();
    assert_eq!(bench.live, first);
    assert_eq!(bench.owners(), [r#"m1 Apply 01 {"f:data":{"f:a":{},"f:b":{}}}"#]);
}

#[test]
fn another_value_conflicts_and_force_takes_the_field() {
    let mut bench = Bench::new();
    bench.apply("m1", json!({"data": {"a": "1"}}), false).unwrap();
    let Err(Error::Conflict(conflicts)) = bench.apply("m2", json!({"data": {"a": "2"}}), false) else {
        panic!()
    };
    assert_eq!(conflicts.to_string(), r#"Apply failed with 1 conflict: conflict with "m1": .data.a"#);
    let cause = &conflicts.causes()[0];
    assert_eq!((cause.message.as_str(), cause.field.as_str()), (r#"conflict with "m1""#, ".data.a"));
    bench.apply("m2", json!({"data": {"a": "2"}}), true).unwrap();
    assert_eq!(bench.owners(), [r#"m2 Apply 03 {"f:data":{"f:a":{}}}"#]);
}

#[test]
fn the_same_value_is_owned_by_both_and_stays_until_both_leave_it() {
    let mut bench = Bench::new();
    bench.apply("m1", json!({"data": {"a": "1", "b": "2"}}), false).unwrap();
    bench.apply("m2", json!({"data": {"a": "1", "c": "3"}}), false).unwrap();
    bench.apply("m1", json!({"data": {}}), false).unwrap();
    assert_eq!(bench.part("/data"), json!({"a": "1", "c": "3"}));
    assert_eq!(
        bench.owners(),
        [r#"m2 Apply 02 {"f:data":{"f:a":{},"f:c":{}}}"#, r#"m1 Apply 03 {"f:data":{}}"#]
    );
    bench.apply("m2", json!({}), false).unwrap();
    assert_eq!(bench.part("/data"), Value::Null);
}

#[test]
fn an_update_takes_what_it_changes_and_conflicts_tell_its_version() {
    let mut bench = Bench::new();
    bench.apply("m1", json!({"data": {"a": "1", "c": "3"}}), false).unwrap();
    bench.edit("curl", |object| object["data"] = json!({"a": "9", "c": "3", "z": "5"}));
    assert_eq!(
        bench.owners(),
        [r#"m1 Apply 01 {"f:data":{"f:c":{}}}"#, r#"curl Update 02 {"f:data":{"f:a":{},"f:z":{}}}"#]
    );
    let Err(Error::Conflict(conflicts)) =
        bench.apply("m5", json!({"data": {"a": "0", "c": "0", "z": "0"}}), false)
    else {
        panic!()
    };
    assert_eq!(
        conflicts.to_string(),
        "Apply failed with 3 conflicts: conflicts with \"curl\" using v1:\n- .data.a\n- .data.z\nconflicts with \"m1\":\n- .data.c"
    );
}

#[test]
fn forgotten_owners_come_back_as_before_first_apply() {
    for forget in [json!([{}]), json!([])] {
        let mut bench = Bench::new();
        bench.apply("m1", json!({"data": {"a": "1"}}), false).unwrap();
        bench.edit("curl", |object| object["metadata"]["managedFields"] = forget);
        assert_eq!(bench.owners(), Vec::<String>::new());
        let Err(Error::Conflict(conflicts)) = bench.apply("m5", json!({"data": {"a": "2"}}), false) else {
            panic!()
        };
        assert_eq!(
            conflicts.to_string(),
            r#"Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.a"#
        );
    }
}

#[test]
fn items_of_lists_have_owners_of_their_own() {
    let mut bench = Bench::new();
    let container = |name: &str, env: Value| json!({"spec": {"containers": [{"name": name, "env": env}]}});
    bench
        .apply("m1", container("c", json!([{"name": "A", "value": "1"}, {"name": "B", "value": "2"}])), false)
        .unwrap();
    bench.apply("m2", container("d", json!([{"name": "X"}])), false).unwrap();
    bench
        .apply(
            "m2",
            json!({"spec": {"containers": [{"name": "d"}, {"name": "c", "env": [{"name": "C"}]}]}}),
            false,
        )
        .unwrap();
    bench.apply("m1", container("c", json!([{"name": "A", "value": "1"}])), false).unwrap();
    assert_eq!(
        bench.part("/spec/containers"),
        json!([{"name": "d"}, {"name": "c", "env": [{"name": "A", "value": "1"}, {"name": "C"}]}])
    );
    let Err(Error::Conflict(conflicts)) =
        bench.apply("m3", container("c", json!([{"name": "A", "value": "0"}])), false)
    else {
        panic!()
    };
    assert_eq!(conflicts.causes()[0].field, r#".spec.containers[name="c"].env[name="A"].value"#);
}

#[test]
fn a_default_of_a_key_tells_items_apart() {
    let mut bench = Bench::new();
    bench
        .apply("m1", json!({"spec": {"ports": [{"port": 80}, {"port": 80, "protocol": "UDP"}]}}), false)
        .unwrap();
    assert_eq!(
        bench.owners(),
        [
            r#"m1 Apply 01 {"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}},"k:{\"port\":80,\"protocol\":\"UDP\"}":{".":{},"f:port":{},"f:protocol":{}}}}}"#
        ]
    );
    let refused =
        bench.apply("m1", json!({"spec": {"ports": [{"port": 80}, {"port": 80, "protocol": "TCP"}]}}), false);
    assert_eq!(
        refused.unwrap_err().to_string(),
        r#"failed to create typed patch object (n/t; /v1, Kind=Thing): .spec.ports: duplicate entries for key [port=80,protocol="TCP"]"#
    );
}

#[test]
fn finalizers_are_a_set_and_owner_references_are_whole() {
    let mut bench = Bench::new();
    let owner = json!([{"uid": "u1", "name": "o"}]);
    bench
        .apply("m1", json!({"metadata": {"finalizers": ["a", "b"], "ownerReferences": owner}}), false)
        .unwrap();
    bench.apply("m2", json!({"metadata": {"finalizers": ["b", "c"]}}), false).unwrap();
    assert_eq!(
        bench.owners()[0],
        r#"m1 Apply 01 {"f:metadata":{"f:finalizers":{"v:\"a\"":{},"v:\"b\"":{}},"f:ownerReferences":{"k:{\"uid\":\"u1\"}":{}}}}"#
    );
    bench.apply("m1", json!({"metadata": {"finalizers": []}}), false).unwrap();
    assert_eq!(bench.part("/metadata/finalizers"), json!(["b", "c"]));
    assert_eq!(bench.part("/metadata/ownerReferences"), Value::Null);
}

#[test]
fn a_part_of_the_address_has_owners_of_its_own_and_resets_fields() {
    let mut bench = Bench::new();
    bench.apply("m1", json!({"spec": {"replicas": 2}}), false).unwrap();
    let mut scaled = bench.live.clone().unwrap();
    scaled["spec"]["replicas"] = json!(5);
    bench.write("scale", None, |scope, live| managed::update(scope, live, scaled, "curl")).unwrap();
    let Err(Error::Conflict(conflicts)) = bench.apply("m1", json!({"spec": {"replicas": 2}}), false) else {
        panic!()
    };
    assert_eq!(
        conflicts.to_string(),
        r#"Apply failed with 1 conflict: conflict with "curl" with subresource "scale" using v1: .spec.replicas"#
    );
    bench.apply("m1", json!({}), false).unwrap();
    assert_eq!(bench.part("/spec/replicas"), json!(5));
    let reset = Filter::Except(FieldSet::of(&[&["spec"]]));
    let config = Bench::object(json!({"spec": {"replicas": 9}, "status": {"ready": true}}));
    bench
        .write("status", Some(&reset), |scope, live| {
            managed::apply(scope, live, &config, "m9", true).map(|a| a.object)
        })
        .unwrap();
    assert!(
        bench.owners().iter().any(|line| line.ends_with(r#"{"f:status":{"f:ready":{}}}"#)),
        "{:?}",
        bench.owners()
    );
}

#[test]
fn the_oldest_updates_are_joined() {
    let mut bench = Bench::new();
    bench.apply("m1", json!({"data": {"a": "1"}}), false).unwrap();
    for number in 0..12 {
        bench.edit(&format!("u{number}"), |object| object["data"][format!("k{number}")] = json!("x"));
    }
    let owners = bench.owners();
    assert_eq!(owners.len(), 11, "{owners:?}");
    assert_eq!(owners[1], r#"ancient-changes Update 04 {"f:data":{"f:k0":{},"f:k1":{},"f:k2":{}}}"#);
}

#[test]
fn kubectl_takes_over_what_it_applied_from_its_own_side() {
    const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
    let mut bench = Bench::new();
    let last = Bench::object(json!({"data": {"a": "1"}})).to_string();
    let object = Bench::object(json!({"data": {"a": "1"}, "metadata": {"annotations": {ANNOTATION: last}}}));
    bench
        .write("", None, |scope, live| managed::update(scope, live, object, "kubectl-client-side-apply"))
        .unwrap();
    assert!(bench.apply("other", json!({"data": {"a": "2"}}), false).is_err());
    bench.apply("kubectl", json!({"data": {"a": "2"}}), false).unwrap();
    let written = Bench::object(json!({"data": {"a": "2"}})).to_string() + "\n";
    assert_eq!(bench.part("/metadata/annotations")[ANNOTATION], json!(written));
}

#[test]
fn undeclared_fields_wrong_kinds_and_given_owners_are_refused() {
    let mut bench = Bench::new();
    let text = |result: Result<(), Error>| result.unwrap_err().to_string();
    let address = "failed to create typed patch object (n/t; /v1, Kind=Thing)";
    assert_eq!(
        text(bench.apply("m", json!({"dat": 1}), false)),
        format!("{address}: .dat: field not declared in schema")
    );
    assert_eq!(
        text(bench.apply("m", json!({"kind": "Other"}), false)),
        "invalid object type: /v1, Kind=Other"
    );
    assert_eq!(
        text(bench.apply("m", json!({"metadata": {"managedFields": []}}), false)),
        "metadata.managedFields must be nil"
    );
}

#[test]
fn a_write_that_only_changes_times_is_none() {
    let mut bench = Bench::new();
    bench.apply("m1", json!({"data": {"a": "1"}}), false).unwrap();
    let old = bench.live.clone().unwrap();
    let mut new = old.clone();
    new["metadata"]["managedFields"][0]["time"] = json!("2024-01-01T00:00:00Z");
    let mut other = new.clone();
    other["data"]["a"] = json!("2");
    managed::keep_times(&old, &mut new);
    assert_eq!(new, old);
    managed::keep_times(&old, &mut other);
    assert_eq!(other["metadata"]["managedFields"][0]["time"], json!("2024-01-01T00:00:00Z"));
}
