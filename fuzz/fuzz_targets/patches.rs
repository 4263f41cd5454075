//! Patches of all kinds on objects of the built-in kinds: a kind, an object and a patch, each on a line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use podium_fieldmanager::patch::{json, merge, strategic};
use podium_resources::kinds;
use podium_meta::GroupVersionKind;
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let Some((object, patch)) = text.split_once('\n') else { return };
    let (Ok(object), Ok(patch)) = (serde_json::from_str::<Value>(object), serde_json::from_str::<Value>(patch)) else {
        return;
    };
    if let Ok(once) = merge(object.clone(), patch.clone()) {
        // A merge patch that is applied twice changes nothing the second time.
        assert_eq!(merge(once.clone(), patch.clone()).ok(), Some(once));
    }
    let _ = json(object.clone(), &patch);
    let mut all: Vec<GroupVersionKind> = kinds().typed().collect();
    all.sort();
    let kind = &all[usize::from(*choice) % all.len()];
    if let (Some(shape), Value::Object(object), Value::Object(patch)) = (kinds().shape_of(kind), object, patch) {
        let _ = strategic(kinds().shapes(), shape, &|_| None, object, patch);
    }
});
