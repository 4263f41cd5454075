//! Validation of names, labels and label values, with the API server's messages.

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
/// The regex of DNS subdomains in error messages.
pub const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
/// Maximum length of a DNS label.
pub const LABEL_MAX_LENGTH: usize = 63;
/// Maximum length of a DNS subdomain.
pub const SUBDOMAIN_MAX_LENGTH: usize = 253;

/// The unit of lengths in messages: the older validation of built-in resources says characters, newer validation
/// bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LengthUnit {
    /// Bytes.
    Bytes,
    /// Characters; only the word differs, bytes are counted.
    Characters,
}

impl LengthUnit {
    /// The error for a text that is longer than `max` bytes.
    pub fn max_length_error(self, text: &str, max: usize) -> Option<String> {
        let word = match self {
            Self::Bytes => "bytes",
            Self::Characters => "characters",
        };
        (text.len() > max).then(|| format!("must be no more than {max} {word}"))
    }
}

/// An error message with the regex and examples.
pub fn regex_error(sentence: &str, regex: &str, examples: &[&str]) -> String {
    let list: Vec<String> = examples.iter().map(|example| format!("'{example}'")).collect();
    match list.is_empty() {
        true => format!("{sentence} (regex used for validation is '{regex}')"),
        false => format!("{sentence} (e.g. {}, regex used for validation is '{regex}')", list.join(",  or ")),
    }
}

/// The length error, followed by the format error when the format is wrong.
pub fn length_and_format_errors(
    length: Option<String>,
    wrong: bool,
    sentence: impl FnOnce() -> String,
) -> Vec<String> {
    length.into_iter().chain(wrong.then(sentence)).collect()
}

/// Whether a text is a DNS-1123 label, regardless of length.
pub fn is_label(text: &str) -> bool {
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.iter().all(|byte| plain(byte) || *byte == b'-')
        && bytes.first().is_some_and(plain)
        && bytes.last().is_some_and(plain)
}

/// Whether a text is a DNS-1123 subdomain, regardless of length.
pub fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

/// Whether a text has the form of a label value or of the name part of a qualified name, regardless of length.
pub fn is_qualified_name_part(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
}

/// Errors of a DNS-1123 label.
pub fn label(text: &str, unit: LengthUnit) -> Vec<String> {
    length_and_format_errors(unit.max_length_error(text, LABEL_MAX_LENGTH), !is_label(text), || {
        if is_subdomain(text) {
            return "must not contain dots".to_owned();
        }
        regex_error(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
             and end with an alphanumeric character",
            LABEL,
            &["my-name", "123-abc"],
        )
    })
}

/// Errors of a DNS-1123 subdomain, the form of most object names.
pub fn subdomain(text: &str, unit: LengthUnit) -> Vec<String> {
    length_and_format_errors(unit.max_length_error(text, SUBDOMAIN_MAX_LENGTH), !is_subdomain(text), || {
        regex_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
             must start and end with an alphanumeric character",
            SUBDOMAIN,
            &["example.com"],
        )
    })
}

/// Errors of a DNS-1035 label, which starts with a letter.
pub fn label_1035(text: &str) -> Vec<String> {
    let good = is_label(text) && text.starts_with(|sign: char| sign.is_ascii_lowercase());
    length_and_format_errors(LengthUnit::Characters.max_length_error(text, LABEL_MAX_LENGTH), !good, || {
        regex_error(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character",
            LABEL_1035,
            &["my-name", "abc-123"],
        )
    })
}

/// Errors of a qualified name, the form of label keys: a name with an optional DNS subdomain prefix and `/`.
pub fn qualified(text: &str) -> Vec<String> {
    let rule = || {
        regex_error(
            "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
             character",
            QUALIFIED,
            &["MyName", "my.name", "123-abc"],
        )
    };
    let mut wrong = Vec::new();
    let mut parts = text.split('/');
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => name,
        (Some(""), Some(name), None) => {
            wrong.push("prefix part must be non-empty".to_owned());
            name
        }
        (Some(prefix), Some(name), None) => {
            let of_prefix = subdomain(prefix, LengthUnit::Bytes);
            wrong.extend(of_prefix.into_iter().map(|wrong| format!("prefix part {wrong}")));
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                rule()
            )];
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if let Some(long) = LengthUnit::Bytes.max_length_error(name, LABEL_MAX_LENGTH) {
        wrong.push(format!("name part {long}"));
    }
    if !is_qualified_name_part(name) {
        wrong.push(format!("name part {}", rule()));
    }
    wrong
}

/// Errors of a label value.
pub fn label_value(text: &str) -> Vec<String> {
    let wrong = !text.is_empty() && !is_qualified_name_part(text);
    length_and_format_errors(LengthUnit::Bytes.max_length_error(text, LABEL_MAX_LENGTH), wrong, || {
        regex_error(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character",
            &format!("({QUALIFIED})?"),
            &["MyValue", "my_value", "12345"],
        )
    })
}

/// Errors of a name, or of a generateName prefix, that is used as a path segment.
pub fn path_segment(text: &str, prefix: bool) -> Vec<String> {
    if !prefix && matches!(text, "." | "..") {
        return vec![format!("may not be '{text}'")];
    }
    let holds = ["/", "%"].into_iter().filter(|part| text.contains(part));
    holds.map(|part| format!("may not contain '{part}'")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_labels_subdomains_and_qualified_names() {
        for (text, is) in [
            ("a", [true, true, true]),
            ("a-1", [true, true, true]),
            ("-a", [false, false, false]),
            ("a.b", [false, true, true]),
            ("a..b", [false, false, true]),
            ("A_b", [false, false, true]),
            ("", [false, false, false]),
            (&"a".repeat(254), [true, true, true]),
        ] {
            assert_eq!([is_label(text), is_subdomain(text), is_qualified_name_part(text)], is, "{text}");
        }
    }

    #[test]
    fn reports_the_api_servers_messages() {
        let long = "a".repeat(64);
        assert_eq!(label(&long, LengthUnit::Characters), ["must be no more than 63 characters"]);
        assert_eq!(label(&long, LengthUnit::Bytes), ["must be no more than 63 bytes"]);
        assert_eq!(label("a.b", LengthUnit::Bytes), ["must not contain dots"]);
        assert_eq!(label_1035(&long), ["must be no more than 63 characters"]);
        assert_eq!(
            qualified(&format!("/{long}")),
            ["prefix part must be non-empty", "name part must be no more than 63 bytes"]
        );
        assert_eq!(qualified("a/b/c").len(), 1);
        assert!(qualified("example.com/My_Name").is_empty() && label_value("").is_empty());
        assert!(
            label_value("-")
                .first()
                .is_some_and(|said| said.ends_with("'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"))
        );
        assert_eq!(
            (path_segment("..", false).len(), path_segment("..", true).len(), path_segment("/%", true).len()),
            (1, 0, 2)
        );
    }
}
