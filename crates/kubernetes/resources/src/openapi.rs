//! The types of the table as OpenAPI has them: structure and rules for merging, no descriptions.

use std::collections::BTreeMap;

use podium_meta::GroupVersionKind;
use serde_json::{Map, Value, json};

use crate::table::{Field, Form, StructId, TypeId, Types, kinds};

/// The schemas of these kinds, and of everything that they are made of, by their names.
pub fn schemas<'k>(wanted: impl IntoIterator<Item = &'k GroupVersionKind>) -> Map<String, Value> {
    let table = kinds();
    let types = table.types();
    let mut of_kind: BTreeMap<u16, Vec<&GroupVersionKind>> = BTreeMap::new();
    let mut open: Vec<StructId> = Vec::new();
    for kind in wanted {
        if let Some(id) = table.type_of(kind).and_then(|id| types.get(id).form.as_struct()) {
            of_kind.entry(id.0).or_default().push(kind);
            open.push(id);
        }
    }
    let mut out = Map::new();
    let mut open = Open { structs: open, plain: BTreeMap::new() };
    while let Some(id) = open.structs.pop() {
        let one = types.struct_(id);
        let name = one.schema_name();
        if out.contains_key(&name) {
            continue;
        }
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in one.fields.iter().filter(|field| field.key != "-") {
            properties.insert(field.key.to_owned(), property(types, field, &mut open));
            if field.required {
                required.push(field.key);
            }
        }
        let mut schema = json!({"type": "object"});
        if let Some(map) = schema.as_object_mut() {
            if !properties.is_empty() {
                map.insert("properties".to_owned(), Value::Object(properties));
            }
            if !required.is_empty() {
                map.insert("required".to_owned(), json!(required));
            }
            if one.whole {
                map.insert("x-kubernetes-map-type".to_owned(), "atomic".into());
            }
            if let Some(kinds) = of_kind.get(&id.0) {
                let kinds: Vec<Value> = kinds.iter().map(|kind| full(kind)).collect();
                map.insert("x-kubernetes-group-version-kind".to_owned(), Value::Array(kinds));
            }
        }
        out.insert(name, schema);
    }
    out.extend(open.plain);
    out
}

/// What is still to be described.
struct Open {
    structs: Vec<StructId>,
    /// Types that have a name and no fields; clients show their names.
    plain: BTreeMap<String, Value>,
}

impl Open {
    fn named(&mut self, name: &str, schema: Value) -> Value {
        let name = format!("io.k8s.apimachinery.pkg.{name}");
        let reference = json!({"$ref": format!("#/components/schemas/{name}")});
        self.plain.insert(name, schema);
        reference
    }
}

/// A kind as OpenAPI has it.
pub fn full(kind: &GroupVersionKind) -> Value {
    json!({"group": kind.group, "version": kind.version, "kind": kind.kind})
}

/// A field: its type, its default, and how it is merged.
fn property(types: &Types, field: &Field, open: &mut Open) -> Value {
    let mut schema = schema(types, field.ty, open);
    let mut extra = Map::new();
    let mut rest = field.rest;
    while !rest.is_empty() {
        if let Some(default) = rest.strip_prefix('=') {
            extra.insert("default".to_owned(), serde_json::from_str(default).unwrap_or_default());
            break;
        }
        let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = after;
        let mut say = |key: &str, value: Value| extra.insert(format!("x-kubernetes-{key}"), value);
        match word {
            "s" => drop(say("list-type", "set".into())),
            "a" => drop(say("list-type", "atomic".into())),
            "A" => drop(say("map-type", "atomic".into())),
            "R" => drop(say("patch-strategy", "retainKeys".into())),
            "P" => drop(say("patch-strategy", "replace".into())),
            word => {
                if let Some(keys) = word.strip_prefix("k:") {
                    say("list-map-keys", keys.split(',').collect());
                    say("list-type", "map".into());
                } else if let Some(key) = word.strip_prefix("m:") {
                    let before = extra.get("x-kubernetes-patch-strategy").and_then(Value::as_str);
                    let strategy = if before == Some("retainKeys") { "merge,retainKeys" } else { "merge" };
                    extra.insert("x-kubernetes-patch-strategy".to_owned(), strategy.into());
                    if !key.is_empty() {
                        extra.insert("x-kubernetes-patch-merge-key".to_owned(), key.into());
                    }
                }
            }
        }
    }
    if extra.is_empty() {
        return schema;
    }
    // What stands beside a reference does not count.
    if schema.get("$ref").is_some() {
        schema = json!({"allOf": [schema]});
    }
    if let Some(map) = schema.as_object_mut() {
        map.extend(extra);
    }
    schema
}

fn schema(types: &Types, id: TypeId, open: &mut Open) -> Value {
    let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    match types.target(id).1.form {
        Form::String | Form::Duration => json!({"type": "string"}),
        Form::Bool => json!({"type": "boolean"}),
        Form::Int32 => json!({"type": "integer", "format": "int32"}),
        Form::Int64 => json!({"type": "integer", "format": "int64"}),
        Form::Float64 => json!({"type": "number", "format": "double"}),
        Form::Bytes => json!({"type": "string", "format": "byte"}),
        Form::Time => open.named("apis.meta.v1.Time", json!({"type": "string", "format": "date-time"})),
        Form::MicroTime => {
            open.named("apis.meta.v1.MicroTime", json!({"type": "string", "format": "date-time"}))
        }
        Form::Quantity => {
            open.named("api.resource.Quantity", json!({"oneOf": [{"type": "string"}, {"type": "number"}]}))
        }
        Form::IntOrString => open.named(
            "util.intstr.IntOrString",
            json!({"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"}),
        ),
        Form::Raw => open.named("runtime.RawExtension", json!({"type": "object"})),
        Form::Fields => open.named("apis.meta.v1.FieldsV1", json!({"type": "object"})),
        Form::Json | Form::SchemaOrBool | Form::SchemaOrArray | Form::SchemaOrStrings => json!({}),
        Form::List(items) => json!({"type": "array", "items": schema(types, items, open)}),
        Form::Map(values) => json!({"type": "object", "additionalProperties": schema(types, values, open)}),
        Form::Struct(id) => {
            open.structs.push(id);
            reference(&types.struct_(id).schema_name())
        }
        Form::Pointer(inner) => schema(types, inner, open),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_the_schemas_of_all_its_parts() {
        let schemas = schemas([&GroupVersionKind::new("apps/v1", "Deployment")]);
        let name = |kind: &str| format!("io.k8s.api.{kind}");
        let deployment = &schemas[&name("apps.v1.Deployment")];
        assert_eq!(deployment["x-kubernetes-group-version-kind"][0]["group"], "apps");
        let container = &schemas[&name("core.v1.Container")]["properties"];
        assert_eq!(container["ports"]["x-kubernetes-list-map-keys"], json!(["containerPort", "protocol"]));
        assert_eq!(container["ports"]["x-kubernetes-patch-merge-key"], "containerPort");
        assert_eq!(container["name"]["type"], "string");
        assert_eq!(schemas[&name("apps.v1.DeploymentSpec")]["required"], json!(["selector", "template"]));
    }
}
