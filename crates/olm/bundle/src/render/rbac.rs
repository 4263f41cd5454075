//! Renders service accounts, roles and bindings.

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

/// Renders the service accounts of all permissions except `default`, which every namespace has.
pub fn service_accounts(ctx: &RenderContext<'_>) -> Vec<RenderedObject> {
    let all_permissions =
        permissions(ctx, "permissions").iter().chain(permissions(ctx, "clusterPermissions"));
    let names: BTreeSet<&str> =
        all_permissions.map(service_account_name).filter(|name| *name != "default").collect();
    let render = |name: &str| {
        let metadata = json!({"name": name, "namespace": ctx.options.install_namespace});
        let value = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata});
        RenderedObject::typed("core/v1.ServiceAccount", value)
    };
    names.into_iter().map(render).collect()
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

/// Renders a Role and RoleBinding per permission and target namespace.
pub fn roles(ctx: &RenderContext<'_>) -> Vec<RenderedObject> {
    if ctx.watches_all_namespaces() {
        return Vec::new();
    }
    let permissions_to_render = permissions(ctx, "permissions");
    let render = |namespace: &String| -> Vec<RenderedObject> {
        permissions_to_render
            .iter()
            .flat_map(|permission| role_and_binding(ctx, permission, Some(namespace)))
            .collect()
    };
    ctx.target_namespaces.iter().flat_map(render).collect()
}

/// Renders a ClusterRole and ClusterRoleBinding per cluster permission. With all namespaces as target,
/// namespaced permissions become cluster-wide and include reading namespaces.
pub fn cluster_roles(ctx: &RenderContext<'_>) -> Vec<RenderedObject> {
    let mut permissions_to_render = permissions(ctx, "clusterPermissions").to_vec();
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
            permissions_to_render.push(permission);
        }
    }
    permissions_to_render.iter().flat_map(|permission| role_and_binding(ctx, permission, None)).collect()
}
