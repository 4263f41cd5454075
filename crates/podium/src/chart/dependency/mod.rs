//! `podium chart dependency`: what a chart needs of other charts, and getting it.

mod download;
mod list;
mod repositories;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::ArgMatches;
use podium_chart::chart::{Chart, Loaded};
use podium_chart::dialect::Dialect;
use podium_chart::load::{self, Place};
use podium_chart::metadata::{API_V1, Dependency, Lock, encode};
use podium_chart::repository::config::Entry;
use podium_chart::repository::{digest, lock, url};
use podium_chart::text::clean;

use crate::chart::input::{dialect, refuse_all};
use crate::chart::package::{now, write_whole};
use crate::chart::remote::{OCI, Remote};
use crate::flag::{Flag, Takes, many, on, one};
use crate::output::{complain, print};

pub use list::list;

/// The flag of `list` alone.
pub const LIST: &[Flag] =
    &[Flag::new("max-col-width", Takes::One("N"), "cut columns that are wider (default 80; 0 is no limit)")];

/// The flag of `build` and `update` alone.
pub const FETCH: &[Flag] =
    &[Flag::new("skip-refresh", Takes::Switch, "take the indexes of repositories as they were last seen")];

const LOCAL: &str = "file://";

/// The chart that is meant: the one in the working directory unless another one is given.
fn chart_path(matches: &ArgMatches, command: &str) -> anyhow::Result<String> {
    match many(matches, "args").as_slice() {
        [] => Ok(".".to_owned()),
        [path] => Ok(clean(path)),
        _ => bail!(
            "\"podium chart dependency {command}\" accepts at most 1 argument\n\nUsage:  podium chart dependency {command} \
             CHART [flags]"
        ),
    }
}

fn entries(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Gets what `Chart.yaml` asks for, in its newest versions, and notes which those are.
pub fn update(matches: &ArgMatches) -> anyhow::Result<()> {
    refuse_all(matches)?;
    let path = chart_path(matches, "update")?;
    update_chart(matches, &path, false).map_err(|error| anyhow!("{error}"))
}

/// The same before something else is done.
pub fn update_first(matches: &ArgMatches, path: &Path) -> anyhow::Result<()> {
    update_chart(matches, &path.to_string_lossy(), true).map_err(|error| anyhow!("{error}"))
}

fn update_chart(matches: &ArgMatches, path: &str, quiet: bool) -> Result<(), String> {
    let mut work = Work::new(matches, path, quiet)?;
    let chart = work.load()?;
    work.update(&chart)
}

/// Gets what the lock file says.
pub fn build(matches: &ArgMatches) -> anyhow::Result<()> {
    refuse_all(matches)?;
    let path = chart_path(matches, "build")?;
    let words = |error: String| anyhow!("{error}");
    let mut work = Work::new(matches, &path, false).map_err(words)?;
    let chart = work.load().map_err(words)?;
    match chart.lock.clone() {
        None => work.update(&chart).map_err(words),
        Some(lock) => work.build(&chart, &lock).map_err(words),
    }
}

/// What getting dependencies needs.
struct Work<'m> {
    matches: &'m ArgMatches,
    path: String,
    dialect: Dialect,
    remote: Option<Remote>,
    known: Vec<Entry>,
    quiet: bool,
}

impl<'m> Work<'m> {
    fn new(matches: &'m ArgMatches, path: &str, quiet: bool) -> Result<Self, String> {
        let dialect = dialect(one(matches, "helm-version")).map_err(|error| error.to_string())?;
        let dialect = dialect.reading_plainly();
        let settings = crate::chart::remote::Settings::read(matches);
        Ok(Self { matches, path: path.to_owned(), dialect, remote: None, known: settings.known()?, quiet })
    }

    fn say(&self, text: &str) -> Result<(), String> {
        if self.quiet { Ok(()) } else { print(text.as_bytes()).map_err(|error| error.to_string()) }
    }

    fn remote(&mut self) -> Result<&Remote, String> {
        if self.remote.is_none() {
            self.remote = Some(Remote::new(self.matches).map_err(|error| error.to_string())?);
        }
        self.remote.as_ref().ok_or_else(|| "nobody can be asked".to_owned())
    }

    fn load(&self) -> Result<Chart, String> {
        match std::fs::metadata(&self.path) {
            Err(error) => {
                let stat = load::go_error("stat", Path::new(&self.path), &error);
                return Err(format!("could not find {}: {stat}", self.path));
            }
            Ok(metadata) if !metadata.is_dir() => {
                return Err("only unpacked charts can be updated".to_owned());
            }
            Ok(_) => {}
        }
        let Loaded { chart, warnings, .. } =
            load::load_dir(Path::new(&self.path), &self.dialect).map_err(|error| error.to_string())?;
        warnings.iter().for_each(|warning| complain(&warning.line(&self.dialect)));
        Ok(Chart::clone(&chart))
    }

