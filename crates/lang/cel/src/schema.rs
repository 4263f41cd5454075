//! Schemas: the types that they give to expressions, and how data are read with them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::escape::{escape, is_reserved};
use crate::types::Type;

/// The bytes of the largest request.
const LARGEST_REQUEST: i64 = 3 * 1024 * 1024;
/// The largest texts of moments and durations in JSON.
const LONGEST_TIME: i64 = 32;
/// The text of a date in JSON.
const DATE: i64 = 12;

/// How a list's elements are told apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ListKind {
    /// By place.
    #[default]
    Atomic,
    /// By value.
    Set,
    /// By the fields that are named.
    Map(Vec<String>),
    /// In a way that is not known.
    Other(String),
}

/// What a schema says about data, as far as expressions need it.
#[derive(Debug, Default)]
pub struct Node {
    pub(crate) kind: String,
    pub(crate) format: String,
    pub(crate) nullable: bool,
    pub(crate) int_or_string: bool,
    pub(crate) preserve: bool,
    embedded: bool,
    pub(crate) properties: Option<BTreeMap<String, Arc<Node>>>,
    pub(crate) additional: Option<Arc<Node>>,
    pub(crate) items: Option<Arc<Node>>,
    pub(crate) list: ListKind,
    required: Vec<String>,
    default: bool,
    /// The longest of the texts that are allowed, if only some are.
    longest_choice: Option<i64>,
    max_length: Option<i64>,
    max_items: Option<i64>,
    max_properties: Option<i64>,
}

impl Node {
    fn read(schema: &Json) -> Self {
        let flag = |name: &str| schema.get(name).and_then(Json::as_bool).unwrap_or(false);
        let text = |name: &str| schema.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
        let number = |name: &str| schema.get(name).and_then(Json::as_i64);
        let texts = |name: &str| -> Vec<String> {
            let list = schema.get(name).and_then(Json::as_array).into_iter().flatten();
            list.filter_map(|item| item.as_str().map(str::to_owned)).collect()
        };
        let properties = schema.get("properties").and_then(Json::as_object).filter(|map| !map.is_empty());
        let additional = schema.get("additionalProperties").filter(|schema| schema.is_object());
        let choices = schema.get("enum").and_then(Json::as_array).filter(|choices| !choices.is_empty());
        let list = match text("x-kubernetes-list-type").as_str() {
            "" | "atomic" => ListKind::Atomic,
            "set" => ListKind::Set,
            "map" => {
                let keys = texts("x-kubernetes-list-map-keys");
                ListKind::Map(keys.into_iter().map(|key| escape(&key).unwrap_or(key)).collect())
            }
            other => ListKind::Other(other.to_owned()),
        };
        let mut node = Self {
            kind: text("type"),
            format: text("format"),
            nullable: flag("nullable"),
            int_or_string: flag("x-kubernetes-int-or-string"),
            preserve: flag("x-kubernetes-preserve-unknown-fields"),
            embedded: flag("x-kubernetes-embedded-resource"),
            properties: properties.map(|map| {
                map.iter().map(|(name, schema)| (name.clone(), Arc::new(Self::read(schema)))).collect()
            }),
            additional: additional.map(|schema| Arc::new(Self::read(schema))),
            items: schema
                .get("items")
                .filter(|items| items.is_object())
                .map(|items| Arc::new(Self::read(items))),
            list,
            required: texts("required"),
            default: schema.get("default").is_some_and(|default| !default.is_null()),
            longest_choice: choices.map(|choices| {
                choices.iter().filter_map(|c| c.as_str()).map(|c| c.len() as i64).max().unwrap_or(0)
            }),
            max_length: number("maxLength").map(|n| n.max(0)),
            max_items: number("maxItems").map(|n| n.max(0)),
            max_properties: number("maxProperties").map(|n| n.max(0)),
        };
        if node.embedded {
            node.add_metadata();
        }
        node
    }

