//! File-based catalogs: packages, channels, bundles and upgrade edges.
//!
//! ```text
//! files ──stream──▶ metas ──declcfg──▶ DeclarativeConfig ─┬─ write ───▶ JSON, YAML
//!                                             ▲           ├─ graph ───▶ mermaid, text
//! template + bundle images ──template─────────┘           ├─ resolve ─▶ bundle to install, rejected candidates
//!                                                         └─ summary ─▶ model ─▶ Model or CatalogError
//! ```
//!
//! Every result is a pure function of the texts that are passed in. Error messages are equal to opm's; source
//! positions, which opm does not report, are separate.

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
