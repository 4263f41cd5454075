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
pub mod config;
pub mod diff;
pub mod facts;
pub mod fold;
pub mod generation;
pub mod graph;
pub mod ignore;
pub mod json;
pub mod meta;
pub mod model;
pub mod problem;
pub mod reference;
pub mod release;
pub mod report;
pub mod resolve;
pub mod stream;
pub mod template;
pub mod write;

mod schema;

pub use config::{Config, Kind, Meta};
pub use facts::Facts;
pub use generation::Generation;
pub use problem::{Place, Problem};
