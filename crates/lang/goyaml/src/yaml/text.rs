//! Scalars as strings, where keys or string fields ask for them.

use std::borrow::Cow;

use super::resolve::Resolved;
use super::types::{Kind, Type};
use crate::number;
use crate::unicode;

/// What `strconv.FormatFloat(f, 'g', -1, 32)` gives.
fn float32(f: f64) -> String {
    // The shortest digits of the 32-bit number, read as a 64-bit one, are its shortest digits too.
    let short = format!("{:e}", f as f32).parse::<f64>().unwrap_or(f);
    let mut out = Vec::new();
    number::general(&mut out, short);
    String::from_utf8_lossy(&out).into_owned()
}

/// The string that a key becomes; nothing for those that no JSON key can be.
pub(super) fn key_text<'a>(key: &'a Resolved<'_>) -> Option<Cow<'a, str>> {
    Some(match key {
        Resolved::Null | Resolved::Uint(_) => return None,
        Resolved::Bool(true) => "true".into(),
        Resolved::Bool(false) => "false".into(),
        Resolved::Int(i) => i.to_string().into(),
        Resolved::Float(f) if f.is_nan() => ".nan".into(),
        Resolved::Float(f) => match float32(*f).as_str() {
            "+Inf" => ".inf".into(),
            "-Inf" => "-.inf".into(),
            text => text.to_owned().into(),
        },
        Resolved::Str(text) => unicode::valid(text),
    })
}

/// The string that a scalar becomes because its place is for a string; nothing if it stays what it is.
pub(super) fn coerce(value: &Resolved<'_>, wanted: Option<&Type>) -> Option<String> {
    wanted.filter(|ty| matches!(ty.kind, Kind::Str))?;
    match value {
        Resolved::Null | Resolved::Str(_) => None,
        Resolved::Bool(b) => Some(b.to_string()),
        Resolved::Int(i) => Some(i.to_string()),
        Resolved::Uint(u) => Some(u.to_string()),
        Resolved::Float(f) => Some(float32(*f)),
    }
}

/// The type of the place that the value of a key is for.
pub(super) fn wanted_of<'y>(map: Option<&'y Type>, key: &Resolved<'_>) -> Option<&'y Type> {
    let map = map?;
    match (&map.kind, key) {
        (Kind::Map(element), Resolved::Str(_)) => Some(element),
        (Kind::Map(_) | Kind::Struct(_), _) => map.of_key(&key_text(key)?),
        _ => None,
    }
}
