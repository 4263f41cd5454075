//! Runs upstream programs beside Podium and compares, for tests and benchmarks; never shipped.
//!
//! ```text
//! generate ──> RenderRequest ──┬─> Helm's own engine (probe) ──> Outcome ──┐
//!   (seed)                     └─> a Subject (ours)  ──────────> Outcome ──┴─> compare ─> shrink ─> report
//! ```
//!
//! `tests/clients` runs real clients against kube-apiserver and against our API server: command lines of kubectl (two versions),
//! helm 3 and helm 4, and programs that use client-go, controller-runtime (`tools/clientgo`) and the Python client (`tools/python`).
//! Their output has to be the same except for uids, times and generated names. The real kube-controller-manager works on both.

pub mod api;
pub mod bench;
pub mod charts;
pub mod cluster;
pub mod compare;
pub mod dialects;
pub mod faults;
pub mod generate;
pub mod histogram;
pub mod kinds;
pub mod mutants;
pub mod paths;
pub mod podium;
pub mod probe;
pub mod proxy;
pub mod random;
pub mod record;
pub mod registries;
pub mod request;
pub mod roles;
pub mod shrink;
pub mod subject;
pub mod text;
pub mod tools;
pub mod world;
