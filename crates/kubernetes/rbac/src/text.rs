//! Texts in the forms that the API's sentences have.

use podium_meta::{ErrorType, FieldError};

/// A text in quotes, with the escapes of Go.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            ' '..='~' => out.push(letter),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\0'..='\u{7f}' => out.push_str(&format!("\\x{:02x}", letter as u32)),
            _ if printable(letter) => out.push(letter),
            '\u{80}'..='\u{ffff}' => out.push_str(&format!("\\u{:04x}", letter as u32)),
            _ => out.push_str(&format!("\\U{:08x}", letter as u32)),
        }
    }
    out.push('"');
    out
}

/// Whether a letter beyond ASCII can be shown: neither control nor space nor unassigned.
fn printable(letter: char) -> bool {
    letter.is_alphanumeric() || (letter.escape_debug().len() == 1 && !letter.is_whitespace())
}

/// A flaw of a text.
pub fn invalid(field: impl Into<String>, text: &str, detail: &str) -> FieldError {
    FieldError::new(ErrorType::Invalid, field, &quote(text), detail)
}

/// A list of texts: `["a" "b"]`.
pub fn quoted_list<T: AsRef<str>>(texts: &[T]) -> String {
    let all: Vec<String> = texts.iter().map(|text| quote(text.as_ref())).collect();
    format!("[{}]", all.join(" "))
}

/// Several errors as one: each is said once, and more than one are put in brackets.
pub fn aggregate<T: AsRef<str>>(errors: &[T]) -> String {
    let mut said: Vec<&str> = Vec::with_capacity(errors.len());
    for error in errors {
        if !said.contains(&error.as_ref()) {
            said.push(error.as_ref());
        }
    }
    match said.as_slice() {
        [one] => (*one).to_owned(),
        all => format!("[{}]", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_those_of_go() {
        for (text, expected) in [
            ("", r#""""#),
            ("a\"b\\", r#""a\"b\\""#),
            ("\u{7}\u{8}\u{b}\n\0\u{1f}\u{7f}", r#""\a\b\v\n\x00\x1f\x7f""#),
            ("ä語'", "\"ä語'\""),
            ("\u{ad}\u{a0}\u{2028}\u{e000}", r#""\u00ad\u00a0\u2028\ue000""#),
            ("\u{10ffff}", r#""\U0010ffff""#),
        ] {
            assert_eq!(quote(text), expected);
        }
        assert_eq!(quoted_list(&["a", "b c"]), r#"["a" "b c"]"#);
    }

    #[test]
    fn errors_are_said_once() {
        assert_eq!(aggregate(&["a", "a"]), "a");
        assert_eq!(aggregate(&["a", "b", "a"]), "[a, b]");
    }
}
