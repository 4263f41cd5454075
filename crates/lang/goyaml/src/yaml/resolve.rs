//! What a scalar means.

use std::borrow::Cow;

use super::error::{Fault, Outcome};
use super::tape::{Entry, Tape};
use super::timestamp;
use crate::number::{self, Integer};

/// The value of a scalar, as go-yaml v2 sees it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Resolved<'t> {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer that only fits an unsigned one.
    Uint(u64),
    Float(f64),
    /// A string, which is not UTF-8 if it was `!!binary`.
    Str(Cow<'t, [u8]>),
}

const LONG: &str = "tag:yaml.org,2002:";

/// The value of a scalar of the tape.
pub(super) fn resolve<'t>(tape: &Tape<'t>, entry: &Entry) -> Outcome<Resolved<'t>> {
    let text = tape.text_of(entry);
    match tape.tag_of(entry) {
        None if entry.implicit => Ok(plain(text)),
        None => Ok(Resolved::Str(text)),
        Some(tag) => tagged(text, tag, entry),
    }
}

/// Whether a key is the merge key.
pub(super) fn is_merge(tape: &Tape<'_>, entry: &Entry) -> bool {
    // What has no tag and no quotes begins as it is written.
    if entry.tag == 0 && tape.text.get(entry.text.from as usize) != Some(&b'<') {
        return false;
    }
    let merges = entry.implicit || tape.tag_of(entry) == Some(b"tag:yaml.org,2002:merge");
    merges && *tape.text_of(entry) == *b"<<"
}

fn tagged<'t>(text: Cow<'t, [u8]>, tag: &[u8], entry: &Entry) -> Outcome<Resolved<'t>> {
    let Some(name) = tag.strip_prefix(LONG.as_bytes()) else { return Ok(Resolved::Str(text)) };
    let wanted = match name {
        b"str" => return Ok(Resolved::Str(text)),
        b"binary" => {
            let bytes = base64(&text)
                .ok_or_else(|| Fault::new("yaml: !!binary value contains invalid base64 data", entry.mark))?;
            return Ok(Resolved::Str(Cow::Owned(bytes)));
        }
        b"bool" => "bool",
        b"int" => "int",
        b"float" => "float",
        b"null" => "null",
        b"timestamp" => "timestamp",
        _ => return Ok(Resolved::Str(text)),
    };
    if wanted == "timestamp" && timestamp::is_timestamp(&text) {
        return Ok(Resolved::Str(text));
    }
    let value = plain(Cow::Borrowed(&text));
    let found = match value {
        Resolved::Null => "null",
        Resolved::Bool(_) => "bool",
        Resolved::Int(_) | Resolved::Uint(_) => "int",
        Resolved::Float(_) => "float",
        Resolved::Str(_) => "str",
    };
    match value {
        Resolved::Null if wanted == found => Ok(Resolved::Null),
        Resolved::Bool(b) if wanted == found => Ok(Resolved::Bool(b)),
        Resolved::Int(i) if wanted == found => Ok(Resolved::Int(i)),
        Resolved::Uint(u) if wanted == found => Ok(Resolved::Uint(u)),
        Resolved::Float(f) if wanted == found => Ok(Resolved::Float(f)),
        Resolved::Int(i) if wanted == "float" => Ok(Resolved::Float(i as f64)),
        _ => {
            let text = String::from_utf8_lossy(&text);
            Err(Fault::new(format!("yaml: cannot decode !!{found} `{text}` as a !!{wanted}"), entry.mark))
        }
    }
}

/// The value of a scalar about which nothing is said.
pub(super) fn plain(text: Cow<'_, [u8]>) -> Resolved<'_> {
    let known = match text.first() {
        None => Some(Resolved::Null),
        Some(b'0'..=b'9' | b'+' | b'-' | b'.') => numeric(&text),
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => word(&text),
        Some(_) => None,
    };
    known.unwrap_or(Resolved::Str(text))
}

fn word(text: &[u8]) -> Option<Resolved<'static>> {
    Some(match text {
        b"y" | b"Y" | b"yes" | b"Yes" | b"YES" | b"true" | b"True" | b"TRUE" | b"on" | b"On" | b"ON" => {
            Resolved::Bool(true)
        }
        b"n" | b"N" | b"no" | b"No" | b"NO" | b"false" | b"False" | b"FALSE" | b"off" | b"Off" | b"OFF" => {
            Resolved::Bool(false)
        }
        b"~" | b"null" | b"Null" | b"NULL" => Resolved::Null,
        _ => return None,
    })
}

