//! The folder of a cluster, and the one who runs it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use serde_json::{Value, json};

use crate::flag::one;

/// The folder of a cluster.
pub struct Home {
    /// Where it is.
    pub root: PathBuf,
}

/// A cluster that runs.
pub struct Running {
    /// The process.
    pub pid: i32,
    /// The address of the API.
    pub url: String,
    /// Since when, in seconds since 1970.
    pub since: i64,
    /// The version of podium.
    pub version: String,
}

impl Home {
    /// By the flags, the environment, or where it usually is.
    pub fn of(matches: &ArgMatches) -> Result<Self> {
        let said = one(matches, "data").map(PathBuf::from);
        let said =
            said.or_else(|| std::env::var_os("PODIUM_DATA").filter(|v| !v.is_empty()).map(PathBuf::from));
        let root = match said {
            Some(root) => root,
            None => match std::env::var_os("HOME").filter(|home| !home.is_empty()) {
                Some(home) => PathBuf::from(home).join(".podium"),
                None => bail!("HOME is not set: say where the data is with --data FOLDER"),
            },
        };
        let root = std::path::absolute(&root).with_context(|| root.display().to_string())?;
        Ok(Self { root })
    }

    /// How clients reach it.
    pub fn kubeconfig(&self) -> PathBuf {
        self.root.join("kubeconfig")
    }

    /// What it tells in the background.
    pub fn log(&self) -> PathBuf {
        self.root.join("log")
    }

    /// Whether a cluster was ever made in it.
    pub fn is_cluster(&self) -> bool {
        self.root.join("store/lock").is_file()
    }

    fn record(&self) -> PathBuf {
        self.root.join("running.json")
    }

    /// Writes down who runs it.
    pub fn started(&self, url: &str, since: i64) -> Result<()> {
        let record = json!({"pid": std::process::id(), "url": url, "since": since,
            "version": env!("CARGO_PKG_VERSION")});
        let (path, new) = (self.record(), self.root.join("running.new"));
        fs::write(&new, record.to_string() + "\n")
            .and_then(|()| fs::rename(&new, &path))
            .with_context(|| path.display().to_string())
    }

    /// Nobody runs it any more.
    pub fn ended(&self) {
        let _ = fs::remove_file(self.record());
    }

    /// Who runs it, if somebody does.
    pub fn running(&self) -> Option<Running> {
        let record: Value = serde_json::from_slice(&fs::read(self.record()).ok()?).ok()?;
        let text = |key: &str| record.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let pid = i32::try_from(record.get("pid")?.as_i64()?).ok()?;
        let running = Running {
            pid,
            url: text("url"),
            since: record.get("since").and_then(Value::as_i64).unwrap_or(0),
            version: text("version"),
        };
        is_podium(pid).then_some(running)
    }
}

/// Whether a process is one of ours: numbers are given again.
pub fn is_podium(pid: i32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0);
    let program = words.next().unwrap_or_default();
    let name = Path::new(str::from_utf8(program).unwrap_or_default()).file_name();
    let ends = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let dead = ends.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'));
    !dead
        && name.is_some_and(|name| name.to_string_lossy().starts_with("podium"))
        && words.any(|word| word == b"up")
}
