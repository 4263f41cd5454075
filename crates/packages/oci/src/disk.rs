//! Files that are there whole or not at all, also after a power cut.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A name that nobody else has.
pub(crate) fn unique() -> io::Result<String> {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The directory that a path is in; that of a name alone is where we are.
pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a file whole: beside it first, then in its place.
pub(crate) fn write(path: &Path, data: &[u8], durable: bool) -> io::Result<()> {
    let parent = folder(path);
    let beside = parent.join(format!(".{}.new", unique()?));
    let done = (|| {
        let mut file = File::create_new(&beside)?;
        file.write_all(data)?;
        if durable {
            file.sync_all()?;
        }
        fs::rename(&beside, path)
    })();
    if done.is_err() {
        let _ = fs::remove_file(&beside);
    }
    done?;
    if durable { sync_directory(parent) } else { Ok(()) }
}

/// Makes names in a directory survive a power cut.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// A file that goes away unless it is moved to its place.
pub(crate) struct Draft {
    path: Option<PathBuf>,
}

impl Draft {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path: Some(path) }
    }

    /// Moves it to its place.
    pub(crate) fn publish(mut self, to: &Path, durable: bool) -> io::Result<()> {
        let Some(path) = self.path.take() else { return Ok(()) };
        let parent = folder(to);
        let done = fs::create_dir_all(parent).and_then(|()| fs::rename(&path, to));
        if let Err(e) = done {
            let _ = fs::remove_file(&path);
            return Err(e);
        }
        if durable { sync_directory(parent) } else { Ok(()) }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}
