//! Lines of `--set` and its relatives, one after the other, into the same values.
#![no_main]

use libfuzzer_sys::fuzz_target;
use podium_chart::dialect::{HELM3, HELM4};
use podium_chart::strvals::{Flag, apply};
use podium_goyaml::{Map, Node, Value, emit};

fuzz_target!(|input: &[u8]| {
    let Some((choice, text)) = input.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let flags = [Flag::Set, Flag::SetString, Flag::SetJson, Flag::SetLiteral, Flag::SetFile];
    let dialect = if choice & 0x80 == 0 { &HELM4 } else { &HELM3 };
    let mut values = Map::default();
    for (at, line) in text.split('\n').enumerate() {
        let flag = flags[(usize::from(choice & 0x7f) + at) % flags.len()];
        let mut read = |path: &str| Ok(path.to_owned());
        if let Err(error) = apply(flag, line, &mut values, 0, dialect, &mut read) {
            let _ = error.to_string();
        }
    }
    let node = Node { value: Value::Map(values), pos: Default::default() };
    let _ = emit::to_yaml(&&node);
});
