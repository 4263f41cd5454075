//! A Helm chart from disk or archive to ordered manifests.
//!
//! 1. **Load** ([`load`], [`archive`]): a directory or an archive becomes files, with Helm's checks and a bound on everything.
//! 2. **Values** ([`user_values`], [`values`], [`origin`]): files, flags and defaults are coalesced; conditions and tags enable
//!    dependencies; the values of every chart are validated against its schema. Every value keeps the position of its source.
//! 3. **Compile** (`podium_gotmpl`): each template becomes a list of instructions. The set is immutable and shared by all
//!    threads; a loaded chart keeps it for the next render.
//! 4. **Render** ([`render`], [`renderer`], `podium_sprig`): a machine runs the instructions. In a large chart a second thread
//!    renders files at the end of the order ahead of their turn; its result counts only if it cannot differ at its turn
//!    (`render/tried.rs`).
//! 5. **Order** ([`manifest`]): the text is split into documents, each is checked as YAML, hooks are set apart, and kinds are
//!    sorted by install order.
//!
//! A render is a pure function of chart, values, release, capabilities, lookups and a source of randomness and time that is
//! passed in. Limits on steps, depth, output and memory stop a hostile template (`docs/reference/limits.md`).

pub mod archive;
pub mod capabilities;
pub mod chart;
pub mod dependencies;
pub mod dialect;
pub mod files;
pub mod glob;
pub mod ignore;
pub mod lint;
pub mod load;
pub mod manifest;
pub mod metadata;
pub mod origin;
pub mod package;
pub mod path_match;
pub mod render;
pub mod renderer;
pub mod repository;
pub mod schema;
pub mod show;
pub mod strvals;
pub mod text;
pub mod user_values;
pub mod values;
pub mod view;
pub mod warning;

mod gofmt;
mod parallel;
mod processor;

#[cfg(test)]
mod testing;
