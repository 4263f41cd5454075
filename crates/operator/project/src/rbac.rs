//! The least that an operator has to be allowed, from what its charts render.
//!
//! ```text
//! rendered objects ─┐
//! the resources    ─┼─▶ grants per namespace ──▶ few sorted rules ──▶ ClusterRole, Roles, bindings
//! records, Events  ─┘
//! ```

mod merge;

use std::collections::BTreeMap;

use podium_meta::Resource;
use serde_json::{Value, json};

pub use merge::Rule;
use merge::{Grants, all};

const RBAC: &str = "rbac.authorization.k8s.io";
const LEASES: (&str, &str) = ("coordination.k8s.io", "leases");

/// Objects are applied, pruned, and watched for drift.
const OBJECT: &[&str] = &["create", "delete", "get", "list", "patch", "watch"];
/// Hooks are made and deleted, and nobody looks after them later.
const HOOK: &[&str] = &["create", "delete", "get", "patch"];
/// Definitions of `crds/` never go: everything of their kinds would go with them.
const DEFINITION: &[&str] = &["create", "get", "patch"];
/// Resources get a finalizer; nobody makes or deletes them but their users.
const CUSTOM: &[&str] = &["get", "list", "patch", "watch"];
const STATUS: &[&str] = &["patch"];
/// An owner reference that blocks deletion needs this of its owner, where a cluster checks that.
const FINALIZERS: &[&str] = &["update"];
const RECORD: &[&str] = &["create", "delete", "get", "list", "update", "watch"];
const EVENT: &[&str] = &["create", "patch"];
/// Operators find each other by their Leases.
const OTHERS: &[&str] = &["list", "watch"];
/// The Lease that says that this one is there, and the one of whoever leads.
const LEASE: &[&str] = &["create", "delete", "get", "patch", "update"];

/// Where the resources of an operator are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In any namespace.
    Cluster,
    /// In these.
    Namespaces(Vec<String>),
}

/// What an object is for its chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// It is there as long as the release is.
    Object,
    /// It is there at moments of the release's life.
    Hook,
    /// It is a definition of `crds/`.
    Definition,
}

/// Something beside the resources that an operator reads.
#[derive(Clone, Debug)]
pub struct Read {
    /// What.
    pub resource: Resource,
    /// Its namespace, if it is not that of the release.
    pub namespace: Option<String>,
    /// How.
    pub verbs: &'static [&'static str],
}

/// An object that a chart renders.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// What it is for its chart.
    pub part: Part,
    /// Where a server keeps it.
    pub resource: Resource,
    /// Its namespace, if it is not that of the release.
    pub namespace: Option<String>,
    /// The object: roles and bindings are looked into.
    pub object: Value,
}

/// What an operator does.
#[derive(Clone, Debug)]
pub struct Duties<'a> {
    /// The resources that it answers for.
    pub custom: &'a [Resource],
    /// What its charts render.
    pub objects: &'a [Rendered],
    /// What it reads beside the resources, such as ConfigMaps with values.
    pub reads: &'a [Read],
    /// Where its resources are.
    pub scope: Scope,
    /// The namespace that it runs in.
    pub namespace: &'a str,
}

/// Rules for the whole cluster, and for namespaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Of a ClusterRole.
    pub cluster: Vec<Rule>,
    /// Of a Role in each namespace.
    pub namespaces: BTreeMap<String, Vec<Rule>>,
}

/// The least rules for the duties of an operator.
pub fn rules(duties: &Duties<'_>) -> Rules {
    let mut ledger = Ledger { duties, cluster: Grants::default(), namespaces: BTreeMap::new() };
    for custom in duties.custom {
        let at = |name: &str| format!("{}{name}", custom.plural);
        let place = if custom.namespaced { Place::Resources } else { Place::Cluster };
        let group = &custom.kind.group;
        ledger.grant(&place, group, &custom.plural, CUSTOM);
        ledger.grant(&place, group, &at("/status"), STATUS);
        ledger.grant(&place, group, &at("/finalizers"), FINALIZERS);
    }
    let home = Place::In(duties.namespace.to_owned());
    ledger.grant(&Place::Resources, "", "secrets", RECORD);
    ledger.grant(&Place::Resources, "", "events", EVENT);
    // What no resource can be told is told about the operator's Lease.
    ledger.grant(&home, "", "events", EVENT);
    // The releases of resources without a namespace are where the operator is.
    if duties.custom.iter().any(|custom| !custom.namespaced) {
        ledger.grant(&home, "", "secrets", RECORD);
    }
    // Who may only see some namespaces sees the operators of its own.
    let others = if duties.scope == Scope::Cluster { &Place::Resources } else { &home };
    ledger.grant(others, LEASES.0, LEASES.1, OTHERS);
    ledger.grant(&home, LEASES.0, LEASES.1, LEASE);
    for Read { resource, namespace, verbs } in duties.reads {
        ledger.grant(&place(resource, namespace.as_deref()), &resource.kind.group, &resource.plural, verbs);
    }
    for rendered in duties.objects {
        ledger.object(rendered);
    }
    ledger.finish()
}

