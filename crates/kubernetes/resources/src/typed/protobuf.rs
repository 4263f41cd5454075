//! Bodies in protobuf: what they would be in JSON.

use podium_meta::{GroupVersionKind, Quantity};
use serde_json::{Map, Value};

use super::{DEEPEST, base64, complete, float, set, text, timestamp, zero};
use crate::table::{Form, Kinds, StructId, TypeId, Types, kinds};

/// Why a body cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtobufError {
    /// It does not begin as bodies of this kind do.
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NotProtobuf,
    /// It names no kind.
    #[error("Object 'Kind' is missing in '{0}'")]
    NoKind(&'static str),
    /// It is of a kind that has no messages.
    #[error("no kind \"{kind}\" is registered for version \"{api_version}\"")]
    UnknownKind {
        /// Its `apiVersion`.
        api_version: String,
        /// Its `kind`.
        kind: String,
    },
    /// It ends in the middle of a value.
    #[error("unexpected EOF")]
    Short,
    /// A number is too long.
    #[error("proto: integer overflow")]
    Overflow,
    /// A value is of another type than its field.
    #[error("proto: wrong wireType = {wire} for field {field}")]
    WireType {
        /// The type that it has.
        wire: u8,
        /// The field.
        field: &'static str,
    },
    /// A field has a number that no field has.
    #[error("proto: illegal tag {tag} (wire type {wire})")]
    Tag {
        /// The number.
        tag: u64,
        /// The type of its value.
        wire: u8,
    },
    /// Messages are nested too deep.
    #[error("messages are nested deeper than {DEEPEST} levels")]
    Deep,
    /// A value is not what its type allows.
    #[error("{0}")]
    Value(String),
}

type Outcome<T> = Result<T, ProtobufError>;

const MAGIC: [u8; 4] = *b"k8s\0";

/// The envelope of a body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Envelope<'b> {
    /// The `apiVersion` of what is in it.
    pub api_version: String,
    /// The `kind` of what is in it.
    pub kind: String,
    /// The message.
    pub raw: &'b [u8],
    /// How the message is encoded, beside being protobuf.
    pub content_encoding: String,
    /// What the message is, if it is not protobuf.
    pub content_type: String,
}

/// Opens the envelope of a body.
pub fn envelope(body: &[u8]) -> Outcome<Envelope<'_>> {
    let rest = body.strip_prefix(&MAGIC).ok_or(ProtobufError::NotProtobuf)?;
    let mut out = Envelope::default();
    let mut input = Input { rest };
    while let Some((number, wire)) = input.tag()? {
        match number {
            1 => {
                let mut meta = Input { rest: input.bytes(wire, "TypeMeta")? };
                while let Some((number, wire)) = meta.tag()? {
                    match number {
                        1 => out.api_version = text(meta.bytes(wire, "APIVersion")?),
                        2 => out.kind = text(meta.bytes(wire, "Kind")?),
                        _ => meta.skip(wire)?,
                    }
                }
            }
            2 => out.raw = input.bytes(wire, "Raw")?,
            3 => out.content_encoding = text(input.bytes(wire, "ContentEncoding")?),
            4 => out.content_type = text(input.bytes(wire, "ContentType")?),
            _ => input.skip(wire)?,
        }
    }
    Ok(out)
}

