//! Bytes in JSON: a string when they are valid UTF-8, else `{"b64": "…"}`.

use serde_json::{Value, json};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The JSON form of some bytes.
pub fn to_json(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::String(text.to_owned()),
        Err(_) => json!({ "b64": encode(bytes) }),
    }
}

/// The bytes of a JSON form, if it is one.
pub fn from_json(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.clone().into_bytes()),
        _ => decode(value.get("b64")?.as_str()?),
    }
}

/// Standard base64 with padding.
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for position in 0..4 {
            let index = (word >> (18 - 6 * position)) & 63;
            let letter = if position > chunk.len() { b'=' } else { ALPHABET[index as usize] };
            out.push(char::from(letter));
        }
    }
    out
}

/// The reverse of [`encode`]; `None` when the text is not base64.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut word = 0u32;
    let mut bits = 0;
    for letter in text.trim_end_matches('=').bytes() {
        let index = ALPHABET.iter().position(|&a| a == letter)? as u32;
        word = word << 6 | index;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((word >> bits & 255) as u8);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_round_trips_all_lengths_and_bytes() {
        assert_eq!(encode(b"any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
        for len in 0..70 {
            let bytes: Vec<u8> = (0..len).map(|i| (i * 37 + 200) as u8).collect();
            assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }
        assert_eq!(decode("a*"), None);
    }

    #[test]
    fn invalid_utf8_survives_json() {
        for bytes in [&b"plain \x00 text"[..], b"\xff\xfe", b"ok \xc3\x28", b""] {
            assert_eq!(from_json(&to_json(bytes)).as_deref(), Some(bytes));
        }
    }
}
