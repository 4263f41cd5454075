//! Definitions of kinds and their objects: a schema and two objects, each on a line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use podium_schema::{Structural, definition};
use serde_json::{Value, json};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap_or_default());
    let (schema, mut new, old) =
        (lines.next().unwrap_or_default(), lines.next().unwrap_or_default(), lines.next());
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    let mut custom = json!({"metadata": {"name": "as.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
        "names": {"plural": "as", "kind": "A"}, "versions": [version]}});
    definition::prepare_create(&mut custom);
    let flaws = definition::validate_create(&custom, None);
    let _ = definition::warnings(&custom, None);
    let _ = definition::validate_update(&custom, &custom, None);
    let Ok(structural) = Structural::compile(&schema) else { return };
    structural.prune(&mut new);
    let pruned = new.clone();
    structural.prune(&mut new);
    assert_eq!(new, pruned, "nothing is left to prune");
    structural.default(&mut new);
    if flaws.is_empty() {
        let filled = new.clone();
        structural.default(&mut new);
        assert_eq!(new, filled, "nothing is left to fill in");
    }
    let _ = structural.validate(&new, old.as_ref());
    let _ = structural.check_status(&new, old.as_ref());
    let _ = structural.coerce(&mut new, true);
});
