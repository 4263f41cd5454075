//! Accounts, roles and bindings.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{RenderContext, RenderedObject};
use crate::names::{deep_hash, object_name_with_suffix};
use crate::types::{self, type_name};
use crate::value::{array_at, string_at};

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

fn permissions<'a>(ctx: &'a RenderContext<'_>, section: &str) -> &'a [Value] {
    array_at(&ctx.bundle.csv.value, &format!("/spec/install/spec/{section}"))
}

fn service_account_name(permission: &Value) -> &str {
    match string_at(permission, "/serviceAccountName") {
        "" => "default",
        name => name,
    }
}

/// The accounts that permissions are for; the one that is always there is not made.
pub fn service_accounts(ctx: &RenderContext<'_>) -> Vec<RenderedObject> {
    let permissions_of_both =
        permissions(ctx, "permissions").iter().chain(permissions(ctx, "clusterPermissions"));
    let names: BTreeSet<&str> =
        permissions_of_both.map(service_account_name).filter(|name| *name != "default").collect();
    let object = |name: &str| {
        let metadata = json!({"name": name, "namespace": ctx.options.install_namespace});
        let value = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata});
        RenderedObject::typed("core/v1.ServiceAccount", value)
    };
    names.into_iter().map(object).collect()
}

fn role_name(ctx: &RenderContext<'_>, permission: &Value) -> String {
    let base = format!(
        "{}-{}",
        string_at(&ctx.bundle.csv.value, "/metadata/name"),
        service_account_name(permission)
    );
    object_name_with_suffix(&base, &deep_hash(&types::marshal(type_name::PERMISSION, permission)))
}

fn role_and_binding(
    ctx: &RenderContext<'_>,
    permission: &Value,
    namespace: Option<&str>,
) -> [RenderedObject; 2] {
    let name = role_name(ctx, permission);
    let (kind, role, binding) = match namespace {
        Some(_) => ("Role", "rbac/v1.Role", "rbac/v1.RoleBinding"),
        None => ("ClusterRole", "rbac/v1.ClusterRole", "rbac/v1.ClusterRoleBinding"),
    };
    let api_version = format!("{RBAC_GROUP}/v1");
    let metadata = json!({"name": name, "namespace": namespace.unwrap_or_default()});
    let rules = permission.get("rules").unwrap_or(&Value::Null);
    let subject = json!({"kind": "ServiceAccount", "name": service_account_name(permission), "namespace": ctx.options.install_namespace});
    [
        RenderedObject::typed(
            role,
            json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "rules": rules}),
        ),
        RenderedObject::typed(
            binding,
            json!({
                "apiVersion": api_version, "kind": format!("{kind}Binding"), "metadata": metadata,
                "subjects": [subject], "roleRef": {"apiGroup": RBAC_GROUP, "kind": kind, "name": name},
            }),
        ),
    ]
}

/// What is allowed in each watched namespace.
pub fn roles(ctx: &RenderContext<'_>) -> Vec<RenderedObject> {
    if ctx.watches_all_namespaces() {
        return Vec::new();
    }
    let permissions_list = permissions(ctx, "permissions");
    let object = |namespace: &String| -> Vec<RenderedObject> {
        permissions_list
            .iter()
            .flat_map(|permission| role_and_binding(ctx, permission, Some(namespace)))
            .collect()
    };
    ctx.target_namespaces.iter().flat_map(object).collect()
}

/// What is allowed everywhere. Who watches all namespaces may do everywhere what he may do in one, and see which there
/// are.
pub fn cluster_roles(ctx: &RenderContext<'_>) -> Vec<RenderedObject> {
    let mut permissions_list = permissions(ctx, "clusterPermissions").to_vec();
    if ctx.watches_all_namespaces() {
        let watch_namespaces =
            json!({"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["namespaces"]});
        for permission in permissions(ctx, "permissions") {
            let mut permission = permission.clone();
            let mut rules = array_at(&permission, "/rules").to_vec();
            rules.push(watch_namespaces.clone());
            if let Some(object) = permission.as_object_mut() {
                object.insert("rules".to_owned(), Value::Array(rules));
            }
            permissions_list.push(permission);
        }
    }
    permissions_list.iter().flat_map(|permission| role_and_binding(ctx, permission, None)).collect()
}
