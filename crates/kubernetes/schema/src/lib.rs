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
mod check;
mod columns;
mod compare;
mod correlate;
mod custom;
mod defaults;
pub mod definition;
pub mod establish;
pub mod expressions;
mod field_path;
mod formats;
mod go;
mod jsonpath;
mod lists;
pub mod metadata;
pub mod names;
mod node;
mod path;
mod problem;
mod props;
mod prune;
mod rules;
pub mod shape;
mod shaping;
mod structural;
mod upgrade;
mod version;

pub use columns::{Columns, Heading};
pub use custom::{Custom, Scale, Source};
pub use formats::Url;
pub use go::settle;
pub use jsonpath::JsonPath;
pub use path::Path;
pub use problem::{Check, Problem};
pub use shaping::{from_openapi, from_structural};
pub use structural::Structural;
pub use upgrade::upgrade;
