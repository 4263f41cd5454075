//! What stands behind the question mark, and the options that requests are made with.

use podium_meta::{ErrorType, FieldError};
use serde_json::Value;

use crate::refusal::{Outcome, Refusal};

/// The parameters of a request, decoded, in their order.
#[derive(Debug, Clone, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads what stands behind the question mark; parts that make no sense are left out.
    pub fn parse(text: &str) -> Self {
        let part = |part: &str| {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            Some((decode(key, true)?, decode(value, true)?))
        };
        Self(text.split('&').filter(|part| !part.is_empty()).filter_map(part).collect())
    }

    /// The first value of a parameter; empty if there is none.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// All parameters, in their order.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    /// All values of a parameter.
    pub fn all<'q>(&'q self, name: &'q str) -> impl Iterator<Item = &'q str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether a parameter is there.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// A truth value as the server reads it in parameters: everything is true but a few words.
    pub fn truth(&self, name: &str) -> Option<bool> {
        self.has(name).then(|| !matches!(self.get(name).to_ascii_lowercase().as_str(), "false" | "0"))
    }

    /// A whole number.
    pub fn number(&self, name: &str) -> Outcome<Option<i64>> {
        let text = self.get(name);
        if text.is_empty() {
            return Ok(None);
        }
        text.parse()
            .map(Some)
            .map_err(|_| Refusal::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax")))
    }
}

/// Decodes a part of an address; nothing when it is not well formed.
pub fn decode(text: &str, plus: bool) -> Option<String> {
    if !text.contains(['%', '+']) {
        return Some(text.to_owned());
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' if plus => out.push(b' '),
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
                out.push(u8::try_from(high * 16 + low).ok()?);
            }
            byte => out.push(byte),
        }
    }
    String::from_utf8(out).ok()
}

/// How strictly a body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Unknown fields are dropped in silence.
    Ignore,
    /// Unknown fields are dropped with a warning.
    Warn,
    /// Unknown fields are refused.
    Strict,
}

/// The options of a write.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// Nothing is stored.
    pub dry_run: bool,
    /// Who writes.
    pub manager: String,
    /// How strictly the body is read.
    pub strictness: Strictness,
    /// An applied configuration takes fields from others.
    pub force: Option<bool>,
}

/// Media types of patches, by what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchType {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// Kubernetes' own.
    Strategic,
    /// A configuration.
    Apply,
}

impl WriteOptions {
    /// Reads the options of a write; `kind` is the name of the options in errors.
    pub fn read(query: &Query, kind: &str, agent: &str, patch: Option<PatchType>) -> Outcome<Self> {
        let mut flaws = Vec::new();
        let dry: Vec<&str> = query.all("dryRun").collect();
        let field = query.get("fieldManager");
        if patch == Some(PatchType::Apply) {
            if field.is_empty() {
                flaws.push(FieldError::required("fieldManager", "is required for apply patch"));
            }
        } else if patch.is_some() && query.has("force") {
            flaws.push(FieldError::forbidden("force", "may not be specified for non-apply patch"));
        }
        manager_flaws(field, &mut flaws);
        let dry_run = dry_run(&dry, &mut flaws);
        let strictness = match query.get("fieldValidation") {
            "Ignore" => Strictness::Ignore,
            "" | "Warn" => Strictness::Warn,
            "Strict" => Strictness::Strict,
            other => {
                flaws.push(unsupported("fieldValidation", other, &["", "Ignore", "Strict", "Warn"]));
                Strictness::Warn
            }
        };
        if !flaws.is_empty() {
            return Err(Refusal::invalid("meta.k8s.io", kind, "", &flaws));
        }
        Ok(Self { dry_run, manager: manager(field, agent), strictness, force: query.truth("force") })
    }
}

/// Whether a write is only tried; the only word for it is `All`.
pub fn dry_run(words: &[&str], flaws: &mut Vec<FieldError>) -> bool {
    if let Some(other) = words.iter().find(|word| **word != "All") {
        let shown: Vec<Value> = words.iter().map(|word| Value::from(*word)).collect();
        let _ = other;
        let shown = Value::Array(shown).to_string();
        flaws.push(FieldError::new(ErrorType::NotSupported, "dryRun", &shown, "supported values: \"All\""));
    }
    !words.is_empty()
}

