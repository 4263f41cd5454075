//! The schema of a definition as it is written: every field that the API knows.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Schemas deeper than this are not read: deeper than any that people write.
const DEEPEST: usize = 200;

/// Schemas by name; none and an empty set are the same when two schemas are compared.
#[derive(Clone, Debug, Default)]
pub struct Named(pub Option<BTreeMap<String, Props>>);

impl Named {
    /// The schemas, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Props)> {
        self.0.iter().flatten()
    }

    /// The schema of that name.
    pub fn get(&self, name: &str) -> Option<&Props> {
        self.0.as_ref()?.get(name)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, BTreeMap::len)
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

/// What items of a list are: one schema for all, or one each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Items {
    pub one: Option<Box<Props>>,
    pub each: Vec<Props>,
}

/// What fields beyond the named ones may be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Additional {
    pub allows: bool,
    pub schema: Option<Box<Props>>,
}

/// What a field asks of the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dependency {
    pub schema: Option<Box<Props>>,
    pub property: Vec<String>,
}

/// A rule in the expression language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The expression that has to be true.
    pub rule: String,
    /// What is said if it is not.
    pub message: String,
    /// An expression that makes what is said.
    pub message_expression: String,
    /// The kind of error that it is.
    pub reason: Option<String>,
    /// The field that it is said of.
    pub field_path: String,
    /// Whether the rule is asked when there is no old value, too.
    pub optional_old_self: Option<bool>,
}

/// A schema, field by field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Props {
    pub id: String,
    pub schema: String,
    pub reference: Option<String>,
    pub description: String,
    pub kind: String,
    pub nullable: bool,
    pub format: String,
    pub title: String,
    pub default: Option<Value>,
    pub maximum: Option<f64>,
    pub exclusive_maximum: bool,
    pub minimum: Option<f64>,
    pub exclusive_minimum: bool,
    pub max_length: Option<i64>,
    pub min_length: Option<i64>,
    pub pattern: String,
    pub max_items: Option<i64>,
    pub min_items: Option<i64>,
    pub unique_items: bool,
    pub multiple_of: Option<f64>,
    pub enumeration: Vec<Value>,
    pub max_properties: Option<i64>,
    pub min_properties: Option<i64>,
    pub required: Vec<String>,
    pub items: Option<Items>,
    pub all_of: Vec<Props>,
    pub one_of: Vec<Props>,
    pub any_of: Vec<Props>,
    pub not: Option<Box<Props>>,
    pub properties: Named,
    pub additional: Option<Additional>,
    pub pattern_properties: Named,
    pub dependencies: Option<BTreeMap<String, Dependency>>,
    pub additional_items: Option<Additional>,
    pub definitions: Named,
    pub external_docs: Option<(String, String)>,
    pub example: Option<Value>,
    pub preserve: Option<bool>,
    pub embedded: bool,
    pub int_or_string: bool,
    pub list_map_keys: Vec<String>,
    pub list_type: Option<String>,
    pub map_type: Option<String>,
    pub rules: Vec<Rule>,
}

impl Props {
    /// Reads a schema; what is of another type than the API says is left out, and what is nested beyond all measure too.
    pub fn read(value: &Value) -> Self {
        Self::at(value, 0)
    }

    fn at(value: &Value, depth: usize) -> Self {
        let Value::Object(fields) = value else { return Self::default() };
        if depth > DEEPEST {
            return Self::default();
        }
        let read = Reader { fields, depth: depth + 1 };
        Self {
            id: read.text("id"),
            schema: read.text("$schema"),
            reference: read.maybe_text("$ref"),
            description: read.text("description"),
            kind: read.text("type"),
            nullable: read.flag("nullable"),
            format: read.text("format"),
            title: read.text("title"),
            default: read.any("default"),
            maximum: read.float("maximum"),
            exclusive_maximum: read.flag("exclusiveMaximum"),
            minimum: read.float("minimum"),
            exclusive_minimum: read.flag("exclusiveMinimum"),
            max_length: read.whole("maxLength"),
            min_length: read.whole("minLength"),
            pattern: read.text("pattern"),
            max_items: read.whole("maxItems"),
            min_items: read.whole("minItems"),
            unique_items: read.flag("uniqueItems"),
            multiple_of: read.float("multipleOf"),
            enumeration: read.list("enum").to_vec(),
            max_properties: read.whole("maxProperties"),
            min_properties: read.whole("minProperties"),
            required: read.texts("required"),
            items: read.items(),
            all_of: read.schemas("allOf"),
            one_of: read.schemas("oneOf"),
            any_of: read.schemas("anyOf"),
            not: fields
                .get("not")
                .filter(|not| not.is_object())
                .map(|not| Box::new(Self::at(not, depth + 1))),
            properties: read.named("properties"),
            additional: read.additional("additionalProperties"),
            pattern_properties: read.named("patternProperties"),
            dependencies: read.dependencies(),
            additional_items: read.additional("additionalItems"),
            definitions: read.named("definitions"),
            external_docs: fields.get("externalDocs").and_then(Value::as_object).map(|docs| {
                let docs = Reader { fields: docs, depth };
                (docs.text("description"), docs.text("url"))
            }),
            example: read.any("example"),
            preserve: fields.get("x-kubernetes-preserve-unknown-fields").and_then(Value::as_bool),
            embedded: read.flag("x-kubernetes-embedded-resource"),
            int_or_string: read.flag("x-kubernetes-int-or-string"),
            list_map_keys: read.texts("x-kubernetes-list-map-keys"),
            list_type: read.maybe_text("x-kubernetes-list-type"),
            map_type: read.maybe_text("x-kubernetes-map-type"),
            rules: read.list("x-kubernetes-validations").iter().map(rule).collect(),
        }
    }

