//! From documents to compiled schemas.

use std::collections::{BTreeMap, HashMap};

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
    Additional, Arena, ArrayRules, Constant, Dependency, Items, Logic, NumberRules, ObjectRules, Schema,
    SchemaId, StringRules, Types,
};

/// Compiles schemas into one arena.
pub(crate) struct Compiler<'r> {
    roots: Roots<'r>,
    pub arena: Arena,
    /// What has been numbered, by document and place.
    ids: HashMap<(String, String), SchemaId>,
    /// The documents and places in the order of their numbers.
    places: Vec<(String, String)>,
    /// The number of the first one.
    first: SchemaId,
    /// Whether `format` counts whatever the draft says.
    assert_format: bool,
}

impl<'r> Compiler<'r> {
    pub fn new(roots: Roots<'r>, assert_format: bool, first: SchemaId) -> Self {
        let (ids, places) = (HashMap::new(), Vec::new());
        Self { roots, arena: Arena::default(), ids, places, first, assert_format }
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
            self.first + self.places.len() - 1
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
                let (dialect, base, doc) = (resource.dialect, resource.id.as_str(), &doc);
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
    doc: &'a Document,
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

/// Keeps rules only where there are any.
fn boxed<T>(any: bool, rules: T) -> Option<Box<T>> {
    any.then(|| Box::new(rules))
}

impl<'a> Keywords<'a, '_> {
    fn compile(&mut self, schema: &mut Schema) -> Result<(), Error> {
        let version = schema.version;
        if version < 2019 {
            self.check_anchor()?;
        }
        schema.reference = self.reference("$ref")?;
        // Before 2019 nothing counts beside a reference, but for what is new in drafts 6 and 7.
        let alone = version < 2019 && schema.reference.is_some();
        let applicator = self.dialect.has("applicator");
        let validation = self.dialect.has("validation");
        let mut object = ObjectRules::default();
        let mut array = ArrayRules::default();
        let mut logic = Logic::default();
        if !alone && applicator {
            self.early_logic(&mut logic);
            self.early_applicators(&mut object, &mut array, version)?;
        }
        if !alone && validation {
            self.value_rules(schema);
            self.count_rules(&mut object, &mut array);
            schema.number = self.number_rules()?;
            schema.string = self.string_rules()?;
        }
        if !alone && (self.compiler.assert_format || self.dialect.asserts_format()) {
            schema.format = self.string("format").and_then(Format::named);
        }
        if version >= 6 && applicator {
            array.contains = self.sub("contains");
            object.names = self.sub("propertyNames");
        }
        if version >= 6 && validation {
            schema.constant = self.view("const").map(|value| Constant::new(self.doc, value));
        }
        if version >= 7 && applicator {
            self.conditions(&mut logic);
        }
        if version >= 2019 {
            self.later_rules(schema, &mut object, &mut array)?;
        }
        let any_logic = self.has_any(&["not", "allOf", "anyOf", "oneOf", "if"]);
        schema.logic = boxed(any_logic, logic);
        schema.object = boxed(self.has_any(&OBJECT_KEYWORDS), object);
        schema.array = boxed(self.has_any(&ARRAY_KEYWORDS), array);
        Ok(())
    }

    fn has_any(&self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.map.contains_key(keyword))
    }

