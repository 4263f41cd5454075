//! Measures catalogs beside opm in the same run: `bench-catalog --podium path [--runs n] [--folder path]`.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use podium_rig::bench::catalogs::{PUBLISHED, write};
use podium_rig::bench::measure::{self, Cost, WORD, as_parent, median};
use podium_rig::tools;

type Answer<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let mut out = std::io::stdout().lock();
    let done = if std::env::args().nth(1).as_deref() == Some(WORD) {
        args.next();
        as_parent(args).map(|figures| drop(writeln!(out, "{figures}"))).map(|()| 0).map_err(Into::into)
    } else {
        run(&mut out)
    };
    match done {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(2),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "bench-catalog: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The middle of some runs.
fn cost(program: &Path, args: &[&str], runs: usize) -> Answer<Cost> {
    let all: Vec<Cost> = (0..runs).map(|_| measure::once(program, args, None)).collect::<Result<_, _>>()?;
    let middle = |figure: fn(&Cost) -> f64| median(all.iter().map(figure).collect());
    Ok(Cost { seconds: middle(|c| c.seconds), mebibytes: middle(|c| c.mebibytes), busy: middle(|c| c.busy) })
}

/// Prints the figures and gives the number of goals that were missed.
fn run(out: &mut dyn Write) -> Answer<usize> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |flag: &str| args.iter().position(|arg| arg == flag).and_then(|at| args.get(at + 1));
    let podium = value("--podium").map(PathBuf::from).map_or_else(tools::podium, Ok)?;
    let runs = value("--runs").map_or(Ok(3), |text| text.parse())?;
    let opm = tools::opm("opm173")?;
    let own = std::env::temp_dir().join(format!("bench-catalog-{}", std::process::id()));
    let folder = match value("--folder") {
        Some(folder) => PathBuf::from(folder),
        None => {
            let bytes = write(&own, PUBLISHED, 1)?;
            let (packages, bundles) = (PUBLISHED.packages, PUBLISHED.packages * PUBLISHED.bundles);
            writeln!(out, "catalog: {packages} packages, {bundles} bundles, {:.1} MB", bytes as f64 / 1e6)?;
            own.clone()
        }
    };
    let place = folder.to_string_lossy().into_owned();
    writeln!(out, "{:<24} {:>9} {:>9} {:>8} {:>6}", "work", "opm 1.73", "podium", "ratio", "goal")?;
    let mut missed = 0;
    let mut row =
        |out: &mut dyn Write, what: &str, theirs: f64, ours: f64, goal: Option<f64>| -> Answer<()> {
            let ratio = theirs / ours.max(1e-9);
            let verdict = match goal {
                Some(goal) if ratio < goal => {
                    missed += 1;
                    format!("{goal:>5}x  MISSED")
                }
                Some(goal) => format!("{goal:>5}x"),
                None => String::new(),
            };
            writeln!(out, "{what:<24} {theirs:>9.2} {ours:>9.2} {ratio:>7.1}x {verdict}")?;
            Ok(())
        };
    let works: [(&str, Vec<&str>, Vec<&str>, f64, Option<f64>); 3] = [
        ("validate", vec!["validate", &place], vec!["catalog", "validate", &place], 10.0, Some(5.0)),
        ("render to JSON", vec!["render", &place], vec!["catalog", "render", &place], 10.0, None),
        (
            "render to YAML",
            vec!["render", &place, "-o", "yaml"],
            vec!["catalog", "render", &place, "-o", "yaml"],
            20.0,
            None,
        ),
    ];
    for (name, theirs, ours, goal, memory) in works {
        let theirs = cost(&opm, &theirs, runs)?;
        let ours = cost(&podium, &ours, runs)?;
        row(out, &format!("{name}, CPU s"), theirs.busy, ours.busy, Some(goal))?;
        row(out, &format!("{name}, wall s"), theirs.seconds, ours.seconds, None)?;
        row(out, &format!("{name}, MiB"), theirs.mebibytes, ours.mebibytes, memory)?;
    }
    let _ = std::fs::remove_dir_all(&own);
    Ok(missed)
}
