//! Breaks RBAC policy rules down into single grants, to compare two sets of rules.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use crate::value::array_at;

/// Limit of grants to compare. Rules that expand to more are expected to use wildcards.
const MAX_GRANTS: usize = 20_000;

/// A single verb on a single resource or URL.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grant {
    /// A verb on a resource, limited to one object if `name` is set.
    Resource {
        /// API group.
        group: String,
        /// Plural resource name, with the subresource after a slash.
        resource: String,
        /// Resource name; empty for all objects.
        name: String,
        /// Verb.
        verb: String,
    },
    /// A verb on a non-resource URL.
    Url {
        /// URL path.
        url: String,
        /// Verb.
        verb: String,
    },
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Grant::Url { url, verb } => write!(f, "{verb} {url}"),
            Grant::Resource { group, resource, name, verb } => {
                write!(f, "{verb} {resource}")?;
                if !group.is_empty() {
                    write!(f, ".{group}")?;
                }
                if name.is_empty() { Ok(()) } else { write!(f, " named {name}") }
            }
        }
    }
}

fn strings(rule: &Value, key: &str) -> Vec<String> {
    array_at(rule, &format!("/{key}")).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Expands policy rules into grants.
pub fn expand_rules<'r>(rules: impl Iterator<Item = &'r Value>) -> BTreeSet<Grant> {
    let mut out = BTreeSet::new();
    for rule in rules {
        let mut names = strings(rule, "resourceNames");
        if names.is_empty() {
            names.push(String::new());
        }
        for verb in strings(rule, "verbs") {
            for url in strings(rule, "nonResourceURLs") {
                out.insert(Grant::Url { url, verb: verb.clone() });
            }
            for group in strings(rule, "apiGroups") {
                for resource in strings(rule, "resources") {
                    for name in &names {
                        if out.len() >= MAX_GRANTS {
                            return out;
                        }
                        out.insert(Grant::Resource {
                            group: group.clone(),
                            resource: resource.clone(),
                            name: name.clone(),
                            verb: verb.clone(),
                        });
                    }
                }
            }
        }
    }
    out
}

fn covers(broad: &Grant, grant: &Grant) -> bool {
    let matches = |broad: &str, grant: &str| broad == "*" || broad == grant;
    match (broad, grant) {
        (
            Grant::Resource { group: g, resource: r, name: n, verb: v },
            Grant::Resource { group, resource, name, verb },
        ) => matches(g, group) && matches(r, resource) && matches(v, verb) && (n.is_empty() || n == name),
        (Grant::Url { url: u, verb: v }, Grant::Url { url, verb }) => {
            let prefix_matches = u.strip_suffix('*').is_some_and(|start| url.starts_with(start));
            (matches(u, url) || prefix_matches) && matches(v, verb)
        }
        _ => false,
    }
}

/// Returns the grants of `new` that `old` does not cover.
pub fn uncovered(old: &BTreeSet<Grant>, new: &BTreeSet<Grant>) -> Vec<Grant> {
    // Few grants contain wildcards; all others are found by set lookup.
    let broad: Vec<&Grant> = old
        .iter()
        .filter(|grant| match grant {
            Grant::Resource { group, resource, verb, .. } => {
                [group, resource, verb].iter().any(|part| *part == "*")
            }
            Grant::Url { url, verb } => url.ends_with('*') || verb == "*",
        })
        .collect();
    let is_covered = |grant: &Grant| {
        old.contains(grant)
            || old.contains(&for_all_names(grant))
            || broad.iter().any(|broad| covers(broad, grant))
    };
    new.iter().filter(|grant| !is_covered(grant)).cloned().collect()
}

/// Removes the restriction to one resource name.
fn for_all_names(grant: &Grant) -> Grant {
    let mut grant = grant.clone();
    if let Grant::Resource { name, .. } = &mut grant {
        name.clear();
    }
    grant
}

#[cfg(test)]
mod tests {
    use super::{expand_rules, uncovered};
    use serde_json::json;

    #[test]
    fn wildcards_cover_narrower_grants() {
        let set = |rule: serde_json::Value| expand_rules([rule].iter());
        let broad = set(json!({"apiGroups": ["apps"], "resources": ["*"], "verbs": ["get", "list"]}));
        let narrow = set(
            json!({"apiGroups": ["apps"], "resources": ["deployments"], "resourceNames": ["a"], "verbs": ["get"]}),
        );
        let other = set(json!({"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["delete"]}));
        assert!(uncovered(&broad, &narrow).is_empty());
        assert_eq!(uncovered(&broad, &other)[0].to_string(), "delete deployments.apps");
        assert_eq!(uncovered(&narrow, &broad).len(), 2);
        let urls = set(json!({"nonResourceURLs": ["/api/*"], "verbs": ["get"]}));
        assert!(uncovered(&urls, &set(json!({"nonResourceURLs": ["/api/x"], "verbs": ["get"]}))).is_empty());
    }
}
