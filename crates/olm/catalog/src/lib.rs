//! File-based catalogs: the versions of operators and the ways between them.
//!
//! ```text
//! files ──stream──▶ documents ──config──▶ Config ──write──▶ JSON, YAML
//!                                           │ └────graph──▶ mermaid, a picture
//!                                         facts ──model──▶ Model or Problem (validation)
//! template + bundles ──template──▶ Config   └────resolve──▶ the bundle to install, and why not the others
//! ```
//!
//! Everything is a function of texts that are passed in. Errors are in opm's words, to the byte, with the places that
//! opm does not name.

pub mod append;
pub mod compat;
pub mod declcfg;
pub mod diff;
pub mod error;
pub mod fold;
pub mod graph;
pub mod header;
pub mod indexignore;
pub mod json;
pub mod model;
pub mod reference;
pub mod release;
pub mod resolve;
pub mod stream;
pub mod summary;
pub mod template;
pub mod validation;
pub mod write;

mod go_types;

pub use compat::OpmCompat;
pub use declcfg::{DeclarativeConfig, Meta, MetaKind};
pub use error::{CatalogError, SourceSpan};
pub use summary::CatalogSummary;
