//! Answers of the real server's own packages: what becomes of new and changed objects, and what is wrong with them.
//!
//! Each line of `strategy.jsonl` has an object, what it was before if it is a change, and what is expected: the
//! object that is stored with its warnings, or the flaws in their order.

use podium_meta::GroupVersionKind;
use podium_resources::stored;
use podium_resources::strategy::{self, Facts};
use serde_json::{Value, json};

const LINES: &str = include_str!("strategy.jsonl");
const NOW: &str = "2023-11-14T22:13:20Z";

fn read(object: &Value) -> (GroupVersionKind, Value) {
    let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
    let kind = GroupVersionKind::new(&text("apiVersion"), &text("kind"));
    let value = stored::decode(object.to_string().as_bytes(), &kind).map(|read| read.value);
    (kind, value.unwrap_or_default())
}

fn answer(line: &Value) -> Value {
    let (suffix, lookup) = (|| "abcde".to_owned(), |_: &str, _: &str, _: &str| None);
    let facts =
        Facts { now: NOW, suffix: &suffix, lookup: &lookup, given: Some(&line["object"]), user: None };
    let (kind, mut object) = read(&line["object"]);
    let below = line["below"].as_str().unwrap_or_default();
    let old = line.get("old").map(|old| read(old).1);
    let flaws = match &old {
        None => {
            if let Some(meta) = object["metadata"].as_object_mut() {
                meta.entry("uid").or_insert_with(|| "00000000-0000-4000-8000-000000000000".into());
                meta.insert("creationTimestamp".to_owned(), NOW.into());
            }
            strategy::prepare_create(&kind, &mut object, &facts);
            strategy::validate_create(&kind, &object)
        }
        Some(old) => {
            strategy::prepare_update(&kind, below, &mut object, old, &facts);
            strategy::validate_update(&kind, below, &object, old)
        }
    };
    if !flaws.is_empty() {
        let flaws: Vec<String> = flaws.iter().map(ToString::to_string).collect();
        return json!({"flaws": flaws});
    }
    let warnings =
        if below.is_empty() { strategy::warnings(&kind, &object, old.as_ref()) } else { Vec::new() };
    match warnings.is_empty() {
        true => json!({"object": object}),
        false => json!({"object": object, "warnings": warnings}),
    }
}

#[test]
fn objects_become_what_the_real_server_makes_of_them() {
    let mut count = 0;
    for (at, text) in LINES.lines().enumerate() {
        let line: Value = serde_json::from_str(text).unwrap();
        assert_eq!(answer(&line), line["expect"], "line {}: {text}", at + 1);
        count += 1;
    }
    assert!(count > 200, "{count}");
}

#[test]
fn nothing_that_is_no_object_breaks_the_checks() {
    let (suffix, lookup) = (String::new, |_: &str, _: &str, _: &str| None);
    let facts = Facts { now: NOW, suffix: &suffix, lookup: &lookup, given: None, user: None };
    let odd = [
        json!(null),
        json!([]),
        json!({}),
        json!({"metadata": 1, "spec": []}),
        json!({"spec": {"ports": [1],
        "containers": [null, {"ports": [7], "env": ["x"]}], "template": {"spec": {"volumes": [1]}}}}),
    ];
    for kind in podium_resources::kinds().rows().map(podium_resources::Row::full_kind) {
        for object in &odd {
            let mut new = object.clone();
            let _ = strategy::admit_create(&kind, &mut new, &facts);
            strategy::prepare_create(&kind, &mut new, &facts);
            let _ = strategy::validate_create(&kind, &new);
            let _ = strategy::warnings(&kind, &new, None);
            for below in ["", "status", "finalize", "approval", "ephemeralcontainers"] {
                let mut new = object.clone();
                strategy::prepare_update(&kind, below, &mut new, object, &facts);
                let _ = strategy::validate_update(&kind, below, &new, object);
            }
        }
    }
}
