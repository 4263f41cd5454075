//! Selectors of labels, of fields, and those in objects: what is read says the same when it is written and read again.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use podium_meta::Selector;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (text, labels) = text.split_once('\n').unwrap_or((text, ""));
    let labels: BTreeMap<String, String> = labels
        .split(',')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    match Selector::parse(text) {
        Ok(selector) => {
            let fits = selector.matches(&labels);
            // All requirements: whoever wants one more matches no more.
            if let Ok(more) = Selector::parse(&format!("{text},fuzz-added"))
                && more.matches(&labels)
            {
                assert!(fits, "{text:?}");
            }
        }
        Err(error) => {
            let _ = (error.to_string(), error.server_text());
        }
    }
});
