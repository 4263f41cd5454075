//! OpenAPI documents: what is served, and what its objects look like.

use podium_resources::openapi::{full, schemas};
use serde_json::{Map, Value, json};

use crate::served::{Resource, Served};

/// The part of the address of a document: `api/v1`, `apis/apps/v1`.
pub fn path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

/// The document of a group and version.
pub fn document(served: &Served, group: &str, version: &str) -> Option<Value> {
    let resources = served.version(group, version)?;
    let mut paths = Map::new();
    let mut components = Map::new();
    for resource in resources.values() {
        let (name, schema) = match &resource.custom {
            Some(custom) => {
                let name = custom.schema_name(&resource.kind);
                components.extend(custom.schemas(&resource.kind));
                (name, None)
            }
            None => (podium_resources::kinds().schema_name(&resource.kind).unwrap_or_default(), Some(())),
        };
        let _ = schema;
        for (address, item) in addresses(resource, &name) {
            paths.insert(address, item);
        }
    }
    let built_in: Vec<_> = resources
        .values()
        .filter(|resource| resource.custom.is_none())
        .map(|resource| &resource.kind)
        .collect();
    if built_in.is_empty() {
        // What users define is made of the same metadata.
        let meta = schemas([&podium_meta::GroupVersionKind::new("v1", "ConfigMap")]);
        components.extend(meta.into_iter().filter(|(name, _)| name.contains(".meta.")));
    } else {
        components.extend(schemas(built_in));
    }
    Some(json!({"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": crate::version::GIT_VERSION},
        "paths": paths, "components": {"schemas": components}}))
}

/// The addresses of a resource, with what can be done there.
fn addresses(resource: &Resource, schema: &str) -> Vec<(String, Value)> {
    let root = format!("/{}", path(&resource.kind.group, &resource.kind.version));
    let scope = if resource.namespaced { "/namespaces/{namespace}" } else { "" };
    let collection = format!("{root}{scope}/{}", resource.plural);
    let mut all = vec![
        (
            collection.clone(),
            item(
                resource,
                schema,
                &[("get", "list"), ("post", "create"), ("delete", "deletecollection")],
                false,
            ),
        ),
        (
            format!("{collection}/{{name}}"),
            item(
                resource,
                schema,
                &[("get", "get"), ("put", "update"), ("patch", "patch"), ("delete", "delete")],
                true,
            ),
        ),
    ];
    if resource.namespaced {
        all.push((format!("{root}/{}", resource.plural), item(resource, schema, &[("get", "list")], false)));
    }
    all.retain(|(_, item)| item.as_object().is_some_and(|item| item.len() > 1));
    all
}

fn item(resource: &Resource, schema: &str, verbs: &[(&str, &str)], named: bool) -> Value {
    let mut item = Map::new();
    let query =
        |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
    let mut parameters = Vec::new();
    if named {
        parameters
            .push(json!({"name": "name", "in": "path", "required": true, "schema": {"type": "string"}}));
    }
    if resource.namespaced {
        parameters
            .push(json!({"name": "namespace", "in": "path", "required": true, "schema": {"type": "string"}}));
    }
    item.insert("parameters".to_owned(), Value::Array(parameters));
    for (method, verb) in verbs {
        if !resource.allows(verb) {
            continue;
        }
        let action = match *verb {
            "create" => "post",
            "update" => "put",
            other => other,
        };
        let names: &[&str] = match *verb {
            "create" | "update" => &["dryRun", "fieldManager", "fieldValidation"],
            "patch" => &["dryRun", "fieldManager", "fieldValidation", "force"],
            "list" => &["continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "watch"],
            _ => &[],
        };
        let parameters: Vec<Value> = names.iter().map(|name| query(name)).collect();
        let mut operation = json!({"parameters": parameters, "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": full(&resource.kind),
            "responses": {"200": {"description": "OK", "content": {"application/json": {"schema":
                {"$ref": format!("#/components/schemas/{schema}")}}}}}});
        if *verb == "patch"
            && let Some(operation) = operation.as_object_mut()
        {
            let any = json!({"schema": {"type": "object"}});
            operation.insert(
                "requestBody".to_owned(),
                json!({"content": {"application/apply-patch+yaml": any, "application/json-patch+json": any,
                    "application/merge-patch+json": any}, "required": true}),
            );
        }
        item.insert((*method).to_owned(), operation);
    }
    Value::Object(item)
}
