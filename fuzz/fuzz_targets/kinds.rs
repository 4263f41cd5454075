//! Bodies of the built-in kinds in protobuf and in JSON, what is stored and shown of them, and quantities.
#![no_main]

use libfuzzer_sys::fuzz_target;
use podium_resources::stored::{decode, decode_protobuf};
use podium_resources::typed::{protobuf, write::to_json};
use podium_resources::{kinds, print};
use podium_meta::{GroupVersionKind, Quantity};

fuzz_target!(|data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else { return };
    let mut all: Vec<GroupVersionKind> = kinds().typed().collect();
    all.sort();
    let kind = &all[usize::from(*choice) % all.len()];
    let _ = decode_protobuf(rest, Some(kind));
    if let Some(id) = kinds().type_of(kind) {
        let _ = protobuf::message(kinds(), id, rest);
    }
    if let Ok(read) = decode(rest, kind) {
        let _ = print::row(&read.kind, &read.value, 1_000_000_000);
        // Not an equality: moments before the year 0 are written, and not read, by the original too.
        let again = to_json(&read.kind, &read.value);
        if !again.contains("\"-0") && !again.contains("\"1000") {
            assert!(decode(again.as_bytes(), &read.kind).is_ok(), "{again}");
        }
    }
    if let Ok(Ok(quantity)) = std::str::from_utf8(rest).map(Quantity::parse) {
        let text = quantity.to_string();
        assert!(Quantity::parse(&text).is_ok(), "{text}");
    }
});
