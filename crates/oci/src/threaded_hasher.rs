//! Hashing of large content on its own thread, in parallel to writing it.

use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use bytes::Bytes;

use crate::digest::Hasher;

/// Content of at least this size gets a thread. Smaller blobs are transferred in parallel and keep all cores busy.
const THREAD_THRESHOLD: u64 = 32 << 20;
/// Number of write batches that may be queued for the thread.
const CHANNEL_CAPACITY: usize = 4;

/// Hashes chunks in order; large content on a separate thread.
pub(crate) struct ThreadedHasher {
    hashed: u64,
    mode: HashMode,
}

enum HashMode {
    Inline(Hasher),
    Threaded(SyncSender<Vec<Bytes>>, JoinHandle<Hasher>),
}

impl ThreadedHasher {
    /// Continues from the state of `hasher`.
    pub(crate) fn new(hasher: Hasher) -> Self {
        Self { hashed: 0, mode: HashMode::Inline(hasher) }
    }

    /// Adds chunks.
    pub(crate) fn update(&mut self, chunks: &[Bytes]) {
        self.hashed += chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>();
        if let HashMode::Inline(hasher) = &mut self.mode {
            if self.hashed < THREAD_THRESHOLD {
                chunks.iter().for_each(|chunk| hasher.update(chunk));
                return;
            }
            match spawn_hasher(hasher.clone()) {
                Ok(mode) => self.mode = mode,
                // Fall back to hashing inline.
                Err(_) => chunks.iter().for_each(|chunk| hasher.update(chunk)),
            }
        }
        if let HashMode::Threaded(sender, _) = &self.mode {
            // A dead thread is reported by `finish`.
            let _ = sender.send(chunks.to_vec());
        }
    }

    /// Returns the hasher of all chunks.
    pub(crate) fn finish(self) -> io::Result<Hasher> {
        match self.mode {
            HashMode::Inline(hasher) => Ok(hasher),
            HashMode::Threaded(sender, thread) => {
                drop(sender);
                thread.join().map_err(|_| io::Error::other("the content was not hashed"))
            }
        }
    }
}

fn spawn_hasher(mut hasher: Hasher) -> io::Result<HashMode> {
    let (sender, receiver) = sync_channel::<Vec<Bytes>>(CHANNEL_CAPACITY);
    let thread = thread::Builder::new().name("hash".to_owned()).spawn(move || {
        receiver.iter().flatten().for_each(|chunk| hasher.update(&chunk));
        hasher
    })?;
    Ok(HashMode::Threaded(sender, thread))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::{Algorithm, Digest};

    #[test]
    fn inline_and_threaded_digests_are_equal() {
        for size in [0, 1, 1 << 20, 40 << 20] {
            let data = Bytes::from((0..size).map(|n: u32| (n >> 3) as u8).collect::<Vec<_>>());
            let mut hasher = ThreadedHasher::new(Hasher::new(Algorithm::Sha256));
            for at in (0..data.len()).step_by(7_777_777) {
                let chunk = data.slice(at..(at + 7_777_777).min(data.len()));
                let (first, second) = (chunk.slice(..chunk.len() / 3), chunk.slice(chunk.len() / 3..));
                hasher.update(&[first, second]);
            }
            assert_eq!(hasher.finish().unwrap().finish(), Digest::sha256(&data), "{size}");
        }
    }
}
