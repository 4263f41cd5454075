//! The one large OpenAPI document of the second version, made of those of the third.
//!
//! Old clients read nothing else, and new ones ask for it when the third version does not know a kind (`kubectl create -f` of a
//! `List`). It comes as JSON, or in the binary form that Go clients ask for.

use serde_json::{Map, Value, json};

use crate::openapi;
use crate::served::Served;

/// How the binary form is asked for.
pub const ASKED: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
/// What it is called in an answer.
pub const BINARY: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// What only the third version knows.
const NEWER: &[&str] = &["oneOf", "anyOf", "not", "nullable"];

/// The document.
pub fn document(served: &Served) -> Value {
    let (mut paths, mut definitions) = (Map::new(), Map::new());
    for (group, version, _) in served.versions() {
        let Some(mut document) = openapi::document(served, group, version) else { continue };
        let mut take = |path: &str| match document.pointer_mut(path).map(Value::take) {
            Some(Value::Object(map)) => map,
            _ => Map::new(),
        };
        for (name, value) in take("/components/schemas") {
            definitions.entry(name).or_insert_with(|| schema(value));
        }
        paths.extend(take("/paths").into_iter().map(|(address, item)| (address, path_item(item))));
    }
    json!({"swagger": "2.0", "info": {"title": "Kubernetes", "version": crate::version::GIT_VERSION},
        "paths": paths, "definitions": definitions})
}

/// A schema; those of definitions are as deep as their JSON may be.
fn schema(value: Value) -> Value {
    let Value::Object(mut map) = value else { return value };
    // A reference with something beside it.
    if let Some(Value::Array(all)) = map.get_mut("allOf")
        && let [one] = all.as_mut_slice()
        && one.get("$ref").is_some()
    {
        let one = one.take();
        map.remove("allOf");
        if let Value::Object(one) = one {
            map.extend(one);
        }
    }
    if map.contains_key("oneOf") && !map.contains_key("type") {
        map.insert("type".to_owned(), "string".into());
    }
    map.retain(|key, _| !NEWER.contains(&key.as_str()));
    for (key, value) in &mut map {
        match key.as_str() {
            "$ref" => {
                if let Some(name) = value.as_str().and_then(|text| text.rsplit('/').next()) {
                    *value = format!("#/definitions/{name}").into();
                }
            }
            "properties" => {
                for property in value.as_object_mut().into_iter().flat_map(Map::values_mut) {
                    *property = schema(property.take());
                }
            }
            "items" | "additionalProperties" => *value = schema(value.take()),
            "allOf" => {
                for one in value.as_array_mut().into_iter().flatten() {
                    *one = schema(one.take());
                }
            }
            _ => {}
        }
    }
    Value::Object(map)
}

fn path_item(item: Value) -> Value {
    let Value::Object(mut item) = item else { return item };
    for (key, value) in &mut item {
        if key == "parameters" {
            *value = parameters(value.take());
        } else if let Some(operation) = value.as_object_mut() {
            let mut all = parameters(operation.remove("parameters").unwrap_or_default());
            if let Some(Value::Object(content)) =
                operation.remove("requestBody").and_then(|mut body| body.get_mut("content").map(Value::take))
            {
                let body =
                    json!({"name": "body", "in": "body", "required": true, "schema": {"type": "object"}});
                all.as_array_mut().into_iter().for_each(|all| all.push(body.clone()));
                operation.insert("consumes".to_owned(), content.keys().cloned().collect());
            }
            operation.insert("parameters".to_owned(), all);
            operation.insert("produces".to_owned(), json!(["application/json", "application/yaml"]));
            for response in operation
                .get_mut("responses")
                .and_then(Value::as_object_mut)
                .into_iter()
                .flat_map(Map::values_mut)
            {
                let of = response.pointer_mut("/content/application~1json/schema").map(Value::take);
                *response = json!({"description": "OK", "schema": schema(of.unwrap_or_default())});
            }
        }
    }
    Value::Object(item)
}

/// In the second version the type of a parameter stands in it.
fn parameters(mut all: Value) -> Value {
    for one in all.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        if let Some(Value::Object(schema)) = one.remove("schema") {
            one.extend(schema);
        }
    }
    if all.is_null() { json!([]) } else { all }
}

/// A message of the binary form, field by field.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.number(field << 3 | 2);
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u64, value: Option<&Value>) {
        if let Some(text) = value.and_then(Value::as_str).filter(|text| !text.is_empty()) {
            self.bytes(field, text.as_bytes());
        }
    }

    fn yes(&mut self, field: u64, value: Option<&Value>) {
        if value.and_then(Value::as_bool) == Some(true) {
            self.number(field << 3);
            self.number(1);
        }
    }

    fn texts(&mut self, field: u64, value: Option<&Value>) {
        for text in value.and_then(Value::as_array).into_iter().flatten() {
            self.text(field, Some(text));
        }
    }

    /// A message in this one.
    fn inner(&mut self, field: u64, fill: impl FnOnce(&mut Message)) {
        let mut inner = Message::default();
        fill(&mut inner);
        self.bytes(field, &inner.0);
    }

    /// A value of any kind, as YAML: JSON is that too.
    fn any(&mut self, field: u64, value: &Value) {
        self.inner(field, |any| any.bytes(2, format!("{value}\n").as_bytes()));
    }

    fn named(&mut self, field: u64, name: &str, fill: impl FnOnce(&mut Message)) {
        self.inner(field, |pair| {
            pair.bytes(1, name.as_bytes());
            pair.inner(2, fill);
        });
    }

    /// What the format does not know itself.
    fn extensions(&mut self, field: u64, of: &Value) {
        for (name, value) in of.as_object().into_iter().flatten().filter(|(name, _)| name.starts_with("x-")) {
            self.named(field, name, |any| any.bytes(2, format!("{value}\n").as_bytes()));
        }
    }
}

