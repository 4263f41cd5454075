//! Rules of roles: which verbs on which things.

use serde_json::{Map, Value, json};

use crate::attributes::Attributes;
use crate::text::quoted_list;

/// A rule of a role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The verbs, or `*`.
    pub verbs: Vec<String>,
    /// The groups of the resources, or `*`.
    pub groups: Vec<String>,
    /// Resources, `resource/sub`, `*/sub`, or `*`.
    pub resources: Vec<String>,
    /// Only the objects of these names; none means all.
    pub names: Vec<String>,
    /// Paths that are no resources; a `*` at the end stands for whatever follows.
    pub urls: Vec<String>,
}

/// The texts of a list in an object.
pub(crate) fn texts(object: &Value, key: &str) -> Vec<String> {
    let list = object.get(key).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

impl Rule {
    /// From a rule as roles have it.
    pub fn read(rule: &Value) -> Self {
        let [verbs, groups, resources, names, urls] =
            ["verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"]
                .map(|key| texts(rule, key));
        Self { verbs, groups, resources, names, urls }
    }

    /// The rules of a role.
    pub fn all(role: &Value) -> Vec<Self> {
        role.get("rules").and_then(Value::as_array).into_iter().flatten().map(Self::read).collect()
    }

    /// As roles have it.
    pub fn to_json(&self) -> Value {
        let mut out = Map::new();
        out.insert("verbs".to_owned(), json!(self.verbs));
        for (key, list) in [
            ("apiGroups", &self.groups),
            ("resources", &self.resources),
            ("resourceNames", &self.names),
            ("nonResourceURLs", &self.urls),
        ] {
            if !list.is_empty() {
                out.insert(key.to_owned(), json!(list));
            }
        }
        Value::Object(out)
    }

    /// Whether it allows a request.
    pub fn allows(&self, request: &Attributes) -> bool {
        let has = |list: &[String], wanted: &str| list.iter().any(|one| one == "*" || one == wanted);
        if !has(&self.verbs, &request.verb) {
            return false;
        }
        if !request.is_resource {
            return self.urls.iter().any(|url| url_covers(url, &request.path));
        }
        has(&self.groups, &request.group)
            && self.resources.iter().any(|one| resource_matches(one, request))
            && (self.names.is_empty() || self.names.contains(&request.name))
    }

    /// In short, as refusals show it: `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`.
    pub fn compact(&self) -> String {
        let parts: Vec<String> = [
            ("APIGroups", &self.groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.urls),
            ("ResourceNames", &self.names),
            ("Verbs", &self.verbs),
        ]
        .into_iter()
        .filter(|(_, list)| !list.is_empty())
        .map(|(key, list)| format!("{key}:{}", quoted_list(list)))
        .collect();
        format!("{{{}}}", parts.join(", "))
    }
}

fn resource_matches(rule: &str, request: &Attributes) -> bool {
    if rule == "*" {
        return true;
    }
    if request.subresource.is_empty() {
        return rule == request.resource;
    }
    // What follows the first slash of a rule may have slashes itself.
    let Some(prefix) =
        rule.strip_suffix(request.subresource.as_str()).and_then(|rule| rule.strip_suffix('/'))
    else {
        return false;
    };
    prefix == "*" || prefix == request.resource
}

/// Whether a path of a rule stands for another path.
pub(crate) fn url_covers(rule: &str, path: &str) -> bool {
    rule == path || (rule.ends_with('*') && path.starts_with(rule.trim_end_matches('*')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(value: Value) -> Rule {
        Rule::read(&value)
    }

    #[test]
    fn resources_subresources_and_names() {
        let mut get = Attributes::resource("get", "", "pods", "n", "a");
        let with =
            |resource: &str| rule(json!({"verbs": ["get"], "apiGroups": [""], "resources": [resource]}));
        for (resource, whole, sub) in [
            ("pods", true, false),
            ("pods/log", false, true),
            ("*/log", false, true),
            ("*", true, true),
            ("*/pods", false, false),
        ] {
            get.subresource.clear();
            assert_eq!(with(resource).allows(&get), whole, "{resource}");
            get.subresource = "log".to_owned();
            assert_eq!(with(resource).allows(&get), sub, "{resource}");
        }
        let named =
            rule(json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "resourceNames": ["a"]}));
        assert!(named.allows(&get));
        assert!(!named.allows(&Attributes::resource("list", "", "pods", "n", "")));
    }

    #[test]
    fn paths() {
        let urls = rule(json!({"verbs": ["get"], "nonResourceURLs": ["/a", "/b/*", "/c**"]}));
        for (path, expected) in
            [("/a", true), ("/a/", false), ("/b/", true), ("/b/x/y", true), ("/b", false), ("/cc", true)]
        {
            assert_eq!(urls.allows(&Attributes::path("get", path)), expected, "{path}");
        }
        assert!(!urls.allows(&Attributes::path("post", "/a")));
    }
}
