//! Chains of writes by several managers.

use std::collections::{BTreeMap, BTreeSet};

use podium_fieldmanager::managed::{self, Filter, OneVersion, Scope, Versions};
use podium_fieldmanager::{FieldSet, typed};
use podium_schema::shape::{ShapeId, Shapes};
use podium_schema::{from_openapi, from_structural};
use serde_json::{Map, Value, json};

use crate::probe::{Answer, Probe};
use crate::random::{Maker, Random};
use crate::world::{NOW, written};

const KINDS: [(&str, &str, &str); 13] = [
    ("apps/v1", "Deployment", "io.k8s.api.apps.v1.Deployment"),
    ("v1", "Service", "io.k8s.api.core.v1.Service"),
    ("v1", "Pod", "io.k8s.api.core.v1.Pod"),
    ("v1", "ConfigMap", "io.k8s.api.core.v1.ConfigMap"),
    ("batch/v1", "Job", "io.k8s.api.batch.v1.Job"),
    ("apps/v1", "StatefulSet", "io.k8s.api.apps.v1.StatefulSet"),
    ("v1", "PersistentVolume", "io.k8s.api.core.v1.PersistentVolume"),
    ("networking.k8s.io/v1", "Ingress", "io.k8s.api.networking.v1.Ingress"),
    ("autoscaling/v2", "HorizontalPodAutoscaler", "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", "io.k8s.api.rbac.v1.ClusterRole"),
    ("v1", "Node", "io.k8s.api.core.v1.Node"),
    ("apps/v1", "ControllerRevision", "io.k8s.api.apps.v1.ControllerRevision"),
    ("v1", "Secret", "io.k8s.api.core.v1.Secret"),
];

/// How the originals answered, to see that the cases are of all sorts.
pub static SORTS: std::sync::Mutex<BTreeMap<String, usize>> = std::sync::Mutex::new(BTreeMap::new());

fn count(answer: &Answer) {
    let sort = match answer {
        Answer::Out(_) => "written".to_owned(),
        Answer::Errors(texts) => {
            let first = texts[0].lines().next().unwrap_or_default();
            let end = first.rsplit(": ").next().unwrap_or_default();
            let begin: String = first.chars().take(24).collect();
            format!("{begin} … {}", end.chars().take(24).collect::<String>())
        }
    };
    *SORTS.lock().unwrap().entry(sort).or_default() += 1;
}

/// The circumstances of a chain of writes.
pub struct Case<'a> {
    pub shapes: &'a Shapes,
    pub versions: &'a dyn Versions,
    pub types: String,
    /// Those of which requests are; the first is that of stored objects.
    pub named: Vec<String>,
    pub kind: String,
}

/// Compares; the answer of the original is the new state, if it is one.
fn compare(request: &Value, ours: Result<Value, String>, theirs: Answer) -> Result<Option<Value>, String> {
    // Where several things are wrong, the original tells some of them, in any order.
    let any_order = |texts: &[String]| {
        let known = ["schema", "expected", "element", "duplicate"];
        texts.len() > 1 && texts.iter().all(|text| known.iter().any(|word| text.contains(word)))
    };
    match (ours, theirs) {
        (Ok(ours), Answer::Out(out)) if ours == out => Ok(Some(out)),
        (Err(text), Answer::Errors(texts)) if texts.contains(&text) || any_order(&texts) => Ok(None),
        (Ok(ours), Answer::Out(out)) => Err(format!("{request}\nours   {ours}\ntheirs {out}")),
        (ours, theirs) => Err(format!("{request}\nours   {ours:?}\ntheirs {theirs:?}")),
    }
}

/// The object that a write left, as it is stored: its time is that of a step.
pub fn stored(out: &Value, step: usize) -> Value {
    let mut object = out["object"].clone();
    let entry = |entry: &Value| {
        let mut map = Map::new();
        for (at, key) in ["manager", "operation", "apiVersion", "time", "subresource"].into_iter().enumerate()
        {
            let text = entry[at].as_str().unwrap_or_default();
            if text == "now" {
                map.insert(key.to_owned(), json!(format!("2020-01-01T00:00:{step:02}Z")));
            } else if !text.is_empty() {
                map.insert(key.to_owned(), json!(text));
            }
        }
        map.insert("fieldsType".to_owned(), json!("FieldsV1"));
        map.insert("fieldsV1".to_owned(), serde_json::from_str(entry[5].as_str().unwrap()).unwrap());
        Value::Object(map)
    };
    let entries: Vec<Value> = out["managers"].as_array().into_iter().flatten().map(entry).collect();
    if !entries.is_empty() {
        object["metadata"]["managedFields"] = Value::Array(entries);
    }
    object["metadata"]["uid"] = json!("u1");
    object
}

