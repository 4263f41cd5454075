//! Answers of Helm 4.3.1, recorded once: its verdict on a schema and a value, and the text it would show.
//!
//! Columns: schema, value (a string `\u0001int:5` stands for an `int64`, `\u0001nan` for a NaN), and `OK` or `E` with the
//! text. Only answers that do not depend on the order of a Go map are recorded.

use podium_goyaml::{Node, Value, json};
use podium_jsonschema::{Error, Resolver, Schema};

const RECORDED: &str = include_str!("data/recorded.tsv");

/// Puts the numbers in that JSON cannot write.
fn unmark(node: &mut Node) {
    match &mut node.value {
        Value::String(text) => {
            if let Some(int) = text.strip_prefix("\u{1}int:") {
                node.value = Value::Int(int.parse().unwrap_or_default());
            } else if &**text == "\u{1}nan" {
                node.value = Value::Float(f64::NAN);
            }
        }
        Value::List(list) => list.as_vec_mut().iter_mut().for_each(unmark),
        Value::Map(map) => map.iter_mut().for_each(|(_, node)| unmark(node)),
        _ => {}
    }
}

fn answer(schema: &str, value: &str) -> String {
    let mut value = json::parse(value.as_bytes(), 0).unwrap_or_default();
    unmark(&mut value);
    let text = match Schema::compile(schema.as_bytes(), None) {
        Err(error) => format!("E{error}"),
        Ok(schema) => match schema.validate(&value) {
            Ok(()) => "OK".into(),
            Err(error) => format!("E{}", error.helm_text()),
        },
    };
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t")
}

#[test]
fn every_recorded_answer_is_ours_too() {
    let mut count = 0;
    for line in RECORDED.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let [schema, value, want] = columns[..] else { panic!("{line}") };
        assert_eq!(answer(schema, value), want, "{schema} {value}");
        count += 1;
    }
    assert!(count > 600);
}

fn values(text: &str) -> Node {
    json::parse(text.as_bytes(), 0).unwrap_or_default()
}

/// A text that nests a hundred thousand times would not get past any reader.
fn nested(levels: usize) -> Node {
    (0..levels).fold(Node::from(Value::Bool(true)), |node, _| {
        let mut map = podium_goyaml::Map::new();
        map.insert("a", node);
        Value::Map(map).into()
    })
}

#[test]
fn a_reference_to_another_document_is_named_and_not_followed() {
    let schema = br#"{"properties": {"a": {"$ref": "http://example.com/a.json#/x"}}}"#;
    let error = Schema::compile(schema, None).unwrap_err();
    let want = "failing loading \"http://example.com/a.json\": references to other documents are not followed; copy what it defines into the chart's schema";
    assert_eq!(error.to_string(), want);
    assert!(matches!(error, Error::Load { url, .. } if url == "http://example.com/a.json"));
}

#[test]
fn a_resolver_supplies_documents_and_names_what_it_cannot() {
    let load = |url: &str| match url {
        "http://example.com/a.json" => Ok(br#"{"x": {"type": "string", "minLength": 2}}"#.to_vec()),
        "urn:known" => Ok(b"false".to_vec()),
        _ => Err(format!("nobody knows {url}")),
    };
    let resolver: &dyn Resolver = &load;
    let compile = |text: &str| Schema::compile(text.as_bytes(), Some(resolver));
    let schema = compile(r#"{"properties": {"a": {"$ref": "http://example.com/a.json#/x"}}}"#).unwrap();
    let error = schema.validate(&values(r#"{"a": "x"}"#)).unwrap_err();
    assert_eq!(error.helm_text(), "- at '/a': minLength: got 1, want 2\n");
    assert!(compile(r#"{"$ref": "urn:known"}"#).unwrap().validate(&values("{}")).is_err());
    assert!(compile(r#"{"$ref": "urn:unknown"}"#).unwrap().validate(&values("{}")).is_ok());
    let error = compile(r#"{"$ref": "b.json"}"#).unwrap_err();
    assert_eq!(error.to_string(), "failing loading \"file:///b.json\": nobody knows file:///b.json");
}

#[test]
fn hostile_schemas_and_values_end_in_time_on_a_small_stack() {
    let recursive = r##"{"properties": {"a": {"$ref": "#"}}}"##.to_owned();
    let deep = |open: &str, levels: usize| format!("{}true{}", open.repeat(levels), "}".repeat(levels));
    let too_deep = "unable to validate schema: schema and value nest too deeply";
    let not_valid =
        |reason: &str| format!("\"file:///values.schema.json#\" is not valid against metaschema: {reason}");
    let cases = [
        (recursive.clone(), 9_000, too_deep.to_owned()),
        (deep("{\"not\":", 450), 1, not_valid(too_deep)),
        (deep("{\"not\":", 50_000), 1, "invalid character '{' exceeded max depth".to_owned()),
        (deep("{\"not\":", 5_000), 1, "schema nests too deeply: more than 500 levels".to_owned()),
        (
            format!("{{\"const\": {}{}}}", "[".repeat(490), "]".repeat(490)),
            500,
            "- at '': 'const' failed\n".to_owned(),
        ),
    ];
    let work = move || {
        for (schema, levels, want) in cases {
            let got = match Schema::compile(schema.as_bytes(), None) {
                Err(error) => error.to_string(),
                Ok(schema) => schema.validate(&nested(levels)).unwrap_err().helm_text(),
            };
            assert_eq!(got, want);
        }
        let schema = Schema::compile(recursive.as_bytes(), None).unwrap();
        assert!(schema.validate(&nested(190)).is_ok());
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap();
}

#[test]
fn one_schema_serves_many_threads() {
    let schema = Schema::compile(br#"{"additionalProperties": {"type": "integer"}}"#, None).unwrap();
    std::thread::scope(|scope| {
        for i in 0..4 {
            let schema = &schema;
            scope.spawn(move || {
                assert!(schema.validate(&values(&format!(r#"{{"a": {i}}}"#))).is_ok());
                let error = schema.validate(&values(r#"{"a": "x", "b": [1]}"#)).unwrap_err();
                let places: Vec<String> = error.causes().iter().map(|cause| cause.instance()).collect();
                assert_eq!(places, ["/a", "/b"]);
                assert_eq!(error.causes()[0].message(), "got string, want integer");
            });
        }
    });
}
