//! Charts that are small on disk and large in memory.

#![allow(clippy::panic)]

use podium_chart::capabilities::Capabilities;
use podium_chart::chart::load_files;
use podium_chart::dialect::{Dialect, HELM4};
use podium_chart::files::File;
use podium_chart::render::Release;
use podium_chart::renderer::{Error, Renderer};
use podium_chart::values::Values;
use podium_gotmpl::Limits;

static DIALECT: Dialect = HELM4;

const CHART: &str = "apiVersion: v2\nname: c\nversion: 1.0.0\n";

fn render(files: &[(String, String)]) -> Result<usize, Error> {
    let files = files.iter().map(|(name, text)| File::new(name.as_str(), text.as_bytes())).collect();
    let loaded = load_files(files, &DIALECT).unwrap_or_else(|e| panic!("{e}"));
    let renderer = Renderer::new(loaded.chart, &DIALECT);
    let prepared = renderer.prepare(&Values::default(), true)?;
    let release =
        Release { name: "r".to_owned(), namespace: "default".to_owned(), is_upgrade: false, revision: 1 };
    let limits = Limits { memory: 4 << 20, ..Limits::default() };
    renderer.render(&prepared, &release, &Capabilities::default(), &(), limits).map(|files| files.len())
}

fn with_values(template: &str, values: &str) -> Result<usize, String> {
    let given = render(&[
        ("Chart.yaml".to_owned(), CHART.to_owned()),
        ("templates/a".to_owned(), template.to_owned()),
        ("values.yaml".to_owned(), values.to_owned()),
    ]);
    given.map_err(|e| e.to_string())
}

fn fails_for_memory(template: &str, big: &str) {
    let given = render(&[
        ("Chart.yaml".to_owned(), CHART.to_owned()),
        ("templates/a".to_owned(), template.to_owned()),
        ("big".to_owned(), big.to_owned()),
    ]);
    let given = given.map_err(|e| e.to_string());
    assert!(given.as_ref().is_err_and(|e| e.contains("the render passed its memory limit")), "{given:?}");
}

#[test]
fn what_methods_make_is_paid_for() {
    let lines = "x\n".repeat(20_000);
    for call in
        ["$.Files.Lines \"big\"", "$.Files.AsConfig", "$.Files.AsSecrets", "$.Files.Glob \"*\" | toString"]
    {
        fails_for_memory(&format!("{{{{ range until 1000 }}}}{{{{ $x := {call} }}}}{{{{ end }}}}"), &lines);
    }
}

#[test]
fn a_file_is_not_taken_apart_without_memory() {
    let big = "x".repeat(300_000);
    for call in ["first", "reverse", "has 7", "join \",\"", "toStrings", "sortAlpha", "uniq"] {
        fails_for_memory(&format!("{{{{ $x := .Files.GetBytes \"big\" | {call} }}}}"), &big);
    }
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let values: String = (0..80_000).map(|i| format!("k{i}: [1]\n")).collect();
    let given = |template: &str| with_values(template, &values);
    for look in ["{{ .Values.k1 }}", "{{ range .Values }}{{ end }}"] {
        let refused = given(look);
        assert!(
            refused.as_ref().is_err_and(|e| e.contains("passed its memory limit")),
            "{look}: {refused:?}"
        );
    }
    // Nobody looks, nobody pays.
    assert!(given("a: b").is_ok());
}

#[test]
fn what_stays_of_values_is_paid_for_by_whoever_looks_first() {
    let lines: String = (0..1000).map(|i| format!("  k{i}: [1, 1, 1, 1, 1, 1, 1, 1]\n")).collect();
    let values: String = ('a'..='t').map(|key| format!("{key}:\n{lines}")).collect();
    let given = |template: &str| with_values(template, &values);
    let one = given("{{ range until 3 }}{{ $x := toYaml $.Values.a }}{{ end }}");
    assert!(one.is_ok(), "{one:?}");
    let all = given("{{ range .Values }}{{ $x := toYaml . }}{{ end }}");
    assert!(all.as_ref().is_err_and(|e| e.contains("passed its memory limit")), "{all:?}");
}

#[test]
fn metadata_that_does_not_fit_is_refused() {
    let keywords: String = (0..200_000).map(|i| format!("- k{i}\n")).collect();
    let given = |template: &str| {
        let chart = format!("{CHART}\nkeywords:\n{keywords}");
        render(&[("Chart.yaml".to_owned(), chart), ("templates/a".to_owned(), template.to_owned())])
            .map_err(|e| e.to_string())
    };
    let refused = given("{{ .Chart.Name }}");
    assert!(refused.as_ref().is_err_and(|e| e.contains("passed its memory limit")), "{refused:?}");
    assert!(given("a: b").is_ok());
}

#[test]
fn more_subcharts_than_fit_are_refused_before_the_render() {
    let subcharts = (0..40_000).map(|i| {
        (format!("charts/s{i}/Chart.yaml"), format!("apiVersion: v2\nname: s{i}\nversion: 1.0.0\n"))
    });
    let own = [("Chart.yaml", CHART), ("templates/a", "a: b")].map(|(n, t)| (n.to_owned(), t.to_owned()));
    let given = render(&own.into_iter().chain(subcharts).collect::<Vec<_>>()).map_err(|e| e.to_string());
    assert!(given.as_ref().is_err_and(|e| e.contains("what templates see needs more memory")), "{given:?}");
}

#[test]
fn aliases_cannot_multiply_charts_without_end() {
    let mut files = Vec::new();
    let mut place = String::new();
    for level in 0..12 {
        let aliases: String = ('a'..'i')
            .map(|a| format!("- {{name: n{}, version: 1.0.0, alias: n{a}}}\n", level + 1))
            .collect();
        let chart = format!("apiVersion: v2\nname: n{level}\nversion: 1.0.0\ndependencies:\n{aliases}");
        files.push((format!("{place}Chart.yaml"), chart));
        place = format!("{place}charts/n{}/", level + 1);
    }
    files.push((format!("{place}Chart.yaml"), CHART.replace("name: c", "name: n12")));
    let given = render(&files).map_err(|e| e.to_string());
    assert!(given.as_ref().is_err_and(|e| e.contains("more than 50000 subcharts")), "{given:?}");
}
