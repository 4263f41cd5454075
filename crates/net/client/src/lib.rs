//! Talks to a Kubernetes API server. The only crate that depends on kube.
//!
//! Objects come and go as JSON values; who needs types has them in a crate of its own. A controller is made of the
//! parts below; each is of use alone:
//!
//! ```text
//!  watch ──Event──▶ store ──Change──▶ queue ──key──▶ the controller's work ──▶ client, events
//!                                       ▲                  │
//!                                       └── back-off ──────┘
//!  lease: whether this process may work at all      roster: who else is there      log, measure: what it says
//! ```

pub mod access;
pub mod client;
mod connection;
pub mod cpu_pool;
pub mod discovery;
pub mod events;
mod key;
pub mod lease;
pub mod log;
pub mod measure;
pub mod queue;
mod reason;
pub mod request;
pub mod roster;
pub mod store;
pub mod watch;
pub mod write;

pub use access::Access;
pub use client::{Client, Error};
pub use discovery::{Discovery, Kinds};
pub use key::Key;
