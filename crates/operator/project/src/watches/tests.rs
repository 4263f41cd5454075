use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::*;
use crate::overrides::{self, As};

fn environment(name: &str) -> Option<String> {
    let set = [("A", "va"), ("B", "{{ upper `b` }}"), ("L", "p,q")];
    set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
}

fn read(text: &str) -> Result<Watches, Error> {
    let chart = |path: &str| match path.trim_start_matches("./") {
        "charts/a" | "charts/b" => Ok(()),
        _ => Err("no".to_owned()),
    };
    Reader { file: FILE, environment: &environment, world: &(), chart: &chart }.read(text.as_bytes())
}

/// What an original refuses a file with: while reading, or right after, because of a selector.
fn refusal(answer: &Json) -> Option<&str> {
    let selectors = answer["watches"].as_array().into_iter().flatten().map(|w| &w["selector"]);
    answer["error"]
        .as_str()
        .or_else(|| selectors.filter_map(Json::as_str).find(|text| text.starts_with("error: ")))
}

/// The part of a message that both sides have in common.
fn kind(message: &str) -> String {
    let kinds =
        ["invalid chart", "failed to expand override values", "error: ", "invalid selector", "duplicate GVK"];
    match kinds.iter().find(|kind| message.starts_with(*kind)) {
        Some(&"error: ") => "invalid selector".to_owned(),
        Some(kind) => (*kind).to_owned(),
        None => message.to_owned(),
    }
}

fn applied(watch: &Watch, how: As) -> Json {
    let mut values = Map::new();
    match overrides::apply(&watch.override_values, &mut values, how, &environment) {
        Ok(()) => {
            let text = podium_goyaml::json::to_string(&&Node::from(Value::Map(values))).unwrap();
            serde_json::json!({ "values": serde_json::from_slice::<Json>(&text).unwrap() })
        }
        Err(error) => serde_json::json!({ "error": error.error.to_string() }),
    }
}

/// Answers of both originals to generated files: refused by one is refused by us, in the words of one of them.
#[test]
fn files_are_read_as_both_originals_read_them() {
    let recorded = include_str!("../../testdata/watches.jsonl");
    let mut counts = (0, 0);
    for line in recorded.lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        let text = case["text"].as_str().unwrap();
        let originals = [&case["plugins"], &case["sdk"]];
        let refusals: Vec<&str> = originals.iter().filter_map(|answer| refusal(answer)).collect();
        match read(text) {
            Err(error) => {
                counts.0 += 1;
                let ours = kind(&error.problem.to_string());
                let theirs: Vec<String> = refusals.iter().map(|message| kind(message)).collect();
                assert!(theirs.contains(&ours), "{text}\n{error}\n{theirs:?}");
                assert!(error.place.line > 0 && error.place.column > 0, "{text}\n{error:?}");
            }
            Ok(watches) => {
                counts.1 += 1;
                assert!(refusals.is_empty(), "{text}\n{refusals:?}");
                for (at, watch) in watches.entries.iter().enumerate() {
                    for (answer, how) in originals.iter().zip([As::Typed, As::Strings]) {
                        same(watch, &answer["watches"][at], how, text);
                    }
                }
            }
        }
    }
    assert!(counts.0 > 50 && counts.1 > 50, "{counts:?}");
}