    /// Every resource has a kind and a name, whether its schema tells or not.
    fn add_metadata(&mut self) {
        let is = |node: Option<&Arc<Node>>, kind: &str| node.is_some_and(|node| node.kind == kind);
        let text = || Arc::new(Self { kind: "string".to_owned(), ..Self::default() });
        let properties = self.properties.get_or_insert_default();
        let metadata = properties.get("metadata");
        let names = metadata.and_then(|metadata| metadata.properties.as_ref());
        if is(properties.get("kind"), "string")
            && is(properties.get("apiVersion"), "string")
            && is(metadata, "object")
            && names.is_some_and(|names| {
                is(names.get("name"), "string") && is(names.get("generateName"), "string")
            })
        {
            return;
        }
        properties.insert("kind".to_owned(), text());
        properties.insert("apiVersion".to_owned(), text());
        let names = [("name".to_owned(), text()), ("generateName".to_owned(), text())];
        let metadata = Self { kind: "object".to_owned(), properties: Some(names.into()), ..Self::default() };
        properties.insert("metadata".to_owned(), Arc::new(metadata));
    }

    /// The schema of a key.
    pub(crate) fn property(&self, key: &str) -> Option<&Arc<Node>> {
        match &self.properties {
            Some(properties) => properties.get(key),
            None => self.additional.as_ref(),
        }
    }
}

/// What a type of a schema consists of.
#[derive(Debug)]
pub(crate) enum Parts {
    Simple(Type),
    List(Arc<Declared>),
    Map(Arc<Declared>),
    Object(Arc<str>, BTreeMap<String, Arc<Declared>>),
}

/// A type that a schema declares, with bounds of its data.
#[derive(Debug)]
pub struct Declared {
    pub(crate) parts: Parts,
    /// The most elements, entries or bytes.
    pub(crate) most: i64,
    /// The fewest bytes in JSON.
    least_bytes: i64,
}

impl Declared {
    fn new(parts: Parts, most: i64, least_bytes: i64) -> Self {
        Self { parts, most, least_bytes }
    }

    /// The type; none if expressions cannot see the data.
    fn of(node: &Node, name: &str) -> Option<Self> {
        if node.int_or_string {
            let most = node.max_length.map_or(LARGEST_REQUEST - 2, |length| length.saturating_mul(4));
            return Some(Self::new(Parts::Simple(Type::Dyn), most, 1));
        }
        match node.kind.as_str() {
            "array" => {
                let element = Self::of(node.items.as_ref()?, &format!("{name}.@idx"))?;
                let most = (LARGEST_REQUEST - 2) / (element.least_bytes + 1);
                Some(Self::new(Parts::List(Arc::new(element)), node.max_items.unwrap_or(most), 2))
            }
            "object" => match &node.additional {
                Some(additional) => {
                    let element = Self::of(additional, &format!("{name}.@elem"))?;
                    let most = (LARGEST_REQUEST - 2) / (element.least_bytes + 6);
                    Some(Self::new(Parts::Map(Arc::new(element)), node.max_properties.unwrap_or(most), 2))
                }
                None => Some(Self::object(node, name)),
            },
            "string" => Some(Self::text(node)),
            "boolean" => Some(Self::new(Parts::Simple(Type::Bool), 0, 4)),
            "number" => Some(Self::new(Parts::Simple(Type::Double), 0, 1)),
            "integer" => Some(Self::new(Parts::Simple(Type::Int), 0, 1)),
            _ => None,
        }
    }

    fn object(node: &Node, name: &str) -> Self {
        let mut fields = BTreeMap::new();
        let mut least = 2;
        for (property, node_of) in node.properties.iter().flatten() {
            let escaped = escape(property);
            let path = format!("{name}.{}", escaped.as_deref().unwrap_or_default());
            let Some(field) = Self::of(node_of, &path) else { continue };
            if node.required.contains(property) && !node_of.default {
                least += property.len() as i64 + field.least_bytes + 4;
            }
            if let Some(escaped) = escaped {
                fields.insert(escaped, Arc::new(field));
            }
        }
        Self::new(Parts::Object(name.into(), fields), 0, least)
    }

