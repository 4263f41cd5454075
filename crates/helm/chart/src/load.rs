//! Charts from disk: the only module that touches the file system.

use std::cell::RefCell;
use std::fs::{self, File as Handle, FileType};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::archive::{self, content_type, extract};
use crate::chart::{self, Loaded, check_api_version, load_files, load_unread};
use crate::dialect::Dialect;
use crate::files::File;
use crate::ignore::{self, Rules};
use crate::text::quote;
use crate::warning::Warning;

/// More files and directories than this are refused: links could make a directory endless.
const MAX_ENTRIES: usize = 200_000;

/// The number of the error that links lead round in a circle.
const TOO_MANY_LINKS: i32 = 40;

/// A file up to this size is read without asking for its size first.
const SMALL_FILE: usize = 8 * 1024;

/// The largest archive file that is read at all.
const MAX_ARCHIVE: u64 = 2 * archive::MAX_SIZE;

/// The largest values file.
pub const MAX_VALUES: u64 = 256 * 1024 * 1024;

/// Why a chart cannot be loaded. The texts are Helm's, except where Helm has no check.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The operating system said no.
    #[error("{0}")]
    Io(String),
    /// A directory without a `Chart.yaml`.
    #[error("unable to detect chart at {path}: {error}")]
    NoChart {
        /// Where `Chart.yaml` should be.
        path: String,
        /// The operating system's words.
        error: String,
    },
    /// An archive without a `Chart.yaml`.
    #[error("unable to detect chart version, no Chart.yaml found")]
    NoChartYaml,
    /// A YAML file where an archive should be.
    #[error("file '{0}' seems to be a YAML file, but expected a gzipped archive")]
    YamlFile(String),
    /// Something else where an archive should be.
    #[error("file '{path}' does not appear to be a gzipped archive; got '{content_type}'")]
    NotAnArchive {
        /// The file.
        path: String,
        /// What it seems to be.
        content_type: &'static str,
    },
    /// An archive with a damaged start.
    #[error("file '{path}' does not appear to be a valid chart file (details: {error})")]
    DamagedArchive {
        /// The file.
        path: String,
        /// What is wrong with it.
        error: archive::Error,
    },
    /// An archive that cannot be read; Helm does not tell why.
    #[error("unable to load chart archive")]
    Archive(archive::Error),
    /// The files are no chart.
    #[error("{0}")]
    Chart(#[from] chart::Error),
    /// `.helmignore` cannot be used.
    #[error("{0}")]
    Ignore(#[from] ignore::Error),
    /// A link that leads nowhere.
    #[error("error evaluating symlink {path}: {error}")]
    Link {
        /// The link.
        path: String,
        /// The operating system's words.
        error: String,
    },
    /// A link to a directory that the link is in.
    #[error(
        "symlink {path} leads to {resolved}, which contains it; remove the link or list it in .helmignore"
    )]
    LinkLoop {
        /// The link.
        path: String,
        /// Where it leads.
        resolved: String,
    },
    /// A device, a socket or a pipe.
    #[error("cannot load irregular file {0} as it has file mode type bits set")]
    Irregular(String),
    /// A file that is larger than a single file can be.
    #[error("chart file {} is larger than the maximum file size {limit}", quote(name))]
    FileTooLarge {
        /// The file's name.
        name: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// More bytes than a chart can have.
    #[error("error reading {path}: chart exceeds maximum decompressed size of {limit} bytes")]
    TooLarge {
        /// The file at which the limit was passed.
        path: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// A file that cannot be read.
    #[error("error reading {path}: {error}")]
    Read {
        /// The file.
        path: String,
        /// The operating system's words.
        error: String,
    },
    /// Too many files.
    #[error(
        "chart directory has more than {MAX_ENTRIES} files; list what is no part of the chart in .helmignore"
    )]
    TooManyEntries,
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nothing.
    Missing,
    /// A directory.
    Directory,
    /// A file: its content, or why it cannot be read.
    File(Result<Vec<u8>, String>),
    /// Nobody knows; the operating system's words.
    Unknown(String),
}

