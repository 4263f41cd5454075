//! Accounts, roles and bindings.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Job, Object};
use crate::names::{hash, joined};
use crate::types::{self, name};
use crate::value::{list, text};

const RBAC: &str = "rbac.authorization.k8s.io";

fn permissions<'a>(job: &'a Job<'_>, which: &str) -> &'a [Value] {
    list(&job.registry.csv.value, &format!("/spec/install/spec/{which}"))
}

fn account(permission: &Value) -> &str {
    match text(permission, "/serviceAccountName") {
        "" => "default",
        name => name,
    }
}

/// The accounts that permissions are for; the one that is always there is not made.
pub fn accounts(job: &Job<'_>) -> Vec<Object> {
    let both = permissions(job, "permissions").iter().chain(permissions(job, "clusterPermissions"));
    let names: BTreeSet<&str> = both.map(account).filter(|name| *name != "default").collect();
    let one = |name: &str| {
        let metadata = json!({"name": name, "namespace": job.options.namespace});
        let value = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata});
        Object::typed("core/v1.ServiceAccount", value)
    };
    names.into_iter().map(one).collect()
}

fn role_name(job: &Job<'_>, permission: &Value) -> String {
    let base = format!("{}-{}", text(&job.registry.csv.value, "/metadata/name"), account(permission));
    joined(&base, &hash(&types::written(name::PERMISSION, permission)))
}

fn pair(job: &Job<'_>, permission: &Value, namespace: Option<&str>) -> [Object; 2] {
    let name = role_name(job, permission);
    let (kind, role, binding) = match namespace {
        Some(_) => ("Role", "rbac/v1.Role", "rbac/v1.RoleBinding"),
        None => ("ClusterRole", "rbac/v1.ClusterRole", "rbac/v1.ClusterRoleBinding"),
    };
    let api_version = format!("{RBAC}/v1");
    let metadata = json!({"name": name, "namespace": namespace.unwrap_or_default()});
    let rules = permission.get("rules").unwrap_or(&Value::Null);
    let subject =
        json!({"kind": "ServiceAccount", "name": account(permission), "namespace": job.options.namespace});
    [
        Object::typed(
            role,
            json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "rules": rules}),
        ),
        Object::typed(
            binding,
            json!({
                "apiVersion": api_version, "kind": format!("{kind}Binding"), "metadata": metadata,
                "subjects": [subject], "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
            }),
        ),
    ]
}

/// What is allowed in each watched namespace.
pub fn roles(job: &Job<'_>) -> Vec<Object> {
    if job.everywhere() {
        return Vec::new();
    }
    let all = permissions(job, "permissions");
    let one = |namespace: &String| -> Vec<Object> {
        all.iter().flat_map(|permission| pair(job, permission, Some(namespace))).collect()
    };
    job.targets.iter().flat_map(one).collect()
}

/// What is allowed everywhere. Who watches all namespaces may do everywhere what he may do in one, and see which there
/// are.
pub fn cluster_roles(job: &Job<'_>) -> Vec<Object> {
    let mut all = permissions(job, "clusterPermissions").to_vec();
    if job.everywhere() {
        let see = json!({"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["namespaces"]});
        for permission in permissions(job, "permissions") {
            let mut permission = permission.clone();
            let mut rules = list(&permission, "/rules").to_vec();
            rules.push(see.clone());
            if let Some(object) = permission.as_object_mut() {
                object.insert("rules".to_owned(), Value::Array(rules));
            }
            all.push(permission);
        }
    }
    all.iter().flat_map(|permission| pair(job, permission, None)).collect()
}
