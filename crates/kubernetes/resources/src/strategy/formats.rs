//! The formats of names and other texts, with what the server says of those that have another.

use podium_meta::names::{self, LengthUnit, SUBDOMAIN, SUBDOMAIN_MAX_LENGTH, length_and_format_errors};
pub use podium_meta::names::{
    is_subdomain, label_1035 as old_label, label_value, qualified as key, regex_error,
};

/// Says all that is wrong with a text.
pub type Format = fn(&str) -> Vec<String>;

/// The name of a part of a domain.
pub fn label(text: &str) -> Vec<String> {
    names::label(text, LengthUnit::Characters)
}

/// The name of a domain, which most names have to be.
pub fn subdomain(text: &str) -> Vec<String> {
    names::subdomain(text, LengthUnit::Characters)
}

fn longest(text: &str, most: usize) -> Option<String> {
    LengthUnit::Characters.max_length_error(text, most)
}

/// The name of a domain in which underscores are fine too.
pub fn loose_subdomain(text: &str) -> Vec<String> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let part = |part: &str| {
        let bytes = part.strip_prefix('_').unwrap_or(part).as_bytes();
        bytes.iter().all(|byte| plain(*byte) || matches!(byte, b'-' | b'_'))
            && bytes.first().is_some_and(|byte| plain(*byte))
            && bytes.last().is_some_and(|byte| plain(*byte))
    };
    length_and_format_errors(longest(text, SUBDOMAIN_MAX_LENGTH), !text.split('.').all(part), || {
        regex_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', \
             and must start and end with an alphanumeric character",
            r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*",
            &["example.com"],
        )
    })
}

/// A domain that stands for all below it.
pub fn wildcard(text: &str) -> Vec<String> {
    let good = text.strip_prefix("*.").is_some_and(is_subdomain);
    length_and_format_errors(longest(text, SUBDOMAIN_MAX_LENGTH), !good, || {
        regex_error(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must \
             consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
            &format!(r"\*\.{SUBDOMAIN}"),
            &["*.example.com"],
        )
    })
}

/// The reason of a condition.
pub fn reason(text: &str) -> Vec<String> {
    let letter = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphabetic());
    let end = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"_,:".contains(&byte);
    if letter(text.bytes().next()) && end(text.bytes().last()) && text.bytes().all(inner) {
        return Vec::new();
    }
    vec![regex_error(
        "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric \
         characters or '_,:', and must end with an alphanumeric character or '_'",
        "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?",
        &["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"],
    )]
}

/// What can stand between two slashes of an address.
pub fn segment(text: &str) -> Vec<String> {
    names::path_segment(text, false)
}

/// What such a text can begin with.
pub fn segment_start(text: &str) -> Vec<String> {
    names::path_segment(text, true)
}

/// The name of a port.
pub fn port_name(text: &str) -> Vec<String> {
    let plain = |byte: u8| byte == b'-' || byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut out: Vec<String> = longest(text, 15).into_iter().collect();
    if text.is_empty() || !text.bytes().all(plain) {
        out.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        out.push("must contain at least one letter (a-z)".to_owned());
    }
    if text.contains("--") {
        out.push("must not contain consecutive hyphens".to_owned());
    }
    if text.starts_with('-') || text.ends_with('-') {
        out.push("must not begin or end with a hyphen".to_owned());
    }
    out
}

/// The number of a port.
pub fn port(number: i64) -> Vec<String> {
    if (1..=65_535).contains(&number) { Vec::new() } else { vec![super::place::between(1, 65_535)] }
}

/// A number of hundredths.
pub fn percent(text: &str) -> Vec<String> {
    let digits = text.strip_suffix('%').unwrap_or_default();
    let good = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    length_and_format_errors(None, !good, || {
        regex_error(
            "a valid percent string must be a numeric string followed by an ending '%'",
            "[0-9]+%",
            &["1%", "93%"],
        )
    })
}

/// The name of a header of HTTP.
pub fn header(text: &str) -> Vec<String> {
    let good = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    length_and_format_errors(None, !good, || {
        regex_error(
            "a valid HTTP header must consist of alphanumeric characters or '-'",
            "[-A-Za-z0-9]+",
            &["X-Header-Name"],
        )
    })
}

/// The name of a variable: everything that can be printed but the sign that ends it.
pub fn variable(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    if text.is_empty() {
        out.push("environment variable name must be non-empty".to_owned());
    }
    if !text.chars().all(|sign| (' '..='~').contains(&sign) && sign != '=') {
        out.push(
            "a valid environment variable name must consist only of printable ASCII characters other than '='"
                .to_owned(),
        );
    }
    out
}

/// The key of a piece of data in a ConfigMap or Secret.
pub fn data_key(text: &str) -> Vec<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let good = !text.is_empty() && text.bytes().all(plain);
    let mut out = length_and_format_errors(longest(text, SUBDOMAIN_MAX_LENGTH), !good, || {
        regex_error(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        )
    });
    match text {
        "." | ".." => out.push(format!("must not be '{text}'")),
        text if text.starts_with("..") => out.push("must not start with '..'".to_owned()),
        _ => {}
    }
    out
}

/// A path that leads down and nowhere else.
pub fn descending(text: &str) -> Vec<String> {
    let absolute = text.starts_with('/').then(|| "must be a relative path".to_owned());
    absolute.into_iter().chain(no_steps_back(text)).collect()
}

/// A path that never leads up.
pub fn no_steps_back(text: &str) -> Vec<String> {
    length_and_format_errors(None, text.split('/').any(|step| step == ".."), || {
        "must not contain '..'".to_owned()
    })
}

/// A path below a volume whose names the machine keeps for itself.
pub fn volume_path(text: &str) -> Vec<String> {
    let mut out = descending(text);
    if text.starts_with("..") && !text.starts_with("../") {
        out.push("must not start with '..'".to_owned());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_other_formats_are_named() {
        assert!(subdomain("a.b-c.0").is_empty() && label("0-a").is_empty() && key("a.b/C_d.e").is_empty());
        assert_eq!(label("a.b"), ["must not contain dots"]);
        assert_eq!(
            port_name("-"),
            [
                "must contain at least one letter (a-z)".to_owned(),
                "must not begin or end with a hyphen".to_owned()
            ]
        );
        assert_eq!(key("/x"), ["prefix part must be non-empty"]);
        assert_eq!(key("a//x").len(), 1);
        assert_eq!(segment("a/%"), ["may not contain '/'", "may not contain '%'"]);
        assert_eq!(
            percent("x"),
            [
                "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', \
              regex used for validation is '[0-9]+%')"
            ]
        );
        assert_eq!(volume_path("..a"), ["must not start with '..'"]);
    }
}
