//! Bodies in JSON: read into types as the original reads them, with its complaints.

mod scan;

use std::borrow::Cow;

use podium_meta::{GroupVersionKind, Quantity};
use serde_json::{Map, Value};

use super::{DEEPEST, base64, complete, float, set, timestamp, zero};
use crate::table::{Field, Form, Kinds, StructId, TypeId, Types};
use scan::Scan;
pub(crate) use scan::quote;

/// Why a body cannot be read, in the server's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// It is no JSON, or its first fields are not what they should be.
    #[error("couldn't get version/kind; json parse error: {0}")]
    Syntax(String),
    /// Its `apiVersion` is none.
    #[error("unexpected GroupVersion string: {0}")]
    ApiVersion(String),
    /// It names no kind.
    #[error("Object 'Kind' is missing in '{0}'")]
    NoKind(String),
    /// It is of a kind that is not built in.
    #[error("no kind \"{kind}\" is registered for version \"{api_version}\"")]
    UnknownKind {
        /// Its `apiVersion`.
        api_version: String,
        /// Its `kind`.
        kind: String,
    },
    /// A value is not what its field takes.
    #[error("{0}")]
    Value(String),
    /// Values are nested too deep.
    #[error("values are nested deeper than {DEEPEST} levels")]
    Deep,
}

/// A body that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// What it is, by what it says of itself and where it was sent.
    pub kind: GroupVersionKind,
    /// Its value as the original's types keep it.
    pub value: Value,
    /// What strict reading refuses: fields that are unknown or there twice.
    pub strict: Vec<String>,
}

/// As many complaints of strict reading as are kept.
const MOST_STRICT: usize = 100;

/// Why bytes are no JSON at all, in Go's words.
pub(crate) fn problem(bytes: &[u8]) -> Option<String> {
    match scan::head(bytes) {
        Err(JsonError::Syntax(why)) if !why.starts_with("json: cannot unmarshal") => Some(why),
        _ => None,
    }
}

/// What a body says that it is; the usual kind counts for what it does not say.
pub fn kind_of(body: &[u8], usual: &GroupVersionKind) -> Result<GroupVersionKind, JsonError> {
    let (api_version, kind) = scan::head(body)?;
    let slashes = api_version.matches('/').count();
    if slashes > 1 {
        return Err(JsonError::ApiVersion(api_version));
    }
    // The original takes a lone slash for nothing.
    let mut said = if api_version == "/" {
        GroupVersionKind::default()
    } else {
        GroupVersionKind::new(&api_version, "")
    };
    said.kind = if kind.is_empty() { usual.kind.clone() } else { kind };
    if said.version.is_empty() && (said.group.is_empty() || said.group == usual.group) {
        (said.group, said.version) = (usual.group.clone(), usual.version.clone());
    }
    if said.kind.is_empty() {
        return Err(JsonError::NoKind(super::text(body)));
    }
    Ok(said)
}

/// Reads a body of a built-in kind.
pub fn read(table: &Kinds, body: &[u8], usual: &GroupVersionKind) -> Result<Read, JsonError> {
    let kind = kind_of(body, usual)?;
    let unknown = || JsonError::UnknownKind { api_version: kind.api_version(), kind: kind.kind.clone() };
    let id = table.type_of(&kind).ok_or_else(unknown)?;
    let (value, strict) = read_as(table, id, body)?;
    Ok(Read { kind, value, strict })
}

/// Reads well-formed JSON as a value of a type, with the complaints of strict reading.
pub fn read_as(table: &Kinds, id: TypeId, body: &[u8]) -> Result<(Value, Vec<String>), JsonError> {
    finish(Reader::new(table.types(), body, 0), id)
}

/// Like [`read_as`], for programs that read with Go's own library: a key may differ from its field in case.
pub fn read_folded_as(table: &Kinds, id: TypeId, body: &[u8]) -> Result<(Value, Vec<String>), JsonError> {
    finish(Reader { fold: true, ..Reader::new(table.types(), body, 0) }, id)
}

