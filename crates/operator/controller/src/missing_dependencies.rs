//! The dependencies that are missing for the operator to work, as a metric and as Events about the operator's Lease.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use podium_client::watch::{WatchFailure, WatchFailureKind};
use podium_controller::events::{EventRecorder, EventType, ObjectReference};
use podium_meta::GroupVersionKind;
use podium_serve::Registry;
use podium_serve::metrics::Gauge;

/// A dependency that can be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dependency {
    /// The CRD of a kind.
    Crd,
    /// A permission (RBAC).
    Permission,
    /// A chart that can be loaded.
    Chart,
    /// A namespace.
    Namespace,
}

impl Dependency {
    fn label_value(self) -> &'static str {
        match self {
            Dependency::Crd => "crd",
            Dependency::Permission => "permission",
            Dependency::Chart => "chart",
            Dependency::Namespace => "namespace",
        }
    }

    /// The dependency that an error message of the API server reports as missing.
    pub fn from_message(message: &str) -> Option<Self> {
        let namespace = message.split("namespaces \"").nth(1).and_then(|rest| rest.split_once('"'));
        if message.contains("is forbidden: User ") {
            Some(Dependency::Permission)
        } else if namespace.is_some_and(|(_, after)| after.starts_with(" not found")) {
            Some(Dependency::Namespace)
        } else if message.contains("no matches for kind") {
            Some(Dependency::Crd)
        } else {
            None
        }
    }
}

/// All dependencies that are missing now.
pub struct MissingDependencies {
    gauge: Gauge,
    recorder: EventRecorder,
    /// The operator's Lease, which the Events are about.
    lease: ObjectReference,
    /// By kind and dependency: the watches and resources that wait for it.
    waiting: RefCell<BTreeMap<(String, Dependency), BTreeSet<String>>>,
    /// The kinds that cannot be watched, and why.
    unwatched: RefCell<BTreeMap<GroupVersionKind, String>>,
}

impl MissingDependencies {
    /// Nothing is missing; Events are about `lease`.
    pub fn new(registry: &Registry, recorder: EventRecorder, lease: ObjectReference) -> Self {
        let help = "How many watches and resources of a kind wait for a missing dependency.";
        let gauge = registry.gauge("podium_missing", help, &["kind", "what"]);
        Self { gauge, recorder, lease, waiting: RefCell::default(), unwatched: RefCell::default() }
    }

    /// Sets the dependency that a watch or resource waits for, in place of the one before.
    pub fn set(&self, kind: &GroupVersionKind, waiter: &str, dependency: Option<Dependency>) {
        let kind = kind.to_string();
        let mut waiting = self.waiting.borrow_mut();
        for other in [Dependency::Crd, Dependency::Permission, Dependency::Chart, Dependency::Namespace] {
            let at = (kind.clone(), other);
            if dependency == Some(other) {
                waiting.entry(at.clone()).or_default().insert(waiter.to_owned());
            } else if !waiting.get_mut(&at).is_some_and(|all| all.remove(waiter)) {
                continue;
            }
            let labels = [kind.as_str(), other.label_value()];
            match waiting.get(&at).map_or(0, BTreeSet::len) {
                0 => {
                    waiting.remove(&at);
                    self.gauge.remove(&labels);
                }
                count => self.gauge.set(&labels, count as f64),
            }
        }
    }

    /// Records that the watch of a kind in a namespace fails.
    pub fn watch_failed(&self, kind: &GroupVersionKind, namespace: &str, failure: &WatchFailure) {
        let dependency = match failure.kind {
            WatchFailureKind::Forbidden => Some(Dependency::Permission),
            WatchFailureKind::NotFound => Some(Dependency::Crd),
            _ => None,
        };
        self.set(kind, &format!("watch {namespace}"), dependency);
        if dependency.is_some() {
            let message = format!("{kind} cannot be watched: {}", failure.message);
            self.recorder.record(&self.lease, EventType::Warning, "CannotWatch", &message);
            self.unwatched.borrow_mut().insert(kind.clone(), message);
        }
    }

    /// Records that the watch of a kind in a namespace works again.
    pub fn watch_recovered(&self, kind: &GroupVersionKind, namespace: &str) {
        self.set(kind, &format!("watch {namespace}"), None);
        self.unwatched.borrow_mut().remove(kind);
    }

    /// Why some of these kinds cannot be watched; `None` when all can.
    pub fn unwatched<'k>(&self, kinds: impl Iterator<Item = &'k GroupVersionKind>) -> Option<String> {
        let unwatched = self.unwatched.borrow();
        let lines: BTreeSet<&String> = kinds.filter_map(|kind| unwatched.get(kind)).collect();
        let lines: Vec<&str> = lines.into_iter().map(String::as_str).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_waiters_until_the_dependency_exists() {
        let registry = Registry::default();
        let missing = MissingDependencies::new(
            &registry,
            EventRecorder::new("c", "i"),
            ObjectReference::from_object(&json!({})),
        );
        let kind = GroupVersionKind::new("a.dev/v1", "Thing");
        let line = |what: &str| {
            let begin = format!("podium_missing{{kind=\"a.dev/v1/Thing\",what=\"{what}\"}} ");
            registry.encode_text().lines().find_map(|line| line.strip_prefix(&begin).map(str::to_owned))
        };
        missing.set(&kind, "n/a", Some(Dependency::Permission));
        missing.set(&kind, "n/b", Some(Dependency::Permission));
        assert_eq!((line("permission").as_deref(), line("crd")), (Some("2"), None));
        missing.set(&kind, "n/a", Some(Dependency::Namespace));
        assert_eq!((line("permission").as_deref(), line("namespace").as_deref()), (Some("1"), Some("1")));
        missing.set(&kind, "n/a", None);
        missing.set(&kind, "n/b", None);
        assert_eq!((line("permission"), line("namespace")), (None, None));
        let failure = WatchFailure { kind: WatchFailureKind::Forbidden, message: "no".to_owned() };
        missing.watch_failed(&kind, "n", &failure);
        assert_eq!(line("permission").as_deref(), Some("1"));
        assert!(missing.unwatched([&kind].into_iter()).unwrap().contains("no"));
        missing.watch_recovered(&kind, "n");
        assert!(missing.unwatched([&kind].into_iter()).is_none() && line("permission").is_none());
    }

    #[test]
    fn reads_the_dependency_from_error_messages() {
        for (message, dependency) in [
            (
                "the server refuses it: configmaps \"a\" is forbidden: User \"x\" cannot patch",
                Some(Dependency::Permission),
            ),
            ("secrets \"a\" is forbidden: exceeded quota", None),
            (
                "v1/ConfigMap far/a: the server refuses it: namespaces \"far\" not found",
                Some(Dependency::Namespace),
            ),
            ("namespaces \"far\" is being terminated; \"x\" not found", None),
            ("no matches for kind \"Own\" in version \"a.dev/v1\"", Some(Dependency::Crd)),
            ("something else", None),
        ] {
            assert_eq!(Dependency::from_message(message), dependency, "{message}");
        }
    }
}
