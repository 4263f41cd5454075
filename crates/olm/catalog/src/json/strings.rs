//! Decoding and encoding of JSON strings.

use super::TokenKind;

/// Decodes a literal without quotation marks like Go: invalid UTF-8 and lone surrogates become U+FFFD.
pub(super) fn decode(literal: &[u8]) -> String {
    let quoted = [b"\"", literal, b"\""].concat();
    match podium_goyaml::json::parse(&quoted, 0).map(|node| node.value) {
        Ok(podium_goyaml::Value::String(text)) => text.into(),
        _ => String::new(),
    }
}

/// Decodes a literal that has only single-character escapes.
pub(super) fn unescape(literal: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(literal.len());
    let mut rest = literal;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(rest.get(..at).unwrap_or_default());
        out.push(match rest.get(at + 1) {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(&other) => other,
            None => b'\\',
        });
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    out
}

/// Appends a quoted string like Go's encoder without HTML escaping.
pub(super) fn encode(out: &mut Vec<u8>, text: &str) {
    let node: podium_goyaml::Node = podium_goyaml::Value::from(text).into();
    if let Ok(written) = podium_goyaml::json::to_raw_string(&&node) {
        out.extend_from_slice(&written);
    }
}

/// Returns the token kind of a literal that Go has encoded.
pub(super) fn classify(literal: &[u8]) -> TokenKind {
    let mut rest = literal;
    let mut escapes = false;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        match rest.get(at + 1) {
            Some(b'n' | b't' | b'"' | b'\\' | b'r' | b'b' | b'f') => escapes = true,
            _ => return TokenKind::Reencoded,
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    match is_verbatim(literal) {
        false => TokenKind::Reencoded,
        true if escapes => TokenKind::Escaped,
        true => TokenKind::Plain,
    }
}

/// Reports whether a literal is UTF-8 without U+2028 and U+2029, which Go escapes.
pub(super) fn is_verbatim(literal: &[u8]) -> bool {
    literal.is_ascii()
        || (!literal.windows(3).any(|c| matches!(c, [0xe2, 0x80, 0xa8 | 0xa9]))
            && std::str::from_utf8(literal).is_ok())
}
