//! The chart operator: the spec of a custom resource is the values of a chart, and its release follows the spec.
//!
//! ```text
//! informer: custom resources ──────┐
//! informers: metadata of objects ──┼─▶ work queue ─▶ reconcile: observe, validate, plan, apply, report
//! informer: release records ───────┘
//! ```
//!
//! Reconciles run on one thread and decide from the state that informers keep (a few numbers per object): a reconcile
//! of a resource that has not changed sends no request. Charts are loaded, rendered and hashed on the CPU pool.
//! The module `reconcile` lists the files of a reconcile in reading order.

mod certificate;
mod chart;
mod chart_controller;
mod custom_resource;
mod informers;
mod missing_dependencies;
mod names;
mod peers;
mod reconcile;
mod release_owner;
mod reload;
mod render;
mod resource_state;
mod run;
mod status;
mod values;

pub use chart::{Chart, Error as ChartError};
pub use run::{Election, Error, Settings, run};
