//! What everybody may do: all roles and bindings, found by who they are for.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::Value;

use crate::attributes::Attributes;
use crate::refusal::{RBAC, Refusal};
use crate::rule::Rule;
use crate::text::{aggregate, quote};
use crate::user::{MASTERS, User, account_name, is_account};

/// Whether something may be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether it may.
    pub allowed: bool,
    /// Which binding allows it, or what is wrong with bindings that might.
    pub reason: String,
}

/// All roles and bindings. A clone shares the rules with the original.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// By namespace; what belongs to none is under the empty name.
    scopes: HashMap<String, Scope>,
}

#[derive(Clone, Debug, Default)]
struct Scope {
    roles: HashMap<String, Arc<[Rule]>>,
    bindings: BTreeMap<String, Arc<Binding>>,
    /// The names of the bindings for a user.
    users: HashMap<String, BTreeSet<String>>,
    /// The names of the bindings for a group.
    groups: HashMap<String, BTreeSet<String>>,
}

#[derive(Debug)]
struct Binding {
    name: String,
    namespace: String,
    role_kind: String,
    role_name: String,
    subjects: Vec<Subject>,
}

#[derive(Debug)]
struct Subject {
    kind: String,
    name: String,
    namespace: String,
}

/// Where a rule comes from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'p> {
    binding: &'p Binding,
    subject: &'p Subject,
}

/// What is found of a user's rights: a rule with its source, or a role that is missing.
pub type Found<'p> = Result<(Source<'p>, &'p Rule), Missing<'p>>;

/// A role that a binding names and that is not there.
#[derive(Clone, Copy, Debug)]
pub struct Missing<'p> {
    /// Its kind.
    pub kind: &'p str,
    /// Its name.
    pub name: &'p str,
}

fn word<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

impl Policy {
    /// From many objects at once; other kinds are passed over.
    pub fn of<'v>(objects: impl IntoIterator<Item = &'v Value>) -> Self {
        let mut policy = Self::default();
        objects.into_iter().for_each(|object| policy.put(object));
        policy
    }

    /// Takes in a new or changed Role, ClusterRole, RoleBinding or ClusterRoleBinding.
    pub fn put(&mut self, object: &Value) {
        let (namespace, name) = (word(object, "/metadata/namespace"), word(object, "/metadata/name"));
        let scope = self.scopes.entry(namespace.to_owned()).or_default();
        match word(object, "/kind") {
            "Role" | "ClusterRole" => drop(scope.roles.insert(name.to_owned(), Rule::all(object).into())),
            "RoleBinding" | "ClusterRoleBinding" => {
                scope.unbind(name);
                scope.bind(Binding::read(object));
            }
            _ => {}
        }
    }

    /// Forgets an object.
    pub fn remove(&mut self, kind: &str, namespace: &str, name: &str) {
        let Some(scope) = self.scopes.get_mut(namespace) else { return };
        match kind {
            "Role" | "ClusterRole" => drop(scope.roles.remove(name)),
            "RoleBinding" | "ClusterRoleBinding" => scope.unbind(name),
            _ => {}
        }
        if scope.roles.is_empty() && scope.bindings.is_empty() {
            self.scopes.remove(namespace);
        }
    }

    /// Whether somebody may do something.
    pub fn authorize(&self, user: &User, request: &Attributes) -> Decision {
        if user.is_in(MASTERS) {
            return Decision { allowed: true, reason: String::new() };
        }
        let mut missing = Vec::new();
        let allowed = self.visit(user, &request.namespace, |found| match found {
            Ok((source, rule)) if rule.allows(request) => ControlFlow::Break(source.to_string()),
            Ok(_) => ControlFlow::Continue(()),
            Err(role) => {
                missing.push(role.singular());
                ControlFlow::Continue(())
            }
        });
        match allowed {
            Some(source) => Decision { allowed: true, reason: format!("RBAC: allowed by {source}") },
            None if missing.is_empty() => Decision::default(),
            None => Decision { allowed: false, reason: format!("RBAC: {}", aggregate(&missing)) },
        }
    }

    /// All rules for somebody in a namespace, or everywhere if it is empty, and what is missing.
    pub fn rules<'p>(&'p self, user: &User, namespace: &str) -> (Vec<&'p Rule>, Vec<Missing<'p>>) {
        let (mut rules, mut missing) = (Vec::new(), Vec::new());
        let _: Option<()> = self.visit(user, namespace, |found| {
            match found {
                Ok((_, rule)) => rules.push(rule),
                Err(role) => missing.push(role),
            }
            ControlFlow::Continue(())
        });
        (rules, missing)
    }

    /// The rules of a role that a binding in a namespace (or in none) names.
    pub fn role(&self, kind: &str, namespace: &str, name: &str) -> Option<&[Rule]> {
        let place = match (kind, namespace) {
            ("ClusterRole", _) => "",
            // The roles without a namespace are others.
            ("Role", namespace) if !namespace.is_empty() => namespace,
            _ => return None,
        };
        self.scopes.get(place)?.roles.get(name).map(|rules| &**rules)
    }

    /// Shows every rule for somebody, binding by binding: those of the cluster, then those of the namespace.
    pub fn visit<'p, T>(
        &'p self,
        user: &User,
        namespace: &str,
        mut see: impl FnMut(Found<'p>) -> ControlFlow<T>,
    ) -> Option<T> {
        let places = if namespace.is_empty() { [Some(""), None] } else { [Some(""), Some(namespace)] };
        for scope in places.into_iter().flatten().filter_map(|place| self.scopes.get(place)) {
            for (binding, subject) in scope.bindings_for(user) {
                let source = Source { binding, subject };
                let Some(rules) = self.role(&binding.role_kind, &binding.namespace, &binding.role_name)
                else {
                    let missing = Missing { kind: &binding.role_kind, name: &binding.role_name };
                    match see(Err(missing)) {
                        ControlFlow::Break(result) => return Some(result),
                        ControlFlow::Continue(()) => continue,
                    }
                };
                for rule in rules {
                    if let ControlFlow::Break(result) = see(Ok((source, rule))) {
                        return Some(result);
                    }
                }
            }
        }
        None
    }
}

