//! How a transfer goes on, for a person at a terminal.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use podium_oci::{Digest, Progress, ProgressReporter, TransferOutcome, no_progress};

use super::size;
use crate::output::person_reads_errors;

/// How often the line is drawn.
const PAUSE: Duration = Duration::from_millis(100);

/// What has been moved, and what was there.
#[derive(Default)]
struct State {
    blobs: BTreeMap<Digest, (u64, u64)>,
    moved: usize,
    mounted: usize,
    existed: usize,
    drawn: Option<Instant>,
}

/// A line that says how far it is.
pub struct Line {
    word: &'static str,
    state: Arc<Mutex<State>>,
}

impl Line {
    /// Begins with a word: `pushing`.
    pub fn new(word: &'static str) -> Self {
        Self { word, state: Arc::default() }
    }

    /// Whom to tell.
    pub fn listener(&self) -> ProgressReporter {
        let (word, state) = (self.word, self.state.clone());
        let person = person_reads_errors();
        if !person && word.is_empty() {
            return no_progress();
        }
        Arc::new(move |progress| {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            match progress {
                Progress::Started(digest, whole, there) => {
                    state.blobs.insert(digest, (there, whole));
                }
                Progress::Transferred(digest, bytes) => {
                    if let Some((done, whole)) = state.blobs.get_mut(&digest) {
                        *done = (*done + bytes).min(*whole);
                    }
                }
                Progress::Finished(_, TransferOutcome::AlreadyExists) => state.existed += 1,
                Progress::Finished(_, TransferOutcome::Mounted) => state.mounted += 1,
                Progress::Finished(_, TransferOutcome::Transferred) => state.moved += 1,
            }
            if person && state.drawn.is_none_or(|drawn| drawn.elapsed() > PAUSE) {
                state.drawn = Some(Instant::now());
                let (done, whole) =
                    state.blobs.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
                let _ = write!(std::io::stderr().lock(), "\r\x1b[K{word} {} of {}", size(done), size(whole));
            }
        })
    }

    /// Takes the line away; says what was done.
    pub fn end(self) -> String {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.drawn.is_some() {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
        }
        let bytes: u64 = state.blobs.values().map(|(_, whole)| whole).sum();
        let mut parts = Vec::new();
        if state.moved > 0 {
            parts.push(format!("{} blobs moved, {}", state.moved, size(bytes)));
        }
        if state.mounted > 0 {
            parts.push(format!("{} taken from another repository", state.mounted));
        }
        if state.existed > 0 {
            parts.push(format!("{} there before", state.existed));
        }
        parts.join("; ")
    }
}