/// Sometimes an entry is of a version that there is no more.
fn age(maker: &mut Maker<'_>, object: &mut Value) {
    let entries = object.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut);
    if let Some(entries) = entries.filter(|_| maker.random.chance(3)) {
        let at = maker.random.below(entries.len());
        entries[at]["apiVersion"] = json!("ex.io/v0");
    }
}

fn dress(case: &Case<'_>, version: &str, value: &mut Value) {
    if !value.is_object() {
        *value = json!({});
    }
    value["apiVersion"] = json!(version);
    value["kind"] = json!(case.kind);
    if !value["metadata"].is_object() {
        value["metadata"] = json!({});
    }
    value["metadata"]["name"] = json!("n");
    value["metadata"]["namespace"] = json!("ns");
    for key in ["managedFields", "uid", "ownerReferences/"] {
        value["metadata"].as_object_mut().unwrap().remove(key);
    }
}

/// One chain of writes. Gives how many were compared.
pub fn chain(
    probe: &mut Probe,
    case: &Case<'_>,
    maker: &mut Maker<'_>,
    steps: usize,
) -> Result<usize, String> {
    let mut live: Option<Value> = None;
    let mut configs: BTreeMap<String, Value> = BTreeMap::new();
    for step in 0..steps {
        let version = maker.random.pick(&case.named).as_str();
        let shape = case.shapes.get(case.versions.shape(version).unwrap()).clone();
        if let Some(object) = &mut live {
            *object = managed::renamed(object, version);
        }
        let manager = (*maker.random.pick(&["m1", "m2", "kubectl", "m<3", ""])).to_owned();
        let manager = if maker.random.chance(30) { format!("u{}", maker.random.below(14)) } else { manager };
        let scope = Scope {
            shapes: case.shapes,
            versions: case.versions,
            version,
            kind: &case.kind,
            subresource: if maker.random.chance(10) { "scale" } else { "" },
            now: NOW,
        };
        let mut request = json!({
            "op": "apply", "types": case.types, "apiVersion": version, "kind": case.kind, "manager": manager,
            "subresource": scope.subresource,
        });
        if let Some(live) = &live {
            request["live"] = live.clone();
        }
        let filter = case.versions.filter(version);
        match filter {
            Some(Filter::Except(_)) => request["reset"] = json!([["status"], ["metadata", "labels"]]),
            Some(Filter::Only(_)) => {
                request["only"] =
                    json!([["spec", "template", "*", "containers"], ["metadata"], ["data", "*"]])
            }
            None => {}
        }
        let verdict = if maker.random.chance(55) {
            let mut config = match configs.get(&manager) {
                Some(config) if maker.random.chance(75) => config.clone(),
                _ if maker.random.chance(30) => {
                    let mut config = live.clone().unwrap_or_else(|| json!({}));
                    dress(case, version, &mut config);
                    config
                }
                _ => maker.value(&shape, 6),
            };
            if maker.random.chance(80) {
                maker.change(&shape, &mut config, 7);
            }
            dress(case, version, &mut config);
            if maker.random.chance(10) && config["metadata"]["annotations"].is_object() {
                config["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] =
                    json!("x");
            }
            if maker.random.chance(1) {
                config["kind"] = json!("Other");
            }
            if maker.random.chance(1) {
                config["metadata"]["managedFields"] = json!([]);
            }
            let force = maker.random.chance(40);
            request["config"] = config.clone();
            request["force"] = json!(force);
            let result =
                managed::apply(&scope, live.as_ref(), &config, &manager, force).map(|applied| applied.object);
            configs.insert(manager.clone(), config);
            written(result)
        } else {
            let mut new = live.clone().unwrap_or_else(|| json!({}));
            let entries = new.pointer("/metadata/managedFields").cloned();
            let times = maker.random.below(4);
            for _ in 0..times {
                maker.change(&shape, &mut new, 7);
            }
            dress(case, version, &mut new);
            if live.is_some() {
                new["metadata"]["uid"] = json!("u1");
            }
            match (maker.random.below(12), entries) {
                (0, _) => new["metadata"]["managedFields"] = json!([{}]),
                (1, _) => new["metadata"]["managedFields"] = json!([]),
                (2, _) => {}
                (3, Some(Value::Array(mut entries))) => {
                    let at = maker.random.below(entries.len());
                    entries.remove(at);
                    new["metadata"]["managedFields"] = Value::Array(entries);
                }
                (4, _) => {
                    new["metadata"]["managedFields"] = json!([{"manager": "bad", "operation": "Update"}])
                }
                (_, Some(entries)) => new["metadata"]["managedFields"] = entries,
                (_, None) => {}
            }
            if maker.random.chance(15) {
                let mut last = configs.get(&manager).cloned().unwrap_or_else(|| json!({}));
                dress(case, version, &mut last);
                if !new["metadata"]["annotations"].is_object() {
                    new["metadata"]["annotations"] = json!({});
                }
                new["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] =
                    json!(last.to_string());
            }
            request["op"] = json!("update");
            request["new"] = new.clone();
            written(managed::update(&scope, live.as_ref(), new, &manager))
        };
        let theirs = probe.ask(&request);
        count(&theirs);
        if let Some(out) = compare(&request, verdict, theirs)? {
            let mut object = stored(&out, step);
            age(maker, &mut object);
            live = Some(object);
        }
    }
    Ok(steps)
}

#[test]
#[ignore = "needs the original: make tools"]
fn writes_of_built_in_kinds() {
    let mut probe = Probe::start();
    let document = probe.schemas();
    let mut shapes = Shapes::default();
    let names = from_openapi(&mut shapes, [&document]);
    let mut compared = 0;
    let except = Filter::Except(FieldSet::of(&[&["status"], &["metadata", "labels"]]));
    let part = |text: &str| Some(text.to_owned());
    let only = Filter::Only(vec![
        vec![part("spec"), part("template"), None, part("containers")],
        vec![part("metadata")],
        vec![part("data"), None],
    ]);
    for index in 0..crate::cases() {
        let (version, kind, name) = KINDS[index as usize % KINDS.len()];
        let mut random = Random(crate::seed().wrapping_mul(1_000_003).wrapping_add(index));
        let filter = match random.below(8) {
            0 => Some(&except),
            1 => Some(&only),
            _ => None,
        };
        let versions = OneVersion { version, shape: names[name], filter };
        let case = Case {
            shapes: &shapes,
            versions: &versions,
            types: String::new(),
            named: vec![version.to_owned()],
            kind: kind.to_owned(),
        };
        let odd = if random.chance(25) { 30 } else { 0 };
        let mut maker = Maker { shapes: &shapes, random, odd };
        match chain(&mut probe, &case, &mut maker, 12) {
            Ok(count) => compared += count,
            Err(difference) => panic!("case {index}, {kind}:\n{difference}"),
        }
    }
    eprintln!("writes of built-in kinds: {compared} compared: {:#?}", SORTS.lock().unwrap());
}

/// A set of some fields of an object, and of some that it does not have.
fn some(random: &mut Random, set: &Value) -> Value {
    let mut out = Map::new();
    for (key, below) in set.as_object().into_iter().flatten() {
        match random.below(5) {
            0 => {}
            1 => drop(out.insert(key.clone(), json!({}))),
            2 => drop(out.insert(
                (*random.pick(&["f:a", "f:spec", "k:{\"name\":\"a\"}"])).to_owned(),
                some(random, below),
            )),
            _ => drop(out.insert(key.clone(), some(random, below))),
        }
    }
    Value::Object(out)
}

#[test]
#[ignore = "needs the original: make tools"]
fn fields_and_items() {
    let mut probe = Probe::start();
    let document = probe.schemas();
    let mut shapes = Shapes::default();
    let names = from_openapi(&mut shapes, [&document]);
    let mut compared = 0;
    for index in 0..crate::cases() * 10 {
        let (version, kind, name) = KINDS[index as usize % KINDS.len()];
        let shape = shapes.get(names[name]).clone();
        let mut maker = Maker {
            shapes: &shapes,
            random: Random(crate::seed().wrapping_mul(13_000_027).wrapping_add(index)),
            odd: (index as usize % 4) * 5,
        };
        let mut live = maker.value(&shape, 7);
        let mut new = live.clone();
        for _ in 0..3 {
            maker.change(&shape, &mut new, 8);
        }
        for value in [&mut live, &mut new] {
            if !value.is_object() {
                *value = json!({});
            }
            value["apiVersion"] = json!(version);
            value["kind"] = json!(kind);
        }
        let check =
            |value: &Value| typed::validate(&shapes, &shape, value, typed::Duplicates::Allowed).is_err();
        let fields = typed::fields(&shapes, &shape, &live);
        let given = some(&mut maker.random, &fields.to_value());
        let request = json!({"op": "items", "live": live, "new": new, "b": given.to_string()});
        let theirs = probe.ask(&request);
        if check(&live) || check(&new) {
            assert!(matches!(theirs, Answer::Errors(_)), "case {index}: {request}: {theirs:?}");
            continue;
        }
        let set = FieldSet::read(&given).unwrap();
        let changes = typed::compare(&shapes, &shape, &live, &new);
        let mut without = live.clone();
        typed::remove(&shapes, &shape, &mut without, &set);
        let ours = json!({
            "fields": fields.to_json(), "named": set.with_named(&shapes, &shape).to_json(),
            "added": changes.added.to_json(), "removed": changes.removed.to_json(), "modified": changes.modified.to_json(),
            "extract": typed::extract(&shapes, &shape, &live, &set.leaves()), "remove": without,
        });
        assert_eq!(Answer::Out(ours), theirs, "case {index}: {request}");
        compared += 1;
    }
    eprintln!("fields and items: {compared} compared");
}

#[test]
#[ignore = "needs the original: make tools"]
fn owners_of_a_scale() {
    let mut probe = Probe::start();
    let path = vec!["spec".to_owned(), "replicas".to_owned()];
    let paths = BTreeMap::from([("apps/v1".to_owned(), path), ("apps/v2".to_owned(), Vec::new())]);
    for index in 0..crate::cases() * 5 {
        let mut random = Random(crate::seed().wrapping_mul(17_000_023).wrapping_add(index));
        let mut entries = |versions: &[&str], fields: &[&str]| -> Value {
            let count = random.below(5);
            let mut entry = || {
                let fields: Map<String, Value> =
                    (0..2).map(|_| ((*random.pick(fields)).to_owned(), json!({}))).collect();
                let mut entry = json!({
                    "manager": *random.pick(&["a", "b"]), "operation": *random.pick(&["Apply", "Update"]),
                    "apiVersion": *random.pick(versions), "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": fields},
                });
                if random.chance(70) {
                    entry["time"] = json!(format!("2020-01-01T00:00:0{}Z", random.below(3)));
                }
                if random.chance(30) {
                    entry["subresource"] = json!("scale");
                }
                entry
            };
            (0..count).map(|_| entry()).collect()
        };
        let live = entries(&["apps/v1", "apps/v1", "apps/v2", "apps/v3"], &["f:replicas", "f:paused"]);
        let given = entries(&["autoscaling/v1"], &["f:replicas", "f:replicas", "f:other"]);
        let object = |entries: &Value| json!({"metadata": {"managedFields": entries}});
        let request =
            json!({"op": "scale", "apiVersion": "apps/v1", "live": object(&live), "new": object(&given)});
        let there = managed::scale::to_scale(&live, &paths).unwrap();
        let back = managed::scale::from_scale(&live, &given, "apps/v1", &paths).unwrap();
        // Entries that differ by nothing that is sorted by are in any order.
        let lines = |entries: &Value| -> BTreeSet<String> {
            entries.as_array().into_iter().flatten().map(Value::to_string).collect()
        };
        let Answer::Out(theirs) = probe.ask(&request) else { panic!("case {index}: {request}") };
        assert_eq!(
            [lines(&there), lines(&back)],
            [lines(&theirs[0]), lines(&theirs[1])],
            "case {index}: {request}"
        );
    }
    eprintln!("owners of a scale: {} compared", crate::cases() * 5);
}

/// A random structural schema.
fn schema(random: &mut Random, depth: usize) -> Value {
    let leaf = depth == 0;
    match random.below(if leaf { 7 } else { 13 }) {
        0 | 1 => json!({"type": "string"}),
        2 => json!({"type": "integer"}),
        3 => json!({"type": "boolean"}),
        4 => json!({"type": "string", "format": "date"}),
        5 => json!({"x-kubernetes-int-or-string": true}),
        6 => json!({"type": "number"}),
        7 => json!({"type": "array", "items": schema(random, depth - 1)}),
        8 => {
            json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": *random.pick(&["string", "integer"])}})
        }
        9 => {
            let mut item = object(random, depth - 1);
            item["properties"]["name"] = json!({"type": "string"});
            item["properties"]["port"] = json!({"type": "integer", "default": 1});
            let keys = if random.chance(50) { json!(["name"]) } else { json!(["port", "name"]) };
            item["required"] = json!(["name"]);
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, "items": item})
        }
        10 => json!({"type": "object", "additionalProperties": schema(random, depth - 1)}),
        11 if random.chance(50) => json!({"x-kubernetes-preserve-unknown-fields": true}),
        _ => object(random, depth - 1),
    }
}

