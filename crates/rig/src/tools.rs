//! Where the pinned originals are, and in which environment they run.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::request::Dialect;

/// Why an original cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The binary has not been built.
    #[error(
        "{0} does not exist: run `make tools` (it builds the pinned upstream programs once, outside the checkout)"
    )]
    Missing(PathBuf),
    /// Podium was not built beside the test that wants to run it.
    #[error(
        "{0} does not exist: build podium with the profile of the tests first (cargo build -p podium, or cargo test --workspace)"
    )]
    NotBuilt(PathBuf),
    /// Neither PODIUM_TOOLS nor HOME says where the cache is.
    #[error("neither PODIUM_TOOLS nor HOME is set")]
    NoCache,
}

/// The folder that `make tools` builds into.
pub fn cache() -> Result<PathBuf, Error> {
    if let Some(dir) = std::env::var_os("PODIUM_TOOLS") {
        return Ok(PathBuf::from(dir));
    }
    let home = std::env::var_os("HOME").ok_or(Error::NoCache)?;
    Ok(PathBuf::from(home).join(".cache/podium/tools"))
}

/// Where an upstream program is, built or not.
pub fn path(name: &str) -> PathBuf {
    cache().unwrap_or_default().join(name)
}

fn find(name: &str) -> Result<PathBuf, Error> {
    let path = cache()?.join(name);
    if path.is_file() { Ok(path) } else { Err(Error::Missing(path)) }
}

/// The podium that `PODIUM_BIN` names, or that was built beside the test or the benchmark that runs now.
pub fn podium() -> Result<PathBuf, Error> {
    let named = std::env::var_os("PODIUM_BIN").filter(|path| !path.is_empty()).map(PathBuf::from);
    let here = std::env::current_exe().unwrap_or_default();
    let folder = here.parent().unwrap_or(Path::new(""));
    // Tests are one folder deeper.
    let folder = if folder.ends_with("deps") { folder.parent().unwrap_or(folder) } else { folder };
    let path = named.unwrap_or_else(|| folder.join("podium"));
    if path.is_file() { Ok(path) } else { Err(Error::NotBuilt(path)) }
}

/// The helm command of a dialect.
pub fn helm(dialect: Dialect) -> Result<PathBuf, Error> {
    find(helm_name(dialect))
}

/// The file name of the helm command of a dialect.
pub fn helm_name(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Helm3 => "helm3",
        Dialect::Helm4 => "helm4",
    }
}

/// The program that answers probes with a dialect's own packages.
pub fn probe(dialect: Dialect) -> Result<PathBuf, Error> {
    find(match dialect {
        Dialect::Helm3 => "probe3",
        Dialect::Helm4 => "probe4",
    })
}

/// opm of a version: `opm173` or `opm151`.
pub fn opm(name: &str) -> Result<PathBuf, Error> {
    find(name)
}

/// A program of the Kubernetes control plane, or `kubectl`.
pub fn kubernetes(name: &str) -> Result<PathBuf, Error> {
    find(name)
}

/// crane, the registry client.
pub fn crane() -> Result<PathBuf, Error> {
    find("crane")
}

/// A command that depends on nothing of the caller's environment but PATH and HOME.
pub fn quiet_command(program: &std::path::Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("TZ", "UTC");
    // The originals read the zones of the machine, which are not the same everywhere: give them Go's own.
    if let Some(zones) = cache().ok().map(|dir| dir.join("zoneinfo.zip")).filter(|path| path.is_file()) {
        command.env("ZONEINFO", zones);
    }
    for name in ["PATH", "HOME", "TMPDIR"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}
