//! Reading X.509 certificates: what Go refuses is refused, in its words.

use podium_gotmpl::Error;

use super::der::{self, Reader, tag};
use super::ec::{self, Curve};
use super::extension;
use super::keys::{Public, dotted, oid, text_of};
use super::rsa;

/// What is needed of a certificate that signs another.
#[derive(Debug)]
pub struct Certificate<'a> {
    /// The subject's name, in DER.
    pub subject: &'a [u8],
    /// The subject key identifier; empty when there is none.
    pub key_id: &'a [u8],
    /// The public key; nothing when its kind is not known.
    pub key: Option<Public>,
}

/// An extension.
pub struct Extension<'a> {
    /// The object identifier.
    pub id: Vec<u32>,
    /// Whether who does not know it has to refuse the certificate.
    pub critical: bool,
    /// The content.
    pub value: &'a [u8],
}

/// An algorithm with its parameters in DER, empty when there are none.
struct Algorithm<'a> {
    id: Vec<u32>,
    parameters: &'a [u8],
}

/// Gives the reading of a part its error text.
pub fn or<T>(part: Option<T>, text: &'static str) -> Result<T, Error> {
    part.ok_or_else(|| Error::new(text))
}

impl<'a> Certificate<'a> {
    /// Reads a certificate.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut outside = Reader::new(bytes);
        let mut outer = or(outside.enter(tag::SEQUENCE), "x509: malformed certificate")?;
        let mut tbs = or(outer.enter(tag::SEQUENCE), "x509: malformed tbs certificate")?;
        // Go counts from 1, and the largest number wraps to the smallest.
        let version = or(version(&mut tbs), "x509: malformed version")?.wrapping_add(1);
        if version > 3 {
            return Err("x509: invalid version".into());
        }
        let serial = or(tbs.integer(), "x509: malformed serial number")?;
        if serial.first().is_some_and(|b| b & 0x80 != 0) {
            return Err("x509: negative serial number".into());
        }
        let inner = or(tbs.read(tag::SEQUENCE), "x509: malformed signature algorithm identifier")?;
        if inner != or(outer.read(tag::SEQUENCE), "x509: malformed algorithm identifier")? {
            return Err("x509: inner and outer signature algorithm identifiers don't match".into());
        }
        algorithm(inner)?;
        check_name(or(tbs.enter(tag::SEQUENCE), "x509: malformed issuer")?)?;
        let mut validity = or(tbs.enter(tag::SEQUENCE), "x509: malformed validity")?;
        check_time(&mut validity)?;
        check_time(&mut validity)?;
        let subject = or(tbs.whole(tag::SEQUENCE), "x509: malformed issuer")?;
        check_name(or(Reader::new(subject).enter(tag::SEQUENCE), "x509: invalid RDNSequence")?)?;
        let key = public_key(&mut tbs)?;
        let mut certificate = Self { subject, key_id: &[], key };
        if version > 1 {
            or(tbs.optional(tag::context(1)), "x509: malformed issuerUniqueID")?;
            or(tbs.optional(tag::context(2)), "x509: malformed subjectUniqueID")?;
        }
        if version == 3
            && let Some(list) = or(tbs.optional(tag::inside(3)), "x509: malformed extensions")?
        {
            for extension in extensions(list)? {
                if let Some(key_id) = extension::check(&extension)? {
                    certificate.key_id = key_id;
                }
            }
        }
        or(outer.bits(), "x509: malformed signature")?;
        if !outside.is_empty() {
            return Err("x509: trailing data".into());
        }
        Ok(certificate)
    }
}

fn version(tbs: &mut Reader<'_>) -> Option<i64> {
    let Some(inside) = tbs.optional(tag::inside(0))? else { return Some(0) };
    let mut inside = Reader::new(inside);
    inside.int64().filter(|version| *version >= 0 && inside.is_empty())
}

fn algorithm(content: &[u8]) -> Result<Algorithm<'_>, Error> {
    let mut reader = Reader::new(content);
    let id = or(reader.oid(), "x509: malformed OID")?;
    let parameters = match reader.is_empty() {
        true => Default::default(),
        false => or(reader.any(), "x509: malformed parameters")?.whole,
    };
    Ok(Algorithm { id, parameters })
}