impl Place {
    /// Whether there is something.
    pub fn exists(&self) -> bool {
        matches!(self, Self::Directory | Self::File(_))
    }

    /// Whether it is a directory, and otherwise what is wrong.
    pub fn is_directory(&self) -> Result<(), String> {
        match self {
            Self::Directory => Ok(()),
            Self::File(_) | Self::Missing => Err("not a directory".to_owned()),
            Self::Unknown(error) => Err(error.clone()),
        }
    }

    /// The content of the file, or why there is none.
    pub fn content(&self, directory: &str, name: &str) -> Result<&[u8], String> {
        let path = || Path::new(directory).join(name).display().to_string();
        match self {
            Self::File(Ok(content)) => Ok(content),
            Self::File(Err(error)) | Self::Unknown(error) => Err(error.clone()),
            Self::Directory => Err(format!("read {}: is a directory", path())),
            Self::Missing => Err(format!("open {}: no such file or directory", path())),
        }
    }
}

/// Looks at what is at a path.
pub fn place(path: &Path) -> Place {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Place::Directory,
        Ok(_) => Place::File(read_limited(path, archive::MAX_SIZE)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Place::Missing,
        Err(error) => Place::Unknown(go_error("stat", path, &error)),
    }
}

/// Loads a chart from a directory or an archive.
pub fn load(path: &Path, dialect: &Dialect) -> Result<Loaded, Error> {
    let metadata = fs::metadata(path).map_err(|error| Error::Io(go_error("stat", path, &error)))?;
    if metadata.is_dir() { load_dir(path, dialect) } else { load_archive(path, dialect) }
}

/// Loads a chart from a directory, without what `.helmignore` leaves out.
pub fn load_dir(path: &Path, dialect: &Dialect) -> Result<Loaded, Error> {
    let top = std::path::absolute(path).map_err(|error| Error::Io(error.to_string()))?;
    // Messages show paths without detours.
    let top = top.to_str().map(|path| PathBuf::from(crate::text::clean(path))).unwrap_or(top);
    if dialect.checks_api_version {
        let chart_yaml = top.join("Chart.yaml");
        let text = read_limited(&chart_yaml, archive::MAX_SIZE)
            .map_err(|error| Error::NoChart { path: shown(&chart_yaml), error })?;
        check_api_version(&text, dialect)?;
    }
    let rules_file = top.join(ignore::FILE);
    let rules = match fs::metadata(&rules_file) {
        Ok(_) => read_limited(&rules_file, archive::MAX_SIZE).map_err(Error::Io)?,
        Err(_) => Vec::new(),
    };
    let mut walk =
        Walk { rules: Rules::parse(&rules, dialect)?, found: Vec::new(), warnings: Vec::new(), entries: 0 };
    // A file before the place where the walk failed may fail as well, and is then the first to do so.
    let walked = walk.directory(&top, "");
    let Walk { found, warnings, .. } = walk;
    let first_unreadable = || {
        let room = AtomicU64::new(dialect.max_directory_size);
        found.iter().find_map(|found| found.read(dialect, &room).err())
    };
    if let Err(error) = walked {
        return Err(first_unreadable().unwrap_or(error));
    }
    let room = AtomicU64::new(dialect.max_directory_size);
    let read = |found: &Found| found.read(dialect, &room);
    // Loading reads the files in another order than the walk's, in which the first that cannot be read counts.
    let loaded = load_unread(&found, |found| &found.local, read, dialect)
        .map_err(|error| first_unreadable().unwrap_or(error))?;
    let mut loaded = loaded?;
    loaded.warnings.splice(0..0, warnings);
    Ok(loaded)
}

/// Loads a chart from an archive.
pub fn load_archive(path: &Path, dialect: &Dialect) -> Result<Loaded, Error> {
    let name = shown(path);
    let bytes = read_limited(path, MAX_ARCHIVE).map_err(Error::Io)?;
    load_archive_bytes(&bytes, &name, dialect)
}

