//! Patches and field sets.

use std::collections::BTreeMap;

use podium_fieldmanager::patch;
use podium_schema::from_openapi;
use podium_schema::shape::{Merge, Shape, ShapeId, Shapes};
use serde_json::{Map, Value, json};

use crate::probe::{Answer, Probe};
use crate::random::{Maker, Random};
use crate::world::World;

const KINDS: [(&str, &str, &str); 6] = [
    ("apps/v1", "Deployment", "io.k8s.api.apps.v1.Deployment"),
    ("v1", "Service", "io.k8s.api.core.v1.Service"),
    ("v1", "Pod", "io.k8s.api.core.v1.Pod"),
    ("v1", "ConfigMap", "io.k8s.api.core.v1.ConfigMap"),
    ("policy/v1", "PodDisruptionBudget", "io.k8s.api.policy.v1.PodDisruptionBudget"),
    ("v1", "ServiceAccount", "io.k8s.api.core.v1.ServiceAccount"),
];

fn agree(probe: &mut Probe, request: &Value, ours: &Result<Value, String>) -> Result<(), String> {
    let theirs = probe.ask(request);
    let same = match (ours, &theirs) {
        (Ok(ours), Answer::Out(out)) => ours == out,
        (Err(text), Answer::Errors(texts)) => texts.contains(text),
        _ => false,
    };
    if same { Ok(()) } else { Err(format!("{request}\nours   {ours:?}\ntheirs {theirs:?}")) }
}

/// As [`agree`], where the original has several answers because it goes through maps in any order.
fn agree_once(probe: &mut Probe, mut request: Value, ours: &Result<Value, String>) -> Result<(), String> {
    request["all"] = json!(true);
    let theirs = probe.ask_all(&request);
    let has = |key: &str, what: &Value| theirs[key].as_array().is_some_and(|all| all.contains(what));
    let same = match ours {
        Ok(ours) => has("outs", ours),
        Err(text) => has("errors", &json!(text)),
    };
    if same { Ok(()) } else { Err(format!("{request}\nours   {ours:?}\ntheirs {theirs}")) }
}

/// Gives the items of merged lists their keys.
fn complete(maker: &mut Maker<'_>, id: ShapeId, value: &mut Value) {
    let (Shape::Object(object), Value::Object(map)) = (maker.shapes.get(id).clone(), value) else { return };
    for (name, value) in map {
        let Some(field) = object.field(name) else { continue };
        match (maker.shapes.get(field.shape).clone(), value) {
            (Shape::List(list), Value::Array(items)) => {
                for item in items {
                    complete(maker, list.items, item);
                    let (Some(key), Value::Object(item)) = (&field.patch.key, item) else { continue };
                    if !item.contains_key(key) && maker.random.chance(97) {
                        item.insert(key.clone(), json!(*maker.random.pick(&["a", "b", "c", "d", "e"])));
                    }
                }
            }
            (Shape::Object(_), value) => complete(maker, field.shape, value),
            _ => {}
        }
    }
}

/// Puts directives into a patch.
fn direct(maker: &mut Maker<'_>, id: ShapeId, live: &Value, patch: &mut Value, depth: usize) {
    let (Shape::Object(object), Value::Object(map)) = (maker.shapes.get(id).clone(), patch) else { return };
    if depth > 0 && maker.random.chance(4) {
        map.insert("$patch".to_owned(), json!(*maker.random.pick(&["delete", "replace", "merge", "odd"])));
    }
    if maker.random.chance(4) {
        let mut keys: Vec<String> = map.keys().cloned().collect();
        if maker.random.chance(20) {
            keys.pop();
        }
        map.insert("$retainKeys".to_owned(), json!(keys));
    }
    let names: Vec<String> =
        map.keys().cloned().chain(live.as_object().into_iter().flat_map(|m| m.keys().cloned())).collect();
    for name in names {
        let Some(field) = object.field(&name) else { continue };
        let none = Value::Null;
        let old = live.get(&name).unwrap_or(&none);
        match maker.shapes.get(field.shape).clone() {
            Shape::List(list) => {
                let keyed = match (&field.patch.key, &list.merge) {
                    (Some(key), _) => Some(key.clone()),
                    (None, Merge::Keyed(keys)) => keys.first().cloned(),
                    _ => None,
                };
                if let Some(Value::Array(items)) = map.get_mut(&name) {
                    let mut more = Vec::new();
                    for item in items.iter_mut() {
                        direct(maker, list.items, &Value::Null, item, depth + 1);
                    }
                    if let (Some(key), true) = (&keyed, maker.random.chance(30)) {
                        for item in old.as_array().into_iter().flatten() {
                            if maker.random.chance(30) {
                                let word = if maker.random.chance(90) { "delete" } else { "replace" };
                                more.push(
                                    json!({key: item.get(key).cloned().unwrap_or_default(), "$patch": word}),
                                );
                            }
                        }
                    }
                    items.extend(more);
                }
                if maker.random.chance(25) {
                    let mut all: Vec<Value> = Vec::new();
                    for item in map
                        .get(&name)
                        .and_then(Value::as_array)
                        .into_iter()
                        .flatten()
                        .chain(old.as_array().into_iter().flatten())
                    {
                        let item = match &keyed {
                            Some(key) => json!({key: item.get(key).cloned().unwrap_or_default()}),
                            None => item.clone(),
                        };
                        if !all.contains(&item) && maker.random.chance(85) {
                            all.push(item);
                        }
                    }
                    if maker.random.chance(30) {
                        all.reverse();
                    }
                    map.insert(format!("$setElementOrder/{name}"), json!(all));
                }
                if keyed.is_none() && maker.random.chance(20) {
                    let some: Vec<Value> = old.as_array().into_iter().flatten().take(1).cloned().collect();
                    map.insert(format!("$deleteFromPrimitiveList/{name}"), json!(some));
                }
            }
            Shape::Object(_) => {
                if let Some(patch) = map.get_mut(&name) {
                    direct(maker, field.shape, old, patch, depth + 1);
                }
            }
            _ => {}
        }
    }
}