fn check_name(mut name: Reader<'_>) -> Result<(), Error> {
    while !name.is_empty() {
        let mut set = or(name.enter(tag::SET), "x509: invalid RDNSequence")?;
        while !set.is_empty() {
            let mut pair = or(set.enter(tag::SEQUENCE), "x509: invalid RDNSequence: invalid attribute")?;
            or(pair.oid(), "x509: invalid RDNSequence: invalid attribute type")?;
            let value = or(pair.any(), "x509: invalid RDNSequence: invalid attribute value")?;
            check_string(value.tag, value.content)
                .map_err(|e| format!("x509: invalid RDNSequence: invalid attribute value: {e}"))?;
        }
    }
    Ok(())
}

fn check_string(tag: u8, value: &[u8]) -> Result<(), String> {
    let printable = |b: &u8| b.is_ascii_alphanumeric() || b" '()*+,-./:=?&".contains(b);
    let (valid, name) = match tag {
        tag::T61 => return Ok(()),
        tag::PRINTABLE => (value.iter().all(printable), "PrintableString"),
        tag::UTF8 => (std::str::from_utf8(value).is_ok(), "UTF-8 string"),
        tag::BMP => (is_bmp(value), "BMPString"),
        tag::IA5 => (value.is_ascii(), "IA5String"),
        tag::NUMERIC => (value.iter().all(|b| b.is_ascii_digit() || *b == b' '), "NumericString"),
        other => return Err(format!("unsupported string type: {other}")),
    };
    if valid { Ok(()) } else { Err(format!("invalid {name}")) }
}

/// Two bytes for each character, none of them a surrogate or one that never means anything.
fn is_bmp(value: &[u8]) -> bool {
    let value = value.strip_suffix(&[0, 0]).filter(|_| value.len().is_multiple_of(2)).unwrap_or(value);
    value.chunks(2).all(|pair| match pair {
        [high, low] => {
            !matches!(u16::from_be_bytes([*high, *low]), 0xfffe | 0xffff | 0xfdd0..=0xfdef | 0xd800..=0xdfff)
        }
        _ => false,
    })
}

fn check_time(reader: &mut Reader<'_>) -> Result<(), Error> {
    let (tag, year_digits, text) = if reader.peek(tag::UTC_TIME) {
        (tag::UTC_TIME, 2, "x509: malformed UTCTime")
    } else if reader.peek(tag::GENERALIZED_TIME) {
        (tag::GENERALIZED_TIME, 4, "x509: malformed GeneralizedTime")
    } else {
        return Err("x509: unsupported time format".into());
    };
    or(reader.read(tag).filter(|content| is_time(content, year_digits)), text).map(|_| ())
}

/// A date and a time of day as `time.Parse` takes them, written in the one form that they have.
fn is_time(content: &[u8], year_digits: usize) -> bool {
    let Some((year, rest)) = content.split_at_checked(year_digits) else { return false };
    let clock = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let Some((clock, zone)) = rest.split_at_checked(clock) else { return false };
    let Some(year) = number(year) else { return false };
    // Two digits mean 1969 to 2068 here; what they mean to X.509 has the same leap years.
    let year = if year_digits == 4 { year } else { year + if year < 69 { 2000 } else { 1900 } };
    let Some(parts) = clock.chunks(2).map(number).collect::<Option<Vec<_>>>() else { return false };
    let (month, day, hour, minute, second) = match (parts.as_slice(), clock.len(), year_digits) {
        (&[month, day, hour, minute, second], 10, _) => (month, day, hour, minute, second),
        (&[month, day, hour, minute], 8, 2) => (month, day, hour, minute, 0),
        _ => return false,
    };
    (1..=12).contains(&month)
        && (1..=days(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60
        && is_zone(zone)
}

/// `Z`, or the hours and minutes of another zone.
fn is_zone(zone: &[u8]) -> bool {
    match zone {
        b"Z" => true,
        [b'+' | b'-', offset @ ..] if offset.len() == 4 => {
            number(offset).is_some_and(|n| n != 0 && n / 100 <= 24 && n % 100 < 60)
        }
        _ => false,
    }
}

fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |sum, b| b.is_ascii_digit().then(|| sum * 10 + u32::from(b - b'0')))
}

