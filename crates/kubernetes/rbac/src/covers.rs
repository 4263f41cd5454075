//! Whether the rights that somebody has cover the rights that they give.

use std::collections::{BTreeMap, BTreeSet};

use crate::rule::{Rule, url_covers};

/// So many single permissions of a role are compared; a role of more has to be given by somebody who may escalate.
const MOST: usize = 200_000;

/// One permission: a verb on a resource of a group, perhaps of one name only, or on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Single<'r> {
    Resource { group: &'r str, resource: &'r str, verb: &'r str, name: Option<&'r str> },
    Url { url: &'r str, verb: &'r str },
}

/// What rules give that owned rules do not, in short and in order; more than can be compared is an error.
pub fn missing(owned: &[&Rule], given: &[Rule]) -> Result<BTreeSet<String>, usize> {
    let open: Vec<&Rule> =
        given.iter().filter(|rule| !owned.iter().any(|own| covers_all(own, rule))).collect();
    let count = open.iter().fold(0, |sum: usize, rule| sum.saturating_add(size(rule)));
    if count > MOST {
        return Err(count);
    }
    // Verbs on the same resource are shown together.
    let mut together: BTreeMap<(&str, &str, Option<&str>), Vec<String>> = BTreeMap::new();
    let mut said = BTreeSet::new();
    for single in open.into_iter().flat_map(singles) {
        if owned.iter().any(|own| single.covered_by(own)) {
            continue;
        }
        match single {
            Single::Resource { group, resource, verb, name } => {
                together.entry((group, resource, name)).or_default().push(verb.to_owned());
            }
            Single::Url { url, verb } => {
                let [urls, verbs] = [url, verb].map(|text| vec![text.to_owned()]);
                said.insert(Rule { urls, verbs, ..Rule::default() }.compact());
            }
        }
    }
    for ((group, resource, name), verbs) in together {
        let [groups, resources] = [group, resource].map(|text| vec![text.to_owned()]);
        let names = name.into_iter().map(str::to_owned).collect();
        said.insert(Rule { verbs, groups, resources, names, urls: Vec::new() }.compact());
    }
    Ok(said)
}

fn size(rule: &Rule) -> usize {
    let names = rule.names.len().max(1);
    let resources = rule.groups.len().saturating_mul(rule.resources.len()).saturating_mul(names);
    resources.saturating_add(rule.urls.len()).saturating_mul(rule.verbs.len())
}

fn singles(rule: &Rule) -> impl Iterator<Item = Single<'_>> {
    let names: Vec<Option<&str>> = match rule.names.as_slice() {
        [] => vec![None],
        names => names.iter().map(|name| Some(name.as_str())).collect(),
    };
    let resources = rule.groups.iter().flat_map(move |group| {
        let names = names.clone();
        rule.resources.iter().flat_map(move |resource| {
            let names = names.clone();
            rule.verbs.iter().flat_map(move |verb| {
                let single = move |name| Single::Resource { group, resource, verb, name };
                names.clone().into_iter().map(single)
            })
        })
    });
    let urls = rule.urls.iter().flat_map(|url| rule.verbs.iter().map(move |verb| Single::Url { url, verb }));
    resources.chain(urls)
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|one| one == wanted)
}

fn has_or_all(list: &[String], wanted: &str) -> bool {
    list.iter().any(|one| one == "*" || one == wanted)
}

fn has_resource(list: &[String], wanted: &str) -> bool {
    has_or_all(list, wanted)
        || wanted
            .split_once('/')
            .is_some_and(|(_, sub)| list.iter().any(|one| one.strip_prefix("*/") == Some(sub)))
}

impl Single<'_> {
    fn covered_by(&self, own: &Rule) -> bool {
        match *self {
            Self::Resource { group, resource, verb, name } => {
                has_or_all(&own.verbs, verb)
                    && has_or_all(&own.groups, group)
                    && has_resource(&own.resources, resource)
                    && (own.names.is_empty() || name.is_some_and(|name| has(&own.names, name)))
            }
            // A rule of names says nothing about paths.
            Self::Url { url, verb } => {
                has_or_all(&own.verbs, verb)
                    && own.names.is_empty()
                    && own.urls.iter().any(|one| url_covers(one, url))
            }
        }
    }
}

/// Whether one rule covers another as a whole, which saves looking at its parts.
fn covers_all(own: &Rule, rule: &Rule) -> bool {
    rule.verbs.iter().all(|verb| has_or_all(&own.verbs, verb))
        && rule.groups.iter().all(|group| has_or_all(&own.groups, group))
        && rule.resources.iter().all(|resource| has_resource(&own.resources, resource))
        && rule.urls.iter().all(|url| own.urls.iter().any(|one| url_covers(one, url)))
        && (own.names.is_empty()
            || (rule.urls.is_empty()
                && !rule.names.is_empty()
                && rule.names.iter().all(|name| has(&own.names, name))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(value: serde_json::Value) -> Vec<Rule> {
        Rule::all(&json!({ "rules": value }))
    }

    #[test]
    fn what_is_missing_is_shown_in_short() {
        let owned = rules(json!([
            {"verbs": ["get"], "apiGroups": [""], "resources": ["pods", "*/log"]},
            {"verbs": ["*"], "apiGroups": ["apps"], "resources": ["*"], "resourceNames": ["a"]},
            {"verbs": ["get"], "nonResourceURLs": ["/a/*"]},
        ]));
        let owned: Vec<&Rule> = owned.iter().collect();
        let given = rules(json!([
            {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["pods", "pods/log"]},
            {"verbs": ["get"], "apiGroups": ["apps"], "resources": ["x"], "resourceNames": ["a", "b"]},
            {"verbs": ["get"], "apiGroups": ["apps"], "resources": ["x"]},
            {"verbs": ["get", "post"], "nonResourceURLs": ["/a/b"]},
        ]));
        let said: Vec<String> = missing(&owned, &given).unwrap().into_iter().collect();
        assert_eq!(
            said,
            [
                r#"{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}"#,
                r#"{APIGroups:[""], Resources:["pods/log"], Verbs:["list" "watch"]}"#,
                r#"{APIGroups:["apps"], Resources:["x"], ResourceNames:["b"], Verbs:["get"]}"#,
                r#"{APIGroups:["apps"], Resources:["x"], Verbs:["get"]}"#,
                r#"{NonResourceURLs:["/a/b"], Verbs:["post"]}"#,
            ]
        );
    }

    #[test]
    fn a_role_of_too_many_permissions_is_not_unfolded() {
        let many: Vec<String> = (0..2000).map(|n| format!("r{n}")).collect();
        let given = rules(json!([{"verbs": many, "apiGroups": [""], "resources": many}]));
        assert_eq!(missing(&[], &given), Err(4_000_000));
        let all = rules(json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]));
        assert_eq!(missing(&all.iter().collect::<Vec<_>>(), &given), Ok(BTreeSet::new()));
    }
}