fn finish(mut reader: Reader<'_, '_>, id: TypeId) -> Result<(Value, Vec<String>), JsonError> {
    let value = match reader.value(id, None) {
        Ok(Got::Value(value)) => value,
        Ok(Got::Nil) => Value::Null,
        Err(Stop::Deep) => return Err(JsonError::Deep),
        Err(Stop::Problem(problem)) => return Err(JsonError::Value(problem.to_string())),
    };
    match reader.saved {
        Some(problem) => Err(JsonError::Value(problem.to_string())),
        None => Ok((value, reader.strict)),
    }
}

/// What is wrong with a value.
#[derive(Debug, Clone)]
enum Problem {
    /// It is of another type.
    Type { value: String, context: Option<(&'static str, String)>, ty: String },
    /// Anything else.
    Other(String),
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Problem::Other(text) => f.write_str(text),
            Problem::Type { value, context: Some((one, field)), ty } => {
                write!(f, "json: cannot unmarshal {value} into Go struct field {one}.{field} of type {ty}")
            }
            Problem::Type { value, context: None, ty } => {
                write!(f, "json: cannot unmarshal {value} into Go value of type {ty}")
            }
        }
    }
}

/// Why reading ended early.
enum Stop {
    Deep,
    Problem(Problem),
}

/// What was read: nothing where a pointer may point to nothing.
enum Got {
    Nil,
    Value(Value),
}

impl Got {
    fn value(self) -> Value {
        match self {
            Got::Nil => Value::Null,
            Got::Value(value) => value,
        }
    }
}

/// A step to the place that is read.
enum Step<'b> {
    Key(Cow<'b, str>),
    Index(usize),
}

struct Reader<'t, 'b> {
    types: &'t Types,
    scan: Scan<'b>,
    depth: usize,
    /// Steps for the complaints of strict reading.
    path: Vec<Step<'b>>,
    strict: Vec<String>,
    /// The struct and the names of fields for the complaints about types.
    inside: Option<&'static str>,
    stack: Vec<&'static str>,
    /// The first complaint that does not end the reading.
    saved: Option<Problem>,
    /// Whether the case of keys does not matter.
    fold: bool,
}

impl<'t, 'b> Reader<'t, 'b> {
    fn new(types: &'t Types, body: &'b [u8], depth: usize) -> Self {
        Self {
            types,
            scan: Scan::new(body),
            depth,
            path: Vec::new(),
            strict: Vec::new(),
            inside: None,
            stack: Vec::new(),
            saved: None,
            fold: false,
        }
    }

    /// Adds where we are to a complaint about a type.
    fn in_context(&self, problem: Problem) -> Problem {
        match (problem, self.inside) {
            (Problem::Type { value, context, ty }, Some(inside)) => {
                let mut field = self.stack.join(".");
                if let Some((_, inner)) = context {
                    field.push('.');
                    field.push_str(&inner);
                }
                Problem::Type { value, context: Some((inside, field)), ty }
            }
            (problem, _) => problem,
        }
    }

    fn save(&mut self, problem: Problem) {
        if self.saved.is_none() {
            self.saved = Some(self.in_context(problem));
        }
    }

    fn stop<T>(&self, problem: Problem) -> Result<T, Stop> {
        Err(Stop::Problem(self.in_context(problem)))
    }

    fn refuse(&mut self, what: &str, key: &str) {
        if self.strict.len() >= MOST_STRICT {
            return;
        }
        let mut path = String::new();
        for step in &self.path {
            match step {
                Step::Key(key) => {
                    path.push_str(if path.is_empty() { "" } else { "." });
                    path.push_str(key);
                }
                Step::Index(at) => path.push_str(&format!("[{at}]")),
            }
        }
        path.push_str(if path.is_empty() { "" } else { "." });
        path.push_str(key);
        let complaint = format!("{what} field {}", scan::quote(&path));
        if !self.strict.contains(&complaint) {
            self.strict.push(complaint);
        }
    }

