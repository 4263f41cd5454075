//! JSON strings.

use crate::unicode;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// What a byte needs in a string that is being written.
#[derive(Clone, Copy, PartialEq)]
enum Need {
    Nothing,
    Escape,
    Html,
    Character,
}

static NEEDS: [Need; 256] = needs();

const fn needs() -> [Need; 256] {
    let mut table = [Need::Nothing; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            0..0x20 | b'"' | b'\\' => Need::Escape,
            b'<' | b'>' | b'&' => Need::Html,
            0x80.. => Need::Character,
            _ => Need::Nothing,
        };
        byte += 1;
    }
    table
}

/// Appends a string with its quotation marks; `html` also escapes `<`, `>` and `&`.
pub(super) fn write(out: &mut Vec<u8>, text: &[u8], html: bool) {
    out.push(b'"');
    let mut done = 0;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let need = NEEDS[usize::from(byte)];
        if need == Need::Nothing || (need == Need::Html && !html) {
            at += 1;
            continue;
        }
        let width = if need == Need::Character {
            let (c, width) = unicode::decode(text.get(at..).unwrap_or_default()).unwrap_or(('\0', 1));
            let stray = c == char::REPLACEMENT_CHARACTER && width == 1;
            if !stray && !matches!(c, '\u{2028}' | '\u{2029}') {
                at += width;
                continue;
            }
            width
        } else {
            1
        };
        out.extend_from_slice(text.get(done..at).unwrap_or_default());
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            8 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            12 => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0x80.. if width == 1 => out.extend_from_slice(b"\\ufffd"),
            0x80.. => {
                out.extend_from_slice(if text.get(at + 2) == Some(&0xa8) { b"\\u2028" } else { b"\\u2029" })
            }
            _ => {
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 15)]);
            }
        }
        at += width;
        done = at;
    }
    out.extend_from_slice(text.get(done..).unwrap_or_default());
    out.push(b'"');
}

/// The string that a well-formed literal (without its quotation marks) stands for. What is not UTF-8, and surrogates
/// without their other half, become U+FFFD.
pub(super) fn read(literal: &[u8]) -> Box<str> {
    let Some(first) = literal.iter().position(|&b| b == b'\\') else {
        return unicode::valid(literal).into();
    };
    let (plain, mut rest) = literal.split_at(first);
    let mut text = String::with_capacity(literal.len());
    text.push_str(&unicode::valid(plain));
    while let [b'\\', kind, tail @ ..] = rest {
        rest = tail;
        match kind {
            b'b' => text.push('\u{8}'),
            b'f' => text.push('\u{c}'),
            b'n' => text.push('\n'),
            b'r' => text.push('\r'),
            b't' => text.push('\t'),
            b'u' => {
                let unit = hex4(rest).unwrap_or_default();
                rest = rest.get(4..).unwrap_or_default();
                let (c, used) = join(unit, rest);
                text.push(c);
                rest = rest.get(used..).unwrap_or_default();
            }
            other => text.push(char::from(*other)),
        }
        let end = rest.iter().position(|&b| b == b'\\').unwrap_or(rest.len());
        let (plain, tail) = rest.split_at(end);
        text.push_str(&unicode::valid(plain));
        rest = tail;
    }
    text.into_boxed_str()
}

/// The character of a `\u` escape, and how many bytes of the following escape belong to it.
fn join(unit: u16, rest: &[u8]) -> (char, usize) {
    if let Some(c) = char::from_u32(u32::from(unit)) {
        return (c, 0);
    }
    let second = match rest {
        [b'\\', b'u', tail @ ..] => hex4(tail),
        _ => None,
    };
    let pair = second.and_then(|low| char::decode_utf16([unit, low]).next()?.ok());
    pair.map_or((char::REPLACEMENT_CHARACTER, 0), |c| (c, 6))
}

fn hex4(text: &[u8]) -> Option<u16> {
    let digits = std::str::from_utf8(text.get(..4)?).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read() {
        for (literal, text) in [
            (&b"plain"[..], "plain"),
            (b"a\\\"\\\\\\/\\b\\f\\n\\r\\tz", "a\"\\/\u{8}\u{c}\n\r\tz"),
            (b"\\u00e9\\uD83D\\uDE00!", "é😀!"),
            (b"\\ud83d\\u0041", "\u{fffd}A"),
            (b"\\ude00\\ud83d", "\u{fffd}\u{fffd}"),
            (b"\\ud83dx\xff", "\u{fffd}x\u{fffd}"),
        ] {
            assert_eq!(&*read(literal), text);
        }
    }

    #[test]
    fn stray_bytes_are_written_as_escapes() {
        let mut out = Vec::new();
        write(&mut out, b"\xc3(\xe2\x80\xa9\xe2\x80", true);
        assert_eq!(out, b"\"\\ufffd(\\u2029\\ufffd\\ufffd\"");
    }
}
