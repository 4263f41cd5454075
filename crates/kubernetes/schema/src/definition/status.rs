//! What of a definition is not its specification: its status, and who approved of it.

use std::collections::BTreeMap;

use podium_meta::{ErrorType, FieldError};
use serde_json::Value;

use super::model::{Names, Spec};
use super::parts::check_names;
use crate::formats::Url;
use crate::go;
use crate::path::Path;

const APPROVAL: &str = "api-approved.kubernetes.io";

/// What is wrong with the names that were accepted.
pub fn check_status(definition: &Value) -> Vec<FieldError> {
    let names = Names::read(definition.pointer("/status/acceptedNames").unwrap_or(&Value::Null));
    check_names(&names, &Path::new("status").child("acceptedNames"))
}

/// What is wrong with the versions that were stored.
pub fn check_stored(definition: &Value, spec: &Spec) -> Vec<FieldError> {
    let at = Path::new("status").child("storedVersions");
    let stored = definition.pointer("/status/storedVersions");
    let list = stored.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let shown = go::json(stored.unwrap_or(&Value::Null));
    if list.is_empty() {
        return vec![FieldError::new(
            ErrorType::Invalid,
            &at,
            &shown,
            "must have at least one stored version",
        )];
    }
    let names = list.iter().enumerate().map(|(index, name)| (name.as_str().unwrap_or_default(), index));
    let mut left: BTreeMap<&str, usize> = names.collect();
    let mut flaws = Vec::new();
    for version in &spec.versions {
        if left.remove(version.name.as_str()).is_none() && version.storage {
            let detail = format!("must have the storage version {}", version.name);
            flaws.push(FieldError::new(ErrorType::Invalid, &at, &shown, &detail));
        }
    }
    for (name, index) in left {
        let detail = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
             until a storage migration ensures no data remains persisted in {name} and removes {name} from \
             status.storedVersions"
        );
        flaws.push(FieldError::new(ErrorType::Invalid, at.index(index), &go::quote(name), &detail));
    }
    flaws
}

/// How the approval of a kind in a group of the Kubernetes project stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Approval {
    Invalid,
    Given,
    Bypassed,
    Missing,
}

fn approval(definition: &Value) -> (Approval, &str) {
    let annotations = definition.pointer("/metadata/annotations");
    let text = annotations.and_then(|all| all.get(APPROVAL)).and_then(Value::as_str).unwrap_or_default();
    let state = if text.is_empty() {
        Approval::Missing
    } else if text.starts_with("unapproved") {
        Approval::Bypassed
    } else if Url::request(text).is_some_and(|url| !url.host.is_empty() && !url.scheme.is_empty()) {
        Approval::Given
    } else {
        Approval::Invalid
    };
    (state, text)
}

/// Whether a kind in a group of the Kubernetes project says who approved of it.
pub fn check_approval(definition: &Value, old: Option<&Value>, spec: &Spec) -> Option<FieldError> {
    let ours = ["k8s.io", "kubernetes.io"].iter().any(|domain| {
        spec.group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    });
    let (state, text) = approval(definition);
    if !ours || old.is_some_and(|old| approval(old).0 == state) {
        return None;
    }
    let at = Path::new("metadata").child("annotations").key(APPROVAL);
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    match state {
        Approval::Missing => {
            let detail = format!("protected groups must have approval annotation \"{APPROVAL}\", {see}");
            Some(FieldError::required(at, &detail))
        }
        Approval::Invalid => {
            let detail = format!(
                "protected groups must have approval annotation \"{APPROVAL}\" with either a URL or a reason starting \
                 with \"unapproved\", {see}"
            );
            Some(FieldError::new(ErrorType::Invalid, at, &go::quote(text), &detail))
        }
        Approval::Given | Approval::Bypassed => None,
    }
}
