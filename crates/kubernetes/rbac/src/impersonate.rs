//! Acting as somebody else.
//!
//! Since 1.36 there are several ways to be allowed to: `impersonate` on whom one wants to be, which is then good for
//! every request, or `impersonate:<way>` on them together with `impersonate-on:<way>:<verb>` on what the request is
//! about. The ways are tried one after the other; of those that fail, the first says why.

use std::collections::BTreeMap;

use podium_meta::FieldError;
use podium_meta::names::{self, LengthUnit};

use crate::attributes::Attributes;
use crate::policy::Policy;
use crate::refusal::Refusal;
use crate::text::{invalid, quote};
use crate::user::{
    ANONYMOUS, AUTHENTICATED, MASTERS, NODES, UNAUTHENTICATED, User, account_groups, split_account,
    split_node,
};

const GROUP: &str = "authentication.k8s.io";
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
/// So many checks of one kind are tried as one check of all first.
const MANY: usize = 4;

/// A way of being allowed to act as somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// A service account as the node that it runs on.
    AssociatedNode,
    /// As any node.
    ArbitraryNode,
    /// As a service account.
    ServiceAccount,
    /// As anybody who is neither.
    UserInfo,
    /// With the one verb that is good for everything.
    Legacy,
}

const WAYS: [Way; 5] =
    [Way::AssociatedNode, Way::ArbitraryNode, Way::ServiceAccount, Way::UserInfo, Way::Legacy];

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::AssociatedNode => "associated-node",
            Self::ArbitraryNode => "arbitrary-node",
            Self::ServiceAccount => "serviceaccount",
            Self::UserInfo => "user-info",
            Self::Legacy => "",
        }
    }

    /// Whether it is made for this.
    fn fits(self, requester: &User, wanted: &User) -> bool {
        let alone = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let (node, account) = (split_node(&wanted.name), split_account(&wanted.name));
        match self {
            Self::AssociatedNode => {
                let own = requester
                    .extra
                    .get(NODE_NAME)
                    .filter(|names| names.len() == 1)
                    .and_then(|names| names.first());
                alone
                    && node.is_some()
                    && split_account(&requester.name).is_some()
                    && own.map(String::as_str) == node
            }
            Self::ArbitraryNode => alone && node.is_some(),
            Self::ServiceAccount => alone && account.is_some(),
            Self::UserInfo => node.is_none() && account.is_none(),
            Self::Legacy => true,
        }
    }
}

/// Whom the headers of a request ask to be; nothing if they do not ask.
pub fn wanted<'h>(headers: impl IntoIterator<Item = (&'h str, &'h str)>) -> Result<Option<User>, Refusal> {
    const EXTRA: &str = "impersonate-extra-";
    let mut user = User::default();
    let mut more = false;
    let mut named = [false; 2];
    for (name, value) in headers {
        let name = name.to_ascii_lowercase();
        let mut first = |index: usize, field: &mut String| {
            // Of several, the first counts.
            if let Some(seen) = named.get_mut(index).filter(|seen| !**seen) {
                *seen = true;
                value.clone_into(field);
            }
        };
        match name.as_str() {
            "impersonate-user" => first(0, &mut user.name),
            "impersonate-uid" => first(1, &mut user.uid),
            "impersonate-group" => {
                more = true;
                user.groups.push(value.to_owned());
            }
            name => {
                if let Some(key) = name.strip_prefix(EXTRA) {
                    more = true;
                    user.extra.entry(unescape(key)).or_default().push(value.to_owned());
                }
            }
        }
    }
    match (user.name.is_empty(), more || !user.uid.is_empty()) {
        (true, true) => {
            let message = format!("requested {} without impersonating a user name", shown(&user));
            Err(Refusal::bad_request(message))
        }
        (true, false) => Ok(None),
        (false, _) => Ok(Some(user)),
    }
}

