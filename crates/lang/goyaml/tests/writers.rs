//! Every line of `recorded/writers.jsonl` is `[writer, document, "ok" | "error" | "panic", text]`, where the text is
//! what the Go original answered.

use std::borrow::Cow;

use podium_goyaml::{Doc, List, Node, Value, View, emit, json, toml};

fn write(writer: &str, node: &Node) -> (&'static str, String) {
    let doc = &node;
    let result = match writer {
        "yaml" => emit::to_yaml(doc).map_err(|e| ("error", e.to_string())),
        "pretty" => emit::to_yaml_pretty(doc).map_err(|e| ("error", e.to_string())),
        "json" => json::to_string(doc).map_err(|e| ("error", e.to_string())),
        "indented" => json::to_pretty(doc).map_err(|e| ("error", e.to_string())),
        "raw" => json::to_raw_string(doc).map_err(|e| ("error", e.to_string())),
        "toml" => toml::to_string(doc)
            .map_err(|e| (if e == toml::Error::Nil { "panic" } else { "error" }, e.to_string())),
        other => Err(("unknown writer", other.to_owned())),
    };
    result.map_or_else(|error| error, |text| ("ok", String::from_utf8_lossy(&text).into_owned()))
}

#[test]
fn documents_are_written_as_go_writes_them() {
    let mut count = 0;
    for line in include_str!("recorded/writers.jsonl").lines() {
        let case = json::parse(line.as_bytes(), 0).unwrap();
        let [writer, node, outcome, text] = &case.as_list().unwrap()[..] else { panic!("bad line {line}") };
        let expected = (outcome.as_str().unwrap(), text.as_str().unwrap().to_owned());
        assert_eq!(write(writer.as_str().unwrap(), node), expected, "{line}");
        count += 1;
    }
    assert!(count > 500, "only {count} cases were read");
}