impl Scope {
    fn bind(&mut self, binding: Binding) {
        for (users, who) in binding.keys() {
            let index = if users { &mut self.users } else { &mut self.groups };
            index.entry(who).or_default().insert(binding.name.clone());
        }
        self.bindings.insert(binding.name.clone(), Arc::new(binding));
    }

    fn unbind(&mut self, name: &str) {
        let Some(binding) = self.bindings.remove(name) else { return };
        for (users, who) in binding.keys() {
            let index = if users { &mut self.users } else { &mut self.groups };
            if let Some(names) = index.get_mut(&who) {
                names.remove(name);
                if names.is_empty() {
                    index.remove(&who);
                }
            }
        }
    }

    /// The bindings for somebody in the order of their names, each with the first subject that they are.
    fn bindings_for(&self, user: &User) -> Vec<(&Binding, &Subject)> {
        let groups = user.groups.iter().filter_map(|group| self.groups.get(group));
        let mut names: Vec<&String> =
            self.users.get(&user.name).into_iter().chain(groups).flatten().collect();
        names.sort_unstable();
        names.dedup();
        let found = names.into_iter().filter_map(|name| self.bindings.get(name));
        found.filter_map(|binding| Some((&**binding, binding.subject(user)?))).collect()
    }
}

impl Binding {
    fn read(object: &Value) -> Self {
        let own = |pointer: &str| word(object, pointer).to_owned();
        let subject = |subject: &Value| Subject {
            kind: word(subject, "/kind").to_owned(),
            name: word(subject, "/name").to_owned(),
            namespace: word(subject, "/namespace").to_owned(),
        };
        let subjects = object.get("subjects").and_then(Value::as_array).into_iter().flatten().map(subject);
        Self {
            name: own("/metadata/name"),
            namespace: own("/metadata/namespace"),
            role_kind: own("/roleRef/kind"),
            role_name: own("/roleRef/name"),
            subjects: subjects.collect(),
        }
    }

    fn subject(&self, user: &User) -> Option<&Subject> {
        self.subjects.iter().find(|subject| match subject.kind.as_str() {
            "Group" => user.is_in(&subject.name),
            "User" => subject.name == user.name,
            "ServiceAccount" => is_account(&user.name, subject.place(&self.namespace), &subject.name),
            _ => false,
        })
    }

    /// Under which names it is found: of a user (true) or of a group.
    fn keys(&self) -> impl Iterator<Item = (bool, String)> {
        self.subjects.iter().filter_map(|subject| match subject.kind.as_str() {
            "Group" => Some((false, subject.name.clone())),
            _ => Some((true, subject.user(&self.namespace)?)),
        })
    }
}

impl Subject {
    /// A service account belongs to the namespace of the binding if it says nothing else.
    fn place<'s>(&'s self, namespace: &'s str) -> &'s str {
        if self.namespace.is_empty() { namespace } else { &self.namespace }
    }

    /// The user name of a subject that is one user.
    fn user(&self, namespace: &str) -> Option<String> {
        match (self.kind.as_str(), self.place(namespace)) {
            ("User", _) => Some(self.name.clone()),
            ("ServiceAccount", "") => None,
            ("ServiceAccount", place) => Some(account_name(place, &self.name)),
            _ => None,
        }
    }
}

impl std::fmt::Display for Source<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { binding, subject } = self;
        let (kind, name) = match binding.namespace.as_str() {
            "" => ("ClusterRoleBinding", binding.name.clone()),
            namespace => ("RoleBinding", format!("{}/{namespace}", binding.name)),
        };
        let who = match subject.kind.as_str() {
            "ServiceAccount" => format!("{}/{}", subject.name, subject.place(&binding.namespace)),
            _ => subject.name.clone(),
        };
        let role = quote(&binding.role_name);
        let (role_kind, subject_kind) = (&binding.role_kind, &subject.kind);
        write!(f, "{kind} {} of {role_kind} {role} to {subject_kind} {}", quote(&name), quote(&who))
    }
}