/// An object and a patch for it.
pub fn strategic_case(maker: &mut Maker<'_>, id: ShapeId, depth: usize) -> Option<(Value, Value)> {
    let shape = maker.shapes.get(id).clone();
    let odd = std::mem::take(&mut maker.odd);
    let mut live = maker.value(&shape, depth);
    if maker.random.chance(60) {
        maker.change(&shape, &mut live, depth + 1);
        maker.change(&shape, &mut live, depth + 1);
    }
    complete(maker, id, &mut live);
    maker.odd = odd;
    let mut patch = if maker.random.chance(70) { live.clone() } else { maker.value(&shape, depth) };
    let times = maker.random.below(4);
    for _ in 0..times {
        maker.change(&shape, &mut patch, depth + 1);
    }
    complete(maker, id, &mut patch);
    if maker.random.chance(70) {
        direct(maker, id, &live, &mut patch, 0);
    }
    (live.is_object() && patch.is_object()).then_some((live, patch))
}

#[test]
#[ignore = "needs the original: make tools"]
fn strategic_merge_patches() {
    let mut probe = Probe::start();
    let document = probe.schemas();
    let mut shapes = Shapes::default();
    let names = from_openapi(&mut shapes, [&document]);
    let types: BTreeMap<ShapeId, String> =
        names.iter().map(|(name, id)| (*id, name.rsplit('.').next().unwrap().to_owned())).collect();
    let mut sorts: BTreeMap<String, usize> = BTreeMap::new();
    for index in 0..crate::cases() * 10 {
        let (version, kind, name) = KINDS[index as usize % KINDS.len()];
        let id = names[name];
        let mut random = Random(crate::seed().wrapping_mul(3_000_017).wrapping_add(index));
        let odd = if random.chance(20) { 20 } else { 0 };
        let mut maker = Maker { shapes: &shapes, random, odd };
        let Some((live, patch)) = strategic_case(&mut maker, id, 7) else { continue };
        let (Value::Object(object), Value::Object(given)) = (live.clone(), patch.clone()) else { continue };
        let names = |id: ShapeId| types.get(&id).cloned();
        let ours = patch::strategic(&shapes, id, &names, object, given)
            .map(Value::Object)
            .map_err(|error| error.to_string());
        let request =
            json!({"op": "strategic", "apiVersion": version, "kind": kind, "live": live, "new": patch});
        let sort = match &ours {
            Ok(_) => "patched".to_owned(),
            Err(text) => text.chars().take(9).collect(),
        };
        *sorts.entry(sort).or_default() += 1;
        if let Err(difference) = agree_once(&mut probe, request, &ours) {
            assert!(difference.contains("panic:"), "case {index}:\n{difference}");
            *sorts.entry("the original crashes".to_owned()).or_default() += 1;
        }
    }
    eprintln!("strategic merge patches: {sorts:#?}");
}

/// A path into a value, or past it.
fn path(random: &mut Random, value: &Value) -> String {
    let mut out = String::new();
    let mut value = value;
    for _ in 0..4 {
        match value {
            Value::Object(map) if !map.is_empty() => {
                let keys: Vec<&String> = map.keys().collect();
                let key = *random.pick(&keys);
                out.push('/');
                out.push_str(&key.replace('~', "~0").replace('/', "~1"));
                value = &map[key];
            }
            Value::Array(items) if !items.is_empty() => {
                let at = random.below(items.len());
                out.push_str(&format!("/{at}"));
                value = &items[at];
            }
            _ => break,
        }
        if random.chance(35) {
            break;
        }
    }
    match random.below(14) {
        0 => out.push_str("/-"),
        1 => out.push_str("/new"),
        2 => out.push_str("/-1"),
        3 => out.push_str("/7"),
        4 => out = out.trim_start_matches('/').to_owned(),
        5 => out.push_str("/99999999999999999999"),
        _ => {}
    }
    out
}