    fn text(node: &Node) -> Self {
        let all = LARGEST_REQUEST - 2;
        let (t, most, least) = match node.format.as_str() {
            "byte" => (Type::Bytes, node.max_length.unwrap_or(all), 2),
            "duration" => (Type::Duration, LONGEST_TIME, 3),
            "date" => (Type::Timestamp, DATE, DATE),
            "date-time" => (Type::Timestamp, LONGEST_TIME, 21),
            _ => {
                let length = node.max_length.map(|length| length.saturating_mul(4));
                (Type::String, length.or(node.longest_choice).unwrap_or(all), 2)
            }
        };
        Self::new(Parts::Simple(t), most, least)
    }

    /// The type for the checker.
    pub(crate) fn as_type(&self) -> Type {
        match &self.parts {
            Parts::Simple(t) => t.clone(),
            Parts::List(element) => Type::list(element.as_type()),
            Parts::Map(element) => Type::map(Type::String, element.as_type()),
            Parts::Object(name, _) => Type::Object(name.clone()),
        }
    }

    /// The type of a field of an object.
    pub(crate) fn field_type(&self, field: &str) -> Option<Type> {
        self.field(field).map(|field| field.as_type())
    }

    fn field(&self, field: &str) -> Option<&Arc<Declared>> {
        let Parts::Object(_, fields) = &self.parts else { return None };
        fields.get(field).or_else(|| {
            // A reserved word behind a dot is a plain name.
            if is_reserved(field) { fields.get(&format!("__{field}__")) } else { None }
        })
    }

    /// What is at a path of fields and `@items`, `@values`, `@keys`.
    pub(crate) fn most_at(&self, path: &[Arc<str>]) -> Option<u64> {
        let Some((first, rest)) = path.split_first() else { return u64::try_from(self.most).ok() };
        match (&**first, &self.parts) {
            ("@items" | "@values", Parts::List(element) | Parts::Map(element)) => element.most_at(rest),
            // Nothing is known of keys.
            ("@keys", Parts::Map(_)) => rest.is_empty().then_some(0),
            (field, Parts::Object(_, fields)) => fields.get(field)?.most_at(rest),
            _ => None,
        }
    }

    /// Every object type in it, by name.
    pub(crate) fn objects<'d>(self: &'d Arc<Self>, found: &mut Vec<(Arc<str>, &'d Arc<Declared>)>) {
        match &self.parts {
            Parts::Simple(_) => {}
            Parts::List(element) | Parts::Map(element) => element.objects(found),
            Parts::Object(name, fields) => {
                found.push((name.clone(), self));
                fields.values().for_each(|field| field.objects(found));
            }
        }
    }
}

/// A schema, ready for expressions: the type of the data, and how to read them.
#[derive(Debug, Clone)]
pub struct Shape {
    pub(crate) node: Arc<Node>,
    pub(crate) declared: Arc<Declared>,
}

impl Shape {
    /// Reads a structural schema of JSON. `resource` says that the data are a whole resource, which has a kind and a
    /// name even if the schema does not tell. There is none if the schema gives expressions nothing to see.
    pub fn new(schema: &Json, resource: bool) -> Option<Self> {
        Self::named(schema, resource, "selfType")
    }

    /// The same, with the name that problems call the type by.
    pub fn named(schema: &Json, resource: bool, name: &str) -> Option<Self> {
        let mut node = Node::read(schema);
        if resource && !node.int_or_string {
            node.add_metadata();
        }
        let declared = Declared::of(&node, name)?;
        Some(Self { node: Arc::new(node), declared: Arc::new(declared) })
    }

    /// The type of the data.
    pub fn as_type(&self) -> Type {
        self.declared.as_type()
    }

    /// How often such data fit into a request at most: how often a rule on them can run where nothing bounds the
    /// list or map that they are in.
    pub fn cardinality(&self) -> u64 {
        u64::try_from(LARGEST_REQUEST / (self.declared.least_bytes + 1)).unwrap_or(0)
    }

    /// The most elements or entries of a list or map, by its schema or by what fits into a request.
    pub fn most_elements(&self) -> u64 {
        u64::try_from(self.declared.most).unwrap_or(0)
    }
}
