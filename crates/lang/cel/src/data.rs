//! Data of JSON, read as their schema says.

use std::sync::Arc;

use podium_re2::Regex;
use podium_sprig::gotime::{self, Location, Time};
use serde_json::Value as Json;

use crate::list::List;
use crate::map::Map;
use crate::schema::{ListKind, Node};
use crate::value::{Text, Value};

/// The layouts in which moments are written.
const LAYOUTS: [&str; 5] = [
    "2006-01-02T15:04:05.000000Z07:00",
    "2006-01-02T15:04:05.000Z07:00",
    "2006-01-02T15:04:05Z07:00",
    "2006-01-02T15:04:05.999999999Z07:00",
    "2006-01-02T15:04:05",
];

/// The layout of a date.
pub const DATE: &str = "2006-01-02";

/// The units of durations, each with other names; of the last name also words that begin with it.
const UNITS: [(&[&str], i64); 8] = [
    (&["ns", "nano"], 1),
    (&["us", "µs", "micro"], 1_000),
    (&["ms", "milli"], 1_000_000),
    (&["s", "sec"], 1_000_000_000),
    (&["m", "min"], 60_000_000_000),
    (&["h", "hr", "hour"], 3_600_000_000_000),
    (&["d", "day"], 86_400_000_000_000),
    (&["w", "wk", "week"], 604_800_000_000_000),
];

/// Reads data by their schema; what does not fit is a failure.
pub fn read<'a>(json: &'a Json, node: &'a Node) -> Value<'a> {
    if json.is_null() {
        return if node.nullable {
            Value::Null
        } else {
            Value::error("invalid data, got null for schema with nullable=false")
        };
    }
    if !node.int_or_string {
        match (node.kind.as_str(), json) {
            ("object", Json::Object(_)) => return Value::Map(Map::Typed(json, node)),
            ("array", Json::Array(items)) => return list(node, List::typed(items, node)),
            _ => {}
        }
    }
    scalar(Value::from_json(json), node, json)
}

/// Reads a computed value as if it were data.
pub fn reread<'a>(value: Value<'a>, node: &'a Node) -> Value<'a> {
    match (&value, node.kind.as_str()) {
        (Value::Map(map), "object") => match map.as_json() {
            Some(json) => read(json, node),
            None => match map {
                Map::Json(_) => value,
                _ => Value::error("invalid data, expected a map for the provided schema with type=object"),
            },
        },
        (Value::List(list_value), "array") => match list_value.retyped(node) {
            Some(typed) => list(node, typed),
            None => Value::error("invalid data, expected an array for the provided schema with type=array"),
        },
        _ => scalar(value, node, &Json::Null),
    }
}

fn list<'a>(node: &'a Node, typed: List<'a>) -> Value<'a> {
    if node.items.is_none() {
        return Value::error("invalid array type, expected Items with a non-empty Schema");
    }
    match &node.list {
        ListKind::Other(other) => Value::error(format!(
            "invalid x-kubernetes-list-type, expected 'map', 'set' or 'atomic' but got {other}"
        )),
        _ => Value::List(typed),
    }
}

/// How the original names the type of a value that does not fit.
fn native_name(value: &Value<'_>) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Uint(_) => "uint64",
        Value::Double(_) => "float64",
        Value::String(_) => "string",
        Value::Bytes(_) => "[]uint8",
        Value::Duration(_) => "time.Duration",
        Value::Timestamp(_) => "time.Time",
        Value::List(List::Items(_) | List::Joined(..)) => "[]ref.Val",
        Value::List(_) => "[]interface {}",
        Value::Map(Map::Entries(_)) => "map[ref.Val]ref.Val",
        Value::Map(_) => "map[string]interface {}",
        _ => "structpb.NullValue",
    }
}

