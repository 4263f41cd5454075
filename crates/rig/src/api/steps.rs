//! One random request of a sequence.

use serde_json::{Map, Value, json};

use super::odd;
use super::schema::Schema;
use super::sequence::{Sequence, set};
use super::values::{Taste, change, spoil};
use super::wire::{Body, Request};
use crate::random::Random;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const META: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";
const META_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// The next request, and what it does.
pub fn next(random: &mut Random, sequence: &Sequence<'_, '_>) -> (&'static str, Request) {
    let empty = sequence.live.is_empty();
    let choice = if empty && random.chance(70) { 0 } else { random.below(100) };
    match choice {
        0..16 => ("create", create(random, sequence)),
        16..23 => ("get", read(random, sequence)),
        23..33 => ("list", list(random, sequence)),
        33..44 => ("update", update(random, sequence)),
        44..51 => ("status", status(random, sequence)),
        51..57 => ("json patch", json_patch(random, sequence)),
        57..64 => ("merge patch", merge_patch(random, sequence, MERGE)),
        64..71 => ("strategic patch", merge_patch(random, sequence, STRATEGIC)),
        71..83 => ("apply", apply(random, sequence)),
        83..86 => scale(random, sequence),
        86..92 => ("delete", delete(random, sequence)),
        92..94 => ("deletecollection", delete_all(random, sequence)),
        _ => ("odd", odd::request(random, sequence)),
    }
}

/// A watch of the sequence's objects; from the beginning of it, if that is given.
pub fn watch(random: &mut Random, sequence: &Sequence<'_, '_>, from: Option<String>) -> Request {
    let mut request = Request::get(sequence.collection()).with("watch", random.pick(&["1", "true"]));
    let live = from.is_none();
    match random.below(10) {
        0 | 1 => request = request.with("labelSelector", format!("case={},app=web", sequence.case)),
        2 => request = request.with("labelSelector", format!("case={},tier", sequence.case)),
        3 if sequence.subject.namespaced => {
            request = request.with("fieldSelector", format!("metadata.name={}", name(random, sequence)));
        }
        _ => request = sequence.selected(request),
    }
    match from {
        Some(from) => request = request.with("resourceVersion", from),
        None if random.chance(60) => {
            request = request
                .with("sendInitialEvents", "true")
                .with("resourceVersionMatch", "NotOlderThan")
                .with("allowWatchBookmarks", "true");
        }
        None => {}
    }
    match random.below(6) {
        0 => request.header("Accept", TABLE),
        1 => request.header("Accept", META),
        2 if !live => request
            .header("Accept", TABLE)
            .with("includeObject", random.pick(&["None", "Object", "Metadata"])),
        _ => request,
    }
}

fn name(random: &mut Random, sequence: &Sequence<'_, '_>) -> String {
    let live: Vec<&String> = sequence.live.keys().collect();
    if !live.is_empty() && random.chance(85) {
        return live.get(random.below(live.len())).map(|name| (*name).clone()).unwrap_or_default();
    }
    sequence.names.get(random.below(sequence.names.len())).cloned().unwrap_or_default()
}

fn schema<'q>(sequence: &'q Sequence<'_, '_>) -> Schema<'q> {
    sequence.runner.documents.of(sequence.subject)
}

/// An object with changes of any sort.
fn changed(random: &mut Random, sequence: &Sequence<'_, '_>, mut object: Value) -> Value {
    match random.below(10) {
        0 | 1 => {}
        2..7 => {
            for _ in 0..=random.below(2) {
                change(random, schema(sequence), &mut object, Taste::Plain);
            }
        }
        7 | 8 => change(random, schema(sequence), &mut object, Taste::Odd),
        _ => spoil(random, &mut object),
    }
    object
}

/// Options of any write.
fn options(random: &mut Random, mut request: Request) -> Request {
    if random.chance(12) {
        request = request.with("dryRun", random.pick_or(&["All"], 8, &["", "all", "None"]));
    }
    if random.chance(45) {
        request = request
            .with("fieldValidation", random.pick_or(&["Ignore", "Warn", "Strict"], 4, &["strict", ""]));
    }
    if random.chance(40) && !request.query.iter().any(|(key, _)| key == "fieldManager") {
        request = request
            .with("fieldManager", random.pick_or(&["m1", "m2", "kubectl", "helm"], 3, &["", "ä", "a\tb"]));
    }
    if random.chance(4) {
        request = request.header("Accept", random.pick(&[TABLE, META, "application/yaml"]));
    }
    request
}

