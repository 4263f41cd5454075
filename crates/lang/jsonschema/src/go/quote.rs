//! Quoting as `%q` does it.

use podium_re2::is_print;

fn escape(out: &mut String, c: char, mark: char) {
    match c {
        _ if c == mark || c == '\\' => {
            out.push('\\');
            out.push(c);
        }
        _ if is_print(c) => out.push(c),
        '\u{7}' => out.push_str("\\a"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{b}' => out.push_str("\\v"),
        '\0'..' ' | '\u{7f}' => out.push_str(&format!("\\x{:02x}", u32::from(c))),
        '\u{80}'..='\u{ffff}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
        _ => out.push_str(&format!("\\U{:08x}", u32::from(c))),
    }
}

/// A string in double quotation marks; bytes that are no UTF-8 are written as numbers.
pub(crate) fn double(text: impl AsRef<[u8]>) -> String {
    let mut out = String::from("\"");
    for chunk in text.as_ref().utf8_chunks() {
        chunk.valid().chars().for_each(|c| escape(&mut out, c, '"'));
        chunk.invalid().iter().for_each(|b| out.push_str(&format!("\\x{b:02x}")));
    }
    out.push('"');
    out
}

/// One character in single quotation marks.
pub(crate) fn character(c: char) -> String {
    let mut out = String::from("'");
    escape(&mut out, c, '\'');
    out.push('\'');
    out
}

/// A string in single quotation marks, as all messages about values show it.
pub(crate) fn single(text: &str) -> String {
    let quoted = double(text).replace("\\\"", "\"").replace('\'', "\\'");
    let inner = quoted.strip_prefix('"').and_then(|q| q.strip_suffix('"')).unwrap_or(&quoted);
    format!("'{inner}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_those_of_the_original() {
        assert_eq!(
            double("a\"b'\n\u{1}\u{ad}é\u{1F600}\u{e0001}"),
            "\"a\\\"b'\\n\\x01\\u00adé\u{1F600}\\U000e0001\""
        );
        assert_eq!(double(b"\xff%"), "\"\\xff%\"");
        assert_eq!(single("it's \"x\" \\ y"), "'it\\'s \"x\" \\\\ y'");
        // A backslash at the very end loses its double to the way in which the marks are changed.
        assert_eq!(single("a\\"), "'a\\'");
        assert_eq!(single(""), "''");
        assert_eq!(single("\""), "'\"'");
        assert_eq!(character('\''), "'\\''");
    }
}
