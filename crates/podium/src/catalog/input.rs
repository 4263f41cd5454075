//! Catalogs from folders and files.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, anyhow, bail};
use podium_catalog::compat::OpmCompat;
use podium_catalog::declcfg::{DeclarativeConfig, MetaKind, for_each_meta};
use podium_catalog::indexignore::{FILE_NAME, IndexIgnore};
use podium_catalog::json::SourceText;
use podium_catalog::{CatalogError, CatalogSummary, Meta};

use clap::ArgMatches;

use super::images;
use super::output::refused;

/// A file of a catalog must be smaller; the largest that are published have 60 MB.
const LARGEST: u64 = 1 << 30;
/// So many folders deep may a catalog be.
const DEEPEST: usize = 64;

/// The files of a catalog.
pub struct Files {
    root: PathBuf,
    /// The paths below the root, in the order in which opm reads them.
    paths: Vec<Arc<str>>,
}

impl Files {
    /// The files of a folder, in any depth; or one file.
    pub fn of(reference: &str) -> anyhow::Result<Self> {
        let root = Path::new(reference);
        let data = fs::metadata(root).with_context(|| {
            format!("there is no catalog at {reference}: name a folder of olm.* documents, or a file of them")
        })?;
        if !data.is_dir() {
            let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let root = root.parent().unwrap_or(Path::new("")).to_owned();
            return Ok(Self { root, paths: vec![name.into()] });
        }
        let mut all = Vec::new();
        walk(root, "", 0, &mut all)?;
        let mut ignore = IndexIgnore::default();
        for path in all.iter().filter(|path| is_ignore(path)) {
            ignore.add(path, &read(&root.join(path))?);
        }
        let paths = all.into_iter().filter(|path| !is_ignore(path) && !ignore.ignores(path));
        Ok(Self { root: root.to_owned(), paths: paths.map(Arc::from).collect() })
    }

    /// Reads all files, on all cores, and gives what was made of each, in order.
    fn each_file<T: Send>(
        &self,
        work: impl Fn(&Arc<str>, &SourceText) -> Result<T, CatalogError> + Sync,
    ) -> anyhow::Result<Vec<T>> {
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::with_capacity(self.paths.len()));
        let failed: Mutex<Option<(usize, anyhow::Error)>> = Mutex::new(None);
        let worker = || {
            while let Some((at, path)) = Some(next.fetch_add(1, Ordering::Relaxed))
                .and_then(|at| self.paths.get(at).map(|path| (at, path)))
            {
                // Behind the first failure nothing matters.
                if failed.lock().is_ok_and(|failed| failed.as_ref().is_some_and(|(first, _)| *first < at)) {
                    return;
                }
                let made = read(&self.root.join(&**path)).and_then(|bytes| {
                    work(path, &SourceText::new(bytes))
                        .map_err(|problem| refused(problem, &self.root.to_string_lossy()))
                });
                match made {
                    Ok(made) => {
                        if let Ok(mut done) = done.lock() {
                            done.push((at, made));
                        }
                    }
                    Err(error) => {
                        if let Ok(mut failed) = failed.lock()
                            && failed.as_ref().is_none_or(|(first, _)| at < *first)
                        {
                            *failed = Some((at, error));
                        }
                    }
                }
            }
        };
        let threads =
            std::thread::available_parallelism().map_or(1, usize::from).min(self.paths.len().max(1));
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(worker);
            }
            worker();
        });
        if let Some((_, error)) = failed.into_inner().map_err(|_| anyhow!("a thread has failed"))? {
            return Err(error);
        }
        let mut done = done.into_inner().map_err(|_| anyhow!("a thread has failed"))?;
        done.sort_by_key(|(at, _)| *at);
        Ok(done.into_iter().map(|(_, made)| made).collect())
    }

    /// All documents.
    pub fn config(&self, generation: OpmCompat) -> anyhow::Result<DeclarativeConfig> {
        let parts = self.each_file(|file, text| {
            let mut part = DeclarativeConfig::default();
            part.read(file, text, generation)?;
            Ok(part)
        })?;
        Ok(DeclarativeConfig { metas: parts.into_iter().flat_map(|part| part.metas).collect() })
    }

    /// What the rules need to know. The documents are forgotten as soon as they have been looked at.
    pub fn facts(&self, generation: OpmCompat) -> anyhow::Result<CatalogSummary> {
        let parts = self.each_file(|file, text| {
            let mut part = CatalogSummary::default();
            for_each_meta(file, text, generation, |meta: Meta| {
                part.add(&meta, generation);
                Ok(())
            })?;
            Ok(part)
        })?;
        let mut facts = CatalogSummary::default();
        parts.into_iter().for_each(|part| facts.append(part));
        Ok(facts)
    }
}

/// The documents of a catalog: in a folder, in a file, or in an image. A bundle is a catalog of one document.
pub fn catalog(
    reference: &str,
    generation: OpmCompat,
    matches: &ArgMatches,
) -> anyhow::Result<DeclarativeConfig> {
    let path = Path::new(reference);
    if path.join("manifests").is_dir() && path.join("metadata").is_dir() {
        return Ok(DeclarativeConfig { metas: vec![images::of_folder(reference)?] });
    }
    if path.exists() {
        return Files::of(reference)?.config(generation);
    }
    images::documents(reference, matches, generation)
}

/// The bundles of several catalogs, for templates.
pub fn bundles(
    references: &[String],
    generation: OpmCompat,
    matches: &ArgMatches,
) -> anyhow::Result<Vec<Meta>> {
    let mut all = Vec::new();
    for reference in references {
        let config = catalog(reference, generation, matches)?;
        all.extend(config.metas.into_iter().filter(|meta| meta.kind == MetaKind::Bundle));
    }
    Ok(all)
}

fn is_ignore(path: &str) -> bool {
    path.rsplit('/').next() == Some(FILE_NAME)
}

/// The files below a folder, folder by folder, by name.
fn walk(root: &Path, below: &str, depth: usize, all: &mut Vec<String>) -> anyhow::Result<()> {
    if depth > DEEPEST {
        bail!("{}/{below}: more than {DEEPEST} folders in each other", root.display());
    }
    let folder = root.join(below);
    let entries = fs::read_dir(&folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().into_string().map_err(|name| {
            anyhow!("{}: the name of {} is not UTF-8", folder.display(), name.to_string_lossy())
        })?;
        names.push((name, entry.file_type()?.is_dir()));
    }
    names.sort();
    for (name, is_dir) in names {
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        if is_dir {
            walk(root, &path, depth + 1, all)?;
        } else {
            all.push(path);
        }
    }
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let what = || format!("{} cannot be read", path.display());
    let file = fs::File::open(path).with_context(what)?;
    let data = file.metadata().with_context(what)?;
    if !data.is_file() {
        bail!("{} is not a file", path.display());
    }
    if data.len() > LARGEST {
        bail!("{} is larger than {} MB", path.display(), LARGEST >> 20);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(data.len()).unwrap_or_default());
    file.take(LARGEST + 1).read_to_end(&mut bytes).with_context(what)?;
    Ok(bytes)
}