/// What a body would be in JSON; the kind counts for what the body does not say of itself.
pub fn transcode(body: &[u8], usual: Option<&GroupVersionKind>) -> Outcome<Value> {
    let envelope = envelope(body)?;
    let said = GroupVersionKind::new(&envelope.api_version, &envelope.kind);
    let kind = match usual {
        Some(usual) if envelope.kind.is_empty() => {
            let own = !envelope.api_version.is_empty();
            let (group, version) =
                if own { (&said.group, &said.version) } else { (&usual.group, &usual.version) };
            GroupVersionKind { group: group.clone(), version: version.clone(), kind: usual.kind.clone() }
        }
        Some(usual) if envelope.api_version.is_empty() => {
            GroupVersionKind { kind: said.kind, ..usual.clone() }
        }
        _ if envelope.kind.is_empty() => return Err(ProtobufError::NoKind("unknown")),
        _ => said,
    };
    let table = kinds();
    let unknown = || ProtobufError::UnknownKind { api_version: kind.api_version(), kind: kind.kind.clone() };
    let id = table.type_of(&kind).ok_or_else(unknown)?;
    let mut value = message(table, id, envelope.raw)?;
    if let Some(object) = value.as_object_mut() {
        object.insert("apiVersion".to_owned(), kind.api_version().into());
        object.insert("kind".to_owned(), kind.kind.into());
    }
    Ok(value)
}

/// A message of a type, without an envelope.
pub fn message(table: &Kinds, id: TypeId, bytes: &[u8]) -> Outcome<Value> {
    let reader = Reader { types: table.types() };
    reader.one(id, 2, &mut Input { rest: bytes }, "", None, 0, true)
}

/// What is left to read.
struct Input<'b> {
    rest: &'b [u8],
}

impl<'b> Input<'b> {
    fn varint(&mut self) -> Outcome<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or(ProtobufError::Short)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(ProtobufError::Overflow)
    }

    fn tag(&mut self) -> Outcome<Option<(u32, u8)>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let wire = (key & 7) as u8;
        // The original keeps 32 bits of the number, with a sign.
        let number = (key >> 3) as u32;
        match i32::try_from(number) {
            Ok(signed) if signed > 0 && wire != 4 => Ok(Some((number, wire))),
            _ => Err(ProtobufError::Tag { tag: key >> 3, wire }),
        }
    }

    fn take(&mut self, length: u64) -> Outcome<&'b [u8]> {
        let length = usize::try_from(length).map_err(|_| ProtobufError::Short)?;
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(ProtobufError::Short)?;
        self.rest = rest;
        Ok(taken)
    }

    fn bytes(&mut self, wire: u8, field: &'static str) -> Outcome<&'b [u8]> {
        if wire != 2 {
            return Err(ProtobufError::WireType { wire, field });
        }
        let length = self.varint()?;
        self.take(length)
    }

    fn number(&mut self, wire: u8, field: &'static str) -> Outcome<u64> {
        if wire == 0 { self.varint() } else { Err(ProtobufError::WireType { wire, field }) }
    }

    fn skip(&mut self, wire: u8) -> Outcome<()> {
        let mut open = 0_u32;
        let mut wire = wire;
        loop {
            match wire {
                0 => drop(self.varint()?),
                1 => drop(self.take(8)?),
                2 => {
                    let length = self.varint()?;
                    self.take(length)?;
                }
                3 => open += 1,
                4 => open = open.checked_sub(1).ok_or(ProtobufError::Tag { tag: 0, wire })?,
                5 => drop(self.take(4)?),
                _ => return Err(ProtobufError::Tag { tag: 0, wire }),
            }
            if open == 0 {
                return Ok(());
            }
            wire = (self.varint()? & 7) as u8;
        }
    }
}

struct Reader<'t> {
    types: &'t Types,
}

