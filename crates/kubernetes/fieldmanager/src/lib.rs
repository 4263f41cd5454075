//! Server-side apply, managedFields and patches, exactly as kube-apiserver does them: the steps between reading a write request
//! and storing its object, as functions of values.
//!
//! - [`FieldSet`]: sets of fields, as `fieldsV1` stores them. A set is a tree of steps that borrows its strings from the object
//!   it comes from; nothing is copied until it is stored.
//! - [`typed`]: values with their schema: their fields, the difference between two, merging one into another in place, removing.
//!   The schema (`podium_schema::shape`) says how values merge: what is atomic, which lists are sets, which keys identify items.
//! - [`managed`]: server-side apply and the managedFields of every other write. An applied configuration without changes
//!   costs one copy of the object; only fields that an applier no longer sets are searched for in the whole object.
//! - [`patch`]: strategic merge patches, JSON merge patches and JSON patches, each with its own bounds on depth, size and count.
//!
//! Pure: the time of a write is passed in. Values come from a parser that bounds their depth (as `serde_json` does,
//! at 128); an object that a patch would nest deeper is rejected.
//!
//! `make test-real` sends random chains of writes by several field managers, and random patches, to kube-apiserver's own packages
//! as well (`tools/kubernetes/probe`), and compares objects, managedFields and error messages (`tests/originals`).

mod go;
pub mod managed;
pub mod patch;
mod set;
mod step;
pub mod typed;

pub use go::plain;
pub use set::{FieldSet, NotASet};
pub use step::{Datum, Step};