/// Without escapes; what has wrong escapes stays as it is.
fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        match (digit(rest.next()), digit(rest.next())) {
            (Some(high), Some(low)) => out.push((high * 16 + low) as u8),
            _ => return text.to_owned(),
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

/// A user as the message about one without a name shows it.
fn shown(user: &User) -> String {
    let list = |texts: &[String]| {
        let all: Vec<String> = texts.iter().map(|text| quote(text)).collect();
        format!("[]string{{{}}}", all.join(", "))
    };
    let groups = if user.groups.is_empty() { "[]string(nil)".to_owned() } else { list(&user.groups) };
    let extra = if user.extra.is_empty() {
        "map[string][]string(nil)".to_owned()
    } else {
        let all: Vec<String> =
            user.extra.iter().map(|(key, values)| format!("{}:{}", quote(key), list(values))).collect();
        format!("map[string][]string{{{}}}", all.join(", "))
    };
    format!("&user.DefaultInfo{{Name:\"\", UID:{}, Groups:{groups}, Extra:{extra}}}", quote(&user.uid))
}

/// Who somebody becomes who wants to be somebody else for a request, and in which way. The way in which they succeeded
/// before, if it is known, is tried first.
pub fn become_user(
    policy: &Policy,
    requester: &User,
    wanted: &User,
    request: &Attributes,
    before: Option<Way>,
) -> Result<(User, Way), Refusal> {
    let mut refusal = None;
    let others = WAYS.into_iter().filter(|way| Some(*way) != before);
    for way in before.into_iter().chain(others).filter(|way| way.fits(requester, wanted)) {
        let attempt = Attempt { policy, requester, wanted, way };
        match attempt.on(request).and_then(|()| attempt.become_wanted()) {
            Ok(user) => return Ok((user, way)),
            Err(why) => drop(refusal.get_or_insert(why)),
        }
    }
    Err(refusal.unwrap_or_else(|| Refusal::internal("all impersonation modes failed")))
}

struct Attempt<'a> {
    policy: &'a Policy,
    requester: &'a User,
    wanted: &'a User,
    way: Way,
}

impl Attempt<'_> {
    fn check(&self, request: &Attributes) -> Result<(), Refusal> {
        let decision = self.policy.authorize(self.requester, request);
        if decision.allowed { Ok(()) } else { Err(request.refusal(self.requester, &decision)) }
    }

    /// Whether the request may be made in this way at all.
    fn on(&self, request: &Attributes) -> Result<(), Refusal> {
        if self.way == Way::Legacy {
            return Ok(());
        }
        let mut request = request.clone();
        request.verb = format!("impersonate-on:{}:{}", self.way.name(), request.verb);
        self.check(&request)
    }

    /// The verb on a part of a user; names and groups were in another group in former times.
    fn part(&self, resource: &str) -> Attributes {
        let legacy = self.way == Way::Legacy;
        let verb = if legacy { "impersonate".to_owned() } else { format!("impersonate:{}", self.way.name()) };
        let group = if legacy && matches!(resource, "users" | "groups") { "" } else { GROUP };
        Attributes::resource(&verb, group, resource, "", "")
    }

    fn become_wanted(&self) -> Result<User, Refusal> {
        let mut user = self.wanted.clone();
        self.name(&mut user)?;
        if !self.wanted.uid.is_empty() {
            self.check(&Attributes { name: self.wanted.uid.clone(), ..self.part("uids") })?;
        }
        self.groups()?;
        self.extra()?;
        let group = match user.name.as_str() {
            ANONYMOUS => Some(UNAUTHENTICATED),
            _ if user.is_in(UNAUTHENTICATED) => None,
            _ => Some(AUTHENTICATED),
        };
        if let Some(group) = group.filter(|group| !user.is_in(group)) {
            user.groups.push(group.to_owned());
        }
        Ok(user)
    }

    fn name(&self, user: &mut User) -> Result<(), Refusal> {
        let mut request = Attributes { name: self.wanted.name.clone(), ..self.part("users") };
        if let Some(node) = split_node(&self.wanted.name).filter(|_| self.way != Way::Legacy) {
            request.resource = "nodes".to_owned();
            // Whoever may be the node that they are on may be any, if they are on it.
            request.name = if self.way == Way::AssociatedNode { "*" } else { node }.to_owned();
            user.groups = vec![NODES.to_owned()];
        }
        if let Some((namespace, name)) = split_account(&self.wanted.name) {
            request.resource = "serviceaccounts".to_owned();
            request.namespace = namespace.to_owned();
            request.name = name.to_owned();
            if self.wanted.groups.is_empty() {
                user.groups = account_groups(namespace);
            }
        }
        self.check(&request)
    }

    fn groups(&self) -> Result<(), Refusal> {
        let groups = &self.wanted.groups;
        let mut request = self.part("groups");
        if self.way != Way::Legacy {
            if groups.iter().any(String::is_empty) {
                return Err(
                    request.forbidden(self.requester, "impersonating the empty string group is not allowed")
                );
            }
            if self.wanted.is_in(MASTERS) {
                request.name = MASTERS.to_owned();
                return Err(request
                    .forbidden(self.requester, "impersonating the system:masters group is not allowed"));
            }
            request.name = "*".to_owned();
            if groups.len() >= MANY && self.check(&request).is_ok() {
                return Ok(());
            }
        }
        groups.iter().try_for_each(|group| {
            request.name.clone_from(group);
            self.check(&request)
        })
    }

    fn extra(&self) -> Result<(), Refusal> {
        let extra = &self.wanted.extra;
        let mut request = self.part("userextras");
        if self.way != Way::Legacy {
            if let Some(why) = extra_wrong(extra) {
                return Err(request.forbidden(self.requester, &why));
            }
            let count: usize = extra.values().map(Vec::len).sum();
            [request.subresource, request.name] = ["*", "*"].map(str::to_owned);
            if (extra.len() >= MANY || count >= MANY) && self.check(&request).is_ok() {
                return Ok(());
            }
        }
        extra.iter().flat_map(|(key, values)| values.iter().map(move |value| (key, value))).try_for_each(
            |(key, value)| {
                request.subresource.clone_from(key);
                request.name.clone_from(value);
                self.check(&request)
            },
        )
    }
}

