//! Base64 as Go reads and writes it.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let sign = ALPHABET.get((bits >> (18 - 6 * at) & 63) as usize).copied().unwrap_or(b'A');
            out.push(if at > chunk.len() { '=' } else { char::from(sign) });
        }
    }
    out
}

/// The bytes, or the place where the text is wrong. Line breaks are passed over.
pub fn decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut signs = text.iter().enumerate().filter(|(_, sign)| !matches!(sign, b'\r' | b'\n'));
    loop {
        let mut group = [0_u8; 4];
        let mut count = 0;
        while count < 4 {
            let Some((at, sign)) = signs.next() else {
                // An end in the middle is reported where the group begins to lack.
                return if count == 0 { Ok(out) } else { Err(text.len() - count) };
            };
            if *sign == b'=' {
                padding(text, at, count, &mut signs)?;
                append(&mut out, group, count);
                return match signs.next() {
                    Some((at, _)) => Err(at),
                    None => Ok(out),
                };
            }
            let value = ALPHABET.iter().position(|one| one == sign).ok_or(at)?;
            if let Some(place) = group.get_mut(count) {
                *place = value as u8;
            }
            count += 1;
        }
        append(&mut out, group, 4);
    }
}

fn padding<'a>(
    text: &[u8],
    at: usize,
    count: usize,
    signs: &mut impl Iterator<Item = (usize, &'a u8)>,
) -> Result<(), usize> {
    match count {
        0 | 1 => Err(at),
        2 => match signs.next() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_go_both_ways_and_errors_have_a_place() {
        for bytes in [&b""[..], b"a", b"ab", b"abc", b"\xff\xfe\x00\x01"] {
            assert_eq!(decode(encode(bytes).as_bytes()), Ok(bytes.to_vec()));
        }
        assert_eq!(encode(b"hello"), "aGVsbG8=");
        assert_eq!(decode(b"YQ=\n="), Ok(b"a".to_vec()));
        assert_eq!(decode(b"YQ!="), Err(2));
    }
}