/// The document in the binary form.
pub fn binary(document: &Value) -> Vec<u8> {
    let mut out = Message::default();
    out.text(1, document.get("swagger"));
    out.inner(2, |info| {
        info.text(1, document.pointer("/info/title"));
        info.text(2, document.pointer("/info/version"));
    });
    let all = |key: &str| document.get(key).and_then(Value::as_object).into_iter().flatten();
    out.inner(8, |paths| {
        for (address, item) in all("paths") {
            paths.named(2, address, |out| write_item(out, item));
        }
    });
    out.inner(9, |definitions| {
        for (name, value) in all("definitions") {
            definitions.named(1, name, |out| write_schema(out, value));
        }
    });
    out.0
}

fn write_schema(out: &mut Message, schema: &Value) {
    for (field, key) in [(1, "$ref"), (2, "format"), (4, "description"), (13, "pattern")] {
        out.text(field, schema.get(key));
    }
    if let Some(default) = schema.get("default") {
        out.any(5, default);
    }
    out.texts(19, schema.get("required"));
    for one in schema.get("enum").and_then(Value::as_array).into_iter().flatten() {
        out.any(20, one);
    }
    match schema.get("additionalProperties") {
        Some(Value::Bool(yes)) => out.inner(21, |out| {
            out.number(2 << 3);
            out.number(u64::from(*yes));
        }),
        Some(values) => out.inner(21, |out| out.inner(1, |out| write_schema(out, values))),
        None => {}
    }
    if let Some(kind) = schema.get("type") {
        out.inner(22, |out| out.text(1, Some(kind)));
    }
    if let Some(items) = schema.get("items") {
        out.inner(23, |out| out.inner(1, |out| write_schema(out, items)));
    }
    for one in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        out.inner(24, |out| write_schema(out, one));
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        out.inner(25, |out| {
            for (name, property) in properties {
                out.named(1, name, |out| write_schema(out, property));
            }
        });
    }
    out.extensions(31, schema);
}

fn write_item(out: &mut Message, item: &Value) {
    for (field, method) in [(2, "get"), (3, "put"), (4, "post"), (5, "delete"), (8, "patch")] {
        let Some(operation) = item.get(method) else { continue };
        out.inner(field, |out| {
            out.texts(6, operation.get("produces"));
            out.texts(7, operation.get("consumes"));
            write_parameters(out, 8, operation.get("parameters"));
            out.inner(9, |out| {
                for (code, answer) in
                    operation.get("responses").and_then(Value::as_object).into_iter().flatten()
                {
                    out.named(1, code, |out| {
                        out.inner(1, |out| {
                            out.text(1, answer.get("description"));
                            if let Some(schema) = answer.get("schema") {
                                out.inner(2, |out| out.inner(1, |out| write_schema(out, schema)));
                            }
                        });
                    });
                }
            });
            out.extensions(13, operation);
        });
    }
    write_parameters(out, 9, item.get("parameters"));
}

fn write_parameters(out: &mut Message, field: u64, all: Option<&Value>) {
    for one in all.and_then(Value::as_array).into_iter().flatten() {
        let place = one.get("in").and_then(Value::as_str).unwrap_or_default();
        out.inner(field, |out| {
            out.inner(1, |out| {
                if place == "body" {
                    return out.inner(1, |out| {
                        out.text(2, one.get("name"));
                        out.text(3, one.get("in"));
                        out.yes(4, one.get("required"));
                        if let Some(schema) = one.get("schema") {
                            out.inner(5, |out| write_schema(out, schema));
                        }
                    });
                }
                let (kind, at) = if place == "path" { (4, 5) } else { (3, 6) };
                out.inner(2, |out| {
                    out.inner(kind, |out| {
                        out.yes(1, one.get("required"));
                        out.text(2, one.get("in"));
                        out.text(4, one.get("name"));
                        out.text(at, one.get("type"));
                    });
                });
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_second_version_does_not_know_is_said_otherwise() {
        let newer = json!({"type": "object", "properties": {
            "a": {"allOf": [{"$ref": "#/components/schemas/x.A"}], "x-kubernetes-list-type": "set"},
            "b": {"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"},
            "c": {"type": "array", "items": {"nullable": true, "type": "string"}}}});
        let older = json!({"type": "object", "properties": {
            "a": {"$ref": "#/definitions/x.A", "x-kubernetes-list-type": "set"},
            "b": {"type": "string", "format": "int-or-string"},
            "c": {"type": "array", "items": {"type": "string"}}}});
        assert_eq!(schema(newer), older);
    }

    #[test]
    fn the_binary_form_is_made_of_fields() {
        let document = json!({"swagger": "2.0", "info": {"title": "t", "version": "v"}, "paths": {},
            "definitions": {"x.A": {"type": "string", "x-b": 1}}});
        let schema = b"\xb2\x01\x08\x0a\x06string\xfa\x01\x0b\x0a\x03x-b\x12\x04\x12\x021\n";
        let mut inner = b"\x0a\x03x.A\x12".to_vec();
        inner.push(schema.len() as u8);
        inner.extend_from_slice(schema);
        let mut expected = b"\x0a\x032.0\x12\x06\x0a\x01t\x12\x01v\x42\x00\x4a".to_vec();
        expected.push(inner.len() as u8 + 2);
        expected.push(0x0a);
        expected.push(inner.len() as u8);
        expected.extend_from_slice(&inner);
        assert_eq!(binary(&document), expected);
    }
}