fn body(random: &mut Random, request: Request, object: Value) -> Request {
    match random.below(10) {
        0 | 1 => {
            let mut request = request.header("Content-Type", "application/yaml");
            request.body = Body::Yaml(object);
            request
        }
        _ => request.json("application/json", object),
    }
}

fn create(random: &mut Random, sequence: &Sequence<'_, '_>) -> Request {
    let name = match random.chance(85) {
        true => sequence.names.iter().find(|name| !sequence.live.contains_key(*name)).cloned(),
        false => None,
    };
    let name = name.unwrap_or_else(|| self::name(random, sequence));
    let mut object = sequence.seed(&name);
    // Two of them would be in another order on each server.
    let made = sequence.live.keys().any(|name| name.contains("-g-"));
    if random.chance(6)
        && sequence.subject.namespaced
        && !made
        && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.remove("name");
        metadata.insert("generateName".to_owned(), format!("{}-g-", sequence.case).into());
    }
    if random.chance(6) {
        set(&mut object, "finalizers", json!(["example.com/wait"]));
    }
    let object = changed(random, sequence, object);
    let request = Request::new("POST", sequence.collection());
    let request = body(random, request, object);
    options(random, request)
}

fn read(random: &mut Random, sequence: &Sequence<'_, '_>) -> Request {
    let request = Request::get(sequence.object(&name(random, sequence)));
    let request = match random.below(12) {
        0 | 1 => request.header("Accept", TABLE),
        2 => request
            .header("Accept", TABLE)
            .with("includeObject", random.pick(&["None", "Object", "Metadata", "x"])),
        3 | 4 => request.header("Accept", META),
        5 => request.header("Accept", "application/yaml"),
        6 => request.header(
            "Accept",
            random.pick(&["text/html", "application/xml, */*", "application/json;as=Foo", "*/*"]),
        ),
        7 => request.with("resourceVersion", random.pick(&["0", "1", "x"])),
        8 => request.with("pretty", "true"),
        _ => request,
    };
    if random.chance(3) { request.header("User-Agent", "curl/8") } else { request }
}

fn list(random: &mut Random, sequence: &Sequence<'_, '_>) -> Request {
    let request = Request::get(sequence.collection());
    if let Some(page) = &sequence.page
        && random.chance(60)
    {
        return sequence.selected(request).with("limit", "1").with("continue", page);
    }
    let case = &sequence.case;
    let mut request = match random.below(10) {
        0 | 1 => request.with("labelSelector", format!("case={case},app=web")),
        2 => {
            let odd = [
                "app in (web,db)",
                "app notin (web)",
                "!app",
                "app!=web",
                "app==web",
                "n gt 1",
                "a in",
                "(",
                "a=b=c",
                "x y",
                "=a",
            ];
            request.with("labelSelector", format!("case={case},{}", random.pick(&odd)))
        }
        3 | 4 => {
            let fields = [
                "metadata.name=a",
                "metadata.namespace!=x",
                "spec.nodeName=",
                "status.phase=Pending",
                "type=Opaque",
                "data.x=1",
                "spec.type=ClusterIP",
                "involvedObject.kind=Pod",
                "reason=Started",
                "a",
                "status.replicas=0",
                "metadata.name!=a,metadata.name!=b",
                "status.successful=0",
                "spec.restartPolicy!=Never",
            ];
            let field = random.pick(&fields).replace("=a", &format!("={case}-a"));
            sequence.selected(request).with("fieldSelector", field)
        }
        _ => sequence.selected(request),
    };
    match random.below(9) {
        0 | 1 => request = request.with("limit", random.pick(&["1", "2", "500", "0", "-1", "x"])),
        2 => {
            let revision =
                sequence.revisions.get(random.below(sequence.revisions.len())).cloned().unwrap_or_default();
            request = request.with("resourceVersion", revision);
            if random.chance(60) {
                request =
                    request.with("resourceVersionMatch", random.pick(&["Exact", "NotOlderThan", "", "x"]));
            }
            if random.chance(30) {
                request = request.with("limit", "1");
            }
        }
        3 => request = request.with("resourceVersion", random.pick(&["0", "x", "-1", ""])),
        4 if random.chance(30) => {
            let odd = [
                ("resourceVersionMatch", "Exact"),
                ("sendInitialEvents", "true"),
                ("continue", "abc"),
                ("continue", "e30"),
                ("timeoutSeconds", "x"),
            ];
            let (key, value) = odd.get(random.below(odd.len())).copied().unwrap_or_default();
            request = request.with(key, value);
        }
        _ => {}
    }
    match random.below(12) {
        0 | 1 => request.header("Accept", TABLE),
        2 => request
            .header("Accept", TABLE)
            .with("includeObject", random.pick(&["None", "Object", "Metadata"])),
        3 => request.header("Accept", META_LIST),
        4 => request.header("Accept", random.pick(&[META, "application/yaml", "text/plain"])),
        _ => request,
    }
}

