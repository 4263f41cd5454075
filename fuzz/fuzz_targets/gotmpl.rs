//! Any text as a template, with all functions but the slow ones, on a small budget.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use podium_gotmpl::{Functions, Heap, Limits, Machine, RENDERERS, Templates, Texts, Value};
use podium_sprig::Library;

/// Functions whose time is spent in numbers, not in input.
const SLOW: &[&str] =
    &["bcrypt", "derivePassword", "genCA", "genPrivateKey", "genSelfSignedCert", "genSignedCert", "htpasswd"];

static FUNCTIONS: LazyLock<Functions> = LazyLock::new(|| {
    let mut functions = podium_sprig::functions(&Library::default());
    functions.extend(RENDERERS);
    for name in SLOW {
        functions.remove(name);
    }
    functions
});

const LIMITS: Limits = Limits { steps: 200_000, depth: 2_000, output: 1 << 20, memory: 1 << 22 };

fuzz_target!(|text: &[u8]| {
    let mut templates = Templates::default();
    if templates.add(b"t", text, &FUNCTIONS).is_err() {
        return;
    }
    let texts = Texts::default();
    let heap = Heap::new(LIMITS.memory);
    let entries = [
        ("s".into(), Value::string("some text")),
        ("f".into(), Value::Float(1.5e6)),
        ("i".into(), Value::Int(-3)),
        ("b".into(), Value::Bool(true)),
        ("n".into(), Value::Nil),
        ("l".into(), heap.list(vec![Value::Float(1.0), Value::string("two"), Value::Nil])),
        ("w".into(), heap.strings(["a", "b"])),
    ];
    let map = heap.map(entries.into_iter().collect());
    // A map that contains itself is the hardest value there is.
    map.set("m".into(), Value::Map(map));
    let mut machine = Machine::new(&heap, &(), &templates, &FUNCTIONS, &texts, LIMITS);
    if let Err(error) = machine.render(b"t", Value::Map(map), <[u8]>::len) {
        let _ = error.to_string();
    }
});
