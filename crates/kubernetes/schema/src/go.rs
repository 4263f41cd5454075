//! Values as Go's programs show them.

use podium_gotmpl::fmt::format_float;
use podium_gotmpl::gostr;
use serde_json::{Number, Value};

/// A number as the API reads it: whole if it fits 64 bits and was written whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A whole number.
    Whole(i64),
    /// Any other.
    Broken(f64),
}

impl Figure {
    /// What a JSON number is.
    pub fn of(number: &Number) -> Self {
        number.as_i64().map_or_else(|| Self::Broken(number.as_f64().unwrap_or(f64::MAX)), Self::Whole)
    }

    /// As a number with a point.
    pub fn float(self) -> f64 {
        match self {
            Self::Whole(i) => i as f64,
            Self::Broken(f) => f,
        }
    }

    /// As `%v` shows it.
    pub fn plain(self) -> String {
        match self {
            Self::Whole(i) => i.to_string(),
            Self::Broken(f) => format_float(f),
        }
    }
}

/// Text in Go's quotes.
pub fn quote(text: &str) -> String {
    String::from_utf8(gostr::quote(text.as_bytes())).unwrap_or_default()
}

/// A value as errors of fields show it: text in quotes, single values plainly, the rest as JSON.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Number(number) => Figure::of(number).plain(),
        other => json(other),
    }
}

/// A value as `encoding/json` writes it.
pub fn json(value: &Value) -> String {
    let mut out = String::new();
    write_json(&mut out, value);
    out
}

fn write_json(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => match Figure::of(number) {
            Figure::Whole(i) => out.push_str(&i.to_string()),
            Figure::Broken(f) => out.push_str(&json_float(f)),
        },
        Value::String(text) => json_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (index, (name, field)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                json_text(out, name);
                out.push(':');
                write_json(out, field);
            }
            out.push('}');
        }
    }
}

/// A float in JSON: without exponent unless it is very large or small.
pub fn json_float(f: f64) -> String {
    let size = f.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{f:e}");
        return if size < 1.0 { text } else { text.replace('e', "e+") };
    }
    f.to_string()
}

/// Text in JSON, with the characters escaped that HTML minds.
pub fn json_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// A value as `%v` shows it.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Number(number) => Figure::of(number).plain(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields: Vec<String> = fields.iter().map(|(k, v)| format!("{k}:{}", plain(v))).collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}

/// Makes the numbers of a value what they are after it was stored once: those without a fraction become whole, and those
/// that do not fit 64 bits get a fraction.
pub fn settle(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let whole = number.is_i64();
            let float = number.as_f64().unwrap_or_default();
            if !whole && float.fract() == 0.0 && float.abs() < 9_223_372_036_854_774_784.0 {
                *number = Number::from(float as i64);
            } else if number.is_u64()
                && !whole
                && let Some(float) = Number::from_f64(float)
            {
                *number = float;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(settle),
        Value::Object(fields) => fields.values_mut().for_each(settle),
        _ => {}
    }
}

/// A float made whole as an amd64 machine does it: what does not fit becomes the smallest number.
pub fn whole(f: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&f) { f as i64 } else { i64::MIN }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_look_as_go_shows_them() {
        assert_eq!(shown(&json!("a'\u{1}<")), r#""a'\x01<""#);
        assert_eq!(shown(&json!(1e6)), "1e+06");
        assert_eq!(shown(&json!([1e6, 1e-7, 1e21, "<&"])), r#"[1000000,1e-7,1e+21,"\u003c\u0026"]"#);
        assert_eq!(plain(&json!({"a": [1, null, "x"]})), "map[a:[1 <nil> x]]");
        assert_eq!(whole(1e30), i64::MIN);
    }
}
