//! Compares Podium with both originals: random cases in this process, whole charts by their commands.
//!
//! ```text
//! compare --podium target/fast/podium [--seed 1] [--cases 20000] [--only template-] [--dialect 4] [--show 10]
//!         [--histogram] [--save] [--raw]
//! compare --raw          the differences as they were found, not made small
//! compare --cross        the originals with each other: only known differences may appear
//! compare --mutants      Podium with one function broken at a time: each must be noticed
//! compare --print --only template-1-17      the case itself
//! compare --reasons      the commonest errors of the generated cases
//! ```
//!
//! `PODIUM_CHARTS=folder` adds charts of other people: every chart or archive right under the folder.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use podium_rig::charts::{self, ChartCase, Summary};
use podium_rig::compare::{self, Difference, Tally};
use podium_rig::generate::{self, Case, functions};
use podium_rig::histogram::Histogram;
use podium_rig::podium::Podium;
use podium_rig::probe::Probe;
use podium_rig::request::{Dialect, Outcome};
use podium_rig::subject::Subject;
use podium_rig::{dialects, mutants, paths, record, shrink};

#[derive(Default)]
struct Options {
    /// How many differences are known and open; more than these fail the run.
    known: usize,
    seed: u64,
    cases: usize,
    only: String,
    show: usize,
    dialects: Vec<Dialect>,
    podium: Option<PathBuf>,
    histogram: bool,
    save: bool,
    cross: bool,
    mutants: bool,
    reasons: bool,
    print: bool,
    raw: bool,
}

type Run = Result<usize, Box<dyn Error>>;

fn main() -> ExitCode {
    let mut out = std::io::stdout().lock();
    match parse().and_then(|options| Ok((run(&options, &mut out)?, options.known))) {
        Ok((differences, known)) => {
            let _ = writeln!(out, "{differences} differences; {known} are known and open");
            if differences <= known { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            let _ = writeln!(out, "compare: {error}");
            ExitCode::from(2)
        }
    }
}

fn parse() -> Result<Options, Box<dyn Error>> {
    let mut options =
        Options { seed: 1, cases: 20_000, show: 10, dialects: Dialect::ALL.to_vec(), ..Options::default() };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--known" => options.known = value()?.parse()?,
            "--seed" => options.seed = value()?.parse()?,
            "--cases" => options.cases = value()?.parse()?,
            "--only" => options.only = value()?,
            "--show" => options.show = value()?.parse()?,
            "--podium" => options.podium = Some(value()?.into()),
            "--dialect" => {
                let major = value()?;
                options.dialects.retain(|d| d.major() == major);
            }
            "--histogram" => options.histogram = true,
            "--save" => options.save = true,
            "--cross" => options.cross = true,
            "--mutants" => options.mutants = true,
            "--reasons" => options.reasons = true,
            "--print" => options.print = true,
            "--raw" => options.raw = true,
            _ => return Err(format!("unknown flag {arg}").into()),
        }
    }
    Ok(options)
}

fn run(options: &Options, out: &mut dyn Write) -> Run {
    let mut cases = record::hand_written(&paths::tests("cases"))?;
    cases.extend(generate::cases(options.seed, options.cases));
    cases.retain(|case| case.id.contains(&options.only));
    writeln!(out, "seed {}, {} cases", options.seed, cases.len())?;
    if options.print {
        for case in &cases {
            writeln!(out, "{} {}", case.id, serde_json::Value::Object(case.request.to_json()))?;
        }
        return Ok(0);
    }
    if options.cross {
        return cross(options, &cases, out);
    }
    if options.reasons {
        return reasons(&cases, out);
    }
    if options.mutants {
        let four = Probe::start(Dialect::Helm4)?;
        let missed = mutants::unnoticed(&cases, Dialect::Helm4, &four, &Podium);
        writeln!(out, "{} functions broken one by one, not noticed: {missed:?}", mutants::MUTATIONS.len())?;
        return Ok(missed.len());
    }
    let mut faults = fuzz(options, &cases, out)?;
    if let Some(podium) = &options.podium {
        faults += whole_charts(options, podium, &cases, out)?;
    }
    Ok(faults)
}

