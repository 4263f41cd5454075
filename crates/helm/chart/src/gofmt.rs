//! Go's `%v` and `%t` of values, as log lines and errors print them.

use podium_gotmpl::{Heap, fmt};
use podium_goyaml::{Node, Value};
use podium_sprig::convert;

/// What printing one value may use.
const BUDGET: usize = 256 << 20;

/// The Go type of a value; nothing for `nil`.
pub(crate) fn type_name(node: &Node) -> Option<&'static str> {
    Some(match &node.value {
        Value::Null => return None,
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]interface {}",
    })
}

/// Go's `%v`.
pub(crate) fn plain(node: &Node) -> String {
    format(node, b"%v")
}

/// Go's `%t`, which complains about everything but booleans.
pub(crate) fn as_bool(node: &Node) -> String {
    format(node, b"%t")
}

fn format(node: &Node, verb: &[u8]) -> String {
    let heap = Heap::new(BUDGET);
    let value = convert::borrow_tree(&heap, node);
    String::from_utf8_lossy(&fmt::sprintf(verb, &[value])).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use podium_goyaml::yaml;

    #[test]
    fn values_print_as_go_prints_them() {
        let node = yaml::parse(b"{a: 1e6, b: [x, null, true]}", 0).unwrap();
        assert_eq!(plain(&node), "map[a:1e+06 b:[x <nil> true]]");
        assert_eq!(as_bool(&Node::default()), "%!t(<nil>)");
        assert_eq!(as_bool(&yaml::parse(b"3", 0).unwrap()), "%!t(float64=3)");
    }
}
