//! The few things that the store asks of a disk, and the real one.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// A directory of files. What is written is certain only after a `sync`, and names only after a `sync_names`.
pub trait Disk: Send + Sync + 'static {
    /// The names of all files.
    fn names(&self) -> io::Result<Vec<String>>;
    /// Makes an empty file, also in the place of one that is there.
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Opens a file that is there for writing.
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Opens a file for reading from its beginning.
    fn read(&self, name: &str) -> io::Result<Box<dyn Read>>;
    /// Gives a file another name, and removes the one that had it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes new, changed and removed names certain.
    fn sync_names(&self) -> io::Result<()>;
    /// What a file is called in messages.
    fn label(&self, name: &str) -> String;
}

/// An open file.
pub trait DiskFile: Send {
    /// Writes at a place, which is inside the file or at its end.
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;
    /// Makes the file that short.
    fn cut(&mut self, length: u64) -> io::Result<()>;
    /// Makes what was written certain.
    fn sync(&mut self) -> io::Result<()>;
}

/// A directory of the file system that belongs to this process alone while it is open.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    // Locked as long as it is open.
    _lock: File,
}

const LOCK: &str = "lock";

impl Directory {
    /// Opens a directory, and makes it if it is not there.
    ///
    /// # Errors
    /// When it belongs to another user, is in use by another process, or cannot be written.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let failed = |doing, source| Error::disk(doing, path.display().to_string(), source);
        make_private(&path).map_err(|e| failed("make the directory", e))?;
        check_owner(&path)?;
        let mut lock = private()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path.join(LOCK))
            .map_err(|e| failed("open the lock of", e))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                let known = lock.read_to_string(&mut pid).is_ok() && !pid.trim().is_empty();
                let holder =
                    if known { format!("process {}", pid.trim()) } else { "another process".to_string() };
                return Err(Error::Locked { dir: path.display().to_string(), holder });
            }
            Err(TryLockError::Error(e)) => return Err(failed("lock", e)),
        }
        // Only for the message above: a full disk must not keep the store from opening.
        let _ = lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id()));
        Ok(Self { path, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Disk for Directory {
    fn names(&self) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(&self.path)?;
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(private().write(true).create(true).truncate(true).open(self.path.join(name))?))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(OpenOptions::new().write(true).open(self.path.join(name))?))
    }

    fn read(&self, name: &str) -> io::Result<Box<dyn Read>> {
        Ok(Box::new(File::open(self.path.join(name))?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    fn label(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }
}

impl DiskFile for File {
    #[cfg(unix)]
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(self, bytes, at)
    }

    #[cfg(not(unix))]
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        io::Seek::seek(self, io::SeekFrom::Start(at))?;
        self.write_all(bytes)
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Files with secrets in them are their owner's alone.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes a directory and what it is in, so that a power cut does not take the directory itself.
fn make_private(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> =
        path.ancestors().take_while(|p| !p.as_os_str().is_empty() && !p.exists()).collect();
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    for parent in missing.into_iter().filter_map(Path::parent) {
        let here = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        File::open(here)?.sync_all()?;
    }
    Ok(())
}

/// A directory of somebody else is refused, also to root: files of two owners in it would lock one of them out.
#[cfg(unix)]
pub fn check_owner(path: &Path) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let dir = path.display().to_string();
    let owner = fs::metadata(path).map_err(|e| Error::disk("look at", dir.clone(), e))?.uid();
    // The process's own entry belongs to the user that it runs as; elsewhere than on Linux, the lock file tells.
    match fs::metadata("/proc/self").map(|m| m.uid()) {
        Ok(me) if me != owner => Err(Error::Foreign { dir, owner, me }),
        _ => Ok(()),
    }
}

/// Elsewhere there are no such owners.
#[cfg(not(unix))]
pub fn check_owner(_: &Path) -> Result<()> {
    Ok(())
}