/// Random cases, each dialect in a thread of its own.
fn fuzz(options: &Options, cases: &[Case], out: &mut dyn Write) -> Run {
    let start = Instant::now();
    let mut probes = Vec::new();
    for dialect in &options.dialects {
        probes.push((*dialect, Probe::start(*dialect)?));
    }
    let tallies: Vec<Tally> = std::thread::scope(|scope| {
        let handles: Vec<_> = probes
            .iter()
            .map(|(dialect, probe)| scope.spawn(|| compare::run(cases, *dialect, probe, &Podium)))
            .collect();
        handles.into_iter().filter_map(|handle| handle.join().ok()).collect()
    });
    if tallies.len() != probes.len() {
        return Err("a comparison did not end".into());
    }
    writeln!(out, "compared in {:.1} s", start.elapsed().as_secs_f64())?;
    let mut faults = 0;
    for ((dialect, probe), tally) in probes.iter().zip(&tallies) {
        let histogram = Histogram::of(cases, *dialect);
        if options.histogram {
            writeln!(out, "{}", histogram.table())?;
        }
        figures(tally, *dialect, &histogram, out)?;
        let whole = options.only.is_empty() && options.cases >= 20_000;
        faults += tally.differences.len();
        faults += usize::from(whole && !histogram.empty().is_empty());
        faults += usize::from(whole && tally.error_share() < 30.0);
        show(options, tally, *dialect, probe, &Podium, out)?;
    }
    Ok(faults)
}

fn figures(
    tally: &Tally,
    dialect: Dialect,
    histogram: &Histogram,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    for (family, (all, errors)) in &tally.families {
        let differ = tally.differences.iter().filter(|d| d.case.family == *family).count();
        writeln!(out, "  {family:<12} {all:>6} cases {errors:>6} errors {differ:>5} differences")?;
    }
    let weak: Vec<String> = functions::ALL
        .iter()
        .filter(|f| dialect == Dialect::Helm4 || !f.only4)
        .map(|f| (f.name, tally.rendered.get(f.name).copied().unwrap_or(0)))
        .filter(|(_, count)| *count < 3)
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    writeln!(out, "  functions with fewer than three calls that render: {}", weak.join(", "))?;
    if !tally.broken.is_empty() {
        writeln!(out, "  the original breaks on {}", tally.broken.join(", "))?;
    }
    writeln!(
        out,
        "{dialect}: {} cases, {:.1} % errors, {} vary, {} break the original, {} empty cells, {} differences",
        tally.cases(),
        tally.error_share(),
        tally.random,
        tally.broken.len(),
        histogram.empty().len(),
        tally.differences.len(),
    )
}

/// The first differences, made small; with `--save` as cases for the hand-written ones.
fn show(
    options: &Options,
    tally: &Tally,
    dialect: Dialect,
    original: &dyn Subject,
    subject: &dyn Subject,
    out: &mut dyn Write,
) -> Result<(), Box<dyn Error>> {
    let mut saved = String::new();
    for difference in tally.differences.iter().take(options.show) {
        let small =
            if options.raw { difference.clone() } else { shrink::shrink(difference, original, subject) };
        describe(&small, dialect, original, subject, out)?;
        if let [file] = small.case.request.files.as_slice() {
            let template = String::from_utf8_lossy(&file.data).into_owned();
            if small.case.request.on_world && !template.contains("\n=== ") {
                saved += &format!("=== {}\n{template}\n", small.case.id);
            }
        }
    }
    if options.save && !saved.is_empty() {
        let path = paths::tests("cases").join("found.txt");
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        std::fs::write(&path, before + &saved)?;
        writeln!(out, "saved in {}; run record --write to record the originals' answers", path.display())?;
    }
    Ok(())
}

fn describe(
    small: &Difference,
    dialect: Dialect,
    original: &dyn Subject,
    subject: &dyn Subject,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let request = &small.case.request;
    writeln!(out, "\n=== {} ({dialect})", small.case.id)?;
    for file in request.files.iter().chain(&request.side) {
        writeln!(out, "--- {}\n{}", file.name, String::from_utf8_lossy(&file.data))?;
    }
    let flags =
        [&request.set, &request.set_string, &request.set_json, &request.set_file, &request.set_literal];
    for flag in flags.into_iter().filter(|f| !f.is_empty() && **f != [podium_rig::world::SET]) {
        writeln!(out, "--- set {flag:?}")?;
    }
    let (theirs, ours) = small.excerpts();
    writeln!(out, "--- {}\n{theirs}", original.name())?;
    writeln!(out, "--- {}\n{ours}", subject.name())
}

