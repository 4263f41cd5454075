//! Conversion between YAML nodes, `serde_json` values and Go's JSON encoding.

use podium_goyaml::{Node, Value as YamlValue, json};
use serde_json::{Map, Number, Value};

/// 2^53: every integer below it has an exact `f64` representation.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;

/// Converts a YAML node to a JSON value. The decoder has bounded the nesting depth.
pub fn to_json(node: &Node) -> Value {
    match &node.value {
        YamlValue::Null => Value::Null,
        YamlValue::Bool(bool) => Value::Bool(*bool),
        YamlValue::Int(number) => Value::from(*number),
        YamlValue::Float(number) if number.fract() == 0.0 && number.abs() < MAX_EXACT_INTEGER => {
            Value::from(*number as i64)
        }
        YamlValue::Float(number) => Number::from_f64(*number).map_or(Value::Null, Value::Number),
        YamlValue::String(text) => Value::String(text.to_string()),
        YamlValue::List(list) => Value::Array(list.iter().map(to_json).collect()),
        YamlValue::Map(map) => {
            let entries = map.iter().map(|(key, value)| (key.to_string(), to_json(value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
    }
}

/// Converts a JSON value to a YAML node.
pub fn to_node(value: &Value) -> Node {
    let yaml = match value {
        Value::Null => YamlValue::Null,
        Value::Bool(bool) => YamlValue::Bool(*bool),
        Value::Number(number) => match number.as_i64() {
            Some(number) => YamlValue::Int(number),
            None => YamlValue::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => YamlValue::String(text.as_str().into()),
        Value::Array(all) => {
            let mut list = podium_goyaml::List::new();
            all.iter().for_each(|item| list.push(to_node(item)));
            YamlValue::List(list)
        }
        Value::Object(all) => {
            let mut map = podium_goyaml::Map::new();
            for (key, item) in all {
                map.insert(key.as_str(), to_node(item));
            }
            YamlValue::Map(map)
        }
    };
    Node::new(yaml, podium_goyaml::Pos::default())
}

/// Encodes a value as YAML.
pub fn to_yaml(value: &Value) -> Vec<u8> {
    podium_goyaml::emit::to_yaml(&&to_node(value)).unwrap_or_default()
}

/// Encodes a node like Go's `json.Marshal`, which escapes `<`, `>` and `&`.
pub fn marshal_json(node: &Node) -> String {
    json::to_string(&node).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
}

/// Encodes a JSON string without HTML escaping.
pub fn quote_json(text: &str) -> String {
    let node = Node::new(YamlValue::String(text.into()), podium_goyaml::Pos::default());
    json::to_raw_string(&&node).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
}

/// Replaces the HTML escapes in a JSON text by `<`, `>` and `&`.
pub fn unescape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(backslash) = rest.find('\\') {
        let (before, escape) = rest.split_at(backslash);
        out.push_str(before);
        let unescaped = match escape.get(..6) {
            Some("\\u003c") => Some('<'),
            Some("\\u003e") => Some('>'),
            Some("\\u0026") => Some('&'),
            _ => None,
        };
        // An escape is a backslash and at least one character, which may be a backslash itself.
        let consumed = if unescaped.is_some() { 6 } else { escape.len().min(2) };
        match unescaped {
            Some(unescaped) => out.push(unescaped),
            None => out.push_str(escape.get(..consumed).unwrap_or(escape)),
        }
        rest = escape.get(consumed..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// Returns the string at a JSON pointer, or an empty one.
pub fn string_at<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the array at a JSON pointer, or an empty one.
pub fn array_at<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{quote_json, unescape_html};

    #[test]
    fn unescapes_html_and_keeps_other_escapes() {
        assert_eq!(
            unescape_html(r#"{"a":"\u003c\\u003c\n\u00e9\"\u0026"}"#),
            r#"{"a":"<\\u003c\n\u00e9\"&"}"#
        );
        assert_eq!(quote_json("a<b>&\"\u{2028}"), "\"a<b>&\\\"\\u2028\"");
    }
}
