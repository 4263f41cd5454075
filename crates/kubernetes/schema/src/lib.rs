//! Structural schemas of custom resources, the CustomResourceDefinitions that contain them, and whether a new version of a
//! definition may safely replace the old one.
//!
//! - **Type schemas** ([`shape`]) come from published OpenAPI documents or from a definition, and say how values merge: what is
//!   atomic, which lists are sets, which keys identify list items.
//! - **Custom resources** are pruned, defaulted and validated: types, bounds, sets and embedded objects. On updates, values
//!   that were invalid before are accepted where the API server accepts them (ratcheting).
//! - **Validation rules** (CEL) are found in the schema, compiled once by the [`expressions::Language`] that the caller passes in, and
//!   evaluated on the values they belong to, each beside its old value.
//! - **Definitions** are validated themselves; names are accepted and definitions established as the API server does it, and
//!   the printer columns of lists come from them.
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
