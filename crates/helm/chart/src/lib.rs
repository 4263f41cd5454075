//! A Helm chart from disk or archive to ordered manifests.

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
