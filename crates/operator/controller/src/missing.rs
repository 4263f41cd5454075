//! What is missing so that an operator can do its work: told by a metric, and by Events where no resource can say it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use podium_client::watch::{WatchFailure, WatchFailureKind};
use podium_controller::events::{EventRecorder, EventType, ObjectReference};
use podium_meta::Kind;
use podium_serve::Registry;
use podium_serve::metrics::Gauge;

/// What can be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The definition of a kind.
    Crd,
    /// A right.
    Permission,
    /// A chart that can be used.
    Chart,
    /// A namespace.
    Namespace,
}

impl What {
    fn word(self) -> &'static str {
        match self {
            What::Crd => "crd",
            What::Permission => "permission",
            What::Chart => "chart",
            What::Namespace => "namespace",
        }
    }

    /// What a server, or whoever passes its words on, says is missing.
    pub fn of(message: &str) -> Option<Self> {
        let namespace = message.split("namespaces \"").nth(1).and_then(|rest| rest.split_once('"'));
        if message.contains("is forbidden: User ") {
            Some(What::Permission)
        } else if namespace.is_some_and(|(_, after)| after.starts_with(" not found")) {
            Some(What::Namespace)
        } else if message.contains("no matches for kind") {
            Some(What::Crd)
        } else {
            None
        }
    }
}

/// All that is missing now.
pub struct Missing {
    gauge: Gauge,
    recorder: EventRecorder,
    /// What Events are about that no resource can be told of.
    about: ObjectReference,
    /// By the kind and what it is: who misses it.
    found: RefCell<BTreeMap<(String, What), BTreeSet<String>>>,
    /// The kinds whose objects cannot be watched, and why.
    unwatched: RefCell<BTreeMap<Kind, String>>,
}

impl Missing {
    /// Nothing yet.
    pub fn new(registry: &Registry, recorder: EventRecorder, about: ObjectReference) -> Self {
        let help = "What is missing for a kind: how many watches and resources wait for it.";
        let gauge = registry.gauge("podium_missing", help, &["kind", "what"]);
        Self { gauge, recorder, about, found: RefCell::default(), unwatched: RefCell::default() }
    }

    /// Somebody misses something; what it missed before does not count any more.
    pub fn set(&self, kind: &Kind, who: &str, what: Option<What>) {
        let kind = kind.to_string();
        let mut found = self.found.borrow_mut();
        for other in [What::Crd, What::Permission, What::Chart, What::Namespace] {
            let at = (kind.clone(), other);
            if what == Some(other) {
                found.entry(at.clone()).or_default().insert(who.to_owned());
            } else if !found.get_mut(&at).is_some_and(|all| all.remove(who)) {
                continue;
            }
            let labels = [kind.as_str(), other.word()];
            match found.get(&at).map_or(0, BTreeSet::len) {
                0 => {
                    found.remove(&at);
                    self.gauge.remove(&labels);
                }
                count => self.gauge.set(&labels, count as f64),
            }
        }
    }

    /// A watch hears nothing.
    pub fn trouble(&self, kind: &Kind, place: &str, trouble: &WatchFailure) {
        let what = match trouble.kind {
            WatchFailureKind::Forbidden => Some(What::Permission),
            WatchFailureKind::NotFound => Some(What::Crd),
            _ => None,
        };
        self.set(kind, &format!("watch {place}"), what);
        if what.is_some() {
            let message = format!("{kind} cannot be watched: {}", trouble.message);
            self.recorder.record(&self.about, EventType::Warning, "CannotWatch", &message);
            self.unwatched.borrow_mut().insert(kind.clone(), message);
        }
    }

    /// A watch hears again.
    pub fn well(&self, kind: &Kind, place: &str) {
        self.set(kind, &format!("watch {place}"), None);
        self.unwatched.borrow_mut().remove(kind);
    }

    /// Why objects of some kinds are not watched, if there are such.
    pub fn unwatched<'k>(&self, kinds: impl Iterator<Item = &'k Kind>) -> Option<String> {
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
    fn what_is_missing_is_counted_until_it_is_there() {
        let registry = Registry::default();
        let missing =
            Missing::new(&registry, EventRecorder::new("c", "i"), ObjectReference::from_object(&json!({})));
        let kind = Kind::new("a.dev/v1", "Thing");
        let line = |what: &str| {
            let begin = format!("podium_missing{{kind=\"a.dev/v1/Thing\",what=\"{what}\"}} ");
            registry.encode_text().lines().find_map(|line| line.strip_prefix(&begin).map(str::to_owned))
        };
        missing.set(&kind, "n/a", Some(What::Permission));
        missing.set(&kind, "n/b", Some(What::Permission));
        assert_eq!((line("permission").as_deref(), line("crd")), (Some("2"), None));
        missing.set(&kind, "n/a", Some(What::Namespace));
        assert_eq!((line("permission").as_deref(), line("namespace").as_deref()), (Some("1"), Some("1")));
        missing.set(&kind, "n/a", None);
        missing.set(&kind, "n/b", None);
        assert_eq!((line("permission"), line("namespace")), (None, None));
        let trouble = WatchFailure { kind: WatchFailureKind::Forbidden, message: "no".to_owned() };
        missing.trouble(&kind, "n", &trouble);
        assert_eq!(line("permission").as_deref(), Some("1"));
        assert!(missing.unwatched([&kind].into_iter()).unwrap().contains("no"));
        missing.well(&kind, "n");
        assert!(missing.unwatched([&kind].into_iter()).is_none() && line("permission").is_none());
    }

    #[test]
    fn words_of_a_server_say_what_is_missing() {
        for (message, what) in [
            (
                "the server refuses it: configmaps \"a\" is forbidden: User \"x\" cannot patch",
                Some(What::Permission),
            ),
            ("secrets \"a\" is forbidden: exceeded quota", None),
            (
                "v1/ConfigMap far/a: the server refuses it: namespaces \"far\" not found",
                Some(What::Namespace),
            ),
            ("namespaces \"far\" is being terminated; \"x\" not found", None),
            ("no matches for kind \"Own\" in version \"a.dev/v1\"", Some(What::Crd)),
            ("something else", None),
        ] {
            assert_eq!(What::of(message), what, "{message}");
        }
    }
}