    fn value(&mut self, id: TypeId, before: Option<Value>) -> Result<Got, Stop> {
        let ty = self.types.get(id);
        if let Form::Pointer(inner) = ty.form {
            if self.scan.peek() == Some(b'n') {
                self.scan.skip();
                return Ok(Got::Nil);
            }
            return self.value(inner, before);
        }
        let own = matches!(
            ty.form,
            Form::Time
                | Form::MicroTime
                | Form::Duration
                | Form::Quantity
                | Form::IntOrString
                | Form::Raw
                | Form::Fields
                | Form::Json
                | Form::SchemaOrBool
                | Form::SchemaOrArray
                | Form::SchemaOrStrings
        );
        if own {
            let raw = self.scan.take();
            return self.special(ty.form, raw).map(Got::Value);
        }
        let value = match self.scan.peek() {
            Some(b'{') => self.object(id, before)?,
            Some(b'[') => self.list(id, before)?,
            _ => self.literal(id, before),
        };
        Ok(Got::Value(value))
    }

    fn mismatch(&mut self, value: &str, id: TypeId) -> Value {
        let ty = self.types.go_name(id);
        self.save(Problem::Type { value: value.to_owned(), context: None, ty });
        Value::Null
    }

    fn object(&mut self, id: TypeId, before: Option<Value>) -> Result<Value, Stop> {
        let form = self.types.get(id).form;
        let mut object = match before {
            Some(Value::Object(object)) => object,
            _ => Map::new(),
        };
        if self.depth >= DEEPEST {
            return Err(Stop::Deep);
        }
        self.depth += 1;
        match form {
            Form::Map(inner) => self.entries(inner, &mut object)?,
            Form::Struct(inner) => {
                self.fields(inner, &mut object)?;
                complete(self.types, inner, &mut object);
            }
            _ => {
                self.depth -= 1;
                self.scan.skip();
                return Ok(self.mismatch("object", id));
            }
        }
        self.depth -= 1;
        Ok(Value::Object(object))
    }

    fn entries(&mut self, inner: TypeId, object: &mut Map<String, Value>) -> Result<(), Stop> {
        let mut seen = std::collections::HashSet::new();
        self.scan.open();
        while let Some(key) = self.scan.key() {
            if !seen.insert(key.clone()) {
                self.refuse("duplicate", &key);
            }
            self.path.push(Step::Key(key.clone()));
            let value = self.value(inner, None)?.value();
            self.path.pop();
            object.insert(key.into_owned(), value);
        }
        Ok(())
    }

    fn fields(&mut self, id: StructId, object: &mut Map<String, Value>) -> Result<(), Stop> {
        let types = self.types;
        let one = types.struct_(id);
        let mut seen = [0_u64; 4];
        self.scan.open();
        while let Some(key) = self.scan.key() {
            let folded = || one.folded(&key).filter(|_| self.fold);
            let Some((at, field)) = one.field(&key).or_else(folded) else {
                self.refuse("unknown", &key);
                self.scan.skip();
                continue;
            };
            let bit = 1 << (at % 64);
            if let Some(word) = seen.get_mut(at / 64) {
                if *word & bit != 0 {
                    self.refuse("duplicate", field.key);
                }
                *word |= bit;
            }
            self.field(one.short_name(), field, object)?;
        }
        Ok(())
    }

    fn field(
        &mut self,
        name: &'static str,
        field: &'t Field,
        object: &mut Map<String, Value>,
    ) -> Result<(), Stop> {
        let (inside, length) = (self.inside.replace(name), self.stack.len());
        self.stack.extend(&field.via);
        self.stack.push(field.key);
        self.path.push(Step::Key(Cow::Borrowed(field.key)));
        let before = object.remove(field.key);
        match self.value(field.ty, before)? {
            Got::Value(value) => set(self.types, object, field, value),
            Got::Nil if field.omit_empty => {}
            Got::Nil => {
                object.insert(field.key.to_owned(), Value::Null);
            }
        }
        self.path.pop();
        self.stack.truncate(length);
        self.inside = inside;
        Ok(())
    }