    /// The schema of all items.
    pub fn item(&self) -> Option<&Self> {
        self.items.as_ref()?.one.as_deref()
    }

    /// The schema of fields beyond the named ones.
    pub fn extra(&self) -> Option<&Self> {
        self.additional.as_ref()?.schema.as_deref()
    }

    /// Whether this schema or one inside it is such.
    pub fn any(&self, such: &dyn Fn(&Self) -> bool) -> bool {
        such(self) || self.parts().into_iter().any(|part| part.any(such))
    }

    /// The schemas right inside this one.
    pub fn parts(&self) -> Vec<&Self> {
        let mut parts: Vec<&Self> = Vec::new();
        if let Some(items) = &self.items {
            parts.extend(items.one.as_deref());
            parts.extend(&items.each);
        }
        parts.extend(self.all_of.iter().chain(&self.any_of).chain(&self.one_of));
        parts.extend(self.not.as_deref());
        parts.extend(self.properties.iter().map(|(_, schema)| schema));
        parts.extend(self.extra());
        parts.extend(self.pattern_properties.iter().map(|(_, schema)| schema));
        parts.extend(self.additional_items.as_ref().and_then(|items| items.schema.as_deref()));
        parts.extend(self.definitions.iter().map(|(_, schema)| schema));
        parts.extend(
            self.dependencies.iter().flatten().filter_map(|(_, dependency)| dependency.schema.as_deref()),
        );
        parts
    }
}

fn rule(value: &Value) -> Rule {
    let Value::Object(fields) = value else { return Rule::default() };
    let read = Reader { fields, depth: 0 };
    Rule {
        rule: read.text("rule"),
        message: read.text("message"),
        message_expression: read.text("messageExpression"),
        reason: read.maybe_text("reason"),
        field_path: read.text("fieldPath"),
        optional_old_self: fields.get("optionalOldSelf").and_then(Value::as_bool),
    }
}

/// Reads fields of one object.
struct Reader<'a> {
    fields: &'a Map<String, Value>,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn text(&self, name: &str) -> String {
        self.maybe_text(name).unwrap_or_default()
    }

    fn maybe_text(&self, name: &str) -> Option<String> {
        self.fields.get(name).and_then(Value::as_str).map(str::to_owned)
    }

    fn flag(&self, name: &str) -> bool {
        self.fields.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    fn any(&self, name: &str) -> Option<Value> {
        self.fields.get(name).filter(|value| !value.is_null()).cloned()
    }

    fn float(&self, name: &str) -> Option<f64> {
        self.fields.get(name).and_then(Value::as_f64)
    }

    fn whole(&self, name: &str) -> Option<i64> {
        self.fields.get(name).and_then(Value::as_i64)
    }

    fn list(&self, name: &str) -> &'a [Value] {
        self.fields.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn texts(&self, name: &str) -> Vec<String> {
        self.list(name).iter().map(|item| item.as_str().unwrap_or_default().to_owned()).collect()
    }

    fn schemas(&self, name: &str) -> Vec<Props> {
        self.list(name).iter().map(|item| Props::at(item, self.depth)).collect()
    }

    fn one(&self, value: &Value) -> Option<Box<Props>> {
        value.is_object().then(|| Box::new(Props::at(value, self.depth)))
    }

    fn named(&self, name: &str) -> Named {
        let read = |(name, value): (&String, &Value)| (name.clone(), Props::at(value, self.depth));
        Named(
            self.fields.get(name).and_then(Value::as_object).map(|fields| fields.iter().map(read).collect()),
        )
    }

    fn items(&self) -> Option<Items> {
        match self.fields.get("items")? {
            Value::Null => None,
            Value::Array(each) => {
                Some(Items { one: None, each: each.iter().map(|item| Props::at(item, self.depth)).collect() })
            }
            value => Some(Items { one: self.one(value), each: Vec::new() }),
        }
    }

    fn additional(&self, name: &str) -> Option<Additional> {
        match self.fields.get(name)? {
            Value::Bool(allows) => Some(Additional { allows: *allows, schema: None }),
            value @ Value::Object(_) => Some(Additional { allows: true, schema: self.one(value) }),
            _ => None,
        }
    }

    fn dependencies(&self) -> Option<BTreeMap<String, Dependency>> {
        let read = |(name, value): (&String, &Value)| {
            let property = value.as_array().into_iter().flatten();
            let property = property.map(|item| item.as_str().unwrap_or_default().to_owned()).collect();
            (name.clone(), Dependency { schema: self.one(value), property })
        };
        self.fields
            .get("dependencies")
            .and_then(Value::as_object)
            .map(|fields| fields.iter().map(read).collect())
    }
}
