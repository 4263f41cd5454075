//! Compiled schemas.

use std::collections::BTreeMap;

use podium_goyaml::Value;
use podium_re2::Regex;

use crate::decimal::{Decimal, Divisor};
use crate::document::{Document, Json};
use crate::format::Format;
use crate::go::quote::single;

/// The number of a schema among those compiled together.
pub(crate) type SchemaId = usize;

/// Schemas that were compiled together and refer to each other by number.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    pub schemas: Vec<Schema>,
}

/// A set of JSON types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Types(u8);

impl Types {
    pub const NULL: Self = Self(1);
    pub const BOOLEAN: Self = Self(2);
    pub const NUMBER: Self = Self(4);
    pub const INTEGER: Self = Self(8);
    pub const STRING: Self = Self(16);
    pub const ARRAY: Self = Self(32);
    pub const OBJECT: Self = Self(64);

    /// All types in the order in which messages list them.
    const NAMES: [(Self, &'static str); 7] = [
        (Self::NULL, "null"),
        (Self::BOOLEAN, "boolean"),
        (Self::NUMBER, "number"),
        (Self::INTEGER, "integer"),
        (Self::STRING, "string"),
        (Self::ARRAY, "array"),
        (Self::OBJECT, "object"),
    ];

    /// The type of a value; nothing for a number that JSON has not.
    pub fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Float(f) if !f.is_finite() => return None,
            Value::Int(_) | Value::Float(_) => Self::NUMBER,
            Value::String(_) => Self::STRING,
            Value::List(_) => Self::ARRAY,
            Value::Map(_) => Self::OBJECT,
        })
    }

    /// The types of a keyword's value: a name or a list of names.
    pub fn named(doc: &Document, value: Json<'_>) -> Self {
        match value {
            Json::String(name) => {
                Self::NAMES.iter().find(|(_, known)| *known == name).map_or(Self::default(), |(t, _)| *t)
            }
            Json::List(list) => list.iter().fold(Self::default(), |all, node| match doc.view(node) {
                name @ Json::String(_) => all | Self::named(doc, name),
                _ => all,
            }),
            _ => Self::default(),
        }
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub fn names(self) -> Vec<&'static str> {
        Self::NAMES.iter().filter(|(t, _)| self.contains(*t)).map(|(_, name)| *name).collect()
    }
}

impl std::ops::BitOr for Types {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A value that a schema wants, for comparing and showing.
#[derive(Debug)]
pub(crate) enum Constant {
    Null,
    Bool(bool),
    /// How it was written, and what it is.
    Number(Box<str>, Option<Decimal>),
    String(Box<str>),
    List(Vec<Constant>),
    Map(BTreeMap<Box<str>, Constant>),
}

impl Constant {
    /// Takes a value out of a document, whose depth is limited.
    pub fn new(doc: &Document, value: Json<'_>) -> Self {
        match value {
            Json::Null => Self::Null,
            Json::Bool(b) => Self::Bool(b),
            Json::Number(text) => Self::Number(text.into(), Decimal::parse(text)),
            Json::String(s) => Self::String(s.into()),
            Json::List(list) => Self::List(list.iter().map(|node| Self::new(doc, doc.view(node))).collect()),
            Json::Map(map) => Self::Map(
                map.iter().map(|(key, node)| (Box::from(&**key), Self::new(doc, doc.view(node)))).collect(),
            ),
        }
    }

    /// The type of the value.
    pub fn types(&self) -> Types {
        match self {
            Self::Null => Types::NULL,
            Self::Bool(_) => Types::BOOLEAN,
            Self::Number(..) => Types::NUMBER,
            Self::String(_) => Types::STRING,
            Self::List(_) => Types::ARRAY,
            Self::Map(_) => Types::OBJECT,
        }
    }

    /// The value as messages show it; nothing for lists and mappings.
    pub fn shown(&self) -> Option<String> {
        Some(match self {
            Self::Null => "<nil>".into(),
            Self::Bool(b) => b.to_string(),
            Self::Number(text, _) => text.to_string(),
            Self::String(s) => single(s),
            Self::List(_) | Self::Map(_) => return None,
        })
    }

    /// Whether a value is equal to this one. The depth of this one limits the recursion.
    pub fn equals(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Null, Value::Null) => true,
            (Self::Bool(a), Value::Bool(b)) => a == b,
            (Self::String(a), Value::String(b)) => a == b,
            (Self::Number(_, Some(a)), Value::Int(_) | Value::Float(_)) => {
                Decimal::of(value).is_some_and(|b| *a == b)
            }
            (Self::List(a), Value::List(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.equals(&b.value))
            }
            (Self::Map(a), Value::Map(b)) => {
                a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| a.equals(&b.value)))
            }
            _ => false,
        }
    }
}

