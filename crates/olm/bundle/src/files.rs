//! The files of a bundle in memory, read from a directory, an archive or an image.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use podium_chart::archive;

/// Maximum number of files.
const MAX_FILES: usize = 10_000;
/// Maximum total size in bytes.
const MAX_BYTES: u64 = 100 * 1024 * 1024;
/// Maximum directory depth.
const MAX_DEPTH: usize = 32;

/// Why the files of a bundle cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A path that is not relative or escapes the bundle.
    #[error("{0:?} is not a valid path in a bundle: paths must be relative and must not contain \"..\"")]
    InvalidPath(String),
    /// The bundle has too many files.
    #[error("the bundle has more than {MAX_FILES} files")]
    TooManyFiles,
    /// The bundle is too large.
    #[error("the bundle is larger than {MAX_BYTES} bytes")]
    TooLarge,
    /// Directories are nested too deeply.
    #[error("{0} is nested deeper than {MAX_DEPTH} directories")]
    TooDeep(String),
    /// Neither a regular file nor a directory.
    #[error("{0} is neither a regular file nor a directory; links are not followed")]
    UnsupportedFileType(String),
    /// A file cannot be read.
    #[error("{path} cannot be read: {error}")]
    Io {
        /// Path of the file.
        path: String,
        /// The I/O error.
        error: std::io::Error,
    },
    /// An archive cannot be read.
    #[error("{path} is not a bundle archive: {error}")]
    Archive {
        /// Path of the archive.
        path: String,
        /// The archive error.
        error: archive::Error,
    },
}

/// Files of a bundle by relative, slash-separated path.
#[derive(Debug, Clone, Default)]
pub struct BundleFiles {
    files: BTreeMap<String, Arc<[u8]>>,
}

impl BundleFiles {
    /// Collects files and checks their paths and sizes.
    pub fn new<I, D>(files: I) -> Result<Self, Error>
    where
        I: IntoIterator<Item = (String, D)>,
        D: Into<Arc<[u8]>>,
    {
        let mut bundle = BundleFiles::default();
        let mut remaining = MAX_BYTES;
        for (path, data) in files {
            bundle.add(path, data.into(), &mut remaining)?;
        }
        Ok(bundle)
    }

    fn add(&mut self, path: String, data: Arc<[u8]>, remaining: &mut u64) -> Result<(), Error> {
        let path = path.strip_prefix("./").unwrap_or(&path).to_owned();
        let is_valid = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
        if !path.split('/').all(is_valid) {
            return Err(Error::InvalidPath(path));
        }
        if path.split('/').count() > MAX_DEPTH {
            return Err(Error::TooDeep(path));
        }
        let size = u64::try_from(data.len()).unwrap_or(u64::MAX);
        *remaining = remaining.checked_sub(size).ok_or(Error::TooLarge)?;
        if self.files.len() >= MAX_FILES {
            return Err(Error::TooManyFiles);
        }
        self.files.insert(path, data);
        Ok(())
    }

