//! `podium chart` beside both helms: lint, show, package, dependencies, repositories.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod files;
mod flaws;
mod lint;
mod public;
mod repositories;
mod run;
mod web;
