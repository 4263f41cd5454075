//! Bytes as text.

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// In the usual letters, filled up with `=`.
pub fn encode(bytes: &[u8]) -> String {
    let mut out = letters(bytes, STANDARD);
    while !out.len().is_multiple_of(4) {
        out.push('=');
    }
    out
}

/// In letters that addresses may have, not filled up.
pub fn encode_url(bytes: &[u8]) -> String {
    letters(bytes, URL)
}

fn letters(bytes: &[u8], alphabet: &[u8; 64]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        for i in 0..=chunk.len() {
            let six = (word >> (18 - 6 * i)) & 63;
            out.push(char::from(alphabet.get(six as usize).copied().unwrap_or(b'A')));
        }
    }
    out
}

/// The bytes of what [`encode_url`] has written; nothing if it is something else.
pub fn decode_url(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in text.as_bytes().chunks(4) {
        let mut word = 0_u32;
        for i in 0..4 {
            let six = match chunk.get(i) {
                Some(letter) => URL.iter().position(|one| one == letter)?,
                None => 0,
            };
            word = word << 6 | u32::try_from(six).ok()?;
        }
        let [_, bytes @ ..] = word.to_be_bytes();
        let (taken, rest) =
            bytes.split_at_checked(chunk.len().checked_sub(1).filter(|length| *length > 0)?)?;
        // Bits that mean nothing are zero, so that every text has one form.
        if rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        out.extend_from_slice(taken);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_text_and_come_back() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode_url(&encode_url(bytes.as_bytes())).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(encode_url(&[0xfb, 0xff]), "-_8");
        for bad in ["A", "Zh", "Zg==", "a+bc"] {
            assert_eq!(decode_url(bad), None, "{bad}");
        }
    }
}
