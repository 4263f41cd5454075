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
