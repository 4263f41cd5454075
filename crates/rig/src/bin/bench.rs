//! Measures Podium beside Helm 4 in the same run: `bench --podium path [--rounds 7] [--seconds 3] [--only large]`.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use podium_rig::bench::charts::{self, BenchChart};
use podium_rig::bench::measure::{self, Cost, median};
use podium_rig::bench::rate;
use podium_rig::bench::releases::{self, RELEASES, REVISIONS};
use podium_rig::cluster::Cluster;
use podium_rig::request::Dialect;
use podium_rig::tools;

struct Options {
    podium: PathBuf,
    rounds: usize,
    seconds: f64,
    only: String,
    folder: PathBuf,
}

/// How much better we want to be: time, and memory where it was promised.
struct Target {
    chart: &'static str,
    faster: f64,
    smaller: Option<f64>,
}

const TARGETS: &[Target] = &[
    Target { chart: "small", faster: 10.0, smaller: Some(5.0) },
    Target { chart: "large", faster: 10.0, smaller: Some(5.0) },
    Target { chart: "stack", faster: 10.0, smaller: Some(5.0) },
    Target { chart: "umbrella-100", faster: 20.0, smaller: None },
    Target { chart: "umbrella-200", faster: 20.0, smaller: None },
    Target { chart: "unpacked-100", faster: 20.0, smaller: None },
];

const RATES: &[(&str, usize)] =
    &[("small", 1), ("small", 2), ("large", 1), ("large", 2), ("umbrella-100", 1), ("umbrella-100", 2)];