/// Loads a chart from the bytes of an archive; the name is for messages.
pub fn load_archive_bytes(bytes: &[u8], name: &str, dialect: &Dialect) -> Result<Loaded, Error> {
    let content_type = content_type(bytes.get(..512).unwrap_or(bytes));
    if content_type != "application/x-gzip" && !bytes.starts_with(b"\x1F\x8B\x08") {
        return Err(if name.ends_with(".yml") || name.ends_with(".yaml") {
            Error::YamlFile(name.to_owned())
        } else {
            Error::NotAnArchive { path: name.to_owned(), content_type }
        });
    }
    let files = extract(bytes, dialect, &mut archive::MAX_SIZE.clone()).map_err(|error| match error {
        archive::Error::GzipHeader => Error::DamagedArchive { path: name.to_owned(), error },
        error if dialect.hides_archive_errors => Error::Archive(error),
        error => Error::Chart(chart::Error::Archive(error)),
    })?;
    if dialect.checks_api_version {
        let chart_yaml = files.iter().find(|file| *file.name == *"Chart.yaml").ok_or(Error::NoChartYaml)?;
        check_api_version(&chart_yaml.data, dialect)?;
    }
    Ok(load_files(files, dialect)?)
}

/// Reads a file of `--values` or `--set-file`, which can be a pipe.
pub fn read_values_file(path: &str) -> Result<Vec<u8>, String> {
    read_up_to(Path::new(path), MAX_VALUES)
}

/// Reads a file that a chart, and not the user, names.
pub fn read_regular_file(path: &str) -> Result<Vec<u8>, String> {
    read_limited(Path::new(path), MAX_VALUES)
}

/// Reads a regular file; the error is in Go's words. Whether a pipe ever has an end nobody knows.
fn read_limited(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let metadata = fs::metadata(path).map_err(|error| go_error("open", path, &error))?;
    if !metadata.is_file() && !metadata.is_dir() {
        return Err(Error::Irregular(shown(path)).to_string());
    }
    read_up_to(path, limit)
}

fn read_up_to(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let handle = Handle::open(path).map_err(|error| go_error("open", path, &error))?;
    let expected = handle.metadata().map_or(0, |metadata| metadata.len()).min(limit);
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0) + 1);
    handle.take(limit + 1).read_to_end(&mut bytes).map_err(|error| go_error("read", path, &error))?;
    if bytes.len() as u64 > limit {
        return Err(format!("read {}: file is larger than {limit} bytes", shown(path)));
    }
    Ok(bytes)
}

/// An error of the operating system in Go's words.
pub fn go_error(operation: &str, path: &Path, error: &io::Error) -> String {
    format!("{operation} {}: {}", shown(path), errno_text(error))
}

