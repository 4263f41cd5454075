//! Files that are there whole or not at all, also after a power cut.

use std::fs::{self, File};
use std::io::{self, IoSlice, Write};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use bytes::Bytes;

/// How much is written at a time where parts are gathered: many small writes take several times as long.
pub(crate) const GATHER: usize = 1 << 20;
/// How many parts are gathered at most: a small one may hold the memory of a large one.
pub(crate) const MANY: usize = 64;
/// How much may wait for the disk.
const AHEAD: u64 = 16 << 20;

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

/// Lets the allocator keep what is given back to it, up to some megabytes. Otherwise memory for what comes from the
/// network goes to the system and comes back cleared, page by page, over and over. It learns it by a large piece that
/// comes and goes; no page of that is ever touched.
pub(crate) fn keep_memory() {
    const PIECE: usize = 30 << 20;
    drop(std::hint::black_box(Vec::<u8>::with_capacity(PIECE)));
}

/// Writes parts that came one by one, with as few calls as can be.
pub(crate) fn write_parts(mut file: &File, parts: &[Bytes]) -> io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> =
        parts.iter().filter(|part| !part.is_empty()).map(|part| IoSlice::new(part)).collect();
    let mut rest = slices.as_mut_slice();
    while !rest.is_empty() {
        match file.write_vectored(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut rest, written),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Brings a file to the disk while more of it comes, so that its end has little to wait for.
#[derive(Default)]
pub(crate) struct Ahead {
    waiting: u64,
    running: Option<JoinHandle<io::Result<()>>>,
}

impl Ahead {
    /// So much was written.
    pub(crate) fn wrote(&mut self, file: &File, bytes: u64) -> io::Result<()> {
        self.waiting += bytes;
        if self.waiting < AHEAD {
            return Ok(());
        }
        if let Some(running) = self.running.take_if(|running| running.is_finished()) {
            ended(running)?;
        }
        if self.running.is_none() {
            self.waiting = 0;
            let file = file.try_clone()?;
            self.running = Some(thread::Builder::new().spawn(move || file.sync_data())?);
        }
        Ok(())
    }

    /// All of it is on the disk when this returns. What went wrong before is told here: the system tells it once.
    pub(crate) fn end(&mut self, file: &File) -> io::Result<()> {
        if let Some(running) = self.running.take() {
            ended(running)?;
        }
        file.sync_data()
    }
}

impl Drop for Ahead {
    /// A file that is closed is closed: its lock must not last until somebody else is done with it.
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            let _ = running.join();
        }
    }
}

fn ended(running: JoinHandle<io::Result<()>>) -> io::Result<()> {
    running.join().unwrap_or_else(|_| Err(io::Error::other("the disk was not waited for")))
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
