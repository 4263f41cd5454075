//! From what was written to what programs work with.

use podium_goyaml::{Node, Value as Written, json};
use serde_json::{Map, Number, Value};

/// The largest number below which every whole one is exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A value as JSON; the reader has seen to it that it is not deep.
pub fn plain(node: &Node) -> Value {
    match &node.value {
        Written::Null => Value::Null,
        Written::Bool(truth) => Value::Bool(*truth),
        Written::Int(number) => Value::from(*number),
        Written::Float(number) if number.fract() == 0.0 && number.abs() < EXACT => {
            Value::from(*number as i64)
        }
        Written::Float(number) => Number::from_f64(*number).map_or(Value::Null, Value::Number),
        Written::String(text) => Value::String(text.to_string()),
        Written::List(list) => Value::Array(list.iter().map(plain).collect()),
        Written::Map(map) => {
            let entries = map.iter().map(|(key, value)| (key.to_string(), plain(value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
    }
}

/// A value as what is written.
pub fn tree(value: &Value) -> Node {
    let written = match value {
        Value::Null => Written::Null,
        Value::Bool(truth) => Written::Bool(*truth),
        Value::Number(number) => match number.as_i64() {
            Some(number) => Written::Int(number),
            None => Written::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Written::String(text.as_str().into()),
        Value::Array(all) => {
            let mut list = podium_goyaml::List::new();
            all.iter().for_each(|one| list.push(tree(one)));
            Written::List(list)
        }
        Value::Object(all) => {
            let mut map = podium_goyaml::Map::new();
            for (key, one) in all {
                map.insert(key.as_str(), tree(one));
            }
            Written::Map(map)
        }
    };
    Node::new(written, podium_goyaml::Pos::default())
}

/// A value as a file in YAML.
pub fn to_yaml(value: &Value) -> Vec<u8> {
    podium_goyaml::emit::to_yaml(&&tree(value)).unwrap_or_default()
}

/// A value in JSON as Go's `json.Marshal` writes it: signs of HTML are escaped.
pub fn marshal(node: &Node) -> String {
    json::to_string(&node).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
}

/// A text in quotation marks, signs of HTML as they are.
pub fn quoted(text: &str) -> String {
    let node = Node::new(Written::String(text.into()), podium_goyaml::Pos::default());
    json::to_raw_string(&&node).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
}

/// JSON without the escapes of the signs of HTML.
pub fn without_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (plain, escape) = rest.split_at(at);
        out.push_str(plain);
        let sign = match escape.get(..6) {
            Some("\\u003c") => Some('<'),
            Some("\\u003e") => Some('>'),
            Some("\\u0026") => Some('&'),
            _ => None,
        };
        // An escape is a backslash and at least one sign, which may be a backslash itself.
        let taken = if sign.is_some() { 6 } else { escape.len().min(2) };
        match sign {
            Some(sign) => out.push(sign),
            None => out.push_str(escape.get(..taken).unwrap_or(escape)),
        }
        rest = escape.get(taken..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// The text at a path of keys.
pub fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The list at a path of keys.
pub fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{quoted, without_html};

    #[test]
    fn escapes_of_html_go_and_others_stay() {
        assert_eq!(
            without_html(r#"{"a":"\u003c\\u003c\n\u00e9\"\u0026"}"#),
            r#"{"a":"<\\u003c\n\u00e9\"&"}"#
        );
        assert_eq!(quoted("a<b>&\"\u{2028}"), "\"a<b>&\\\"\\u2028\"");
    }
}
