//! Formats of strings, with the reasons that the original gives.

mod net;
mod text;
mod time;

use podium_re2::Regex;

/// A format that a schema asks for.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    pub name: &'static str,
    check: fn(&str) -> Result<(), String>,
}

static FORMATS: [Format; 19] = [
    Format { name: "date", check: time::date },
    Format { name: "date-time", check: time::date_time },
    Format { name: "duration", check: time::duration },
    Format { name: "email", check: net::email },
    Format { name: "hostname", check: net::hostname },
    Format { name: "ipv4", check: net::ipv4 },
    Format { name: "ipv6", check: net::ipv6 },
    Format { name: "iri", check: net::uri },
    Format { name: "iri-reference", check: net::uri_reference },
    Format { name: "json-pointer", check: text::json_pointer },
    Format { name: "period", check: time::period },
    Format { name: "regex", check: regex },
    Format { name: "relative-json-pointer", check: text::relative_json_pointer },
    Format { name: "semver", check: text::semver },
    Format { name: "time", check: time::time },
    Format { name: "uri", check: net::uri },
    Format { name: "uri-reference", check: net::uri_reference },
    Format { name: "uri-template", check: net::uri_template },
    Format { name: "uuid", check: text::uuid },
];

impl Format {
    /// The format of a name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        FORMATS.iter().find(|format| format.name == name).copied()
    }

    /// Whether a string is of the format; if not, why.
    pub fn check(&self, text: &str) -> Result<(), String> {
        (self.check)(text)
    }
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

fn regex(text: &str) -> Result<(), String> {
    Regex::new(text).map(|_| ()).map_err(|error| error.to_string())
}

/// Fails with a fixed reason unless the condition holds.
fn ensure(condition: bool, reason: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(reason.to_owned()) }
}

/// The number of digits that a text starts with.
fn leading_digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// A decimal number as `strconv.Atoi` reads it.
fn atoi(text: &str) -> Result<i64, String> {
    let failed = |reason| format!("strconv.Atoi: parsing {}: {reason}", crate::go::quote::double(text));
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(failed("invalid syntax"));
    }
    text.parse().map_err(|_| failed("value out of range"))
}
