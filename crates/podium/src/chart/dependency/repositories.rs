//! Where dependencies come from: the repositories that have names, and their indexes.

use std::collections::HashMap;

use podium_chart::load;
use podium_chart::metadata::Dependency;
use podium_chart::repository::config::Entry;
use podium_chart::repository::url;
use podium_versions::masterminds::{Constraints, Version};

use crate::chart::oci;
use crate::chart::package::write_whole;
use crate::chart::remote::OCI;
use crate::flag::on;

use super::{LOCAL, Work};

impl Work<'_> {
    /// Which repository each dependency comes from. Names of repositories become their URLs.
    pub(super) fn resolve_names(&self, wanted: &mut [Dependency]) -> Result<HashMap<String, String>, String> {
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
    pub(super) fn refresh(&mut self, repositories: &[Entry], named: bool) -> Result<(), String> {
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

    pub(super) fn refresh_known(&mut self) -> Result<(), String> {
        if self.known.is_empty() || on(self.matches, "skip-refresh") {
            return Ok(());
        }
        self.say("Hang tight while we grab the latest from your chart repositories...\n")?;
        let known = self.known.clone();
        self.refresh(&known, true)?;
        self.say("Update Complete. ⎈Happy Helming!⎈\n")
    }

    /// The newest version of each dependency that will do.
    pub(super) fn choose(
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
}
