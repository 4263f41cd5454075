//! What is known of each kind: when its objects are ready and why not, which pods are theirs, where they are kept.
//!
//! [`table`] has the built-in kinds as a real server serves them, [`typed`] reads bodies by it, [`stored`] makes of
//! them what the server stores, and [`print`](mod@print) is what lists show.
//!
//! Every answer comes from the object that is passed in; this crate asks nobody. The states are those that Helm 4
//! waits for (the kstatus rules); the words are ours.
//!
//! ```
//! use podium_resources::{Health, health};
//! use serde_json::json;
//!
//! let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Pending"}});
//! assert_eq!(health(&claim), Health::Waiting("not bound to a volume: phase Pending".to_owned()));
//! ```

mod completion;
mod conditions;
mod deployment;
mod explain;
mod health;
mod job;
pub mod openapi;
mod pod;
mod pods;
pub mod print;
mod selectable;
mod sets;
mod simple;
pub mod stored;
pub mod strategy;
pub mod table;
pub mod typed;
mod usual;
mod view;
mod writing;

pub use completion::completion;
pub use explain::explain;
pub use health::{Health, health, health_at, health_with_jobs, health_with_pods, paused};
pub use pods::{has_pods, pod_selector};
pub use selectable::{check_field, field_value, selectable_fields};
pub use table::{Column, Group, Kinds, Row, Subresource, Version, kinds, kinds_with};
pub use usual::{all_usual, usual};
pub use writing::{Writing, reset_fields, writing};