    /// The path of a chart beside this one.
    fn local(&self, repository: &str) -> Result<PathBuf, String> {
        let inner = repository.strip_prefix(LOCAL).unwrap_or(repository);
        let path =
            if inner.starts_with('/') { clean(inner) } else { clean(&format!("{}/{inner}", self.path)) };
        match load::place(Path::new(&path)) {
            Place::Missing => Err(format!("directory {path} not found")),
            Place::Unknown(error) => Err(error),
            _ => Ok(PathBuf::from(path)),
        }
    }

    fn update(&mut self, chart: &Chart) -> Result<(), String> {
        let Some(mut wanted) = chart.metadata.dependencies.clone() else { return Ok(()) };
        let mut names = self.resolve_names(&mut wanted)?;
        let mut others: BTreeMap<String, Entry> = BTreeMap::new();
        for dependency in &wanted {
            if dependency.repository.is_empty() || names.contains_key(&dependency.name) {
                continue;
            }
            let name = format!("helm-manager-{}", digest(dependency.repository.as_bytes()));
            names.insert(dependency.name.clone(), name.clone());
            let address = dependency.repository.clone();
            let entry = Entry { name, url: address.clone(), ..Entry::default() };
            others.insert(address.trim_end_matches('/').to_owned(), entry);
        }
        if !others.is_empty() && !on(self.matches, "skip-refresh") {
            self.say("Getting updates for unmanaged Helm repositories...\n")?;
            let others: Vec<Entry> = others.into_values().collect();
            self.refresh(&others, false)?;
        }
        self.refresh_known()?;
        let mut locked = self.choose(&wanted, &names)?;
        self.download(&mut locked)?;
        let digest = lock::digest_of(Some(&wanted), &locked).map_err(|error| error.to_string())?;
        if chart.lock.as_ref().is_some_and(|lock| lock.digest == digest) {
            return Ok(());
        }
        let generated = now().map_err(|error| error.to_string())?;
        let lock = Lock { generated, digest, dependencies: locked };
        self.write_lock(&lock, chart.metadata.api_version == API_V1)
    }

    fn write_lock(&self, lock: &Lock, old: bool) -> Result<(), String> {
        let name = if old { "requirements.lock" } else { "Chart.lock" };
        let path = Path::new(&self.path).join(name);
        if let Ok(link) = std::fs::read_link(&path) {
            let link = podium_chart::text::quote(&link.to_string_lossy());
            return Err(format!("the {name} file is a symlink to {link}"));
        }
        let text = encode::lock_yaml(lock).map_err(|error| error.to_string())?;
        write_whole(&path, &text)
    }

    fn build(&mut self, chart: &Chart, lock: &Lock) -> Result<(), String> {
        let mut wanted = chart.metadata.dependencies.clone();
        let is_old = chart.metadata.api_version == API_V1;
        let words = |error: podium_goyaml::json::Error| error.to_string();
        let of_helm_2 = lock::digest_of_helm_2(wanted.as_deref()).map_err(words)?;
        self.resolve_names(wanted.as_deref_mut().unwrap_or_default())?;
        if lock::digest_of(wanted.as_deref(), &lock.dependencies).map_err(words)? != lock.digest {
            if !is_old {
                return Err(format!(
                    "the lock file (Chart.lock) is out of sync with the dependencies file (Chart.yaml). {}",
                    self.dialect.stale_lock_advice
                ));
            }
            complain("warning: a valid Helm v3 hash was not found. Checking against Helm v2 hash...");
            if of_helm_2 != lock.digest {
                return Err("the lock file (requirements.lock) is out of sync with the dependencies file \
                            (requirements.yaml). Please update the dependencies"
                    .to_owned());
            }
        }
        let is_unknown = |dependency: &&Dependency| {
            let repository = &dependency.repository;
            let elsewhere =
                repository.is_empty() || repository.starts_with(LOCAL) || repository.starts_with(OCI);
            let short = repository.strip_suffix('/').unwrap_or(repository);
            !elsewhere && !self.known.iter().any(|entry| url::equal(&entry.url, short))
        };
        let unknown: Vec<&str> = lock
            .dependencies
            .iter()
            .filter(is_unknown)
            .map(|dependency| dependency.repository.as_str())
            .collect();
        if !unknown.is_empty() {
            return Err(format!(
                "no repository definition for {}. Please add the missing repos via 'helm repo add'",
                unknown.join(", ")
            ));
        }
        self.refresh_known()?;
        self.download(&mut lock.dependencies.clone())
    }
}
