//! A custom resource whose spec is the values of a chart.

use std::collections::BTreeMap;
use std::time::Duration;

use podium_client::ObjectKey;
use podium_sprig::gotime;
use serde_json::{Map, Value, json};

use crate::names::{ANNOTATION_PREFIX, FINALIZERS};

/// A custom resource.
#[derive(Clone, Debug)]
pub struct CustomResource(pub Value);

/// The options of reconciles that a resource sets by annotations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReconcileOptions {
    /// Installs without hooks.
    pub install_disable_hooks: bool,
    /// Upgrades without hooks.
    pub upgrade_disable_hooks: bool,
    /// Uninstalls without hooks.
    pub uninstall_disable_hooks: bool,
    /// Waits until all objects are gone before the finalizer is removed.
    pub uninstall_wait: bool,
    /// The description of the first revision.
    pub install_description: String,
    /// The description of later revisions.
    pub upgrade_description: String,
    /// How often the resource is reconciled without an event.
    pub reconcile_period: Option<Duration>,
}

impl CustomResource {
    fn text(&self, path: &str) -> &str {
        self.0.pointer(path).and_then(Value::as_str).unwrap_or_default()
    }

    fn map(&self, path: &str) -> Option<&Map<String, Value>> {
        self.0.pointer(path).and_then(Value::as_object)
    }

    /// Its namespace and name.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::from_object(&self.0)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    /// Its namespace; empty for a cluster-scoped resource.
    pub fn namespace(&self) -> &str {
        self.text("/metadata/namespace")
    }

    /// Its uid.
    pub fn uid(&self) -> &str {
        self.text("/metadata/uid")
    }

    /// Its resource version.
    pub fn resource_version(&self) -> &str {
        self.text("/metadata/resourceVersion")
    }

    /// Its resource version as a number; 0 when it has none.
    pub fn resource_version_number(&self) -> u64 {
        self.resource_version().parse().unwrap_or(0)
    }

    /// Its generation, which counts changes of its spec.
    pub fn generation(&self) -> i64 {
        self.0.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0)
    }

    /// Its creation timestamp, in seconds since 1970.
    pub fn creation_seconds(&self) -> f64 {
        let time = self.text("/metadata/creationTimestamp").parse::<jiff::Timestamp>();
        time.map_or(0.0, |time| time.as_second() as f64)
    }

    /// Whether it has a deletion timestamp.
    pub fn is_being_deleted(&self) -> bool {
        self.0.pointer("/metadata/deletionTimestamp").is_some()
    }

    /// Its labels.
    pub fn labels(&self) -> BTreeMap<String, String> {
        let pairs = self.map("/metadata/labels").into_iter().flatten();
        pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
    }

    /// Its spec; `None` when that is not a map. A missing spec is empty, because API servers drop an empty one that is
    /// applied.
    pub fn spec(&self) -> Option<Map<String, Value>> {
        match self.0.get("spec") {
            None | Some(Value::Null) => Some(Map::new()),
            Some(spec) => spec.as_object().cloned(),
        }
    }

    /// Its status.
    pub fn status(&self) -> Value {
        self.0.get("status").cloned().unwrap_or_else(|| json!({}))
    }

    /// Its finalizers.
    pub fn finalizers(&self) -> Vec<&str> {
        let list = self.0.pointer("/metadata/finalizers").and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Whether it has a finalizer of the operator.
    pub fn has_finalizer(&self) -> bool {
        self.finalizers().iter().any(|name| FINALIZERS.contains(name))
    }

    /// The owner reference of the objects that it owns.
    pub fn owner_reference(&self) -> Value {
        json!({"apiVersion": self.text("/apiVersion"), "kind": self.text("/kind"), "name": self.name(),
            "uid": self.uid(), "controller": true, "blockOwnerDeletion": true})
    }

    /// The options in its annotations; an invalid duration is an error.
    pub fn reconcile_options(&self) -> Result<ReconcileOptions, String> {
        let annotations = self.map("/metadata/annotations");
        let text = |name: &str| {
            let key = format!("{ANNOTATION_PREFIX}{name}");
            annotations.and_then(|map| map.get(&key)).and_then(Value::as_str).unwrap_or_default()
        };
        let on = |name: &str| matches!(text(name), "1" | "t" | "T" | "true" | "TRUE" | "True");
        let reconcile_period = match text("reconcile-period") {
            "" => None,
            period => {
                let parsed = gotime::Duration::parse(period).map_err(|e| {
                    format!(
                        "the annotation {ANNOTATION_PREFIX}reconcile-period is no duration: {e}; write 90s, 5m or 1h"
                    )
                })?;
                Some(Duration::from_nanos(u64::try_from(parsed.nanoseconds()).unwrap_or(0)))
            }
        };
        Ok(ReconcileOptions {
            install_disable_hooks: on("install-disable-hooks"),
            upgrade_disable_hooks: on("upgrade-disable-hooks"),
            uninstall_disable_hooks: on("uninstall-disable-hooks"),
            uninstall_wait: on("uninstall-wait"),
            install_description: text("install-description").to_owned(),
            upgrade_description: text("upgrade-description").to_owned(),
            reconcile_period,
        })
    }

    /// A hash of the desired state: everything that a reconcile depends on except the status.
    pub fn spec_hash(&self) -> u64 {
        let parts = [
            self.0.get("spec").map(ToString::to_string),
            self.0.pointer("/metadata/annotations").map(ToString::to_string),
            self.0.pointer("/metadata/finalizers").map(ToString::to_string),
            self.0.pointer("/metadata/deletionTimestamp").map(ToString::to_string),
            Some(self.uid().to_owned()),
        ];
        let text = parts.map(Option::unwrap_or_default).join("\u{0}");
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_options_from_annotations() {
        let cr = |key: &str, value: &str| {
            CustomResource(json!({"metadata": {"annotations": {format!("{ANNOTATION_PREFIX}{key}"): value}}}))
        };
        assert!(cr("uninstall-wait", "t").reconcile_options().unwrap().uninstall_wait);
        assert!(!cr("uninstall-wait", "yes").reconcile_options().unwrap().uninstall_wait);
        let period = cr("reconcile-period", "1m30s").reconcile_options().unwrap().reconcile_period;
        assert_eq!(period, Some(Duration::from_secs(90)));
        let error = cr("reconcile-period", "soon").reconcile_options().unwrap_err();
        assert!(error.contains("reconcile-period"));
    }

    #[test]
    fn spec_hash_ignores_the_status() {
        let mut cr = CustomResource(json!({"metadata": {"uid": "u"}, "spec": {"a": 1}, "status": {"x": 1}}));
        let before = cr.spec_hash();
        cr.0["status"] = json!({"x": 2});
        assert_eq!(cr.spec_hash(), before);
        cr.0["spec"] = json!({"a": 2});
        assert_ne!(cr.spec_hash(), before);
    }
}
