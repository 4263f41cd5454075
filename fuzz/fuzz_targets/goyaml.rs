//! Any text as YAML, JSON and TOML; what was read is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use podium_goyaml::{emit, json, toml, yaml};

fuzz_target!(|text: &[u8]| {
    if let Ok(node) = yaml::parse(text, 0u32) {
        let _ = emit::to_yaml_pretty(&&node);
        let _ = toml::to_string(&&node);
        if let Ok(written) = emit::to_yaml(&&node) {
            let again = yaml::parse(&written, 0u32);
            assert!(again.is_ok(), "written YAML can be read: {:?}", String::from_utf8_lossy(&written));
        }
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
        let _ = map;
    }
});
