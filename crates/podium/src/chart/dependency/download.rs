//! The archives of dependencies, got and put into `charts/`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use podium_chart::load::{self, Place};
use podium_chart::metadata::Dependency;
use podium_chart::repository::config::Entry;
use podium_chart::repository::url;
use podium_chart::text::clean;
use podium_versions::masterminds::{Constraints, Version};

use crate::chart::oci;
use crate::chart::package::{save, time, write_whole};
use crate::chart::remote::{OCI, check_digest};
use crate::output::complain;
use crate::scratch::Scratch;

use super::{LOCAL, Work, entries};

impl Work<'_> {
    /// Puts the archives of all dependencies into `charts/`, and takes others away.
    pub(super) fn download(&mut self, locked: &mut [Dependency]) -> Result<(), String> {
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
