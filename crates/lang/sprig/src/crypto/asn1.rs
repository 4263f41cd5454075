//! Reading ASN.1 by a description of the expected types, as Go's `encoding/asn1` does, with its error texts.

use super::der;

/// A Go type that DER is read into.
pub enum Type {
    /// `int`.
    Int,
    /// `*big.Int`.
    Big,
    /// `[]byte`.
    Octets,
    /// `asn1.ObjectIdentifier`.
    Oid,
    /// `asn1.BitString`.
    Bits,
    /// `asn1.RawValue`: a value of any kind.
    Any,
    /// A struct, with its name.
    Struct(&'static str, &'static [Field]),
    /// A slice of a type.
    List(&'static Type),
}

/// A field of a struct.
pub struct Field {
    ty: Type,
    optional: bool,
    /// The number of an explicit tag around the value; such fields are always optional here.
    explicit: Option<u32>,
}

/// What was read.
#[derive(Debug)]
pub enum Item<'a> {
    /// An optional field was not there.
    Missing,
    /// An `int`.
    Int(i64),
    /// The content of an integer of any size.
    Big(&'a [u8]),
    /// Bytes.
    Octets(&'a [u8]),
    /// An object identifier.
    Oid(Vec<u32>),
    /// Some bits; nobody asks which.
    Bits,
    /// A whole value with tag and length.
    Any(&'a [u8]),
    /// The fields of a struct, or the elements of a slice.
    Many(Vec<Item<'a>>),
}

/// Go's errors.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The ASN.1 is valid but no value of the type.
    #[error("asn1: structure error: {0}")]
    Structure(String),
    /// The ASN.1 is not valid.
    #[error("asn1: syntax error: {0}")]
    Syntax(&'static str),
}

const fn plain(ty: Type) -> Field {
    Field { ty, optional: false, explicit: None }
}

const fn optional(ty: Type) -> Field {
    Field { ty, optional: true, explicit: None }
}

const fn explicit(tag: u32, ty: Type) -> Field {
    Field { ty, optional: true, explicit: Some(tag) }
}

/// A private key in PKCS #8.
pub static PKCS8: Type = Type::Struct(
    "pkcs8",
    &[
        plain(Type::Int),
        plain(Type::Struct("AlgorithmIdentifier", &[plain(Type::Oid), optional(Type::Any)])),
        plain(Type::Octets),
    ],
);

/// A private RSA key in PKCS #1.
pub static PKCS1: Type = Type::Struct(
    "pkcs1PrivateKey",
    &[
        plain(Type::Int),
        plain(Type::Big),
        plain(Type::Int),
        plain(Type::Big),
        plain(Type::Big),
        plain(Type::Big),
        optional(Type::Big),
        optional(Type::Big),
        optional(Type::Big),
        optional(Type::List(&Type::Struct(
            "pkcs1AdditionalRSAPrime",
            &[plain(Type::Big), plain(Type::Big), plain(Type::Big)],
        ))),
    ],
);

/// A private key of an elliptic curve (SEC 1).
pub static SEC1: Type = Type::Struct(
    "ecPrivateKey",
    &[plain(Type::Int), plain(Type::Octets), explicit(0, Type::Oid), explicit(1, Type::Bits)],
);

/// A private DSA key: version, P, Q, G, Y and X.
pub static DSA: Type = Type::Struct(
    "DSAKeyFormat",
    &[
        plain(Type::Int),
        plain(Type::Big),
        plain(Type::Big),
        plain(Type::Big),
        plain(Type::Big),
        plain(Type::Big),
    ],
);

/// An OCTET STRING.
pub static OCTETS: Type = Type::Octets;

/// An OBJECT IDENTIFIER.
pub static OID: Type = Type::Oid;

/// Reads one value of a type; what follows it is returned too.
pub fn unmarshal<'a>(bytes: &'a [u8], ty: &Type) -> Result<(Item<'a>, &'a [u8]), Error> {
    let mut at = 0;
    let item = field(bytes, &mut at, ty, false, None)?;
    Ok((item, bytes.get(at..).unwrap_or_default()))
}

#[derive(Clone, Copy)]
struct Header {
    class: u8,
    number: u32,
    length: usize,
    compound: bool,
}

impl Type {
    /// The universal tag and whether it contains others; nothing when every tag is right.
    fn expected(&self) -> Option<(u32, bool)> {
        Some(match self {
            Type::Int | Type::Big => (2, false),
            Type::Bits => (3, false),
            Type::Octets => (4, false),
            Type::Oid => (6, false),
            Type::Struct(..) | Type::List(_) => (16, true),
            Type::Any => return None,
        })
    }

    /// What Go calls the type; pointers and slices have no name.
    fn name(&self) -> &'static str {
        match self {
            Type::Int => "int",
            Type::Oid => "ObjectIdentifier",
            Type::Bits => "BitString",
            Type::Any => "RawValue",
            Type::Struct(name, _) => name,
            Type::Big | Type::Octets | Type::List(_) => "",
        }
    }
}

/// Reads a field. The types that are read here are not recursive, so neither is this without an end.
fn field<'a>(
    bytes: &'a [u8],
    at: &mut usize,
    ty: &Type,
    optional: bool,
    explicit: Option<u32>,
) -> Result<Item<'a>, Error> {
    let start = *at;
    if start == bytes.len() {
        return if optional { Ok(Item::Missing) } else { Err(Error::Syntax("sequence truncated")) };
    }
    let mut header = tag_and_length(bytes, at)?;
    if let Some(number) = explicit {
        if *at == bytes.len() {
            return Err(structure("explicit tag has no child"));
        }
        if header.class != 2 || header.number != number || !(header.length == 0 || header.compound) {
            *at = start;
            return Ok(Item::Missing);
        }
        if header.length == 0 {
            return Err(structure("zero length explicit tag was not an asn1.Flag"));
        }
        header = tag_and_length(bytes, at)?;
    }
    if let Some((number, compound)) = ty.expected()
        && (header.class != 0 || header.number != number || header.compound != compound)
    {
        if optional {
            *at = start;
            return Ok(Item::Missing);
        }
        return Err(mismatch(number, header, ty, *at));
    }
    let end = at.saturating_add(header.length);
    let content = bytes.get(*at..end).ok_or(Error::Syntax("data truncated"))?;
    *at = end;
    Ok(match ty {
        Type::Any => Item::Any(bytes.get(start..end).unwrap_or_default()),
        Type::Int => {
            check_integer(content)?;
            Item::Int(der::int64(content).ok_or_else(|| structure("integer too large"))?)
        }
        Type::Big => {
            check_integer(content)?;
            Item::Big(content)
        }
        Type::Octets => Item::Octets(content),
        Type::Oid => Item::Oid(object_identifier(content)?),
        Type::Bits => check_bits(content).map(|()| Item::Bits)?,
        Type::Struct(_, fields) => {
            let mut inner = 0;
            let items = fields
                .iter()
                .map(|f| field(content, &mut inner, &f.ty, f.optional, f.explicit))
                .collect::<Result<_, _>>()?;
            Item::Many(items)
        }
        Type::List(element) => Item::Many(list(content, element)?),
    })
}