fn numeric(text: &[u8]) -> Option<Resolved<'static>> {
    let special = match text {
        b".nan" | b".NaN" | b".NAN" => Some(f64::NAN),
        b".inf" | b".Inf" | b".INF" | b"+.inf" | b"+.Inf" | b"+.INF" => Some(f64::INFINITY),
        b"-.inf" | b"-.Inf" | b"-.INF" => Some(f64::NEG_INFINITY),
        _ => None,
    };
    if let Some(f) = special {
        return Some(Resolved::Float(f));
    }
    let dropped = text.contains(&b'_');
    if text.starts_with(b".") && dropped && !separates_digits(text) {
        return None;
    }
    let digits: Cow<'_, [u8]> =
        if dropped { text.iter().copied().filter(|&b| b != b'_').collect() } else { Cow::Borrowed(text) };
    if !text.starts_with(b".") {
        match number::integer(&digits) {
            Integer::Signed(i) => return Some(Resolved::Int(i)),
            Integer::Unsigned(u) => return Some(Resolved::Uint(u)),
            Integer::OutOfRange | Integer::Malformed => {}
        }
    }
    if let Some(f) = decimal(&digits) {
        return Some(Resolved::Float(f));
    }
    // After `0b`, go-yaml takes a sign.
    match number::integer_of_base(digits.strip_prefix(b"0b")?, 2) {
        Integer::Signed(i) => Some(Resolved::Int(i)),
        _ => None,
    }
}

/// Whether every underscore stands between two digits.
fn separates_digits(text: &[u8]) -> bool {
    let digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    // Several underscores in a row are no separator either.
    text.iter().enumerate().all(|(at, &b)| b != b'_' || (at > 0 && digit(at - 1) && digit(at + 1)))
}

/// A decimal number with digits on at least one side of the point, and finite.
fn decimal(text: &[u8]) -> Option<f64> {
    let unsigned = text.strip_prefix(b"+").or(text.strip_prefix(b"-")).unwrap_or(text);
    let count = |t: &[u8]| t.iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = count(unsigned);
    let mut rest = unsigned.get(whole..)?;
    if let Some(fraction) = rest.strip_prefix(b".") {
        let len = count(fraction);
        if whole + len == 0 {
            return None;
        }
        rest = fraction.get(len..)?;
    } else if whole == 0 {
        return None;
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = exponent.strip_prefix(b"+").or(exponent.strip_prefix(b"-")).unwrap_or(exponent);
        if exponent.is_empty() || count(exponent) < exponent.len() {
            return None;
        }
    } else if !rest.is_empty() {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse::<f64>().ok().filter(|f| f.is_finite())
}

/// Decodes standard base64 with padding, as Go does: line breaks are ignored.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut group = 0_u32;
    let mut len = 0;
    let mut bytes = text.iter().copied().filter(|b| !matches!(b, b'\r' | b'\n'));
    while let Some(byte) = bytes.next() {
        let sextet = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                let complete = match len {
                    2 => bytes.next() == Some(b'='),
                    3 => true,
                    _ => false,
                };
                if !complete || bytes.next().is_some() {
                    return None;
                }
                let [_, first, second, _] = (group << (6 * (4 - len))).to_be_bytes();
                out.push(first);
                if len == 3 {
                    out.push(second);
                }
                return Some(out);
            }
            _ => return None,
        };
        group = group << 6 | u32::from(sextet);
        len += 1;
        if len == 4 {
            out.extend_from_slice(group.to_be_bytes().get(1..)?);
            (group, len) = (0, 0);
        }
    }
    (len == 0).then_some(out)
}