fn object(random: &mut Random, depth: usize) -> Value {
    let mut properties = Map::new();
    let count = random.below(5);
    for _ in 0..count {
        properties.insert((*random.pick(&["a", "b", "c", "d", "e"])).to_owned(), schema(random, depth));
    }
    let mut out = json!({"type": "object", "properties": properties});
    if random.chance(15) {
        out["x-kubernetes-map-type"] = json!(*random.pick(&["atomic", "granular"]));
    }
    if random.chance(15) {
        out["x-kubernetes-preserve-unknown-fields"] = json!(true);
    }
    if random.chance(10) {
        out["x-kubernetes-preserve-unknown-fields"] = json!(true);
        out["x-kubernetes-embedded-resource"] = json!(true);
    }
    out
}

struct Custom {
    known: BTreeMap<String, ShapeId>,
}

impl Versions for Custom {
    fn shape(&self, version: &str) -> Option<ShapeId> {
        self.known.get(version).copied()
    }

    fn convert(&self, object: &Value, version: &str) -> Result<Value, String> {
        Ok(managed::renamed(object, version))
    }
}

#[test]
#[ignore = "needs the original: make tools"]
fn writes_of_custom_kinds_in_two_versions() {
    let mut probe = Probe::start();
    let document = probe.schemas();
    let mut compared = 0;
    let (mut built, mut skipped) = (0, 0);
    let mut base = Shapes::default();
    let names = from_openapi(&mut base, [&document]);
    for index in 0..crate::cases() {
        let mut random = Random(crate::seed().wrapping_mul(7_000_003).wrapping_add(index));
        let first = object(&mut random, 4);
        let second = if random.chance(50) { first.clone() } else { object(&mut random, 4) };
        let mut shapes = base.clone();
        let metadata = names["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"];
        let mut known = BTreeMap::new();
        let mut versions = Vec::new();
        for (name, spec) in [("v1", first), ("v2", second)] {
            let root = json!({"type": "object", "properties": {"spec": spec, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
            known.insert(format!("ex.io/{name}"), from_structural(&mut shapes, &root, metadata));
            versions.push(json!({"name": name, "served": true, "storage": name == "v1", "schema": {"openAPIV3Schema": root}}));
        }
        let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "foos.ex.io"},
            "spec": {"group": "ex.io", "scope": "Namespaced", "names": {"kind": "Foo", "plural": "foos", "listKind": "FooList", "singular": "foo"}, "versions": versions}});
        if let Answer::Errors(_) = probe.ask(&json!({"op": "crd", "types": "one", "crd": crd})) {
            skipped += 1;
            continue;
        }
        built += 1;
        let custom = Custom { known };
        for run in 0..3 {
            let case = Case {
                shapes: &shapes,
                versions: &custom,
                types: "one".to_owned(),
                named: vec!["ex.io/v1".to_owned(), "ex.io/v2".to_owned()],
                kind: "Foo".to_owned(),
            };
            let odd = if run == 0 { 30 } else { 0 };
            let mut maker = Maker { shapes: &shapes, random: Random(random.word()), odd };
            match chain(&mut probe, &case, &mut maker, 10) {
                Ok(count) => compared += count,
                Err(difference) => panic!("case {index} of {crd}:\n{difference}"),
            }
        }
    }
    eprintln!("writes of custom kinds: {built} definitions ({skipped} refused), {compared} compared");
}
