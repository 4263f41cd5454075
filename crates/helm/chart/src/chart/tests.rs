use super::*;
use crate::dialect::{HELM3, HELM4};
use crate::metadata::Dependency;
use crate::testing::{cases, list, show, text};

fn dependency(dependency: &Dependency) -> Node {
    let mut map = Map::new();
    let strings =
        |list: &[String]| Value::List(list.iter().map(|s| Value::from(s.as_str()).into()).collect());
    let imports = dependency.import_values.iter().map(|import| match import {
        metadata::ImportValue::Written(node) => node.clone(),
        done => panic!("{done:?}"),
    });
    let imports = match dependency.import_values.is_empty() {
        true => Value::Null,
        false => Value::List(imports.collect()),
    };
    map.insert("alias", Node::from(Value::from(dependency.alias.as_str())));
    map.insert("condition", Node::from(Value::from(dependency.condition.as_str())));
    map.insert("enabled", Node::from(Value::Bool(dependency.enabled)));
    map.insert("import", Node::from(imports));
    map.insert("name", Node::from(Value::from(dependency.name.as_str())));
    map.insert("repository", Node::from(Value::from(dependency.repository.as_str())));
    map.insert("tags", Node::from(strings(&dependency.tags)));
    map.insert("version", Node::from(Value::from(dependency.version.as_str())));
    Value::Map(map).into()
}

/// What the recorded answers show of metadata: everything that is not empty.
fn summary(metadata: &Metadata) -> String {
    let mut map = Map::new();
    let texts = [
        ("apiVersion", &metadata.api_version),
        ("appVersion", &metadata.app_version),
        ("condition", &metadata.condition),
        ("description", &metadata.description),
        ("home", &metadata.home),
        ("icon", &metadata.icon),
        ("kubeVersion", &metadata.kube_version),
        ("name", &metadata.name),
        ("tags", &metadata.tags),
        ("type", &metadata.kind),
        ("version", &metadata.version),
    ];
    for (key, text) in texts {
        if !text.is_empty() {
            map.insert(key, Node::from(Value::from(text.as_str())));
        }
    }
    for (key, list) in [("keywords", &metadata.keywords), ("sources", &metadata.sources)] {
        if !list.is_empty() {
            let list = list.iter().map(|s| Value::from(s.as_str()).into()).collect();
            map.insert(key, Node::from(Value::List(list)));
        }
    }
    if metadata.deprecated {
        map.insert("deprecated", Node::from(Value::Bool(true)));
    }
    if let Some(annotations) = &metadata.annotations {
        let entries =
            annotations.iter().map(|(key, value)| (key.as_str().into(), Value::from(value.as_str()).into()));
        map.insert("annotations", Node::from(Value::Map(entries.collect())));
    }
    if !metadata.maintainers.is_empty() {
        let maintainer = |m: &metadata::Maintainer| -> Node {
            let entries = [("email", &m.email), ("name", &m.name), ("url", &m.url)];
            Value::Map(entries.map(|(k, v)| (k.into(), Value::from(v.as_str()).into())).into_iter().collect())
                .into()
        };
        map.insert(
            "maintainers",
            Node::from(Value::List(metadata.maintainers.iter().map(maintainer).collect())),
        );
    }
    if let Some(dependencies) = metadata.dependencies.as_ref().filter(|list| !list.is_empty()) {
        map.insert("dependencies", Node::from(Value::List(dependencies.iter().map(dependency).collect())));
    }
    show(&Value::Map(map).into())
}

fn answer(case: &Node, dialect: &Dialect) -> String {
    let files = list(case, "files").iter().map(|file| {
        let [name, text] = &**file.as_list().unwrap() else { panic!("a file has two parts") };
        File { name: name.as_str().unwrap().into(), data: text.as_str().unwrap().as_bytes().into() }
    });
    match load_files(files.collect(), dialect) {
        Err(error) => format!("error: {error}"),
        Ok(Loaded { chart, .. }) => {
            let values = chart.values.as_ref().map(|values| show(&values.to_node().unwrap()));
            let values = values.map(|values| format!(" values {values}")).unwrap_or_default();
            format!("{}{values}", summary(&chart.metadata))
        }
    }
}

#[test]
fn metadata_locks_and_values_equal_recorded_answers() {
    let all = cases(include_str!("../../testdata/charts.jsonl"));
    assert!(all.len() > 100);
    for case in all {
        let helm4 = text(&case, "helm4");
        let helm3 = case.get("helm3").and_then(Node::as_str).unwrap_or(helm4);
        assert_eq!(answer(&case, &HELM4), helm4, "{case:?}");
        assert_eq!(answer(&case, &HELM3), helm3, "{case:?}");
    }
}

