//! The recorded answers of kube-apiserver's own packages to writes and patches of ours.
//! `originals` makes them again: `cargo test -p podium-fieldmanager --test originals -- --ignored record`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod world;

use serde_json::Value;

/// Each line is a request, with its answer under `answer`: the result, or the text of the error.
fn replay(lines: &str, least: usize) {
    let world = world::World::new();
    let mut count = 0;
    for (number, line) in lines.lines().enumerate() {
        let request: Value = serde_json::from_str(line).unwrap();
        let ours = match world.answer(&request) {
            Ok(out) => out,
            Err(text) => Value::String(text),
        };
        assert_eq!(ours, request["answer"], "line {}: {request}", number + 1);
        count += 1;
    }
    assert!(count >= least, "only {count} are recorded");
}

#[test]
fn writes_are_answered_as_recorded() {
    replay(include_str!("writes.jsonl"), 150);
}

#[test]
fn strategic_merge_patches_are_answered_as_recorded() {
    replay(include_str!("strategic.jsonl"), 100);
}

#[test]
fn json_and_merge_patches_are_answered_as_recorded() {
    replay(include_str!("patches.jsonl"), 100);
}

#[test]
fn field_sets_are_answered_as_recorded() {
    replay(include_str!("sets.jsonl"), 60);
}
