//! What values of a kind look like, and whether one definition of a kind may safely replace another.
//!
//! ```
//! use podium_schema::upgrade;
//! use serde_json::json;
//!
//! let definition = |replicas: &str| {
//!     let spec = json!({"type": "object", "properties": {"replicas": {"type": replicas}}});
//!     let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
//!     json!({"metadata": {"name": "webs.example.com"}, "spec": {"scope": "Namespaced",
//!         "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}})
//! };
//! assert!(upgrade(&definition("integer"), &definition("integer")).is_ok());
//! let problems = upgrade(&definition("integer"), &definition("string")).unwrap_err();
//! assert_eq!(
//!     problems[0].to_string(),
//!     r#"webs.example.com: v1: .spec.replicas: type changed from "integer" to "string""#
//! );
//! ```

mod canonical;
mod compare;
mod problem;
mod rules;
pub mod shape;
mod shaping;
mod upgrade;
mod version;

pub use problem::{Check, Problem};
pub use shaping::{from_openapi, from_structural};
pub use upgrade::upgrade;
