//! Atomic and durable file writes.

use std::fs::{self, File};
use std::io::{self, IoSlice, Write};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use bytes::Bytes;

/// Bytes per batched write: many small writes take several times as long.
pub(crate) const WRITE_BATCH_BYTES: usize = 1 << 20;
/// Maximum number of buffers per batched write: a small slice may pin a large allocation.
pub(crate) const WRITE_BATCH_BUFFERS: usize = 64;
/// Unsynced bytes after which a background sync starts.
const SYNC_INTERVAL_BYTES: u64 = 16 << 20;

/// A random, unique file name.
pub(crate) fn random_name() -> io::Result<String> {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The parent directory of a path; `.` for a bare file name.
pub(crate) fn parent_dir(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a file atomically: to a temporary file, then renamed.
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

/// Makes renames in a directory durable.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Raises the allocator's mmap threshold, so that freed network buffers stay in the process instead of being unmapped
/// and zeroed again by the kernel. glibc adapts the threshold when a large allocation is freed; its pages are never
/// touched.
pub(crate) fn raise_mmap_threshold() {
    const ALLOCATION: usize = 30 << 20;
    drop(std::hint::black_box(Vec::<u8>::with_capacity(ALLOCATION)));
}

/// Writes buffers with as few system calls as possible.
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

/// Syncs a file in the background while it is written, so that the final sync is short.
#[derive(Default)]
pub(crate) struct BackgroundSync {
    unsynced: u64,
    in_flight: Option<JoinHandle<io::Result<()>>>,
}

impl BackgroundSync {
    /// Records written bytes and starts a sync when enough are unsynced.
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

    /// Syncs the rest. Reports errors of earlier syncs: the kernel reports a write error only once.
    pub(crate) fn finish(&mut self, file: &File) -> io::Result<()> {
        if let Some(in_flight) = self.in_flight.take() {
            join_sync(in_flight)?;
        }
        file.sync_data()
    }
}

impl Drop for BackgroundSync {
    /// Waits for the background sync, which holds a duplicate of the file and thereby its lock.
    fn drop(&mut self) {
        if let Some(in_flight) = self.in_flight.take() {
            let _ = in_flight.join();
        }
    }
}

fn join_sync(in_flight: JoinHandle<io::Result<()>>) -> io::Result<()> {
    in_flight.join().unwrap_or_else(|_| Err(io::Error::other("the background sync failed")))
}

/// A temporary file that is removed on drop unless it is persisted.
pub(crate) struct TempFile {
    path: Option<PathBuf>,
}

impl TempFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path: Some(path) }
    }

    /// Renames the file to its final path.
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