/// What `additionalProperties` and its like say.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Additional {
    Allowed(bool),
    Schema(SchemaId),
}

/// `items` of the drafts before 2020.
#[derive(Debug)]
pub(crate) enum Items {
    All(SchemaId),
    Each(Vec<SchemaId>),
}

/// An entry of `dependencies`.
#[derive(Debug)]
pub(crate) enum Dependency {
    Names(Vec<Box<str>>),
    Schema(SchemaId),
}

/// Rules for mappings.
#[derive(Debug, Default)]
pub(crate) struct ObjectRules {
    pub min: Option<i64>,
    pub max: Option<i64>,
    pub required: Vec<Box<str>>,
    pub dependencies: BTreeMap<Box<str>, Dependency>,
    pub properties: BTreeMap<Box<str>, SchemaId>,
    pub patterns: Vec<(Regex, SchemaId)>,
    pub additional: Option<Additional>,
    pub names: Option<SchemaId>,
    pub dependent_schemas: BTreeMap<Box<str>, SchemaId>,
    pub dependent_required: BTreeMap<Box<str>, Vec<Box<str>>>,
    pub unevaluated: Option<SchemaId>,
}

/// Rules for lists.
#[derive(Debug, Default)]
pub(crate) struct ArrayRules {
    pub min: Option<i64>,
    pub max: Option<i64>,
    pub unique: bool,
    pub items: Option<Items>,
    pub additional: Option<Additional>,
    pub prefix: Vec<SchemaId>,
    /// `items` from 2020 on: what follows the prefix.
    pub rest: Option<SchemaId>,
    pub contains: Option<SchemaId>,
    pub min_contains: Option<i64>,
    pub max_contains: Option<i64>,
    pub unevaluated: Option<SchemaId>,
}

impl ArrayRules {
    /// Whether the keywords beside `unevaluatedItems` look at every item.
    pub fn evaluates_all(&self) -> bool {
        self.additional.is_some() || self.rest.is_some() || matches!(self.items, Some(Items::All(_)))
    }

    /// How many items they look at otherwise.
    pub fn evaluated(&self) -> usize {
        match &self.items {
            Some(Items::Each(items)) => items.len(),
            _ => self.prefix.len(),
        }
    }
}

/// Rules for strings.
#[derive(Debug, Default)]
pub(crate) struct StringRules {
    pub min: Option<i64>,
    pub max: Option<i64>,
    pub pattern: Option<Regex>,
}

/// Rules for numbers.
#[derive(Debug, Default)]
pub(crate) struct NumberRules {
    pub min: Option<Decimal>,
    pub max: Option<Decimal>,
    pub above: Option<Decimal>,
    pub below: Option<Decimal>,
    pub multiple_of: Option<Divisor>,
}

/// Schemas that apply to the same value.
#[derive(Debug, Default)]
pub(crate) struct Logic {
    pub not: Option<SchemaId>,
    pub all_of: Vec<SchemaId>,
    pub any_of: Vec<SchemaId>,
    pub one_of: Vec<SchemaId>,
    pub condition: Option<SchemaId>,
    pub then: Option<SchemaId>,
    pub otherwise: Option<SchemaId>,
}

/// A compiled schema.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    pub location: Box<str>,
    pub version: u16,
    /// Set if it allows everything or nothing.
    pub boolean: Option<bool>,
    /// The schema with the id that this one belongs to.
    pub resource: SchemaId,
    pub dynamic_anchor: Box<str>,
    pub dynamic_anchors: BTreeMap<Box<str>, SchemaId>,
    pub recursive_anchor: bool,
    pub types: Types,
    pub constant: Option<Constant>,
    pub values: Option<Vec<Constant>>,
    pub format: Option<Format>,
    pub reference: Option<SchemaId>,
    pub recursive_ref: Option<SchemaId>,
    /// The target, and the anchor if the reference names one.
    pub dynamic_ref: Option<(SchemaId, Box<str>)>,
    pub object: Option<Box<ObjectRules>>,
    pub array: Option<Box<ArrayRules>>,
    pub string: Option<Box<StringRules>>,
    pub number: Option<Box<NumberRules>>,
    pub logic: Option<Box<Logic>>,
}
