//! Character questions answered as Go 1.26 answers them, and strings that need not be UTF-8.

mod tables;

use std::borrow::Cow;

/// Whether `unicode.IsLetter` says yes.
pub(crate) fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || (!c.is_ascii() && member(&tables::LETTERS, c))
}

/// Whether `unicode.IsDigit` says yes.
pub(crate) fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || (!c.is_ascii() && member(&tables::DIGITS, c))
}

/// Whether `strconv.IsPrint` says yes.
pub(crate) fn is_print(c: char) -> bool {
    matches!(c, ' '..='~') || (!c.is_ascii() && member(&tables::PRINTABLE, c))
}

fn member(borders: &[u32], c: char) -> bool {
    borders.partition_point(|&border| border <= c as u32) % 2 == 1
}

/// Decodes the first character as Go's `utf8.DecodeRune` does: a byte that starts no character is U+FFFD of width 1.
/// Nothing at the end of the input.
pub(crate) fn decode(bytes: &[u8]) -> Option<(char, usize)> {
    let first = *bytes.first()?;
    let width = match first {
        0..=0x7f => return Some((char::from(first), 1)),
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Some((char::REPLACEMENT_CHARACTER, 1)),
    };
    let text = bytes.get(..width).and_then(|b| std::str::from_utf8(b).ok());
    Some(text.and_then(|t| t.chars().next()).map_or((char::REPLACEMENT_CHARACTER, 1), |c| (c, width)))
}

/// The string with every byte that is not part of a character replaced by U+FFFD.
pub(crate) fn valid(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Cow::Owned(text)
}

/// Appends what `%q` prints of a string.
pub(crate) fn quote(out: &mut String, bytes: &[u8]) {
    out.push('"');
    let mut rest = bytes;
    while let Some((c, width)) = decode(rest) {
        if c == char::REPLACEMENT_CHARACTER && width == 1 {
            out.push_str(&format!("\\x{:02x}", rest.first().copied().unwrap_or_default()));
        } else {
            quote_char(out, c, '"');
        }
        rest = rest.get(width..).unwrap_or_default();
    }
    out.push('"');
}

/// Appends what stands for one character between Go's quotation marks.
pub(crate) fn quote_char(out: &mut String, c: char, mark: char) {
    let short = match c {
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\u{c}' => 'f',
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        '\u{b}' => 'v',
        c if c == mark || c == '\\' => c,
        c if is_print(c) => return out.push(c),
        c => {
            let code = c as u32;
            let escape = match code {
                0..0x20 | 0x7f => format!("\\x{code:02x}"),
                0x20..0x1_0000 => format!("\\u{code:04x}"),
                _ => format!("\\U{code:08x}"),
            };
            return out.push_str(&escape);
        }
    };
    out.push('\\');
    out.push(short);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_are_those_of_go() {
        for (c, letter, digit, print) in [
            ('a', true, false, true),
            ('7', false, true, true),
            ('\u{7f}', false, false, false),
            ('\u{a0}', false, false, false),
            ('\u{ad}', false, false, false),
            ('é', true, false, true),
            ('\u{93f}', false, false, true),
            ('٣', false, true, true),
            ('²', false, false, true),
            ('\u{1f600}', false, false, true),
            ('\u{10ffff}', false, false, false),
        ] {
            assert_eq!((is_letter(c), is_digit(c), is_print(c)), (letter, digit, print), "{c:?}");
        }
    }

    #[test]
    fn quoting_is_that_of_go() {
        let mut out = String::new();
        quote(&mut out, b"a\"'\\\n\x00\x7f\xff\xc2\xa0\xf0\x9f\x98\x80\xe2\x80");
        assert_eq!(out, "\"a\\\"'\\\\\\n\\x00\\x7f\\xff\\u00a0\u{1f600}\\xe2\\x80\"");
    }

    #[test]
    fn each_stray_byte_is_replaced_by_itself() {
        assert_eq!(valid(b"a\xe2\x80z\xed\xa0\x80"), "a\u{fffd}\u{fffd}z\u{fffd}\u{fffd}\u{fffd}");
    }
}
