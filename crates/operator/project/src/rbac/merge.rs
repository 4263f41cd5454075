//! Rules taken apart into single grants, and put together into few.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// A rule that means more single grants than this stays as it is.
const MAX_GRANTS: usize = 4096;

const ANY: &str = "*";

/// A set of names.
pub type Names = BTreeSet<String>;

/// Names as a set.
pub fn all<'a>(names: impl IntoIterator<Item = &'a str>) -> Names {
    names.into_iter().map(str::to_owned).collect()
}

/// One rule of a role; everything sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// API groups; the core group is empty.
    pub groups: Names,
    /// Resources by their plural names, subresources behind a slash.
    pub resources: Names,
    /// The names of the objects; none means all.
    pub names: Names,
    /// Addresses that are no resources.
    pub urls: Names,
    /// What may be done.
    pub verbs: Names,
}

const FIELDS: [&str; 5] = ["apiGroups", "resources", "resourceNames", "nonResourceURLs", "verbs"];

impl Rule {
    /// A rule of a rendered role; what is no text in it is ignored.
    pub fn read(rule: &Value) -> Self {
        let [groups, resources, names, urls, verbs] =
            FIELDS.map(|field| all(rule[field].as_array().into_iter().flatten().filter_map(Value::as_str)));
        Self { groups, resources, names, urls, verbs }
    }

    /// As it is written in a role.
    pub fn to_json(&self) -> Value {
        let lists = [&self.groups, &self.resources, &self.names, &self.urls, &self.verbs];
        let mut rule = Map::new();
        for (field, list) in FIELDS.iter().zip(lists) {
            if !list.is_empty() {
                rule.insert((*field).to_owned(), list.iter().cloned().collect());
            }
        }
        Value::Object(rule)
    }
}

/// What one verb may be done to: objects of these names (none means all) of a resource.
type Target = (String, String, Names);

/// Grants that are collected.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    single: BTreeMap<Target, Names>,
    whole: BTreeSet<Rule>,
}

impl Grants {
    /// Adds a rule.
    pub fn add(&mut self, rule: Rule) {
        let count = rule.groups.len().saturating_mul(rule.resources.len()).saturating_mul(rule.verbs.len());
        if !rule.urls.is_empty() || count > MAX_GRANTS {
            self.whole.insert(rule);
            return;
        }
        for group in &rule.groups {
            for resource in &rule.resources {
                let target = (group.clone(), resource.clone(), rule.names.clone());
                self.single.entry(target).or_default().extend(rule.verbs.iter().cloned());
            }
        }
    }

    /// Whether a verb on a target is allowed by another, wider grant.
    fn covers(&self, target: &Target, verb: &str, itself: bool) -> bool {
        let (group, resource, names) = target;
        for group in [group.as_str(), ANY] {
            for resource in [resource.as_str(), ANY] {
                for wide in [Names::new(), names.clone()] {
                    let other = (group.to_owned(), resource.to_owned(), wide);
                    let same = other == *target;
                    if same && !itself && verb == ANY {
                        continue;
                    }
                    let Some(verbs) = self.single.get(&other) else { continue };
                    if verbs.contains(ANY) || (!same || itself) && verbs.contains(verb) {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Few sorted rules that allow the same, without what `beside` allows anyway.
    pub fn merged(&self, beside: Option<&Grants>) -> Vec<Rule> {
        let mut by_verbs: BTreeMap<(String, Names, Names), Names> = BTreeMap::new();
        for (target, verbs) in &self.single {
            let needed = |verb: &&String| {
                !self.covers(target, verb, false)
                    && !beside.is_some_and(|other| other.covers(target, verb, true))
            };
            let verbs: Names = verbs.iter().filter(needed).cloned().collect();
            if !verbs.is_empty() {
                let (group, resource, names) = target.clone();
                by_verbs.entry((group, names, verbs)).or_default().insert(resource);
            }
        }
        let mut by_resources: BTreeMap<(Names, Names, Names), Names> = BTreeMap::new();
        for ((group, names, verbs), resources) in by_verbs {
            by_resources.entry((resources, names, verbs)).or_default().insert(group);
        }
        let mut rules: Vec<Rule> = by_resources
            .into_iter()
            .map(|((resources, names, verbs), groups)| Rule {
                groups,
                resources,
                names,
                urls: Names::new(),
                verbs,
            })
            .chain(self.whole.iter().cloned())
            .collect();
        rules.sort();
        rules
    }
}
