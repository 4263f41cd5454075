//! Semantic versions with the ranges of Masterminds/semver and blang/semver.
//!
//! Helm charts and templates speak the first dialect ([`masterminds`]), operator catalogs the second
//! ([`blang`]). They agree on little more than the order of releases, so each has its own types. Texts are
//! byte strings because template strings are; error texts equal those of the originals.

pub mod blang;
pub mod masterminds;
mod number;
