//! Questions about rights and identities that are asked like objects, and their answers.
//!
//! A review comes in as its kind's shape has it and goes out with its status; whatever else a server does with what is
//! created (checking the body, owners of fields) is done around these functions.

mod access;
mod selectors;
mod subject;

pub use access::{local_subject_access, self_subject_access, self_subject_rules, subject_access};
pub use subject::{self_subject, token};

use serde_json::Value;

/// A field that is there.
fn given<'v>(object: &'v Value, key: &str) -> Option<&'v Value> {
    object.get(key).filter(|value| !value.is_null())
}

/// The text of a field, empty if there is none.
fn text<'v>(object: &'v Value, key: &str) -> &'v str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}
