//! Parses manifests into objects.

use podium_chart::dialect::HELM4;
use podium_chart::manifest;
use podium_goyaml::{List, Map as TreeMap, Node, Pos, Value as Tree, yaml};
use podium_sprig::encoding::base64_encode;
use serde_json::{Map, Number, Value};

use crate::object_ref::{ObjectRef, document_objects};
use crate::ownership::{MANAGED_BY, RELEASE_NAME, RELEASE_NAMESPACE, ReleaseRef};

/// An object of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Its reference.
    pub object_ref: ObjectRef,
    /// The complete object.
    pub body: Value,
}

/// Maximum nesting depth; responses about deeper objects could not be parsed.
const MAX_DEPTH: usize = 120;

/// Why a document is not an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Invalid YAML.
    #[error("document {number} of the manifest: {source}")]
    Yaml {
        /// The document's position, from 1.
        number: usize,
        /// The parse error.
        source: yaml::Error,
    },
    /// The document is nested too deeply.
    #[error("document {0} of the manifest: it is nested deeper than {MAX_DEPTH} levels")]
    TooDeep(usize),
}

/// Parses a manifest and adds the release's ownership metadata to its objects.
pub fn release_objects(manifest: &str, release: &ReleaseRef) -> Result<Vec<Object>, Error> {
    let mut all = parse_manifest(manifest)?;
    for object in &mut all {
        encode_string_data(&mut object.body);
        add_ownership_metadata(&mut object.body, release);
    }
    Ok(all)
}

/// Moves a Secret's `stringData` to `data`. The API server does that too, but then `data` has no field manager: drift
/// would not be detected, and keys dropped from the manifest would not be removed.
fn encode_string_data(body: &mut Value) {
    let is = |key: &str, value: &str| body.get(key).and_then(Value::as_str) == Some(value);
    if !(is("apiVersion", "v1") && is("kind", "Secret")) {
        return;
    }
    let Some(Value::Object(texts)) = body.get("stringData") else { return };
    let encode = |(key, value): (&String, &Value)| {
        let text = base64_encode(value.as_str()?.as_bytes());
        Some((key.clone(), Value::String(String::from_utf8(text).ok()?)))
    };
    // The API server rejects values that are not strings.
    let Some(encoded) = texts.iter().map(encode).collect::<Option<Map<_, _>>>() else { return };
    let Some(data) = child_map(body, "data") else { return };
    data.extend(encoded);
    body.as_object_mut().and_then(|body| body.remove("stringData"));
}

/// Parses a manifest; objects are in manifest order.
pub fn parse_manifest(manifest: &str) -> Result<Vec<Object>, Error> {
    let mut out = Vec::new();
    for (index, document) in manifest::split(manifest.as_bytes(), &HELM4).into_iter().enumerate() {
        let number = index + 1;
        let node = yaml::parse_exact(document, 0).map_err(|source| Error::Yaml { number, source })?;
        for (object_ref, node) in document_objects(&node) {
            let body = to_json(node, MAX_DEPTH).ok_or(Error::TooDeep(number))?;
            out.push(Object { object_ref, body });
        }
    }
    Ok(out)
}

/// Adds the release's ownership labels and annotations.
fn add_ownership_metadata(body: &mut Value, release: &ReleaseRef) {
    let metadata_fields = [
        ("labels", MANAGED_BY.0, MANAGED_BY.1),
        ("annotations", RELEASE_NAME, release.name.as_str()),
        ("annotations", RELEASE_NAMESPACE, release.namespace.as_str()),
    ];
    let Some(metadata) = child_map(body, "metadata") else { return };
    for (field, key, value) in metadata_fields {
        if let Some(map) = metadata.entry(field).or_insert(Value::Null).as_map() {
            map.insert(key.to_owned(), value.into());
        }
    }
}

trait AsMap {
    fn as_map(&mut self) -> Option<&mut Map<String, Value>>;
}

impl AsMap for Value {
    /// The map; null becomes an empty one.
    fn as_map(&mut self) -> Option<&mut Map<String, Value>> {
        if self.is_null() {
            *self = Value::Object(Map::new());
        }
        self.as_object_mut()
    }
}

