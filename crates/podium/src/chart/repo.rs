//! `podium chart repo index`.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::ArgMatches;
use podium_chart::load;
use podium_chart::repository::index::Index;
use podium_chart::repository::{digest, url};

use crate::chart::input::{absolute, dialect};
use crate::chart::package::{now, write_whole};
use crate::flag::{Flag, Takes, many, on, one};

/// The flags of this command alone.
pub const FLAGS: &[Flag] = &[
    Flag::new("url", Takes::One("URL"), "where the archives will be (default: beside the index)"),
    Flag::new("merge", Takes::One("FILE"), "an index whose charts are listed too, where there are none here"),
    Flag::new("json", Takes::Switch, "write JSON"),
];

/// Writes `index.yaml` for the archives of a directory.
pub fn index(matches: &ArgMatches) -> anyhow::Result<()> {
    let dialect = dialect(one(matches, "helm-version"))?;
    let [directory] = many(matches, "args").try_into().map_err(|_| {
        anyhow!(
            "\"podium chart repo index\" requires 1 argument\n\nUsage:  podium chart repo index [DIR] [flags]"
        )
    })?;
    let directory = absolute(&directory);
    let base = one(matches, "url").unwrap_or_default();
    let mut index = Index::new(now()?);
    for path in archives(&directory) {
        // What cannot be loaded is taken for something else than a chart, as helm does.
        let Ok(loaded) = load::load(&path, &dialect.reading_plainly()) else { continue };
        let bytes = std::fs::read(&path)?;
        let inner = path.strip_prefix(&directory).unwrap_or(&path);
        let text =
            |path: Option<&Path>| path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        let folder = url::append(base, &text(inner.parent()));
        let name = text(inner.file_name().map(Path::new));
        let place = if folder.is_empty() { name } else { url::append(&folder, &name) };
        index.add(&loaded.chart.metadata, place, digest(&bytes), now()?);
    }
    let json = on(matches, "json");
    let bytes = |index: &Index| -> anyhow::Result<Vec<u8>> {
        Ok(if json { index.to_json()? } else { index.to_yaml()? })
    };
    if let Some(merged) = one(matches, "merge").filter(|file| !file.is_empty()) {
        let path = Path::new(merged);
        match load::place(path) {
            load::Place::Missing => {
                // As helm does, the file that was to be merged is there afterwards.
                write_whole(path, &bytes(&Index::new(now()?))?).map_err(|error| anyhow!("{error}"))?;
            }
            place => {
                let text = place.content("", merged).map_err(|error| anyhow!("merge failed: {error}"))?;
                let other = Index::parse(text);
                let other =
                    other.map_err(|error| anyhow!("merge failed: error loading {merged}: {error}"))?;
                index.merge(other);
            }
        }
    }
    index.sort();
    if !directory.is_dir() {
        bail!("open {}: no such file or directory", directory.join("index.yaml").display());
    }
    write_whole(&directory.join("index.yaml"), &bytes(&index)?).map_err(|error| anyhow!("{error}"))
}

/// The archives of a directory, and then those of its directories, by name.
fn archives(directory: &Path) -> Vec<PathBuf> {
    let entries = |directory: &Path| {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let is_archive = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "tgz");
    let here = entries(directory);
    let below = here.iter().filter(|path| path.is_dir()).flat_map(|path| entries(path)).filter(is_archive);
    here.iter().filter(|path| is_archive(path)).cloned().chain(below).collect()
}