    fn view(&self, keyword: &str) -> Option<Json<'a>> {
        self.map.get(keyword).map(|node| self.doc.view(node))
    }

    fn string(&self, keyword: &str) -> Option<&'a str> {
        self.map.get(keyword).and_then(Node::as_str)
    }

    fn boolean(&self, keyword: &str) -> Option<bool> {
        self.map.get(keyword).and_then(Node::as_bool)
    }

    fn list(&self, keyword: &str) -> Option<&'a List> {
        self.map.get(keyword).and_then(Node::as_list)
    }

    fn entries(&self, keyword: &str) -> impl Iterator<Item = (&'a str, &'a Node)> + use<'a> {
        let map = self.map.get(keyword).and_then(Node::as_map);
        map.into_iter().flatten().map(|(key, node)| (&**key, node))
    }

    fn number(&self, keyword: &str) -> Option<Decimal> {
        match self.view(keyword) {
            Some(Json::Number(text)) => Decimal::parse(text),
            _ => None,
        }
    }

    fn count(&self, keyword: &str) -> Option<i64> {
        self.number(keyword).and_then(|n| n.to_i64())
    }

    /// The number of a place below this schema.
    fn below(&mut self, tokens: &[&str]) -> SchemaId {
        let pointer = join(self.pointer, tokens);
        self.compiler.number(self.url, pointer)
    }

    fn sub(&mut self, keyword: &str) -> Option<SchemaId> {
        self.map.contains_key(keyword).then(|| self.below(&[keyword]))
    }

    fn sub_list(&mut self, keyword: &str) -> Vec<SchemaId> {
        let length = self.list(keyword).map_or(0, |list| list.len());
        (0..length).map(|i| self.below(&[keyword, &i.to_string()])).collect()
    }

    fn sub_map(&mut self, keyword: &str) -> BTreeMap<Box<str>, SchemaId> {
        self.entries(keyword).map(|(key, _)| (key.into(), self.below(&[keyword, key]))).collect()
    }

    fn additional(&mut self, keyword: &str) -> Option<Additional> {
        match self.boolean(keyword) {
            Some(allowed) => Some(Additional::Allowed(allowed)),
            None => self.sub(keyword).map(Additional::Schema),
        }
    }

    /// The target of a reference.
    fn reference(&mut self, keyword: &str) -> Result<Option<SchemaId>, Error> {
        let Some(reference) = self.string(keyword) else { return Ok(None) };
        let target = resolve(self.base, reference)?;
        let local = match self.compiler.roots.get(self.url) {
            Some(root) => root.local(&target)?,
            None => None,
        };
        Ok(Some(match local {
            Some(pointer) => self.compiler.number(self.url, pointer),
            None => {
                let pointer = self.compiler.roots.remote(&target)?;
                self.compiler.number(&target.url, pointer)
            }
        }))
    }

    /// Before 2019 an anchor is part of the id.
    fn check_anchor(&self) -> Result<(), Error> {
        let id = self.string(self.dialect.draft.id).unwrap_or_default();
        let fragment = id.split_once('#').map_or("", |(_, fragment)| fragment);
        match url::path_unescape(fragment) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::ParseAnchor(location(self.url, self.pointer))),
        }
    }

    fn regex(&self, keyword: &str, pattern: &str) -> Result<Regex, Error> {
        Regex::new(pattern).map_err(|error| Error::Regex {
            location: format!("{}/{}", location(self.url, self.pointer), escape_pointer(&escape(keyword))),
            regex: pattern.to_owned(),
            error,
        })
    }

    fn early_logic(&mut self, logic: &mut Logic) {
        logic.all_of = self.sub_list("allOf");
        logic.any_of = self.sub_list("anyOf");
        logic.one_of = self.sub_list("oneOf");
        logic.not = self.sub("not");
    }

    fn conditions(&mut self, logic: &mut Logic) {
        logic.condition = self.sub("if");
        if logic.condition.is_some() {
            let known = self.boolean("if");
            logic.then = if known == Some(false) { None } else { self.sub("then") };
            logic.otherwise = if known == Some(true) { None } else { self.sub("else") };
        }
    }

    fn early_applicators(
        &mut self,
        object: &mut ObjectRules,
        array: &mut ArrayRules,
        version: u16,
    ) -> Result<(), Error> {
        if version < 2020 && self.map.contains_key("items") {
            if self.list("items").is_some() {
                array.items = Some(Items::Each(self.sub_list("items")));
                array.additional = self.additional("additionalItems");
            } else {
                array.items = self.sub("items").map(Items::All);
            }
        }
        object.properties = self.sub_map("properties");
        for (pattern, id) in self.sub_map("patternProperties") {
            object.patterns.push((self.regex("patternProperties", &pattern)?, id));
        }
        object.additional = self.additional("additionalProperties");
        for (property, node) in self.entries("dependencies") {
            let dependency = match node.as_list() {
                Some(names) => Dependency::Names(strings(names)),
                None => Dependency::Schema(self.below(&["dependencies", property])),
            };
            object.dependencies.insert(property.into(), dependency);
        }
        Ok(())
    }

    fn value_rules(&mut self, schema: &mut Schema) {
        if let Some(types) = self.view("type") {
            schema.types = Types::named(self.doc, types);
        }
        let constant = |node: &Node| Constant::new(self.doc, self.doc.view(node));
        schema.values = self.list("enum").map(|list| list.iter().map(constant).collect());
    }

    fn count_rules(&mut self, object: &mut ObjectRules, array: &mut ArrayRules) {
        object.min = self.count("minProperties");
        object.max = self.count("maxProperties");
        object.required = self.list("required").map(strings).unwrap_or_default();
        array.min = self.count("minItems");
        array.max = self.count("maxItems");
        array.unique = self.boolean("uniqueItems") == Some(true);
    }

    fn number_rules(&mut self) -> Result<Option<Box<NumberRules>>, Error> {
        let keywords = ["multipleOf", "maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum"];
        if !self.has_any(&keywords) {
            return Ok(None);
        }
        // In draft 4 the exclusive bounds are switches of the others.
        let bounds = |bound: &str, exclusive: &str| match self.boolean(exclusive) {
            Some(true) => (None, self.number(bound)),
            _ => (self.number(bound), self.number(exclusive)),
        };
        let (max, below) = bounds("maximum", "exclusiveMaximum");
        let (min, above) = bounds("minimum", "exclusiveMinimum");
        let multiple_of = match self.number("multipleOf") {
            Some(number) => {
                let place = || Error::LongDivisor(location(self.url, self.pointer));
                Some(Divisor::new(number).ok_or_else(place)?)
            }
            None => None,
        };
        Ok(Some(Box::new(NumberRules { min, max, above, below, multiple_of })))
    }

    fn string_rules(&mut self) -> Result<Option<Box<StringRules>>, Error> {
        if !self.has_any(&["minLength", "maxLength", "pattern"]) {
            return Ok(None);
        }
        let pattern = self.string("pattern").map(|pattern| self.regex("pattern", pattern)).transpose()?;
        let (min, max) = (self.count("minLength"), self.count("maxLength"));
        Ok(Some(Box::new(StringRules { min, max, pattern })))
    }

    /// What drafts 2019 and 2020 added.
    fn later_rules(
        &mut self,
        schema: &mut Schema,
        object: &mut ObjectRules,
        array: &mut ArrayRules,
    ) -> Result<(), Error> {
        let applicator = self.dialect.has("applicator");
        schema.recursive_ref = self.reference("$recursiveRef")?;
        schema.recursive_anchor = self.boolean("$recursiveAnchor") == Some(true);
        if self.dialect.has("validation") {
            if array.contains.is_some() {
                array.min_contains = self.count("minContains");
                array.max_contains = self.count("maxContains");
            }
            for (property, node) in self.entries("dependentRequired") {
                if let Some(names) = node.as_list() {
                    object.dependent_required.insert(property.into(), strings(names));
                }
            }
        }
        if applicator {
            object.dependent_schemas = self.sub_map("dependentSchemas");
        }
        if self.dialect.has(if schema.version == 2019 { "applicator" } else { "unevaluated" }) {
            array.unevaluated = self.sub("unevaluatedItems");
            object.unevaluated = self.sub("unevaluatedProperties");
        }
        if schema.version >= 2020 {
            if let Some(id) = self.reference("$dynamicRef")? {
                let reference = self.string("$dynamicRef").unwrap_or_default();
                let anchor = match resolve(self.base, reference)?.fragment {
                    Fragment::Anchor(anchor) => anchor,
                    Fragment::Pointer(_) => String::new(),
                };
                schema.dynamic_ref = Some((id, anchor.into()));
            }
            schema.dynamic_anchor = self.string("$dynamicAnchor").unwrap_or_default().into();
            if applicator {
                array.prefix = self.sub_list("prefixItems");
                array.rest = self.sub("items");
            }
        }
        Ok(())
    }
}

/// Keywords about mappings.
const OBJECT_KEYWORDS: [&str; 11] = [
    "minProperties",
    "maxProperties",
    "required",
    "dependencies",
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "dependentSchemas",
    "dependentRequired",
    "unevaluatedProperties",
];

/// Keywords about lists.
const ARRAY_KEYWORDS: [&str; 7] =
    ["minItems", "maxItems", "uniqueItems", "items", "prefixItems", "contains", "unevaluatedItems"];
