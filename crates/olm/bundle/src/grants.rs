//! What roles allow, taken apart so that it can be compared.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use crate::value::list;

/// As many single grants are compared; whoever has more has wildcards to say it with.
const MOST: usize = 20_000;

/// One thing that is allowed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grant {
    /// A verb on a resource, on one object of it if there is a name.
    Resource {
        /// The API group.
        group: String,
        /// The plural, a subresource behind a slash.
        resource: String,
        /// The object; empty for all.
        name: String,
        /// What may be done.
        verb: String,
    },
    /// A verb on an address.
    Url {
        /// The address.
        url: String,
        /// What may be done.
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

fn texts(rule: &Value, key: &str) -> Vec<String> {
    list(rule, &format!("/{key}")).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Everything that rules allow.
pub fn grants<'r>(rules: impl Iterator<Item = &'r Value>) -> BTreeSet<Grant> {
    let mut out = BTreeSet::new();
    for rule in rules {
        let mut names = texts(rule, "resourceNames");
        if names.is_empty() {
            names.push(String::new());
        }
        for verb in texts(rule, "verbs") {
            for url in texts(rule, "nonResourceURLs") {
                out.insert(Grant::Url { url, verb: verb.clone() });
            }
            for group in texts(rule, "apiGroups") {
                for resource in texts(rule, "resources") {
                    for name in &names {
                        if out.len() >= MOST {
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

fn covers(wide: &Grant, one: &Grant) -> bool {
    let any = |wide: &str, one: &str| wide == "*" || wide == one;
    match (wide, one) {
        (
            Grant::Resource { group: g, resource: r, name: n, verb: v },
            Grant::Resource { group, resource, name, verb },
        ) => any(g, group) && any(r, resource) && any(v, verb) && (n.is_empty() || n == name),
        (Grant::Url { url: u, verb: v }, Grant::Url { url, verb }) => {
            let below = u.strip_suffix('*').is_some_and(|start| url.starts_with(start));
            (any(u, url) || below) && any(v, verb)
        }
        _ => false,
    }
}

/// What is allowed now and was not before.
pub fn more(old: &BTreeSet<Grant>, new: &BTreeSet<Grant>) -> Vec<Grant> {
    // Few grants are wide: the rest need only be looked up.
    let wide: Vec<&Grant> = old
        .iter()
        .filter(|grant| match grant {
            Grant::Resource { group, resource, verb, .. } => {
                [group, resource, verb].iter().any(|part| *part == "*")
            }
            Grant::Url { url, verb } => url.ends_with('*') || verb == "*",
        })
        .collect();
    let known = |one: &Grant| {
        old.contains(one) || old.contains(&unnamed(one)) || wide.iter().any(|wide| covers(wide, one))
    };
    new.iter().filter(|one| !known(one)).cloned().collect()
}

/// The same for all objects.
fn unnamed(grant: &Grant) -> Grant {
    let mut grant = grant.clone();
    if let Grant::Resource { name, .. } = &mut grant {
        name.clear();
    }
    grant
}

#[cfg(test)]
mod tests {
    use super::{grants, more};
    use serde_json::json;

    #[test]
    fn wildcards_cover_what_they_mean() {
        let set = |rule: serde_json::Value| grants([rule].iter());
        let wide = set(json!({"apiGroups": ["apps"], "resources": ["*"], "verbs": ["get", "list"]}));
        let narrow = set(
            json!({"apiGroups": ["apps"], "resources": ["deployments"], "resourceNames": ["a"], "verbs": ["get"]}),
        );
        let other = set(json!({"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["delete"]}));
        assert!(more(&wide, &narrow).is_empty());
        assert_eq!(more(&wide, &other)[0].to_string(), "delete deployments.apps");
        assert_eq!(more(&narrow, &wide).len(), 2);
        let urls = set(json!({"nonResourceURLs": ["/api/*"], "verbs": ["get"]}));
        assert!(more(&urls, &set(json!({"nonResourceURLs": ["/api/x"], "verbs": ["get"]}))).is_empty());
    }
}
