//! Definitions of kinds.

use serde_json::{Value, json};

use super::view::{Object, count, has, part, set, text};

/// Names that follow from the kind, and the version that is stored first.
pub fn names(object: &mut Object) {
    let Some(spec) = part(object, "spec") else { return };
    if let Some(names) = part(spec, "names") {
        let kind = text(names, "kind").to_owned();
        if text(names, "singular").is_empty() && !kind.is_empty() {
            names.insert("singular".to_owned(), kind.to_lowercase().into());
        }
        if text(names, "listKind").is_empty() && !kind.is_empty() {
            names.insert("listKind".to_owned(), format!("{kind}List").into());
        }
    }
    set(spec, "conversion", json!({"strategy": "None"}));
    let versions = spec.get("versions").and_then(Value::as_array).into_iter().flatten();
    let stored = versions
        .into_iter()
        .find(|version| version.get("storage") == Some(&Value::Bool(true)))
        .and_then(|version| version.get("name").cloned());
    if let (Some(name), Some(status)) = (stored, part(object, "status"))
        && count(status, "storedVersions") == 0
    {
        status.insert("storedVersions".to_owned(), json!([name]));
    }
}

/// A webhook of which nothing is said is none.
pub fn conversion_through(conversion: &mut Object) {
    if let Some(webhook) = part(conversion, "webhook")
        && !has(webhook, "clientConfig")
        && !has(webhook, "conversionReviewVersions")
    {
        conversion.remove("webhook");
    }
}
