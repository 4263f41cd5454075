//! Kinds of random schemas, and objects of them.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::run::Runner;
use super::schema::Schema;
use super::seeds::Subject;
use super::sequence::Sequence;
use super::values::{Taste, value};
use super::wire::{self, Request};
use crate::random::Random;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// How long a definition may take until it is served.
const PATIENCE: Duration = Duration::from_secs(5);

/// Defines a kind, and plays with its objects.
pub fn sequence(runner: &mut Runner<'_>, random: &mut Random, number: usize) -> Result<(), wire::Error> {
    let mut definition = definition(random, number);
    let name = format!("things{number}.example.com");
    let title = "CustomResourceDefinition";
    // First some that are wrong.
    for _ in 0..3 {
        let mut wrong = definition.clone();
        spoil(random, &mut wrong);
        let request = Request::post(DEFINITIONS, wrong).with("dryRun", "All");
        runner.step(title, "create", &request)?;
    }
    let ([real, _], _) = runner.step(title, "create", &Request::post(DEFINITIONS, definition.clone()))?;
    if !real.is_good() {
        // The schema was too random: a plain one will do.
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        runner.step(title, "create", &Request::post(DEFINITIONS, definition.clone()))?;
    }
    let text = |path: &str| definition.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let schema = definition.pointer("/spec/versions/0/schema/openAPIV3Schema").cloned().unwrap_or_default();
    let mut subject = Subject {
        api_version: "example.com/v1".to_owned(),
        kind: text("/spec/names/kind"),
        plural: text("/spec/names/plural"),
        namespaced: text("/spec/scope") == "Namespaced",
        parts: Vec::new(),
        seed: Value::Null,
        schema: Some(schema.clone()),
    };
    let parts = definition.pointer("/spec/versions/0/subresources").and_then(Value::as_object);
    subject.parts = parts.into_iter().flatten().map(|(part, _)| part.clone()).collect();
    subject.seed = value(random, Schema::alone(&schema), "", Taste::Plain, 1);
    for (key, given) in [
        ("apiVersion", json!("example.com/v1")),
        ("kind", json!(subject.kind)),
        ("metadata", json!({"name": "x"})),
    ] {
        subject.seed[key] = given;
    }
    wait(runner, &Request::get(subject.collection("")), &Request::get(format!("{DEFINITIONS}/{name}")))?;
    runner.step(title, "get", &Request::get(format!("{DEFINITIONS}/{name}")))?;
    runner.step(title, "discovery", &Request::get("/apis/example.com"))?;
    runner.step(title, "discovery", &Request::get("/apis/example.com/v1"))?;
    let titled = Subject { kind: subject.kind.clone(), ..subject };
    Sequence::new(runner, &titled, number)?.run(random)?;
    end(runner, &titled, &name)
}