/// Where something is allowed.
#[derive(Clone, Debug)]
enum Place {
    Cluster,
    /// Where the resources are.
    Resources,
    In(String),
}

fn place(resource: &Resource, namespace: Option<&str>) -> Place {
    match namespace {
        _ if !resource.namespaced => Place::Cluster,
        Some(namespace) => Place::In(namespace.to_owned()),
        None => Place::Resources,
    }
}

struct Ledger<'a> {
    duties: &'a Duties<'a>,
    cluster: Grants,
    namespaces: BTreeMap<String, Grants>,
}

impl Ledger<'_> {
    fn add(&mut self, place: &Place, rule: Rule) {
        match (place, &self.duties.scope) {
            (Place::Cluster, _) | (Place::Resources, Scope::Cluster) => self.cluster.add(rule),
            (Place::Resources, Scope::Namespaces(names)) => {
                for name in names {
                    self.namespaces.entry(name.clone()).or_default().add(rule.clone());
                }
            }
            (Place::In(name), _) => self.namespaces.entry(name.clone()).or_default().add(rule),
        }
    }

    fn grant(&mut self, place: &Place, group: &str, resource: &str, verbs: &[&str]) {
        let rule = Rule {
            groups: all([group]),
            resources: all([resource]),
            verbs: all(verbs.iter().copied()),
            ..Rule::default()
        };
        self.add(place, rule);
    }

    /// What an object needs, and what it hands on: nobody can grant what he has not.
    fn object(&mut self, rendered: &Rendered) {
        let Rendered { part, resource, namespace, object } = rendered;
        let place = place(resource, namespace.as_deref());
        let verbs = match part {
            Part::Object => OBJECT,
            Part::Hook => HOOK,
            Part::Definition => DEFINITION,
        };
        self.grant(&place, &resource.kind.group, &resource.plural, verbs);
        if resource.kind.group != RBAC {
            return;
        }
        match resource.kind.kind.as_str() {
            "Role" | "ClusterRole" => {
                for rule in object["rules"].as_array().into_iter().flatten() {
                    self.add(&place, Rule::read(rule));
                }
            }
            "RoleBinding" | "ClusterRoleBinding" => {
                self.binding(&place, namespace.as_deref(), &object["roleRef"])
            }
            _ => {}
        }
    }

    /// A binding to a role of the same charts needs no more than the role did; one to another role needs leave.
    fn binding(&mut self, place: &Place, namespace: Option<&str>, role: &Value) {
        let (kind, name) =
            (role["kind"].as_str().unwrap_or_default(), role["name"].as_str().unwrap_or_default());
        let plural = match kind {
            "Role" => "roles",
            "ClusterRole" => "clusterroles",
            _ => return,
        };
        let rendered = self.duties.objects.iter().any(|other| {
            other.resource.kind.group == RBAC
                && other.resource.kind.kind == kind
                && other.object["metadata"]["name"].as_str() == Some(name)
                && (kind == "ClusterRole" || other.namespace.as_deref() == namespace)
        });
        if !rendered {
            let rule = Rule {
                groups: all([RBAC]),
                resources: all([plural]),
                names: all([name]),
                verbs: all(["bind"]),
                ..Rule::default()
            };
            self.add(place, rule);
        }
    }

    fn finish(self) -> Rules {
        let cluster = self.cluster.merged(None);
        let namespaces = self
            .namespaces
            .into_iter()
            .map(|(name, grants)| (name, grants.merged(Some(&self.cluster))))
            .filter(|(_, rules)| !rules.is_empty())
            .collect();
        Rules { cluster, namespaces }
    }
}

impl Rules {
    /// Roles of a name with these rules, each with a binding to a service account.
    pub fn objects(&self, name: &str, account_namespace: &str, account: &str) -> Vec<Value> {
        let mut objects = Vec::new();
        if !self.cluster.is_empty() {
            objects.extend(role_and_binding(
                "Cluster",
                name,
                None,
                &self.cluster,
                account_namespace,
                account,
            ));
        }
        for (namespace, rules) in &self.namespaces {
            objects.extend(role_and_binding("", name, Some(namespace), rules, account_namespace, account));
        }
        objects
    }
}

fn role_and_binding(
    prefix: &str,
    name: &str,
    namespace: Option<&str>,
    rules: &[Rule],
    account_namespace: &str,
    account: &str,
) -> [Value; 2] {
    let mut metadata = json!({ "name": name });
    if let Some(namespace) = namespace {
        metadata["namespace"] = namespace.into();
    }
    let api = format!("{RBAC}/v1");
    let rules: Vec<Value> = rules.iter().map(Rule::to_json).collect();
    [
        json!({ "apiVersion": api, "kind": format!("{prefix}Role"), "metadata": metadata, "rules": rules }),
        json!({
            "apiVersion": api,
            "kind": format!("{prefix}RoleBinding"),
            "metadata": metadata,
            "roleRef": { "apiGroup": RBAC, "kind": format!("{prefix}Role"), "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": account_namespace }],
        }),
    ]
}

#[cfg(test)]
mod tests;
