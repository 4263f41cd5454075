//! Go's quoted literals: writing them as `%q` does, and reading them back.

use super::unicode::is_print;
use super::utf8::{append_rune, decode_char, runes, valid};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Printable,
    Ascii,
}

fn push_hex(out: &mut Vec<u8>, value: u32, digits: u32) {
    for place in (0..digits).rev() {
        let nibble = value >> (4 * place) & 0xF;
        out.extend(char::from_digit(nibble, 16).map(|digit| digit as u8));
    }
}

fn push_escaped(out: &mut Vec<u8>, c: char, delimiter: char, keep: Keep) {
    if c == delimiter || c == '\\' {
        out.extend([b'\\', c as u8]);
    } else if is_print(c) && (keep == Keep::Printable || c.is_ascii()) {
        append_rune(out, u32::from(c));
    } else {
        let code = u32::from(c);
        match c {
            '\x07' => out.extend(b"\\a"),
            '\x08' => out.extend(b"\\b"),
            '\x0C' => out.extend(b"\\f"),
            '\n' => out.extend(b"\\n"),
            '\r' => out.extend(b"\\r"),
            '\t' => out.extend(b"\\t"),
            '\x0B' => out.extend(b"\\v"),
            '\0'..='\x1F' | '\x7F' => {
                out.extend(b"\\x");
                push_hex(out, code, 2);
            }
            '\u{10000}'.. => {
                out.extend(b"\\U");
                push_hex(out, code, 8);
            }
            _ => {
                out.extend(b"\\u");
                push_hex(out, code, 4);
            }
        }
    }
}

fn quote_with(text: &[u8], keep: Keep) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len().saturating_add(2));
    out.push(b'"');
    let is_plain = |b: &u8| matches!(b, b' '..=b'~') && !matches!(b, b'"' | b'\\');
    let mut rest = text;
    loop {
        let (plain, more) = rest.split_at(rest.iter().take_while(|b| is_plain(b)).count());
        out.extend_from_slice(plain);
        let Some(&byte) = more.first() else { break };
        let (c, width) = decode_char(more);
        if width == 1 && byte >= 0x80 {
            out.extend(b"\\x");
            push_hex(&mut out, u32::from(byte), 2);
        } else {
            push_escaped(&mut out, c, '"', keep);
        }
        rest = more.get(width..).unwrap_or_default();
    }
    out.push(b'"');
    out
}

fn quote_rune_with(rune: u32, keep: Keep) -> Vec<u8> {
    let mut out = vec![b'\''];
    push_escaped(&mut out, char::from_u32(rune).unwrap_or(char::REPLACEMENT_CHARACTER), '\'', keep);
    out.push(b'\'');
    out
}

/// Returns a double-quoted literal of the text, escaping what is not printable.
pub fn quote(text: &[u8]) -> Vec<u8> {
    quote_with(text, Keep::Printable)
}

/// Returns a double-quoted literal of the text that is plain ASCII.
pub fn quote_to_ascii(text: &[u8]) -> Vec<u8> {
    quote_with(text, Keep::Ascii)
}

/// Returns a single-quoted literal of the rune; a number that is no rune counts as U+FFFD.
pub fn quote_rune(rune: u32) -> Vec<u8> {
    quote_rune_with(rune, Keep::Printable)
}

/// Returns a single-quoted literal of the rune that is plain ASCII.
pub fn quote_rune_to_ascii(rune: u32) -> Vec<u8> {
    quote_rune_with(rune, Keep::Ascii)
}

/// Reports whether the text fits unchanged between backquotes on one line.
pub fn can_backquote(text: &[u8]) -> bool {
    valid(text)
        && !runes(text)
            .any(|(_, c, _)| matches!(c, '\0'..='\x08' | '\n'..='\x1F' | '`' | '\x7F' | '\u{FEFF}'))
}

fn number(digits: &[u8], base: u32) -> Option<u32> {
    digits.iter().try_fold(0u32, |value, &digit| {
        value.checked_mul(base)?.checked_add(char::from(digit).to_digit(base)?)
    })
}

/// Reads the first character of the inside of a literal whose delimiter is `delimiter` (0 for none).
///
/// Returns its value, whether it stands for a whole rune (and not a single byte), and the rest; `None` means
/// invalid syntax.
pub fn unquote_char(text: &[u8], delimiter: u8) -> Option<(u32, bool, &[u8])> {
    let (&first, rest) = text.split_first()?;
    if first == delimiter && matches!(delimiter, b'\'' | b'"') {
        return None;
    }
    if first >= 0x80 {
        let (c, width) = decode_char(text);
        return Some((u32::from(c), true, text.get(width..)?));
    }
    if first != b'\\' {
        return Some((u32::from(first), false, rest));
    }
    let (&escape, rest) = rest.split_first()?;
    let digits = match escape {
        b'x' | b'0'..=b'7' => 2,
        b'u' => 4,
        b'U' => 8,
        _ => {
            let value = match escape {
                b'a' => 0x07,
                b'b' => 0x08,
                b'f' => 0x0C,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'v' => 0x0B,
                b'\\' => b'\\',
                b'\'' | b'"' if escape == delimiter => escape,
                _ => return None,
            };
            return Some((u32::from(value), false, rest));
        }
    };
    let (digits, rest) = rest.split_at_checked(digits)?;
    match escape {
        b'x' => Some((number(digits, 16)?, false, rest)),
        b'u' | b'U' => char::from_u32(number(digits, 16)?).map(|c| (u32::from(c), true, rest)),
        _ => {
            let value = u32::from(escape - b'0') * 64 + number(digits, 8)?;
            (value <= 0xFF).then_some((value, false, rest))
        }
    }
}

