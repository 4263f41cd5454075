//! Semantic versions.

use std::cmp::Ordering;
use std::sync::Arc;

use podium_versions::blang::Version;

use super::Native;
use crate::value::{NO_OVERLOAD, Value};

/// A version as text.
pub fn text(version: &Version) -> String {
    version.to_string()
}

/// Reads a version; a normalized one may begin with `v`, have zeros in front and miss numbers.
fn parse(text: &str, normalize: bool) -> Result<Version, String> {
    if !normalize {
        return Version::parse(text).map_err(|error| error.to_string());
    }
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text
        .splitn(3, '.')
        .map(|part| {
            let trimmed = part.trim_start_matches('0');
            match trimmed.chars().next() {
                _ if part.len() <= 1 => part.to_owned(),
                Some('0'..='9') => trimmed.to_owned(),
                _ => format!("0{trimmed}"),
            }
        })
        .collect();
    if parts.len() < 3 {
        if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err("short version cannot contain PreRelease/Build meta data".to_owned());
        }
        parts.resize(3, "0".to_owned());
    }
    Version::parse(parts.join(".")).map_err(|error| error.to_string())
}

fn read(args: &[Value<'_>]) -> Result<Version, String> {
    let text = args.first().and_then(Value::as_str).unwrap_or_default();
    parse(text, matches!(args.get(1), Some(Value::Bool(true))))
}

fn number<'a>(args: &[Value<'a>], make: fn(&Version) -> u64) -> Value<'a> {
    match args.first() {
        Some(Value::Semver(version)) => Value::Int(make(version) as i64),
        _ => Value::error(NO_OVERLOAD),
    }
}

fn compare<'a>(args: &[Value<'a>], make: fn(Ordering) -> Value<'a>) -> Value<'a> {
    match args {
        [Value::Semver(one), Value::Semver(two)] => make(one.compare(two)),
        _ => Value::error(NO_OVERLOAD),
    }
}

/// The function of an overload.
pub fn native(id: &str) -> Option<Native> {
    Some(match id {
        "string_to_semver" | "string_bool_to_semver" => {
            |args| read(args).map_or_else(Value::error, |version| Value::Semver(Arc::new(version)))
        }
        "is_semver_string" | "is_semver_string_bool" => |args| Value::Bool(read(args).is_ok()),
        "semver_major" => |args| number(args, |version| version.major),
        "semver_minor" => |args| number(args, |version| version.minor),
        "semver_patch" => |args| number(args, |version| version.patch),
        "semver_is_greater_than" => |args| compare(args, |order| Value::Bool(order.is_gt())),
        "semver_is_less_than" => |args| compare(args, |order| Value::Bool(order.is_lt())),
        "semver_compare_to" => |args| compare(args, |order| Value::Int(order as i64)),
        _ => return None,
    })
}
