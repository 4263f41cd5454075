//! The store of the local cluster: one durable sequence of revisions for objects of all resources.
//!
//! ```text
//!  writers ──▶ queue ──▶ check ──▶ log, one sync for all ──▶ memory ──▶ answers, watchers
//!                                     │                        ▲
//!                                     ▼                        │ at start
//!                                  log-1 log-2 log-3 … + snapshot
//! ```
//!
//! - A write is visible only after it is durable, and acknowledged after that. Waiting writers share one sync.
//! - Everything is in memory, each object once, in the form that it has on disk. A past revision is the present with the
//!   latest events undone; the history is bounded.
//! - A watch is a position in that history. There are no queues, so a slow watcher cannot fill one.
//! - A file is never changed where it was durable. After a snapshot, logs that are no longer needed are removed.
//!
//! Of Kubernetes the store knows only where the labels and the revision of an object are. `docs/decisions/0005-log-and-snapshots.md`
//! says why it is a log.
//!
//! The disk is behind a small trait. `tests/crash.rs` cuts the power at every step of a disk in memory ([`sim::SimDisk`]) that
//! loses everything that was not synced, sector by sector and name by name, and lets syncs fail; `tests/kill.rs` kills real
//! processes; `tests/model.rs` compares with a simple model. `examples/figures.rs` measures.

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
