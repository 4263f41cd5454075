//! Whose an object is: the marks that Helm puts on every object of a release.

use serde_json::Value;

use crate::managed_fields::CLIENT_SIDE_MANAGERS;

/// The label that every object of a release has, and its value.
pub const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "Helm");
/// The annotation with the release's name.
pub const RELEASE_NAME: &str = "meta.helm.sh/release-name";
/// The annotation with the release's namespace.
pub const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";

/// A release as the release of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseRef {
    /// The release's name.
    pub name: String,
    /// The release's namespace.
    pub namespace: String,
}

impl ReleaseRef {
    /// Whose an object is, if it is somebody else's. One that a release wrote, and that only lost marks, is still the
    /// release's.
    ///
    /// The one that the release is made for, if there is one, is the `owner_uid` of its objects by a reference.
    pub fn foreign_owner(&self, object: &Value, owner_uid: Option<&str>) -> Option<String> {
        self.ownership_error(object)?;
        let mark = |field: &str, key: &str| object.get("metadata")?.get(field)?.get(key)?.as_str();
        let (name, namespace) = (mark("annotations", RELEASE_NAME), mark("annotations", RELEASE_NAMESPACE));
        let same = |found: Option<&str>, own: &str| found.is_none_or(|found| found == own);
        if !same(name, &self.name) || !same(namespace, &self.namespace) {
            let (name, namespace) = (name.unwrap_or(&self.name), namespace.unwrap_or(&self.namespace));
            return Some(format!("it belongs to the release {name:?} of the namespace {namespace:?}"));
        }
        if let Some(other) = mark("labels", MANAGED_BY.0).filter(|by| *by != MANAGED_BY.1) {
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

    /// Why an object is not this release's, in Helm's words; nothing when it is.
    pub fn ownership_error(&self, object: &Value) -> Option<String> {
        let marks = [
            ("label", "labels", MANAGED_BY.0, MANAGED_BY.1),
            ("annotation", "annotations", RELEASE_NAME, self.name.as_str()),
            ("annotation", "annotations", RELEASE_NAMESPACE, self.namespace.as_str()),
        ];
        let wrong = |(what, field, key, value): (&str, &str, &str, &str)| {
            let marks = object.get("metadata").and_then(|metadata| metadata.get(field));
            let found = marks.and_then(|map| map.get(key)).and_then(Value::as_str);
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
        let all: Vec<String> = marks.into_iter().filter_map(wrong).collect();
        (!all.is_empty()).then(|| format!("invalid ownership metadata; {}", all.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_only_lost_its_marks_is_still_the_releases() {
        let release = ReleaseRef { name: "r".to_owned(), namespace: "n".to_owned() };
        let fields = json!([{"manager": "helm", "operation": "Apply"}]);
        assert_eq!(release.foreign_owner(&json!({"metadata": {"managedFields": fields}}), None), None);
        assert!(release.foreign_owner(&json!({"metadata": {}}), None).is_some());
        // The Helm operator makes objects anew without them.
        let anew = json!([{"manager": "helm-operator", "operation": "Update"}]);
        assert_eq!(release.foreign_owner(&json!({"metadata": {"managedFields": anew}}), None), None);
        // Or only with a reference to what they are made for.
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
    fn all_three_marks_are_needed() {
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
        let nobody = release.ownership_error(&json!({})).unwrap();
        assert!(
            nobody.starts_with("invalid ownership metadata; label validation error: missing key"),
            "{nobody}"
        );
        assert_eq!(nobody.matches("missing key").count(), 3);
    }
}
