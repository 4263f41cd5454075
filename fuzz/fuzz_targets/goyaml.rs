//! Any text as YAML, JSON and TOML; what was read is written and read again, and has to be the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use podium_goyaml::{Node, Value, emit, json, toml, yaml};

fuzz_target!(|text: &[u8]| {
    if let Ok(node) = yaml::parse(text, 0u32) {
        for written in [emit::to_yaml(&&node), emit::to_yaml_pretty(&&node)].into_iter().flatten() {
            let again = yaml::parse(&written, 0u32);
            let same = again.as_ref().is_ok_and(|again| *again == node);
            let shown = String::from_utf8_lossy(&written);
            assert!(
                same || go_loses_text(&node, &shown),
                "{node:?} was written as {shown:?}, which is {again:?}"
            );
        }
        let _ = toml::to_string(&&node);
    }
    let _ = yaml::parse_object(text, 0u32);
    for document in yaml::documents(text).take(100) {
        let _ = document;
    }
    if let Ok(node) = json::parse(text, 0)
        && let Ok(written) = json::to_string(&&node)
    {
        let again = json::parse(&written, 0).ok().and_then(|node| json::to_string(&&node).ok());
        assert_eq!(again, Some(written), "JSON stays what it is");
    }
    if let Ok(map) = toml::parse(text, 0) {
        let node = Node::from(Value::Map(map));
        if let Ok(written) = toml::to_string(&&node) {
            match toml::parse(&written, 0) {
                Ok(again) => {
                    // As text: nan is not equal to itself.
                    let again = toml::to_string(&&Node::from(Value::Map(again))).ok();
                    assert_eq!(again, Some(written), "TOML stays what it is");
                }
                Err(error) => panic!("{error}: {:?}", String::from_utf8_lossy(&written)),
            }
        }
    }
});

/// Go's writers leave two things that its readers do not take for what they were, and ours have to do the same: line
/// breaks other than `\n`, and a tab at the start of a line of a literal block.
fn go_loses_text(node: &Node, written: &str) -> bool {
    let breaks = ["\\u{85}", "\\u{2028}", "\\u{2029}"];
    let node = format!("{node:?}");
    breaks.iter().any(|b| node.contains(b))
        || written.lines().any(|l| l.trim_start_matches(' ').starts_with('\t'))
}
