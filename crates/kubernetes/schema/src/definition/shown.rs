//! Parts of a definition as errors show them: the server's own form, field by field.

use serde_json::Value;

use super::model::{Column, Subresources, Version};
use crate::go;
use crate::props::{Additional, Dependency, Items, Named, Props, Rule};

/// An object with its fields in order.
struct Fields(String);

impl Fields {
    fn new() -> Self {
        Self("{".to_owned())
    }

    fn add(mut self, name: &str, value: impl AsRef<str>) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&format!("\"{name}\":"));
        self.0.push_str(value.as_ref());
        self
    }

    fn text(self, name: &str, text: &str) -> Self {
        self.add(name, quoted(text))
    }

    fn flag(self, name: &str, flag: bool) -> Self {
        self.add(name, flag.to_string())
    }

    fn end(self) -> String {
        self.0 + "}"
    }
}

/// Text in JSON.
pub fn quoted(text: &str) -> String {
    let mut out = String::new();
    go::json_text(&mut out, text);
    out
}

/// Text in JSON, or null.
pub fn maybe(text: Option<&str>) -> String {
    text.map_or_else(|| "null".to_owned(), quoted)
}

fn or_null<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "null".to_owned(), show)
}

fn list<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    if items.is_empty() {
        return "null".to_owned();
    }
    format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(","))
}

/// Texts in JSON.
pub fn texts(items: &[String]) -> String {
    list(items, |text| quoted(text))
}

/// The versions of a definition.
pub fn versions(versions: &[Version], given: bool) -> String {
    if versions.is_empty() {
        return if given { "[]" } else { "null" }.to_owned();
    }
    list(versions, version)
}

fn version(version: &Version) -> String {
    let validation = version.validation.as_ref();
    Fields::new()
        .text("Name", &version.name)
        .flag("Served", version.served)
        .flag("Storage", version.storage)
        .flag("Deprecated", version.deprecated)
        .add("DeprecationWarning", maybe(version.warning.as_deref()))
        .add(
            "Schema",
            or_null(validation, |validation| {
                let schema = or_null(validation.schema.as_ref(), |(schema, _)| props(schema));
                Fields::new().add("OpenAPIV3Schema", schema).end()
            }),
        )
        .add("Subresources", or_null(version.subresources.as_ref(), subresources))
        .add("AdditionalPrinterColumns", list(&version.columns, column))
        .add("SelectableFields", list(&version.selectable, |path| Fields::new().text("JSONPath", path).end()))
        .end()
}

fn subresources(all: &Subresources) -> String {
    let scale = or_null(all.scale.as_ref(), |(spec, status, selector)| {
        Fields::new()
            .text("SpecReplicasPath", spec)
            .text("StatusReplicasPath", status)
            .add("LabelSelectorPath", maybe(selector.as_deref()))
            .end()
    });
    Fields::new().add("Status", if all.status { "{}" } else { "null" }).add("Scale", scale).end()
}

fn column(column: &Column) -> String {
    Fields::new()
        .text("Name", &column.name)
        .text("Type", &column.kind)
        .text("Format", &column.format)
        .text("Description", &column.description)
        .add("Priority", column.priority.to_string())
        .text("JSONPath", &column.path)
        .end()
}

/// A rule.
pub fn rule(rule: &Rule) -> String {
    Fields::new()
        .text("Rule", &rule.rule)
        .text("Message", &rule.message)
        .text("MessageExpression", &rule.message_expression)
        .add("Reason", maybe(rule.reason.as_deref()))
        .text("FieldPath", &rule.field_path)
        .add("OptionalOldSelf", or_null(rule.optional_old_self, |flag| flag.to_string()))
        .end()
}

/// What items are.
pub fn items(items: &Items) -> String {
    Fields::new()
        .add("Schema", or_null(items.one.as_deref(), props))
        .add("JSONSchemas", list(&items.each, props))
        .end()
}

fn additional(additional: &Additional) -> String {
    Fields::new()
        .flag("Allows", additional.allows)
        .add("Schema", or_null(additional.schema.as_deref(), props))
        .end()
}

fn named(named: &Named) -> String {
    or_null(named.0.as_ref(), |all| {
        let all: Vec<String> =
            all.iter().map(|(name, schema)| format!("{}:{}", quoted(name), props(schema))).collect();
        format!("{{{}}}", all.join(","))
    })
}

fn dependency((name, dependency): (&String, &Dependency)) -> String {
    let shown = Fields::new()
        .add("Schema", or_null(dependency.schema.as_deref(), props))
        .add("Property", texts(&dependency.property))
        .end();
    format!("{}:{shown}", quoted(name))
}