fn child_map<'v>(value: &'v mut Value, key: &str) -> Option<&'v mut Map<String, Value>> {
    value.as_object_mut()?.entry(key).or_insert(Value::Null).as_map()
}

/// Converts a node to JSON; `None` when it is nested deeper than `depth`.
fn to_json(node: &Node, depth: usize) -> Option<Value> {
    let inner = |node| to_json(node, depth.checked_sub(1)?);
    Some(match &node.value {
        Tree::Null => Value::Null,
        Tree::Bool(b) => Value::Bool(*b),
        Tree::Int(i) => Value::Number((*i).into()),
        Tree::Float(f) => Number::from_f64(*f).map_or(Value::Null, Value::Number),
        Tree::String(s) => Value::String(s.to_string()),
        Tree::List(items) => Value::Array(items.iter().map(inner).collect::<Option<_>>()?),
        Tree::Map(map) => {
            let field = |(key, value): (&_, _)| Some((ToString::to_string(key), inner(value)?));
            Value::Object(map.iter().map(field).collect::<Option<_>>()?)
        }
    })
}

/// Converts JSON to a YAML node.
pub fn json_to_node(value: Value) -> Node {
    let value = match value {
        Value::Null => Tree::Null,
        Value::Bool(b) => Tree::Bool(b),
        Value::Number(n) => n.as_i64().map_or_else(|| Tree::Float(n.as_f64().unwrap_or(f64::NAN)), Tree::Int),
        Value::String(s) => Tree::String(s.into()),
        Value::Array(items) => {
            let mut list = List::default();
            items.into_iter().for_each(|item| list.push(json_to_node(item)));
            Tree::List(list)
        }
        Value::Object(fields) => {
            let mut map = TreeMap::new();
            for (key, value) in fields {
                map.insert(key, json_to_node(value));
            }
            Tree::Map(map)
        }
    };
    Node::new(value, Pos::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_string_data_to_data() {
        let release = ReleaseRef { name: "r".to_owned(), namespace: "n".to_owned() };
        let body = |text: &str| release_objects(text, &release).unwrap().remove(0).body;
        let secret = body("apiVersion: v1\nkind: Secret\ndata: {a: eA==, b: eA==}\nstringData: {a: z}\n");
        assert_eq!(secret["data"], serde_json::json!({"a": "eg==", "b": "eA=="}));
        assert_eq!(secret.get("stringData"), None);
        let wrong = body("apiVersion: v1\nkind: Secret\nstringData: {a: 1}\n");
        assert_eq!(wrong["stringData"], serde_json::json!({"a": 1}));
        let other = body("apiVersion: v1\nkind: ConfigMap\nstringData: {a: z}\n");
        assert_eq!(other["stringData"], serde_json::json!({"a": "z"}));
    }

    #[test]
    fn adds_ownership_metadata_and_keeps_integers() {
        let release = ReleaseRef { name: "r".to_owned(), namespace: "n".to_owned() };
        let text = "apiVersion: v1\nkind: X\nmetadata:\n  name: a\n  labels:\nspec: {big: 1700000000000000001, f: 1.5}\n";
        let [object] = release_objects(text, &release).unwrap().try_into().unwrap();
        assert_eq!(object.body.pointer("/spec/big"), Some(&Value::from(1_700_000_000_000_000_001_i64)));
        assert_eq!(object.body.pointer("/spec/f"), Some(&Value::from(1.5)));
        assert_eq!(release.ownership_error(&object.body), None);
    }

    #[test]
    fn error_names_the_invalid_document() {
        let release = ReleaseRef { name: "r".to_owned(), namespace: "n".to_owned() };
        let error = release_objects("a: b\n---\na: [\n", &release).unwrap_err().to_string();
        assert!(error.starts_with("document 2 of the manifest: "), "{error}");
    }

    #[test]
    fn rejects_deep_nesting() {
        let release = ReleaseRef { name: "r".to_owned(), namespace: "n".to_owned() };
        let deep = |levels: usize| format!("kind: X\na: {}{}\n", "[".repeat(levels), "]".repeat(levels));
        assert!(release_objects(&deep(MAX_DEPTH - 1), &release).is_ok());
        assert_eq!(release_objects(&deep(9_000), &release), Err(Error::TooDeep(1)));
    }
}
