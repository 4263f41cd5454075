//! `podium chart dependency`: what a chart needs of other charts, and getting it.

use std::collections::{BTreeMap, HashMap, HashSet};
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
use podium_versions::masterminds::{Constraints, Version};

use crate::chart::expand::Scratch;
use crate::chart::input::{dialect, refuse_all};
use crate::chart::oci;
use crate::chart::package::{now, save, time, write_whole};
use crate::chart::remote::{OCI, Remote, check_digest};
use crate::flag::{Flag, Takes, many, on, one};
use crate::output::{complain, print};

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

/// Lists what a chart needs, and what of that is there.
pub fn list(matches: &ArgMatches) -> anyhow::Result<()> {
    let dialect = dialect(one(matches, "helm-version"))?.reading_plainly();
    let path = chart_path(matches, "list")?;
    let width = one(matches, "max-col-width").unwrap_or("80");
    let width: usize = width.parse().map_err(|_| anyhow!("--max-col-width {width}: write a number"))?;
    let charts = format!("{path}/charts");
    let loaded = load::load(Path::new(&path), &dialect)?;
    let Some(wanted) = &loaded.chart.metadata.dependencies else {
        return print(format!("WARNING: no dependencies at {}\n", clean(&charts)).as_bytes());
    };
    let mut rows = vec![["NAME", "VERSION", "REPOSITORY", "STATUS"].map(str::to_owned)];
    for dependency in wanted {
        let state = state(&clean(&charts), dependency, &loaded.chart, &dialect);
        let Dependency { name, version, repository, .. } = dependency;
        rows.push([name.clone(), version.clone(), repository.clone(), state.to_owned()]);
    }
    let mut out = table(&rows, width);
    out.push('\n');
    for path in entries(&clean(&charts)) {
        let is_archive = path.extension().is_some_and(|ending| ending == "tgz");
        if !path.is_dir() && !is_archive {
            continue;
        }
        let shown = podium_chart::text::quote(&path.to_string_lossy());
        match load::load(&path, &dialect) {
            Err(_) => out.push_str(&format!("WARNING: {shown} is not a chart.\n")),
            Ok(found) if !wanted.iter().any(|wanted| wanted.name == found.chart.metadata.name) => {
                out.push_str(&format!("WARNING: {shown} is not in Chart.yaml.\n"));
            }
            Ok(_) => {}
        }
    }
    print(out.as_bytes())
}

fn entries(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Columns with tabs between them, as helm prints tables.
fn table(rows: &[[String; 4]], most: usize) -> String {
    let count = |text: &str| text.chars().count();
    let mut widths = [0; 4];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            let wanted = if most == 0 { count(cell) } else { count(cell).min(most) };
            *width = wanted.max(*width);
        }
    }
    let mut out = String::new();
    for row in rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| {
            if count(cell) > width {
                let kept: String = cell.chars().take(width.saturating_sub(3)).collect();
                return format!("{kept}...");
            }
            format!("{cell:width$}")
        });
        out.push_str(&cells.collect::<Vec<_>>().join("\t"));
        out.push('\n');
    }
    out
}

/// How a dependency is there.
fn state(charts: &str, wanted: &Dependency, parent: &Chart, dialect: &Dialect) -> &'static str {
    let prefix = format!("{}-", wanted.name);
    let name_of =
        |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let version_of = |path: &PathBuf| {
        let name = name_of(path);
        Some(name.strip_prefix(&prefix)?.strip_suffix(".tgz")?.to_owned())
    };
    let archives: Vec<PathBuf> =
        entries(charts).into_iter().filter(|path| version_of(path).is_some()).collect();
    let exact = |path: &&PathBuf| version_of(path).is_some_and(|version| Version::strict(version).is_ok());
    let candidates: Vec<&PathBuf> = match archives.len() {
        1 => archives.iter().collect(),
        _ => archives.iter().filter(exact).collect(),
    };
    match candidates.as_slice() {
        [] => {}
        [archive] => {
            return match load::load(archive, dialect) {
                Err(_) => "corrupt",
                Ok(found) if found.chart.metadata.name != wanted.name => "misnamed",
                Ok(found) => fits(wanted, &found.chart.metadata.version).err().unwrap_or("ok"),
            };
        }
        _ => return "too many matches",
    }
    match parent.dependencies.iter().rfind(|chart| chart.metadata.name == wanted.name) {
        None => "missing",
        Some(found) => fits(wanted, &found.metadata.version).err().unwrap_or("unpacked"),
    }
}

