//! The files of a bundle, wherever they came from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use podium_chart::archive;

/// How many files a bundle can have.
const MOST_FILES: usize = 10_000;
/// How many bytes they can have together.
const MOST_BYTES: u64 = 100 * 1024 * 1024;
/// How deep folders can be nested.
const DEEPEST: usize = 32;

/// Why files are no tree.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A path that leaves the tree.
    #[error("{0:?} is no path inside a bundle: names must be relative and must not contain \"..\"")]
    Path(String),
    /// More files than a bundle can have.
    #[error("a bundle can have {MOST_FILES} files")]
    Files,
    /// More bytes than a bundle can have.
    #[error("a bundle can have {MOST_BYTES} bytes")]
    Bytes,
    /// Folders in folders in folders.
    #[error("{0} is nested deeper than {DEEPEST} folders")]
    Deep(String),
    /// Something that is neither a file nor a folder.
    #[error("{0} is neither a file nor a folder; links are not followed")]
    Special(String),
    /// A file that cannot be read.
    #[error("{path} cannot be read: {error}")]
    Io {
        /// Which.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// An archive that cannot be read.
    #[error("{path} is no archive of a bundle: {error}")]
    Archive {
        /// Which.
        path: String,
        /// Why.
        error: archive::Error,
    },
}

/// Files by their paths, which are relative and have slashes.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    files: BTreeMap<String, Arc<[u8]>>,
}

impl Tree {
    /// A tree of these files.
    pub fn new<I, D>(files: I) -> Result<Self, Error>
    where
        I: IntoIterator<Item = (String, D)>,
        D: Into<Arc<[u8]>>,
    {
        let mut tree = Tree::default();
        let mut left = MOST_BYTES;
        for (path, data) in files {
            tree.add(path, data.into(), &mut left)?;
        }
        Ok(tree)
    }

    fn add(&mut self, path: String, data: Arc<[u8]>, left: &mut u64) -> Result<(), Error> {
        let path = path.strip_prefix("./").unwrap_or(&path).to_owned();
        let good = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
        if !path.split('/').all(good) {
            return Err(Error::Path(path));
        }
        if path.split('/').count() > DEEPEST {
            return Err(Error::Deep(path));
        }
        let size = u64::try_from(data.len()).unwrap_or(u64::MAX);
        *left = left.checked_sub(size).ok_or(Error::Bytes)?;
        if self.files.len() >= MOST_FILES {
            return Err(Error::Files);
        }
        self.files.insert(path, data);
        Ok(())
    }

    /// The files of a folder, or of an archive (a gzipped tar) of one.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let wrong = |error| Error::Io { path: path.display().to_string(), error };
        if std::fs::metadata(path).map_err(wrong)?.is_dir() {
            let mut tree = Tree::default();
            tree.folder(path, "", &mut MOST_BYTES.clone())?;
            return Ok(tree);
        }
        if std::fs::metadata(path).map_err(wrong)?.len() > MOST_BYTES {
            return Err(Error::Bytes);
        }
        let bytes = std::fs::read(path).map_err(wrong)?;
        let files = archive::files(&bytes)
            .map_err(|error| Error::Archive { path: path.display().to_string(), error })?;
        let tree = Tree::new(files)?;
        Ok(tree.inside())
    }

    fn folder(&mut self, path: &Path, name: &str, left: &mut u64) -> Result<(), Error> {
        let mut folders = vec![(path.to_path_buf(), name.to_owned())];
        while let Some((path, name)) = folders.pop() {
            let wrong = |error| Error::Io { path: path.display().to_string(), error };
            for entry in std::fs::read_dir(&path).map_err(wrong)? {
                let entry = entry.map_err(wrong)?;
                let own = entry.file_name().to_string_lossy().into_owned();
                let inner = if name.is_empty() { own } else { format!("{name}/{own}") };
                let kind = entry.file_type().map_err(wrong)?;
                if kind.is_dir() {
                    if inner.split('/').count() >= DEEPEST {
                        return Err(Error::Deep(inner));
                    }
                    // Nobody looks at what is not the bundle's: a checkout can be large.
                    if !name.is_empty() || is_part(&inner) {
                        folders.push((entry.path(), inner));
                    }
                } else if kind.is_file() {
                    if name.is_empty() {
                        continue;
                    }
                    let size = entry.metadata().map_err(wrong)?.len();
                    if size > *left {
                        return Err(Error::Bytes);
                    }
                    let data = std::fs::read(entry.path())
                        .map_err(|error| Error::Io { path: entry.path().display().to_string(), error })?;
                    self.add(inner, data.into(), left)?;
                } else if !name.is_empty() {
                    return Err(Error::Special(entry.path().display().to_string()));
                }
            }
        }
        Ok(())
    }

    /// The tree in the only folder of this one, if the bundle is not at its top.
    fn inside(self) -> Self {
        let here = self.files.keys().any(|path| path.split('/').next().is_some_and(is_part));
        let mut tops = self.files.keys().map(|path| path.split('/').next().unwrap_or_default());
        let Some(top) = tops.next().map(str::to_owned) else { return self };
        if here || tops.any(|other| other != top) {
            return self;
        }
        let cut = |(path, data): (String, Arc<[u8]>)| {
            path.strip_prefix(&top)?.strip_prefix('/').map(|path| (path.to_owned(), data))
        };
        Tree { files: self.files.into_iter().filter_map(cut).collect() }
    }

    /// All files, sorted by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, data)| (path.as_str(), data.as_ref()))
    }

    /// The content of a file.
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(AsRef::as_ref)
    }

    /// Whether there is a folder with something in it.
    pub fn has_folder(&self, folder: &str) -> bool {
        self.below(folder).next().is_some()
    }

    /// The files that are in a folder itself, with their names in it.
    pub(crate) fn files<'t>(&'t self, folder: &'t str) -> impl Iterator<Item = (&'t str, &'t [u8])> {
        self.below(folder).filter(|(name, _)| !name.contains('/'))
    }

    /// The folders that are in a folder itself.
    pub(crate) fn folders<'t>(&'t self, folder: &'t str) -> BTreeSet<&'t str> {
        self.below(folder).filter_map(|(name, _)| Some(name.split_once('/')?.0)).collect()
    }

    fn below<'t>(&'t self, folder: &'t str) -> impl Iterator<Item = (&'t str, &'t [u8])> {
        let start = format!("{folder}/");
        self.files.range(start.clone()..).map_while(move |(path, data)| {
            // The slash sorts before whatever else could follow, so that all of a folder are beside each other.
            path.starts_with(&start).then(|| (path.get(start.len()..).unwrap_or_default(), data.as_ref()))
        })
    }
}

fn is_part(name: &str) -> bool {
    matches!(name, "manifests" | "metadata")
}

#[cfg(test)]
mod tests {
    use super::{Error, Tree};

    #[test]
    fn paths_stay_inside() {
        for path in ["../x", "/x", "a//b", "a/./b", "", "a/.."] {
            assert!(matches!(Tree::new([(path.to_owned(), Vec::new())]), Err(Error::Path(_))), "{path}");
        }
        let tree = Tree::new([("./manifests/a.yaml".to_owned(), vec![1])]).unwrap();
        assert_eq!(tree.get("manifests/a.yaml"), Some([1].as_slice()));
        assert!(tree.has_folder("manifests") && !tree.has_folder("manifest"));
    }

    #[test]
    fn a_bundle_in_a_folder_is_found() {
        let tree = Tree::new([("x/manifests/a".to_owned(), vec![]), ("x/metadata/b".to_owned(), vec![])]);
        assert!(tree.unwrap().inside().has_folder("manifests"));
    }
}
