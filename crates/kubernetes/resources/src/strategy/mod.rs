//! What the server makes of objects on their way into the store, beyond reading them: what it fills in and takes
//! away, what it refuses, and what it warns of.
//!
//! The way of a new object: [`admit_create`], [`allocate_create`] (Services), [`prepare_create`],
//! [`validate_create`], [`warnings`], [`admit_checked`]. The way of a change: [`admit_update`], [`allocate_update`],
//! [`prepare_update`], [`validate_update`], [`warnings`], [`admit_checked`]. Objects are those of [`crate::stored`]; nothing here asks
//! anybody but through [`Facts`].

mod access;
mod addresses;
mod admit;
mod allocate;
mod amounts;
mod autoscaling;
mod config;
mod cron;
mod difference;
mod facts;
mod formats;
mod inner;
mod job_status;
mod jobs;
mod limits;
pub mod metadata;
mod network;
mod place;
mod pods;
mod prepare;
mod prepare_pods;
mod rules;
mod selectors;
mod services;
mod storage;
mod table;
mod warn;
mod warn_pods;
mod webhooks;
mod workloads;

use podium_meta::{FieldError, GroupVersionKind};
use serde_json::Value;

pub use admit::{admit_checked, admit_create, admit_update};
pub use allocate::{Held, Want, allocate_create, allocate_update, held};
pub use facts::{Facts, Refused};
pub use metadata::NameRule;
pub use prepare::{prepare_create, prepare_update};
pub use warn::warnings;

use crate::table::kinds;
use place::{Flaws, Place};

fn is_namespaced(kind: &GroupVersionKind) -> bool {
    kinds().row_of(kind).is_none_or(|row| row.namespaced)
}

/// What names of a built-in kind have to be.
pub fn name_rule(kind: &GroupVersionKind) -> NameRule {
    table::of(kind).name
}

/// All that is wrong with a new object, in the server's words and order.
pub fn validate_create(kind: &GroupVersionKind, object: &Value) -> Vec<FieldError> {
    let mut out = Flaws::default();
    let (place, namespaced) = (Place::root(object), is_namespaced(kind));
    table::of(kind).create(&place, namespaced, &mut out);
    // What the kind itself says of names is clearer than what can be said of all.
    if out.is_empty() {
        metadata::create(&place.at("metadata"), NameRule::Segment, namespaced, &mut out);
    }
    out.list
}

/// All that is wrong with a change through a subresource (empty: through none), in the server's words and order;
/// the same may be there twice, as the server says it.
pub fn validate_update(
    kind: &GroupVersionKind,
    subresource: &str,
    new: &Value,
    old: &Value,
) -> Vec<FieldError> {
    let mut out = Flaws::default();
    let (new, old, namespaced) = (Place::root(new), Place::root(old), is_namespaced(kind));
    metadata::create(&new.at("metadata"), NameRule::Segment, namespaced, &mut out);
    metadata::update(&new.at("metadata"), &old.at("metadata"), &mut out);
    table::of(kind).update(subresource, &new, &old, namespaced, &mut out);
    out.list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_with_checks_is_served() {
        for (group, name) in table::known() {
            assert!(kinds().rows().any(|row| row.group == group && row.kind == name), "{group}/{name}");
        }
    }
}
