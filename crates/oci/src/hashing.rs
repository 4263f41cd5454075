//! Hashing beside writing: each takes its time, and together they would take the time of both.

use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use bytes::Bytes;

use crate::digest::Hasher;

/// From this many bytes on it is worth a thread: smaller ones come several at a time, and keep all processors busy.
const LARGE: u64 = 32 << 20;
/// How many times what is written at once may wait.
const WAITING: usize = 4;

/// Hashes what is written, in order; what is large on a thread of its own.
pub(crate) struct Hashing {
    seen: u64,
    work: Work,
}

enum Work {
    Here(Hasher),
    Beside(SyncSender<Vec<Bytes>>, JoinHandle<Hasher>),
}

impl Hashing {
    /// Goes on with what was hashed.
    pub(crate) fn new(hasher: Hasher) -> Self {
        Self { seen: 0, work: Work::Here(hasher) }
    }

    /// Takes the next parts.
    pub(crate) fn update(&mut self, parts: &[Bytes]) {
        self.seen += parts.iter().map(|part| part.len() as u64).sum::<u64>();
        if let Work::Here(hasher) = &mut self.work {
            if self.seen < LARGE {
                parts.iter().for_each(|part| hasher.update(part));
                return;
            }
            match beside(hasher.clone()) {
                Ok(work) => self.work = work,
                // Without a thread it takes longer, and that is all.
                Err(_) => parts.iter().for_each(|part| hasher.update(part)),
            }
        }
        if let Work::Beside(sender, _) = &self.work {
            // It is noticed at the end when nobody hashes any more.
            let _ = sender.send(parts.to_vec());
        }
    }

    /// What has hashed all of it.
    pub(crate) fn finish(self) -> io::Result<Hasher> {
        match self.work {
            Work::Here(hasher) => Ok(hasher),
            Work::Beside(sender, thread) => {
                drop(sender);
                thread.join().map_err(|_| io::Error::other("the content was not hashed"))
            }
        }
    }
}

fn beside(mut hasher: Hasher) -> io::Result<Work> {
    let (sender, receiver) = sync_channel::<Vec<Bytes>>(WAITING);
    let thread = thread::Builder::new().name("hash".to_owned()).spawn(move || {
        receiver.iter().flatten().for_each(|part| hasher.update(&part));
        hasher
    })?;
    Ok(Work::Beside(sender, thread))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::{Algorithm, Digest};

    #[test]
    fn small_and_large_are_hashed_alike() {
        for size in [0, 1, 1 << 20, 40 << 20] {
            let data = Bytes::from((0..size).map(|n: u32| (n >> 3) as u8).collect::<Vec<_>>());
            let mut hashing = Hashing::new(Hasher::new(Algorithm::Sha256));
            for at in (0..data.len()).step_by(7_777_777) {
                let part = data.slice(at..(at + 7_777_777).min(data.len()));
                let (first, second) = (part.slice(..part.len() / 3), part.slice(part.len() / 3..));
                hashing.update(&[first, second]);
            }
            assert_eq!(hashing.finish().unwrap().finish(), Digest::of(&data), "{size}");
        }
    }
}
