//! Every line of `recorded/json_toml.jsonl` is `[reader, text, "ok" | "error", value or message]`, where the last is
//! what the Go original answered. The message of a JSON syntax error ends with its offset; a JSON mapping has a value
//! and a message, which is empty if there was no error.

use podium_goyaml::{List, Node, Value, json, toml};

/// The value on one line: integers and whole floats look the same.
fn shown(value: impl Into<Node>) -> String {
    String::from_utf8_lossy(&json::to_string(&&value.into()).unwrap_or_default()).into_owned()
}

fn with_offset(error: &json::Error) -> String {
    match error {
        json::Error::Character { offset, .. } | json::Error::End { offset } => format!("{error} @{offset}"),
        _ => error.to_string(),
    }
}

fn read(reader: &str, text: &str) -> (&'static str, String, String) {
    let text = text.as_bytes();
    let done = |value: String| ("ok", value, String::new());
    let failed = |message: String| ("error", String::new(), message);
    let list = |l: Option<List>| l.map_or(Value::Null, Value::List);
    match reader {
        "json" => json::parse(text, 0).map_or_else(|e| failed(with_offset(&e)), |n| done(shown(n))),
        "map" => {
            let (map, error) = json::parse_map(text, 0);
            let value = map.map_or(Value::Null, Value::Map);
            ("ok", shown(value), error.map(|e| e.to_string()).unwrap_or_default())
        }
        "list" => json::parse_list(text, 0).map_or_else(|e| failed(e.to_string()), |l| done(shown(list(l)))),
        "prefix" => {
            json::parse_prefix(text, 0).map_or_else(|e| failed(e.to_string()), |(n, _)| done(shown(n)))
        }
        "toml" => toml::parse(text, 0).map_or_else(|e| failed(e.to_string()), |m| done(shown(Value::Map(m)))),
        other => ("unknown reader", other.to_owned(), String::new()),
    }
}

#[test]
fn texts_are_read_as_go_reads_them() {
    let mut count = 0;
    for line in include_str!("recorded/json_toml.jsonl").lines() {
        let case = json::parse(line.as_bytes(), 0).unwrap();
        let [reader, text, outcome, answer @ ..] = &case.as_list().unwrap()[..] else {
            panic!("bad line {line}")
        };
        let string = |n: &Node| n.as_str().unwrap().to_owned();
        let expected = match (outcome.as_str().unwrap(), answer) {
            ("ok", [value]) => ("ok", shown(value.clone()), String::new()),
            ("ok", [value, message]) => ("ok", shown(value.clone()), string(message)),
            (_, [message]) => ("error", String::new(), string(message)),
            _ => panic!("bad line {line}"),
        };
        assert_eq!(read(reader.as_str().unwrap(), text.as_str().unwrap()), expected, "{line}");
        count += 1;
    }
    assert!(count > 300, "only {count} cases were read");
}

#[test]
fn positions_are_lines_and_columns() {
    let node = json::parse(b"{\"a\": [1,\n  {\"b\": true}]}", 7).unwrap();
    let b = &node.get("a").unwrap().as_list().unwrap()[1];
    assert_eq!((b.pos.source, b.pos.line, b.pos.column), (7, 2, 3));
    let map = toml::parse(b"[t]\n  x = [ 1,\n    { y = 'z' } ]\n", 8).unwrap();
    let x = map.get("t").unwrap().get("x").unwrap();
    let y = &x.as_list().unwrap()[1];
    assert_eq!((x.pos.source, x.pos.line, x.pos.column), (8, 2, 7));
    assert_eq!((y.pos.line, y.get("y").unwrap().pos.line), (3, 3));
}

#[test]
fn the_end_of_the_first_value_is_found() {
    let (node, len) = json::parse_prefix(b" {\"a\":1} ,b=2", 0).unwrap();
    assert_eq!((shown(node), len), ("{\"a\":1}".to_owned(), 8));
}

#[test]
fn a_hundred_thousand_levels_are_no_danger() {
    let deep = b"[".repeat(100_000);
    assert_eq!(json::parse(&deep, 0).unwrap_err().to_string(), "invalid character '[' exceeded max depth");
    let toml_text = [b"a=".to_vec(), b"[".repeat(100_000), b"]".repeat(100_000)].concat();
    drop(toml::parse(&toml_text, 0).unwrap());
    let keys = [b"a.".repeat(100_000), b"b=1".to_vec()].concat();
    drop(toml::parse(&keys, 0).unwrap());
}