    /// Reads a bundle directory, or a gzipped tar archive of one.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let io_error = |error| Error::Io { path: path.display().to_string(), error };
        if std::fs::metadata(path).map_err(io_error)?.is_dir() {
            let mut bundle = BundleFiles::default();
            bundle.add_dir(path, "", &mut MAX_BYTES.clone())?;
            return Ok(bundle);
        }
        if std::fs::metadata(path).map_err(io_error)?.len() > MAX_BYTES {
            return Err(Error::TooLarge);
        }
        let bytes = std::fs::read(path).map_err(io_error)?;
        let files = archive::files(&bytes)
            .map_err(|error| Error::Archive { path: path.display().to_string(), error })?;
        let bundle = BundleFiles::new(files)?;
        Ok(bundle.strip_top_dir())
    }

    fn add_dir(&mut self, path: &Path, name: &str, remaining: &mut u64) -> Result<(), Error> {
        let mut dirs = vec![(path.to_path_buf(), name.to_owned())];
        while let Some((path, name)) = dirs.pop() {
            let io_error = |error| Error::Io { path: path.display().to_string(), error };
            for entry in std::fs::read_dir(&path).map_err(io_error)? {
                let entry = entry.map_err(io_error)?;
                let file_name = entry.file_name().to_string_lossy().into_owned();
                let relative = if name.is_empty() { file_name } else { format!("{name}/{file_name}") };
                let kind = entry.file_type().map_err(io_error)?;
                if kind.is_dir() {
                    if relative.split('/').count() >= MAX_DEPTH {
                        return Err(Error::TooDeep(relative));
                    }
                    // Only the bundle's own directories are read: a source checkout can be large.
                    if !name.is_empty() || is_bundle_dir(&relative) {
                        dirs.push((entry.path(), relative));
                    }
                } else if kind.is_file() {
                    if name.is_empty() {
                        continue;
                    }
                    let size = entry.metadata().map_err(io_error)?.len();
                    if size > *remaining {
                        return Err(Error::TooLarge);
                    }
                    let data = std::fs::read(entry.path())
                        .map_err(|error| Error::Io { path: entry.path().display().to_string(), error })?;
                    self.add(relative, data.into(), remaining)?;
                } else if !name.is_empty() {
                    return Err(Error::UnsupportedFileType(entry.path().display().to_string()));
                }
            }
        }
        Ok(())
    }

    /// Strips a single top-level directory that contains the bundle.
    fn strip_top_dir(self) -> Self {
        let at_top = self.files.keys().any(|path| path.split('/').next().is_some_and(is_bundle_dir));
        let mut tops = self.files.keys().map(|path| path.split('/').next().unwrap_or_default());
        let Some(top) = tops.next().map(str::to_owned) else { return self };
        if at_top || tops.any(|other| other != top) {
            return self;
        }
        let cut = |(path, data): (String, Arc<[u8]>)| {
            path.strip_prefix(&top)?.strip_prefix('/').map(|path| (path.to_owned(), data))
        };
        BundleFiles { files: self.files.into_iter().filter_map(cut).collect() }
    }

    /// Iterates over all files, sorted by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, data)| (path.as_str(), data.as_ref()))
    }

    /// Returns the content of a file.
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(AsRef::as_ref)
    }

    /// Reports whether a directory exists and is not empty.
    pub fn has_dir(&self, dir: &str) -> bool {
        self.entries_below(dir).next().is_some()
    }

    /// Iterates over the files directly in a directory, by file name.
    pub(crate) fn files_in<'t>(&'t self, dir: &'t str) -> impl Iterator<Item = (&'t str, &'t [u8])> {
        self.entries_below(dir).filter(|(name, _)| !name.contains('/'))
    }

    /// Returns the direct subdirectories of a directory.
    pub(crate) fn subdirs<'t>(&'t self, dir: &'t str) -> BTreeSet<&'t str> {
        self.entries_below(dir).filter_map(|(name, _)| Some(name.split_once('/')?.0)).collect()
    }

    fn entries_below<'t>(&'t self, dir: &'t str) -> impl Iterator<Item = (&'t str, &'t [u8])> {
        let start = format!("{dir}/");
        self.files.range(start.clone()..).map_while(move |(path, data)| {
            // Paths with the same prefix are adjacent in the sorted map.
            path.starts_with(&start).then(|| (path.get(start.len()..).unwrap_or_default(), data.as_ref()))
        })
    }
}

fn is_bundle_dir(name: &str) -> bool {
    matches!(name, "manifests" | "metadata")
}

#[cfg(test)]
mod tests {
    use super::{BundleFiles, Error};

    #[test]
    fn paths_stay_inside() {
        for path in ["../x", "/x", "a//b", "a/./b", "", "a/.."] {
            assert!(
                matches!(BundleFiles::new([(path.to_owned(), Vec::new())]), Err(Error::InvalidPath(_))),
                "{path}"
            );
        }
        let bundle = BundleFiles::new([("./manifests/a.yaml".to_owned(), vec![1])]).unwrap();
        assert_eq!(bundle.get("manifests/a.yaml"), Some([1].as_slice()));
        assert!(bundle.has_dir("manifests") && !bundle.has_dir("manifest"));
    }

    #[test]
    fn a_bundle_in_a_folder_is_found() {
        let bundle =
            BundleFiles::new([("x/manifests/a".to_owned(), vec![]), ("x/metadata/b".to_owned(), vec![])]);
        assert!(bundle.unwrap().strip_top_dir().has_dir("manifests"));
    }
}
