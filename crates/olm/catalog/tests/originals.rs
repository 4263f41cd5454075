//! Catalogs and templates beside opm's own packages, of both generations: verdicts, words and bytes. And the choice of a
//! bundle beside the resolver of the lifecycle controller.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod cases;
mod support;

use std::collections::BTreeMap;

use cases::{BREAKS, Case, TEMPLATE_BREAKS, Template, case, template};
use podium_catalog::generation::Generation;
use support::resolution::{ENDINGS, ours_of_resolution, theirs_of_resolution};
use support::resolutions::{Resolution, resolution};
use support::{Answers, Probe, normal, ours, ours_of_template, theirs, theirs_of_template};

fn count(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// The seed of a run: the day's, unless it is given.
fn seed() -> u64 {
    let day =
        || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() / 86_400;
    let seed = count("PODIUM_SEED", day());
    println!("PODIUM_SEED={seed}");
    seed
}

/// How often each rule came, and how often opm refused it.
#[derive(Default)]
struct Histogram(BTreeMap<&'static str, [usize; 2]>);

impl Histogram {
    fn note(&mut self, rule: &'static str, answers: &Answers) {
        let refused = answers.values().next_back().is_some_and(|answer| answer.starts_with(b"error: "))
            || answers.get("validate").is_some_and(|answer| answer.starts_with(b"error: "));
        self.0.entry(rule).or_default()[usize::from(refused)] += 1;
    }

    fn show(&self, rules: impl Iterator<Item = &'static str>) {
        println!("{:<36} taken refused", "rule");
        for rule in rules {
            let [taken, refused] = self.0.get(rule).copied().unwrap_or_default();
            println!("{rule:<36} {taken:>5} {refused:>7}");
            assert!(taken + refused > 0, "{rule} never came");
        }
    }
}

fn differences(theirs: &Answers, ours: &Answers) -> Vec<String> {
    // What makes opm crash has to be refused.
    let crash = |answer: &[u8], own: &[u8]| answer.starts_with(b"crash: ") && own.starts_with(b"error: ");
    theirs
        .iter()
        .filter(|(name, answer)| !ours.get(*name).is_some_and(|own| crash(answer, own)))
        .filter(|(name, answer)| ours.get(*name).is_none_or(|own| normal(own) != normal(answer)))
        .map(|(name, answer)| {
            let own = ours.get(name).map(|own| String::from_utf8_lossy(own).into_owned()).unwrap_or_default();
            let (theirs, own) = (normal(answer), normal(own.as_bytes()));
            let at = theirs.bytes().zip(own.bytes()).take_while(|(a, b)| a == b).count().saturating_sub(80);
            let cut = |text: &str| {
                String::from_utf8_lossy(text.as_bytes().get(at..).unwrap_or_default())
                    .chars()
                    .take(400)
                    .collect::<String>()
            };
            format!("{name}\n  theirs: {:?}\n  podium: {:?}", cut(&theirs), cut(&own))
        })
        .collect()
}

fn report(failures: &[String], cases: u64) {
    println!("{} of {cases} cases differ", failures.len());
    assert!(
        failures.is_empty(),
        "{} differences, the first:\n{}",
        failures.len(),
        failures[..failures.len().min(8)].join("\n")
    );
}

fn catalogs(generation: Generation) {
    let (seed, cases) = (seed(), count("PODIUM_CASES", 1200));
    let mut probe = Probe::start(generation);
    let mut histogram = Histogram::default();
    let mut failures = Vec::new();
    for number in 0..cases {
        let case: Case = case(seed, number);
        let theirs = theirs(&mut probe, &case);
        histogram.note(case.rule, &theirs);
        let found = differences(&theirs, &ours(&case, generation));
        if !found.is_empty() {
            failures.push(format!(
                "case {number} ({}, {}): {}\n{}",
                case.rule,
                case.form,
                found.join("\n"),
                shown(&case)
            ));
        }
    }
    histogram.show(BREAKS.iter().map(|(rule, _)| *rule));
    report(&failures, cases);
}

fn shown(case: &Case) -> String {
    let file = |(name, data): &(String, Vec<u8>)| {
        format!("--- {name}\n{}", String::from_utf8_lossy(data).chars().take(600).collect::<String>())
    };
    case.files.iter().map(file).collect::<Vec<_>>().join("\n")
}

fn templates(generation: Generation) {
    let (seed, cases) = (seed(), count("PODIUM_CASES", 1200) / 2);
    let mut probe = Probe::start(generation);
    let mut histogram = Histogram::default();
    let mut failures = Vec::new();
    for number in 0..cases {
        let template: Template = template(seed, number);
        if generation == Generation::V151 && template.kind.is_empty() {
            // The older opm does not find out the kind.
            continue;
        }
        let theirs = theirs_of_template(&mut probe, &template);
        histogram.note(template.rule, &theirs);
        let found = differences(&theirs, &ours_of_template(&template, generation));
        if !found.is_empty() {
            let text = String::from_utf8_lossy(&template.text).into_owned();
            failures.push(format!("case {number} ({}): {}\n{text}", template.rule, found[0]));
        }
    }
    let known = |kind: &str| generation == Generation::V173 || !kind.is_empty();
    histogram.show(TEMPLATE_BREAKS.iter().filter(|(_, kind, _)| known(kind)).map(|(rule, ..)| *rule));
    report(&failures, cases);
}

#[test]
#[ignore = "needs the packages of opm 1.73 (make tools)"]
fn catalogs_are_as_opm_173_has_them() {
    catalogs(Generation::V173);
}

#[test]
#[ignore = "needs the packages of opm 1.51 (make tools)"]
fn catalogs_are_as_opm_151_has_them() {
    catalogs(Generation::V151);
}

#[test]
#[ignore = "needs the packages of opm 1.73 (make tools)"]
fn templates_give_what_opm_173_gives() {
    templates(Generation::V173);
}

#[test]
#[ignore = "needs the packages of opm 1.51 (make tools)"]
fn templates_give_what_opm_151_gives() {
    templates(Generation::V151);
}

#[test]
#[ignore = "needs the packages of the lifecycle controller (make tools)"]
fn the_bundle_is_the_one_that_the_controller_takes() {
    let (seed, cases) = (seed(), count("PODIUM_CASES", 4000));
    let mut probe = Probe::named("probe-bundle");
    let mut endings: BTreeMap<&str, usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for number in 0..cases {
        let case: Resolution = resolution(seed, number);
        let theirs = theirs_of_resolution(&mut probe, &case);
        let answer = String::from_utf8_lossy(&theirs["choice"]).into_owned();
        let error = answer.strip_prefix("error: ").unwrap_or_default();
        for (name, is) in ENDINGS {
            *endings.entry(name).or_default() += usize::from(is(&case, error, &theirs));
        }
        let ours = ours_of_resolution(&case);
        let mut found = differences(&theirs, &ours);
        found.extend(
            ours.keys().filter(|key| !theirs.contains_key(*key)).map(|key| format!("{key}: only ours")),
        );
        if !found.is_empty() {
            let catalog = |(name, priority, data): &(String, i32, Vec<u8>)| {
                format!("--- {name} ({priority})\n{}", String::from_utf8_lossy(data))
            };
            let catalogs: Vec<String> = case.catalogs.iter().map(catalog).collect();
            failures.push(format!(
                "case {number}: {}\n{:#?}\n{}",
                found.join("\n"),
                case.wish,
                catalogs.join("\n")
            ));
        }
    }
    for (name, _) in ENDINGS {
        println!("{name:<36} {:>5}", endings[name]);
    }
    report(&failures, cases);
    assert!(endings.values().all(|&times| times > 0), "something never came");
}

#[test]
#[ignore = "needs the packages of opm 1.73 (make tools)"]
fn letter_case_is_folded_as_opm_folds_it() {
    let mut probe = Probe::start(Generation::V173);
    let all: Vec<char> = ('\0'..=char::MAX).filter(|c| *c != '\n').collect();
    for part in all.chunks(20_000) {
        let text: String = part.iter().map(char::to_string).collect::<Vec<_>>().join("\n");
        let encoded = String::from_utf8(podium_sprig::encoding::base64_encode(text.as_bytes())).unwrap();
        let answer = probe.ask(&serde_json::json!({ "op": "fold", "text": encoded }));
        let folded = answer["folded"].as_array().unwrap();
        let wrong: Vec<String> = part
            .iter()
            .zip(folded)
            .filter(|(c, folded)| podium_catalog::fold::fold(&c.to_string()) != folded.as_str().unwrap())
            .map(|(c, folded)| format!("{:04x} -> {folded}", *c as u32))
            .collect();
        assert!(wrong.is_empty(), "{} {wrong:?}", wrong.len());
    }
}

#[test]
#[ignore = "writes tests/recorded.txt anew, from the packages of both generations of opm (make tools)"]
fn record() {
    let mut lines = vec![
        "# What opm answers to generated cases: generation, kind, number, + if it takes the case, a mark."
            .to_owned(),
    ];
    for (generation, name) in [(Generation::V173, "1.73"), (Generation::V151, "1.51")] {
        let mut probe = Probe::start(generation);
        for number in 0..support::RECORDED {
            let case = case(support::SEED, number);
            let answers = theirs(&mut probe, &case);
            let sign = if support::taken(&answers) { '+' } else { '-' };
            lines.push(format!("{name} catalog {number} {sign} {:016x}", support::mark(&answers)));
        }
        for number in 0..support::RECORDED / 2 {
            let template = template(support::SEED, number);
            if generation == Generation::V151 && template.kind.is_empty() {
                continue;
            }
            let answers = theirs_of_template(&mut probe, &template);
            if answers.values().any(|answer| answer.starts_with(b"crash: ")) {
                continue;
            }
            let sign = if support::taken(&answers) { '+' } else { '-' };
            lines.push(format!("{name} template {number} {sign} {:016x}", support::mark(&answers)));
        }
    }
    lines.push(String::new());
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded.txt"), lines.join("\n")).unwrap();
}

#[test]
#[ignore = "writes tests/resolved.txt anew, from the packages of the lifecycle controller (make tools)"]
fn record_resolutions() {
    use support::resolution::{RECORDED, SEED};
    let mut probe = Probe::named("probe-bundle");
    let mut lines = vec![
        "# Which bundle the lifecycle controller takes in generated cases: number, + if there is one, a mark.".to_owned(),
    ];
    for number in 0..RECORDED {
        let answers = theirs_of_resolution(&mut probe, &resolution(SEED, number));
        let sign = if support::taken(&answers) { '+' } else { '-' };
        lines.push(format!("{number} {sign} {:016x}", support::mark(&answers)));
    }
    lines.push(String::new());
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/resolved.txt"), lines.join("\n")).unwrap();
}
