//! Who somebody is.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::names;

/// Who came without credentials.
pub const ANONYMOUS: &str = "system:anonymous";
/// The group of all who have shown who they are.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of all who have not.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The group of those who may do everything.
pub const MASTERS: &str = "system:masters";
/// The group of nodes.
pub const NODES: &str = "system:nodes";
/// Under this key a user's credential is named, so that it can be told from others of the same user.
pub const CREDENTIAL: &str = "authentication.kubernetes.io/credential-id";

const ACCOUNT: &str = "system:serviceaccount:";

/// Somebody who makes requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    /// What tells them from others who had the same name.
    pub uid: String,
    /// The groups that they are in.
    pub groups: Vec<String>,
    /// What else is known of them.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Somebody of some groups.
    pub fn new(name: &str, groups: &[&str]) -> Self {
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        Self { name: name.to_owned(), groups, ..Self::default() }
    }

    /// Who came without credentials.
    pub fn anonymous() -> Self {
        Self::new(ANONYMOUS, &[UNAUTHENTICATED])
    }

    /// A service account, without the group of all who are known.
    pub fn service_account(namespace: &str, name: &str, uid: &str) -> Self {
        Self {
            name: account_name(namespace, name),
            uid: uid.to_owned(),
            groups: account_groups(namespace),
            extra: BTreeMap::new(),
        }
    }

    /// Adds the group of all who have shown who they are, unless they say themselves in which of the two they are.
    pub fn authenticated(mut self) -> Self {
        let known = |group: &String| group == AUTHENTICATED || group == UNAUTHENTICATED;
        if self.name != ANONYMOUS && !self.groups.iter().any(known) {
            self.groups.push(AUTHENTICATED.to_owned());
        }
        self
    }

    /// Whether they are in a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|one| one == group)
    }

    /// As reviews show it.
    pub fn to_json(&self) -> Value {
        let mut out = Map::new();
        for (key, text) in [("username", &self.name), ("uid", &self.uid)] {
            if !text.is_empty() {
                out.insert(key.to_owned(), json!(text));
            }
        }
        if !self.groups.is_empty() {
            out.insert("groups".to_owned(), json!(self.groups));
        }
        if !self.extra.is_empty() {
            out.insert("extra".to_owned(), json!(self.extra));
        }
        Value::Object(out)
    }
}

/// The user name of a service account.
pub fn account_name(namespace: &str, name: &str) -> String {
    format!("{ACCOUNT}{namespace}:{name}")
}

/// Whether a user name is that of a service account.
pub(crate) fn is_account(user: &str, namespace: &str, name: &str) -> bool {
    let rest = user.strip_prefix(ACCOUNT).and_then(|rest| rest.strip_prefix(namespace));
    !namespace.is_empty() && rest.and_then(|rest| rest.strip_prefix(':')) == Some(name)
}

/// The groups of the service accounts of a namespace.
pub fn account_groups(namespace: &str) -> Vec<String> {
    vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")]
}

/// Namespace and name, if it is the user name of a service account.
pub fn split_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(ACCOUNT)?.split_once(':')?;
    (names::is_label(namespace) && names::is_subdomain(name)).then_some((namespace, name))
}

/// The name of the node, if it is the user name of one.
pub fn split_node(user: &str) -> Option<&str> {
    user.strip_prefix("system:node:").filter(|name| names::is_subdomain(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_service_accounts_are_taken_apart() {
        assert_eq!(split_account("system:serviceaccount:ns:a.b"), Some(("ns", "a.b")));
        for name in
            ["system:serviceaccount:ns", "system:serviceaccount:N:a", "system:serviceaccount:n:a:b", "n:a"]
        {
            assert_eq!(split_account(name), None, "{name}");
        }
        assert_eq!(split_node("system:node:n1.local"), Some("n1.local"));
        assert_eq!(split_node("system:node:"), None);
    }

    #[test]
    fn everybody_known_is_in_the_group_of_the_known() {
        assert_eq!(User::new("bob", &["devs"]).authenticated().groups, ["devs", AUTHENTICATED]);
        assert_eq!(User::new("bob", &[AUTHENTICATED]).authenticated().groups, [AUTHENTICATED]);
        assert_eq!(User::anonymous().authenticated().groups, [UNAUTHENTICATED]);
    }
}