impl Missing<'_> {
    /// What is said where rights are checked.
    pub fn singular(&self) -> String {
        match self.kind {
            "Role" => self.said("role"),
            "ClusterRole" => self.said("clusterrole"),
            other => format!("unsupported role reference kind: {}", quote(other)),
        }
    }

    /// What is said where something is written: the server takes what it looks for to be of the kind that is written.
    pub fn written(&self, resource: &str) -> String {
        match self.kind {
            "Role" | "ClusterRole" => self.said(resource),
            _ => self.singular(),
        }
    }

    fn said(&self, resource: &str) -> String {
        Refusal::not_found(RBAC, resource, self.name).message
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn role(kind: &str, namespace: &str, name: &str, verb: &str) -> Value {
        json!({"kind": kind, "metadata": {"name": name, "namespace": namespace},
            "rules": [{"verbs": [verb], "apiGroups": [""], "resources": ["pods"]}]})
    }

    fn binding(namespace: &str, name: &str, role: (&str, &str), subjects: &[(&str, &str, &str)]) -> Value {
        let subjects: Vec<Value> = subjects
            .iter()
            .map(|(kind, name, namespace)| json!({"kind": kind, "name": name, "namespace": namespace}))
            .collect();
        let kind = if namespace.is_empty() { "ClusterRoleBinding" } else { "RoleBinding" };
        json!({"kind": kind, "metadata": {"name": name, "namespace": namespace},
            "roleRef": {"kind": role.0, "name": role.1}, "subjects": subjects})
    }

    fn may(policy: &Policy, user: &User, verb: &str, namespace: &str) -> (bool, String) {
        let decision = policy.authorize(user, &Attributes::resource(verb, "", "pods", namespace, "p"));
        (decision.allowed, decision.reason)
    }

    #[test]
    fn bindings_give_the_rules_of_their_roles() {
        let mut policy = Policy::of(&[
            role("ClusterRole", "", "reader", "get"),
            role("Role", "n", "writer", "update"),
            binding("", "all", ("ClusterRole", "reader"), &[("User", "bob", ""), ("Group", "devs", "")]),
            binding("n", "some", ("Role", "writer"), &[("ServiceAccount", "robot", ""), ("User", "bob", "")]),
            binding("n", "other", ("ClusterRole", "reader"), &[("ServiceAccount", "robot", "m")]),
        ]);
        let (bob, eve) = (User::new("bob", &["devs"]), User::new("eve", &["devs"]));
        let robot = User::service_account("n", "robot", "");
        let of = "RBAC: allowed by ";
        for (user, verb, namespace, reason) in [
            (&bob, "get", "", r#"ClusterRoleBinding "all" of ClusterRole "reader" to User "bob""#),
            (&eve, "get", "x", r#"ClusterRoleBinding "all" of ClusterRole "reader" to Group "devs""#),
            (&bob, "update", "n", r#"RoleBinding "some/n" of Role "writer" to User "bob""#),
            (&robot, "update", "n", r#"RoleBinding "some/n" of Role "writer" to ServiceAccount "robot/n""#),
        ] {
            assert_eq!(may(&policy, user, verb, namespace), (true, format!("{of}{reason}")));
        }
        for (user, verb, namespace) in
            [(&bob, "update", ""), (&bob, "update", "m"), (&eve, "update", "n"), (&robot, "get", "n")]
        {
            assert_eq!(
                may(&policy, user, verb, namespace),
                (false, String::new()),
                "{user:?} {verb} {namespace}"
            );
        }
        assert!(may(&policy, &User::service_account("m", "robot", ""), "get", "n").0);
        assert!(may(&policy, &User::new("x", &[MASTERS]), "delete", "").0);

        policy.put(&binding("", "all", ("ClusterRole", "reader"), &[("User", "eve", "")]));
        assert!(!may(&policy, &bob, "get", "").0);
        assert!(may(&policy, &eve, "get", "").0);
        policy.remove("ClusterRoleBinding", "", "all");
        assert!(!may(&policy, &eve, "get", "").0);
        policy.remove("Role", "n", "writer");
        let gone = r#"RBAC: role.rbac.authorization.k8s.io "writer" not found"#;
        assert_eq!(may(&policy, &bob, "update", "n"), (false, gone.to_owned()));
        for (kind, name) in [("RoleBinding", "some"), ("RoleBinding", "other")] {
            policy.remove(kind, "n", name);
        }
        policy.remove("ClusterRole", "", "reader");
        assert!(policy.scopes.is_empty());
    }

    #[test]
    fn a_binding_of_the_cluster_finds_no_role_of_a_namespace() {
        let policy = Policy::of(&[
            role("ClusterRole", "", "same", "get"),
            binding("", "b", ("Role", "same"), &[("User", "bob", "")]),
            binding("", "c", ("Job", "same"), &[("User", "bob", "")]),
        ]);
        let reason = r#"RBAC: [role.rbac.authorization.k8s.io "same" not found, unsupported role reference kind: "Job"]"#;
        assert_eq!(may(&policy, &User::new("bob", &[]), "get", "n"), (false, reason.to_owned()));
    }
}
