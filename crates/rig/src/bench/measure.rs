//! Wall time and peak memory of one process.
//!
//! The kernel counts a child's peak memory from before its `exec`, so the process that starts it must be small: the
//! benchmark starts itself again, and that second self has one child only, of which `getrusage` then speaks.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Value, json};

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A process could not be started.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The measured command failed.
    #[error("{command} failed: {message}")]
    Failed {
        /// What was run.
        command: String,
        /// What it said.
        message: String,
    },
    /// The figures could not be read.
    #[error("no figures: {0}")]
    Figures(String),
}

/// What one run took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Wall time.
    pub seconds: f64,
    /// Peak resident memory in MiB.
    pub mebibytes: f64,
    /// Time on processors.
    pub busy: f64,
}

/// The word by which the benchmark knows that it is the small parent.
pub const WORD: &str = "measure-one";

/// The variable that tells the small parent which cluster its child talks to.
const KUBECONFIG: &str = "BENCH_KUBECONFIG";

/// Runs a command once, in a small parent of its own; it talks to a cluster if it is given one.
pub fn once(program: &Path, args: &[&str], kubeconfig: Option<&Path>) -> Result<Cost, Error> {
    let mut parent = Command::new(std::env::current_exe()?);
    parent.env_remove(KUBECONFIG).envs(kubeconfig.map(|path| (KUBECONFIG, path)));
    let output = parent.arg(WORD).arg(program).args(args).output()?;
    let figures: Value = serde_json::from_slice(&output.stdout).map_err(|_| Error::Failed {
        command: format!("{} {}", program.display(), args.join(" ")),
        message: String::from_utf8_lossy(&output.stderr).into_owned(),
    })?;
    let number =
        |key: &str| figures.get(key).and_then(Value::as_f64).ok_or(Error::Figures(figures.to_string()));
    Ok(Cost { seconds: number("seconds")?, mebibytes: number("kibibytes")? / 1024.0, busy: number("busy")? })
}

/// The small parent: runs its one child, output thrown away, and gives the figures as JSON.
pub fn as_parent(mut args: impl Iterator<Item = OsString>) -> Result<String, Error> {
    let program = args.next().unwrap_or_default();
    let start = Instant::now();
    let output = Command::new(&program)
        .args(args)
        .env_clear()
        .envs(std::env::vars_os().filter(|(key, _)| key == "PATH" || key == "HOME"))
        .env("KUBECONFIG", std::env::var_os(KUBECONFIG).unwrap_or_else(|| "/nonexistent".into()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?
        .wait_with_output()?;
    let seconds = start.elapsed().as_secs_f64();
    if !output.status.success() {
        return Err(Error::Failed {
            command: program.to_string_lossy().into_owned(),
            message: String::from_utf8_lossy(&output.stderr).into_owned(),
        });
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(std::io::Error::from)?;
    let times = [usage.user_time(), usage.system_time()];
    let busy: f64 = times.iter().map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6).sum();
    Ok(json!({ "seconds": seconds, "kibibytes": usage.max_rss(), "busy": busy }).to_string())
}

/// The middle of some figures.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn a_child_is_measured() {
        let args = ["/bin/sh", "-c", "exit 0"].map(OsString::from).into_iter();
        let figures: Value = serde_json::from_str(&as_parent(args).unwrap()).unwrap();
        assert!(figures["kibibytes"].as_f64().unwrap() > 100.0);
        let args = ["/bin/sh", "-c", "echo no >&2; exit 3"].map(OsString::from).into_iter();
        assert!(as_parent(args).unwrap_err().to_string().contains("no"));
    }
}
