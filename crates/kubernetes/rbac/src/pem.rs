//! Keys and certificates as text.

use podium_meta::base64::{decode, encode};

/// A block of PEM.
pub fn write(label: &str, bytes: &[u8]) -> String {
    let body = encode(bytes);
    let mut out = format!("-----BEGIN {label}-----\n");
    for line in body.as_bytes().chunks(64) {
        out.extend(line.iter().map(|byte| char::from(*byte)));
        out.push('\n');
    }
    out.push_str(&format!("-----END {label}-----\n"));
    out
}

/// The first block of PEM with a label.
pub fn read(text: &str, label: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
    let signs: Vec<u8> = body.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    decode(&signs).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_written_and_read() {
        let bytes: Vec<u8> = (0..100).collect();
        let text = write("A B", &bytes);
        assert_eq!(text.lines().nth(1).map(str::len), Some(64));
        assert_eq!(read(&text, "A B"), Some(bytes));
        assert_eq!(read(&text, "A"), None);
    }
}
