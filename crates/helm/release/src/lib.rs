//! Releases as Helm keeps them.
//!
//! A release is a list of revisions; each is a record in a Secret (or ConfigMap) of the release's namespace. The
//! records are Helm's own, so that `helm` and Podium work on each other's releases.

mod columns;
pub mod draft;
pub mod encode;
pub mod engine;
pub mod hooks;
pub mod list;
pub mod live;
pub mod machine;
pub mod out;
pub mod print;
pub mod record;
pub mod store;
pub mod stored;
mod values;

pub use draft::Draft;
pub use engine::Engine;
pub use record::Release;
pub use store::{Driver, Error, Newest, Store};