/// Waits until both servers have taken a definition in: the real one serves objects before it says so.
fn wait(runner: &mut Runner<'_>, objects: &Request, definition: &Request) -> Result<(), wire::Error> {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let served = runner.quietly(objects)?.iter().all(wire::Answer::is_good);
        if served && runner.quietly(definition)?.iter().all(established) {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Whether a definition says that it is established.
fn established(definition: &wire::Answer) -> bool {
    let definition = definition.value();
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|one| one["type"] == "Established" && one["status"] == "True")
}

/// Removes a definition from both servers. Its objects go first; what the real server then does itself is the work of
/// controllers in ours, which do not run here: their last step is done for them.
fn end(runner: &mut Runner<'_>, subject: &Subject, name: &str) -> Result<(), wire::Error> {
    let (all, definition) = (Request::get(subject.collection("")), format!("{DEFINITIONS}/{name}"));
    let [real, ours] =
        [&runner.pair.real(&all)?, &runner.pair.ours(&all)?].map(|answer| places(subject, answer));
    let free = |place: &String| {
        Request::patch(place, "application/merge-patch+json", json!({"metadata": {"finalizers": null}}))
    };
    for place in &real {
        runner.pair.real(&free(place))?;
        runner.pair.real(&Request::delete(place))?;
    }
    for place in &ours {
        runner.pair.ours(&free(place))?;
        runner.pair.ours(&Request::delete(place))?;
    }
    runner.quietly(&Request::delete(&definition))?;
    runner.pair.ours(&free(&definition))?;
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE && runner.quietly(&all)?.iter().any(wire::Answer::is_good) {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Where the objects of a list are.
fn places(subject: &Subject, list: &wire::Answer) -> Vec<String> {
    let list = list.value();
    let text = |item: &Value, key: &str| {
        item.pointer(&format!("/metadata/{key}")).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let items = list.get("items").and_then(Value::as_array).into_iter().flatten();
    items
        .map(|item| format!("{}/{}", subject.collection(&text(item, "namespace")), text(item, "name")))
        .collect()
}

fn definition(random: &mut Random, number: usize) -> Value {
    let kind = format!("Thing{number}");
    let mut version = json!({"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": root(random)}});
    if random.chance(60) {
        version["subresources"] = json!({"status": {}});
        if random.chance(50) {
            version["subresources"]["scale"] =
                json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"});
        }
    }
    if random.chance(50) {
        version["additionalPrinterColumns"] = json!([
            {"name": "Size", "type": random.pick(&["integer", "string", "boolean"]), "jsonPath": ".spec.a"},
            {"name": "Since", "type": "date", "jsonPath": ".metadata.creationTimestamp", "priority": 1},
        ]);
    }
    let mut names = json!({"plural": format!("things{number}"), "kind": kind});
    if random.chance(30) {
        names["shortNames"] = json!([format!("t{number}")]);
        names["categories"] = json!(["all"]);
    }
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things{number}.example.com")},
        "spec": {"group": "example.com", "scope": random.pick(&["Namespaced", "Namespaced", "Cluster"]),
            "names": names, "versions": versions(random, version)}})
}

/// Sometimes the same is served in another version too.
fn versions(random: &mut Random, version: Value) -> Value {
    if random.chance(80) {
        return json!([version]);
    }
    let mut other = version.clone();
    other["name"] = json!(random.pick(&["v2", "v1beta1"]));
    other["storage"] = json!(false);
    json!([version, other])
}

fn root(random: &mut Random) -> Value {
    let mut spec = object(random, 0);
    spec["properties"]["replicas"] = json!({"type": "integer", "format": "int32"});
    spec["properties"]["a"] = leaf(random);
    if random.chance(35) {
        spec["x-kubernetes-validations"] = json!([rule(random)]);
    }
    let status = json!({"type": "object", "properties": {"replicas": {"type": "integer"}, "phase": {"type": "string"}}});
    json!({"type": "object", "properties": {"spec": spec, "status": status}})
}

/// A rule in CEL about the specification, with what is said when it is broken.
fn rule(random: &mut Random) -> Value {
    let all = [
        json!({"rule": "!has(self.replicas) || self.replicas < 50", "message": "too many"}),
        json!({"rule": "!has(self.replicas) || self.replicas != 10", "messageExpression": "'not ' + string(self.replicas)",
            "fieldPath": ".replicas"}),
        json!({"rule": "!has(self.replicas) || !has(oldSelf.replicas) || self.replicas >= oldSelf.replicas",
            "message": "must not shrink", "reason": "FieldValueForbidden"}),
        json!({"rule": "has(self.a)", "reason": "FieldValueRequired", "fieldPath": ".a"}),
        json!({"rule": "!has(self.replicas) || self.replicas in [1, 2, 3, 5, 80]"}),
    ];
    all.get(random.below(all.len())).cloned().unwrap_or_default()
}

fn object(random: &mut Random, depth: usize) -> Value {
    let mut properties = Map::new();
    for key in ["b", "c", "d", "e"].iter().take(1 + random.below(4)) {
        properties.insert((*key).to_owned(), schema(random, depth + 1));
    }
    let mut out = json!({"type": "object", "properties": properties});
    if random.chance(25) {
        out["required"] = json!(["b"]);
    }
    if random.chance(12) {
        out["x-kubernetes-preserve-unknown-fields"] = json!(true);
    }
    if random.chance(10) && depth > 0 {
        out["x-kubernetes-map-type"] = json!(random.pick(&["atomic", "granular"]));
    }
    out
}

fn schema(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth < 3 { 9 } else { 5 }) {
        0..5 => leaf(random),
        5 => object(random, depth),
        6 => json!({"type": "object", "additionalProperties": leaf(random)}),
        7 => {
            let mut list = json!({"type": "array", "items": leaf(random)});
            match random.below(3) {
                0 => list["x-kubernetes-list-type"] = json!("set"),
                1 => list["x-kubernetes-list-type"] = json!("atomic"),
                _ => list["maxItems"] = json!(3),
            }
            if list["x-kubernetes-list-type"] == json!("set") {
                list["items"] = json!({"type": "string"});
            }
            list
        }
        _ => {
            let item = json!({"type": "object", "required": ["k"],
                "properties": {"k": {"type": "string"}, "v": leaf(random)}});
            json!({"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]})
        }
    }
}

fn leaf(random: &mut Random) -> Value {
    let all = [
        json!({"type": "string"}),
        json!({"type": "string", "enum": ["a", "b"]}),
        json!({"type": "string", "default": "dflt"}),
        json!({"type": "string", "maxLength": 5, "pattern": "^[a-z]*$"}),
        json!({"type": "string", "nullable": true}),
        json!({"type": "string", "format": "date-time"}),
        json!({"type": "integer", "minimum": 1, "maximum": 100}),
        json!({"type": "integer", "default": 3}),
        json!({"type": "integer", "format": "int64", "multipleOf": 2}),
        json!({"type": "boolean", "default": true}),
        json!({"type": "boolean"}),
        json!({"type": "number"}),
        json!({"x-kubernetes-int-or-string": true}),
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        json!({"type": "string", "format": "duration"}),
        json!({"type": "string", "format": "ipv4"}),
        json!({"type": "string", "format": "byte"}),
        json!({"type": "string", "format": "date", "nullable": true}),
        json!({"type": "string", "minLength": 2}),
        json!({"type": "integer", "enum": [1, 2, 3, 80]}),
        json!({"type": "integer", "minimum": 1, "exclusiveMinimum": true}),
        json!({"type": "number", "minimum": 0.5, "multipleOf": 0.25}),
        json!({"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 1}),
        json!({"type": "string", "anyOf": [{"maxLength": 1}, {"pattern": "^h"}]}),
    ];
    all.get(random.below(all.len())).cloned().unwrap_or_default()
}

/// Makes a definition wrong, or at least another one.
fn spoil(random: &mut Random, definition: &mut Value) {
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    let changes: &[(&str, Value)] = &[
        ("/metadata/name", json!("other.example.com")),
        ("/spec/group", json!("Example_com")),
        ("/spec/group", json!("")),
        ("/spec/scope", json!("Everywhere")),
        ("/spec/names/kind", json!("")),
        ("/spec/names/kind", json!("thing 1")),
        ("/spec/names/plural", json!("Things")),
        ("/spec/names/singular", json!("Sing")),
        ("/spec/names/shortNames", json!(["A B"])),
        ("/spec/versions", json!([])),
        ("/spec/versions/0/storage", json!(false)),
        ("/spec/versions/0/name", json!("V1")),
        ("/spec/versions/0/schema", Value::Null),
        ("/spec/versions/0/schema/openAPIV3Schema/type", json!("string")),
        (
            "/spec/versions/0/subresources",
            json!({"scale": {"specReplicasPath": "x", "statusReplicasPath": ".status.r"}}),
        ),
        ("/spec/versions/0/additionalPrinterColumns", json!([{"name": "A", "type": "foo", "jsonPath": "x"}])),
        ("/spec/conversion", json!({"strategy": "Webhook"})),
        ("/spec/preserveUnknownFields", json!(true)),
        ("/spec/unknownField", json!(1)),
        (&format!("{spec}/properties/a"), json!({})),
        (&format!("{spec}/properties/a"), json!({"type": "wrong"})),
        (&format!("{spec}/properties/a"), json!({"type": "array"})),
        (&format!("{spec}/properties/a"), json!({"type": "string", "default": 5})),
        (
            &format!("{spec}/properties/a"),
            json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "map"}),
        ),
        (
            &format!("{spec}/properties/a"),
            json!({"type": "object", "properties": {}, "additionalProperties": false}),
        ),
        (&format!("{spec}/properties/a"), json!({"type": "string", "uniqueItems": true})),
        (&format!("{spec}/properties/a"), json!({"$ref": "#/x"})),
        (&format!("{spec}/x-kubernetes-validations"), json!([{"rule": "self.nope > 1"}])),
        (&format!("{spec}/x-kubernetes-validations"), json!([{"rule": "self.replicas >"}])),
        (&format!("{spec}/x-kubernetes-validations"), json!([{"rule": "self.replicas > 1", "message": ""}])),
    ];
    let Some((path, new)) = changes.get(random.below(changes.len())) else { return };
    let Some((parent, key)) = path.rsplit_once('/') else { return };
    match definition.pointer_mut(parent) {
        Some(Value::Array(list)) => {
            if let Some(place) = key.parse::<usize>().ok().and_then(|at| list.get_mut(at)) {
                *place = new.clone();
            }
        }
        Some(Value::Object(object)) => drop(object.insert(key.to_owned(), new.clone())),
        _ => {}
    }
}
