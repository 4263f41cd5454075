//! What Kubernetes objects are: kinds, names, selectors, statuses.
//!
//! Objects travel as JSON values; this crate has the small views that everybody needs. It knows no cluster.

pub mod base64;
pub mod fields;
pub mod flaw;
pub mod glance;
pub mod kind;
pub mod moment;
pub mod names;
pub mod quantity;
pub mod selector;
pub mod status;
pub mod table;
pub mod time;

pub use flaw::{Flaw, Wrong};
pub use kind::{Kind, Resource};
pub use quantity::Quantity;
pub use selector::Selector;
pub use status::Status;
