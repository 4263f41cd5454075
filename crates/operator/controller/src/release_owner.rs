//! The metadata that the operator adds to the objects of a release: owner references, labels and annotations.

use std::collections::BTreeMap;

use podium_deploy::ObjectRef;
use podium_deploy::config_hash;
use podium_deploy::object::Object;
use podium_deploy::plan::{Action, Step};
use podium_meta::GroupVersionKind;
use podium_release::Release;
use podium_release::engine::ReleaseOwner;
use serde_json::{Map, Value, json};

use crate::custom_resource::CustomResource;
use crate::names::{CHART_LABEL, OBJECTS_ANNOTATION, PRIMARY_RESOURCE, PRIMARY_RESOURCE_TYPE, RENDER_LABEL};
use crate::resource_state::{self, AppliedObject};

/// A custom resource as the owner of a release.
pub struct CustomResourceOwner<'a> {
    /// The resource.
    pub custom_resource: &'a CustomResource,
    /// Its kind.
    pub kind: &'a GroupVersionKind,
    /// The name of the chart.
    pub chart_name: &'a str,
    /// A revision and its objects that no other client has changed since they were applied.
    pub intact: (i64, Vec<Step>),
}

/// The digest in the render label of a revision that is made from one of another client: its input is not known.
const FOREIGN: &str = "foreign";

/// The render label of a revision that the operator makes from an older one, such as a rollback. Its own number marks
/// it as the operator's, whichever client made the older one, so that an interrupted change is recovered at once.
fn relabel_render(label: Option<&String>, was: i64, is: i64) -> String {
    let known = label.and_then(|label| label.strip_suffix(&format!("-{was}")));
    format!("{}-{is}", known.unwrap_or(FOREIGN))
}

/// The map under a key of an object, made if it is missing.
fn child_map<'v>(value: &'v mut Value, key: &str) -> Option<&'v mut Map<String, Value>> {
    let child = value.as_object_mut()?.entry(key).or_insert(Value::Null);
    if child.is_null() {
        *child = Value::Object(Map::new());
    }
    child.as_object_mut()
}

impl CustomResourceOwner<'_> {
    /// Whether the resource may be the owner of an object: Kubernetes allows owners of the same namespace and
    /// cluster-scoped ones. Garbage collection must not delete an object with the resource policy `keep`.
    fn may_own(&self, object: &Object, namespaced: bool) -> bool {
        let policy = "/metadata/annotations/helm.sh~1resource-policy";
        let kept =
            object.body.pointer(policy).and_then(Value::as_str).is_some_and(|policy| policy.trim() == "keep");
        let namespace = object.object_ref.namespace.as_deref().unwrap_or(self.custom_resource.namespace());
        !kept
            && (self.custom_resource.namespace().is_empty()
                || namespaced && namespace == self.custom_resource.namespace())
    }
}

impl ReleaseOwner for CustomResourceOwner<'_> {
    fn uid(&self) -> &str {
        self.custom_resource.uid()
    }

    fn decorate(&self, objects: &mut [Object], namespaced: &dyn Fn(&GroupVersionKind) -> bool) {
        config_hash::annotate_pod_templates(objects);
        for object in objects {
            let may_own = self.may_own(object, namespaced(&object.object_ref.kind));
            let Some(metadata) = object.body.get_mut("metadata") else { continue };
            if let Some(labels) = child_map(metadata, "labels") {
                labels.insert(CHART_LABEL.to_owned(), self.chart_name.into());
            }
            if may_own {
                if let Some(metadata) = metadata.as_object_mut() {
                    metadata.insert(
                        "ownerReferences".to_owned(),
                        json!([self.custom_resource.owner_reference()]),
                    );
                }
            } else if let Some(annotations) = child_map(metadata, "annotations") {
                let (namespace, name) = (self.custom_resource.namespace(), self.custom_resource.name());
                annotations.insert(PRIMARY_RESOURCE.to_owned(), format!("{namespace}/{name}").into());
                let kind = format!("{}.{}", self.kind.kind, self.kind.group);
                annotations.insert(PRIMARY_RESOURCE_TYPE.to_owned(), kind.into());
            }
        }
    }

    fn relabel(&self, labels: &mut BTreeMap<String, String>, was: i64, is: i64) {
        let label = relabel_render(labels.get(RENDER_LABEL), was, is);
        labels.insert(RENDER_LABEL.to_owned(), label);
    }

    fn unchanged_step(&self, revision: &Release, object: &ObjectRef) -> Option<Step> {
        let (number, steps) = &self.intact;
        let same_metadata = revision.labels.get(CHART_LABEL).is_some_and(|chart| chart == self.chart_name);
        steps
            .iter()
            .find(|step| *number == revision.revision && same_metadata && step.object == *object)
            .cloned()
    }

    fn annotations(&self, steps: &[Step]) -> BTreeMap<String, String> {
        let exists = |step: &&Step| {
            step.managed_fields_hash != 0 && !matches!(step.action, Action::Delete | Action::Leave)
        };
        let objects: Vec<AppliedObject> = steps.iter().filter(exists).map(AppliedObject::from_step).collect();
        BTreeMap::from([(OBJECTS_ANNOTATION.to_owned(), resource_state::encode_objects(&objects))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relabels_a_revision_with_its_own_number() {
        let relabel = |label: &str| relabel_render(Some(&label.to_owned()), 4, 6);
        assert_eq!(relabel("abc-4"), "abc-6");
        // Another client made it, from a revision of the operator or without.
        assert_eq!(relabel("abc-3"), "foreign-6");
        assert_eq!(relabel_render(None, 4, 6), "foreign-6");
    }
}