impl Reader<'_> {
    /// The fields of a message go into an object; embedded messages into the same.
    fn fields(
        &self,
        id: StructId,
        bytes: &[u8],
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Outcome<()> {
        if depth > DEEPEST {
            return Err(ProtobufError::Deep);
        }
        let one = self.types.struct_(id);
        let mut input = Input { rest: bytes };
        while let Some((number, wire)) = input.tag()? {
            let Some(field) = one.numbered(number) else {
                input.skip(wire)?;
                continue;
            };
            match self.types.target(field.ty).1.form {
                Form::Struct(inner) if field.embedded => {
                    self.fields(inner, input.bytes(wire, field.key)?, object, depth + 1)?;
                }
                _ => {
                    let before = object.remove(field.key);
                    let value = self.one(field.ty, wire, &mut input, field.key, before, depth + 1, false)?;
                    set(self.types, object, field, value);
                }
            }
        }
        Ok(())
    }

    /// A value; `bare` if it is all of the input, without a length before it.
    fn one(
        &self,
        id: TypeId,
        wire: u8,
        input: &mut Input<'_>,
        field: &'static str,
        before: Option<Value>,
        depth: usize,
        bare: bool,
    ) -> Outcome<Value> {
        let ty = self.types.get(id);
        if let Form::Pointer(inner) = ty.form {
            return self.one(inner, wire, input, field, before, depth, bare);
        }
        Ok(match ty.form {
            Form::Bool => Value::Bool(input.number(wire, field)? != 0),
            Form::Int32 => Value::from(input.number(wire, field)? as i32),
            Form::Int64 => Value::from(input.number(wire, field)? as i64),
            Form::Float64 => {
                if wire != 1 {
                    return Err(ProtobufError::WireType { wire, field });
                }
                let mut bytes = [0; 8];
                bytes.copy_from_slice(input.take(8)?);
                float(f64::from_le_bytes(bytes))
            }
            Form::List(inner) if !ty.message => {
                let mut list = match before {
                    Some(Value::Array(list)) => list,
                    _ => Vec::new(),
                };
                self.items(inner, wire, input, field, &mut list, depth)?;
                Value::Array(list)
            }
            _ => {
                let bytes = if bare { input.rest } else { input.bytes(wire, field)? };
                self.block(id, bytes, field, before, depth)?
            }
        })
    }

    /// The next item of a list, or several packed ones.
    fn items(
        &self,
        inner: TypeId,
        wire: u8,
        input: &mut Input<'_>,
        field: &'static str,
        list: &mut Vec<Value>,
        depth: usize,
    ) -> Outcome<()> {
        if wire == 2 && matches!(self.types.get(inner).form, Form::Int32 | Form::Int64 | Form::Bool) {
            let mut packed = Input { rest: input.bytes(wire, field)? };
            while !packed.rest.is_empty() {
                list.push(self.one(inner, 0, &mut packed, field, None, depth, false)?);
            }
        } else {
            list.push(self.one(inner, wire, input, field, None, depth, false)?);
        }
        Ok(())
    }

    /// A value that is a block of bytes.
    fn block(
        &self,
        id: TypeId,
        bytes: &[u8],
        field: &'static str,
        before: Option<Value>,
        depth: usize,
    ) -> Outcome<Value> {
        let types = self.types;
        let mut input = Input { rest: bytes };
        Ok(match types.get(id).form {
            Form::String => Value::String(text(bytes)),
            Form::Bytes => Value::String(base64::encode(bytes)),
            Form::Struct(inner) => {
                let mut object = match before {
                    Some(Value::Object(object)) => object,
                    _ => Map::new(),
                };
                self.fields(inner, bytes, &mut object, depth)?;
                complete(types, inner, &mut object);
                Value::Object(object)
            }
            Form::List(inner) => {
                let mut list = Vec::new();
                while let Some((number, wire)) = input.tag()? {
                    match number {
                        1 => self.items(inner, wire, &mut input, "Items", &mut list, depth)?,
                        _ => input.skip(wire)?,
                    }
                }
                Value::Array(list)
            }
            Form::Map(inner) => {
                let mut map = match before {
                    Some(Value::Object(map)) => map,
                    _ => Map::new(),
                };
                let empty = match types.get(inner).form {
                    Form::Bytes => Value::String(String::new()),
                    Form::List(_) => Value::Array(Vec::new()),
                    _ => zero(types, inner),
                };
                let (mut key, mut value) = (String::new(), empty);
                while let Some((number, wire)) = input.tag()? {
                    match number {
                        1 => key = text(input.bytes(wire, field)?),
                        2 => value = self.one(inner, wire, &mut input, field, None, depth + 1, false)?,
                        _ => input.skip(wire)?,
                    }
                }
                map.insert(key, value);
                Value::Object(map)
            }
            Form::Time => moment(bytes, false)?,
            Form::MicroTime => moment(bytes, true)?,
            Form::Quantity => {
                let written = single(&mut input, "String_")?.map(text).unwrap_or_default();
                let quantity =
                    Quantity::parse(&written).map_err(|error| ProtobufError::Value(error.to_string()))?;
                Value::String(quantity.to_string())
            }
            Form::IntOrString => int_or_string(&mut input)?,
            Form::Raw | Form::Fields | Form::Json => match single(&mut input, "Raw")? {
                None | Some([]) => Value::Null,
                Some(raw) => {
                    serde_json::from_slice(raw).map_err(|error| ProtobufError::Value(error.to_string()))?
                }
            },
            form => self.schema_or(form, &mut input, depth)?,
        })
    }

    /// A schema, or what may stand in its place.
    fn schema_or(&self, form: Form, input: &mut Input<'_>, depth: usize) -> Outcome<Value> {
        let Some(schema) = self.types.schema else { return Ok(Value::Null) };
        let (mut allows, mut inner, mut list) = (false, None, Vec::new());
        // The schema comes first, but for a boolean's place, where it comes second.
        let place = if form == Form::SchemaOrBool { 2 } else { 1 };
        while let Some((number, wire)) = input.tag()? {
            match number {
                number if number == place => {
                    inner = Some(self.one(schema, wire, input, "Schema", inner, depth + 1, false)?);
                }
                1 => allows = input.number(wire, "Allows")? != 0,
                2 if form == Form::SchemaOrArray => {
                    list.push(self.one(schema, wire, input, "JSONSchemas", None, depth + 1, false)?);
                }
                2 => list.push(Value::String(text(input.bytes(wire, "Property")?))),
                _ => input.skip(wire)?,
            }
        }
        Ok(match (form, inner) {
            (Form::SchemaOrBool, Some(schema)) => schema,
            (Form::SchemaOrBool, None) => Value::Bool(allows),
            _ if !list.is_empty() => Value::Array(list),
            (_, inner) => inner.unwrap_or(Value::Null),
        })
    }
}

