//! Measures the chart operator beside the originals in the same run: `bench-operator --podium path [--quick]`.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use podium_meta::{GroupVersionKind, Resource};
use podium_rig::bench::operator::{Figures, Plan, Subject, growth, measure, project};
use serde_json::json;

type Answer<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    match run(&mut std::io::stdout().lock()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(2),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "bench-operator: {error}");
            ExitCode::FAILURE
        }
    }
}

fn plan(podium: PathBuf, quick: bool) -> Answer<Plan> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).ok_or("no checkout")?.to_path_buf();
    let folder = std::env::temp_dir().join(format!("bench-operator-{}", std::process::id()));
    project(&root, &folder)?;
    Ok(Plan {
        podium,
        project: folder,
        resource: Resource {
            kind: GroupVersionKind::new("models.takeoff.co/v1alpha1", "InferenceStack"),
            plural: "inferencestacks".to_owned(),
            namespaced: true,
        },
        spec: json!({"applications": {"hello-world": {
            "readerConfig": {"modelName": "unsloth/Llama-3.2-1B-Instruct", "device": "cuda"}}}}),
        labels: json!({"operatorVersion": "v1"}),
        count: 50,
        steady: Duration::from_secs(if quick { 10 } else { 60 }),
        changes: if quick { 20 } else { 100 },
        foreign: if quick { 2_000 } else { 20_000 },
    })
}

/// A row: what, ours, each of theirs, the ratio to the better of them, and whether it is enough.
fn row(
    out: &mut dyn Write,
    what: &str,
    all: &[(Subject, Figures)],
    figure: impl Fn(&Figures) -> f64,
    goal: Option<f64>,
) -> Answer<usize> {
    let of = |subject| all.iter().find(|(s, _)| *s == subject).map(|(_, figures)| figure(figures));
    let ours = of(Subject::Podium).unwrap_or(f64::NAN);
    let theirs: Vec<f64> = [Subject::HelmOperator, Subject::Plugins].into_iter().filter_map(of).collect();
    let best = theirs.iter().copied().fold(f64::INFINITY, f64::min);
    let ratio = best / ours.max(1e-9);
    let verdict = match goal {
        _ if theirs.is_empty() => String::new(),
        None => String::new(),
        Some(goal) if ratio >= goal => format!("met (at least {goal})"),
        Some(goal) => format!("MISSED (at least {goal})"),
    };
    let shown: Vec<String> = theirs.iter().map(|figure| format!("{figure:>10.3}")).collect();
    writeln!(out, "{what:<44} {ours:>10.4} {}  {ratio:>8.1}x {verdict}", shown.join(" "))?;
    Ok(usize::from(verdict.starts_with("MISSED")))
}

fn run(out: &mut dyn Write) -> Answer<usize> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| args.iter().position(|arg| arg == name).and_then(|at| args.get(at + 1));
    let podium = value("--podium").ok_or("give --podium PATH")?;
    let quick = args.iter().any(|arg| arg == "--quick");
    let only = value("--only").cloned().unwrap_or_default();
    let plan = plan(podium.into(), quick)?;
    let mut all = Vec::new();
    for subject in Subject::ALL.into_iter().filter(|subject| only.is_empty() || subject.name() == only) {
        writeln!(out, "measuring {} ...", subject.name())?;
        out.flush()?;
        all.push((subject, measure(subject, &plan)?));
    }
    writeln!(
        out,
        "\n{} resources of the inference stack; podium, helm-operator, helm-operator-plugins, ratio to the better",
        plan.count
    )?;
    let mut missed = 0;
    missed += row(out, "create to all Deployed (s)", &all, |f| f.create, Some(8.0))?;
    missed += row(out, "  processor time (s)", &all, |f| f.create_cpu, Some(20.0))?;
    let steady = format!("nothing happens for {} s: processor time (s)", plan.steady.as_secs());
    missed += row(out, &steady, &all, |f| f.steady_cpu, Some(100.0))?;
    missed += row(out, "  requests", &all, |f| f.steady_requests, Some(20.0))?;
    row(out, "  objects written", &all, |f| f.steady_writes as f64, None)?;
    missed += row(out, "memory, resident (MB)", &all, |f| f.memory.0, Some(5.0))?;
    missed += row(out, "memory, anonymous (MB)", &all, |f| f.memory.1, Some(10.0))?;
    row(
        out,
        &format!("  with {} foreign Secrets, resident", plan.foreign),
        &all,
        |f| f.memory_foreign.0,
        None,
    )?;
    row(
        out,
        &format!("  with {} foreign Secrets, anonymous", plan.foreign),
        &all,
        |f| f.memory_foreign.1,
        None,
    )?;
    missed += row(out, "restart to all looked at (s)", &all, |f| f.restart, Some(10.0))?;
    row(out, "  objects written", &all, |f| f.restart_writes as f64, None)?;
    row(out, "changed value to changed object, median (s)", &all, |f| f.change.0, None)?;
    row(out, "  99 of 100 (s)", &all, |f| f.change.1, None)?;
    if let Some((_, ours)) = all.iter().find(|(subject, _)| *subject == Subject::Podium) {
        let checks = [
            ("nothing is written while nothing happens", ours.steady_writes == 0),
            ("a restart writes nothing", ours.restart_writes == 0),
            ("a changed value is there in 100 ms, 99 of 100", ours.change.1 < 0.1),
            ("foreign Secrets cost no memory (under 1 MB)", ours.memory_foreign.1 - ours.memory.1 < 1.0),
        ];
        for (what, holds) in checks {
            missed += usize::from(!holds);
            writeln!(out, "{what}: {}", if holds { "met" } else { "MISSED" })?;
        }
    }
    if !quick && (only.is_empty() || only == "growth") {
        let rows = growth(&plan, &[50, 200, 1_000])?;
        for (count, seconds, memory) in &rows {
            writeln!(out, "{count} resources: {seconds:.2} s, {memory:.1} MB anonymous")?;
        }
        if let [(a, s, m), .., (b, t, n)] = rows.as_slice() {
            let each = (n - m) * 1000.0 / (b - a) as f64;
            let linear = (t / s) / (*b as f64 / *a as f64);
            let holds = each < 20.0 && linear < 1.5;
            missed += usize::from(!holds);
            writeln!(
                out,
                "growth: {each:.1} kB each, time {linear:.2} of linear: {}",
                if holds { "met" } else { "MISSED" }
            )?;
        }
    }
    std::fs::remove_dir_all(&plan.project)?;
    Ok(missed)
}
