//! References to the objects of a manifest.

use podium_chart::dialect::HELM4;
use podium_chart::manifest;
use podium_goyaml::{Node, yaml};
use podium_meta::GroupVersionKind;

/// A reference to an object of a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectRef {
    /// Its kind.
    pub kind: GroupVersionKind,
    /// Its namespace, if the manifest sets one.
    pub namespace: Option<String>,
    /// Its name; empty when the API server generates it.
    pub name: String,
    /// The prefix of a generated name.
    pub generate_name: String,
}

impl std::fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kind, namespace, name, generate_name } = self;
        if kind.kind.is_empty() {
            return write!(f, "a document without a kind: {name}");
        }
        write!(f, "{}/{} ", kind.api_version(), kind.kind)?;
        if let Some(namespace) = namespace {
            write!(f, "{namespace}/")?;
        }
        write!(f, "{name}{generate_name}")
    }
}

/// The objects of a manifest, in its order, including list items. Documents that are not maps are skipped, those
/// without a kind are not.
pub fn object_refs(manifest: &str) -> Vec<ObjectRef> {
    let documents = manifest::split(manifest.as_bytes(), &HELM4);
    let nodes = documents.into_iter().filter_map(|document| yaml::parse(document, 0).ok());
    nodes
        .flat_map(|node| {
            document_objects(&node).into_iter().map(|(object_ref, _)| object_ref).collect::<Vec<_>>()
        })
        .collect()
}

/// The objects of a document: one, the items of a list, or none.
pub(crate) fn document_objects(node: &Node) -> Vec<(ObjectRef, &Node)> {
    match (text(node, "kind").ends_with("List"), node.get("items").and_then(Node::as_list)) {
        (true, Some(items)) => items.iter().map(|item| (object_ref(item), item)).collect(),
        _ if node.as_map().is_some() => vec![(object_ref(node), node)],
        _ => Vec::new(),
    }
}

fn text<'n>(node: &'n Node, key: &str) -> &'n str {
    node.get(key).and_then(Node::as_str).unwrap_or_default()
}

fn object_ref(node: &Node) -> ObjectRef {
    let none = Node::default();
    let metadata = node.get("metadata").unwrap_or(&none);
    ObjectRef {
        kind: GroupVersionKind::new(text(node, "apiVersion"), text(node, "kind")),
        namespace: Some(text(metadata, "namespace").to_owned()).filter(|namespace| !namespace.is_empty()),
        name: text(metadata, "name").to_owned(),
        generate_name: text(metadata, "generateName").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_objects_and_list_items() {
        let manifest = "---\n# Source: a\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: d\n  namespace: other\n\
                        ---\n# only a comment\n---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  \
                        metadata:\n    generateName: s-\n";
        let line = |o: ObjectRef| {
            format!("{} {} {}{}", o.kind, o.namespace.unwrap_or_default(), o.name, o.generate_name)
        };
        let found: Vec<String> = object_refs(manifest).into_iter().map(line).collect();
        assert_eq!(found, ["apps/v1/Deployment other d", "v1/Secret  s-"]);
    }
}