/// A JSON patch or a merge patch.
pub fn json_case(maker: &mut Maker<'_>) -> Value {
    let mut document = Map::new();
    for key in ["a", "b", "a/b", "~"] {
        document.insert(key.to_owned(), maker.anything(4));
    }
    let document = Value::Object(document);
    if maker.random.chance(30) {
        let mut given = maker.anything(4);
        if maker.random.chance(80) {
            given = json!({"a": maker.anything(3), "b": given});
        }
        return json!({"op": "merge", "a": document.to_string(), "b": given.to_string()});
    }
    let count = 1 + maker.random.below(4);
    let mut operations = Vec::new();
    for _ in 0..count {
        let op = *maker.random.pick(&["add", "remove", "replace", "move", "copy", "test", "add", "replace"]);
        let mut operation = json!({"op": op, "path": path(&mut maker.random, &document)});
        if op == "test" && maker.random.chance(60) {
            let found = operation["path"].as_str().and_then(|path| document.pointer(path)).cloned();
            operation["value"] = found.unwrap_or_default();
        } else {
            operation["value"] = maker.anything(2);
        }
        if op == "move" || op == "copy" {
            operation["from"] = json!(path(&mut maker.random, &document));
        }
        match maker.random.below(60) {
            0 => operation["op"] = json!("odd"),
            1 => drop(operation.as_object_mut().unwrap().remove("path")),
            2 => operation["path"] = json!(5),
            3 => drop(operation.as_object_mut().unwrap().remove("from")),
            4 => operation = json!("odd"),
            5 => drop(operation.as_object_mut().unwrap().remove("op")),
            _ => {}
        }
        operations.push(operation);
    }
    let operations = if maker.random.chance(2) { json!({"op": 1}) } else { json!(operations) };
    json!({"op": "json", "a": document.to_string(), "b": operations.to_string()})
}

/// Two field sets.
pub fn sets_case(maker: &mut Maker<'_>) -> Value {
    let (a, b) = (set(&mut maker.random, 4), set(&mut maker.random, 4));
    json!({"op": "sets", "a": a.to_string(), "b": b.to_string()})
}

/// Compares what is asked without types.
fn compare(name: &str, case: fn(&mut Maker<'_>) -> Value) {
    let mut probe = Probe::start();
    let world = World::new();
    let (mut done, mut refused) = (0, 0);
    for index in 0..crate::cases() * 20 {
        let random = Random(crate::seed().wrapping_mul(5_000_011).wrapping_add(index));
        let request = case(&mut Maker { shapes: &world.shapes, random, odd: 0 });
        let ours = world.answer(&request);
        match &ours {
            Ok(_) => done += 1,
            Err(_) => refused += 1,
        }
        if let Err(difference) = agree(&mut probe, &request, &ours) {
            assert!(difference.contains("panic:"), "case {index}:\n{difference}");
        }
    }
    eprintln!("{name}: {done} done, {refused} refused");
}

#[test]
#[ignore = "needs the original: make tools"]
fn json_and_merge_patches() {
    compare("JSON and merge patches", json_case);
}

#[test]
#[ignore = "needs the original: make tools"]
fn field_sets() {
    compare("field sets", sets_case);
}

fn set(random: &mut Random, depth: usize) -> Value {
    let mut out = Map::new();
    let count = if depth == 0 { 0 } else { random.below(5) };
    for _ in 0..count {
        let key = match random.below(12) {
            0..=4 => format!("f:{}", random.pick(&["a", "b", "c", "a<b", "é"])),
            5 => format!("k:{{\"name\":\"{}\"}}", random.pick(&["a", "b", "<"])),
            6 => format!(
                "k:{{\"port\":{},\"name\":\"{}\"}}",
                random.pick(&["80", "443", "1e3", "1.5"]),
                random.pick(&["a", "b"])
            ),
            7 => format!(
                "v:{}",
                random.pick(&["\"a\"", "1", "10", "2", "true", "null", "1e21", "1000000", "{\"a\":[1,2]}"])
            ),
            8 => format!("i:{}", random.below(12)),
            9 => ".".to_owned(),
            10 => "x:new".to_owned(),
            _ if random.chance(5) => (*random.pick(&["f", "v:x", "k:[]", "i:x", ""])).to_owned(),
            _ => "f:d".to_owned(),
        };
        out.insert(key, set(random, depth - 1));
    }
    Value::Object(out)
}
