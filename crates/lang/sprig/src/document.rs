//! A template's value as the writers of JSON, YAML and TOML see it.

use std::borrow::Cow;

use podium_gotmpl::{Heap, Opaque, Shape, Str, Struct, Type, Value};
use podium_goyaml::{Doc, View};

use crate::encoding::base64_encode;
use crate::gotime::Time;
use crate::times::as_time;

/// The layout of times in documents.
pub(crate) const RFC3339_NANO: &str = "2006-01-02T15:04:05.999999999Z07:00";
/// The zones that TOML gives to what has none, and how that is written.
pub(crate) const LOCAL_FORMS: [(&str, &str); 3] = [
    ("datetime-local", "2006-01-02T15:04:05.999999999"),
    ("date-local", "2006-01-02"),
    ("time-local", "15:04:05.999999999"),
];

/// Which of Go's writers asks: they see bytes, structs and objects differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `encoding/json`, and the YAML that goes through it.
    Json,
    /// go-yaml v3, which looks at the values themselves.
    Yaml,
    /// BurntSushi's TOML.
    Toml,
}

/// A value on its way to a writer. Looking at it costs memory budget, so that a value that contains itself, or one part
/// again and again, comes to an end.
pub struct Document<'h> {
    value: Value<'h>,
    heap: &'h Heap<'h>,
    format: Format,
    /// Whether a nil list or map is the same as nothing.
    nil_is_null: bool,
    /// How many spaces a line of this level begins with, if the writer indents.
    indentation: Option<usize>,
    /// Of a field, its number in the struct.
    field: usize,
}

impl<'h> Document<'h> {
    /// A document for a writer.
    pub fn new(heap: &'h Heap<'h>, value: &Value<'h>, format: Format) -> Self {
        Self {
            value: value.clone(),
            heap,
            format,
            nil_is_null: format == Format::Json,
            indentation: None,
            field: 0,
        }
    }

    /// The same for a writer that indents, which makes deep values long.
    pub fn indented(self) -> Self {
        Self { indentation: Some(0), ..self }
    }

    fn child(&self, value: &Value<'h>) -> Self {
        Self {
            value: value.clone(),
            heap: self.heap,
            format: self.format,
            nil_is_null: self.format != Format::Yaml,
            indentation: self.indentation.map(|spaces| spaces + 2),
            field: 0,
        }
    }

    /// What looking at this level costs: its handles, and its indentation in the text.
    fn cost(&self) -> usize {
        let handles = match &self.value {
            // A control character is written as six.
            Value::Str(s) => s.len().saturating_mul(6),
            Value::Bytes(b) => b.len() * if self.format == Format::Json { 2 } else { size_of::<Self>() },
            Value::List(l) => l.items.len() * size_of::<Self>(),
            Value::Map(m) => m.len() * 2 * size_of::<Self>(),
            _ => size_of::<Value>(),
        };
        handles + self.indentation.unwrap_or(0)
    }

