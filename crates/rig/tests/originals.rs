//! The rig against itself, with the originals.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use podium_rig::charts::{self, Command};
use podium_rig::compare;
use podium_rig::generate;
use podium_rig::mutants::{self, Mutant};
use podium_rig::probe::Probe;
use podium_rig::request::{Dialect, File, Outcome, RenderRequest};
use podium_rig::subject::Subject;
use podium_rig::{dialects, paths};

#[test]
#[ignore = "needs the originals (make tools)"]
fn the_originals_differ_only_as_known() {
    let cases = generate::cases(3, 6000);
    let (three, four) = (Probe::start(Dialect::Helm3).unwrap(), Probe::start(Dialect::Helm4).unwrap());
    let tally = compare::run(&cases, Dialect::Helm3, &three, &four);
    let unknown: Vec<_> =
        tally.differences.iter().filter(|d| dialects::known(d).is_none()).map(|d| &d.case.id).collect();
    assert!(tally.differences.len() > 100, "two majors that never differ are one major");
    assert!(unknown.len() * 1000 < cases.len() * 5, "{unknown:?}");
}

#[test]
#[ignore = "needs the originals (make tools)"]
fn every_broken_function_is_noticed_by_generated_cases() {
    let cases = generate::cases(1, 20_000);
    let four = Probe::start(Dialect::Helm4).unwrap();
    assert_eq!(mutants::unnoticed(&cases, Dialect::Helm4, &four, &four), Vec::<&str>::new());
}

#[test]
#[ignore = "needs the originals (make tools)"]
fn an_original_agrees_with_itself_and_not_with_a_mutant() {
    let cases = generate::cases(5, 3000);
    let four = Probe::start(Dialect::Helm4).unwrap();
    let again = Probe::start(Dialect::Helm4).unwrap();
    assert!(compare::run(&cases, Dialect::Helm4, &four, &again).differences.is_empty());
    let mutant = Mutant::new(&again, "toJson", "toRawJson");
    assert!(!compare::run(&cases, Dialect::Helm4, &four, &mutant).differences.is_empty());
}

/// The probe renders from memory what the command renders from disk; only what the directory loader does differs.
#[test]
#[ignore = "needs the originals (make tools)"]
fn the_probe_prints_what_the_command_prints() {
    let on_disk = ["ignore-", "bom", "symlink", "archive", "meta-", "values-bom", "extensions", "files"];
    let cases: Vec<_> = charts::discover(&paths::tests("charts"))
        .unwrap()
        .into_iter()
        .filter(|c| c.name.ends_with("/default") && !on_disk.iter().any(|p| c.name.starts_with(p)))
        .collect();
    assert!(cases.len() > 100);
    for dialect in Dialect::ALL {
        let probe = Probe::start(dialect).unwrap();
        for case in &cases {
            let mut request = RenderRequest::chart(read(&case.folder.join("chart"), ""));
            request.namespace = "default".to_owned();
            request.stdout = true;
            let ran = charts::Helm.run(case, dialect).unwrap();
            let expected = match ran.status {
                0 => Outcome::Stdout(ran.stdout),
                _ => Outcome::Error(ran.error.strip_suffix(b"\n").unwrap_or(&ran.error).to_vec()),
            };
            assert_eq!(probe.render(&request), expected, "{} {dialect}", case.name);
        }
    }
}

fn read(folder: &std::path::Path, below: &str) -> Vec<File> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            out.extend(read(&entry.path(), &format!("{name}/")));
        } else {
            out.push(File::new(name, std::fs::read(entry.path()).unwrap()));
        }
    }
    out
}
