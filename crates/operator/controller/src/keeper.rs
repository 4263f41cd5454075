//! What objects carry besides what their chart says: whose they are.

use std::collections::BTreeMap;

use podium_deploy::ObjectRef;
use podium_deploy::config_hash;
use podium_deploy::object::Object;
use podium_deploy::plan::{Action, Step};
use podium_meta::Kind;
use podium_release::Release;
use podium_release::engine::ReleaseOwner;
use serde_json::{Map, Value, json};

use crate::card::{self, Held};
use crate::custom::Custom;
use crate::names::{CHART, OBJECTS, PRIMARY, PRIMARY_TYPE, RENDER};

/// The owner of a release's objects.
pub struct Owned<'a> {
    /// The resource.
    pub custom: &'a Custom,
    /// Its kind.
    pub kind: &'a Kind,
    /// The chart's name.
    pub chart: &'a str,
    /// The objects of a revision that nobody has touched since they were applied.
    pub intact: (i64, Vec<Step>),
}

/// What a revision was rendered from when it is made from one that somebody else has made: nothing that is known here.
const FOREIGN: &str = "foreign";

/// The mark of a revision that is made here from an older one. That it was made here shows by its number, whoever has made
/// the older one: a change that is interrupted is then known to be our own.
fn mark_again(mark: Option<&String>, was: i64, is: i64) -> String {
    let known = mark.and_then(|mark| mark.strip_suffix(&format!("-{was}")));
    format!("{}-{is}", known.unwrap_or(FOREIGN))
}

fn child<'v>(value: &'v mut Value, key: &str) -> Option<&'v mut Map<String, Value>> {
    let child = value.as_object_mut()?.entry(key).or_insert(Value::Null);
    if child.is_null() {
        *child = Value::Object(Map::new());
    }
    child.as_object_mut()
}

impl Owned<'_> {
    /// Whether Kubernetes lets the resource own an object: one of the same namespace, or anything if the resource has
    /// no namespace. An object that is to be kept must not go with its owner.
    fn may_own(&self, object: &Object, namespaced: bool) -> bool {
        let policy = "/metadata/annotations/helm.sh~1resource-policy";
        let kept =
            object.body.pointer(policy).and_then(Value::as_str).is_some_and(|policy| policy.trim() == "keep");
        let place = object.object_ref.namespace.as_deref().unwrap_or(self.custom.namespace());
        !kept && (self.custom.namespace().is_empty() || namespaced && place == self.custom.namespace())
    }
}

impl ReleaseOwner for Owned<'_> {
    fn uid(&self) -> &str {
        self.custom.uid()
    }

    fn decorate(&self, objects: &mut [Object], namespaced: &dyn Fn(&Kind) -> bool) {
        config_hash::annotate_pod_templates(objects);
        for object in objects {
            let may_own = self.may_own(object, namespaced(&object.object_ref.kind));
            let Some(metadata) = object.body.get_mut("metadata") else { continue };
            if let Some(labels) = child(metadata, "labels") {
                labels.insert(CHART.to_owned(), self.chart.into());
            }
            if may_own {
                if let Some(metadata) = metadata.as_object_mut() {
                    metadata.insert("ownerReferences".to_owned(), json!([self.custom.reference()]));
                }
            } else if let Some(annotations) = child(metadata, "annotations") {
                let (namespace, name) = (self.custom.namespace(), self.custom.name());
                annotations.insert(PRIMARY.to_owned(), format!("{namespace}/{name}").into());
                let kind = format!("{}.{}", self.kind.kind, self.kind.group);
                annotations.insert(PRIMARY_TYPE.to_owned(), kind.into());
            }
        }
    }

    fn relabel(&self, labels: &mut BTreeMap<String, String>, was: i64, is: i64) {
        let mark = mark_again(labels.get(RENDER), was, is);
        labels.insert(RENDER.to_owned(), mark);
    }

    fn unchanged_step(&self, revision: &Release, object: &ObjectRef) -> Option<Step> {
        let (number, steps) = &self.intact;
        let dressed_alike = revision.labels.get(CHART).is_some_and(|chart| chart == self.chart);
        steps
            .iter()
            .find(|step| *number == revision.revision && dressed_alike && step.object == *object)
            .cloned()
    }

    fn annotations(&self, steps: &[Step]) -> BTreeMap<String, String> {
        let there = |step: &&Step| {
            step.managed_fields_hash != 0 && !matches!(step.action, Action::Delete | Action::Leave)
        };
        let held: Vec<Held> = steps.iter().filter(there).map(Held::of).collect();
        BTreeMap::from([(OBJECTS.to_owned(), card::write(&held))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_made_from_an_older_one_is_known_by_its_number() {
        let of = |mark: &str| mark_again(Some(&mark.to_owned()), 4, 6);
        assert_eq!(of("abc-4"), "abc-6");
        // Somebody else has made it, from ours or without.
        assert_eq!(of("abc-3"), "foreign-6");
        assert_eq!(mark_again(None, 4, 6), "foreign-6");
    }
}
