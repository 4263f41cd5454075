//! A custom resource as the operator sees it.

use std::collections::BTreeMap;
use std::time::Duration;

use podium_client::ObjectKey;
use podium_sprig::gotime;
use serde_json::{Map, Value, json};

use crate::names::{ANNOTATIONS, FINALIZERS};

/// A custom resource.
#[derive(Clone, Debug)]
pub struct Custom(pub Value);

/// What the annotations of a resource say about how it is handled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// No hooks when it is installed.
    pub install_without_hooks: bool,
    /// No hooks when it is upgraded.
    pub upgrade_without_hooks: bool,
    /// No hooks when it is uninstalled.
    pub uninstall_without_hooks: bool,
    /// Its objects are gone before it is.
    pub uninstall_wait: bool,
    /// For the history.
    pub install_description: String,
    /// For the history.
    pub upgrade_description: String,
    /// How often it is looked at even if nothing happens.
    pub period: Option<Duration>,
}

impl Custom {
    fn text(&self, path: &str) -> &str {
        self.0.pointer(path).and_then(Value::as_str).unwrap_or_default()
    }

    fn map(&self, path: &str) -> Option<&Map<String, Value>> {
        self.0.pointer(path).and_then(Value::as_object)
    }

    /// Which one it is.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::from_object(&self.0)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    /// Its namespace; empty for one of the whole cluster.
    pub fn namespace(&self) -> &str {
        self.text("/metadata/namespace")
    }

    /// Its uid.
    pub fn uid(&self) -> &str {
        self.text("/metadata/uid")
    }

    /// Its version as a number; 0 when it has none.
    pub fn number(&self) -> u64 {
        self.version().parse().unwrap_or(0)
    }

    /// Its version.
    pub fn version(&self) -> &str {
        self.text("/metadata/resourceVersion")
    }

    /// How often its wish has changed.
    pub fn generation(&self) -> i64 {
        self.0.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0)
    }

    /// When it was made, in seconds since 1970.
    pub fn created(&self) -> f64 {
        let time = self.text("/metadata/creationTimestamp").parse::<jiff::Timestamp>();
        time.map_or(0.0, |time| time.as_second() as f64)
    }

    /// Whether it is being deleted.
    pub fn is_deleted(&self) -> bool {
        self.0.pointer("/metadata/deletionTimestamp").is_some()
    }

    /// Its labels.
    pub fn labels(&self) -> BTreeMap<String, String> {
        let pairs = self.map("/metadata/labels").into_iter().flatten();
        pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
    }

    /// What it wants; nothing when that is no map. Who applies an empty spec may find that the server has dropped it.
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

    /// The finalizers.
    pub fn finalizers(&self) -> Vec<&str> {
        let list = self.0.pointer("/metadata/finalizers").and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Whether one of the finalizers is the operator's.
    pub fn is_held(&self) -> bool {
        self.finalizers().iter().any(|name| FINALIZERS.contains(name))
    }

    /// The reference that makes it the owner of an object.
    pub fn reference(&self) -> Value {
        json!({"apiVersion": self.text("/apiVersion"), "kind": self.text("/kind"), "name": self.name(),
            "uid": self.uid(), "controller": true, "blockOwnerDeletion": true})
    }

    /// What its annotations say; a duration that is none is an error.
    pub fn wishes(&self) -> Result<Wishes, String> {
        let annotations = self.map("/metadata/annotations");
        let text = |name: &str| {
            let key = format!("{ANNOTATIONS}{name}");
            annotations.and_then(|map| map.get(&key)).and_then(Value::as_str).unwrap_or_default()
        };
        let on = |name: &str| matches!(text(name), "1" | "t" | "T" | "true" | "TRUE" | "True");
        let period = match text("reconcile-period") {
            "" => None,
            said => {
                let parsed = gotime::Duration::parse(said).map_err(|e| {
                    format!("the annotation {ANNOTATIONS}reconcile-period is no duration: {e}; write 90s, 5m or 1h")
                })?;
                Some(Duration::from_nanos(u64::try_from(parsed.nanoseconds()).unwrap_or(0)))
            }
        };
        Ok(Wishes {
            install_without_hooks: on("install-disable-hooks"),
            upgrade_without_hooks: on("upgrade-disable-hooks"),
            uninstall_without_hooks: on("uninstall-disable-hooks"),
            uninstall_wait: on("uninstall-wait"),
            install_description: text("install-description").to_owned(),
            upgrade_description: text("upgrade-description").to_owned(),
            period,
        })
    }

    /// Everything that a reconcile depends on, but for the resource's status.
    pub fn wish(&self) -> u64 {
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
    fn annotations_are_wishes() {
        let custom = |key: &str, value: &str| {
            Custom(json!({"metadata": {"annotations": {format!("{ANNOTATIONS}{key}"): value}}}))
        };
        assert!(custom("uninstall-wait", "t").wishes().unwrap().uninstall_wait);
        assert!(!custom("uninstall-wait", "yes").wishes().unwrap().uninstall_wait);
        let period = custom("reconcile-period", "1m30s").wishes().unwrap().period;
        assert_eq!(period, Some(Duration::from_secs(90)));
        assert!(custom("reconcile-period", "soon").wishes().unwrap_err().contains("reconcile-period"));
    }

    #[test]
    fn a_status_is_no_wish() {
        let mut custom = Custom(json!({"metadata": {"uid": "u"}, "spec": {"a": 1}, "status": {"x": 1}}));
        let before = custom.wish();
        custom.0["status"] = json!({"x": 2});
        assert_eq!(custom.wish(), before);
        custom.0["spec"] = json!({"a": 2});
        assert_ne!(custom.wish(), before);
    }
}
