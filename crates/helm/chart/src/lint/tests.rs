use podium_goyaml::{Pos, yaml};

use super::*;
use crate::chart::load_files;
use crate::dialect::{HELM3, HELM4};
use crate::files::File;

/// A world in which nothing happens.
struct Nowhere;

impl World for Nowhere {
    fn now(&self) -> (i64, u32) {
        (0, 0)
    }

    fn random(&self, buffer: &mut [u8]) {
        buffer.fill(4);
    }
}

/// Lints files as if they were a directory, with what the user set.
fn lint(files: &[(&str, &str)], set: &str, dialect: &'static Dialect) -> Vec<String> {
    let place = |name: &str| match files.iter().find(|(file, _)| *file == name) {
        Some((_, text)) => Place::File(Ok(text.as_bytes().to_vec())),
        None if files.iter().any(|(file, _)| file.starts_with(&format!("{name}/"))) => Place::Directory,
        None => Place::Missing,
    };
    let all = files.iter().map(|(name, text)| File::new(*name, text.as_bytes())).collect();
    let subject = Subject {
        directory: "/chart".to_owned(),
        chart_yaml: place("Chart.yaml"),
        values: place("values.yaml"),
        schema: place("values.schema.json"),
        templates: place("templates"),
        crds: place("crds"),
        loaded: load_files(all, dialect).map_err(load::Error::Chart),
    };
    let set = Values::from_owned(yaml::parse_object(set.as_bytes(), 0).unwrap(), Pos::default()).unwrap();
    let options = Options {
        set: &set,
        namespace: "default",
        kube_version: None,
        schemas: true,
        resolver: None,
        world: &Nowhere,
        limits: Limits::default(),
    };
    let lines = run(&subject, &options, dialect);
    lines.iter().map(|message| String::from_utf8_lossy(&message.line()).into_owned()).collect()
}

const GOOD: &str = "apiVersion: v2\nname: a\nversion: 1.0.0\nicon: https://example.com/i.png\n";

#[test]
fn a_good_chart_is_nothing_to_talk_about() {
    let object = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: {{ required \"x\" .Values.missing }}a}\n";
    let files = [("Chart.yaml", GOOD), ("values.yaml", ""), ("templates/a.yaml", object)];
    assert_eq!(lint(&files, "", &HELM4), Vec::<String>::new());
    assert_eq!(lint(&files, "", &HELM3), Vec::<String>::new());
}

#[test]
fn only_helm_4_reads_metadata_strictly_and_asks_for_templates() {
    let twice = format!("{GOOD}nmae: b\nname: a\n");
    let files = [("Chart.yaml", twice.as_str()), ("values.yaml", "")];
    assert_eq!(
        lint(&files, "", &HELM4),
        [
            "[WARNING] Chart.yaml: failed to strictly parse chart metadata file\n\terror converting YAML to JSON: yaml: \
             unmarshal errors:\n  line 6: key \"name\" already set in map",
            "[WARNING] templates/: directory does not exist"
        ]
    );
    assert_eq!(lint(&files, "", &HELM3), Vec::<String>::new());
}

#[test]
fn what_the_user_deletes_is_there_again_for_templates() {
    let template = "kind: {{ .Values.kind }}\napiVersion: v1\nmetadata: {name: a}\n";
    let files = [("Chart.yaml", GOOD), ("values.yaml", "kind: List"), ("templates/a.yaml", template)];
    assert_eq!(lint(&files, "kind: null", &HELM3), Vec::<String>::new());
    let objects = objects::Objects::new(b"{\"kind\": 3}", &HELM4).collect::<Vec<_>>();
    assert_eq!(objects.len(), 1);
    assert!(objects[0].is_ok(), "as YAML a number is a string: {objects:?}");
}

#[test]
fn the_table_of_deprecated_kinds_can_be_read() {
    let object = objects::Object {
        api_version: "extensions/v1beta1".into(),
        kind: "Ingress".into(),
        name: "a".into(),
    };
    let text = deprecated::check(&object, None).unwrap_err();
    assert_eq!(
        text,
        "extensions/v1beta1 Ingress is deprecated in v1.14+, unavailable in v1.22+; use networking.k8s.io/v1 Ingress"
    );
}

/// Each of these was once another verdict than helm's.
#[test]
fn what_once_differed_from_helm() {
    let values = [("Chart.yaml", GOOD), ("values.yaml", "- a\n"), ("templates/a.yaml", "")];
    let of = |dialect| lint(&values, "", dialect).first().cloned().unwrap_or_default();
    let words = "[ERROR] values.yaml: unable to parse YAML: error unmarshaling JSON: while decoding JSON: json: cannot \
                 unmarshal array into Go value of type";
    assert_eq!(of(&HELM3), format!("{words} chartutil.Values"));
    assert_eq!(of(&HELM4), format!("{words} common.Values"));

    let long = format!("kind: Pod\nmetadata: {{name: {}}}\n", "a".repeat(254));
    let files = [("Chart.yaml", GOOD), ("values.yaml", ""), ("templates/a.yaml", long.as_str())];
    assert!(lint(&files, "", &HELM4)[0].ends_with("must be no more than 253 characters"));

    // A null that the user sets deletes a default before the chart's own values are checked, though not for templates.
    let schema = r#"{"properties": {"port": {"type": "string"}}}"#;
    let files = [
        ("Chart.yaml", GOOD),
        ("values.yaml", "port: 80\n"),
        ("values.schema.json", schema),
        ("templates/a.yaml", ""),
    ];
    let lines = lint(&files, "port: null", &HELM4);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("[ERROR] templates/: values don't meet"), "{lines:?}");

    let quoted = format!("{GOOD}maintainers: [{{name: a, email: '\"a b\"@example.com'}}]\n");
    let files = [("Chart.yaml", quoted.as_str()), ("values.yaml", ""), ("templates/a.yaml", "")];
    assert_eq!(
        lint(&files, "", &HELM4),
        ["[ERROR] Chart.yaml: invalid email '\"a b\"@example.com' for maintainer 'a'"]
    );
}