fn fits(wanted: &Dependency, version: &str) -> Result<(), &'static str> {
    if version == wanted.version {
        return Ok(());
    }
    match (Constraints::new(&wanted.version), Version::new(version)) {
        (Ok(range), Ok(version)) if range.check(&version) => Ok(()),
        (Ok(_), Ok(_)) => Err("wrong version"),
        _ => Err("invalid version"),
    }
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

    /// Which repository each dependency comes from. Names of repositories become their URLs.
    fn resolve_names(&self, wanted: &mut [Dependency]) -> Result<HashMap<String, String>, String> {
        let mut names = HashMap::new();
        let mut missing = Vec::new();
        for dependency in wanted {
            let repository = dependency.repository.clone();
            if repository.is_empty() {
                continue;
            }
            if repository.starts_with(LOCAL) {
                self.local(&repository)?;
                names.insert(dependency.name.clone(), repository);
                continue;
            }
            if repository.starts_with(OCI) {
                names.insert(dependency.name.clone(), repository);
                continue;
            }
            let alias = repository.strip_prefix('@').or_else(|| repository.strip_prefix("alias:"));
            let found = self.known.iter().find(|entry| {
                alias == Some(entry.name.as_str()) || alias.is_none() && url::equal(&entry.url, &repository)
            });
            match found {
                Some(entry) => {
                    if alias.is_some() {
                        dependency.repository.clone_from(&entry.url);
                    }
                    names.insert(dependency.name.clone(), entry.name.clone());
                }
                None if podium_schema::Url::request(&repository).is_some() => {}
                None => missing.push(repository),
            }
        }
        if missing.is_empty() {
            return Ok(names);
        }
        let mut text = format!(
            "no repository definition for {}. Please add them via 'helm repo add'",
            missing.join(", ")
        );
        let is_bare =
            |name: &String| !name.contains("//") && !name.starts_with('@') && !name.starts_with("alias:");
        if missing.iter().any(is_bare) {
            text.push_str(
                "\nNote that repositories must be URLs or aliases. For example, to refer to the \"example\"\nrepository, use \
                 \"https://charts.example.com/\" or \"@example\" instead of\n\"example\". Don't forget to add the repo, too \
                 ('helm repo add').",
            );
        }
        Err(text)
    }

    /// Gets the indexes of repositories anew, and keeps them.
    fn refresh(&mut self, repositories: &[Entry], named: bool) -> Result<(), String> {
        for entry in repositories {
            let shown = if named { entry.name.clone() } else { entry.url.clone() };
            let read = self.remote()?.index(&entry.url, named.then_some(entry));
            let kept = read.and_then(|(_, bytes)| {
                let path = self.remote()?.settings.index_file(&entry.name)?;
                if let Some(folder) = path.parent() {
                    std::fs::create_dir_all(folder)
                        .map_err(|error| load::go_error("mkdir", folder, &error))?;
                }
                write_whole(&path, &bytes)
            });
            match kept {
                Ok(()) => {
                    self.say(&format!(
                        "...Successfully got an update from the {shown:?} chart repository\n"
                    ))?;
                }
                Err(error) => {
                    let place = if named { format!(" ({})", entry.url) } else { String::new() };
                    self.say(&format!(
                        "...Unable to get an update from the {shown:?} chart repository{place}:\n\t{error}\n"
                    ))?;
                }
            }
        }
        Ok(())
    }

    fn refresh_known(&mut self) -> Result<(), String> {
        if self.known.is_empty() || on(self.matches, "skip-refresh") {
            return Ok(());
        }
        self.say("Hang tight while we grab the latest from your chart repositories...\n")?;
        let known = self.known.clone();
        self.refresh(&known, true)?;
        self.say("Update Complete. ⎈Happy Helming!⎈\n")
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

    /// The newest version of each dependency that will do.
    fn choose(
        &mut self,
        wanted: &[Dependency],
        names: &HashMap<String, String>,
    ) -> Result<Vec<Dependency>, String> {
        let mut locked = Vec::new();
        let mut missing = Vec::new();
        for dependency in wanted {
            let Dependency { name, repository, version, .. } = dependency;
            let range = Constraints::new(version).map_err(|error| {
                format!("dependency {name:?} has an invalid version/constraint format: {error}")
            })?;
            let lack = format!("{name:?} (repository {repository:?}, version {version:?})");
            let found = if repository.is_empty() {
                self.local(&format!("charts/{name}"))?;
                Some(version.clone())
            } else if repository.starts_with(LOCAL) {
                let path = self.local(repository)?;
                let found = load::load_dir(&path, &self.dialect).map_err(|error| error.to_string())?;
                let there = found.chart.metadata.version.clone();
                Version::new(&there).ok().filter(|version| range.check(version)).map(|_| there)
            } else if repository.starts_with(OCI) {
                match Version::new(version) {
                    Ok(_) => Some(version.clone()),
                    Err(_) => {
                        let place = format!("{}/{name}", repository.trim_end_matches('/'));
                        let all = oci::versions(self.remote()?, &place).map_err(|error| {
                            format!("could not retrieve list of tags for repository {repository}: {error}")
                        })?;
                        let fits =
                            |text: &String| Version::new(text).is_ok_and(|version| range.check(&version));
                        all.into_iter().find(fits)
                    }
                }
            } else {
                let known = names.get(name).map(String::as_str).unwrap_or_default();
                let index = self.remote()?.settings.index(known).map_err(|error| {
                    format!("no cached repository for {known} found. (try 'helm repo update'): {error}")
                })?;
                let versions = index.entries.get(name);
                let versions = versions.ok_or(format!("{name} chart not found in repo {repository}"))?;
                let fits = |entry: &&podium_chart::repository::index::Entry| {
                    entry.urls.as_ref().is_some_and(|urls| !urls.is_empty())
                        && Version::new(&entry.metadata.version).is_ok_and(|version| range.check(&version))
                };
                versions.iter().find(fits).map(|entry| entry.metadata.version.clone())
            };
            match found {
                None => missing.push(lack),
                Some(version) => locked.push(Dependency {
                    name: name.clone(),
                    repository: repository.clone(),
                    version,
                    ..Dependency::default()
                }),
            }
        }
        if missing.is_empty() {
            return Ok(locked);
        }
        Err(format!(
            "can't get a valid version for {} subchart(s): {}. Make sure a matching chart version exists in the repo, or \
             change the version constraint in Chart.yaml",
            missing.len(),
            missing.join(", ")
        ))
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

    /// Puts the archives of all dependencies into `charts/`, and takes others away.
    fn download(&mut self, locked: &mut [Dependency]) -> Result<(), String> {
        let charts = PathBuf::from(clean(&format!("{}/charts", self.path)));
        match load::place(&charts) {
            Place::Directory => {}
            Place::Missing => {
                std::fs::create_dir_all(&charts).map_err(|error| load::go_error("mkdir", &charts, &error))?;
            }
            _ => return Err(format!("{:?} is not a directory", charts.to_string_lossy())),
        }
        let scratch = Scratch::below(Path::new(&self.path), "tmpcharts")
            .map_err(|error| load::go_error("mkdir", Path::new(&self.path), &error))?;
        self.say(&format!("Saving {} charts\n", locked.len()))?;
        let mut seen = HashSet::new();
        for dependency in locked.iter_mut() {
            if dependency.repository.is_empty() {
                let name = &dependency.name;
                self.say(&format!(
                    "Dependency {name} did not declare a repository. Assuming it exists in the charts directory\n"
                ))?;
                let path = charts.join(name);
                let found = load::load_dir(&path, &self.dialect)
                    .map_err(|error| format!("unable to load chart '{}': {error}", path.display()))?;
                let range = Constraints::new(&dependency.version).map_err(|error| {
                    format!("dependency {name} has an invalid version/constraint format: {error}")
                })?;
                let there = &found.chart.metadata.version;
                if !Version::new(there).is_ok_and(|version| range.check(&version)) {
                    let wanted = &dependency.version;
                    return self.failed(format!(
                        "dependency {name} at version {there} does not satisfy the constraint {wanted}"
                    ));
                }
                continue;
            }
            if let Err(error) = self.fetch(dependency, scratch.path(), &mut seen) {
                return self.failed(error);
            }
        }
        self.put_in_place(locked, scratch.path(), &charts)
    }

    fn failed(&self, error: String) -> Result<(), String> {
        self.say(&format!("Save error occurred:  {error}\n"))?;
        Err(error)
    }

    fn fetch(
        &mut self,
        dependency: &mut Dependency,
        to: &Path,
        seen: &mut HashSet<String>,
    ) -> Result<(), String> {
        let Dependency { name, repository, version, .. } = dependency;
        if repository.starts_with(LOCAL) {
            let path = self.local(repository)?;
            let found = load::load_dir(&path, &self.dialect).map_err(|error| error.to_string())?;
            let range = Constraints::new(&*version).map_err(|error| {
                format!("dependency {name} has an invalid version/constraint format: {error}")
            })?;
            let there = Version::new(&found.chart.metadata.version).map_err(|error| error.to_string())?;
            if !range.check(&there) {
                return Err(format!("can't get a valid version for dependency {name}"));
            }
            version.clone_from(&found.chart.metadata.version);
            let time = time().map_err(|error| error.to_string())?;
            return save(&found.chart, to, time, &self.dialect).map(drop);
        }
        let (name, repository, version) = (name.clone(), repository.clone(), version.clone());
        if repository.starts_with(OCI) {
            let place = format!("{}/{name}:{version}", repository.trim_end_matches('/'));
            if !seen.insert(place.clone()) {
                return self.say(&format!("Already downloaded {name} from repo {repository}\n"));
            }
            self.say(&format!("Downloading {name} from repo {repository}\n"))?;
            let pulled = oci::pull(self.remote()?, &place, "");
            let bare = place.rsplit_once(':').map_or(place.as_str(), |(bare, _)| bare);
            let pulled = pulled.map_err(|error| format!("could not download {bare}: {error}"))?;
            match self.quiet {
                true => complain(&pulled.told),
                false => self.remote()?.tell(&pulled.told)?,
            }
            return write_whole(&to.join(pulled.file_name), &pulled.chart);
        }
        let (place, digest, entry) = self.find(&name, &version, &repository)?;
        if !seen.insert(place.clone()) {
            return self.say(&format!("Already downloaded {name} from repo {repository}\n"));
        }
        self.say(&format!("Downloading {name} from repo {repository}\n"))?;
        let home = entry.as_ref().map_or(repository, |entry| entry.url.clone());
        let (file, bytes) = self
            .remote()?
            .download(&place, "", Some(&home))
            .map_err(|error| format!("could not download {place}: {error}"))?;
        check_digest(&place, &digest, &bytes)?;
        write_whole(&to.join(file), &bytes)
    }

    /// The URL of an archive, the digest that its index has for it, and the repository if it has a name.
    fn find(
        &mut self,
        name: &str,
        version: &str,
        repository: &str,
    ) -> Result<(String, String, Option<Entry>), String> {
        let known = self.known.iter().find(|entry| url::equal(repository, &entry.url)).cloned();
        if let Some(entry) = known {
            let index = self.remote()?.settings.index(&entry.name)?;
            let lost = |why: &str| format!("could not find : {why}");
            let versions = index.entries.get(name).ok_or_else(|| lost("entry not found"))?;
            let same = |other: &str| match (Version::new(version), Version::new(other)) {
                (Ok(a), Ok(b)) => a.equal(&b),
                _ => version == other,
            };
            let found = versions.iter().find_map(|found| {
                let first = found.urls.as_ref()?.first()?;
                same(&found.metadata.version).then(|| (first.clone(), found.digest.clone()))
            });
            let (first, digest) = found.ok_or_else(|| lost("no matching version"))?;
            return Ok((url::resolve(repository, &first)?, digest, Some(entry)));
        }
        let found = self.remote()?.find(repository, name, version);
        let (place, digest) = found
            .map_err(|error| format!("could not find : chart {name} not found in {repository}: {error}"))?;
        Ok((place, digest, None))
    }

    fn put_in_place(&self, locked: &[Dependency], from: &Path, charts: &Path) -> Result<(), String> {
        let there = entries(&charts.to_string_lossy());
        let mut new = HashSet::new();
        for path in entries(&from.to_string_lossy()) {
            let Some(name) = path.file_name() else { continue };
            new.insert(name.to_owned());
            if let Err(error) = load::load_archive(&path, &self.dialect) {
                self.say(&format!("Could not verify {} for moving: {error} (Skipping)", path.display()))?;
                continue;
            }
            let to = charts.join(name);
            std::fs::rename(&path, &to).map_err(|error| load::go_error("rename", &to, &error))?;
        }
        self.say("Deleting outdated charts\n")?;
        let unpacked: HashSet<&str> = locked
            .iter()
            .filter(|chart| chart.repository.is_empty())
            .map(|chart| chart.name.as_str())
            .collect();
        for path in there {
            if path.is_dir() || path.file_name().is_some_and(|name| new.contains(name)) {
                continue;
            }
            match load::load_archive(&path, &self.dialect) {
                Err(error) => {
                    self.say(&format!(
                        "Could not verify {} for deletion: {error} (Skipping)\n",
                        path.display()
                    ))?;
                }
                Ok(found) if unpacked.contains(found.chart.metadata.name.as_str()) => {}
                Ok(_) => {
                    std::fs::remove_file(&path).map_err(|error| load::go_error("remove", &path, &error))?;
                }
            }
        }
        Ok(())
    }
}