fn errno_text(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error ").next().unwrap_or(&text);
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

struct Walk {
    rules: Rules,
    found: Vec<Found>,
    warnings: Vec<Warning>,
    entries: usize,
}

/// A file to be read: its path, where that really is, and its path below the chart.
struct Found {
    path: PathBuf,
    real: Option<PathBuf>,
    local: String,
}

impl Walk {
    /// Takes in a directory: entries by name, each with all that is below it. `prefix` is its path below the chart,
    /// with a slash at its end. The depth of recursion is bounded by the length that a path can have.
    fn directory(&mut self, path: &Path, prefix: &str) -> Result<(), Error> {
        let error = |error: io::Error| Error::Io(go_error("open", path, &error));
        let read = |entry: io::Result<fs::DirEntry>| {
            let entry = entry?;
            Ok((entry.file_name(), entry.file_type()?))
        };
        let entries = fs::read_dir(path).map_err(error)?;
        let mut entries = entries.map(read).collect::<io::Result<Vec<_>>>().map_err(error)?;
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, kind) in entries {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return Err(Error::TooManyEntries);
            }
            let local = format!("{prefix}{}", name.to_string_lossy());
            self.entry(path.join(&name), local, kind)?;
        }
        Ok(())
    }

    fn entry(&mut self, path: PathBuf, local: String, mut kind: FileType) -> Result<(), Error> {
        let mut real = None;
        if kind.is_symlink() {
            let resolved = self.follow(&path)?;
            let metadata = fs::symlink_metadata(&resolved);
            kind = metadata.map_err(|error| Error::Io(go_error("lstat", &resolved, &error)))?.file_type();
            real = Some(resolved);
        }
        if self.rules.ignores(&local, kind.is_dir()) {
            return Ok(());
        }
        if kind.is_dir() {
            return self.directory(&path, &format!("{local}/"));
        }
        if !kind.is_file() {
            return Err(Error::Irregular(shown(&path)));
        }
        self.found.push(Found { path, real, local });
        Ok(())
    }

    fn follow(&mut self, path: &Path) -> Result<PathBuf, Error> {
        let resolved = fs::canonicalize(path).map_err(|error| Error::Link {
            path: shown(path),
            error: match error.raw_os_error() {
                Some(TOO_MANY_LINKS) => "EvalSymlinks: too many links".to_owned(),
                _ => go_error("lstat", &link_target(path), &error),
            },
        })?;
        let parent = path.parent().and_then(|parent| fs::canonicalize(parent).ok());
        if parent.is_some_and(|parent| parent.starts_with(&resolved)) {
            return Err(Error::LinkLoop { path: shown(path), resolved: shown(&resolved) });
        }
        self.warnings.push(Warning::SymbolicLink { path: shown(path), resolved: shown(&resolved) });
        Ok(resolved)
    }
}

impl Found {
    /// Reads the file. `room` is what all files together may still have.
    fn read(&self, dialect: &Dialect, room: &AtomicU64) -> Result<File, Error> {
        thread_local! {
            /// Where the start of each file goes: clearing it takes as long as reading a small one.
            static START: RefCell<[u8; SMALL_FILE]> = const { RefCell::new([0; SMALL_FILE]) };
        }
        START.with_borrow_mut(|start| self.read_with(start, dialect, room))
    }

    fn read_with(
        &self,
        start: &mut [u8; SMALL_FILE],
        dialect: &Dialect,
        room: &AtomicU64,
    ) -> Result<File, Error> {
        let unreadable = |error| Error::Read { path: self.local.clone(), error };
        let open_error = |error: io::Error| unreadable(go_error("open", &self.path, &error));
        let read_error = |error: io::Error| unreadable(go_error("read", &self.path, &error));
        let mut handle = Handle::open(&self.path).map_err(open_error)?;
        // Most files are small and take one call.
        let count = handle.read(start).map_err(read_error)?;
        let mut whole = Vec::new();
        let data = if count < SMALL_FILE {
            &start[..count]
        } else {
            // The limits are looked at before the rest is read.
            let size = handle.metadata().map_or(0, |metadata| metadata.len());
            let left = room.load(Ordering::Relaxed);
            self.check_size(size, left, dialect)?;
            whole.reserve_exact(usize::try_from(size).unwrap_or(0) + 1);
            whole.extend_from_slice(start);
            handle.take(left).read_to_end(&mut whole).map_err(read_error)?;
            &whole
        };
        let size = data.len() as u64;
        let left = room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(size));
        self.check_size(size, left.unwrap_or_else(|left| left), dialect)?;
        Ok(File::new(self.local.as_str(), data))
    }

    fn check_size(&self, size: u64, room: u64, dialect: &Dialect) -> Result<(), Error> {
        if let Some(limit) = dialect.max_file_size
            && size > limit
        {
            let name = self.real.as_ref().unwrap_or(&self.path).file_name();
            let name = name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            return Err(Error::FileTooLarge { name, limit });
        }
        if size > room {
            return Err(Error::TooLarge { path: self.local.clone(), limit: dialect.max_directory_size });
        }
        Ok(())
    }
}

/// Where a link points to, for the message that it is not there.
fn link_target(path: &Path) -> PathBuf {
    let target = fs::read_link(path).unwrap_or_default();
    let joined = path.parent().unwrap_or(path).join(target);
    PathBuf::from(crate::text::clean(&shown(&joined)))
}

#[cfg(test)]
mod tests;
