//! The folder of a cluster, and the one who runs it.

use std::fs;
use std::path::PathBuf;

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
    pub process: Process,
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
        let pid = std::process::id();
        let record = json!({"pid": pid, "began": began(pid), "url": url, "since": since,
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
        let process = Process {
            pid: u32::try_from(record.get("pid")?.as_u64()?).ok()?,
            began: record.get("began")?.as_u64()?,
        };
        let running = Running {
            process,
            url: text("url"),
            since: record.get("since").and_then(Value::as_i64).unwrap_or(0),
            version: text("version"),
        };
        running.process.lives().then_some(running)
    }
}

/// A process. Numbers are given again, so it is known by when it began too; never by its name, which anybody may change.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    began: u64,
}

impl Process {
    /// Whether it has not ended.
    pub fn lives(self) -> bool {
        began(self.pid) == Some(self.began)
    }
}

/// When a process began, in ticks since the machine did; nothing if it has ended.
fn began(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program stands in parentheses, and may have some in it. After it come the state and 18 numbers.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_beginning() {
        let pid = std::process::id();
        let own = Process { pid, began: began(pid).unwrap() };
        assert!(own.lives());
        assert!(!Process { began: own.began + 1, ..own }.lives());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let other = Process { pid: child.id(), began: began(child.id()).unwrap_or(0) };
        while std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap().contains(") R ") {}
        std::thread::sleep(std::time::Duration::from_millis(50));
        // It has ended, and nobody has asked how.
        assert!(!other.lives());
        child.wait().unwrap();
    }
}
