//! Who owns which field of an object, and what patches make of it, exactly as kube-apiserver does it.
//!
//! - [`FieldSet`]: sets of fields, as `fieldsV1` stores them.
//! - [`typed`]: values with their shapes: their fields, what differs, merging and removing.
//! - [`managed`]: server-side apply and the managed fields of every other write.
//! - [`patch`]: strategic merge patches, JSON merge patches and JSON patches.
//!
//! Pure: the time of a write is passed in. Values come from a parser that bounds their depth (as `serde_json` does,
//! at 128); what grows deeper by a patch is refused.

mod go;
pub mod managed;
pub mod patch;
mod set;
mod step;
pub mod typed;

pub use go::plain;
pub use set::{FieldSet, NotASet};
pub use step::{Datum, Step};
