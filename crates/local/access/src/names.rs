//! Names of objects and of what users carry.

/// At most 63 small letters, digits and lines, no line at an end.
pub fn is_label(text: &str) -> bool {
    let outer = |byte: Option<u8>| byte.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    text.len() <= 63
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && outer(text.bytes().next())
        && outer(text.bytes().next_back())
}

/// Labels with dots between them, at most 253 bytes; a part may be longer than a label.
pub fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && parts(text)
}

fn parts(text: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    text.split('.')
        .all(|part| part.bytes().all(inner) && edge(part.bytes().next()) && edge(part.bytes().next_back()))
}

/// What is wrong with a subdomain, in the words of the API.
pub fn subdomain_wrongs(text: &str) -> Vec<&'static str> {
    let mut wrongs = Vec::new();
    if text.len() > 253 {
        wrongs.push("must be no more than 253 bytes");
    }
    if !parts(text) {
        wrongs.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
             and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        );
    }
    wrongs
}

/// Whether a text can be a step of a path.
pub fn is_segment(text: &str) -> bool {
    text != "." && text != ".." && !text.contains(['/', '%'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_other_texts() {
        for (text, label, subdomain) in [
            ("a", true, true),
            ("a-1", true, true),
            ("-a", false, false),
            ("a.b", false, true),
            ("a..b", false, false),
            ("A", false, false),
            ("", false, false),
            (&"a".repeat(64), false, true),
            (&"a".repeat(254), false, false),
        ] {
            assert_eq!((is_label(text), is_subdomain(text)), (label, subdomain), "{text}");
        }
    }
}
