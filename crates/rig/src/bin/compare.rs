//! Compares Podium with both originals on random cases: `compare --seed 1 --cases 20000`.

use std::io::Write;
use std::process::ExitCode;

use podium_rig::compare::{self, Tally};
use podium_rig::generate::{self, Case};
use podium_rig::histogram::Histogram;
use podium_rig::mutants;
use podium_rig::probe::Probe;
use podium_rig::request::Dialect;
use podium_rig::subject::Subject;
use podium_rig::{paths, record, shrink};

struct Options {
    seed: u64,
    cases: usize,
    only: String,
    show: usize,
    table: bool,
    cross: bool,
    reasons: bool,
    mutants: bool,
}

fn main() -> ExitCode {
    let mut out = std::io::stdout().lock();
    match parse().and_then(|options| run(&options, &mut out)) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(out, "compare: {error}");
            ExitCode::from(2)
        }
    }
}

fn parse() -> Result<Options, Box<dyn std::error::Error>> {
    let mut options = Options {
        seed: 1,
        cases: 20_000,
        only: String::new(),
        show: 10,
        table: false,
        cross: false,
        reasons: false,
        mutants: false,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--seed" => options.seed = value()?.parse()?,
            "--cases" => options.cases = value()?.parse()?,
            "--only" => options.only = value()?,
            "--show" => options.show = value()?.parse()?,
            "--histogram" => options.table = true,
            "--cross" => options.cross = true,
            "--reasons" => options.reasons = true,
            "--mutants" => options.mutants = true,
            _ => return Err(format!("unknown flag {arg}").into()),
        }
    }
    Ok(options)
}

fn run(options: &Options, out: &mut dyn Write) -> Result<usize, Box<dyn std::error::Error>> {
    let mut cases = record::hand_written(&paths::tests("cases"))?;
    cases.extend(generate::cases(options.seed, options.cases));
    cases.retain(|case| case.id.contains(&options.only));
    let three = Probe::start(Dialect::Helm3)?;
    let four = Probe::start(Dialect::Helm4)?;
    writeln!(out, "seed {}, {} cases", options.seed, cases.len())?;
    if options.reasons {
        return reasons(&cases, &three, out);
    }
    if options.mutants {
        let missed = mutants::unnoticed(&cases, Dialect::Helm4, &four, &four);
        writeln!(out, "{} functions broken one by one, not noticed: {missed:?}", mutants::MUTATIONS.len())?;
        return Ok(missed.len());
    }
    if options.cross {
        let start = std::time::Instant::now();
        let mut tally = compare::run(&cases, Dialect::Helm3, &three, &four);
        writeln!(out, "took {:?}", start.elapsed())?;
        let mut counts = std::collections::BTreeMap::<&str, usize>::new();
        tally.differences.retain(|difference| {
            let reason = podium_rig::dialects::known(difference);
            *counts.entry(reason.unwrap_or("unknown")).or_default() += 1;
            reason.is_none()
        });
        for (reason, count) in counts {
            writeln!(out, "{count:>6} {reason}")?;
        }
        return report(options, &cases, &tally, Dialect::Helm3, &three, &four, out);
    }
    Ok(0)
}

fn report(
    options: &Options,
    cases: &[Case],
    tally: &Tally,
    dialect: Dialect,
    original: &dyn Subject,
    subject: &dyn Subject,
    out: &mut dyn Write,
) -> Result<usize, Box<dyn std::error::Error>> {
    let histogram = Histogram::of(cases, dialect);
    if options.table {
        writeln!(out, "{}", histogram.table())?;
    }
    for (family, (all, errors)) in &tally.families {
        let differ = tally.differences.iter().filter(|d| d.case.family == *family).count();
        writeln!(out, "  {family:<12} {all:>6} cases {errors:>6} errors {differ:>5} differences")?;
    }
    writeln!(
        out,
        "{dialect} and {}: {} cases, {:.1} % errors, {} random, {} broken originals, {} empty cells, {} differences",
        subject.name(),
        tally.cases(),
        tally.error_share(),
        tally.random,
        tally.broken,
        histogram.empty().len(),
        tally.differences.len(),
    )?;
    let weak: Vec<String> = podium_rig::generate::functions::ALL
        .iter()
        .filter(|f| dialect == Dialect::Helm4 || !f.only4)
        .map(|f| (f.name, tally.rendered.get(f.name).copied().unwrap_or(0)))
        .filter(|(_, count)| *count < 5)
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    writeln!(out, "functions with fewer than five calls that render: {}", weak.join(", "))?;
    for difference in tally.differences.iter().take(options.show) {
        let small = shrink::shrink(difference, original, subject);
        writeln!(out, "\n=== {} ({dialect})", small.case.id)?;
        for file in small.case.request.files.iter().chain(&small.case.request.side) {
            writeln!(out, "--- {}\n{}", file.name, String::from_utf8_lossy(&file.data))?;
        }
        if !small.case.request.set.is_empty() {
            writeln!(out, "--- set {:?}", small.case.request.set)?;
        }
        let (theirs, ours) = small.excerpts();
        writeln!(out, "--- {}\n{theirs}", original.name())?;
        writeln!(out, "--- {}\n{ours}", subject.name())?;
    }
    Ok(tally.differences.len())
}

/// The commonest error messages: a generator that always fails in the same way tests little.
fn reasons(
    cases: &[Case],
    original: &dyn Subject,
    out: &mut dyn Write,
) -> Result<usize, Box<dyn std::error::Error>> {
    let requests: Vec<_> = cases.iter().map(|c| c.request.clone()).collect();
    let mut counts = std::collections::BTreeMap::<String, (usize, String)>::new();
    for (case, outcome) in cases.iter().zip(original.render_many(&requests)) {
        if let podium_rig::request::Outcome::Error(text) = outcome {
            let text =
                String::from_utf8_lossy(&text).replace("\n\nUse --debug flag to render out invalid YAML", "");
            let last = text.rsplit(": ").next().unwrap_or_default().trim();
            let key: String = last.chars().filter(|c| !c.is_ascii_digit()).take(60).collect();
            let entry = counts.entry(format!("{} {key}", case.family)).or_default();
            entry.0 += 1;
            entry.1 = case.id.clone();
        }
    }
    let mut sorted: Vec<_> = counts.into_iter().collect();
    sorted.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    for (reason, (count, id)) in sorted.into_iter().take(40) {
        writeln!(out, "{count:>6} {reason:?} ({id})")?;
    }
    Ok(0)
}
