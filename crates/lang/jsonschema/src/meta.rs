//! The metaschemas compiled, and schemas checked against them.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use podium_goyaml::Node;

use crate::compile::Compiler;
use crate::document::Document;
use crate::draft::{DRAFTS, Dialect, Draft};
use crate::failure::ValidationError;
use crate::metaschema::vocabulary_url;
use crate::roots::{Resource, Roots};
use crate::schema::{Arena, Logic, Schema, SchemaId};
use crate::validate::Validator;

/// The metaschemas of one draft.
#[derive(Debug)]
struct Meta {
    arena: Arena,
    /// Their numbers by URL.
    ids: HashMap<String, SchemaId>,
}

/// The numbers of a draft's metaschemas start at a multiple of this.
const STRIDE: SchemaId = 1 << 16;

/// The metaschemas of the draft at a place of the list, compiled when first needed.
fn compiled(index: usize) -> Option<&'static Meta> {
    static METAS: [OnceLock<Meta>; DRAFTS.len()] = [const { OnceLock::new() }; DRAFTS.len()];
    let draft = DRAFTS.get(index)?;
    let compile = || {
        let mut compiler = Compiler::new(Roots::of_metaschemas(), true, index * STRIDE);
        let mut ids = HashMap::new();
        let parts = draft.vocabularies.iter().map(|name| vocabulary_url(draft, name));
        for url in parts.chain([draft.url.to_owned()]) {
            // They are our own and sound; the tests compile every one.
            if let Ok(id) = compiler.compile(&url) {
                ids.insert(url, id);
            }
        }
        Meta { arena: compiler.arena, ids }
    };
    METAS.get(index).map(|cell| cell.get_or_init(compile))
}

/// A draft's own metaschema by its number.
fn schema(id: SchemaId) -> Option<&'static Schema> {
    compiled(id / STRIDE)?.arena.schemas.get(id % STRIDE)
}

fn id(draft: &Draft, url: &str) -> SchemaId {
    let index = DRAFTS.iter().position(|known| known.version == draft.version).unwrap_or_default();
    compiled(index).and_then(|meta| meta.ids.get(url)).copied().unwrap_or_default()
}

/// Metaschemas for the dialects of one document: those that were made of vocabularies are numbered after all others.
#[derive(Debug)]
pub(crate) struct Dialects<'d> {
    resources: &'d BTreeMap<String, Resource>,
    made: Vec<(Dialect, Schema)>,
}

impl<'d> Dialects<'d> {
    const FIRST: SchemaId = STRIDE * DRAFTS.len();

    /// Prepares for the dialects of a document's resources.
    pub fn new(resources: &'d BTreeMap<String, Resource>) -> Self {
        let mut dialects = Self { resources, made: Vec::new() };
        for dialect in resources.values().map(|resource| resource.dialect) {
            if dialect.chosen.is_some() && !dialects.made.iter().any(|(known, _)| *known == dialect) {
                let id = Self::FIRST + dialects.made.len();
                dialects.made.push((dialect, made_of_vocabularies(dialect, id)));
            }
        }
        dialects
    }

    /// A metaschema by its number.
    pub fn get(&self, id: SchemaId) -> Option<&Schema> {
        let made = id.checked_sub(Self::FIRST).and_then(|i| self.made.get(i));
        made.map(|(_, schema)| schema).or_else(|| schema(id))
    }

    /// The metaschema of a dialect.
    fn metaschema(&self, dialect: Dialect) -> SchemaId {
        match self.made.iter().position(|(known, _)| *known == dialect) {
            Some(i) => Self::FIRST + i,
            None => id(dialect.draft, dialect.draft.url),
        }
    }

    /// The metaschema of the resource at a place, if one starts there.
    pub fn at(&self, pointer: &str) -> Option<SchemaId> {
        self.resources.get(pointer).map(|resource| self.metaschema(resource.dialect))
    }
}

fn made_of_vocabularies(dialect: Dialect, own: SchemaId) -> Schema {
    let draft = dialect.draft;
    let all_of = dialect.names().map(|name| id(draft, &vocabulary_url(draft, name))).collect();
    let mut schema = Schema {
        location: "urn:mem:metaschema".into(),
        version: draft.version,
        resource: own,
        logic: Some(Box::new(Logic { all_of, ..Logic::default() })),
        ..Schema::default()
    };
    if schema.version >= 2020 {
        schema.dynamic_anchor = "meta".into();
        schema.dynamic_anchors.insert("meta".into(), own);
    }
    schema
}

/// Checks a schema of a document against the metaschema of its dialect; the resources below it have dialects of their
/// own.
pub(crate) fn check(
    doc: &Document,
    node: &Node,
    dialect: Dialect,
    resources: &BTreeMap<String, Resource>,
) -> Result<(), ValidationError> {
    let dialects = Dialects::new(resources);
    let root = dialects.metaschema(dialect);
    Validator::of_schemas(&dialects, doc, root).run(root, node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metaschema_compiles_and_is_valid_by_its_own_rules() {
        for (index, draft) in DRAFTS.iter().enumerate() {
            let meta = compiled(index).unwrap();
            assert_eq!(meta.ids.len(), draft.vocabularies.len() + 1);
            for url in meta.ids.keys() {
                let node = crate::metaschema::document(url).unwrap();
                let doc = Document::built(node.clone());
                let dialect = Dialect { draft, chosen: None };
                let result = check(&doc, &node, dialect, &BTreeMap::new());
                assert!(result.is_ok(), "{url}: {result:?}");
            }
        }
    }
}