fn list<'a>(bytes: &'a [u8], element: &Type) -> Result<Vec<Item<'a>>, Error> {
    // Go looks over all elements before it reads the first.
    let mut at = 0;
    while at < bytes.len() {
        let header = tag_and_length(bytes, &mut at)?;
        if element.expected().is_some_and(|e| header.class != 0 || (header.number, header.compound) != e) {
            return Err(structure("sequence tag mismatch"));
        }
        at = at.saturating_add(header.length);
        if at > bytes.len() {
            return Err(Error::Syntax("truncated sequence"));
        }
    }
    let mut items = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        items.push(field(bytes, &mut at, element, false, None)?);
    }
    Ok(items)
}

fn tag_and_length(bytes: &[u8], at: &mut usize) -> Result<Header, Error> {
    let mut next = || {
        let byte = bytes.get(*at).copied().ok_or(Error::Syntax("truncated tag or length"))?;
        *at += 1;
        Ok(byte)
    };
    let first = next()?;
    let mut number = u32::from(first & 0x1f);
    if number == 0x1f {
        number = base128(bytes, at)?;
        if number < 0x1f {
            return Err(Error::Syntax("non-minimal tag"));
        }
    }
    let mut next = || {
        let byte = bytes.get(*at).copied().ok_or(Error::Syntax("truncated tag or length"))?;
        *at += 1;
        Ok(byte)
    };
    let short = next()?;
    let mut length = usize::from(short & 0x7f);
    if short & 0x80 != 0 {
        let count = length;
        if count == 0 {
            return Err(Error::Syntax("indefinite length found (not DER)"));
        }
        length = 0;
        for _ in 0..count {
            let byte = next()?;
            if length >= 1 << 23 {
                return Err(structure("length too large"));
            }
            length = length << 8 | usize::from(byte);
            if length == 0 {
                return Err(structure("superfluous leading zeros in length"));
            }
        }
        if length < 0x80 {
            return Err(structure("non-minimal length"));
        }
    }
    Ok(Header { class: first >> 6, number, length, compound: first & 0x20 != 0 })
}

