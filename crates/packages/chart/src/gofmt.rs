//! Go's `%v` and `%t` of values, as log lines and errors print them.

use podium_goyaml::{Node, Value};

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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Plain,
    Bool,
}

/// Go's `%v`.
pub(crate) fn plain(node: &Node) -> String {
    format(node, Verb::Plain)
}

/// Go's `%t`, which complains about everything but booleans.
pub(crate) fn as_bool(node: &Node) -> String {
    format(node, Verb::Bool)
}

/// What is still to be written.
enum Work<'a> {
    Node(&'a Node),
    Text(&'a str),
}

fn format(node: &Node, verb: Verb) -> String {
    let mut out = String::new();
    let mut work = vec![Work::Node(node)];
    let mut top = true;
    while let Some(item) = work.pop() {
        match item {
            Work::Text(text) => out.push_str(text),
            Work::Node(node) => match &node.value {
                Value::List(list) => {
                    out.push('[');
                    work.push(Work::Text("]"));
                    for (at, item) in list.iter().enumerate().rev() {
                        work.push(Work::Node(item));
                        if at > 0 {
                            work.push(Work::Text(" "));
                        }
                    }
                }
                Value::Map(map) => {
                    out.push_str("map[");
                    work.push(Work::Text("]"));
                    let entries: Vec<_> = map.iter().collect();
                    for (at, (key, value)) in entries.into_iter().enumerate().rev() {
                        work.push(Work::Node(value));
                        work.push(Work::Text(":"));
                        if verb == Verb::Bool {
                            // Keys are held against the verb as well.
                            work.push(Work::Text(")"));
                            work.push(Work::Text(key));
                            work.push(Work::Text("%!t(string="));
                        } else {
                            work.push(Work::Text(key));
                        }
                        if at > 0 {
                            work.push(Work::Text(" "));
                        }
                    }
                }
                scalar => out.push_str(&format_scalar(scalar, verb, top)),
            },
        }
        top = false;
    }
    out
}

fn format_scalar(value: &Value, verb: Verb, top: bool) -> String {
    let (kind, text) = match value {
        Value::Bool(b) => return b.to_string(),
        Value::Int(i) => ("int64", i.to_string()),
        Value::Float(f) => ("float64", float(*f)),
        Value::String(s) => ("string", s.to_string()),
        // Inside of a list or map `nil` is never held against the verb.
        _ if verb == Verb::Bool && top => return "%!t(<nil>)".to_owned(),
        _ => return "<nil>".to_owned(),
    };
    if verb == Verb::Plain { text } else { format!("%!t({kind}={text})") }
}

/// A float as `%v` prints it: the shortest digits, with an exponent below 1e-4 and from 1e6 on.
fn float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return format!("{value}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