/// A value that is not one of a few.
pub fn unsupported(field: &str, value: &str, supported: &[&str]) -> FieldError {
    let words: Vec<String> = supported.iter().map(|word| format!("{word:?}")).collect();
    let detail = format!("supported values: {}", words.join(", "));
    FieldError::with_value(ErrorType::NotSupported, field, &value.into(), &detail)
}

const LONGEST_MANAGER: usize = 128;

fn manager_flaws(manager: &str, flaws: &mut Vec<FieldError>) {
    if manager.len() > LONGEST_MANAGER {
        let detail = format!("may not be more than {LONGEST_MANAGER} bytes");
        flaws.push(FieldError::without_value(ErrorType::TooLong, "fieldManager", &detail));
    }
    for (at, letter) in manager.char_indices() {
        if letter.is_control() {
            let detail = format!("invalid character U+{:04X} (at position {at})", u32::from(letter));
            flaws.push(FieldError::invalid("fieldManager", &manager.into(), &detail));
            return;
        }
    }
}

/// Who writes: what the parameter says, or the first part of the client's name.
fn manager(given: &str, agent: &str) -> String {
    if !given.is_empty() {
        return given.to_owned();
    }
    let first = agent.split('/').next().unwrap_or_default();
    first.chars().filter(|letter| !letter.is_control()).take(LONGEST_MANAGER).collect()
}

/// Why a text is no duration as Go writes them, in its words.
pub fn wrong_duration(text: &str) -> Option<String> {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let invalid = || Some(format!("time: invalid duration {text:?}"));
    if rest == "0" {
        return None;
    }
    if rest.is_empty() {
        return invalid();
    }
    while !rest.is_empty() {
        let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let after = number.strip_prefix('.').unwrap_or(number);
        let unit = after.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = (rest.len() - number.len()) + (after.len() - unit.len());
        if digits == 0 {
            return invalid();
        }
        rest = unit.trim_start_matches(|c: char| c != '.' && !c.is_ascii_digit());
        match unit.get(..unit.len() - rest.len()).unwrap_or_default() {
            "" => return Some(format!("time: missing unit in duration {text:?}")),
            "ns" | "us" | "µs" | "μs" | "ms" | "s" | "m" | "h" => {}
            other => return Some(format!("time: unknown unit {other:?} in duration {text:?}")),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read_as_browsers_write_them() {
        let query = Query::parse("&limit=500&labelSelector=a%3Db%2Cc+in+%28d%29&x&bad=%zz");
        assert_eq!(query.get("limit"), "500");
        assert_eq!(query.get("labelSelector"), "a=b,c in (d)");
        assert!(query.has("x") && !query.has("bad"));
        assert_eq!(query.number("limit").unwrap(), Some(500));
        assert!(Query::parse("limit=x").number("limit").is_err());
    }

    #[test]
    fn the_manager_is_the_parameter_or_the_clients_name() {
        let of = |text: &str, agent: &str| {
            WriteOptions::read(&Query::parse(text), "CreateOptions", agent, None).unwrap().manager
        };
        assert_eq!(of("fieldManager=helm", "kubectl/v1"), "helm");
        assert_eq!(of("", "kubectl/v1.36 (linux)"), "kubectl");
    }

    #[test]
    fn bad_options_are_refused_in_the_servers_words() {
        let refused = |text: &str, patch| {
            WriteOptions::read(&Query::parse(text), "PatchOptions", "", patch).unwrap_err().message
        };
        assert_eq!(
            refused("dryRun=x", None),
            "PatchOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"x\"]: supported values: \"All\""
        );
        assert_eq!(
            refused("", Some(PatchType::Apply)),
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch"
        );
    }

    #[test]
    fn durations_are_refused_in_gos_words() {
        for good in ["0", "1h", "-1s", "1.5h30m", ".5s", "10µs"] {
            assert_eq!(wrong_duration(good), None, "{good}");
        }
        for (bad, why) in [
            ("x", "time: invalid duration \"x\""),
            (".s", "time: invalid duration \".s\""),
            ("32", "time: missing unit in duration \"32\""),
            ("1q", "time: unknown unit \"q\" in duration \"1q\""),
        ] {
            assert_eq!(wrong_duration(bad).as_deref(), Some(why));
        }
    }
}
