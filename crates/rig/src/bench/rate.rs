//! Renders per second of a loaded chart in one process.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use podium_chart::capabilities::Capabilities;
use podium_chart::dialect::HELM4;
use podium_chart::load::load;
use podium_chart::render::Release;
use podium_chart::renderer::Renderer;
use podium_chart::values::Values;
use podium_gotmpl::Limits;
use podium_goyaml::{Map, Pos};
use serde_json::Value;

use crate::bench::measure::Error;
use crate::podium::TestWorld;
use crate::request::Dialect;
use crate::tools;

/// The word by which the benchmark knows that it is to render in this process.
pub const WORD: &str = "render-again-and-again";

/// The rate of Helm 4's own engine package.
pub fn helm(chart: &Path, threads: usize, seconds: f64) -> Result<f64, Error> {
    let probe = tools::probe(Dialect::Helm4).map_err(|e| Error::Figures(e.to_string()))?;
    let mut command = tools::quiet_command(&probe);
    command.arg("bench").arg("--chart").arg(chart);
    command.arg("--threads").arg(threads.to_string()).arg("--seconds").arg(seconds.to_string());
    figure(command, "perSecond")
}

/// Our rate, in a process of its own.
pub fn podium(chart: &Path, threads: usize, seconds: f64) -> Result<f64, Error> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(WORD).arg(chart).arg(threads.to_string()).arg(seconds.to_string());
    figure(command, "perSecond")
}

fn figure(mut command: Command, key: &str) -> Result<f64, Error> {
    let output = command.output()?;
    let answer: Option<Value> = serde_json::from_slice(&output.stdout).ok();
    answer.and_then(|a| a.get(key)?.as_f64()).ok_or_else(|| Error::Failed {
        command: format!("{command:?}"),
        message: String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout),
    })
}

/// Renders a chart until the time is over, the chart shared by all threads, and gives the rate as JSON.
pub fn here(chart: &Path, threads: usize, seconds: f64) -> Result<String, Error> {
    let said = |e: &dyn std::fmt::Display| Error::Figures(e.to_string());
    let loaded = load(chart, &HELM4).map_err(|e| said(&e))?;
    let renderer = Renderer::new(loaded.chart, &HELM4);
    let set = Values::from_map(&Map::new(), Pos::default()).map_err(|e| said(&e))?;
    once(&renderer, &set).map_err(|e| said(&e))?;
    let start = Instant::now();
    let end = start + Duration::from_secs_f64(seconds);
    let counts: Vec<Result<usize, String>> = std::thread::scope(|scope| {
        let work = || {
            let mut count = 0;
            while count == 0 || Instant::now() < end {
                once(&renderer, &set)?;
                count += 1;
            }
            Ok(count)
        };
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        handles
            .into_iter()
            .map(|h| h.join().unwrap_or_else(|_| Err("a thread panicked".to_owned())))
            .collect()
    });
    let elapsed = start.elapsed().as_secs_f64();
    let total: usize = counts.into_iter().sum::<Result<usize, String>>().map_err(Error::Figures)?;
    Ok(serde_json::json!({ "threads": threads, "perSecond": total as f64 / elapsed }).to_string())
}

/// What a Go program does per iteration: settle the values, render all templates.
fn once(renderer: &Renderer, set: &Values) -> Result<usize, String> {
    let release =
        Release { name: "bench".to_owned(), namespace: "default".to_owned(), is_upgrade: false, revision: 1 };
    let prepared = renderer.prepare(set, true).map_err(|e| e.to_string())?;
    let files = renderer
        .render(&prepared, &release, &Capabilities::default(), &TestWorld::default(), Limits::default())
        .map_err(|e| e.to_string())?;
    Ok(files.iter().map(|f| f.text.len()).sum())
}
