//! Helm releases: records, history, hooks, install, upgrade, rollback and uninstall.
//!
//! A release is a list of revisions; each revision is a record in a Secret (or ConfigMap) of the release's namespace.
//! The records have Helm's format, so `helm` and Podium work on each other's releases.

pub mod encode;
pub mod engine;
pub mod environment;
mod helm_table;
pub mod hooks;
pub mod list;
pub mod live_objects;
pub mod output;
pub mod print;
pub mod record;
pub mod rendered;
pub mod store;
pub mod stored_chart;
mod values;

pub use engine::Engine;
pub use record::Release;
pub use rendered::RenderedRelease;
pub use store::{Driver, Error, ReadAfterWrite, Store};
