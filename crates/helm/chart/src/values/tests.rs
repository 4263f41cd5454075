use std::sync::Arc;

use podium_goyaml::{Map, Node, Pos, yaml};

use super::*;
use crate::chart::Chart;
use crate::dependencies::process;
use crate::dialect::{Dialect, HELM3, HELM4};
use crate::metadata::{Dependency, ImportValue, Metadata};
use crate::testing::{cases, list, show, text};
use crate::view::{ChartId, View};

fn strings(node: &Node, key: &str) -> Vec<String> {
    list(node, key).iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}

fn dependency(node: &Node) -> Dependency {
    Dependency {
        name: text(node, "name").to_owned(),
        version: text(node, "version").to_owned(),
        condition: text(node, "condition").to_owned(),
        alias: text(node, "alias").to_owned(),
        tags: strings(node, "tags"),
        import_values: list(node, "import").iter().cloned().map(ImportValue::Written).collect(),
        ..Dependency::default()
    }
}

fn values(map: &Map) -> Values {
    Values::from_map(map, Pos::default()).unwrap()
}

fn chart(node: &Node) -> Arc<Chart> {
    let requirements = node.get("meta").and_then(Node::as_list);
    Arc::new(Chart {
        metadata: Metadata {
            name: text(node, "name").to_owned(),
            version: text(node, "version").to_owned(),
            dependencies: requirements.map(|list| list.iter().map(dependency).collect()),
            ..Metadata::default()
        },
        lock: None,
        templates: Vec::new(),
        values: node.get("values").and_then(Node::as_map).map(|map| Arc::new(values(map))),
        schema: None,
        files: Vec::new(),
        raw: Vec::new(),
        dependencies: list(node, "deps").iter().map(chart).collect(),
    })
}

fn paths(view: &View, id: ChartId, out: &mut Vec<String>) {
    out.push(view.full_path(id));
    view.dependencies(id).iter().for_each(|inner| paths(view, *inner, out));
}

fn check(case: &Node, dialect: &Dialect, want: &Node) {
    let mut view = View::new(&chart(case.get("chart").unwrap()));
    let set = values(case.get("set").and_then(Node::as_map).unwrap());
    let mut warnings = Vec::new();
    let processed = match text(case, "op") {
        "process" => process(&mut view, &set, dialect, &mut warnings),
        _ => Ok(()),
    };
    let after = |view: &View, warnings: &mut Vec<_>| view.coalesce_values(&set, dialect, warnings);
    let answer = match (&processed, text(case, "op")) {
        (Err(error), _) => Err(error.to_string()),
        (Ok(()), "process") => Ok(match after(&view, &mut warnings) {
            Ok(values) => show(&values.to_node().unwrap()),
            Err(error) => format!("error: {error}"),
        }),
        _ => match after(&view, &mut warnings) {
            Ok(values) => Ok(show(&values.to_node().unwrap())),
            Err(error) => Err(error.to_string()),
        },
    };
    match &answer {
        Ok(values) => assert_eq!(values, text(want, "values"), "{case:?}"),
        Err(error) => assert_eq!(error, text(want, "error"), "{case:?}"),
    }
    let mut log: Vec<_> = warnings.iter().map(|warning| warning.line(dialect)).collect();
    log.sort();
    assert_eq!(log, strings(want, "log"), "{case:?}");
    if answer.is_ok() && text(case, "op") == "process" {
        let mut is = Vec::new();
        paths(&view, view.root(), &mut is);
        assert_eq!(is, strings(want, "paths"), "{case:?}");
    }
}

#[test]
fn merging_and_dependencies_equal_recorded_answers() {
    let all = cases(include_str!("../../testdata/values.jsonl"));
    assert!(all.len() > 60);
    for case in all {
        check(&case, &HELM4, case.get("helm4").unwrap());
        check(&case, &HELM3, case.get("helm3").unwrap());
    }
}

fn parse(text: &str) -> Node {
    yaml::parse(text.as_bytes(), 0).unwrap()
}

fn coalesced(chart_text: &str, set: &str) -> Values {
    let view = View::new(&chart(&parse(chart_text)));
    let set = values(parse(set).as_map().unwrap());
    view.coalesce_values(&set, &HELM4, &mut Vec::new()).unwrap()
}

#[test]
fn nested_global_tables_are_one_table_in_parent_and_subchart() {
    let values = coalesced("{name: root, deps: [{name: sub}]}", "{global: {a: {b: {c: 1}}}}");
    let at = |path: &str| values.table(path).unwrap();
    assert_ne!(at("global.a"), at("sub.global.a"));
    assert_eq!(at("global.a.b"), at("sub.global.a.b"));
}

#[test]
fn lists_of_two_aliases_are_two_lists_and_global_ones_are_one() {
    let values = coalesced(
        "{name: root, deps: [{name: one, values: {l: [1]}}, {name: two, values: {l: [1]}}]}",
        "{global: {l: [1]}}",
    );
    let id = |path: &str, key: &str| match values.graph().get(values.table(path).unwrap(), key) {
        Some(Cell::List(id, _)) => *id,
        other => panic!("{other:?}"),
    };
    assert_ne!(id("one", "l"), id("two", "l"));
    assert_eq!(id("one.global", "l"), id("global", "l"));
}

#[test]
fn positions_survive_merging() {
    let defaults = yaml::parse(b"a:\n  b: 1\n  c: 2\n", 1).unwrap();
    let set = yaml::parse(b"a:\n  c: 3\n", 2).unwrap();
    let mut root = Chart::clone(&chart(&parse("{name: root}")));
    root.values = Some(Arc::new(Values::from_map(defaults.as_map().unwrap(), Pos::default()).unwrap()));
    let view = View::new(&Arc::new(root));
    let set = Values::from_map(set.as_map().unwrap(), Pos::default()).unwrap();
    let merged = view.coalesce_values(&set, &HELM4, &mut Vec::new()).unwrap();
    let place = |path: &str| {
        let pos = merged.value(path).unwrap().pos;
        (pos.source, pos.line)
    };
    assert_eq!((place("a.b"), place("a.c")), ((1, 2), (2, 2)));
}

#[test]
fn a_table_that_would_contain_itself_is_an_error_and_not_a_crash() {
    // Helm overflows its stack here.
    let imports = "[{child: a, parent: '.'}, {child: a.x.y, parent: x}, {child: a, parent: x.y}]";
    let text = format!(
        "{{name: root, meta: [{{name: sub, version: '*', import: {imports}}}], deps: [{{name: sub, version: 1.0.0, \
         values: {{a: {{x: {{y: {{z: 1}}}}}}}}}}]}}"
    );
    let mut view = View::new(&chart(&parse(&text)));
    let error = process(&mut view, &Values::default(), &HELM4, &mut Vec::new()).unwrap_err();
    assert!(error == Error::ContainsItself, "{error}");
}

#[test]
fn processing_leaves_the_loaded_chart_alone() {
    let text = "{name: root, meta: [{name: sub, version: '*', alias: al, condition: al.enabled}], deps: [{name: sub, version: \
                1.0.0}]}";
    let chart = chart(&parse(text));
    let before = format!("{chart:?}");
    let mut view = View::new(&chart);
    let off = values(parse("{al: {enabled: false}}").as_map().unwrap());
    process(&mut view, &off, &HELM4, &mut Vec::new()).unwrap();
    assert!(view.dependencies(view.root()).is_empty());
    assert_eq!(format!("{chart:?}"), before);
}

#[test]
fn charts_and_values_can_be_shared_by_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Chart>();
    is_shared::<View>();
    is_shared::<Values>();
}
