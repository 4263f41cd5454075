//! Reading recorded answers of Helm, for tests.

use podium_goyaml::{Node, Value, json};

/// The cases of a file, one JSON object per line.
pub(crate) fn cases(text: &str) -> Vec<Node> {
    text.lines().map(|line| json::parse(line.as_bytes(), 0).unwrap()).collect()
}

/// A text of a case; empty if it is not there.
pub(crate) fn text<'a>(case: &'a Node, key: &str) -> &'a str {
    case.get(key).and_then(Node::as_str).unwrap_or_default()
}

/// A list of a case; empty if it is not there.
pub(crate) fn list<'a>(case: &'a Node, key: &str) -> &'a [Node] {
    case.get(key).and_then(Node::as_list).map(|list| &**list).unwrap_or_default()
}

/// A value with its types: integers as they are, floats with an `f` behind them.
pub(crate) fn show(node: &Node) -> String {
    match &node.value {
        Value::Null => "null".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Int(i) => i.to_string(),
        Value::Float(f) => format!("{f:?}f"),
        Value::String(s) => show_text(s),
        Value::List(list) => format!("[{}]", list.iter().map(show).collect::<Vec<_>>().join(", ")),
        Value::Map(map) => {
            let entries = map.iter().map(|(key, node)| format!("{}: {}", show_text(key), show(node)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

fn show_text(text: &str) -> String {
    let node = Node::from(Value::from(text));
    String::from_utf8(json::to_raw_string(&&node).unwrap()).unwrap().trim_end().to_owned()
}
