//! What is rendered by two threads is what one thread renders.

#![allow(clippy::panic)]

use std::cell::Cell;

use podium_chart::capabilities::Capabilities;
use podium_chart::chart::load_files;
use podium_chart::dialect::{Dialect, HELM4};
use podium_chart::files::File;
use podium_chart::render::{Release, Rendered};
use podium_chart::renderer::{Error, Renderer};
use podium_chart::values::Values;
use podium_gotmpl::{Limits, World};

static DIALECT: Dialect = HELM4;

/// How many templates each of the three charts has.
const TEMPLATES: usize = 40;

const PLAIN: &str = "name: {{ .Template.Name }}\nx: {{ .Values.x }}\n\
    {{- range until 20 }}\n- {{ tpl \"{{ .Release.Name }}\" $ }}-{{ . }}{{ end }}\n\
    {{- with .Subcharts }}\nlast: {{ toJson (dict \"a\" .a.Template \"b\" .b.Template) }}{{ end }}\n";

/// Counts, so that it matters who asks first.
#[derive(Default)]
struct Counting(Cell<u8>);

impl World for Counting {
    fn now(&self) -> (i64, u32) {
        self.0.set(self.0.get().wrapping_add(1));
        (i64::from(self.0.get()), 0)
    }
}

fn renderer(special: &[(&str, &str)]) -> Renderer {
    let padding = format!("{{{{/* {} */}}}}", "x".repeat(1000));
    let mut files =
        vec![File::new("values.yaml", b"x: 1\nm: {a: 1}\nglobal: {g: {h: {}}}\na: {x: 2}\nb: {x: 3}\n")];
    for (place, name) in [("", "c"), ("charts/a/", "a"), ("charts/b/", "b")] {
        let chart = format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\nkeywords: [z, y, x]\n");
        files.push(File::new(format!("{place}Chart.yaml"), chart.as_bytes()));
        for n in 0..TEMPLATES {
            let name = format!("{place}templates/t{n:02}.yaml");
            let special = special.iter().find(|(at, _)| *at == name).map_or(PLAIN, |(_, text)| text);
            files.push(File::new(name, format!("{padding}{special}").as_bytes()));
        }
    }
    let loaded = load_files(files, &DIALECT).unwrap_or_else(|e| panic!("{e}"));
    Renderer::new(loaded.chart, &DIALECT)
}

fn outcome(rendered: Result<Vec<Rendered>, Error>) -> Result<Vec<(String, String)>, String> {
    let shown = |file: Rendered| (file.name, String::from_utf8_lossy(&file.text).into_owned());
    rendered.map(|files| files.into_iter().map(shown).collect()).map_err(|e| e.to_string())
}

/// Renders in both ways and compares.
fn compare(renderer: &Renderer, limits: Limits) -> Result<Vec<(String, String)>, String> {
    let prepared = renderer.prepare(&Values::default(), true).unwrap_or_else(|e| panic!("{e}"));
    let release =
        Release { name: "r".to_owned(), namespace: "default".to_owned(), is_upgrade: false, revision: 1 };
    let capabilities = Capabilities::default();
    let (one, two) = (Counting::default(), Counting::default());
    let alone = outcome(renderer.render(&prepared, &release, &capabilities, &one, limits));
    let both = outcome(renderer.render_to_sort(&prepared, &release, &capabilities, &two, limits));
    assert_eq!(alone, both);
    alone
}

fn same(special: &[(&str, &str)]) -> Result<Vec<(String, String)>, String> {
    let renderer = renderer(special);
    for _ in 0..4 {
        let _ = compare(&renderer, Limits::default());
    }
    compare(&renderer, Limits::default())
}

