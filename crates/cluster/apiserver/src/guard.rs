//! Who asks, and whether they may.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use http::header::AUTHORIZATION;
use podium_rbac::escalation;
use podium_rbac::impersonate;
use podium_rbac::token::{self, Bearer, Fixed, Issuer, bearer_of};
use podium_rbac::{Attributes, Policy, User, certificate};
use podium_serve::PeerCertificate;
use podium_store::Store;
use serde_json::Value;

use crate::clock;
use crate::follow::{Follower, News};
use crate::handle::Call;
use crate::refusal::{Outcome, Refusal};
use crate::served::place;

/// The group of roles.
const RBAC: &str = "rbac.authorization.k8s.io";
/// What rights are made of.
const RULES: &[(&str, &str)] = &[
    ("Role", "roles"),
    ("ClusterRole", "clusterroles"),
    ("RoleBinding", "rolebindings"),
    ("ClusterRoleBinding", "clusterrolebindings"),
];

/// Knows everybody, and what they may do.
pub struct Guard {
    store: Store,
    policy: Mutex<Rights>,
    fixed: Fixed,
    issuer: Issuer,
}

struct Rights {
    followers: Vec<Followed>,
    policy: Policy,
}

/// What is known of one kind.
struct Followed {
    kind: &'static str,
    follower: Follower,
    /// Namespaces and names.
    known: BTreeSet<(String, String)>,
}

impl Guard {
    /// Over the roles of a store; tokens are those that were agreed on and those of the issuer.
    pub fn new(store: &Store, fixed: Fixed, issuer: Issuer) -> Self {
        let follow = |(kind, plural): &(&'static str, &str)| Followed {
            kind,
            follower: Follower::new(store, &place(RBAC, plural)),
            known: BTreeSet::new(),
        };
        let followers = RULES.iter().map(follow).collect();
        let policy = Mutex::new(Rights { followers, policy: Policy::default() });
        Self { store: store.clone(), policy, fixed, issuer }
    }

    /// The issuer of tokens.
    pub fn issuer(&self) -> &Issuer {
        &self.issuer
    }

    /// Does something with the rights of this moment.
    pub fn with_policy<T>(&self, act: impl FnOnce(&Policy) -> T) -> T {
        let mut rights = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        let Rights { followers, policy } = &mut *rights;
        for Followed { kind, follower, known } in followers {
            follower.catch_up(|news| match news {
                News::Restart => {
                    for (namespace, name) in std::mem::take(known) {
                        policy.remove(kind, &namespace, &name);
                    }
                }
                News::Gone(object) => {
                    known.remove(&(object.namespace().to_owned(), object.name().to_owned()));
                    policy.remove(kind, object.namespace(), object.name());
                }
                News::Put(object) => {
                    known.insert((object.namespace().to_owned(), object.name().to_owned()));
                    policy.put(&serde_json::from_slice(object.body()).unwrap_or_default());
                }
            });
        }
        act(policy)
    }

    /// An object of the store that a token names.
    pub fn look_up(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        let path = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
        let found = self.store.collection(resource).get(&path)?;
        serde_json::from_slice(found.body()).ok()
    }

    /// Whose a token is.
    pub fn known(&self, text: &str, audiences: &[String]) -> Result<token::Known, token::Error> {
        let bearer = Bearer { fixed: &self.fixed, issuer: &self.issuer };
        let look_up = |resource: &str, namespace: &str, name: &str| self.look_up(resource, namespace, name);
        bearer.known(text, clock::seconds(), audiences, &look_up)
    }

    /// Who asks: by token, by certificate, or nobody that is known.
    pub fn authenticate(&self, call: &Call, peer: &PeerCertificate) -> Outcome<User> {
        let user = if let Some(text) = bearer_of(call.header(&AUTHORIZATION)) {
            let known = self.known(text, &self.issuer.audiences).map_err(|_| Refusal::unauthorized())?;
            known.user.authenticated()
        } else if let Some(shown) = &peer.0 {
            match certificate::identity(shown) {
                Ok(user) => user.authenticated(),
                // A certificate that names nobody is as good as none.
                Err(certificate::Unreadable::Nameless) => User::anonymous(),
                Err(_) => return Err(Refusal::unauthorized()),
            }
        } else {
            User::anonymous()
        };
        let headers =
            call.headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        match impersonate::wanted(headers)? {
            None => Ok(user),
            Some(wanted) => {
                let attributes = attributes(call)?;
                let other =
                    |policy: &Policy| impersonate::become_user(policy, &user, &wanted, &attributes, None);
                Ok(self.with_policy(other)?.0)
            }
        }
    }

    /// Refuses what somebody may not do.
    pub fn authorize(&self, user: &User, attributes: &Attributes) -> Outcome<()> {
        let decision = self.with_policy(|policy| policy.authorize(user, attributes));
        if decision.allowed { Ok(()) } else { Err(attributes.refusal(user, &decision).into()) }
    }

    /// Refuses roles and bindings that give more rights than their writer has.
    pub fn check_rights(
        &self,
        user: &User,
        namespace: &str,
        name: &str,
        new: &Value,
        old: Option<&Value>,
    ) -> Outcome<()> {
        let write = escalation::Write { namespace, name, new, old };
        Ok(self.with_policy(|policy| escalation::check(policy, user, &write))?)
    }
}

/// What a request is about, as rights see it.
pub fn attributes(call: &Call) -> Outcome<Attributes> {
    Attributes::of_request(call.method.as_str(), &call.path, call.query.pairs())
        .map_err(|error| Refusal::bad_request(error.to_string()))
}

impl From<podium_rbac::Refusal> for Refusal {
    fn from(refusal: podium_rbac::Refusal) -> Self {
        let details = refusal.status().get("details").cloned();
        Self { details, ..Self::new(refusal.code, refusal.reason, refusal.message) }
    }
}
