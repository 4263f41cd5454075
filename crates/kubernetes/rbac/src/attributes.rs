//! What a request is about, as far as rights are concerned.

use podium_meta::Selector;

use crate::names;
use crate::policy::Decision;
use crate::refusal::Refusal;
use crate::text::quote;
use crate::user::User;

/// What somebody wants to do: with a resource, or with a path that is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// The verb: `get`, `list`, …; of a path the method, in small letters.
    pub verb: String,
    /// Whether it is about a resource; otherwise only the verb and the path count.
    pub is_resource: bool,
    /// The group of the resource.
    pub group: String,
    /// The version of the group.
    pub version: String,
    /// The plural.
    pub resource: String,
    /// What of it, such as `status`.
    pub subresource: String,
    /// The name of the object.
    pub name: String,
    /// The namespace of the object.
    pub namespace: String,
    /// The whole path.
    pub path: String,
}

/// Why a path says nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unable to determine kind and namespace from url, {0}")]
pub struct Unclear(String);

impl Attributes {
    /// A verb on a resource.
    pub fn resource(verb: &str, group: &str, resource: &str, namespace: &str, name: &str) -> Self {
        let [verb, group, resource, namespace, name] =
            [verb, group, resource, namespace, name].map(str::to_owned);
        Self { verb, is_resource: true, group, resource, namespace, name, ..Self::default() }
    }

    /// A method on a path.
    pub fn path(verb: &str, path: &str) -> Self {
        Self { verb: verb.to_owned(), path: path.to_owned(), ..Self::default() }
    }

    /// From a request: its method, its path and the parameters of its query, both without escapes.
    pub fn of_request(method: &str, path: &str, query: &[(String, String)]) -> Result<Self, Unclear> {
        let mut out = Self::path(&method.to_lowercase(), path);
        let trimmed = path.trim_matches('/');
        let all: Vec<&str> = if trimmed.is_empty() { Vec::new() } else { trimmed.split('/').collect() };
        let (group, version, mut rest) = match all.as_slice() {
            ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
            ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
            _ => return Ok(out),
        };
        out.is_resource = true;
        out.group = group.to_owned();
        out.version = version.to_owned();
        out.verb = match method {
            "POST" => "create",
            "GET" | "HEAD" => "get",
            "PUT" => "update",
            "PATCH" => "patch",
            "DELETE" => "delete",
            _ => "",
        }
        .to_owned();
        if let [verb @ ("proxy" | "watch"), more @ ..] = rest {
            if more.is_empty() {
                return Err(Unclear(path.to_owned()));
            }
            out.verb = (*verb).to_owned();
            rest = more;
        }
        if let ["namespaces", namespace, more @ ..] = rest {
            out.namespace = (*namespace).to_owned();
            if !matches!(more, [] | ["status" | "finalize", ..]) {
                rest = more;
            }
        }
        let mut parts = rest.iter().map(|part| (*part).to_owned());
        out.resource = parts.next().unwrap_or_default();
        out.name = parts.next().unwrap_or_default();
        if out.verb != "proxy" {
            out.subresource = parts.next().unwrap_or_default();
        }
        if out.name.is_empty() {
            out.several(query);
        }
        Ok(out)
    }

    /// Without a name, a request is about several objects; a selector may still name the one that is meant.
    fn several(&mut self, query: &[(String, String)]) {
        match self.verb.as_str() {
            "get" => {
                let first =
                    |key: &str| query.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
                let watch = first("watch")
                    .is_some_and(|value| !["false", "0"].contains(&value.to_lowercase().as_str()));
                self.verb = if watch { "watch" } else { "list" }.to_owned();
                let numbers = ["timeoutSeconds", "limit"];
                let readable = numbers.iter().all(|key| first(key).is_none_or(|n| n.parse::<i64>().is_ok()))
                    && first("labelSelector").is_none_or(|labels| Selector::parse(labels).is_ok());
                let terms =
                    first("fieldSelector").and_then(|text| field_terms(text).ok()).unwrap_or_default();
                let named = terms.into_iter().find(|term| term.equal && term.field == "metadata.name");
                if let Some(term) = named.filter(|term| readable && names::is_segment(&term.value)) {
                    self.name = term.value;
                }
            }
            "delete" => self.verb = "deletecollection".to_owned(),
            _ => {}
        }
    }

    /// What is said to who may not do it.
    pub fn refusal(&self, user: &User, decision: &Decision) -> Refusal {
        self.forbidden(user, &decision.reason)
    }

    pub(crate) fn forbidden(&self, user: &User, reason: &str) -> Refusal {
        let mut why =
            self.sentence(&user.name).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        if !reason.is_empty() {
            why.push_str(": ");
            why.push_str(reason);
        }
        Refusal::forbidden(&self.group, &self.resource, &self.name, &why)
    }

    fn sentence(&self, user: &str) -> String {
        let (user, verb) = (quote(user), &self.verb);
        if !self.is_resource {
            return format!("User {user} cannot {verb} path {}", quote(&self.path));
        }
        let what = match self.subresource.as_str() {
            "" => quote(&self.resource),
            subresource => quote(&format!("{}/{subresource}", self.resource)),
        };
        let place = match self.namespace.as_str() {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace {}", quote(namespace)),
        };
        format!("User {user} cannot {verb} resource {what} in API group {} {place}", quote(&self.group))
    }
}

