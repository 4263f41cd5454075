//! The first line as a pattern, the rest as a text. Time is linear in the text whatever the pattern.
#![no_main]

use libfuzzer_sys::fuzz_target;
use podium_re2::{Regex, quote_meta};

fuzz_target!(|input: &[u8]| {
    let at = input.iter().position(|b| *b == b'\n').unwrap_or(input.len());
    let (pattern, text) = input.split_at(at);
    let quoted = quote_meta(text);
    let _ = quoted;
    let regex = match Regex::new(pattern) {
        Ok(regex) => regex,
        Err(error) => {
            let _ = error.to_bytes();
            return;
        }
    };
    let all = regex.find_all_index(text, -1);
    assert_eq!(regex.is_match(text), !all.is_empty());
    assert_eq!(regex.find_index(text), all.first().cloned());
    assert!(all.iter().all(|range| range.end <= text.len()));
    assert_eq!(regex.captures_all(text, -1).len(), all.len());
    assert_eq!(regex.find_all(text, 2).len(), all.len().min(2));
    let _ = regex.replace_all(text, "<$0$1${name}>");
    assert!(regex.split(text, -1).concat().len() <= text.len());
    let _ = regex.replace_all_literal(text, "x");
});