/// A schema.
pub fn props(schema: &Props) -> String {
    let float = |value: Option<f64>| or_null(value, go::json_float);
    let whole = |value: Option<i64>| or_null(value, |value| value.to_string());
    let any = |value: Option<&Value>| or_null(value, go::json);
    Fields::new()
        .text("ID", &schema.id)
        .text("Schema", &schema.schema)
        .add("Ref", maybe(schema.reference.as_deref()))
        .text("Description", &schema.description)
        .text("Type", &schema.kind)
        .flag("Nullable", schema.nullable)
        .text("Format", &schema.format)
        .text("Title", &schema.title)
        .add("Default", any(schema.default.as_ref()))
        .add("Maximum", float(schema.maximum))
        .flag("ExclusiveMaximum", schema.exclusive_maximum)
        .add("Minimum", float(schema.minimum))
        .flag("ExclusiveMinimum", schema.exclusive_minimum)
        .add("MaxLength", whole(schema.max_length))
        .add("MinLength", whole(schema.min_length))
        .text("Pattern", &schema.pattern)
        .add("MaxItems", whole(schema.max_items))
        .add("MinItems", whole(schema.min_items))
        .flag("UniqueItems", schema.unique_items)
        .add("MultipleOf", float(schema.multiple_of))
        .add("Enum", list(&schema.enumeration, go::json))
        .add("MaxProperties", whole(schema.max_properties))
        .add("MinProperties", whole(schema.min_properties))
        .add("Required", texts(&schema.required))
        .add("Items", or_null(schema.items.as_ref(), items))
        .add("AllOf", list(&schema.all_of, props))
        .add("OneOf", list(&schema.one_of, props))
        .add("AnyOf", list(&schema.any_of, props))
        .add("Not", or_null(schema.not.as_deref(), props))
        .add("Properties", named(&schema.properties))
        .add("AdditionalProperties", or_null(schema.additional.as_ref(), additional))
        .add("PatternProperties", named(&schema.pattern_properties))
        .add(
            "Dependencies",
            or_null(schema.dependencies.as_ref(), |all| {
                format!("{{{}}}", all.iter().map(dependency).collect::<Vec<_>>().join(","))
            }),
        )
        .add("AdditionalItems", or_null(schema.additional_items.as_ref(), additional))
        .add("Definitions", named(&schema.definitions))
        .add(
            "ExternalDocs",
            or_null(schema.external_docs.as_ref(), |(description, url)| {
                Fields::new().text("Description", description).text("URL", url).end()
            }),
        )
        .add("Example", any(schema.example.as_ref()))
        .add("XPreserveUnknownFields", or_null(schema.preserve, |preserve| preserve.to_string()))
        .flag("XEmbeddedResource", schema.embedded)
        .flag("XIntOrString", schema.int_or_string)
        .add("XListMapKeys", texts(&schema.list_map_keys))
        .add("XListType", maybe(schema.list_type.as_deref()))
        .add("XMapType", maybe(schema.map_type.as_deref()))
        .add("XValidations", list(&schema.rules, rule))
        .end()
}

/// The fields of a schema that say something, by the server's own names, in its order.
pub fn set_fields(schema: &Props) -> Vec<&'static str> {
    let all = [
        ("ID", !schema.id.is_empty()),
        ("Schema", !schema.schema.is_empty()),
        ("Ref", schema.reference.is_some()),
        ("Description", !schema.description.is_empty()),
        ("Type", !schema.kind.is_empty()),
        ("Nullable", schema.nullable),
        ("Format", !schema.format.is_empty()),
        ("Title", !schema.title.is_empty()),
        ("Default", schema.default.is_some()),
        ("Maximum", schema.maximum.is_some()),
        ("ExclusiveMaximum", schema.exclusive_maximum),
        ("Minimum", schema.minimum.is_some()),
        ("ExclusiveMinimum", schema.exclusive_minimum),
        ("MaxLength", schema.max_length.is_some()),
        ("MinLength", schema.min_length.is_some()),
        ("Pattern", !schema.pattern.is_empty()),
        ("MaxItems", schema.max_items.is_some()),
        ("MinItems", schema.min_items.is_some()),
        ("UniqueItems", schema.unique_items),
        ("MultipleOf", schema.multiple_of.is_some()),
        ("Enum", !schema.enumeration.is_empty()),
        ("MaxProperties", schema.max_properties.is_some()),
        ("MinProperties", schema.min_properties.is_some()),
        ("Required", !schema.required.is_empty()),
        ("Items", schema.items.is_some()),
        ("AllOf", !schema.all_of.is_empty()),
        ("OneOf", !schema.one_of.is_empty()),
        ("AnyOf", !schema.any_of.is_empty()),
        ("Not", schema.not.is_some()),
        ("Properties", schema.properties.0.is_some()),
        ("AdditionalProperties", schema.additional.is_some()),
        ("PatternProperties", schema.pattern_properties.0.is_some()),
        ("Dependencies", schema.dependencies.is_some()),
        ("AdditionalItems", schema.additional_items.is_some()),
        ("Definitions", schema.definitions.0.is_some()),
        ("ExternalDocs", schema.external_docs.is_some()),
        ("Example", schema.example.is_some()),
        ("XPreserveUnknownFields", schema.preserve.is_some()),
        ("XEmbeddedResource", schema.embedded),
        ("XIntOrString", schema.int_or_string),
        ("XListMapKeys", !schema.list_map_keys.is_empty()),
        ("XListType", schema.list_type.is_some()),
        ("XMapType", schema.map_type.is_some()),
        ("XValidations", !schema.rules.is_empty()),
    ];
    all.into_iter().filter(|(_, set)| *set).map(|(name, _)| name).collect()
}