    fn list(&mut self, id: TypeId, before: Option<Value>) -> Result<Value, Stop> {
        let form = self.types.get(id).form;
        if form == Form::Bytes {
            return Ok(self.byte_list());
        }
        let Form::List(inner) = form else {
            self.scan.skip();
            return Ok(self.mismatch("array", id));
        };
        if self.depth >= DEEPEST {
            return Err(Stop::Deep);
        }
        self.depth += 1;
        let mut before = match before {
            Some(Value::Array(list)) => list,
            _ => Vec::new(),
        }
        .into_iter();
        let mut list = Vec::new();
        self.scan.open();
        while self.scan.item() {
            self.path.push(Step::Index(list.len()));
            let value = self.value(inner, before.next())?.value();
            list.push(value);
            self.path.pop();
        }
        self.depth -= 1;
        Ok(Value::Array(list))
    }

    /// Bytes may also be written as a list of numbers.
    fn byte_list(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.scan.open();
        while self.scan.item() {
            let raw = self.scan.take();
            let text = std::str::from_utf8(raw).unwrap_or_default();
            let value = match raw.first() {
                Some(b'n') => Ok(0),
                Some(b'{') => Err("object".to_owned()),
                Some(b'[') => Err("array".to_owned()),
                Some(b'"') => Err("string".to_owned()),
                Some(b't' | b'f') => Err("bool".to_owned()),
                _ => text.parse().map_err(|_| format!("number {text}")),
            };
            match value {
                Ok(byte) => bytes.push(byte),
                Err(value) => self.save(Problem::Type { value, context: None, ty: "uint8".to_owned() }),
            }
        }
        Value::String(base64::encode(&bytes))
    }

    fn literal(&mut self, id: TypeId, before: Option<Value>) -> Value {
        let form = self.types.get(id).form;
        let raw = self.scan.take();
        let unchanged = |types: &Types| before.unwrap_or_else(|| zero(types, id));
        match (raw.first(), form) {
            (Some(b'n'), Form::List(_) | Form::Map(_) | Form::Bytes) => Value::Null,
            (Some(b'n'), _) => unchanged(self.types),
            (Some(b't' | b'f'), Form::Bool) => Value::Bool(raw.starts_with(b"t")),
            (Some(b't' | b'f'), _) => self.mismatch("bool", id),
            (Some(b'"'), Form::String) => Value::String(scan::unquote(raw).into_owned()),
            (Some(b'"'), Form::Bytes) => {
                let text = scan::unquote(raw);
                match base64::decode(text.as_bytes()) {
                    Ok(bytes) => Value::String(base64::encode(&bytes)),
                    Err(at) => {
                        self.save(Problem::Other(format!("illegal base64 data at input byte {at}")));
                        Value::Null
                    }
                }
            }
            (Some(b'"'), _) => self.mismatch("string", id),
            (_, Form::Int32 | Form::Int64) => {
                let text = std::str::from_utf8(raw).unwrap_or_default();
                match text.parse::<i64>() {
                    Ok(number) if form == Form::Int64 || i32::try_from(number).is_ok() => Value::from(number),
                    _ => self.mismatch(&format!("number {text}"), id),
                }
            }
            (_, Form::Float64) => {
                let text = std::str::from_utf8(raw).unwrap_or_default();
                match text.parse::<f64>() {
                    Ok(number) if number.is_finite() => float(number),
                    _ => self.mismatch(&format!("number {text}"), id),
                }
            }
            _ => self.mismatch("number", id),
        }
    }

