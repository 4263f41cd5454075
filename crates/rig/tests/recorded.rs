//! Podium against the recorded answers of the originals: what `make test` can prove without Go.
#![allow(clippy::panic, clippy::print_stdout, reason = "helpers of tests")]

use std::collections::BTreeSet;

use podium_rig::compare::Difference;
use podium_rig::podium::Podium;
use podium_rig::record::{self, Record};
use podium_rig::request::Dialect;
use podium_rig::{mutants, paths};

fn records() -> Vec<Record> {
    record::read(&paths::tests("recorded")).unwrap_or_else(|e| panic!("the recordings cannot be read: {e}"))
}

/// The names of cases in which podium is known to differ, one a line. The list only ever gets shorter.
fn known() -> BTreeSet<String> {
    let list = std::fs::read_to_string(paths::tests("known-differences.txt")).unwrap_or_default();
    list.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(str::to_owned).collect()
}

/// Compares with the recorded answers: nothing but the known cases may differ.
fn check(dialect: Dialect) {
    let mut differences = record::replay(&records(), dialect, &Podium);
    let known = known();
    let name = |d: &Difference| format!("{dialect} {}", d.case.id);
    if std::env::var_os("PODIUM_LIST_DIFFERENCES").is_some() {
        differences.iter().for_each(|d| println!("KNOWN {}", name(d)));
    }
    differences.retain(|d| !known.contains(&name(d)));
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), shown(&differences));
}

fn shown(differences: &[Difference]) -> String {
    let one = |d: &Difference| {
        let (recorded, ours) = d.excerpts();
        let template = d.case.request.files.last().map(|f| String::from_utf8_lossy(&f.data).into_owned());
        format!(
            "=== {}\n{}\n--- recorded\n{recorded}\n--- podium\n{ours}\n",
            d.case.id,
            template.unwrap_or_default()
        )
    };
    differences.iter().take(5).map(one).collect()
}

#[test]
fn the_recordings_are_many_and_a_third_are_errors() {
    let records = records();
    let answers: Vec<_> =
        records.iter().filter_map(|r| r.answers.as_ref()).flat_map(|a| a.values()).collect();
    let errors = answers.iter().filter(|a| a.is_error()).count();
    assert!(answers.len() > 10_000, "{}", answers.len());
    assert!(errors * 10 >= answers.len() * 3, "{errors} of {}", answers.len());
}

#[test]
fn podium_answers_as_helm_3_did() {
    check(Dialect::Helm3);
}

#[test]
fn podium_answers_as_helm_4_did() {
    check(Dialect::Helm4);
}

#[test]
fn a_broken_function_is_noticed() {
    let missed = mutants::unnoticed_in(&records(), Dialect::Helm4, &Podium);
    assert!(mutants::MUTATIONS.len() >= 20);
    assert!(missed.is_empty(), "nobody noticed that these were broken: {missed:?}");
}
