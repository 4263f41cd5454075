//! What a refused patch has made of an object, as refusals show it.
//!
//! The original takes apart only what a patch goes through: there keys stand in the order of the alphabet, everywhere
//! else in the order of the types.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

/// Texts that are longer are shown in the order of the alphabet alone.
const LONGEST: usize = 64 << 10;

/// The text of a patched object, given the text of the live one and the places that the patch went through.
pub fn text(live: &str, patched: &Value, touched: &BTreeSet<String>) -> String {
    let known = if live.len() <= LONGEST { parts(live) } else { HashMap::new() };
    let mut out = String::new();
    write(patched, "", touched, &known, &mut out);
    out
}

/// The texts of all objects and lists in a text, by what they are.
fn parts(text: &str) -> HashMap<String, &str> {
    let mut known = HashMap::new();
    let (mut starts, mut quoted, mut escaped) = (Vec::new(), false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => starts.push(at),
            b'}' | b']' if !quoted => {
                let part = starts.pop().and_then(|start| text.get(start..=at)).unwrap_or_default();
                if let Ok(value) = serde_json::from_str::<Value>(part) {
                    known.insert(value.to_string(), part);
                }
            }
            _ => {}
        }
    }
    known
}

fn write(
    value: &Value,
    at: &str,
    touched: &BTreeSet<String>,
    known: &HashMap<String, &str>,
    out: &mut String,
) {
    match value {
        Value::Object(_) | Value::Array(_) if !touched.contains(at) => {
            let plain = value.to_string();
            out.push_str(known.get(&plain).copied().unwrap_or(&plain));
        }
        Value::Object(object) => {
            out.push('{');
            for (index, (key, value)) in object.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                write(value, &at, touched, known, out);
            }
            out.push('}');
        }
        Value::Array(list) => {
            out.push('[');
            for (index, value) in list.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                write(value, &format!("{at}/{index}"), touched, known, out);
            }
            out.push(']');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_was_touched_is_sorted() {
        let live = r#"{"kind":"Pod","metadata":{"name":"a","labels":{"z":"1","b":"2"}},"spec":{"b":[{"y":1,"x":2}],"a":3}}"#;
        let patched = json!({"kind": "Pod", "metadata": {"name": 5, "labels": {"z": "1", "b": "2"}},
            "spec": {"b": [{"y": 1, "x": 2}], "a": 3}, "moved": [{"y": 1, "x": 2}]});
        let touched = BTreeSet::from([String::new(), "/metadata".to_owned()]);
        assert_eq!(
            text(live, &patched, &touched),
            r#"{"kind":"Pod","metadata":{"labels":{"z":"1","b":"2"},"name":5},"moved":[{"y":1,"x":2}],"spec":{"b":[{"y":1,"x":2}],"a":3}}"#
        );
    }
}
