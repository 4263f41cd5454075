//! Base64 as Go's `encoding/base64` encodes and decodes it.

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Encodes with the standard alphabet and padding.
pub fn encode(bytes: &[u8]) -> String {
    let mut out = encode_with(bytes, STANDARD);
    while !out.len().is_multiple_of(4) {
        out.push('=');
    }
    out
}

/// Encodes with the URL-safe alphabet and no padding.
pub fn encode_url(bytes: &[u8]) -> String {
    encode_with(bytes, URL_SAFE)
}

fn encode_with(bytes: &[u8], alphabet: &[u8; 64]) -> String {
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

/// Decodes the standard alphabet as Go does, skipping line breaks; the error is the offset of the invalid byte.
pub fn decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut symbols = text.iter().enumerate().filter(|(_, symbol)| !matches!(symbol, b'\r' | b'\n'));
    loop {
        let mut group = [0_u8; 4];
        let mut count = 0;
        while count < 4 {
            let Some((at, symbol)) = symbols.next() else {
                // Go reports a truncated group at its start.
                return if count == 0 { Ok(out) } else { Err(text.len() - count) };
            };
            if *symbol == b'=' {
                check_padding(text, at, count, &mut symbols)?;
                append(&mut out, group, count);
                return match symbols.next() {
                    Some((at, _)) => Err(at),
                    None => Ok(out),
                };
            }
            let value = STANDARD.iter().position(|one| one == symbol).ok_or(at)?;
            if let Some(slot) = group.get_mut(count) {
                *slot = value as u8;
            }
            count += 1;
        }
        append(&mut out, group, 4);
    }
}

fn check_padding<'a>(
    text: &[u8],
    at: usize,
    count: usize,
    symbols: &mut impl Iterator<Item = (usize, &'a u8)>,
) -> Result<(), usize> {
    match count {
        0 | 1 => Err(at),
        2 => match symbols.next() {
            None => Err(text.len()),
            Some((_, b'=')) => Ok(()),
            Some((at, _)) => Err(at),
        },
        _ => Ok(()),
    }
}

fn append(out: &mut Vec<u8>, group: [u8; 4], count: usize) {
    let bits = group.iter().fold(0_u32, |bits, six| bits << 6 | u32::from(*six));
    let bytes = [(bits >> 16) as u8, (bits >> 8) as u8, bits as u8];
    out.extend(bytes.iter().take(count.saturating_sub(1)));
}

/// Decodes URL-safe base64 without padding; `None` when it is invalid.
pub fn decode_url(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in text.as_bytes().chunks(4) {
        let mut word = 0_u32;
        for i in 0..4 {
            let six = match chunk.get(i) {
                Some(letter) => URL_SAFE.iter().position(|one| one == letter)?,
                None => 0,
            };
            word = word << 6 | u32::try_from(six).ok()?;
        }
        let [_, bytes @ ..] = word.to_be_bytes();
        let (taken, rest) =
            bytes.split_at_checked(chunk.len().checked_sub(1).filter(|length| *length > 0)?)?;
        // Unused bits must be zero, so that every value has exactly one encoding.
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
    fn url_safe_encoding_round_trips() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode_url(&encode_url(bytes.as_bytes())).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(encode_url(&[0xfb, 0xff]), "-_8");
        for bad in ["A", "Zh", "Zm9", "Zg==", "a+bc", "Z g", "Zm9vY"] {
            assert_eq!(decode_url(bad), None, "{bad}");
        }
    }

    #[test]
    fn standard_encoding_round_trips_and_errors_have_offsets() {
        for bytes in [&b""[..], b"a", b"ab", b"abc", b"\xff\xfe\x00\x01"] {
            assert_eq!(decode(encode(bytes).as_bytes()), Ok(bytes.to_vec()));
        }
        assert_eq!(encode(b"hello"), "aGVsbG8=");
        assert_eq!(decode(b"YQ=\n="), Ok(b"a".to_vec()));
        assert_eq!(decode(b"YQ!="), Err(2));
    }
}
