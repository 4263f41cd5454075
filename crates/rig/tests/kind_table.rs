//! The table of the built-in kinds beside a real API server and its own packages.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use podium_meta::{GroupVersionKind, Quantity};
use podium_resources::kinds;
use podium_resources::print::row;
use podium_resources::stored::{convert, decode, settle};
use podium_resources::table::discovery;
use podium_resources::typed::protobuf;
use podium_resources::typed::write::to_json;
use podium_rig::cluster::{Cluster, run};
use podium_rig::kinds::{ask, lines, table};
use podium_rig::random::Random;
use serde_json::Value;

const SEED: &str = "1";

fn all() -> String {
    let mut all: Vec<GroupVersionKind> = kinds().typed().collect();
    all.sort();
    lines(&all)
}

fn get(cluster: &Cluster, path: &str) -> Value {
    serde_json::from_str(&run(cluster.kubectl().args(["get", "--raw", path])).unwrap()).unwrap()
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn the_table_is_current_and_discovery_is_the_servers() {
    let cluster = Cluster::shared_upstream().unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../kubernetes/resources/kinds.txt");
    assert!(table(cluster).unwrap() == std::fs::read_to_string(file).unwrap(), "stale: run make kinds");
    assert_eq!(discovery::group_list(kinds().groups().iter()), get(cluster, "/apis"));
    for group in kinds().groups() {
        let root = if group.name.is_empty() { "/api".to_owned() } else { format!("/apis/{}", group.name) };
        if !group.name.is_empty() {
            assert_eq!(discovery::group(group), get(cluster, &root));
        }
        for version in &group.versions {
            let answer = get(cluster, &format!("{root}/{}", version.name));
            assert_eq!(discovery::resource_list(group.name, version), answer);
        }
    }
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn protobuf_of_every_kind_becomes_the_same_json() {
    let answers = ask(&["protobuf", SEED, "60"], &all()).unwrap();
    let mut count = 0;
    for line in answers.lines() {
        let (hex, expected) = line.split_once(' ').unwrap();
        let bytes: Vec<u8> = hex
            .as_bytes()
            .chunks(2)
            .map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap())
            .collect();
        let expected: Value = serde_json::from_str(expected).unwrap();
        assert_eq!(protobuf::transcode(&bytes, None), Ok(expected), "{hex}");
        count += 1;
    }
    assert!(count > 8000, "{count}");
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn bodies_of_every_kind_are_stored_alike_with_the_same_complaints() {
    let answers = ask(&["decode", SEED, "60"], &all()).unwrap();
    let (mut good, mut odd) = (0, 0);
    for line in answers.lines() {
        let mut answer: Value = serde_json::from_str(line).unwrap();
        let stored = answer["stored"].take();
        let text = |key: &str| answer[key].as_str().unwrap_or_default().to_owned();
        // Options have no types of the server's own.
        if text("error").contains("is registered for the internal version") {
            continue;
        }
        let (api_version, kind) = answer["kind"].as_str().unwrap().split_once(' ').unwrap();
        match decode(text("body").as_bytes(), &GroupVersionKind::new(api_version, kind)) {
            Ok(read) => {
                assert_eq!(timeless(read.value), timeless(stored), "{line}");
                let complaint = match read.strict.as_slice() {
                    [] => String::new(),
                    strict => format!("strict decoding error: {}", strict.join(", ")),
                };
                assert_eq!(complaint, text("strict"), "{line}");
                good += 1;
            }
            Err(error) => {
                // The original adds the line of its own code where its list of kinds is made.
                assert!(text("error").starts_with(&error.to_string()), "{error}: {line}");
                odd += 1;
            }
        }
    }
    assert!(good > 7000 && odd > 100, "{good} {odd}");
}

/// Without the only default that is the present time: when a device was tainted.
fn timeless(mut value: Value) -> Value {
    match &mut value {
        Value::Object(object) => {
            object.remove("timeAdded");
            object.values_mut().for_each(|value| *value = timeless(value.take()));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| *value = timeless(value.take())),
        _ => {}
    }
    value
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn rows_have_the_same_cells() {
    let answers = ask(&["table", SEED, "60"], &all()).unwrap();
    let mut count = 0;
    for line in answers.lines() {
        let answer: Value = serde_json::from_str(line).unwrap();
        // Selectors that no server accepts, and a moment that stands for none but has parts of a second.
        let plain = answer.to_string();
        if ["<error>", "<invalid>", "0001-01-01"].iter().any(|word| plain.contains(word)) {
            continue;
        }
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
    assert!(count > 2000, "{count}");
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn kinds_of_two_versions_become_each_other() {
    let answers = ask(&["convert", SEED, "300"], "").unwrap();
    for line in answers.lines() {
        let answer: Value = serde_json::from_str(line).unwrap();
        let kind = |key: &str| {
            let (api_version, kind) = answer[key].as_str().unwrap().split_once(' ').unwrap();
            GroupVersionKind::new(api_version, kind)
        };
        // What comes out of a store gets its defaults again.
        let mut value = answer["value"].clone();
        settle(&kind("from"), &mut value).unwrap();
        convert(&mut value, &kind("to"));
        assert_eq!(value, answer["other"], "{line}");
        // And it is written as the original writes it.
        assert!(line.contains(&to_json(&kind("to"), &value)), "{line}");
    }
    assert!(answers.lines().count() > 1500);
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn quantities_are_the_originals() {
    let mut random = Random::new(7);
    let mut texts = Vec::new();
    for _ in 0..20_000 {
        let mut text = random.pick(&["", "", "+", "-", "0"]).to_string();
        let most = if random.chance(10) { 24 } else { 5 };
        for _ in 0..random.below(most) {
            text.push(char::from(b'0' + random.below(10) as u8));
        }
        if random.chance(40) {
            text.push('.');
            for _ in 0..random.below(12) {
                text.push(char::from(b'0' + random.below(10) as u8));
            }
        }
        text.push_str(random.pick(&[
            "", "m", "u", "n", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ei", "e3", "e-10", "x",
        ]));
        texts.push(text);
    }
    let input: String = texts.iter().map(|text| format!("{text:?}\n")).collect();
    let answers = ask(&["quantity"], &input).unwrap();
    assert_eq!(answers.lines().count(), texts.len());
    for (text, answer) in texts.iter().zip(answers.lines()) {
        let ours =
            Quantity::parse(text).map_or_else(|error| format!("!{error}"), |quantity| quantity.to_string());
        assert_eq!(ours, answer, "{text:?}");
    }
}
