//! What calls cost when they run.

use crate::value::Value;

/// Making a list.
pub const LIST: u64 = 10;
/// Making a map.
pub const MAP: u64 = 30;
/// Reading a character.
pub const CHARACTER: f64 = 0.1;
/// Matching with a character of a pattern.
pub const PATTERN: f64 = 0.25;
/// An authorization check: two of them are affordable.
pub const CHECK: u64 = 350_000;

fn size(value: Option<&Value<'_>>) -> u64 {
    value.and_then(Value::size).unwrap_or(1)
}

/// The size, also of what is in an optional value.
fn inner_size(value: Option<&Value<'_>>) -> u64 {
    match value {
        Some(Value::Optional(Some(inner))) => inner_size(Some(inner)),
        other => size(other),
    }
}

fn characters(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}

/// Reading a text with a pattern; the empty text counts as one character.
fn pattern(text: u64, pattern: u64) -> u64 {
    let text = ((1.0 + text as f64) * CHARACTER).ceil() as u64;
    text.saturating_mul((pattern as f64 * PATTERN).ceil() as u64)
}

/// Walking through a whole value.
fn walk(value: &Value<'_>) -> u64 {
    match value {
        Value::String(text) => (text.len() as f64 * CHARACTER) as u64,
        Value::Bytes(bytes) => (bytes.len() as f64 * CHARACTER) as u64,
        Value::List(list) => list.iter().map(|item| walk(&item)).sum(),
        Value::Map(map) => {
            map.keys().iter().map(|key| walk(key) + map.find(key).map_or(0, |value| walk(&value))).sum()
        }
        _ => 1,
    }
}

fn allocating(factor: f64, size: u64) -> u64 {
    ((size as f64 * factor) as u64).saturating_add(1 + LIST)
}

/// Comparing all elements with each other.
fn self_compare(list: Option<&Value<'_>>) -> u64 {
    let count = size(list);
    let first = match list {
        Some(Value::List(list)) => list.get(0),
        _ => None,
    };
    let texts = matches!(first, Some(Value::String(_) | Value::Bytes(_)));
    allocating(if texts { 2.1 } else { 2.0 }, count.saturating_mul(count))
}

/// Where the original cannot count the cost of a failed argument, and gives up.
pub fn stumble(overload: &str, args: &[Value<'_>]) -> Option<&'static str> {
    let failed = |at: usize| args.get(at).is_some_and(Value::is_error);
    let list = "internal error: interface conversion: *types.Err is not traits.Lister: missing method Add";
    let int = "internal error: interface conversion: ref.Val is *types.Err, not types.Int";
    match overload {
        "list_distinct" if failed(0) => Some(list),
        "list_flatten_int" if failed(1) => Some(int),
        _ if overload.ends_with("_sort") && failed(0) => Some(list),
        _ if overload.ends_with("_sortByAssociatedKeys") && failed(1) => Some(list),
        _ => None,
    }
}

/// The cost of a call. Without a result, it is what can be known before.
pub fn call(function: &str, overload: &str, args: &[Value<'_>], result: Option<&Value<'_>>) -> u64 {
    let (first, second) = (args.first(), args.get(1));
    let made = result.map_or(0, |result| size(Some(result)));
    match overload {
        "list_slice" | "lists_range" | "list_reverse" => return allocating(1.0, made),
        "list_flatten" => return allocating(1.0, size(first)),
        "list_flatten_int" => {
            let depth = if let Some(Value::Int(depth)) = second { *depth as f64 } else { 1.0 };
            return allocating(depth, size(first));
        }
        "list_distinct" => return self_compare(first),
        "list_sets_contains_list" | "list_sets_intersects_list" => {
            return size(first).saturating_mul(size(second)).saturating_add(1);
        }
        "list_sets_equivalent_list" => {
            return size(first).saturating_mul(size(second)).saturating_mul(2).saturating_add(1);
        }
        _ if overload.ends_with("_sort") => return self_compare(first),
        _ if overload.ends_with("_sortByAssociatedKeys") => return self_compare(second),
        _ => {}
    }
    if let Some(cost) = of_function(function, overload, args, result) {
        return cost;
    }
    match overload {
        "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string"
        | "strings_quote" | "string_format" => characters(inner_size(first), CHARACTER),
        "in_list" => inner_size(second),
        "less_string"
        | "greater_string"
        | "less_equals_string"
        | "greater_equals_string"
        | "less_bytes"
        | "greater_bytes"
        | "less_equals_bytes"
        | "greater_equals_bytes"
        | "equals"
        | "not_equals" => characters(inner_size(first).min(inner_size(second)), CHARACTER),
        "add_string" | "add_bytes" => characters(inner_size(first) + inner_size(second), CHARACTER),
        "matches_string" => pattern(inner_size(first), inner_size(second)),
        "contains_string" => {
            characters(inner_size(first), CHARACTER).saturating_mul(characters(inner_size(second), CHARACTER))
        }
        _ => 1,
    }
}

/// The cost of the functions that Kubernetes adds.
fn of_function(
    function: &str,
    overload: &str,
    args: &[Value<'_>],
    result: Option<&Value<'_>>,
) -> Option<u64> {
    let (first, second) = (args.first(), args.get(1));
    Some(match function {
        "check" => CHECK,
        "serviceAccount" | "path" | "group" | "resource" | "subresource" | "namespace" | "name"
        | "allowed" | "reason" | "error" | "errored" => 1,
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => first.map_or(0, walk),
        "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "cidr" | "isIP" | "isCIDR"
        | "quantity" | "isQuantity" | "semver" | "isSemver" => characters(size(first), CHARACTER),
        "replace" | "split" | "ip.isCanonical" => characters(size(first), 2.0 * CHARACTER),
        "join" => characters(result.map_or(0, |result| size(Some(result))), 2.0 * CHARACTER),
        "find" | "findAll" if args.len() >= 2 => pattern(size(first), size(second)),
        "ip" if overload == "cidr_ip" => 1,
        "ip" => characters(size(first), CHARACTER),
        "containsIP" if args.len() >= 2 => {
            let parse =
                if overload == "cidr_contains_ip_string" { characters(size(second), CHARACTER) } else { 0 };
            characters(size(first) * 2, CHARACTER) + parse
        }
        "containsCIDR" if args.len() >= 2 => {
            let parse =
                if overload == "cidr_contains_cidr_string" { characters(size(second), CHARACTER) } else { 0 };
            characters(size(first) * 2, CHARACTER) + characters(size(first), CHARACTER) + 1 + parse
        }
        "validate" => match first {
            Some(Value::Format(format)) => pattern(size(second), format.pattern_size),
            _ => return None,
        },
        "masked"
        | "prefixLength"
        | "family"
        | "isUnspecified"
        | "isLoopback"
        | "isLinkLocalMulticast"
        | "isLinkLocalUnicast"
        | "isGlobalUnicast"
        | "format.named"
        | "sign"
        | "asInteger"
        | "isInteger"
        | "asApproximateFloat"
        | "isGreaterThan"
        | "isLessThan"
        | "compareTo"
        | "add"
        | "sub"
        | "major"
        | "minor"
        | "patch"
        | "getScheme"
        | "getHostname"
        | "getHost"
        | "getPort"
        | "getEscapedPath"
        | "getQuery" => 1,
        "_==_" => match first {
            Some(
                Value::Quantity(..)
                | Value::Ip(_)
                | Value::Cidr(..)
                | Value::Format(_)
                | Value::Url(_)
                | Value::Semver(_),
            ) => 1,
            _ => return None,
        },
        _ => return None,
    })
}
