//! Differential tests against opm's Go packages at both compatibility levels and against
//! operator-controller's resolver: verdicts, messages and output must be equal.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod cases;
mod support;

use std::collections::BTreeMap;

use cases::{Case, MUTATIONS, TEMPLATE_MUTATIONS, Template, case, template};
use podium_catalog::compat::OpmCompat;
use support::resolution::{OUTCOME_CLASSES, our_resolution, upstream_resolution};
use support::resolution_cases::{ResolutionCase, resolution_case};
use support::{Outputs, Probe, normalize, ours, ours_template, upstream, upstream_template};

fn count(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Returns `PODIUM_SEED`, or a seed of the current day.
fn seed() -> u64 {
    let day =
        || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() / 86_400;
    let seed = count("PODIUM_SEED", day());
    println!("PODIUM_SEED={seed}");
    seed
}

/// Number of accepted and rejected cases by mutation.
#[derive(Default)]
struct Histogram(BTreeMap<&'static str, [usize; 2]>);

impl Histogram {
    fn record_output(&mut self, mutation: &'static str, outputs: &Outputs) {
        let rejected = outputs.values().next_back().is_some_and(|output| output.starts_with(b"error: "))
            || outputs.get("validate").is_some_and(|output| output.starts_with(b"error: "));
        self.0.entry(mutation).or_default()[usize::from(rejected)] += 1;
    }

    fn print(&self, mutations: impl Iterator<Item = &'static str>) {
        println!("{:<36} accepted rejected", "mutation");
        for mutation in mutations {
            let [accepted, rejected] = self.0.get(mutation).copied().unwrap_or_default();
            println!("{mutation:<36} {accepted:>8} {rejected:>8}");
            assert!(accepted + rejected > 0, "{mutation} is not covered");
        }
    }
}

fn differences(upstream: &Outputs, ours: &Outputs) -> Vec<String> {
    // Input that makes opm panic has to be rejected.
    let crash = |output: &[u8], our_output: &[u8]| {
        output.starts_with(b"crash: ") && our_output.starts_with(b"error: ")
    };
    upstream
        .iter()
        .filter(|(name, output)| !ours.get(*name).is_some_and(|our_output| crash(output, our_output)))
        .filter(|(name, output)| {
            ours.get(*name).is_none_or(|our_output| normalize(our_output) != normalize(output))
        })
        .map(|(name, output)| {
            let our_output = ours
                .get(name)
                .map(|our_output| String::from_utf8_lossy(our_output).into_owned())
                .unwrap_or_default();
            let (upstream, our_output) = (normalize(output), normalize(our_output.as_bytes()));
            let at = upstream
                .bytes()
                .zip(our_output.bytes())
                .take_while(|(a, b)| a == b)
                .count()
                .saturating_sub(80);
            let cut = |text: &str| {
                String::from_utf8_lossy(text.as_bytes().get(at..).unwrap_or_default())
                    .chars()
                    .take(400)
                    .collect::<String>()
            };
            format!("{name}\n  upstream: {:?}\n  podium:   {:?}", cut(&upstream), cut(&our_output))
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

fn catalogs(compat: OpmCompat) {
    let (seed, cases) = (seed(), count("PODIUM_CASES", 1200));
    let mut probe = Probe::start(compat);
    let mut histogram = Histogram::default();
    let mut failures = Vec::new();
    for index in 0..cases {
        let case: Case = case(seed, index);
        let upstream = upstream(&mut probe, &case);
        histogram.record_output(case.mutation, &upstream);
        let found = differences(&upstream, &ours(&case, compat));
        if !found.is_empty() {
            failures.push(format!(
                "case {index} ({}, {}): {}\n{}",
                case.mutation,
                case.format,
                found.join("\n"),
                display_files(&case)
            ));
        }
    }
    histogram.print(MUTATIONS.iter().map(|(mutation, _)| *mutation));
    report(&failures, cases);
}

fn display_files(case: &Case) -> String {
    let file = |(name, data): &(String, Vec<u8>)| {
        format!("--- {name}\n{}", String::from_utf8_lossy(data).chars().take(600).collect::<String>())
    };
    case.files.iter().map(file).collect::<Vec<_>>().join("\n")
}

fn templates(compat: OpmCompat) {
    let (seed, cases) = (seed(), count("PODIUM_CASES", 1200) / 2);
    let mut probe = Probe::start(compat);
    let mut histogram = Histogram::default();
    let mut failures = Vec::new();
    for index in 0..cases {
        let template: Template = template(seed, index);
        if compat == OpmCompat::V151 && template.kind.is_empty() {
            // opm 1.51 does not detect the template kind.
            continue;
        }
        let upstream = upstream_template(&mut probe, &template);
        histogram.record_output(template.mutation, &upstream);
        let found = differences(&upstream, &ours_template(&template, compat));
        if !found.is_empty() {
            let text = String::from_utf8_lossy(&template.text).into_owned();
            failures.push(format!("case {index} ({}): {}\n{text}", template.mutation, found[0]));
        }
    }
    let is_known = |kind: &str| compat == OpmCompat::V173 || !kind.is_empty();
    histogram.print(
        TEMPLATE_MUTATIONS.iter().filter(|(_, kind, _)| is_known(kind)).map(|(mutation, ..)| *mutation),
    );
    report(&failures, cases);
}

#[test]
#[ignore = "needs opm 1.73's packages (make tools)"]
fn catalogs_match_opm_173() {
    catalogs(OpmCompat::V173);
}

#[test]
#[ignore = "needs opm 1.51's packages (make tools)"]
fn catalogs_match_opm_151() {
    catalogs(OpmCompat::V151);
}

#[test]
#[ignore = "needs opm 1.73's packages (make tools)"]
fn templates_match_opm_173() {
    templates(OpmCompat::V173);
}

#[test]
#[ignore = "needs opm 1.51's packages (make tools)"]
fn templates_match_opm_151() {
    templates(OpmCompat::V151);
}

#[test]
#[ignore = "needs operator-controller's packages (make tools)"]
fn resolved_bundles_match_controller() {
    let (seed, cases) = (seed(), count("PODIUM_CASES", 4000));
    let mut probe = Probe::start_named("probe-bundle");
    let mut class_counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for index in 0..cases {
        let case: ResolutionCase = resolution_case(seed, index);
        let upstream = upstream_resolution(&mut probe, &case);
        let output = String::from_utf8_lossy(&upstream["choice"]).into_owned();
        let error = output.strip_prefix("error: ").unwrap_or_default();
        for (name, is) in OUTCOME_CLASSES {
            *class_counts.entry(name).or_default() += usize::from(is(&case, error, &upstream));
        }
        let ours = our_resolution(&case);
        let mut found = differences(&upstream, &ours);
        found.extend(
            ours.keys().filter(|key| !upstream.contains_key(*key)).map(|key| format!("{key}: only ours")),
        );
        if !found.is_empty() {
            let catalog = |(name, priority, data): &(String, i32, Vec<u8>)| {
                format!("--- {name} ({priority})\n{}", String::from_utf8_lossy(data))
            };
            let catalogs: Vec<String> = case.catalogs.iter().map(catalog).collect();
            failures.push(format!(
                "case {index}: {}\n{:#?}\n{}",
                found.join("\n"),
                case.request,
                catalogs.join("\n")
            ));
        }
    }
    for (name, _) in OUTCOME_CLASSES {
        println!("{name:<36} {:>5}", class_counts[name]);
    }
    report(&failures, cases);
    assert!(class_counts.values().all(|&times| times > 0), "an outcome is not covered");
}

#[test]
#[ignore = "needs opm 1.73's packages (make tools)"]
fn case_folding_matches_opm() {
    let mut probe = Probe::start(OpmCompat::V173);
    let all: Vec<char> = ('\0'..=char::MAX).filter(|c| *c != '\n').collect();
    for part in all.chunks(20_000) {
        let text: String = part.iter().map(char::to_string).collect::<Vec<_>>().join("\n");
        let encoded = String::from_utf8(podium_sprig::encoding::base64_encode(text.as_bytes())).unwrap();
        let output = probe.call(&serde_json::json!({ "op": "fold", "text": encoded }));
        let folded = output["folded"].as_array().unwrap();
        let mismatches: Vec<String> = part
            .iter()
            .zip(folded)
            .filter(|(c, folded)| podium_catalog::fold::fold(&c.to_string()) != folded.as_str().unwrap())
            .map(|(c, folded)| format!("{:04x} -> {folded}", *c as u32))
            .collect();
        assert!(mismatches.is_empty(), "{} {mismatches:?}", mismatches.len());
    }
}

#[test]
#[ignore = "rewrites tests/recorded.txt with opm 1.73 and 1.51 (make tools)"]
fn record() {
    let mut lines =
        vec!["# Recorded outputs of opm: version, kind, case number, + if accepted, fingerprint.".to_owned()];
    for (compat, name) in [(OpmCompat::V173, "1.73"), (OpmCompat::V151, "1.51")] {
        let mut probe = Probe::start(compat);
        for index in 0..support::RECORDED {
            let case = case(support::SEED, index);
            let outputs = upstream(&mut probe, &case);
            let verdict = if support::accepted(&outputs) { '+' } else { '-' };
            lines.push(format!("{name} catalog {index} {verdict} {:016x}", support::fingerprint(&outputs)));
        }
        for index in 0..support::RECORDED / 2 {
            let template = template(support::SEED, index);
            if compat == OpmCompat::V151 && template.kind.is_empty() {
                continue;
            }
            let outputs = upstream_template(&mut probe, &template);
            if outputs.values().any(|output| output.starts_with(b"crash: ")) {
                continue;
            }
            let verdict = if support::accepted(&outputs) { '+' } else { '-' };
            lines.push(format!("{name} template {index} {verdict} {:016x}", support::fingerprint(&outputs)));
        }
    }
    lines.push(String::new());
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded.txt"), lines.join("\n")).unwrap();
}

#[test]
#[ignore = "rewrites tests/resolved.txt with operator-controller's resolver (make tools)"]
fn record_resolutions() {
    use support::resolution::{RECORDED, SEED};
    let mut probe = Probe::start_named("probe-bundle");
    let mut lines = vec![
        "# Recorded resolutions of operator-controller: case number, + if resolved, fingerprint.".to_owned(),
    ];
    for index in 0..RECORDED {
        let outputs = upstream_resolution(&mut probe, &resolution_case(SEED, index));
        let verdict = if support::accepted(&outputs) { '+' } else { '-' };
        lines.push(format!("{index} {verdict} {:016x}", support::fingerprint(&outputs)));
    }
    lines.push(String::new());
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/resolved.txt"), lines.join("\n")).unwrap();
}
