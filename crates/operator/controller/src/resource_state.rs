//! The state of a custom resource between reconciles, in memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use podium_deploy::ObjectRef;
use podium_deploy::plan::Step;
use podium_deploy::wait::Readiness;
use serde_json::{Value, json};

/// The state of a custom resource.
#[derive(Clone, Debug, Default)]
pub struct ResourceState {
    /// The hash of its desired state, [`spec_hash`](crate::custom_resource::CustomResource::spec_hash).
    pub spec_hash: u64,
    /// Its latest observed `resourceVersion`.
    pub version: u64,
    /// Its labels, which decide which operator is responsible for it.
    pub labels: BTreeMap<String, String>,
    /// The spec hash that the running reconcile works on.
    pub reconciling_hash: u64,
    /// Counts changes of inputs outside of its spec: its release record and the sources of its values.
    pub input_generation: u64,
    /// Its latest observed status.
    pub status: Value,
    /// The result of the last successful sync.
    pub last_applied: Option<LastApplied>,
    /// The resource as the informer delivered it, until the next sync uses it.
    pub object: Option<Box<Value>>,
    /// Whether its last render needed the slow lane of the CPU pool.
    pub renders_slowly: Arc<AtomicBool>,
}

/// The result of a sync: the inputs that were applied and the objects that they became.
#[derive(Clone, Debug, Default)]
pub struct LastApplied {
    /// The hash of the desired state.
    pub spec_hash: u64,
    /// The `metadata.generation` of the resource.
    pub generation: i64,
    /// The digest of the chart.
    pub chart_digest: String,
    /// The resource versions of the Secrets and ConfigMaps in `valuesFrom`.
    pub source_versions: Vec<String>,
    /// The revision of the release.
    pub revision: i64,
    /// The objects of the release.
    pub objects: Vec<AppliedObject>,
    /// The reason and message of the condition `Deployed`.
    pub deployed: (String, String),
    /// The warnings in the status.
    pub warnings: Vec<String>,
    /// The input generation of the resource.
    pub input_generation: u64,
    /// How many readiness checks in a row found no change.
    pub readiness_checks: u32,
    /// The reconcile period of the resource's annotation.
    pub reconcile_period: Option<Duration>,
}

/// An object of a release as it was last applied.
#[derive(Clone, Debug)]
pub struct AppliedObject {
    /// The object.
    pub object: ObjectRef,
    /// The signature of the fields that the release owns.
    pub signature: u64,
    /// The resource version since which the signature holds; 0 when it comes from a release record.
    pub version: u64,
    /// The last resource version of the object when another client deleted it.
    pub deleted_at_version: Option<u64>,
    /// Its readiness, and the resource version that it was read from.
    pub readiness: Option<(u64, Readiness)>,
    /// Fields that are left to other field managers.
    pub left_to_others: Vec<String>,
}

impl AppliedObject {
    /// The object after a step of a plan was applied.
    pub fn from_step(step: &Step) -> Self {
        Self {
            object: step.object.clone(),
            signature: step.managed_fields_hash,
            version: step.resource_version,
            deleted_at_version: None,
            readiness: step.readiness.clone().map(|sight| (step.resource_version, sight)),
            left_to_others: step.notes.clone(),
        }
    }

    /// The object after a repair. A deletion that was observed while the repair was running still counts.
    pub fn reapplied(&self, step: &Step) -> Self {
        Self {
            deleted_at_version: self.deleted_at_version.filter(|version| *version >= step.resource_version),
            ..Self::from_step(step)
        }
    }
}

/// Carries deletions over from the `previous` state that were observed after the objects were applied but before their
/// new state was stored.
pub fn carry_over_deletions(objects: &mut [AppliedObject], previous: &[AppliedObject]) {
    for applied in objects {
        let before = previous.iter().find(|before| before.object == applied.object);
        let deleted =
            before.and_then(|before| before.deleted_at_version).filter(|version| *version >= applied.version);
        applied.deleted_at_version = applied.deleted_at_version.max(deleted);
    }
}

/// Encodes the objects of a release for an annotation of its record, so that a restarted operator need not read them.
pub fn encode_objects(objects: &[AppliedObject]) -> String {
    let line = |applied: &AppliedObject| {
        let ObjectRef { kind, namespace, name, .. } = &applied.object;
        json!([kind.api_version(), kind.kind, namespace, name, format!("{:x}", applied.signature)])
    };
    let named = objects.iter().filter(|applied| !applied.object.name.is_empty());
    Value::Array(named.map(line).collect()).to_string()
}

/// Decodes the annotation; `None` when it is malformed.
pub fn decode_objects(line: &str) -> Option<Vec<AppliedObject>> {
    let Ok(Value::Array(items)) = serde_json::from_str(line) else { return None };
    let decode = |item: &Value| {
        let text = |at: usize| item.get(at).and_then(Value::as_str);
        Some(AppliedObject {
            object: ObjectRef {
                kind: podium_meta::GroupVersionKind::new(text(0)?, text(1)?),
                namespace: text(2).map(str::to_owned),
                name: text(3)?.to_owned(),
                generate_name: String::new(),
            },
            signature: u64::from_str_radix(text(4)?, 16).ok()?,
            version: 0,
            deleted_at_version: None,
            readiness: None,
            left_to_others: Vec::new(),
        })
    };
    items.iter().map(decode).collect()
}

#[cfg(test)]
mod tests {
    use podium_meta::GroupVersionKind;

    use super::*;

    #[test]
    fn keeps_deletions_that_happen_during_a_repair() {
        let named = ObjectRef {
            kind: GroupVersionKind::new("v1", "ConfigMap"),
            namespace: Some("a".to_owned()),
            name: "b".to_owned(),
            generate_name: String::new(),
        };
        let step = Step {
            object: named.clone(),
            action: podium_deploy::plan::Action::Keep,
            notes: Vec::new(),
            managed_fields_hash: 1,
            resource_version: 7,
            readiness: None,
        };
        let before = |deleted_at_version| AppliedObject {
            object: named.clone(),
            signature: 1,
            version: 5,
            deleted_at_version,
            readiness: None,
            left_to_others: Vec::new(),
        };
        assert_eq!(before(Some(6)).reapplied(&step).deleted_at_version, None);
        assert_eq!(before(Some(8)).reapplied(&step).deleted_at_version, Some(8));
        assert_eq!(before(None).reapplied(&step).deleted_at_version, None);
    }

    #[test]
    fn decodes_what_it_encodes() {
        let named = |namespace: Option<&str>, name: &str| ObjectRef {
            kind: GroupVersionKind::new("apps/v1", "Deployment"),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
            generate_name: String::new(),
        };
        let applied = |object| AppliedObject {
            object,
            signature: u64::MAX - 3,
            version: 0,
            deleted_at_version: None,
            readiness: None,
            left_to_others: Vec::new(),
        };
        let before = [applied(named(Some("n"), "a")), applied(named(None, "b"))];
        let after = decode_objects(&encode_objects(&before)).unwrap();
        let essence = |applied: &AppliedObject| (applied.object.clone(), applied.signature);
        assert_eq!(
            before.iter().map(essence).collect::<Vec<_>>(),
            after.iter().map(essence).collect::<Vec<_>>()
        );
        assert!(decode_objects("no").is_none() && decode_objects("[[1]]").is_none());
    }
}
