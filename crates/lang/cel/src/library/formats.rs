//! Formats with names.

use podium_jsonschema::go::url;
use podium_re2::Regex;

use super::Native;
use crate::data;
use crate::value::{NO_OVERLOAD, Value};

/// A format: what it is called, and how texts are judged by it.
#[derive(Debug)]
pub struct NamedFormat {
    /// Its name.
    pub name: &'static str,
    /// The size that the cost of a check goes by.
    pub pattern_size: u64,
    known_as: &'static str,
    check: fn(&str) -> Vec<String>,
}

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const UUID: &str = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
const TIME: &str = "^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$";
const BASE64: &str =
    "^(?:[A-Za-z0-9+\\/]{4})*(?:[A-Za-z0-9+\\/]{2}==|[A-Za-z0-9+\\/]{3}=|[A-Za-z0-9+\\/]{4})$";

const KEY_PROBLEM: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                           alphanumeric character";

/// Whether a whole text matches.
fn whole(pattern: &str, text: &str) -> bool {
    matches(&format!("^{pattern}$"), text)
}

fn matches(pattern: &str, text: &str) -> bool {
    Regex::new(pattern).is_ok_and(|regex| regex.is_match(text))
}

fn problem(message: &str, pattern: &str, examples: &[&str]) -> String {
    let examples = examples.iter().map(|example| format!("'{example}', ")).collect::<Vec<_>>().join(" or ");
    format!("{message} (e.g. {examples}regex used for validation is '{pattern}')")
}

fn too_long(most: usize, unit: &str) -> String {
    format!("must be no more than {most} {unit}")
}

fn label(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if text.len() > 63 {
        found.push(too_long(63, "characters"));
    }
    if !whole(LABEL, text) {
        found.push(if whole(SUBDOMAIN, text) {
            "must not contain dots".to_owned()
        } else {
            let message = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and \
                           must start and end with an alphanumeric character";
            problem(message, LABEL, &["my-name", "123-abc"])
        });
    }
    found
}

fn subdomain_in(text: &str, unit: &str) -> Vec<String> {
    let mut found = Vec::new();
    if text.len() > 253 {
        found.push(too_long(253, unit));
    }
    if !whole(SUBDOMAIN, text) {
        let message = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
                       and must start and end with an alphanumeric character";
        found.push(problem(message, SUBDOMAIN, &["example.com"]));
    }
    found
}

fn subdomain(text: &str) -> Vec<String> {
    subdomain_in(text, "characters")
}

fn label_1035(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if text.len() > 63 {
        found.push(too_long(63, "characters"));
    }
    if !whole(LABEL_1035, text) {
        let message = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
                       alphabetic character, and end with an alphanumeric character";
        found.push(problem(message, LABEL_1035, &["my-name", "abc-123"]));
    }
    found
}

/// The dash that a prefix may end in counts as a letter.
fn prefix(text: &str, check: fn(&str) -> Vec<String>) -> Vec<String> {
    if text.len() > 1 && text.ends_with('-') {
        let kept = text.get(..text.len() - 2).unwrap_or_default();
        return check(&format!("{kept}a"));
    }
    check(text)
}

fn qualified(text: &str) -> Vec<String> {
    let examples = ["MyName", "my.name", "123-abc"];
    let parts: Vec<&str> = text.split('/').collect();
    let mut found = Vec::new();
    let name = match parts.as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                found.push("prefix part must be non-empty".to_owned());
            } else {
                found.extend(
                    subdomain_in(prefix, "bytes").into_iter().map(|one| format!("prefix part {one}")),
                );
            }
            *name
        }
        _ => {
            let problem = problem(KEY_PROBLEM, KEY, &examples);
            return vec![format!(
                "a valid label key {problem} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        found.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        found.push(format!("name part {}", too_long(63, "bytes")));
    }
    if !whole(KEY, name) {
        found.push(format!("name part {}", problem(KEY_PROBLEM, KEY, &examples)));
    }
    found
}

fn label_value(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if text.len() > 63 {
        found.push(too_long(63, "bytes"));
    }
    if !whole(LABEL_VALUE, text) {
        let message = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
                       and must start and end with an alphanumeric character";
        found.push(problem(message, LABEL_VALUE, &["MyValue", "my_value", "12345"]));
    }
    found
}

fn unless(good: bool, problem: &str) -> Vec<String> {
    if good { Vec::new() } else { vec![problem.to_owned()] }
}

/// A date, `T`, and a time of day with a zone.
fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    if text.len() < 4 || data::date(date).is_err() || !matches(TIME, time) {
        return false;
    }
    let part = |at: usize| time.get(at..at + 2).unwrap_or_default();
    part(0) <= "23" && part(3) <= "59" && part(6) <= "59"
}

