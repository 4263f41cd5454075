//! Values as Go's JSON and Go's `fmt` write them: what field sets, annotations and error texts are made of.

use std::fmt::Write as _;

use podium_gotmpl::{fmt, gostr};
use serde_json::{Number, Value};

/// A number as Go keeps it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Num {
    Int(i64),
    Float(f64),
}

impl Num {
    pub(crate) fn of(number: &Number) -> Self {
        match number.as_i64() {
            Some(whole) => Num::Int(whole),
            None => Num::Float(number.as_f64().unwrap_or_default()),
        }
    }

    pub(crate) fn float(self) -> f64 {
        match self {
            Num::Int(whole) => whole as f64,
            Num::Float(float) => float,
        }
    }
}

/// Whether two values are the same; `1` and `1.0` are.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (Num::of(a), Num::of(b)) {
            (Num::Int(a), Num::Int(b)) => a == b,
            (a, b) => a.float() == b.float(),
        },
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && same(a, b))
        }
        _ => a == b,
    }
}

/// A number as Go's JSON writes it.
pub(crate) fn json_number(out: &mut String, number: Num) {
    let float = match number {
        Num::Int(whole) => {
            // Writing into text cannot fail.
            let _ = write!(out, "{whole}");
            return;
        }
        Num::Float(float) => float,
    };
    let size = float.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{float:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let sign = if exponent.starts_with('-') { "" } else { "+" };
        let _ = write!(out, "{digits}e{sign}{exponent}");
    } else {
        let _ = write!(out, "{float}");
    }
}

/// Text as Go's JSON writes it, quoted; `html` are the letters that need no escape but get one.
pub(crate) fn json_text(out: &mut String, text: &str, html: bool) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' | '&' if html => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            '\u{2028}' | '\u{2029}' if html => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// A value as Go's JSON writes it.
pub(crate) fn json(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(yes) => out.push_str(if *yes { "true" } else { "false" }),
        Value::Number(number) => json_number(out, Num::of(number)),
        Value::String(text) => json_text(out, text, true),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                json(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (at, (key, value)) in map.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                json_text(out, key, true);
                out.push(':');
                json(out, value);
            }
            out.push('}');
        }
    }
}

/// `%q` of a text.
pub(crate) fn quote(text: &str) -> String {
    String::from_utf8_lossy(&gostr::quote(text.as_bytes())).into_owned()
}

/// `%v` of a number.
pub(crate) fn plain_number(number: Num) -> String {
    match number {
        Num::Int(whole) => whole.to_string(),
        Num::Float(float) => fmt::format_float(float),
    }
}

/// A value as Go prints it: `%v`.
pub fn plain(value: &Value) -> String {
    let mut out = String::new();
    write_plain(&mut out, value);
    out
}

fn write_plain(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(yes) => out.push_str(if *yes { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&plain_number(Num::of(number))),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => plain_list(out, items),
        Value::Object(map) => {
            out.push_str("map[");
            for (at, (key, value)) in map.iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                write_plain(out, value);
            }
            out.push(']');
        }
    }
}

/// `%v` of a list.
pub(crate) fn plain_list(out: &mut String, items: &[Value]) {
    out.push('[');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(' ');
        }
        write_plain(out, item);
    }
    out.push(']');
}

/// `%#v` of a value.
pub(crate) fn literal(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::String(text) => quote(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(literal).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(map) => {
            let items: Vec<String> =
                map.iter().map(|(key, value)| format!("{}:{}", quote(key), literal(value))).collect();
            format!("map[string]interface {{}}{{{}}}", items.join(", "))
        }
        other => plain(other),
    }
}

/// `%T` of a value.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) => match Num::of(number) {
            Num::Int(_) => "int64",
            Num::Float(_) => "float64",
        },
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