/// The days of a month.
fn days(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 31,
    }
}

fn public_key(tbs: &mut Reader<'_>) -> Result<Option<Public>, Error> {
    let mut info = or(tbs.enter(tag::SEQUENCE), "x509: malformed spki")?;
    let kind = or(info.read(tag::SEQUENCE), "x509: malformed public key algorithm identifier")?;
    let Algorithm { id, parameters } = algorithm(kind)?;
    let (bytes, unused) = or(info.bits(), "x509: malformed subjectPublicKey")?;
    let data = der::right_aligned(bytes, unused);
    Ok(Some(match id.as_slice() {
        oid::RSA => Public::Rsa(rsa_key(parameters, &data)?),
        oid::EC => {
            let curve = or(Reader::new(parameters).oid(), "x509: invalid ECDSA parameters")?;
            let curve = or(Curve::from_oid(&curve), "x509: unsupported elliptic curve")?;
            Public::Ec(ec::Public::from_point(curve, &data).map_err(text_of)?)
        }
        oid::ED25519 => {
            if !parameters.is_empty() {
                return Err("x509: Ed25519 key encoded with illegal parameters".into());
            }
            if data.len() != 32 {
                return Err("x509: wrong Ed25519 public key size".into());
            }
            Public::Ed25519(data)
        }
        oid::DSA => check_dsa_key(parameters, &data).map(|()| Public::Dsa)?,
        _ => return Ok(None),
    }))
}

fn rsa_key(parameters: &[u8], data: &[u8]) -> Result<rsa::Public, Error> {
    if parameters != der::NULL {
        return Err("x509: RSA key missing NULL parameters".into());
    }
    let mut key = or(Reader::new(data).enter(tag::SEQUENCE), "x509: invalid RSA public key")?;
    let modulus = or(key.integer(), "x509: invalid RSA modulus")?;
    let exponent = or(key.int64(), "x509: invalid RSA public exponent")?;
    if !is_positive(modulus) {
        return Err("x509: RSA modulus is not a positive number".into());
    }
    if exponent <= 0 {
        return Err("x509: RSA public exponent is not a positive number".into());
    }
    Ok(rsa::Public { modulus: modulus.strip_prefix(&[0]).unwrap_or(modulus).to_vec(), exponent })
}

fn check_dsa_key(parameters: &[u8], data: &[u8]) -> Result<(), Error> {
    let y = or(Reader::new(data).integer(), "x509: invalid DSA public key")?;
    let group = Reader::new(parameters).enter(tag::SEQUENCE);
    let group = group.and_then(|mut group| Some([group.integer()?, group.integer()?, group.integer()?]));
    let group = or(group, "x509: invalid DSA parameters")?;
    if !is_positive(y) || !group.iter().all(|n| is_positive(n)) {
        return Err("x509: zero or negative DSA parameter".into());
    }
    Ok(())
}

/// Whether the content of an INTEGER is larger than zero.
fn is_positive(content: &[u8]) -> bool {
    content.first().is_some_and(|b| b & 0x80 == 0) && content != [0]
}

fn extensions(list: &[u8]) -> Result<Vec<Extension<'_>>, Error> {
    let mut list = or(Reader::new(list).enter(tag::SEQUENCE), "x509: malformed extensions")?;
    let mut seen = std::collections::BTreeSet::new();
    let mut extensions = Vec::new();
    while !list.is_empty() {
        let mut extension = or(list.enter(tag::SEQUENCE), "x509: malformed extension")?;
        let id = or(extension.oid(), "x509: malformed extension OID field")?;
        let critical = match extension.peek(tag::BOOLEAN) {
            true => or(extension.boolean(), "x509: malformed extension critical field")?,
            false => false,
        };
        let value = or(extension.read(tag::OCTETS), "x509: malformed extension value field")?;
        if !seen.insert(id.clone()) {
            let id = dotted(&id);
            return Err(format!("x509: certificate contains duplicate extension with OID \"{id}\"").into());
        }
        extensions.push(Extension { id, critical, value });
    }
    Ok(extensions)
}
