//! Go types of the objects in a bundle: decoding into a type and marshalling in its field order.

use std::sync::OnceLock;

use podium_goyaml::Node;
use podium_resources::table::TypeId;
use podium_resources::typed::{json, write};
use podium_resources::{Kinds, kinds_with};
use serde_json::Value;

use crate::value::marshal_json;

/// Names of the types that this crate decodes.
pub mod type_name {
    pub const CSV: &str = "operators/v1alpha1.ClusterServiceVersion";
    pub const PERMISSION: &str = "operators/v1alpha1.StrategyDeploymentPermissions";
    pub const CONFIG: &str = "operators/v1alpha1.SubscriptionConfig";
    pub const CSV_METADATA: &str = "property.CSVMetadata";
    pub const CRD: &str = "apiextensions/v1.CustomResourceDefinition";
    pub const CRD_V1BETA1: &str = "apiextensions/v1beta1.CustomResourceDefinition";
    pub const DEPLOYMENT_SPEC: &str = "apps/v1.DeploymentSpec";
    pub const OBJECT_META: &str = "meta/v1.ObjectMeta";
}

/// Type table: the built-in Kubernetes types and the types of `csv.txt`.
fn table() -> &'static Kinds {
    static TABLE: OnceLock<Kinds> = OnceLock::new();
    TABLE.get_or_init(|| kinds_with(include_str!("csv.txt")))
}

fn id(name: &str) -> Option<TypeId> {
    table().named(name)
}

/// Decodes a node into a type; unknown fields are dropped. An error says which value does not fit.
pub fn decode(name: &str, node: &Node) -> Result<Value, String> {
    decode_json(name, marshal_json(node).as_bytes())
}

/// Like [`decode`], but matches keys to fields case-insensitively, as opm does.
pub fn decode_case_insensitive(name: &str, node: &Node) -> Result<Value, String> {
    let id = id(name).ok_or_else(|| format!("no type {name}"))?;
    let text = marshal_json(node);
    json::read_folded_as(table(), id, text.as_bytes())
        .map(|(value, _)| value)
        .map_err(|error| error.to_string())
}

/// Decodes a JSON value into a type.
pub fn convert(name: &str, value: &Value) -> Result<Value, String> {
    decode_json(name, value.to_string().as_bytes())
}

fn decode_json(name: &str, text: &[u8]) -> Result<Value, String> {
    let id = id(name).ok_or_else(|| format!("no type {name}"))?;
    json::read_as(table(), id, text).map(|(value, _)| value).map_err(|error| error.to_string())
}

/// Marshals a value in the field order of its type, with HTML characters escaped.
pub fn marshal(name: &str, value: &Value) -> String {
    match id(name) {
        Some(id) => write::to_json_of(table(), id, value),
        None => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{convert, decode_case_insensitive, id, marshal, type_name};
    use serde_json::json;

    #[test]
    fn table_has_every_referenced_type() {
        for name in [
            type_name::CSV,
            type_name::PERMISSION,
            type_name::CONFIG,
            type_name::CSV_METADATA,
            type_name::CRD,
            type_name::CRD_V1BETA1,
            type_name::DEPLOYMENT_SPEC,
            type_name::OBJECT_META,
        ] {
            assert!(id(name).is_some(), "{name}");
        }
        // A type reference that the table does not resolve would accept any value.
        for line in include_str!("csv.txt").lines().filter(|line| line.starts_with(' ')) {
            let ty = line.split(' ').nth(4).unwrap().trim_start_matches(['*', '[', ']', '{', '}']);
            if let Some((package, _)) = ty.split_once('.').filter(|(package, _)| package.contains('/')) {
                assert!(id(ty).is_some(), "{ty} of {package}");
            }
        }
    }

    #[test]
    fn case_insensitive_decode_matches_any_key_case() {
        let node = crate::value::to_node(&json!({"Name": "a", "labels": {"A": "b"}}));
        let loose = decode_case_insensitive(type_name::OBJECT_META, &node).unwrap();
        assert_eq!(loose, json!({"name": "a", "labels": {"A": "b"}}));
        assert_eq!(super::decode(type_name::OBJECT_META, &node).unwrap(), json!({"labels": {"A": "b"}}));
    }

    #[test]
    fn marshals_permissions_in_field_order() {
        let rules = json!([{"resources": ["a"], "apiGroups": [""], "verbs": ["get"]}]);
        let value = convert(type_name::PERMISSION, &json!({"rules": rules})).unwrap();
        assert_eq!(
            marshal(type_name::PERMISSION, &value),
            r#"{"serviceAccountName":"","rules":[{"verbs":["get"],"apiGroups":[""],"resources":["a"]}]}"#
        );
        assert_eq!(
            marshal(type_name::PERMISSION, &convert(type_name::PERMISSION, &json!({})).unwrap()),
            r#"{"serviceAccountName":"","rules":null}"#
        );
    }
}
