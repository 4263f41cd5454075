//! The store of the one-machine cluster: one durable sequence of revisions for all kinds of objects.
//!
//! ```text
//!  writers ──▶ queue ──▶ check ──▶ log, one sync for all ──▶ memory ──▶ answers, watchers
//!                                     │                        ▲
//!                                     ▼                        │ at start
//!                                  log-1 log-2 log-3 … + snapshot
//! ```
//!
//! - A write is answered when it is certain, and seen by nobody before that. Writers that wait share one
//!   synchronisation.
//! - Everything is in memory, each object once, in the form that it has on the disk. The past is the present with the
//!   latest events undone; how much of it is kept is bounded.
//! - A watch is a place in that past. There are no queues, so that nobody can fill one.
//! - A file is never changed where it was certain. After a snapshot, logs that nobody needs are removed.
//!
//! The disk is behind a small trait; on [`sim::SimDisk`] the tests cut the power at every step.

mod collection;
mod commit;
mod disk;
mod error;
mod event;
mod frame;
mod key;
mod kind;
mod log;
mod object;
mod reach;
mod recover;
mod scan;
mod shared;
pub mod sim;
mod snapshot;
mod store;
mod ticket;
mod watch;

pub use collection::{Collection, Page, Query};
pub use commit::Expect;
pub use disk::{Directory, Disk, DiskFile, check_owner};
pub use error::{Error, Result};
pub use event::{Change, Event};
pub use key::Key;
pub use object::{Draft, Object};
pub use reach::Reach;
pub use recover::Recovery;
pub use store::{Options, Stats, Store};
pub use ticket::{Ticket, Written};
pub use watch::Watch;

/// A number that grows with every write, whatever it is about; 0 is before the first.
pub type Revision = u64;