fn update(random: &mut Random, sequence: &Sequence<'_, '_>) -> Request {
    let name = name(random, sequence);
    let live = sequence.live.get(&name).cloned().unwrap_or_else(|| sequence.seed(&name));
    let mut object = changed(random, sequence, live);
    match random.below(14) {
        0 => {
            let earlier = sequence.revisions.get(random.below(sequence.revisions.len())).cloned();
            set(&mut object, "resourceVersion", earlier.unwrap_or_else(|| "1".to_owned()).into());
        }
        1 | 2 => remove(&mut object, "resourceVersion"),
        3 => remove(&mut object, "managedFields"),
        4 => remove(&mut object, "uid"),
        5 => set(&mut object, "managedFields", json!([{}])),
        6 if random.chance(30) => set(&mut object, "name", "other".into()),
        6 => set(&mut object, "finalizers", json!(["example.com/wait"])),
        7 => remove(&mut object, "finalizers"),
        8 if random.chance(30) => set(&mut object, "namespace", "elsewhere".into()),
        9 if random.chance(30) => set(&mut object, "uid", "11111111-2222-3333-4444-555555555555".into()),
        _ => {}
    }
    let request = Request::new("PUT", sequence.object(&name));
    let request = body(random, request, object);
    options(random, request)
}

fn remove(object: &mut Value, key: &str) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove(key);
    }
}

fn status(random: &mut Random, sequence: &Sequence<'_, '_>) -> Request {
    let name = name(random, sequence);
    let place = format!("{}/status", sequence.object(&name));
    if !sequence.subject.parts.iter().any(|part| part == "status") || random.chance(15) {
        return Request::get(place);
    }
    let mut object = sequence.live.get(&name).cloned().unwrap_or_else(|| sequence.seed(&name));
    let whole = schema(sequence);
    if let Some(field) = whole.resolved().field("status")
        && let Some(fields) = object.as_object_mut()
    {
        let status = fields.entry("status").or_insert_with(|| json!({}));
        let taste = if random.chance(80) { Taste::Plain } else { Taste::Odd };
        change(random, field, status, taste);
    }
    if random.chance(30) {
        object = changed(random, sequence, object);
    }
    if random.chance(50) {
        remove(&mut object, "resourceVersion");
    }
    let request = match random.below(4) {
        0 | 1 => Request::put(place, object),
        2 => Request::patch(place, MERGE, json!({"status": object.get("status")})),
        _ => {
            let applied = json!({"apiVersion": object.get("apiVersion"), "kind": object.get("kind"),
                "metadata": {"name": name}, "status": object.get("status")});
            Request::apply(place, random.pick(&["m1", "m3"]), applied)
        }
    };
    options(random, request)
}

/// Where an object has something.
fn paths(value: &Value, at: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object.iter().filter(|(key, _)| *key != "managedFields") {
                let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                out.push(at.clone());
                paths(value, &at, out);
            }
        }
        Value::Array(list) => {
            for (number, value) in list.iter().enumerate() {
                out.push(format!("{at}/{number}"));
                paths(value, &format!("{at}/{number}"), out);
            }
        }
        _ => {}
    }
}

fn json_patch(random: &mut Random, sequence: &Sequence<'_, '_>) -> Request {
    let name = name(random, sequence);
    let live = sequence.live.get(&name).cloned().unwrap_or_else(|| sequence.seed(&name));
    let mut all = Vec::new();
    paths(&live, "", &mut all);
    let mut operations = Vec::new();
    for _ in 0..=random.below(2) {
        let path = all.get(random.below(all.len())).cloned().unwrap_or_default();
        let found = live.pointer(&path).cloned().unwrap_or_default();
        operations.push(match random.below(10) {
            0 | 1 => json!({"op": "replace", "path": path, "value": found}),
            2 => json!({"op": "replace", "path": path, "value": random.pick(&["x", "1", ""])}),
            3 => json!({"op": "test", "path": path, "value": found}),
            4 => json!({"op": "remove", "path": path}),
            5 => json!({"op": "add", "path": "/metadata/labels/tier", "value": random.pick(&["a", "b"])}),
            6 => json!({"op": "add", "path": "/metadata/annotations", "value": {"x": "y"}}),
            7 => json!({"op": random.pick(&["move", "copy"]), "from": path, "path": "/metadata/annotations"}),
            8 => json!({"op": "replace", "path": "/metadata/labels/case", "value": sequence.case}),
            _ => json!({"op": random.pick(&["replace", "frob", "remove"]), "path": "/no/where", "value": 1}),
        });
    }
    options(random, Request::patch(sequence.object(&name), JSON_PATCH, Value::Array(operations)))
}