fn base128(bytes: &[u8], at: &mut usize) -> Result<u32, Error> {
    let mut value = 0u64;
    for count in 0.. {
        let Some(byte) = bytes.get(*at) else { break };
        if count == 5 {
            return Err(structure("base 128 integer too large"));
        }
        if count == 0 && *byte == 0x80 {
            return Err(Error::Syntax("integer is not minimally encoded"));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        *at += 1;
        if byte & 0x80 == 0 {
            return match u32::try_from(value) {
                Ok(value) if value <= i32::MAX as u32 => Ok(value),
                _ => Err(structure("base 128 integer too large")),
            };
        }
    }
    Err(Error::Syntax("truncated base 128 integer"))
}

fn object_identifier(content: &[u8]) -> Result<Vec<u32>, Error> {
    if content.is_empty() {
        return Err(Error::Syntax("zero length OBJECT IDENTIFIER"));
    }
    let mut at = 0;
    let first = base128(content, &mut at)?;
    let head = (first / 40).min(2);
    let mut parts = vec![head, first - head * 40];
    while at < content.len() {
        parts.push(base128(content, &mut at)?);
    }
    Ok(parts)
}

fn check_integer(content: &[u8]) -> Result<(), Error> {
    if content.is_empty() {
        return Err(structure("empty integer"));
    }
    if !der::minimal(content) {
        return Err(structure("integer not minimally-encoded"));
    }
    Ok(())
}

fn check_bits(content: &[u8]) -> Result<(), Error> {
    let (Some(unused), Some(last)) = (content.first(), content.last()) else {
        return Err(Error::Syntax("zero length BIT STRING"));
    };
    if *unused > 7 || (content.len() == 1 && *unused > 0) || last & ((1u8 << *unused) - 1) != 0 {
        return Err(Error::Syntax("invalid padding bits in BIT STRING"));
    }
    Ok(())
}

fn structure(text: &str) -> Error {
    Error::Structure(text.to_owned())
}

/// Go prints its own structs into this one. Only fields without any setting get here.
fn mismatch(expected: u32, header: Header, ty: &Type, at: usize) -> Error {
    let Header { class, number, length, compound } = header;
    Error::Structure(format!(
        "tags don't match ({expected} vs {{class:{class} tag:{number} length:{length} isCompound:{compound}}}) \
         {{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 \
         timeType:0 set:false omitEmpty:false}} {} @{at}",
        ty.name()
    ))
}