    /// Types that read themselves; what they refuse ends the reading.
    fn special(&mut self, form: Form, raw: &'b [u8]) -> Result<Value, Stop> {
        if raw == b"null" && !matches!(form, Form::SchemaOrBool) {
            return Ok(match form {
                Form::Quantity => Value::from("0"),
                Form::IntOrString => Value::from(0),
                Form::Duration => Value::from("0s"),
                _ => Value::Null,
            });
        }
        match form {
            Form::Time | Form::MicroTime => {
                let text = self.own_text(raw)?;
                let micro = form == Form::MicroTime;
                match timestamp::parse(&text, micro) {
                    Ok((seconds, nanoseconds)) => {
                        let rest = if micro || seconds == timestamp::ZERO_TIME { nanoseconds } else { 0 };
                        Ok(timestamp::format(seconds, rest, micro).map_or(Value::Null, Value::String))
                    }
                    Err(problem) => self.stop(Problem::Other(problem)),
                }
            }
            Form::Quantity => {
                let text = raw.strip_prefix(b"\"").and_then(|raw| raw.strip_suffix(b"\"")).unwrap_or(raw);
                match Quantity::parse(super::text(text).trim()) {
                    Ok(quantity) => Ok(Value::String(quantity.to_string())),
                    Err(problem) => self.stop(Problem::Other(problem.to_string())),
                }
            }
            Form::IntOrString if raw.starts_with(b"\"") => Ok(Value::String(scan::unquote(raw).into_owned())),
            Form::IntOrString => {
                let text = std::str::from_utf8(raw).unwrap_or_default();
                match text.parse::<i32>() {
                    Ok(number) => Ok(Value::from(number)),
                    Err(_) => {
                        let value = match raw.first() {
                            Some(b't' | b'f') => "bool".to_owned(),
                            Some(b'{') => "object".to_owned(),
                            Some(b'[') => "array".to_owned(),
                            _ => format!("number {text}"),
                        };
                        self.stop(Problem::Type { value, context: None, ty: "int32".to_owned() })
                    }
                }
            }
            Form::Duration => self.own_text(raw).map(|text| Value::String(text.into_owned())),
            Form::Raw | Form::Fields | Form::Json => match serde_json::from_slice(raw) {
                Ok(value) => Ok(value),
                Err(problem) => self.stop(Problem::Other(problem.to_string())),
            },
            _ => self.schema_or(form, raw),
        }
    }

    /// Text of a type that reads itself.
    fn own_text(&self, raw: &'b [u8]) -> Result<Cow<'b, str>, Stop> {
        let value = match raw.first() {
            Some(b'"') => return Ok(scan::unquote(raw)),
            Some(b't' | b'f') => "bool",
            Some(b'{') => "object",
            Some(b'[') => "array",
            _ => "number",
        };
        self.stop(Problem::Type { value: value.to_owned(), context: None, ty: "string".to_owned() })
    }

    /// A schema, or what may stand in its place: read apart, without the complaints of strict reading.
    fn schema_or(&mut self, form: Form, raw: &'b [u8]) -> Result<Value, Stop> {
        let Some(schema) = self.types.schema else { return Ok(Value::Null) };
        let mut inner = Reader::new(self.types, raw, self.depth + 1);
        let read = match (raw.first(), form) {
            (Some(b'{'), _) => inner.value(schema, None),
            (Some(b't' | b'f'), Form::SchemaOrBool) => return Ok(Value::Bool(raw == b"true")),
            (_, Form::SchemaOrBool) => {
                return self.stop(Problem::Other("boolean or JSON schema expected".to_owned()));
            }
            (Some(b'['), _) => {
                let mut list = Vec::new();
                inner
                    .each(form, schema, &mut list)
                    .map(|()| Got::Value(if list.is_empty() { Value::Null } else { Value::Array(list) }))
            }
            _ => return Ok(Value::Null),
        };
        match (read, inner.saved) {
            (Ok(_), Some(problem)) | (Err(Stop::Problem(problem)), _) => self.stop(problem),
            (Err(stop), None) | (Err(stop), Some(_)) => Err(stop),
            (Ok(got), None) => Ok(got.value()),
        }
    }

    fn each(&mut self, form: Form, schema: TypeId, list: &mut Vec<Value>) -> Result<(), Stop> {
        let text = self.types.all.iter().position(|ty| ty.form == Form::String && ty.name.is_empty());
        let text = TypeId(text.and_then(|at| u16::try_from(at).ok()).unwrap_or(u16::MAX));
        if self.depth >= DEEPEST {
            return Err(Stop::Deep);
        }
        self.scan.open();
        while self.scan.item() {
            let id = if form == Form::SchemaOrArray { schema } else { text };
            let value = self.value(id, None)?.value();
            list.push(value);
        }
        Ok(())
    }
}
