//! Verdicts of the linter.

use std::collections::BTreeMap;

use podium_rig::request::Dialect;

use crate::flaws::{FLAWS, RULES, generate};
use crate::run::{Place, Program, Said, both, number, run};

/// How many charts are linted for each helm.
const CHARTS: usize = 600;
/// How many of them by one process.
const BATCH: usize = 30;

/// Flags that batches are linted with, in turn.
const FLAGS: &[&[&str]] = &[
    &[],
    &["--strict"],
    &["--quiet"],
    &["--set", "port=x,name=set"],
    &["--set", "name=null", "--kube-version", "1.20"],
    &["--with-subcharts", "--quiet", "--strict"],
    &["--skip-schema-validation", "--kube-version", "v1.14.3"],
    &["-f", "more.yaml", "--namespace", "there"],
];

/// What is said of each chart, by its path.
fn sections(said: &Said) -> BTreeMap<String, String> {
    let mut sections: BTreeMap<String, String> = BTreeMap::new();
    let mut path = String::new();
    for line in said.out.split_inclusive('\n') {
        if let Some(next) = line.strip_prefix("==> Linting ") {
            path = next.trim_end().to_owned();
        }
        sections.entry(path.clone()).or_default().push_str(&in_order(line));
    }
    sections
}

/// Helm lists subcharts in the order of a Go map, which is none.
fn in_order(line: &str) -> String {
    let lists = ["chart metadata is missing these dependencies: "];
    for list in lists {
        if let Some((head, names)) = line.split_once(list) {
            let mut names: Vec<&str> = names.trim_end().split(',').collect();
            names.sort_unstable();
            return format!("{head}{list}{}\n", names.join(","));
        }
    }
    line.to_owned()
}

#[test]
#[ignore = "needs the originals (make tools) and podium"]
fn verdicts_are_those_of_both_helms_by_every_rule() {
    assert!(CHARTS > 2 * FLAWS.len());
    let place = Place::new("lint");
    let home = place.path().join("home");
    for case in 0..CHARTS {
        place.write(&format!("c{case}"), &generate(case));
    }
    std::fs::write(place.path().join("more.yaml"), "port: null\nname: from-file\nextra: {a: [1]}\n").unwrap();
    let mut differences = Vec::new();
    for dialect in Dialect::ALL {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (batch, from) in (0..CHARTS).step_by(BATCH).enumerate() {
            let paths: Vec<String> =
                (from..(from + BATCH).min(CHARTS)).map(|case| format!("c{case}")).collect();
            let mut args = vec!["lint"];
            args.extend(paths.iter().map(String::as_str));
            // The charts with one flaw each are linted without flags, so that nothing hides their flaw.
            let flags = if from < FLAWS.len() { &[][..] } else { FLAGS[batch % FLAGS.len()] };
            args.extend(flags);
            let theirs = run(Program::Helm, dialect, place.path(), &home, &args);
            let ours = run(Program::Podium, dialect, place.path(), &home, &args);
            for (name, mark, helms) in RULES {
                if helms.contains(&number(dialect)) {
                    *counts.entry(name).or_default() += theirs.out.matches(mark).count();
                }
            }
            let (their, our) = (sections(&theirs), sections(&ours));
            for path in their.keys().chain(our.keys()).collect::<std::collections::BTreeSet<_>>() {
                if their.get(path) != our.get(path) {
                    differences.push(format!(
                        "helm {} lint {path} {}\n--- helm\n{}--- podium\n{}",
                        number(dialect),
                        flags.join(" "),
                        their.get(path).map_or("", String::as_str),
                        our.get(path).map_or("", String::as_str)
                    ));
                }
            }
            if (&theirs.error, theirs.status) != (&ours.error, ours.status) {
                differences.push(format!(
                    "helm {} batch {batch}: {:?} {:?}, {:?} {:?}",
                    number(dialect),
                    theirs.error,
                    theirs.status,
                    ours.error,
                    ours.status
                ));
            }
        }
        println!("helm {}: {CHARTS} charts\n{counts:#?}", number(dialect));
        let empty: Vec<_> = counts.iter().filter(|(_, count)| **count == 0).collect();
        assert!(empty.is_empty(), "no chart breaks these rules: {empty:?}");
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
#[ignore = "needs the originals (make tools) and podium"]
fn one_chart_no_chart_and_strange_paths() {
    let place = Place::new("lint-one");
    let home = place.path().join("home");
    place.write("good", &crate::flaws::chart("good"));
    std::fs::write(place.path().join("x.tgz"), "no archive").unwrap();
    let cases: &[&[&str]] = &[
        &["lint", "good"],
        &["lint", "./good/../good/"],
        &["lint", "good", "good"],
        &["lint", "nowhere"],
        &["lint", "nowhere", "good", "--quiet"],
        &["lint", "x.tgz"],
        &["lint", "nowhere.tgz"],
        &["lint", "good", "--kube-version", "x"],
        &["lint", "good", "--set", "a[=1"],
        &["lint", "good", "-f", "nowhere.yaml"],
        &["lint", "good", "--quiet"],
    ];
    let mut differences = Vec::new();
    for dialect in Dialect::ALL {
        differences.extend(cases.iter().filter_map(|args| both(dialect, place.path(), &home, args).err()));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