fn scalar<'a>(value: Value<'a>, node: &Node, json: &'a Json) -> Value<'a> {
    if node.int_or_string {
        return match value {
            Value::String(_) | Value::Int(_) => value,
            _ => Value::error("invalid data, expected XIntOrString value to be either a string or integer"),
        };
    }
    let wrong = |expected: &str| {
        Value::error(format!("invalid data, expected {expected}, got {}", native_name(&value)))
    };
    match (node.kind.as_str(), &value) {
        ("object", _) => {
            Value::error("invalid data, expected a map for the provided schema with type=object")
        }
        ("array", _) => {
            Value::error("invalid data, expected an array for the provided schema with type=array")
        }
        ("string", Value::String(text)) => formatted(text.clone(), &node.format),
        ("string", _) => wrong("string"),
        ("number", Value::Int(int)) => Value::Double(*int as f64),
        ("number", Value::Double(_)) | ("integer", Value::Int(_)) | ("boolean", Value::Bool(_)) => value,
        ("number", _) => wrong("float"),
        ("integer", _) => wrong("int"),
        ("boolean", _) => wrong("bool"),
        _ if node.preserve => Value::Preserved(json),
        (kind, _) => Value::error(format!(
            "invalid type, expected object, array, number, integer, boolean or string, or no type with \
             x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got {kind}"
        )),
    }
}

fn formatted<'a>(text: Text<'a>, format: &str) -> Value<'a> {
    let read = match format {
        "duration" => duration(&text).map(Value::Duration).map_err(|e| ("duration", e)),
        "date" => {
            date(&text).map(|time| Value::Timestamp(Arc::new(time))).map_err(|e| ("date formatted string", e))
        }
        "date-time" => moment(&text)
            .map(|time| Value::Timestamp(Arc::new(time)))
            .map_err(|e| ("date-time formatted string", e)),
        "byte" => {
            let bytes = crate::library::base64::decode(text.as_bytes(), true);
            bytes.map(|bytes| Value::Bytes(bytes.into())).map_err(|e| ("byte formatted string", e))
        }
        _ => return Value::String(text),
    };
    read.unwrap_or_else(|(what, error)| Value::error(format!("Invalid {what} {}: {error}", &*text)))
}

/// Reads a date.
pub fn date(text: &str) -> Result<Time, String> {
    gotime::parse(DATE, text, &Location::UTC).map_err(|error| error.to_string())
}

fn moment(text: &str) -> Result<Time, String> {
    if text.is_empty() {
        return Ok(Time::from_unix(0, 0, Location::UTC));
    }
    let mut last = String::new();
    for layout in LAYOUTS {
        match gotime::parse(layout, text, &Location::UTC) {
            Ok(time) => return Ok(time),
            Err(error) => last = error.to_string(),
        }
    }
    Err(last)
}

/// Reads a duration, also one with long names of units.
pub fn duration(text: &str) -> Result<i64, String> {
    if let Ok(duration) = gotime::Duration::parse(text) {
        return Ok(duration.nanoseconds());
    }
    let unable = || format!("unable to parse {text} as duration");
    let Ok(pattern) = Regex::new(r"((\d+)\s*([A-Za-zµ]+))") else { return Err(unable()) };
    let mut sum = 0_i64;
    let mut found = false;
    for captures in pattern.captures_all(text.as_bytes(), -1) {
        let part = |group| String::from_utf8_lossy(captures.get(group).unwrap_or_default()).into_owned();
        let digits = part(2);
        let number: i64 =
            digits.parse().map_err(|_| format!("strconv.Atoi: parsing \"{digits}\": value out of range"))?;
        let unit = part(3).to_lowercase();
        for (names, length) in UNITS {
            let last = names.last().copied().unwrap_or_default();
            let times =
                names.iter().filter(|name| unit == **name || (**name == last && unit.starts_with(last)));
            for _ in times {
                found = true;
                sum = sum.wrapping_add(number.wrapping_mul(length));
            }
        }
    }
    if found { Ok(sum) } else { Err(unable()) }
}