type Done = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let mut out = std::io::stdout().lock();
    let result: Done = match args.next().as_ref().and_then(|a| a.to_str()) {
        Some(measure::WORD) => {
            measure::as_parent(args).map_err(Into::into).and_then(|text| Ok(writeln!(out, "{text}")?))
        }
        Some(rate::WORD) => {
            let rest: Vec<String> = args.map(|a| a.to_string_lossy().into_owned()).collect();
            again(&rest).and_then(|text| Ok(writeln!(out, "{text}")?))
        }
        _ => parse().and_then(|options| run(&options, &mut out)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn again(args: &[String]) -> Result<String, Box<dyn Error>> {
    match args {
        [chart, threads, seconds] => Ok(rate::here(Path::new(chart), threads.parse()?, seconds.parse()?)?),
        _ => Err("three arguments are wanted".into()),
    }
}

fn parse() -> Result<Options, Box<dyn Error>> {
    let mut options = Options {
        podium: PathBuf::new(),
        rounds: 7,
        seconds: 3.0,
        only: String::new(),
        folder: tools::cache()?.with_file_name("bench"),
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--podium" => options.podium = std::path::absolute(value()?)?,
            "--rounds" => options.rounds = value()?.parse()?,
            "--seconds" => options.seconds = value()?.parse()?,
            "--only" => options.only = value()?,
            "--charts" => options.folder = value()?.into(),
            _ => return Err(format!("unknown flag {arg}").into()),
        }
    }
    if !options.podium.is_file() {
        return Err("--podium is the path of the binary to measure".into());
    }
    Ok(options)
}

fn run(options: &Options, out: &mut dyn Write) -> Done {
    let helm = tools::helm(Dialect::Helm4)?;
    let charts: Vec<BenchChart> =
        charts::all().into_iter().filter(|c| c.name.contains(&options.only)).collect();
    let mut missed = 0;
    writeln!(out, "whole process, median of {} alternating runs, output thrown away", options.rounds)?;
    writeln!(out, "{:<14}{:>22}{:>22}{:>10}{:>10}  targets", "chart", "helm 4", "podium", "time", "memory")?;
    let mut times = Vec::new();
    for chart in &charts {
        let path = charts::write(&options.folder, chart)?;
        let path = path.to_string_lossy().into_owned();
        let commands = Commands {
            helm: &["template", "rel", &path],
            podium: &["chart", "template", "rel", &path],
            kubeconfig: None,
        };
        let same = commands.same(options, &helm)?;
        let (theirs, ours) = commands.alternate(options, &helm)?;
        let Some(target) = TARGETS.iter().find(|t| t.chart == chart.name) else { continue };
        let (faster, smaller) = (theirs.seconds / ours.seconds, theirs.mebibytes / ours.mebibytes);
        let mut verdict = met("time", faster, target.faster, &mut missed);
        if let Some(goal) = target.smaller {
            verdict += &met(", memory", smaller, goal, &mut missed);
        }
        writeln!(
            out,
            "{:<14}{:>22}{:>22}{:>9.1}x{:>9.1}x  {verdict}{}",
            chart.name,
            cost(theirs),
            cost(ours),
            faster,
            smaller,
            if same { "" } else { " (OUTPUTS DIFFER)" }
        )?;
        missed += usize::from(!same);
        times.push((chart.name, theirs.seconds, ours.seconds));
        out.flush()?;
    }
    missed += growth(&times, out)?;
    missed += rates(options, out)?;
    if "releases".contains(&options.only) {
        missed += of_releases(options, &helm, out)?;
    }
    writeln!(
        out,
        "{}",
        if missed == 0 { "all targets met".to_owned() } else { format!("{missed} targets missed") }
    )?;
    Ok(())
}

fn cost(cost: Cost) -> String {
    format!("{:.1} ms {:.1} MiB", cost.seconds * 1000.0, cost.mebibytes)
}

fn met(what: &str, ratio: f64, goal: f64, missed: &mut usize) -> String {
    let ok = ratio >= goal;
    *missed += usize::from(!ok);
    format!("{what} {goal}x {}", if ok { "met" } else { "MISSED" })
}

fn output(program: &Path, args: &[&str], kubeconfig: Option<&Path>) -> Result<Vec<u8>, Box<dyn Error>> {
    let kubeconfig = kubeconfig.unwrap_or(Path::new("/nonexistent"));
    let output = tools::quiet_command(program).args(args).env("KUBECONFIG", kubeconfig).output()?;
    if !output.status.success() {
        return Err(format!("{}: {}", program.display(), String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(output.stdout)
}

/// The same thing asked of both.
struct Commands<'a> {
    helm: &'a [&'a str],
    podium: &'a [&'a str],
    kubeconfig: Option<&'a Path>,
}

impl Commands<'_> {
    fn same(&self, options: &Options, helm: &Path) -> Result<bool, Box<dyn Error>> {
        Ok(output(helm, self.helm, self.kubeconfig)?
            == output(&options.podium, self.podium, self.kubeconfig)?)
    }

    /// One of each in turn, so that whatever else the machine does falls on both.
    fn alternate(&self, options: &Options, helm: &Path) -> Result<(Cost, Cost), measure::Error> {
        let mut costs = (Vec::new(), Vec::new());
        for _ in 0..options.rounds {
            costs.0.push(measure::once(helm, self.helm, self.kubeconfig)?);
            costs.1.push(measure::once(&options.podium, self.podium, self.kubeconfig)?);
        }
        let middle = |costs: Vec<Cost>| Cost {
            seconds: median(costs.iter().map(|c| c.seconds).collect()),
            mebibytes: median(costs.iter().map(|c| c.mebibytes).collect()),
            busy: median(costs.iter().map(|c| c.busy).collect()),
        };
        Ok((middle(costs.0), middle(costs.1)))
    }
}

/// What is asked of a cluster with many releases; the status is compared as JSON, since helm's text has no order.
fn of_releases(options: &Options, helm: &Path, out: &mut dyn Write) -> Result<usize, Box<dyn Error>> {
    let cluster = Cluster::upstream()?;
    let bytes = releases::fill(&cluster)?;
    writeln!(
        out,
        "\n{RELEASES} releases of {REVISIONS} revisions, {} kB each, in a real control plane on this machine",
        bytes / 1000
    )?;
    let mut missed = 0;
    let mut line = |name: &str, helm_args: &[&str], podium_args: &[&str]| -> Done {
        let commands =
            Commands { helm: helm_args, podium: podium_args, kubeconfig: Some(cluster.kubeconfig()) };
        let same = commands.same(options, helm)?;
        let (theirs, ours) = commands.alternate(options, helm)?;
        let (faster, smaller) = (theirs.seconds / ours.seconds, theirs.mebibytes / ours.mebibytes);
        let difference = if same { "" } else { "  (OUTPUTS DIFFER)" };
        missed += usize::from(!same);
        writeln!(
            out,
            "{name:<14}{:>22}{:>22}{faster:>9.1}x{smaller:>9.1}x{difference}",
            cost(theirs),
            cost(ours)
        )?;
        Ok(out.flush()?)
    };
    line("list -A", &["list", "-A", "--max", "0"], &["release", "list", "-A", "--max", "0"])?;
    line("status", &["status", "made", "-o", "json"], &["release", "status", "made", "-o", "json"])?;
    changes(options, helm, &cluster, out)?;
    Ok(missed)
}

