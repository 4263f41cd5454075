//! Which functions there are, and the ways between trees and values.

mod common;

use podium_gotmpl::{Cause, Heap, RENDERERS, Value as Data};
use podium_goyaml::{List, Map, Node, Value};
use podium_sprig::convert::{borrow_tree, from_tree, to_tree};
use podium_sprig::{Library, functions};

fn empty() -> Node {
    Value::Map(Map::new()).into()
}

#[test]
fn the_majors_have_as_many_functions_as_helm() {
    let count = |library| functions(&library).names().count() + RENDERERS.len();
    assert_eq!(count(Library::default()), 251);
    assert_eq!(count(Library { must_writers: false, durations: false, lint: false }), 238);
}

#[test]
fn a_linter_lets_missing_values_pass() {
    let lint = functions(&Library { lint: true, ..Library::default() });
    let text =
        r#"[{{ required "need" nil }}{{ fail "no" }}{{ required "x" 3 }}{{ lookup "v1" "Pod" "" "" }}]"#;
    assert_eq!(common::render(text, &lint, &empty(), 1 << 20).unwrap(), b"[3map[]]");
    let strict = functions(&Library::default());
    let cause = common::render(text, &strict, &empty(), 1 << 20).unwrap_err().cause;
    let Cause::Function { name, message } = cause else { panic!("{cause:?}") };
    assert_eq!((name.as_str(), &message[..]), ("required", &b"HELM_ERR_STARTneedHELM_ERR_END"[..]));
}

/// The local zone of the tests is New York, whose offset is that of winter; the answers are Go's.
#[test]
fn times_print_and_travel_as_go_has_them() {
    let functions = functions(&Library::default());
    for (text, want) in [
        (
            r#"{{ printf "%#v" (mustToDate "2006-01-02 MST" "2024-05-06 UTC") }}"#,
            "time.Date(2024, time.May, 6, 0, 0, 0, 0, time.UTC)",
        ),
        (
            r#"{{ printf "%#v" (toDate "2006-01-02" "2024-05-06") }}"#,
            "time.Date(2024, time.May, 6, 0, 0, 0, 0, time.Local)",
        ),
        (
            r#"{{ printf "%t" (mustToDate "2006-01-02 MST" "2024-05-06 UTC") }}"#,
            "{%!t(uint64=0) %!t(int64=63850550400) %!t(*time.Location=<nil>)}",
        ),
        (
            r#"{{ toYamlPretty (dict "a" (mustToDate "2006-01-02 MST" "2024-05-06 UTC")) }}"#,
            "a: 2024-05-06T00:00:00Z",
        ),
        (
            r#"{{ toToml (fromToml "a = 2024-05-06\nb = 07:08\nc = 2024-05-06 07:08:09") }}"#,
            "a = 2024-05-06\nb = 12:08:00\nc = 2024-05-06T12:08:09\n",
        ),
        (r#"{{ (fromToml "a = 2024-05-06").a }}"#, "2024-05-06 00:00:00 -0500 date-local"),
        (r#"{{ typeOf (fromToml "[[t]]\na = 1").t }}"#, "[]map[string]interface {}"),
        (r#"{{ typeOf (fromToml "t = [{a = 1}]").t }}"#, "[]interface {}"),
        (
            r#"{{ (mustToDate "2006-01-02 MST" "2024-05-06 UTC").MarshalBinary }}"#,
            "[1 0 0 0 14 221 202 20 128 0 0 0 0 255 255]",
        ),
    ] {
        let rendered = common::render(text, &functions, &empty(), 1 << 20).unwrap();
        assert_eq!(String::from_utf8_lossy(&rendered), want, "{text}");
    }
}

#[test]
fn a_tree_survives_the_way_to_a_value_and_back() {
    let text = r#"{"a":[1,-2.5,"x",null,true,[],{}],"b":{"c":{"d":[[["e"]]]}},"":""}"#;
    let tree = podium_goyaml::json::parse(text.as_bytes(), 0).unwrap();
    let heap = Heap::new(1 << 20);
    for value in [from_tree(&heap, &tree), borrow_tree(&heap, &tree)] {
        assert_eq!(to_tree(&heap, &value).unwrap(), tree);
    }
    let numbers = heap.list(vec![Data::Int(1), Data::Int64(2), Data::Uint64(u64::MAX), heap.bytes(*b"hi")]);
    let expected: List = [Value::Int(1), Value::Int(2), Value::Float(u64::MAX as f64), "aGk=".into()]
        .map(Node::from)
        .into_iter()
        .collect();
    assert_eq!(to_tree(&heap, &numbers).unwrap().as_list(), Some(&expected));
    assert_eq!(
        to_tree(&heap, &Data::Complex(0.0, 1.0)).unwrap_err().to_string(),
        "json: unsupported type: complex128"
    );
}

#[test]
fn a_tree_of_any_depth_becomes_a_value() {
    let mut tree = Node::default();
    for i in 0..200_000 {
        let mut map = Map::new();
        map.insert("k", tree);
        tree = if i % 2 == 0 {
            Value::Map(map).into()
        } else {
            Value::List(vec![Value::Map(map).into()].into()).into()
        };
    }
    let heap = Heap::new(1 << 30);
    assert!(borrow_tree(&heap, &tree).truth());
    assert!(to_tree(&heap, &from_tree(&heap, &tree)).unwrap_err().fatal);
}