#[test]
fn files_that_know_nothing_of_each_other() {
    let files = same(&[]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(files.len(), 3 * TEMPLATES);
}

#[test]
fn changes_that_later_files_see() {
    for change in [
        "{{ $_ := set .Values \"x\" 7 }}",
        "{{ $_ := unset .Values \"x\" }}",
        "{{ $_ := mergeOverwrite .Values (dict \"x\" 8) }}",
        "{{ $_ := set .Template \"Name\" \"other\" }}",
        "{{ $_ := set . \"Release\" (dict \"Name\" \"s\") }}",
        "{{ $d := dict \"v\" .Values }}{{ $_ := set $d.v \"x\" 9 }}",
        "{{ $_ := set (.Values.AsMap) \"x\" 10 }}",
        "{{ tpl \"{{ $_ := set .Values `x` 11 }}\" . }}",
        "{{ $_ := set .Values.global.g.h \"x\" 12 }}",
        "{{ $_ := sortAlpha .Chart.Keywords }}",
        "{{ range .Subcharts }}{{ $_ := set .Values \"x\" 13 }}{{ end }}",
        "{{ range .Subcharts }}{{ $_ := set . \"Values\" (dict \"x\" 14) }}{{ end }}",
        "{{ range .Subcharts }}{{ $_ := set .Chart \"Keywords\" (list \"y\") }}{{ end }}",
        "{{ range .Subcharts }}{{ $_ := set .Template \"Name\" \"other\" }}{{ end }}",
        "{{ range .Subcharts }}{{ $_ := unset . \"Files\" }}{{ end }}",
    ] {
        for at in ["t39", "t20", "t01", "t00"] {
            for place in ["templates", "charts/a/templates", "charts/b/templates"] {
                let seen = "{{ toJson .Chart.Keywords }} {{ toJson .Values }} {{ toJson .Subcharts }}";
                let changed = same(&[
                    (&format!("{place}/{at}.yaml"), change),
                    ("templates/t00.yaml", seen),
                    ("charts/a/templates/t00.yaml", seen),
                ]);
                assert!(changed.is_ok(), "{changed:?}");
            }
        }
    }
}

#[test]
fn what_the_world_says_comes_in_order() {
    let asks = "{{ now | unixEpoch }}";
    let names: Vec<String> = (0..TEMPLATES).map(|n| format!("templates/t{n:02}.yaml")).collect();
    let special: Vec<(&str, &str)> = names.iter().step_by(3).map(|name| (name.as_str(), asks)).collect();
    let files = same(&special).unwrap_or_else(|e| panic!("{e}"));
    let said = |text: &String| text.parse::<usize>().ok();
    let said: Vec<usize> = files.iter().filter_map(|(_, text)| said(text)).collect();
    assert!(said.iter().rev().copied().eq(1..=special.len()), "{said:?}");
}

#[test]
fn the_first_failure_counts() {
    let fails = |n: usize| format!("{{{{ fail \"no {n}\" }}}}");
    for at in [39, 30, 20, 10, 1, 0] {
        let (first, second) = (fails(at), fails(100));
        let name = format!("templates/t{at:02}.yaml");
        let failed = same(&[(&name, &first), ("templates/t00.yaml", &second)]);
        assert!(failed.is_err_and(|e| e.contains(&format!("no {at}"))));
    }
    // Only what a change makes fail fails.
    let guarded = "{{ if eq (int .Values.x) 7 }}{{ fail \"seven\" }}{{ end }}";
    let failed =
        same(&[("templates/t20.yaml", "{{ $_ := set .Values \"x\" 7 }}"), ("templates/t05.yaml", guarded)]);
    assert!(failed.is_err_and(|e| e.contains("seven")));
}

#[test]
fn limits_are_those_of_all_files_together() {
    let renderer = renderer(&[]);
    let needed = |enough: &dyn Fn(u64) -> Limits| {
        let (mut too_few, mut enough_of) = (0, 1 << 30);
        while enough_of - too_few > 1 {
            let middle = u64::midpoint(too_few, enough_of);
            let fits = compare(&renderer, enough(middle)).is_ok();
            if fits { enough_of = middle } else { too_few = middle }
        }
        enough_of
    };
    let steps = |steps: u64| Limits { steps, ..Limits::default() };
    let memory = |bytes: u64| Limits { memory: bytes as usize, ..Limits::default() };
    assert!(needed(&steps) > 10_000);
    assert!(needed(&memory) > 10_000);
}
