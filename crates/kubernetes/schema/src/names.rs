//! Rules of names, and what is said of names that break them.

/// Whether text is a DNS label: lower case letters, digits and dashes inside.
pub fn is_label(text: &str) -> bool {
    let inside = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty() && text.bytes().all(inside) && !text.starts_with('-') && !text.ends_with('-')
}

/// Whether text is labels with dots between them.
pub fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

fn too_long(most: usize) -> String {
    format!("must be no more than {most} bytes")
}

/// What is wrong with a DNS subdomain.
pub fn subdomain(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 253 {
        wrong.push(too_long(253));
    }
    if !is_subdomain(text) {
        wrong.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '{SUBDOMAIN}')"
        ));
    }
    wrong
}

/// What is wrong with a DNS label.
pub fn label(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 63 {
        wrong.push(too_long(63));
    }
    if is_label(text) {
    } else if is_subdomain(text) {
        wrong.push("must not contain dots".to_owned());
    } else {
        wrong.push(format!(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
             end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
             '{LABEL}')"
        ));
    }
    wrong
}

/// What is wrong with a label that has to begin with a letter.
pub fn label_1035(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 63 {
        // This rule is an older one and counts in other words.
        wrong.push("must be no more than 63 characters".to_owned());
    }
    if !is_label(text) || !text.starts_with(|c: char| c.is_ascii_lowercase()) {
        wrong.push(format!(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '{LABEL_1035}')"
        ));
    }
    wrong
}

fn is_plain(text: &str) -> bool {
    let inside = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let edge = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
    text.bytes().all(inside) && edge(text.bytes().next()) && edge(text.bytes().last())
}

/// What is wrong with a qualified name: a name with or without a domain and a slash before it.
pub fn qualified(text: &str) -> Vec<String> {
    let rule = format!(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
         character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{QUALIFIED}')"
    );
    let parts: Vec<&str> = text.split('/').collect();
    let mut wrong = Vec::new();
    let name = match parts.as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty".to_owned());
            } else {
                wrong.extend(subdomain(prefix).into_iter().map(|wrong| format!("prefix part {wrong}")));
            }
            *name
        }
        _ => {
            wrong.push(format!(
                "a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ));
            return wrong;
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        wrong.push(format!("name part {}", too_long(63)));
    }
    if !is_plain(name) {
        wrong.push(format!("name part {rule}"));
    }
    wrong
}

/// What is wrong with the value of a label.
pub fn label_value(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 63 {
        wrong.push(too_long(63));
    }
    if !text.is_empty() && !is_plain(text) {
        wrong.push(format!(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used \
             for validation is '({QUALIFIED})?')"
        ));
    }
    wrong
}

/// What is wrong with a name that is part of a path.
pub fn path_segment(text: &str, prefix: bool) -> Vec<String> {
    if !prefix && matches!(text, "." | "..") {
        return vec![format!("may not be '{text}'")];
    }
    let holds = ["/", "%"].into_iter().filter(|part| text.contains(part));
    holds.map(|part| format!("may not contain '{part}'")).collect()
}
