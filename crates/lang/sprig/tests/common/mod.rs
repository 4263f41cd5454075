//! Rendering a text with the library's functions.

use podium_gotmpl::types::ANY;
use podium_gotmpl::{
    Entries, Functions, Heap, Limits, Machine, RenderError, Shape, Templates, Texts, Type, Value, World,
};
use podium_goyaml::Node;

/// The type of `.Values` in Helm 4.
static VALUES: Type = Type::defined("common.Values", Shape::Map(&ANY), &[]);

/// A world that stands still in New York.
pub struct Still;

impl World for Still {
    fn now(&self) -> (i64, u32) {
        (1_700_000_000, 0)
    }

    fn local_zone(&self) -> &str {
        "America/New_York"
    }
}

/// Renders a text with values, in so many bytes of memory.
#[allow(clippy::unwrap_used)]
pub fn render(
    text: &str,
    functions: &Functions,
    values: &Node,
    memory: usize,
) -> Result<Vec<u8>, RenderError> {
    let mut templates = Templates::default();
    templates.add(b"t", text.as_bytes(), functions).unwrap();
    let texts = Texts::default();
    let heap = Heap::new(memory);
    let values = podium_sprig::convert::borrow_tree(&heap, values);
    let values = heap.retyped(values.as_map().unwrap(), &VALUES);
    let dot = heap.map(Entries::from([("Values".into(), Value::Map(values))]));
    let mut machine = Machine::new(&heap, &Still, &templates, functions, &texts, Limits::default());
    machine.render(b"t", Value::Map(dot), <[u8]>::to_vec)
}
