//! Readiness of Kubernetes objects and its reason, by the rules of kstatus.
//!
//! ```
//! use podium_kstatus::{Health, health};
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
mod pod;
mod pods;
mod sets;
mod simple;
mod view;

pub use completion::completion;
pub use explain::explain;
pub use health::{Health, health, health_at, health_with_jobs, health_with_pods, paused};
pub use pods::{has_pods, pod_selector};
