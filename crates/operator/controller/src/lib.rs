//! The chart operator: a custom resource is the values of a chart, and the cluster stays equal to it.
//!
//! Everything runs on one thread. A reconcile decides from what watches have told (a few numbers per object) and asks
//! the server only for what it has to read or write: when nothing has changed, it costs no request.
//!
//! ```text
//! watch of custom resources ─┐
//! metadata watches of objects ┼─> queue ─> reconcile: observe, validate, plan, apply, report
//! metadata watch of records  ─┘
//! ```

mod card;
mod certificate;
mod chart;
mod controller;
mod custom;
mod hub;
mod keeper;
mod missing;
mod names;
mod reconcile;
mod reload;
mod render;
mod roster;
mod run;
mod status;
mod values;

pub use chart::{Chart, Error as ChartError};
pub use run::{Election, Error, Settings, run};