/// One term of a field selector.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Term {
    field: String,
    value: String,
    equal: bool,
}

/// The terms of a field selector in their order; an error where it cannot be read.
pub(crate) fn field_terms(text: &str) -> Result<Vec<Term>, ()> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, letter) in text.char_indices().chain([(text.len(), ',')]) {
        match letter {
            _ if escaped && at < text.len() => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(text.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.sort_unstable();
    terms.into_iter().filter(|term| !term.is_empty()).map(field_term).collect()
}

fn field_term(term: &str) -> Result<Term, ()> {
    let at = term.find("!=").into_iter().chain(term.find('=')).min().ok_or(())?;
    let (field, rest) = term.split_at(at);
    let equal = !rest.starts_with('!');
    let rest = ["!=", "==", "="].iter().find_map(|mark| rest.strip_prefix(mark)).unwrap_or_default();
    let mut value = String::new();
    let mut letters = rest.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => value.push(letters.next().filter(|next| "\\,=".contains(*next)).ok_or(())?),
            ',' | '=' => return Err(()),
            _ => value.push(letter),
        }
    }
    Ok(Term { field: field.to_owned(), value, equal })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(method: &str, path: &str, query: &[(&str, &str)]) -> [String; 7] {
        let query: Vec<_> = query.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let a = Attributes::of_request(method, path, &query).unwrap();
        [a.verb, a.group, a.version, a.namespace, a.resource, a.name, a.subresource]
    }

    #[test]
    fn requests_become_verbs_on_resources() {
        for (method, path, expected) in [
            ("GET", "/api/v1/pods", ["list", "", "v1", "", "pods", "", ""]),
            ("HEAD", "/api/v1/namespaces/n/pods/p/status", ["get", "", "v1", "n", "pods", "p", "status"]),
            (
                "PUT",
                "/api/v1/namespaces/n/finalize",
                ["update", "", "v1", "n", "namespaces", "n", "finalize"],
            ),
            ("GET", "/api/v1/namespaces/n", ["get", "", "v1", "n", "namespaces", "n", ""]),
            (
                "DELETE",
                "/apis/apps/v1/namespaces/n/deployments",
                ["deletecollection", "apps", "v1", "n", "deployments", "", ""],
            ),
            ("PATCH", "/apis/a.io/v2/things/t/", ["patch", "a.io", "v2", "", "things", "t", ""]),
            ("GET", "/api/v1/watch/namespaces/n/pods/p", ["watch", "", "v1", "n", "pods", "p", ""]),
            ("GET", "/apis/apps/v1", ["get", "", "", "", "", "", ""]),
            ("POST", "/healthz", ["post", "", "", "", "", "", ""]),
            ("OPTIONS", "/api/v1/pods", ["", "", "v1", "", "pods", "", ""]),
        ] {
            assert_eq!(of(method, path, &[]), expected, "{method} {path}");
        }
        assert!(Attributes::of_request("GET", "/api/v1/watch", &[]).is_err());
    }

    #[test]
    fn a_selector_may_name_the_object() {
        for (query, verb, name) in [
            (vec![("watch", "1")], "watch", ""),
            (vec![("watch", "")], "watch", ""),
            (vec![("watch", "0")], "list", ""),
            (vec![("fieldSelector", "metadata.name=a")], "list", "a"),
            (vec![("fieldSelector", "x!=1,metadata.name==a\\,b")], "list", "a,b"),
            (vec![("fieldSelector", "metadata.name!=a")], "list", ""),
            (vec![("fieldSelector", "metadata.name=a/b")], "list", ""),
            (vec![("fieldSelector", "metadata.name=a"), ("limit", "x")], "list", ""),
            (vec![("fieldSelector", "metadata.name=a"), ("labelSelector", "==")], "list", ""),
        ] {
            let [got, _, _, _, _, named, _] = of("GET", "/api/v1/pods", &query);
            assert_eq!((got.as_str(), named.as_str()), (verb, name), "{query:?}");
        }
        assert!(field_terms("a").is_err());
        assert!(field_terms("a=b=c").is_err());
        assert!(field_terms("a=b\\").is_err());
        assert!(field_terms("a=\\x").is_err());
    }

    #[test]
    fn refusals_name_user_verb_and_place() {
        let bob = User::new("b<o>b", &[]);
        let said = |a: &Attributes, reason: &str| a.forbidden(&bob, reason).message;
        let list = Attributes::resource("list", "", "configmaps", "default", "");
        assert_eq!(
            said(&list, ""),
            "configmaps is forbidden: User \"b&lt;o&gt;b\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"default\""
        );
        let mut scale = Attributes::resource("get", "apps", "deployments", "", "web");
        scale.subresource = "scale".to_owned();
        assert_eq!(
            said(&scale, "RBAC: x"),
            "deployments.apps \"web\" is forbidden: User \"b&lt;o&gt;b\" cannot get resource \"deployments/scale\" in API group \"apps\" at the cluster scope: RBAC: x"
        );
        let path = Attributes::path("get", "/metrics").forbidden(&bob, "");
        assert_eq!(path.message, "forbidden: User \"b&lt;o&gt;b\" cannot get path \"/metrics\"");
        assert_eq!(path.status()["details"], serde_json::json!({}));
    }
}