/// The first field of a message, which is all that there is.
fn single<'b>(input: &mut Input<'b>, field: &'static str) -> Outcome<Option<&'b [u8]>> {
    let mut found = None;
    while let Some((number, wire)) = input.tag()? {
        match number {
            1 => found = Some(input.bytes(wire, field)?),
            _ => input.skip(wire)?,
        }
    }
    Ok(found)
}

fn moment(bytes: &[u8], micro: bool) -> Outcome<Value> {
    let mut input = Input { rest: bytes };
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanoseconds) = (0_i64, 0_i32);
    while let Some((number, wire)) = input.tag()? {
        match number {
            1 => seconds = input.number(wire, "Seconds")? as i64,
            2 => nanoseconds = input.number(wire, "Nanos")? as i32,
            _ => input.skip(wire)?,
        }
    }
    let nanoseconds = if micro { i64::from(nanoseconds) / 1000 * 1000 } else { 0 };
    seconds = seconds.saturating_add(nanoseconds.div_euclid(1_000_000_000));
    let rest = u32::try_from(nanoseconds.rem_euclid(1_000_000_000)).unwrap_or(0);
    Ok(timestamp::format(seconds, rest, micro).map_or(Value::Null, Value::String))
}

fn int_or_string(input: &mut Input<'_>) -> Outcome<Value> {
    let (mut kind, mut number_value, mut string_value) = (0, 0, String::new());
    while let Some((number, wire)) = input.tag()? {
        match number {
            1 => kind = input.number(wire, "Type")? as i64,
            2 => number_value = input.number(wire, "IntVal")? as i32,
            3 => string_value = text(input.bytes(wire, "StrVal")?),
            _ => input.skip(wire)?,
        }
    }
    match kind {
        0 => Ok(Value::from(number_value)),
        1 => Ok(Value::String(string_value)),
        _ => Err(ProtobufError::Value("impossible IntOrString.Type".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat()
    }

    fn wrapped(api_version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
        let meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), field(1, &meta), field(2, message), field(3, b""), field(4, b"")].concat()
    }

    #[test]
    fn options_and_objects_become_json() {
        let options = [vec![8, 0], field(4, b"Background"), field(2, &field(1, b"u"))].concat();
        assert_eq!(
            transcode(&wrapped("apps/v1", "DeleteOptions", &options), None),
            Ok(json!({"apiVersion": "apps/v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
                "propagationPolicy": "Background", "preconditions": {"uid": "u"}}))
        );
        let entry = [field(1, b"k"), field(2, b"hello")].concat();
        let secret = [field(1, &[field(1, b"s"), field(2, b"")].concat()), field(2, &entry)].concat();
        assert_eq!(
            transcode(&wrapped("v1", "Secret", &secret), None),
            Ok(
                json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "aGVsbG8="}})
            )
        );
        // What is embedded is flat in JSON.
        let quantity = [field(1, b"memory"), field(2, &field(1, b"1024Mi"))].concat();
        let container = [field(1, b"c"), field(8, &field(1, &quantity))].concat();
        let source = field(6, &field(1, b"s"));
        let volume = [field(1, b"v"), field(2, &source)].concat();
        let pod = field(2, &[field(1, &volume), field(2, &container)].concat());
        let value = transcode(&wrapped("v1", "Pod", &pod), None).unwrap();
        assert_eq!(
            value["spec"],
            json!({"containers": [{"name": "c", "resources": {"limits": {"memory": "1Gi"}}}],
                "volumes": [{"name": "v", "secret": {"secretName": "s"}}]})
        );
    }

    #[test]
    fn damaged_bytes_are_refused_and_never_more() {
        let mut schema = field(5, b"object");
        for _ in 0..6 {
            let entry = [field(1, b"p"), field(2, &schema)].concat();
            schema = schema_entry(&entry);
        }
        let version = [field(1, b"v1"), field(4, &field(1, &schema))].concat();
        let body =
            wrapped("apiextensions.k8s.io/v1", "CustomResourceDefinition", &field(2, &field(7, &version)));
        assert!(transcode(&body, None).is_ok());
        for at in 0..body.len() {
            let _ = transcode(&body[..at], None);
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut damaged = body.clone();
                damaged[at] = byte;
                let _ = transcode(&damaged, None);
            }
        }
        assert_eq!(transcode(b"{}", None), Err(ProtobufError::NotProtobuf));
        assert_eq!(transcode(&wrapped("v1", "Pod", &[0x0a, 0xff]), None), Err(ProtobufError::Short));
        assert_eq!(
            transcode(&wrapped("example.com/v1", "Foo", b""), None).unwrap_err().to_string(),
            "no kind \"Foo\" is registered for version \"example.com/v1\""
        );
    }

    /// `properties` has a number of two bytes.
    fn schema_entry(entry: &[u8]) -> Vec<u8> {
        [&[0xea, 0x01, u8::try_from(entry.len()).unwrap()], entry].concat()
    }

    #[test]
    fn messages_may_not_be_nested_without_end() {
        let mut schema: Vec<u8> = Vec::new();
        for _ in 0..400 {
            // `not` has the number 28.
            let mut length = schema.len();
            let mut head = vec![0xe2, 0x01];
            while length >= 0x80 {
                head.push(length as u8 | 0x80);
                length >>= 7;
            }
            head.push(length as u8);
            schema.splice(0..0, head);
        }
        let table = kinds();
        let id = table.types().schema.unwrap();
        assert_eq!(message(table, id, &schema), Err(ProtobufError::Deep));
    }
}
