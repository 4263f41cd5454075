//! Writes values in the original's order of fields, byte for byte as it writes them.

use podium_meta::GroupVersionKind;
use serde_json::Value;

use crate::table::{Form, Kinds, StructId, TypeId, Types, kinds};

/// An object of a built-in kind in JSON, as the server sends it; one of another kind in the order of its keys.
pub fn to_json(kind: &GroupVersionKind, value: &Value) -> String {
    let table: &Kinds = kinds();
    let mut out = String::new();
    let writer = Writer { types: table.types() };
    writer.value(table.type_of(kind), value, &mut out);
    out
}

/// A value of a type of a table in JSON, in the original's order of fields.
pub fn to_json_of(table: &Kinds, id: TypeId, value: &Value) -> String {
    let mut out = String::new();
    Writer { types: table.types() }.value(Some(id), value, &mut out);
    out
}

/// A value of a type that has this name in the table.
pub(crate) fn to_json_as(name: &str, value: &Value, out: &mut String) {
    let types = kinds().types();
    Writer { types }.value(types.named(name), value, out);
}

struct Writer<'t> {
    types: &'t Types,
}

impl Writer<'_> {
    fn value(&self, id: Option<TypeId>, value: &Value, out: &mut String) {
        let form = id.map(|id| self.types.target(id).1.form);
        match value {
            Value::Null => out.push_str("null"),
            Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
            Value::Number(number) => out.push_str(&number.to_string()),
            Value::String(text) => quote(text, out),
            Value::Array(list) => {
                let inner = match form {
                    Some(Form::List(inner)) => Some(inner),
                    // Schemas that stand beside each other.
                    Some(Form::SchemaOrArray) => self.types.schema,
                    _ => None,
                };
                out.push('[');
                for (at, item) in list.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    self.value(inner, item, out);
                }
                out.push(']');
            }
            Value::Object(object) => {
                out.push('{');
                let start = out.len();
                match form {
                    Some(Form::Struct(inner)) => self.fields(inner, object, start, out),
                    Some(Form::SchemaOrBool | Form::SchemaOrArray | Form::SchemaOrStrings) => {
                        let schema = self.types.schema.and_then(|id| self.types.get(id).form.as_struct());
                        if let Some(schema) = schema {
                            self.fields(schema, object, start, out);
                        }
                    }
                    form => {
                        let inner = match form {
                            Some(Form::Map(inner)) => Some(inner),
                            _ => None,
                        };
                        for (key, value) in object {
                            self.member(key, inner, value, start, out);
                        }
                    }
                }
                out.push('}');
            }
        }
    }

    fn fields(&self, id: StructId, object: &serde_json::Map<String, Value>, start: usize, out: &mut String) {
        for field in &self.types.struct_(id).own {
            match self.types.target(field.ty).1.form {
                Form::Struct(inner) if field.embedded => self.fields(inner, object, start, out),
                _ => {
                    if let Some(value) = object.get(field.key) {
                        self.member(field.key, Some(field.ty), value, start, out);
                    }
                }
            }
        }
    }

    fn member(&self, key: &str, id: Option<TypeId>, value: &Value, start: usize, out: &mut String) {
        if out.len() > start {
            out.push(',');
        }
        quote(key, out);
        out.push(':');
        self.value(id, value, out);
    }
}

/// A text in quotes; signs that mean something in HTML are escaped, as Go does.
pub(crate) fn quote(text: &str, out: &mut String) {
    out.push('"');
    let mut plain = 0;
    for (at, sign) in text.char_indices() {
        let escape = match sign {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '\u{8}' => "\\b",
            '\u{c}' => "\\f",
            '<' => "\\u003c",
            '>' => "\\u003e",
            '&' => "\\u0026",
            '\u{2028}' => "\\u2028",
            '\u{2029}' => "\\u2029",
            sign if sign < ' ' => "",
            _ => continue,
        };
        out.push_str(text.get(plain..at).unwrap_or_default());
        if escape.is_empty() {
            out.push_str(&format!("\\u{:04x}", u32::from(sign)));
        } else {
            out.push_str(escape);
        }
        plain = at + sign.len_utf8();
    }
    out.push_str(text.get(plain..).unwrap_or_default());
    out.push('"');
}
