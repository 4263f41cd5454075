//! What the status of a namespace says while it ends.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::meta::text;

/// What was found while a namespace was emptied.
#[derive(Debug, Default)]
pub struct Findings {
    /// Why the kinds are not known.
    pub discovery: Option<String>,
    /// Which groups and versions cannot be told apart.
    pub parsing: Option<String>,
    /// What went wrong with the content.
    pub failures: Vec<String>,
    /// How many objects are left of each kind, by `plural.group`.
    pub remaining: BTreeMap<String, usize>,
    /// How many objects each finalizer holds.
    pub finalizers: BTreeMap<String, usize>,
}

/// The types, with the reasons and messages of what is well.
const WELL: [(&str, &str, &str); 5] = [
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    ("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
];

impl Findings {
    /// Whether nothing is left and nothing went wrong.
    pub fn is_empty(&self) -> bool {
        self.remaining.is_empty() && !self.has_failed()
    }

    /// Whether something went wrong.
    pub fn has_failed(&self) -> bool {
        self.discovery.is_some() || self.parsing.is_some() || !self.failures.is_empty()
    }

    /// The reason and the message of a condition that is not well.
    fn wrong(&self, kind: &str) -> Option<(&'static str, String)> {
        let list = |what: &BTreeMap<String, usize>, verb: &str| {
            let mut lines: Vec<String> = what
                .iter()
                .map(|(name, count)| format!("{name} {verb} {count} resource instances"))
                .collect();
            lines.sort();
            lines.join(", ")
        };
        match kind {
            "NamespaceDeletionDiscoveryFailure" => Some(("DiscoveryFailed", self.discovery.clone()?)),
            "NamespaceDeletionGroupVersionParsingFailure" => {
                Some(("GroupVersionParsingFailed", self.parsing.clone()?))
            }
            "NamespaceDeletionContentFailure" if !self.failures.is_empty() => {
                let mut failures = self.failures.clone();
                failures.sort();
                let (count, failures) = (failures.len(), failures.join(", "));
                Some((
                    "ContentDeletionFailed",
                    format!("Failed to delete all resource types, {count} remaining: {failures}"),
                ))
            }
            "NamespaceContentRemaining" if !self.remaining.is_empty() => {
                let list = list(&self.remaining, "has");
                Some(("SomeResourcesRemain", format!("Some resources are remaining: {list}")))
            }
            "NamespaceFinalizersRemaining" if !self.finalizers.is_empty() => {
                let list = list(&self.finalizers, "in");
                let message = format!("Some content in the namespace has finalizers remaining: {list}");
                Some(("SomeFinalizersRemain", message))
            }
            _ => None,
        }
    }

    /// The conditions that follow these, if they are others.
    pub fn conditions(&self, before: &[Value], now: &str) -> Option<Vec<Value>> {
        let mut conditions = before.to_vec();
        let mut changed = false;
        for (kind, reason, message) in WELL {
            let (status, reason, message) = match self.wrong(kind) {
                Some((reason, message)) => ("True", reason, message),
                None => ("False", reason, message.to_owned()),
            };
            let Some(old) = conditions.iter_mut().find(|condition| text(condition, "/type") == kind) else {
                conditions.push(json!({"type": kind, "status": status, "lastTransitionTime": now, "reason": reason, "message": message}));
                changed = true;
                continue;
            };
            let is = |path: &str, value: &str| text(old, path) == value;
            if is("/status", status) && is("/reason", reason) && is("/message", &message) {
                continue;
            }
            changed = true;
            if !is("/status", status) {
                old["lastTransitionTime"] = now.into();
            }
            old["status"] = status.into();
            old["reason"] = reason.into();
            old["message"] = message.into();
        }
        changed.then_some(conditions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(conditions: &[Value]) -> Vec<String> {
        let line = |c: &Value| {
            let texts = ["/type", "/status", "/reason", "/lastTransitionTime"].map(|path| text(c, path));
            texts.join(" ")
        };
        conditions.iter().map(line).collect()
    }

    #[test]
    fn what_is_well_is_said_too_and_times_are_those_of_changes() {
        let mut findings = Findings::default();
        let first = findings.conditions(&[], "1").unwrap();
        assert_eq!(
            short(&first),
            [
                "NamespaceDeletionDiscoveryFailure False ResourcesDiscovered 1",
                "NamespaceDeletionGroupVersionParsingFailure False ParsedGroupVersions 1",
                "NamespaceDeletionContentFailure False ContentDeleted 1",
                "NamespaceContentRemaining False ContentRemoved 1",
                "NamespaceFinalizersRemaining False ContentHasNoFinalizers 1",
            ]
        );
        assert_eq!(findings.conditions(&first, "2"), None);
        findings.remaining = BTreeMap::from([("configmaps.".to_owned(), 2), ("as.x.io".to_owned(), 1)]);
        findings.finalizers = BTreeMap::from([("x/y".to_owned(), 3)]);
        let second = findings.conditions(&first, "2").unwrap();
        assert_eq!(
            &short(&second)[2..],
            [
                "NamespaceDeletionContentFailure False ContentDeleted 1",
                "NamespaceContentRemaining True SomeResourcesRemain 2",
                "NamespaceFinalizersRemaining True SomeFinalizersRemain 2",
            ]
        );
        assert_eq!(
            second[3]["message"],
            "Some resources are remaining: as.x.io has 1 resource instances, configmaps. has 2 resource instances"
        );
        assert_eq!(
            second[4]["message"],
            "Some content in the namespace has finalizers remaining: x/y in 3 resource instances"
        );
        findings.remaining = BTreeMap::from([("configmaps.".to_owned(), 1)]);
        let third = findings.conditions(&second, "3").unwrap();
        assert_eq!(third[3]["message"], "Some resources are remaining: configmaps. has 1 resource instances");
        assert_eq!(third[3]["lastTransitionTime"], "2");
    }

    #[test]
    fn failures_are_counted_and_sorted_and_other_conditions_stay() {
        let findings = Findings { failures: vec!["b".to_owned(), "a".to_owned()], ..Findings::default() };
        let own = json!({"type": "Mine", "status": "True"});
        let conditions = findings.conditions(std::slice::from_ref(&own), "1").unwrap();
        assert_eq!((conditions.len(), &conditions[0]), (6, &own));
        assert_eq!(conditions[3]["message"], "Failed to delete all resource types, 2 remaining: a, b");
        assert!(findings.has_failed() && !findings.is_empty());
    }
}
