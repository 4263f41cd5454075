//! Readiness of Kubernetes objects and its reason, by the rules of kstatus.
//!
//! The states are those that Helm 4 waits for; the reasons are more detailed than kstatus's messages and include what
//! the pods of a workload report. Every result depends only on the arguments.
//!
//! ```
//! use podium_kstatus::{Status, compute};
//! use serde_json::json;
//!
//! let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Pending"}});
//! assert_eq!(compute(&claim), Status::InProgress("not bound to a volume: phase Pending".to_owned()));
//! ```

mod completion;
mod conditions;
mod deployment;
mod fields;
mod generic;
mod job;
mod pod;
mod pod_selector;
mod pod_summary;
mod sets;
mod status;

pub use completion::completion_status;
pub use pod_selector::{has_pods, pod_selector};
pub use pod_summary::explain_pods;
pub use status::{Status, compute, compute_at, compute_with_jobs, compute_with_pods, is_paused};
