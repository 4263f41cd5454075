//! Files that are there whole or not at all, also after a power cut.

use std::fs::{self, File};
use std::io::{self, IoSlice, Write};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use bytes::Bytes;

/// How much is written at a time where parts are gathered: many small writes take several times as long.
pub(crate) const WRITE_BATCH_BYTES: usize = 1 << 20;
/// How many parts are gathered at most: a small one may hold the memory of a large one.
pub(crate) const WRITE_BATCH_BUFFERS: usize = 64;
/// How much may wait for the disk.
const SYNC_INTERVAL_BYTES: u64 = 16 << 20;

/// A name that nobody else has.
pub(crate) fn random_name() -> io::Result<String> {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The directory that a path is in; that of a name alone is where we are.
pub(crate) fn parent_dir(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a file whole: beside it first, then in its place.
pub(crate) fn write_atomically(path: &Path, data: &[u8], durable: bool) -> io::Result<()> {
    let parent = parent_dir(path);
    let temporary = parent.join(format!(".{}.new", random_name()?));
    let result = (|| {
        let mut file = File::create_new(&temporary)?;
        file.write_all(data)?;
        if durable {
            file.sync_all()?;
        }
        fs::rename(&temporary, path)
    })();
    if result.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    result?;
    if durable { sync_directory(parent) } else { Ok(()) }
}

/// Makes names in a directory survive a power cut.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Lets the allocator keep what is given back to it, up to some megabytes. Otherwise memory for what comes from the
/// network goes to the system and comes back cleared, page by page, over and over. It learns it by a large piece that
/// comes and goes; no page of that is ever touched.
pub(crate) fn raise_mmap_threshold() {
    const ALLOCATION: usize = 30 << 20;
    drop(std::hint::black_box(Vec::<u8>::with_capacity(ALLOCATION)));
}

/// Writes parts that came one by one, with as few calls as can be.
pub(crate) fn write_all_vectored(mut file: &File, buffers: &[Bytes]) -> io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> =
        buffers.iter().filter(|buffer| !buffer.is_empty()).map(|buffer| IoSlice::new(buffer)).collect();
    let mut unwritten = slices.as_mut_slice();
    while !unwritten.is_empty() {
        match file.write_vectored(unwritten) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut unwritten, written),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Brings a file to the disk while more of it comes, so that its end has little to wait for.
#[derive(Default)]
pub(crate) struct BackgroundSync {
    unsynced: u64,
    in_flight: Option<JoinHandle<io::Result<()>>>,
}

impl BackgroundSync {
    /// So much was written.
    pub(crate) fn record_write(&mut self, file: &File, bytes: u64) -> io::Result<()> {
        self.unsynced += bytes;
        if self.unsynced < SYNC_INTERVAL_BYTES {
            return Ok(());
        }
        if let Some(in_flight) = self.in_flight.take_if(|in_flight| in_flight.is_finished()) {
            join_sync(in_flight)?;
        }
        if self.in_flight.is_none() {
            self.unsynced = 0;
            let file = file.try_clone()?;
            self.in_flight = Some(thread::Builder::new().spawn(move || file.sync_data())?);
        }
        Ok(())
    }

    /// All of it is on the disk when this returns. What went wrong before is told here: the system tells it once.
    pub(crate) fn finish(&mut self, file: &File) -> io::Result<()> {
        if let Some(in_flight) = self.in_flight.take() {
            join_sync(in_flight)?;
        }
        file.sync_data()
    }
}

impl Drop for BackgroundSync {
    /// A file that is closed is closed: its lock must not last until somebody else is done with it.
    fn drop(&mut self) {
        if let Some(in_flight) = self.in_flight.take() {
            let _ = in_flight.join();
        }
    }
}

fn join_sync(in_flight: JoinHandle<io::Result<()>>) -> io::Result<()> {
    in_flight.join().unwrap_or_else(|_| Err(io::Error::other("the disk was not waited for")))
}

/// A file that goes away unless it is moved to its place.
pub(crate) struct TempFile {
    path: Option<PathBuf>,
}

impl TempFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path: Some(path) }
    }

    /// Moves it to its place.
    pub(crate) fn persist(mut self, to: &Path, durable: bool) -> io::Result<()> {
        let Some(path) = self.path.take() else { return Ok(()) };
        let parent = parent_dir(to);
        let result = fs::create_dir_all(parent).and_then(|()| fs::rename(&path, to));
        if let Err(e) = result {
            let _ = fs::remove_file(&path);
            return Err(e);
        }
        if durable { sync_directory(parent) } else { Ok(()) }
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}
