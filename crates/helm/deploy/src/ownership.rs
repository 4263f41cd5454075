//! Ownership: the labels and annotations that Helm sets on every object of a release.

use serde_json::Value;

use crate::managed_fields::CLIENT_SIDE_MANAGERS;

/// The label of every object of a release, and its value.
pub const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "Helm");
/// Annotation with the release's name.
pub const RELEASE_NAME: &str = "meta.helm.sh/release-name";
/// Annotation with the release's namespace.
pub const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";

/// A release, as the owner of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseRef {
    /// The release's name.
    pub name: String,
    /// The release's namespace.
    pub namespace: String,
}

impl ReleaseRef {
    /// Why an object belongs to another owner; `None` when the release owns it. An object that a release wrote stays
    /// owned when it only lost ownership metadata.
    ///
    /// With `owner_uid`, objects with an owner reference to that uid are owned as well.
    pub fn foreign_owner(&self, object: &Value, owner_uid: Option<&str>) -> Option<String> {
        self.ownership_error(object)?;
        let value = |field: &str, key: &str| object.get("metadata")?.get(field)?.get(key)?.as_str();
        let (name, namespace) = (value("annotations", RELEASE_NAME), value("annotations", RELEASE_NAMESPACE));
        let same = |found: Option<&str>, own: &str| found.is_none_or(|found| found == own);
        if !same(name, &self.name) || !same(namespace, &self.namespace) {
            let (name, namespace) = (name.unwrap_or(&self.name), namespace.unwrap_or(&self.namespace));
            return Some(format!("it belongs to the release {name:?} of the namespace {namespace:?}"));
        }
        if let Some(other) = value("labels", MANAGED_BY.0).filter(|by| *by != MANAGED_BY.1) {
            return Some(format!("its label {} says {other:?}", MANAGED_BY.0));
        }
        let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
        let writer =
            |entry: &Value| entry.get("manager").and_then(Value::as_str).unwrap_or_default().to_owned();
        let written =
            entries.into_iter().flatten().any(|entry| CLIENT_SIDE_MANAGERS.contains(&writer(entry).as_str()));
        let references = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let owned = owner_uid.is_some_and(|owner_uid| {
            let uid = |reference: &Value| reference.get("uid").and_then(Value::as_str) == Some(owner_uid);
            references.into_iter().flatten().any(uid)
        });
        (!written && !owned).then(|| "it belongs to no release".to_owned())
    }

    /// Helm's error when an object lacks the release's ownership metadata; `None` when it has all of it.
    pub fn ownership_error(&self, object: &Value) -> Option<String> {
        let expected = [
            ("label", "labels", MANAGED_BY.0, MANAGED_BY.1),
            ("annotation", "annotations", RELEASE_NAME, self.name.as_str()),
            ("annotation", "annotations", RELEASE_NAMESPACE, self.namespace.as_str()),
        ];
        let mismatch = |(what, field, key, value): (&str, &str, &str, &str)| {
            let found = object.get("metadata").and_then(|metadata| metadata.get(field));
            let found = found.and_then(|map| map.get(key)).and_then(Value::as_str);
            match found {
                Some(found) if found == value => None,
                Some(found) => Some(format!(
                    "{what} validation error: key {key:?} must equal {value:?}: current value is {found:?}"
                )),
                None => {
                    Some(format!("{what} validation error: missing key {key:?}: must be set to {value:?}"))
                }
            }
        };
        let all: Vec<String> = expected.into_iter().filter_map(mismatch).collect();
        (!all.is_empty()).then(|| format!("invalid ownership metadata; {}", all.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn stays_owned_without_ownership_metadata() {
        let release = ReleaseRef { name: "r".to_owned(), namespace: "n".to_owned() };
        let fields = json!([{"manager": "helm", "operation": "Apply"}]);
        assert_eq!(release.foreign_owner(&json!({"metadata": {"managedFields": fields}}), None), None);
        assert!(release.foreign_owner(&json!({"metadata": {}}), None).is_some());
        // helm-operator recreates objects without the metadata.
        let recreated = json!([{"manager": "helm-operator", "operation": "Update"}]);
        assert_eq!(release.foreign_owner(&json!({"metadata": {"managedFields": recreated}}), None), None);
        // Or only with an owner reference.
        let owned = json!({"metadata": {"ownerReferences": [{"uid": "u"}]}});
        assert_eq!(release.foreign_owner(&owned, Some("u")), None);
        assert!(
            release.foreign_owner(&owned, Some("other")).is_some()
                && release.foreign_owner(&owned, None).is_some()
        );
        let other =
            json!({"metadata": {"managedFields": fields, "annotations": {"meta.helm.sh/release-name": "x"}}});
        assert!(release.foreign_owner(&other, None).is_some());
    }

    #[test]
    fn requires_label_and_both_annotations() {
        let release = ReleaseRef { name: "r".to_owned(), namespace: "n".to_owned() };
        let object = |name: &str| {
            json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "Helm"}, "annotations": {
                "meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": "n"}}})
        };
        assert_eq!(release.ownership_error(&object("r")), None);
        assert_eq!(
            release.ownership_error(&object("other")).as_deref(),
            Some(
                "invalid ownership metadata; annotation validation error: key \"meta.helm.sh/release-name\" must equal \
                 \"r\": current value is \"other\""
            )
        );
        let missing = release.ownership_error(&json!({})).unwrap();
        assert!(
            missing.starts_with("invalid ownership metadata; label validation error: missing key"),
            "{missing}"
        );
        assert_eq!(missing.matches("missing key").count(), 3);
    }
}