/// How many generated charts the commands judge as well.
const GENERATED_CHARTS: usize = 120;

/// Charts of their own whose output is YAML or an error.
fn for_commands(case: &&Case) -> bool {
    use podium_rig::generate::Family;
    matches!(case.family, Family::Manifests | Family::Subcharts | Family::SetFlags | Family::Schema)
}

/// The repository's charts, some of the generated ones, and public ones when a folder is given.
fn whole_charts(options: &Options, podium: &std::path::Path, cases: &[Case], out: &mut dyn Write) -> Run {
    let command = charts::Podium(std::path::absolute(podium)?);
    let mut faults = 0;
    let folder = std::env::temp_dir().join(format!("podium-generated-{}", std::process::id()));
    let generated: Result<Vec<ChartCase>, charts::Error> = cases
        .iter()
        .filter(for_commands)
        .take(GENERATED_CHARTS)
        .map(|c| charts::lay_out(c, &folder))
        .collect();
    let mut sets =
        vec![("our charts", charts::discover(&paths::tests("charts"))?), ("generated charts", generated?)];
    if let Some(folder) = std::env::var_os("PODIUM_CHARTS") {
        sets.push(("public charts", charts::public(&PathBuf::from(folder))?));
    }
    for (name, mut cases) in sets {
        cases.retain(|case: &ChartCase| options.only.is_empty() || case.name.contains(&options.only));
        let start = Instant::now();
        let Summary { runs, errors, crashes, varying, mismatches } =
            charts::compare(&cases, &charts::Helm, &command)?;
        for mismatch in mismatches.iter().take(options.show) {
            let (theirs, ours) = mismatch.excerpts();
            writeln!(
                out,
                "\n=== {} ({})\n--- helm\n{theirs}\n--- podium\n{ours}",
                mismatch.name, mismatch.dialect
            )?;
        }
        writeln!(
            out,
            "{name}: {runs} runs in {:.1} s, {errors} errors, {varying} vary, {crashes} break the original, {} differences",
            start.elapsed().as_secs_f64(),
            mismatches.len()
        )?;
        faults += mismatches.len();
    }
    let _ = std::fs::remove_dir_all(folder);
    Ok(faults)
}

/// The two originals with each other: a check of the rig itself.
fn cross(options: &Options, cases: &[Case], out: &mut dyn Write) -> Run {
    let (three, four) = (Probe::start(Dialect::Helm3)?, Probe::start(Dialect::Helm4)?);
    let mut tally = compare::run(cases, Dialect::Helm3, &three, &four);
    let mut counts = BTreeMap::<&str, usize>::new();
    tally.differences.retain(|difference| {
        let reason = dialects::known(difference);
        *counts.entry(reason.unwrap_or("unknown")).or_default() += 1;
        reason.is_none()
    });
    for (reason, count) in counts {
        writeln!(out, "{count:>6} {reason}")?;
    }
    figures(&tally, Dialect::Helm3, &Histogram::of(cases, Dialect::Helm3), out)?;
    show(options, &tally, Dialect::Helm3, &three, &four, out)?;
    Ok(tally.differences.len())
}

/// The commonest error messages: a generator that always fails in the same way tests little.
fn reasons(cases: &[Case], out: &mut dyn Write) -> Run {
    let three = Probe::start(Dialect::Helm3)?;
    let requests: Vec<_> = cases.iter().map(|c| c.request.clone()).collect();
    let mut counts = BTreeMap::<String, (usize, &str)>::new();
    for (case, outcome) in cases.iter().zip(three.render_many(&requests)) {
        if let Outcome::Error(text) = outcome {
            let text =
                String::from_utf8_lossy(&text).replace("\n\nUse --debug flag to render out invalid YAML", "");
            let last = text.rsplit(": ").next().unwrap_or_default().trim();
            let key: String = last.chars().filter(|c| !c.is_ascii_digit()).take(60).collect();
            let entry = counts.entry(format!("{} {key}", case.family)).or_default();
            *entry = (entry.0 + 1, &case.id);
        }
    }
    let mut sorted: Vec<_> = counts.into_iter().collect();
    sorted.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    for (reason, (count, id)) in sorted.into_iter().take(40) {
        writeln!(out, "{count:>6} {reason:?} ({id})")?;
    }
    Ok(0)
}