/// What has to be merged into one value to get another.
fn difference(from: &Value, to: &Value) -> Value {
    let (Value::Object(a), Value::Object(b)) = (from, to) else { return to.clone() };
    let mut out = Map::new();
    for key in a.keys().filter(|key| !b.contains_key(*key)) {
        out.insert(key.clone(), Value::Null);
    }
    for (key, value) in b {
        match a.get(key) {
            Some(old) if old == value => {}
            Some(old) => drop(out.insert(key.clone(), difference(old, value))),
            None => drop(out.insert(key.clone(), value.clone())),
        }
    }
    Value::Object(out)
}

fn merge_patch(random: &mut Random, sequence: &Sequence<'_, '_>, kind: &str) -> Request {
    let name = name(random, sequence);
    let live = sequence.live.get(&name).cloned().unwrap_or_else(|| sequence.seed(&name));
    let mut patch = match random.below(10) {
        0 => {
            json!({"metadata": {"labels": {"tier": random.pick(&["a", "b"]), "app": random.pick(&["web", "db"])}}})
        }
        1 => json!({"metadata": {"annotations": {"note": random.pick(&["1", "2"])}}}),
        2 => json!({"metadata": {"finalizers": random.pick(&[None, Some(["example.com/wait"])])}}),
        3 => json!({}),
        4 if kind == STRATEGIC => directives(random, &live),
        _ => difference(&live, &changed(random, sequence, live.clone())),
    };
    if random.chance(10)
        && let Some(fields) = patch.as_object_mut()
    {
        let revision = sequence.revisions.last().cloned().unwrap_or_default();
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("resourceVersion".to_owned(), revision.into());
        }
    }
    options(random, Request::patch(sequence.object(&name), kind, patch))
}

/// A strategic patch with directives, in some list of objects.
fn directives(random: &mut Random, live: &Value) -> Value {
    let mut all = Vec::new();
    paths(live, "", &mut all);
    let lists: Vec<&String> = all
        .iter()
        .filter(|path| live.pointer(path).and_then(Value::as_array).is_some_and(|list| !list.is_empty()))
        .filter(|path| !path.split('/').any(|part| part.parse::<usize>().is_ok()))
        .collect();
    let Some(path) = lists.get(random.below(lists.len())) else {
        return json!({"metadata": {"$patch": random.pick(&["delete", "replace", "x"])}});
    };
    let list = live.pointer(path).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut first = list.first().cloned().unwrap_or_default();
    let inner = match (random.below(5), first.as_object_mut()) {
        (0, Some(item)) => {
            item.insert("$patch".to_owned(), random.pick(&["delete", "replace", "merge"]).into());
            json!([item])
        }
        (1, _) => json!([{"$patch": "replace"}, first]),
        (2, Some(item)) => {
            item.remove("name");
            json!([item])
        }
        _ => json!([first]),
    };
    let mut parts: Vec<&str> = path.split('/').skip(1).collect();
    let last = parts.pop().unwrap_or_default();
    let mut leaf = json!({last: inner});
    if random.chance(30) {
        let order: Vec<Value> = list.iter().rev().map(|item| json!({"name": item.get("name")})).collect();
        leaf[format!("$setElementOrder/{last}")] = Value::Array(order);
    }
    if random.chance(10) {
        // Not beside the list itself: the real server takes the two in any order.
        leaf = json!({format!("$deleteFromPrimitiveList/{last}"): list});
    }
    if random.chance(10) {
        leaf["$retainKeys"] = json!([last]);
    }
    parts.into_iter().rev().fold(leaf, |inner, part| json!({part: inner}))
}

