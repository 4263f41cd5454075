//! Kubernetes API machinery as data: GVK and GVR, names, labels, selectors, quantities, Status, Table, timestamps.
//!
//! Objects are JSON values; this crate has the small typed views that the other crates share. It does no I/O.

pub mod base64;
pub mod field_error;
pub mod fields;
pub mod kind;
pub mod names;
pub mod partial_json;
pub mod quantity;
pub mod selector;
pub mod status;
pub mod table;
pub mod time;
pub mod timestamp;

pub use field_error::{ErrorType, FieldError};
pub use kind::{GroupVersionKind, Resource};
pub use quantity::Quantity;
pub use selector::Selector;
pub use status::Status;