fn same(ours: &Watch, theirs: &Json, how: As, text: &str) {
    let strings: BTreeMap<String, String> = theirs["overrideValues"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect();
    let string = |name: &str| theirs[name].as_str().unwrap_or_default();
    let kind = GroupVersionKind {
        group: string("Group").to_owned(),
        version: string("Version").to_owned(),
        kind: string("Kind").to_owned(),
    };
    assert_eq!((&ours.kind, ours.chart.as_str()), (&kind, string("chart")), "{text}");
    assert_eq!(Json::Bool(ours.watch_dependent_resources), theirs["watchDependentResources"], "{text}");
    assert_eq!(ours.override_values, strings, "{text}");
    assert_eq!(ours.selector_text, string("selector"), "{text}");
    assert_eq!(applied(ours, how), theirs["overrides"], "{text}");
    let period = Duration::parse(theirs["reconcilePeriod"].as_str().unwrap_or("0s")).unwrap();
    let period = u64::try_from(period.nanoseconds()).unwrap_or_default();
    assert_eq!(ours.reconcile_period.unwrap_or_default(), std::time::Duration::from_nanos(period), "{text}");
    if how == As::Typed {
        assert_eq!(ours.max_concurrent_reconciles, theirs["maxConcurrentReconciles"].as_i64(), "{text}");
    } else {
        assert_eq!(ours.dry_run_option, string("dryRunOption"), "{text}");
    }
}

#[test]
fn our_own_fields_are_read_and_their_mistakes_named() {
    let entry = "- {group: g, version: v1, kind: A, chart: charts/a";
    let watches = read(&format!(
        "{entry}, wait: true, valuesFrom: [{{kind: Secret, name: s}}, {{kind: ConfigMap, name: c, key: k, optional: true}}]}}\n"
    ))
    .unwrap();
    let watch = &watches.entries[0];
    assert!(watch.wait);
    let from = |kind, name: &str, key: &str, optional| ValuesFrom {
        kind,
        name: name.to_owned(),
        key: key.to_owned(),
        optional,
    };
    assert_eq!(
        watch.values_from,
        [from(Holder::Secret, "s", VALUES_KEY, false), from(Holder::ConfigMap, "c", "k", true)]
    );
    for (fields, expected) in [
        (
            "wait: 1",
            "watches.yaml:1:59: wait: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal number into Go struct field Watch.wait of type bool",
        ),
        (
            "valuesFrom: [{kind: Pod, name: x}]",
            "watches.yaml:1:65: [0].valuesFrom: invalid valuesFrom: kind must be Secret or ConfigMap",
        ),
        (
            "valuesFrom: [{kind: Secret}]",
            "watches.yaml:1:65: [0].valuesFrom: invalid valuesFrom: name must not be empty",
        ),
    ] {
        assert_eq!(read(&format!("{entry}, {fields}}}\n")).unwrap_err().to_string(), expected);
    }
}

#[test]
fn the_second_of_two_equal_kinds_is_named_with_the_first() {
    let text = "- {version: v1, kind: A, chart: charts/a}\n- version: v1\n  kind: A\n  chart: charts/b\n";
    assert_eq!(
        read(text).unwrap_err().to_string(),
        "watches.yaml:3:9: [1].kind: duplicate GVK: /v1, Kind=A (first at watches.yaml:1:3)"
    );
}

#[test]
fn an_entry_without_a_chart_is_named_whoever_asks_for_charts() {
    let reader = Reader { file: FILE, environment: &environment, world: &(), chart: &|_| Ok(()) };
    for fields in ["", ", chart: \"\"", ", chart: ~"] {
        let text = format!("- {{group: g, version: v1, kind: A{fields}}}\n");
        let error = reader.read(text.as_bytes()).unwrap_err();
        assert_eq!(error.field, "[0].chart");
        assert_eq!(
            error.problem.to_string(),
            "invalid chart \"\": g/v1, Kind=A has none: write the path of a directory or an archive"
        );
    }
}

#[test]
fn a_field_that_nobody_knows_is_noted_and_ignored() {
    let watches =
        read("- version: v1\n  kind: A\n  chart: charts/a\n  selecter: {}\n  Selector: {}\n").unwrap();
    let unknown: Vec<_> = watches.unknown.iter().map(|u| format!("{} {}", u.place, u.field)).collect();
    assert_eq!(unknown, ["watches.yaml:4:13 [0].selecter"]);
}

#[test]
fn an_absent_period_may_be_written_as_null() {
    let watches = read("- {version: v1, kind: A, chart: charts/a, reconcilePeriod: ~}\n").unwrap();
    assert_eq!(watches.entries[0].reconcile_period, None);
}