fn apply(random: &mut Random, sequence: &Sequence<'_, '_>) -> Request {
    let name = name(random, sequence);
    let mut object = sequence.seed(&name);
    for _ in 0..random.below(3) {
        change(random, schema(sequence), &mut object, Taste::Plain);
    }
    match random.below(12) {
        0 => spoil(random, &mut object),
        1 => {
            if let Some(fields) = object.as_object_mut() {
                fields.retain(|key, _| matches!(key.as_str(), "apiVersion" | "kind" | "metadata"));
            }
        }
        2 => set(&mut object, "finalizers", json!([random.pick(&["example.com/a", "example.com/b"])])),
        3 => set(&mut object, "labels", json!({"tier": random.pick(&["a", "b"])})),
        4 => {
            let uid = random.pick(&["u1", "u2"]);
            set(
                &mut object,
                "ownerReferences",
                json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": uid}]),
            );
        }
        5 => remove(&mut object, random.pick(&["name", "labels"])),
        _ => {}
    }
    let mut request = Request::new("PATCH", sequence.object(&name));
    if random.chance(97) {
        request = request.with("fieldManager", random.pick(&["m1", "m2", "m3"]));
    }
    if random.chance(35) {
        request = request.with("force", random.pick_or(&["true", "false"], 5, &["x"]));
    }
    request = request.header("Content-Type", APPLY);
    request.body = if random.chance(50) { Body::Json(object) } else { Body::Yaml(object) };
    options(random, request)
}

fn scale(random: &mut Random, sequence: &Sequence<'_, '_>) -> (&'static str, Request) {
    let name = name(random, sequence);
    let place = format!("{}/scale", sequence.object(&name));
    let replicas = random.pick_or(&[0_i64, 1, 3, 5], 15, &[-1, i64::MAX]);
    let whole = json!({"apiVersion": "autoscaling/v1", "kind": "Scale",
        "metadata": {"name": name, "namespace": sequence.namespace}, "spec": {"replicas": replicas}});
    let request = match random.below(4) {
        0 => Request::get(place),
        1 => options(random, Request::put(place, whole)),
        2 => options(random, Request::patch(place, MERGE, json!({"spec": {"replicas": replicas}}))),
        _ => options(
            random,
            Request::apply(
                place,
                "m1",
                json!({"apiVersion": "autoscaling/v1", "kind": "Scale",
            "metadata": {"name": name}, "spec": {"replicas": replicas}}),
            ),
        ),
    };
    ("scale", request)
}

/// What is said with a deletion.
fn delete_options(random: &mut Random, live: Option<&Value>, request: Request) -> Request {
    let of = |key: &str| {
        live.and_then(|live| live.pointer(&format!("/metadata/{key}"))).cloned().unwrap_or_default()
    };
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
    let with = |request: Request, key: &str, value: Value| {
        let mut options = options.clone();
        options[key] = value;
        request.json("application/json", options)
    };
    match random.below(14) {
        0 | 1 => with(
            request,
            "propagationPolicy",
            random.pick(&["Background", "Foreground", "Orphan", "x"]).into(),
        ),
        2 => with(request, "gracePeriodSeconds", random.pick(&[0_i64, 5, -1]).into()),
        3 => with(request, "preconditions", json!({"uid": of("uid")})),
        4 => with(request, "preconditions", json!({"uid": "11111111-2222-3333-4444-555555555555"})),
        5 => with(request, "preconditions", json!({"resourceVersion": of("resourceVersion")})),
        6 => with(request, "preconditions", json!({"resourceVersion": "1"})),
        7 => with(request, "dryRun", json!(["All"])),
        8 => request.with("dryRun", random.pick(&["All", "x"])),
        9 => request.with("propagationPolicy", random.pick(&["Foreground", "Orphan", "Background"])),
        10 => with(request, "orphanDependents", random.chance(50).into()),
        11 => request.with("gracePeriodSeconds", random.pick(&["0", "x", "30"])),
        _ => request,
    }
}

fn delete(random: &mut Random, sequence: &Sequence<'_, '_>) -> Request {
    let name = name(random, sequence);
    let live = sequence.live.get(&name);
    delete_options(random, live, Request::delete(sequence.object(&name)))
}

fn delete_all(random: &mut Random, sequence: &Sequence<'_, '_>) -> Request {
    let mut request = Request::delete(sequence.collection());
    request = match random.below(3) {
        0 => request.with("labelSelector", format!("case={},app=web", sequence.case)),
        _ => sequence.selected(request),
    };
    match random.below(3) {
        0 => request.with("dryRun", "All"),
        1 => request.with("limit", "1"),
        _ => request,
    }
}