/// What is wrong with what else is known of a user, in the newer ways.
fn extra_wrong(extra: &BTreeMap<String, Vec<String>>) -> Option<String> {
    extra.iter().find_map(|(key, values)| {
        if key.is_empty() {
            return Some("impersonating the empty string key in extra is not allowed".to_owned());
        }
        let flaws = key_flaws(key);
        if !flaws.is_empty() {
            let said = FieldError::aggregate(&flaws);
            return Some(format!("impersonating an invalid key in extra is not allowed: {said}"));
        }
        if *key != key.to_lowercase() {
            return Some(format!(
                "impersonating a non-lowercase key in extra is not allowed: {}",
                quote(key)
            ));
        }
        let empty = values.iter().any(String::is_empty);
        empty.then(|| "impersonating the empty string value in extra is not allowed".to_owned())
    })
}

fn key_flaws(key: &str) -> Vec<FieldError> {
    let wrong = |text: &str, detail: &str| invalid("extra.key", text, detail);
    let (host, path) = match key.split_once('/') {
        Some((host, path)) if !host.is_empty() && !path.is_empty() => (host, path),
        _ => return vec![wrong(key, "must be a domain-prefixed path (such as \"acme.io/foo\")")],
    };
    let mut flaws: Vec<FieldError> =
        names::subdomain(host, LengthUnit::Bytes).iter().map(|detail| wrong(host, detail)).collect();
    let letter = |b: u8| b.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&b);
    if !path.bytes().all(letter) {
        let detail = r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')";
        flaws.push(wrong(path, detail));
    }
    flaws
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_say_whom() {
        let user = wanted([
            ("Impersonate-User", "bob"),
            ("impersonate-user", "eve"),
            ("Impersonate-Group", "a"),
            ("IMPERSONATE-GROUP", "b"),
            ("Impersonate-Uid", "1"),
            ("Impersonate-Extra-X.io%2fY", "2"),
            ("Impersonate-Extra-bad%zz", "3"),
            ("Accept", "x"),
        ]);
        let user = user.unwrap().unwrap();
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("bob", "1"));
        assert_eq!(user.groups, ["a", "b"]);
        let extra: Vec<(&str, &str)> =
            user.extra.iter().map(|(key, values)| (key.as_str(), values[0].as_str())).collect();
        assert_eq!(extra, [("bad%zz", "3"), ("x.io/y", "2")]);
        assert_eq!(wanted([("Accept", "x")]), Ok(None));
        let refusal = wanted([("Impersonate-Group", "g")]).unwrap_err();
        let said = r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)} without impersonating a user name"#;
        assert_eq!((refusal.code, refusal.message.as_str()), (400, said));
    }

    #[test]
    fn a_service_account_may_be_the_node_that_it_is_on() {
        let rules = serde_json::json!([
            {"verbs": ["impersonate:associated-node"], "apiGroups": [GROUP], "resources": ["nodes"], "resourceNames": ["*"]},
            {"verbs": ["impersonate-on:associated-node:list"], "apiGroups": [""], "resources": ["pods"]},
        ]);
        let policy = Policy::of(&[
            serde_json::json!({"kind": "ClusterRole", "metadata": {"name": "r"}, "rules": rules}),
            serde_json::json!({"kind": "ClusterRoleBinding", "metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "r"},
                "subjects": [{"kind": "ServiceAccount", "namespace": "n", "name": "daemon"}]}),
        ]);
        let mut daemon = User::service_account("n", "daemon", "");
        let node = User::new("system:node:one", &[]);
        let list = Attributes::resource("list", "", "pods", "", "");
        assert!(become_user(&policy, &daemon, &node, &list, None).is_err());
        daemon.extra.insert(NODE_NAME.to_owned(), vec!["one".to_owned()]);
        let (user, way) = become_user(&policy, &daemon, &node, &list, None).unwrap();
        assert_eq!(
            (way, user.groups),
            (Way::AssociatedNode, vec![NODES.to_owned(), AUTHENTICATED.to_owned()])
        );
        let other = User::new("system:node:two", &[]);
        assert!(become_user(&policy, &daemon, &other, &list, None).is_err());
        let get = Attributes::resource("get", "", "pods", "", "");
        assert!(become_user(&policy, &daemon, &node, &get, None).is_err());
    }
}
