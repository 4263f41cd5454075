//! Everything that can go wrong, in words for the person who reads it.

use std::io;
use std::sync::Arc;

use crate::{Key, Revision};

/// Why the store did not do what it was asked for; cheap to copy, because many writers share one failure.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The object was to be created, and is there already.
    #[error("{key} exists already")]
    Exists {
        /// The object.
        key: Key,
    },
    /// The object was to be changed or removed, and is not there.
    #[error("{key} is not there")]
    Absent {
        /// The object.
        key: Key,
    },
    /// The object was changed since it was read.
    #[error("{key} is at revision {found}, not at {expected}")]
    Conflict {
        /// The object.
        key: Key,
        /// The revision that the writer had seen.
        expected: Revision,
        /// The revision that the object has.
        found: Revision,
    },
    /// The history does not reach back to the revision: list again.
    #[error("revision {asked} is too old, the history begins after {oldest}")]
    Compacted {
        /// The revision that was asked for.
        asked: Revision,
        /// The oldest revision that can still be asked for.
        oldest: Revision,
    },
    /// The revision has not happened yet.
    #[error("revision {asked} is in the future, the newest is {newest}")]
    Future {
        /// The revision that was asked for.
        asked: Revision,
        /// The newest revision.
        newest: Revision,
    },
    /// The object cannot be stored.
    #[error("{key} cannot be stored: {reason}")]
    Unfit {
        /// The object.
        key: Key,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// There is no space; nothing that was acknowledged is lost.
    #[error(
        "{file}: no space left for this write; what was acknowledged before is safe, and writing goes on when \
         there is space again"
    )]
    Full {
        /// The file that could not grow.
        file: String,
    },
    /// The disk refused; the write is not acknowledged, and may or may not be there after a restart.
    #[error("cannot {doing} {file}: {source}")]
    Disk {
        /// What was being done.
        doing: &'static str,
        /// The file.
        file: String,
        /// What the system said.
        #[source]
        source: Arc<io::Error>,
    },
    /// A file was changed by something else than the store; nothing is guessed.
    #[error(
        "{file} is damaged at byte {offset}: {what}. Restore the directory from a backup, or move it away and \
         begin with an empty one"
    )]
    Damaged {
        /// The file.
        file: String,
        /// Where the damage begins.
        offset: u64,
        /// What was found there.
        what: &'static str,
    },
    /// A file that must be there is gone.
    #[error(
        "{file} is missing. Restore the directory from a backup, or move it away and begin with an empty one"
    )]
    Missing {
        /// The file.
        file: String,
    },
    /// A newer version wrote the store.
    #[error(
        "{file} was written by podium {by} in format {format}, this one reads up to {ours}: use podium {by} or newer"
    )]
    Newer {
        /// The file.
        file: String,
        /// The version that wrote it.
        by: String,
        /// Its format.
        format: u32,
        /// The newest format that is understood.
        ours: u32,
    },
    /// Another process has the store open.
    #[error("{dir} is in use by {holder}")]
    Locked {
        /// The directory.
        dir: String,
        /// Who has it: "process 42", or "another process".
        holder: String,
    },
    /// The directory belongs to another user.
    #[error(
        "{dir} belongs to user {owner}, this process runs as user {me}: run as that user, or choose another directory"
    )]
    Foreign {
        /// The directory.
        dir: String,
        /// Whose it is.
        owner: u32,
        /// Who we are.
        me: u32,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

/// An outcome of the store.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Puts a refusal of the disk into words.
    pub(crate) fn disk(doing: &'static str, file: String, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Self::Full { file }
            }
            _ => Self::Disk { doing, file, source: Arc::new(source) },
        }
    }
}
