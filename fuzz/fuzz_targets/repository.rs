//! Bytes as an index or a list of repositories: what can be read is written, and is then read as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use podium_chart::repository::index::Index;
use podium_chart::repository::{config, url};

fuzz_target!(|input: &[u8]| {
    let _ = config::parse(input).map_err(|error| error.to_string());
    match Index::parse(input) {
        Err(error) => drop(error.to_string()),
        Ok(index) => {
            for (name, versions) in &index.entries {
                let _ = index.get(name, "");
                for entry in versions {
                    for address in entry.urls.iter().flatten() {
                        let _ = url::resolve("https://example.com/charts", address);
                    }
                }
            }
            let (Ok(yaml), Ok(json)) = (index.to_yaml(), index.to_json()) else { return };
            let (yaml, json) = (Index::parse(&yaml), Index::parse(&json));
            assert!(yaml.is_ok() == json.is_ok());
        }
    }
});