/// A release that comes, changes and goes, of each in turn.
fn changes(options: &Options, helm: &Path, cluster: &Cluster, out: &mut dyn Write) -> Done {
    let chart = releases::write_forty(cluster.folder())?.to_string_lossy().into_owned();
    writeln!(out, "\na chart of {} objects; time, processor time and memory", releases::FORTY)?;
    let stages: [(&str, &[&str]); 3] = [
        ("install", &["install", "forty", &chart]),
        ("upgrade", &["upgrade", "forty", &chart, "--set", "word=next"]),
        ("uninstall", &["uninstall", "forty"]),
    ];
    let mut costs = vec![(Vec::new(), Vec::new()); stages.len()];
    for _ in 0..options.rounds {
        for (args, (theirs, _)) in stages.iter().map(|stage| stage.1).zip(&mut costs) {
            theirs.push(measure::once(helm, args, Some(cluster.kubeconfig()))?);
        }
        for (args, (_, ours)) in stages.iter().map(|stage| stage.1).zip(&mut costs) {
            let args = [&["release"], args].concat();
            ours.push(measure::once(&options.podium, &args, Some(cluster.kubeconfig()))?);
        }
    }
    let middle = |costs: &[Cost], of: fn(&Cost) -> f64| median(costs.iter().map(of).collect());
    let figures: [(&str, f64, fn(&Cost) -> f64); 3] = [
        ("ms", 1000.0, |cost| cost.seconds),
        ("ms busy", 1000.0, |cost| cost.busy),
        ("MiB", 1.0, |cost| cost.mebibytes),
    ];
    for ((name, _), (theirs, ours)) in stages.iter().zip(&costs) {
        let mut text = format!("{name:<14}");
        for (unit, factor, of) in figures {
            let (theirs, ours) = (middle(theirs, of) * factor, middle(ours, of) * factor);
            text += &format!("{:>28}", format!("{theirs:.0} / {ours:.0} {unit} = {:.1}x", theirs / ours));
        }
        writeln!(out, "{text}")?;
    }
    Ok(out.flush()?)
}

/// Twice the subcharts may take little more than twice the time.
fn growth(times: &[(&str, f64, f64)], out: &mut dyn Write) -> Result<usize, std::io::Error> {
    let find = |name: &str| times.iter().find(|t| t.0 == name);
    let (Some(one), Some(two)) = (find("umbrella-100"), find("umbrella-200")) else { return Ok(0) };
    let (theirs, ours) = (two.1 / one.1, two.2 / one.2);
    let ok = ours <= 2.3;
    writeln!(
        out,
        "growth from 100 to 200 subcharts: helm 4 {theirs:.2}x, podium {ours:.2}x, linear {}",
        if ok { "met" } else { "MISSED" }
    )?;
    Ok(usize::from(!ok))
}

fn rates(options: &Options, out: &mut dyn Write) -> Result<usize, Box<dyn Error>> {
    let mut missed = 0;
    writeln!(
        out,
        "\nrenders per second of a loaded chart in one process, median of 3 times {} s",
        options.seconds
    )?;
    writeln!(out, "{:<22}{:>14}{:>14}{:>10}  target", "chart and threads", "helm 4", "podium", "ratio")?;
    for (name, threads) in RATES.iter().filter(|(name, _)| name.contains(&options.only)) {
        let path = options.folder.join(name);
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            theirs.push(rate::helm(&path, *threads, options.seconds)?);
            ours.push(rate::podium(&path, *threads, options.seconds)?);
        }
        let (theirs, ours) = (median(theirs), median(ours));
        let verdict = met("", ours / theirs, 10.0, &mut missed);
        writeln!(
            out,
            "{:<22}{:>14.1}{:>14.1}{:>9.1}x {verdict}",
            format!("{name}, {threads}"),
            theirs,
            ours,
            ours / theirs
        )?;
        out.flush()?;
    }
    Ok(missed)
}