static FORMATS: [NamedFormat; 13] = [
    NamedFormat { name: "DNS1123Label", known_as: "dns1123Label", pattern_size: 30, check: label },
    NamedFormat {
        name: "DNS1123Subdomain",
        known_as: "dns1123Subdomain",
        pattern_size: 60,
        check: subdomain,
    },
    NamedFormat { name: "DNS1035Label", known_as: "dns1035Label", pattern_size: 30, check: label_1035 },
    NamedFormat { name: "QualifiedName", known_as: "qualifiedName", pattern_size: 60, check: qualified },
    NamedFormat {
        name: "DNS1123LabelPrefix",
        known_as: "dns1123LabelPrefix",
        pattern_size: 30,
        check: |text| prefix(text, label),
    },
    NamedFormat {
        name: "DNS1123SubdomainPrefix",
        known_as: "dns1123SubdomainPrefix",
        pattern_size: 60,
        check: |text| prefix(text, subdomain),
    },
    NamedFormat {
        name: "DNS1035LabelPrefix",
        known_as: "dns1035LabelPrefix",
        pattern_size: 30,
        check: |text| prefix(text, label_1035),
    },
    NamedFormat { name: "LabelValue", known_as: "labelValue", pattern_size: 40, check: label_value },
    NamedFormat {
        name: "URI",
        known_as: "uri",
        pattern_size: 1103,
        check: |text| url::parse_request(text).err().into_iter().collect(),
    },
    NamedFormat {
        name: "uuid",
        known_as: "uuid",
        pattern_size: UUID.len() as u64,
        check: |text| unless(matches(UUID, text), "does not match the UUID format"),
    },
    NamedFormat {
        name: "byte",
        known_as: "byte",
        pattern_size: 84,
        check: |text| unless(matches(BASE64, text), "invalid base64"),
    },
    NamedFormat {
        name: "date",
        known_as: "date",
        pattern_size: TIME.len() as u64,
        check: |text| unless(data::date(text).is_ok(), "invalid date"),
    },
    NamedFormat {
        name: "datetime",
        known_as: "datetime",
        pattern_size: TIME.len() as u64,
        check: |text| unless(is_date_time(text), "invalid datetime"),
    },
];

fn named<'a>(name: &str) -> Option<Value<'a>> {
    FORMATS.iter().find(|format| format.known_as == name).map(Value::Format)
}

macro_rules! constants {
    ($id:expr, $($name:literal)*) => {
        match $id {
            $(concat!("format.", $name) => Some((|_| named($name).unwrap_or(Value::Null)) as Native),)*
            _ => None,
        }
    };
}

/// The function of an overload.
pub fn native(id: &str) -> Option<Native> {
    Some(match id {
        "format-validate" => |args| match args {
            [Value::Format(format), Value::String(text)] => match (format.check)(text) {
                found if found.is_empty() => Value::Optional(None),
                found => Value::some(Value::texts(found)),
            },
            _ => Value::error(NO_OVERLOAD),
        },
        "format-named" => |args| {
            let found = args.first().and_then(Value::as_str).and_then(named);
            Value::Optional(found.map(std::sync::Arc::new))
        },
        _ => {
            return constants!(id, "dns1123Label" "dns1123Subdomain" "dns1035Label" "qualifiedName"
                "dns1123LabelPrefix" "dns1123SubdomainPrefix" "dns1035LabelPrefix" "labelValue" "uri" "uuid" "byte"
                "date" "datetime");
        }
    })
}
