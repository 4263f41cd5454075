//! Bytes as text: base64 in both alphabets, and PEM.

const USUAL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn encode(bytes: &[u8], letters: &[u8; 64]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let all =
            chunk.iter().fold(0_u32, |all, byte| all << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        let digits = [18, 12, 6, 0].map(|shift| (all >> shift & 63) as usize);
        let used = chunk.len() + 1;
        out.extend(
            digits.iter().take(used).filter_map(|digit| letters.get(*digit)).map(|byte| char::from(*byte)),
        );
    }
    out
}

/// With the usual letters and padding.
pub fn usual(bytes: &[u8]) -> String {
    let mut out = encode(bytes, USUAL);
    out.extend(std::iter::repeat_n('=', out.len().wrapping_neg() % 4));
    out
}

/// With the letters of addresses and without padding.
pub fn url(bytes: &[u8]) -> String {
    encode(bytes, URL)
}

/// Reads what [`url`] writes; nothing if there is anything else in it, even in the bits that say nothing.
pub fn from_url(text: &str) -> Option<Vec<u8>> {
    decode(text.bytes(), URL)
}

fn decode(text: impl Iterator<Item = u8>, letters: &[u8; 64]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (mut all, mut bits) = (0_u32, 0);
    for byte in text {
        let digit = letters.iter().position(|letter| *letter == byte)?;
        all = (all << 6 | digit as u32) & 0xffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((all >> bits & 0xff) as u8);
        }
    }
    (bits < 6 && all & ((1 << bits) - 1) == 0).then_some(out)
}

/// A block of PEM.
pub fn pem(label: &str, bytes: &[u8]) -> String {
    let body = usual(bytes);
    let mut out = format!("-----BEGIN {label}-----\n");
    for line in body.as_bytes().chunks(64) {
        out.extend(line.iter().map(|byte| char::from(*byte)));
        out.push('\n');
    }
    out.push_str(&format!("-----END {label}-----\n"));
    out
}

/// The first block of PEM with a label.
pub fn from_pem(text: &str, label: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
    let digits = body.bytes().filter(|byte| !byte.is_ascii_whitespace());
    decode(digits.filter(|byte| *byte != b'='), USUAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_and_read() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg"),
            ("fo", "Zm8"),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg"),
            ("\u{3ff}~?", "z79-Pw"),
        ] {
            assert_eq!(url(bytes.as_bytes()), text);
            assert_eq!(from_url(text).as_deref(), Some(bytes.as_bytes()));
        }
        for text in ["Z", "Zh", "Zm9", "Zg==", "Z g", "Zm+v", "Zm9vY"] {
            assert_eq!(from_url(text), None, "{text}");
        }
        let bytes: Vec<u8> = (0..100).collect();
        let text = pem("A B", &bytes);
        assert_eq!(text.lines().nth(1).map(str::len), Some(64));
        assert_eq!(from_pem(&text, "A B"), Some(bytes));
        assert_eq!(from_pem(&text, "A"), None);
    }
}
