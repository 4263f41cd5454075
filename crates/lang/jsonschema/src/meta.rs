//! The metaschemas compiled, and schemas checked against them.

use std::collections::HashMap;
use std::sync::OnceLock;

use podium_goyaml::Node;

use crate::compile::Compiler;
use crate::document::Document;
use crate::draft::{DRAFTS, Dialect};
use crate::failure::ValidationError;
use crate::metaschema::vocabulary_url;
use crate::roots::Roots;
use crate::schema::{Arena, Logic, Schema, SchemaId};
use crate::validate::Validator;

/// All metaschemas.
#[derive(Debug)]
pub(crate) struct Meta {
    arena: Arena,
    /// Their numbers by URL.
    ids: HashMap<String, SchemaId>,
}

/// The compiled metaschemas; made when first needed.
pub(crate) fn shared() -> &'static Meta {
    static META: OnceLock<Meta> = OnceLock::new();
    META.get_or_init(|| {
        let mut compiler = Compiler::new(Roots::new(None, None), true);
        let mut ids = HashMap::new();
        for draft in &DRAFTS {
            let parts = draft.vocabularies.iter().map(|name| vocabulary_url(draft, name));
            for url in parts.chain([draft.url.to_owned()]) {
                // They are our own and sound; the tests compile every one.
                if let Ok(id) = compiler.compile(&url) {
                    ids.insert(url, id);
                }
            }
        }
        Meta { arena: compiler.arena, ids }
    })
}

impl Meta {
    fn id(&self, url: &str) -> SchemaId {
        self.ids.get(url).copied().unwrap_or_default()
    }

    /// The metaschema of a dialect: the draft's own, or one made of the chosen vocabularies and numbered `next`.
    fn schema(&self, dialect: Dialect, next: SchemaId, made: &mut Vec<Schema>) -> SchemaId {
        if dialect.chosen.is_none() {
            return self.id(dialect.draft.url);
        }
        let all_of = dialect.names().map(|name| self.id(&vocabulary_url(dialect.draft, name))).collect();
        let id = next + made.len();
        let mut schema = Schema {
            location: "urn:mem:metaschema".into(),
            version: dialect.draft.version,
            resource: id,
            logic: Some(Box::new(Logic { all_of, ..Logic::default() })),
            ..Schema::default()
        };
        if schema.version >= 2020 {
            schema.dynamic_anchor = "meta".into();
            schema.dynamic_anchors.insert("meta".into(), id);
        }
        made.push(schema);
        id
    }
}

/// Checks a schema of a document against the metaschema of its dialect; the resources below it have dialects of their
/// own.
pub(crate) fn check<'d>(
    meta: &'static Meta,
    doc: &Document,
    node: &Node,
    dialect: Dialect,
    resources: impl Iterator<Item = (&'d str, Dialect)>,
) -> Result<(), ValidationError> {
    let next = meta.arena.schemas.len();
    let mut made = Vec::new();
    let root = meta.schema(dialect, next, &mut made);
    let resources: HashMap<String, SchemaId> = resources
        .map(|(pointer, dialect)| (pointer.to_owned(), meta.schema(dialect, next, &mut made)))
        .collect();
    Validator::of_schemas(&meta.arena, &made, doc, root, &resources).run(root, node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metaschema_compiles_and_is_valid_by_its_own_rules() {
        let meta = shared();
        assert_eq!(meta.ids.len(), 19);
        for url in meta.ids.keys() {
            let node = crate::metaschema::document(url).unwrap();
            let draft = DRAFTS.iter().find(|d| url.starts_with(d.url.trim_end_matches("schema"))).unwrap();
            let dialect = Dialect { draft, chosen: None };
            let doc = Document::built(node.clone());
            assert!(check(meta, &doc, &node, dialect, std::iter::empty()).is_ok(), "{url}");
        }
    }
}
