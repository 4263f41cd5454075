//! A schema made ready for work: patterns compiled, formats known, what is not checked left out.

use std::collections::BTreeMap;

use podium_re2::Regex;
use serde_json::Value;

use crate::formats::Format;
use crate::props::{Props, Rule};

/// The types of values, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Types(u8);

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Object = 1,
    Array = 2,
    String = 4,
    Integer = 8,
    Number = 16,
    Boolean = 32,
    Null = 64,
}

impl Type {
    /// The type of that name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "null" => Self::Null,
            _ => return None,
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Null => "null",
        }
    }
}

impl Types {
    /// Whether the type is one of them.
    pub fn has(self, one: Type) -> bool {
        self.0 & one as u8 != 0
    }

    fn with(self, one: Type) -> Self {
        Self(self.0 | one as u8)
    }
}

/// How a list keeps its items apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// Not at all.
    #[default]
    Atomic,
    /// Every value once.
    Set,
    /// By the values of keys.
    Map,
}

/// Fields beyond the named ones.
#[derive(Clone, Debug)]
pub struct Extra {
    pub allows: bool,
    pub node: Option<Box<Node>>,
}

/// A pattern, or why it is none.
#[derive(Clone, Debug)]
pub struct Pattern {
    pub text: String,
    pub regex: Result<Regex, String>,
}

/// Combinations of schemas; most schemas have none.
#[derive(Clone, Debug, Default)]
pub struct Combined {
    pub all: Vec<Node>,
    pub any: Vec<Node>,
    pub one: Vec<Node>,
    pub not: Option<Box<Node>>,
}

/// One schema, compiled.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// The types that values may have.
    pub types: Types,
    /// The names of the types, as errors show them; empty if every type is welcome.
    pub words: String,
    /// The type as it was written.
    pub kind: Option<Type>,
    pub nullable: bool,
    /// The format as it was written, unless nobody checks it.
    pub format: String,
    pub known: Option<Format>,
    pub maximum: Option<(f64, bool)>,
    pub minimum: Option<(f64, bool)>,
    pub multiple_of: Option<f64>,
    pub max_length: Option<i64>,
    pub min_length: Option<i64>,
    pub pattern: Option<Pattern>,
    pub max_items: Option<i64>,
    pub min_items: Option<i64>,
    pub unique_items: bool,
    pub max_properties: Option<i64>,
    pub min_properties: Option<i64>,
    pub required: Vec<String>,
    pub enumeration: Vec<Value>,
    pub combined: Option<Box<Combined>>,
    pub items: Option<Box<Node>>,
    pub properties: BTreeMap<String, Node>,
    pub extra: Option<Extra>,
    pub default: Option<Value>,
    pub preserve: bool,
    pub embedded: bool,
    pub int_or_string: bool,
    pub list_type: ListType,
    pub list_map_keys: Vec<String>,
    pub map_type: Option<String>,
    pub rules: Vec<Rule>,
}

/// For what a schema is compiled: the two uses read formats and mixed types differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// To check resources.
    Resources,
    /// To check the defaults inside the schema itself.
    Defaults,
    /// To find one's way in it: nothing is checked, and patterns are not compiled.
    Outline,
}

impl Node {
    /// Compiles a schema.
    pub fn compile(props: &Props, aim: Use) -> Self {
        let (types, words) = types(props, aim);
        let kind = Type::named(&props.kind);
        let format = format(props, aim, &words);
        let known = Format::named(&format);
        let all =
            |schemas: &[Props]| schemas.iter().map(|schema| Self::compile(schema, aim)).collect::<Vec<_>>();
        let combined = Combined {
            all: all(&props.all_of),
            any: all(&props.any_of),
            one: all(&props.one_of),
            not: props.not.as_deref().map(|not| Box::new(Self::compile(not, aim))),
        };
        let plain = combined.all.is_empty() && combined.any.is_empty() && combined.one.is_empty();
        Self {
            types,
            words,
            kind,
            nullable: props.nullable,
            known,
            format,
            maximum: props.maximum.map(|maximum| (maximum, props.exclusive_maximum)),
            minimum: props.minimum.map(|minimum| (minimum, props.exclusive_minimum)),
            multiple_of: props.multiple_of,
            max_length: props.max_length,
            min_length: props.min_length,
            pattern: Some(&props.pattern).filter(|text| !text.is_empty() && aim != Use::Outline).map(
                |text| Pattern {
                    text: text.clone(),
                    regex: Regex::new(text).map_err(|error| error.to_string()),
                },
            ),
            max_items: props.max_items,
            min_items: props.min_items,
            unique_items: props.unique_items,
            max_properties: props.max_properties,
            min_properties: props.min_properties,
            required: props.required.clone(),
            enumeration: props.enumeration.clone(),
            combined: (!plain || combined.not.is_some()).then(|| Box::new(combined)),
            items: props.item().map(|item| Box::new(Self::compile(item, aim))),
            properties: props
                .properties
                .iter()
                .map(|(name, schema)| (name.clone(), Self::compile(schema, aim)))
                .collect(),
            extra: props.additional.as_ref().map(|additional| Extra {
                allows: additional.allows,
                node: additional.schema.as_deref().map(|schema| Box::new(Self::compile(schema, aim))),
            }),
            default: props.default.clone(),
            preserve: props.preserve == Some(true),
            embedded: props.embedded,
            int_or_string: props.int_or_string,
            list_type: match props.list_type.as_deref() {
                Some("set") => ListType::Set,
                Some("map") => ListType::Map,
                _ => ListType::Atomic,
            },
            list_map_keys: props.list_map_keys.clone(),
            map_type: props.map_type.clone(),
            rules: props.rules.clone(),
        }
    }

    /// The schema of a field: its own, or that of fields beyond the named ones.
    pub fn field(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or_else(|| self.extra.as_ref()?.node.as_deref())
    }

    /// Whether null is not a value here.
    pub fn refuses_null(&self) -> bool {
        !self.nullable
    }
}

/// The types that a schema lets through, and their names.
fn types(props: &Props, aim: Use) -> (Types, String) {
    if props.int_or_string && aim != Use::Defaults {
        return (Types::default().with(Type::Integer).with(Type::String), "integer,string".to_owned());
    }
    let types = Type::named(&props.kind).map_or(Types::default(), |kind| Types::default().with(kind));
    (types, props.kind.clone())
}

/// The format, unless it is one that the server does not check for that type.
fn format(props: &Props, aim: Use, words: &str) -> String {
    let known = match words {
        // What may be a number or text is read as text.
        "" | "string" | "integer,string" => Format::supported(&props.format),
        "integer" => matches!(props.format.as_str(), "int32" | "int64"),
        "number" => matches!(props.format.as_str(), "float" | "double"),
        _ => false,
    };
    if known || aim == Use::Defaults { props.format.clone() } else { String::new() }
}