fn unquote_escaped(mut text: &[u8], delimiter: u8) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut count = 0usize;
    loop {
        match text {
            [last] if *last == delimiter => return Some(out),
            [b'\n', ..] => return None,
            _ if delimiter == b'\'' && count == 1 => return None,
            _ => {}
        }
        let (value, whole_rune, rest) = unquote_char(text, delimiter)?;
        match u8::try_from(value) {
            Ok(byte) if byte < 0x80 || !whole_rune => out.push(byte),
            _ => append_rune(&mut out, value),
        }
        count += 1;
        text = rest;
    }
}

/// Reads a whole Go literal in double quotes, backquotes or single quotes (one character); `None` means invalid
/// syntax.
pub fn unquote(literal: &[u8]) -> Option<Vec<u8>> {
    let (&delimiter, rest) = literal.split_first()?;
    match delimiter {
        b'`' => {
            let (&last, inside) = rest.split_last()?;
            let ok = last == b'`' && !inside.contains(&b'`');
            // Go drops carriage returns from raw literals.
            ok.then(|| inside.iter().copied().filter(|&byte| byte != b'\r').collect())
        }
        b'"' | b'\'' => unquote_escaped(rest, delimiter),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    #[test]
    fn quoting_equals_go() {
        // text, Quote, QuoteToASCII
        for (input, quoted, ascii) in [
            (&b""[..], r#""""#, r#""""#),
            (b"a\"b'c\\d`", r#""a\"b'c\\d`""#, r#""a\"b'c\\d`""#),
            (b"\x07\x08\x0c\n\r\t\x0b\0\x7f", r#""\a\b\f\n\r\t\v\x00\x7f""#, r#""\a\b\f\n\r\t\v\x00\x7f""#),
            (b"\x80\xff\xe2\x82", r#""\x80\xff\xe2\x82""#, r#""\x80\xff\xe2\x82""#),
            ("é€😀".as_bytes(), r#""é€😀""#, r#""\u00e9\u20ac\U0001f600""#),
            ("\u{FFFD}".as_bytes(), "\"\u{FFFD}\"", r#""\ufffd""#),
            (
                "\u{a0}\u{ad}\u{2028}\u{feff}\u{e0001}".as_bytes(),
                r#""\u00a0\u00ad\u2028\ufeff\U000e0001""#,
                r#""\u00a0\u00ad\u2028\ufeff\U000e0001""#,
            ),
        ] {
            assert_eq!(text(&quote(input)), quoted);
            assert_eq!(text(&quote_to_ascii(input)), ascii);
        }
        for (rune, quoted, ascii) in [
            (0x27, r"'\''", r"'\''"),
            (0x22, "'\"'", "'\"'"),
            (0xE9, "'é'", r"'\u00e9'"),
            (0xD800, "'\u{FFFD}'", r"'\ufffd'"),
            (0x11_0000, "'\u{FFFD}'", r"'\ufffd'"),
            (0, r"'\x00'", r"'\x00'"),
        ] {
            assert_eq!(text(&quote_rune(rune)), quoted);
            assert_eq!(text(&quote_rune_to_ascii(rune)), ascii);
        }
    }

    #[test]
    fn unquoting_equals_go() {
        let cases: [(&[u8], Option<&[u8]>); 27] = [
            (b"", None),
            (b"\"", None),
            (b"\"\"", Some(b"")),
            (b"''", Some(b"")),
            (b"'''", None),
            (b"'a'", Some(b"a")),
            (b"'ab'", None),
            (b"'\\''", Some(b"'")),
            (b"'\"'", Some(b"\"")),
            (b"'\\\"'", None),
            (b"'\xff'", Some("\u{FFFD}".as_bytes())),
            (b"'\\xff'", Some(b"\xff")),
            (b"\"\\'\"", None),
            (b"\"a'b\"", Some(b"a'b")),
            (b"\"a\nb\"", None),
            (b"\"a\"b\"", None),
            (b"\"a\\\"", None),
            (b"\"\\a\\b\\f\\n\\r\\t\\v\\\\\\\"\"", Some(b"\x07\x08\x0c\n\r\t\x0b\\\"")),
            (b"\"\\x41\\101\\u00e9\\U0001F600\"", Some("AAé😀".as_bytes())),
            (b"\"\\377\"", Some(b"\xff")),
            (b"\"\\400\"", None),
            (b"\"\\ud800\"", None),
            (b"\"\\U00110000\"", None),
            (b"\"\xff\"", Some("\u{FFFD}".as_bytes())),
            (b"`a\r\nb\\n\xff`", Some(b"a\nb\\n\xff")),
            (b"`a`b`", None),
            (b"plain", None),
        ];
        for (input, want) in cases {
            assert_eq!(unquote(input).as_deref(), want, "{}", text(input));
        }
    }

    #[test]
    fn unquote_char_reports_kind_and_rest() {
        assert_eq!(unquote_char(b"\\xe9z", b'"'), Some((0xE9, false, &b"z"[..])));
        assert_eq!(unquote_char(b"\\u00e9z", b'"'), Some((0xE9, true, &b"z"[..])));
        assert_eq!(unquote_char("éz".as_bytes(), 0), Some((0xE9, true, &b"z"[..])));
        assert_eq!(unquote_char(b"'", 0), Some((0x27, false, &b""[..])));
        assert_eq!(unquote_char(b"\\'", 0), None);
        assert_eq!(unquote_char(b"'", b'\''), None);
        assert_eq!(unquote_char(b"\\", b'"'), None);
    }

    #[test]
    fn backquotes_hold_single_printable_lines() {
        for (input, want) in [
            (&b"a\tb\"\\"[..], true),
            (b"a`", false),
            (b"a\n", false),
            (b"\xff", false),
            (b"\xef\xbb\xbf", false),
        ] {
            assert_eq!(can_backquote(input), want);
        }
    }
}