    fn list(&self, items: &[Value<'h>]) -> View<'_, Self> {
        View::List(items.iter().map(|item| self.child(item)).collect())
    }

    fn bytes(&self, bytes: &[u8]) -> View<'_, Self> {
        match self.format {
            Format::Json => View::Str(Cow::Owned(base64_encode(bytes))),
            Format::Yaml | Format::Toml => {
                View::List(bytes.iter().map(|b| self.child(&Value::Uint8(*b))).collect())
            }
        }
    }

    fn structure(&self, structure: &Struct<'h>) -> View<'_, Self> {
        let mut fields = Vec::new();
        self.collect(structure, None, &mut fields);
        View::Fields(fields)
    }

    /// The fields of a struct; `outer` is the number of the field that it is embedded as.
    fn collect(
        &self,
        structure: &Struct<'h>,
        outer: Option<usize>,
        out: &mut Vec<(Cow<'static, [u8]>, Self)>,
    ) {
        for (i, (field, value)) in fields_of(structure.ty).iter().zip(&structure.fields).enumerate() {
            let number = outer.unwrap_or(i);
            // Fields that begin with a small letter are nobody else's business.
            if field.name.starts_with(char::is_lowercase) {
                continue;
            }
            let key = match self.format {
                Format::Json | Format::Toml if field.embedded => {
                    if let Value::Struct(inner) = value {
                        self.collect(inner, Some(number), out);
                    }
                    continue;
                }
                Format::Json if field.json.is_empty() || field.omit_empty && !value.truth() => continue,
                Format::Json => Cow::Borrowed(field.json.as_bytes()),
                Format::Yaml => Cow::Owned(field.name.to_lowercase().into_bytes()),
                Format::Toml => Cow::Borrowed(field.name.as_bytes()),
            };
            out.push((key, Self { field: number, ..self.child(value) }));
        }
    }

    /// An object with a JSON form of its own has the same text for the other writers.
    fn object(&self, object: &dyn Opaque) -> View<'_, Self> {
        if let (Some(time), false) = (as_time(&self.value), self.format == Format::Json) {
            return View::Plain(Cow::Owned(match self.format {
                Format::Toml => toml_time(time),
                _ => time.format(RFC3339_NANO),
            }));
        }
        match (object.json(), object.basic()) {
            (Some(Ok(json)), _) => from_json(&json),
            (Some(Err(text)), _) => View::Unsupported(text),
            (None, Some(_)) if self.format != Format::Json && is_duration(object.ty()) => {
                View::Str(Cow::Owned(object.string().unwrap_or_default().into_bytes()))
            }
            (None, Some(Value::Int(i) | Value::Int64(i))) => View::Int(i),
            _ => View::Map(Vec::new()),
        }
    }
}

/// A time that was read without its zone or without its date is written without them.
fn toml_time(time: &Time) -> Vec<u8> {
    match LOCAL_FORMS.iter().find(|(name, _)| name.as_bytes() == time.location().name()) {
        Some((_, layout)) => time.utc().format(layout),
        None => time.format(RFC3339_NANO),
    }
}

fn is_duration(ty: &Type) -> bool {
    matches!(ty.shape, Shape::Int(64))
}

pub(crate) fn fields_of(ty: &'static Type) -> &'static [podium_gotmpl::types::Field] {
    match ty.shape {
        Shape::Struct(fields) => fields,
        Shape::Pointer(inner) => fields_of(inner),
        _ => &[],
    }
}

/// The JSON of an object is one text.
fn from_json<'a, 'h>(json: &str) -> View<'a, Document<'h>> {
    match podium_goyaml::json::parse(json.as_bytes(), 0) {
        Ok(node) => View::Str(Cow::Owned(node.as_str().unwrap_or(json).as_bytes().to_vec())),
        Err(error) => View::Unsupported(error.to_string()),
    }
}

impl<'h> Doc for Document<'h> {
    fn field_number(&self) -> usize {
        self.field
    }

    fn view(&self) -> View<'_, Self> {
        if let Err(error) = self.heap.charge(self.cost()) {
            return View::Unsupported(error.to_string());
        }
        match &self.value {
            Value::Nil | Value::NilAny => View::Null,
            Value::Bool(b) => View::Bool(*b),
            Value::Int(i) | Value::Int64(i) => View::Int(*i),
            Value::Int32(i) => View::Int(i64::from(*i)),
            Value::Uint8(u) => View::Uint(u64::from(*u)),
            Value::Uint64(u) => View::Uint(*u),
            Value::Float(f) => View::Float(*f),
            Value::Complex(..) => View::Unsupported(match self.format {
                Format::Json => "json: unsupported type: complex128".to_owned(),
                Format::Yaml | Format::Toml => "complex128".to_owned(),
            }),
            Value::Str(s) => View::Str(Cow::Borrowed(s)),
            Value::Bytes(_) if self.nil_is_null && self.value.is_nil_of_type() => View::Null,
            Value::Bytes(b) => self.bytes(b),
            Value::List(l) if l.nil && self.nil_is_null => View::Null,
            Value::List(l) => self.list(&l.items),
            Value::Map(m) if m.nil && self.nil_is_null => View::Null,
            Value::Map(m) => {
                View::Map(m.borrow().iter().map(|(key, value)| (shared(key), self.child(value))).collect())
            }
            Value::Struct(s) => self.structure(s),
            Value::Opaque(o) => self.object(o.as_ref()),
        }
    }
}

fn shared<'h>(key: &Str<'h>) -> Cow<'h, [u8]> {
    match key {
        Str::Borrowed(b) => Cow::Borrowed(b),
        Str::Shared(b) => Cow::Owned(b.to_vec()),
    }
}
