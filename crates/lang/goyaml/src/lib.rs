//! YAML, JSON and TOML in and out exactly as Go's Kubernetes world does it.
//!
//! One tree type ([`Node`]) carries everything that a user wrote, with positions, so that an error can name file, line
//! and column. Readers produce it; writers take anything that can be viewed as a document ([`Doc`]), so that a
//! template's values need no copy before they are printed.

pub mod doc;
pub mod emit;
pub mod json;
pub mod scan;
pub mod toml;
pub mod tree;
pub mod yaml;

mod number;
mod unicode;
mod walk;

pub use doc::{Doc, View};
pub use tree::{List, Map, MapIter, Node, Pos, Value};
