//! From documents to compiled schemas.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use podium_goyaml::{List, Map, Node};
use podium_re2::Regex;

use crate::decimal::{Decimal, Divisor};
use crate::document::{Document, Json};
use crate::draft::Dialect;
use crate::error::Error;
use crate::format::Format;
use crate::go::url::{self, escape_pointer};
use crate::pointer::{Fragment, escape, join, location};
use crate::roots::{Roots, lookup, resolve};
use crate::schema::{
    Additional, Arena, ArrayRules, Constant, Dependency, Items, Logic, NumberRules, ObjectRules, Schema, SchemaId,
    StringRules, Types,
};

/// Compiles schemas into one arena.
pub(crate) struct Compiler<'r> {
    roots: Roots<'r>,
    pub arena: Arena,
    /// What has been numbered, by document and place.
    ids: HashMap<(String, String), SchemaId>,
    /// The documents and places in the order of their numbers.
    places: Vec<(String, String)>,
    /// Whether `format` counts whatever the draft says.
    assert_format: bool,
}

impl<'r> Compiler<'r> {
    pub fn new(roots: Roots<'r>, assert_format: bool) -> Self {
        Self { roots, arena: Arena::default(), ids: HashMap::new(), places: Vec::new(), assert_format }
    }

    /// Compiles the schema of a document and all that it refers to.
    pub fn compile(&mut self, url: &str) -> Result<SchemaId, Error> {
        self.roots.load(url)?;
        let id = self.number(url, String::new());
        while let Some((url, pointer)) = self.places.get(self.arena.schemas.len()).cloned() {
            let schema = self.schema(&url, &pointer)?;
            self.arena.schemas.push(schema);
        }
        Ok(id)
    }

    /// The number of a place; a new one waits for its turn.
    fn number(&mut self, url: &str, pointer: String) -> SchemaId {
        let key = (url.to_owned(), pointer);
        *self.ids.entry(key).or_insert_with_key(|key| {
            self.places.push(key.clone());
            self.places.len() - 1
        })
    }

    fn schema(&mut self, url: &str, pointer: &str) -> Result<Schema, Error> {
        self.roots.ensure(url, pointer)?;
        let mut schema = Schema { location: location(url, pointer).into(), ..Schema::default() };
        let Some(root) = self.roots.get(url) else { return Ok(schema) };
        let Some(resource) = root.resource(pointer).cloned() else { return Ok(schema) };
        let doc = root.doc.clone();
        schema.version = resource.dialect.draft.version;
        schema.resource = self.number(url, resource.pointer.clone());
        if schema.version >= 2020 && resource.pointer == pointer {
            for anchor in &resource.dynamic_anchors {
                let Some(place) = resource.anchors.get(anchor) else { continue };
                let id = self.number(url, place.clone());
                schema.dynamic_anchors.insert(anchor.as_str().into(), id);
            }
        }
        match doc.view(lookup(&doc, url, pointer)?) {
            Json::Bool(allowed) => schema.boolean = Some(allowed),
            Json::Map(map) if map.is_empty() => schema.boolean = Some(true),
            Json::Map(map) => {
                let (dialect, base) = (resource.dialect, resource.id.as_str());
                let doc = doc.clone();
                let mut keywords = Keywords { compiler: self, doc, map, url, pointer, base, dialect };
                keywords.compile(&mut schema)?;
            }
            _ => {}
        }
        Ok(schema)
    }
}

/// The keywords of one schema.
struct Keywords<'a, 'r> {
    compiler: &'a mut Compiler<'r>,
    doc: Arc<Document>,
    map: &'a Map,
    url: &'a str,
    pointer: &'a str,
    /// What references are relative to.
    base: &'a str,
    dialect: Dialect,
}

fn strings(list: &List) -> Vec<Box<str>> {
    list.iter().filter_map(|node| node.as_str().map(Box::from)).collect()
}

impl<'a> Keywords<'a, '_> {
    fn compile(&mut self, schema: &mut Schema) -> Result<(), Error> {
        let version = schema.version;
        if version < 2019 {
            self.check_anchor()?;
        } else {
            self.later_references(schema)?;
        }
        schema.reference = self.reference("$ref")?;
        if version < 2019 && schema.reference.is_some() {
            // Nothing counts beside a reference, but for what is new in drafts 6 and 7.
            self.added_later(schema, version);
            return Ok(());
        }
        let applicator = self.dialect.has("applicator");
        if applicator {
            self.logic(schema);
            self.array_applicators(schema, version);
            self.object_applicators(schema)?;
        }
        if self.dialect.has("validation") {
            self.value_rules(schema);
            self.number_rules(schema)?;
            self.string_rules(schema)?;
            self.count_rules(schema, version);
        }
        if self.compiler.assert_format || self.dialect.asserts_format() {
            schema.format = self.string("format").and_then(Format::named);
        }
        self.added_later(schema, version);
        Ok(())
    }

    /// Before 2019 an anchor is part of the id.
    fn check_anchor(&self) -> Result<(), Error> {
        let id = self.string(self.dialect.draft.id).unwrap_or_default();
        let fragment = id.split_once('#').map_or("", |(_, fragment)| fragment);
        let place = || Error::ParseAnchor(location(self.url, self.pointer));
        url::path_unescape(fragment).map(|_| ()).map_err(|_| place())
    }
}