/// What a tree cannot hold: other integers, stray bytes, functions.
enum Go {
    Int(i64),
    Uint(u64),
    Float(f64),
    Bytes(&'static [u8]),
    Func,
    List(Vec<Go>),
    Map(Vec<(&'static [u8], Go)>),
}

impl Doc for &Go {
    fn view(&self) -> View<'_, Self> {
        match self {
            Go::Int(i) => View::Int(*i),
            Go::Uint(u) => View::Uint(*u),
            Go::Float(f) => View::Float(*f),
            Go::Bytes(b) => View::Str(Cow::Borrowed(b)),
            Go::Func => View::Unsupported("json: unsupported type: func()".to_owned()),
            Go::List(l) => View::List(l.iter().collect()),
            Go::Map(m) => View::Map(m.iter().map(|(k, v)| (Cow::Borrowed(*k), v)).collect()),
        }
    }
}

fn shown<E: std::fmt::Display>(result: Result<Vec<u8>, E>) -> String {
    result.map_or_else(|e| format!("! {e}"), |text| String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn go_types_keep_their_differences() {
    let map = |key, value| Go::Map(vec![(key, value)]);
    let long = b"\xff".repeat(60).leak();
    let base64 = format!("!!binary |\n  {}\n  {}\n", "/".repeat(70), "/".repeat(10));
    for (doc, yaml, pretty, json, toml_text) in [
        (
            Go::Int(i64::MIN),
            "-9223372036854775808\n",
            "-9223372036854775808\n",
            "-9223372036854775808",
            "-9223372036854775808",
        ),
        (
            Go::Uint(u64::MAX),
            "18446744073709551615\n",
            "18446744073709551615\n",
            "18446744073709551615",
            "18446744073709551615",
        ),
        (Go::Int(1_000_000), "1000000\n", "1000000\n", "1000000", "1000000"),
        (Go::Float(1e6), "1000000\n", "1e+06\n", "1000000", "1e+06"),
        (map(b"b", Go::Float(-0.0)), "b: 0\n", "b: -0\n", "{\"b\":-0}", "b = -0.0\n"),
        (
            Go::Float(f64::NAN),
            "! error marshaling into JSON: json: unsupported value: NaN",
            ".nan\n",
            "! json: unsupported value: NaN",
            "nan",
        ),
        (
            Go::Float(f64::NEG_INFINITY),
            "! error marshaling into JSON: json: unsupported value: -Inf",
            "-.inf\n",
            "! json: unsupported value: -Inf",
            "-inf",
        ),
        (
            Go::Func,
            "! error marshaling into JSON: json: unsupported type: func()",
            "! cannot marshal type: func()",
            "! json: unsupported type: func()",
            "! unsupported type for key '': func",
        ),
        (
            Go::List(vec![Go::Func]),
            "! error marshaling into JSON: json: unsupported type: func()",
            "! cannot marshal type: func()",
            "! json: unsupported type: func()",
            "! unsupported type: func",
        ),
        (
            map(b"a", Go::Bytes(b"\xff\xfe")),
            "a: \u{fffd}\u{fffd}\n",
            "a: !!binary //4=\n",
            "{\"a\":\"\\ufffd\\ufffd\"}",
            "a = \"\u{fffd}\u{fffd}\"\n",
        ),
        (
            map(b"a", Go::Bytes(long)),
            &format!("a: {}\n", "\u{fffd}".repeat(60)),
            &format!("a: {base64}"),
            &format!("{{\"a\":\"{}\"}}", "\\ufffd".repeat(60)),
            &format!("a = \"{}\"\n", "\u{fffd}".repeat(60)),
        ),
        (
            map(long, Go::Int(1)),
            &format!("? {}\n: 1\n", "\u{fffd}".repeat(60)),
            &format!("? {base64}: 1\n"),
            &format!("{{\"{}\":1}}", "\\ufffd".repeat(60)),
            &format!("\"{}\" = 1\n", "\u{fffd}".repeat(60)),
        ),
    ] {
        assert_eq!(shown(emit::to_yaml(&&doc)), yaml);
        assert_eq!(shown(emit::to_yaml_pretty(&&doc)), pretty);
        assert_eq!(shown(json::to_string(&&doc)), json);
        assert_eq!(shown(toml::to_string(&&doc)), toml_text);
    }
}

#[test]
fn of_keys_that_become_equal_the_last_stays() {
    let doc = Go::Map(vec![(b"\xff", Go::Int(1)), (b"\xfe", Go::Int(2))]);
    assert_eq!(shown(emit::to_yaml(&&doc)), "\u{fffd}: 1\n");
    let doc = Go::Map(vec![(b"\xff", Go::Int(1)), (b"\xfe", Go::Func)]);
    assert_eq!(shown(emit::to_yaml(&&doc)), "! error marshaling into JSON: json: unsupported type: func()");
}

#[test]
fn the_first_error_is_that_of_the_json_form() {
    // In the order of YAML, a9 comes before a10.
    let doc = Go::Map(vec![(b"a9", Go::Bytes(b"\x7f")), (b"a10", Go::Float(f64::INFINITY))]);
    assert_eq!(shown(emit::to_yaml(&&doc)), "! error marshaling into JSON: json: unsupported value: +Inf");
    let doc = Go::Map(vec![(b"a9", Go::Func), (b"a10", Go::Float(f64::INFINITY))]);
    assert_eq!(shown(emit::to_yaml(&&doc)), "! error marshaling into JSON: json: unsupported value: +Inf");
}

#[test]
fn ten_thousand_levels_are_written_and_no_more() {
    fn nested(levels: usize) -> Node {
        let mut node = Node::from(Value::Null);
        for _ in 0..levels {
            node = Value::List(List::from(vec![node])).into();
        }
        node
    }
    assert!(emit::to_yaml(&&nested(10_000)).is_ok());
    assert_eq!(shown(emit::to_yaml(&&nested(10_001))), "! yaml: exceeded max depth of 10000");
    assert!(emit::to_yaml_pretty(&&nested(10_001)).is_err());
    assert!(toml::to_string(&&nested(10_001)).is_err());
    let cycle =
        "! error marshaling into JSON: json: unsupported value: encountered a cycle via []interface {}";
    assert_eq!(shown(emit::to_yaml(&&nested(20_000))), cycle);
}
