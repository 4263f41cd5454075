//! Input that is made to hurt: deep, long, or both.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::time::{Duration, Instant};

use podium_fieldmanager::managed::{self, OneVersion, Scope};
use podium_fieldmanager::{FieldSet, patch};
use podium_schema::from_openapi;
use podium_schema::shape::{Shape, ShapeId, Shapes};
use serde_json::{Map, Value, json};

/// Long enough for a slow machine without optimisation, and short of anything that grows with the square.
const PATIENCE: Duration = Duration::from_secs(20);

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |value, _| json!({"a": value}))
}

fn apply(shapes: &Shapes, shape: ShapeId, live: &Value, config: &Value) -> Result<Value, managed::Error> {
    let versions = OneVersion { version: "v1", shape, filter: None };
    let scope = Scope {
        shapes,
        versions: &versions,
        version: "v1",
        kind: "K",
        subresource: "",
        now: "2020-01-01T00:00:00Z",
    };
    managed::apply(&scope, Some(live), config, "m", true).map(|applied| applied.object)
}

#[test]
fn deep_values_and_sets_are_refused() {
    let mut shapes = Shapes::default();
    let shape = shapes.add(Shape::Anything);
    let object = |spec: Value| json!({"apiVersion": "v1", "kind": "K", "spec": spec});
    assert!(apply(&shapes, shape, &object(json!(1)), &object(nested(120))).is_ok());
    let error = apply(&shapes, shape, &object(json!(1)), &object(nested(400))).unwrap_err();
    assert!(error.to_string().ends_with("value is nested too deeply"), "{error}");
    let set = (0..400).fold(json!({}), |set, _| json!({"f:a": set}));
    assert!(FieldSet::read(&set).is_err());
}

#[test]
fn a_patch_cannot_dig() {
    let add: Vec<Value> =
        (0..2000).map(|depth| json!({"op": "add", "path": "/a".repeat(depth + 1), "value": {}})).collect();
    assert_eq!(patch::json(json!({}), &json!(add)), Err(patch::JsonError::TooDeep));
    let copy: Vec<Value> = (0..400).map(|_| json!({"op": "copy", "from": "/a", "path": "/a/a"})).collect();
    let refused = patch::json(json!({"a": {"b": "x"}}), &json!(copy)).unwrap_err();
    assert!(
        refused == patch::JsonError::TooDeep
            || refused.to_string().starts_with("Unable to complete the copy")
    );
    let moved: Vec<Value> = (0..9000)
        .flat_map(|_| {
            [
                json!({"op": "add", "path": "/b", "value": {}}),
                json!({"op": "move", "from": "/a", "path": "/b/a"}),
                json!({"op": "move", "from": "/b", "path": "/a"}),
            ]
        })
        .take(9000)
        .collect();
    assert_eq!(patch::json(json!({"a": {}}), &json!(moved)), Err(patch::JsonError::TooDeep));
}

#[test]
fn a_patch_cannot_grow_what_it_copies() {
    let text = "x".repeat(1_000_000);
    let copy: Vec<Value> =
        (0..4).map(|at| json!({"op": "copy", "from": "/a", "path": format!("/b{at}")})).collect();
    assert_eq!(
        patch::json(json!({"a": text}), &json!(copy)).unwrap_err().to_string(),
        "Unable to complete the copy, the accumulated size increase of copy is 4000008, exceeding the limit 3145728"
    );
    let many: Vec<Value> = (0..10_001).map(|_| json!({"op": "test", "path": "/a"})).collect();
    assert_eq!(
        patch::json(json!({}), &json!(many)).unwrap_err().to_string(),
        "The allowed maximum operations in a JSON patch is 10000, got 10001"
    );
}

#[test]
fn long_lists_take_no_square_of_time() {
    let text = json!({"type": "string"});
    let list = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name",
        "items": {"type": "object", "properties": {"name": text, "v": text}}});
    let kind = json!({"type": "object", "properties": {"apiVersion": text, "kind": text, "list": list, "metadata": {"type": "object"},
        "set": {"type": "array", "items": text, "x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge"}}});
    let mut shapes = Shapes::default();
    let names = from_openapi(&mut shapes, [&json!({"components": {"schemas": {"K": kind}}})]);
    let shape = names["K"];
    let items = |from: usize| -> Vec<Value> {
        (from..from + 6_000).rev().map(|n| json!({"name": n.to_string(), "v": "x"})).collect()
    };
    let texts = |from: usize| -> Vec<String> { (from..from + 6_000).map(|n| n.to_string()).collect() };
    let object =
        |from: usize| json!({"apiVersion": "v1", "kind": "K", "list": items(from), "set": texts(from)});
    let begin = Instant::now();
    let applied = apply(&shapes, shape, &object(0), &object(3_000)).unwrap();
    assert_eq!(applied["list"].as_array().unwrap().len(), 9_000);
    let again = apply(&shapes, shape, &applied, &object(6_000)).unwrap();
    assert_eq!(again["set"].as_array().unwrap().len(), 12_000);
    let map = |value: Value| value.as_object().cloned().unwrap();
    let mut given = map(object(3_000));
    let deletes: Vec<Value> =
        (0..3_000).map(|n| json!({"name": n.to_string(), "$patch": "delete"})).collect();
    given["list"].as_array_mut().unwrap().extend(deletes);
    let order: Vec<Value> = items(3_000).into_iter().map(|item| json!({"name": item["name"]})).collect();
    given.insert("$setElementOrder/list".to_owned(), json!(order));
    let patched = patch::strategic(&shapes, shape, &|_| None, map(object(0)), given).unwrap();
    assert_eq!(patched["list"].as_array().unwrap().len(), 6_000);
    let ports: Map<String, Value> = (0..50_000).map(|n| (format!("k:{{\"port\":{n}}}"), json!({}))).collect();
    let set = Value::Object(ports);
    assert_eq!(FieldSet::read(&set).unwrap().to_value(), set);
    assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
}
