//! Decoding of runes with Go's rules for damaged text.

/// The rune that stands for bytes that are no UTF-8.
pub const RUNE_ERROR: u32 = 0xFFFD;

const MAX_WIDTH: usize = 4;

/// Returns the first character and its width; `(U+FFFD, 0)` for no bytes and `(U+FFFD, 1)` for a bad byte.
pub fn decode_char(bytes: &[u8]) -> (char, usize) {
    let width = match bytes.first() {
        None => return (char::REPLACEMENT_CHARACTER, 0),
        Some(&first) if first < 0x80 => return (char::from(first), 1),
        Some(0xC2..=0xDF) => 2,
        Some(0xE0..=0xEF) => 3,
        Some(0xF0..=0xF4) => 4,
        Some(_) => return (char::REPLACEMENT_CHARACTER, 1),
    };
    let decoded =
        bytes.get(..width).and_then(|head| std::str::from_utf8(head).ok()).and_then(|s| s.chars().next());
    decoded.map_or((char::REPLACEMENT_CHARACTER, 1), |c| (c, width))
}

/// Returns the first rune and its width, like [`decode_char`].
pub fn decode_rune(bytes: &[u8]) -> (u32, usize) {
    let (c, width) = decode_char(bytes);
    (u32::from(c), width)
}

/// Returns the last character and its width; `(U+FFFD, 0)` for no bytes and `(U+FFFD, 1)` for a bad byte.
pub fn decode_last_char(bytes: &[u8]) -> (char, usize) {
    let Some(&last) = bytes.last() else { return (char::REPLACEMENT_CHARACTER, 0) };
    if last < 0x80 {
        return (char::from(last), 1);
    }
    let reach = bytes.len().min(MAX_WIDTH);
    let is_start = |back: &usize| bytes.get(bytes.len() - back).is_some_and(|byte| byte & 0xC0 != 0x80);
    let tail = (1..=reach).find(is_start).unwrap_or(reach);
    match decode_char(bytes.get(bytes.len() - tail..).unwrap_or_default()) {
        (c, width) if width == tail => (c, width),
        _ => (char::REPLACEMENT_CHARACTER, 1),
    }
}

/// Returns the last rune and its width, like [`decode_last_char`].
pub fn decode_last_rune(bytes: &[u8]) -> (u32, usize) {
    let (c, width) = decode_last_char(bytes);
    (u32::from(c), width)
}

/// Iterates like Go's `range` over a string: byte offset, character and width of each rune.
pub fn runes(bytes: &[u8]) -> impl Iterator<Item = (usize, char, usize)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (c, width) = decode_char(bytes.get(at..)?);
        let start = at;
        at += width;
        (width > 0).then_some((start, c, width))
    })
}

/// Reports whether the bytes are UTF-8 throughout.
pub fn valid(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok()
}

/// Appends the UTF-8 form of a rune, or of U+FFFD when the number is no rune.
pub fn append_rune(out: &mut Vec<u8>, rune: u32) {
    let c = char::from_u32(rune).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(c.encode_utf8(&mut [0; MAX_WIDTH]).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_text_decodes_one_byte_at_a_time() {
        for (bytes, first, last) in [
            (&b""[..], (0xFFFD, 0), (0xFFFD, 0)),
            (b"a", (0x61, 1), (0x61, 1)),
            ("é".as_bytes(), (0xE9, 2), (0xE9, 2)),
            ("\u{FFFD}".as_bytes(), (0xFFFD, 3), (0xFFFD, 3)),
            ("\u{10FFFF}".as_bytes(), (0x10FFFF, 4), (0x10FFFF, 4)),
            (b"\xC0\x80", (0xFFFD, 1), (0xFFFD, 1)),
            (b"\xED\xA0\x80", (0xFFFD, 1), (0xFFFD, 1)),
            (b"\xF4\x90\x80\x80", (0xFFFD, 1), (0xFFFD, 1)),
            (b"\xE2\x82", (0xFFFD, 1), (0xFFFD, 1)),
            (b"\xE2\x82\xAC\xAC", (0x20AC, 3), (0xFFFD, 1)),
            (b"\x80\x80\x80\x80\x80", (0xFFFD, 1), (0xFFFD, 1)),
        ] {
            assert_eq!(decode_rune(bytes), first, "{bytes:x?}");
            assert_eq!(decode_last_rune(bytes), last, "{bytes:x?}");
        }
    }

    #[test]
    fn runes_reports_offsets_and_survives_bad_bytes() {
        let seen: Vec<_> = runes(b"a\xFF\xE2\x82\xACz").collect();
        assert_eq!(seen, [(0, 'a', 1), (1, '\u{FFFD}', 1), (2, '€', 3), (5, 'z', 1)]);
    }

    #[test]
    fn append_rune_replaces_numbers_that_are_no_rune() {
        let mut out = Vec::new();
        for rune in [0x41, 0xD800, 0x11_0000] {
            append_rune(&mut out, rune);
        }
        assert_eq!(out, "A\u{FFFD}\u{FFFD}".as_bytes());
    }
}