fn file(name: &str, text: &str) -> File {
    File::new(name, text.as_bytes())
}

fn chart_yaml(name: &str) -> String {
    format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n")
}

#[test]
fn every_file_goes_to_its_place() {
    let files = vec![
        file("Chart.yaml", &chart_yaml("root")),
        file("values.yaml", "a: 1\n"),
        file("values.schema.json", "{}"),
        file("templates/a.yaml", ""),
        file("crds/x.yaml", ""),
        file("README.md", ""),
        file("charts/sub/Chart.yaml", &chart_yaml("sub")),
        file("charts/sub/values.yaml", "b: 2\n"),
        file("charts/README.md/x", ""),
        file("charts/sub.tgz.prov", ""),
        file("charts/_off/Chart.yaml", "x"),
        file("charts/.off/Chart.yaml", "x"),
    ];
    let mut without_readme = files.clone();
    without_readme.retain(|file| !file.name.starts_with("charts/README"));
    let loaded = load_files(without_readme, &HELM4).unwrap();
    let names = |files: &[File]| files.iter().map(|file| file.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(&loaded.chart.templates), ["templates/a.yaml"]);
    assert_eq!(names(&loaded.chart.files), ["crds/x.yaml", "README.md", "charts/sub.tgz.prov"]);
    assert!(loaded.chart.schema.is_some());
    assert_eq!(loaded.chart.dependencies[0].metadata.name, "sub");
    let place = |chart: &Chart, key: &str| {
        let values = chart.values.as_ref().unwrap();
        loaded.sources.describe(values.value(key).unwrap().pos)
    };
    assert_eq!(place(&loaded.chart, "a"), "default of chart root (values.yaml:1)");
    assert_eq!(place(&loaded.chart.dependencies[0], "b"), "default of chart sub (charts/sub/values.yaml:1)");

    let error = load_files(files, &HELM4).unwrap_err();
    assert_eq!(error.to_string(), "error unpacking subchart README.md in root: Chart.yaml file is missing");
}

#[test]
fn old_dependency_files_are_files_of_old_charts_only() {
    for (api, shown, warnings) in [("v1", 2, 0), ("v2", 0, 2)] {
        let files = vec![
            file("Chart.yaml", &chart_yaml("root").replace("v2", api)),
            file("requirements.yaml", "dependencies: [{name: sub, version: 1.0.0}]"),
            file("requirements.lock", "digest: x"),
        ];
        let loaded = load_files(files, &HELM3).unwrap();
        assert_eq!((loaded.chart.files.len(), loaded.warnings.len()), (shown, warnings));
        assert_eq!(loaded.chart.metadata.dependencies.as_ref().unwrap()[0].name, "sub");
        assert_eq!(loaded.chart.lock.as_ref().unwrap().digest, "x");
    }
}

#[test]
fn charts_in_charts_without_end_are_an_error() {
    let deep: Vec<_> = (0..200)
        .map(|depth| file(&format!("{}Chart.yaml", "charts/a/".repeat(depth)), &chart_yaml("a")))
        .collect();
    let mut error = load_files(deep, &HELM4).unwrap_err();
    while let Error::Subchart { error: inner, .. } = error {
        error = *inner;
    }
    assert_eq!(error, Error::TooDeep);
}

#[test]
fn only_known_api_versions_are_charts_in_helm_4() {
    for (api, helm4) in [
        ("v1", Ok(())),
        ("''", Ok(())),
        ("v3", Err(Error::ExperimentalApiVersion)),
        ("v9", Err(Error::ApiVersion("v9".to_owned()))),
    ] {
        let text = format!("apiVersion: {api}\n");
        assert_eq!(check_api_version(text.as_bytes(), &HELM4), helm4);
        assert_eq!(check_api_version(text.as_bytes(), &HELM3), Ok(()));
    }
}

#[test]
fn documents_of_values_are_merged_in_helm_4_only() {
    let text = b"a: {x: 1}\nb: 1\n---\na: {z: 2}\nb: null\n";
    let parse = |dialect| show(&Value::Map(parse_values(text, 1, dialect).unwrap()).into());
    assert_eq!(parse(&HELM4), r#"{"a": {"x": 1.0f, "z": 2.0f}, "b": null}"#);
    assert_eq!(parse(&HELM3), r#"{"a": {"x": 1.0f}, "b": 1.0f}"#);
    let map = parse_values(text, 1, &HELM4).unwrap();
    assert_eq!(map.get("a").unwrap().get("z").unwrap().pos.line, 4);
}
