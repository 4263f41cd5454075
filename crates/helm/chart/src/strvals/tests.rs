use podium_goyaml::{Node, Pos, Value};

use super::*;
use crate::dialect::{HELM3, HELM4};
use crate::testing::{cases, list, show, text};

fn read(path: &str) -> Result<String, String> {
    if path.starts_with('!') { Err(format!("no file {path}")) } else { Ok(format!("<{path}>")) }
}

fn run(case: &Node, dialect: &Dialect) -> String {
    let mut values = case.get("base").and_then(Node::as_map).cloned().unwrap_or_default();
    for line in list(case, "lines") {
        let [kind, line] = &**line.as_list().unwrap() else { panic!("a line has two parts") };
        let flag = match kind.as_str().unwrap() {
            "set" => Flag::Set,
            "string" => Flag::SetString,
            "json" => Flag::SetJson,
            "file" => Flag::SetFile,
            _ => Flag::SetLiteral,
        };
        if let Err(error) = apply(flag, line.as_str().unwrap(), &mut values, 1, dialect, &mut read) {
            // Helm does not show what is wrong with JSON.
            return if flag == Flag::SetJson { "error".to_owned() } else { format!("error: {error}") };
        }
    }
    show(&Value::Map(values).into())
}

#[test]
fn answers_equal_recorded_ones_of_both_majors() {
    let all = cases(include_str!("../../testdata/strvals.jsonl"));
    assert!(all.len() > 150);
    for case in all {
        let helm4 = text(&case, "helm4");
        let helm3 = case.get("helm3").and_then(Node::as_str).unwrap_or(helm4);
        assert_eq!(run(&case, &HELM4), helm4, "{case:?}");
        assert_eq!(run(&case, &HELM3), helm3, "{case:?}");
    }
}

fn set(line: &str) -> Result<Map, Error> {
    let mut values = Map::new();
    apply(Flag::Set, line, &mut values, 7, &HELM4, &mut read).map(|()| values)
}

#[test]
fn values_know_their_column() {
    let values = set("a=1,b[0].c={x,y}").unwrap();
    assert_eq!(values.get("a").unwrap().pos, Pos { source: 7, line: 1, column: 3 });
    let items = values.get("b").unwrap().as_list().unwrap()[0].get("c").unwrap().as_list().unwrap().clone();
    assert_eq!(items.iter().map(|item| item.pos.column).collect::<Vec<_>>(), [13, 15]);
}

#[test]
fn json_values_know_their_column() {
    let mut values = Map::new();
    apply(Flag::SetJson, "a={\"b\":1}", &mut values, 7, &HELM4, &mut read).unwrap();
    let inner = values.get("a").unwrap();
    assert_eq!((inner.pos.column, inner.get("b").unwrap().pos.column), (3, 8));
}

#[test]
fn deep_paths_need_no_stack() {
    let deep = format!("a{}=1", "[0]".repeat(40_000));
    let values = set(&deep).unwrap();
    assert_eq!(values.len(), 1);
    let deep = format!("a{}=1", "[0].b".repeat(20_000));
    assert!(set(&deep).is_ok());
}

#[test]
fn one_line_cannot_fill_the_memory() {
    let greedy = format!("a{}=1", "[65536]".repeat(100));
    assert_eq!(set(&greedy).unwrap_err(), Error::TooManyEntries);
    assert_eq!(set("a[65536]=1").unwrap().get("a").unwrap().as_list().unwrap().len(), MAX_INDEX + 1);
}
