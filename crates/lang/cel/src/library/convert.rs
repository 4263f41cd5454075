//! Values of one type as values of another.

use std::sync::Arc;

use podium_gotmpl::fmt::format_float_verb;
use podium_sprig::gotime::{self, Location, Time};

use super::operators::{FIRST_SECOND, LAST_SECOND};
use super::{Native, general, net};
use crate::value::Value;

const INT: &str = "integer overflow";
const UINT: &str = "unsigned integer overflow";
/// How moments are written.
pub const RFC3339: &str = "2006-01-02T15:04:05Z07:00";
const RFC3339_NANO: &str = "2006-01-02T15:04:05.999999999Z07:00";
const TWO_63: f64 = 9_223_372_036_854_775_808.0;
const TWO_64: f64 = 18_446_744_073_709_551_616.0;

fn failed<'a>(value: &Value<'a>, to: &str) -> Value<'a> {
    Value::error(format!("type conversion error from '{}' to '{to}'", value.shown_type()))
}

fn one<'a>(args: &[Value<'a>], to: &str, convert: fn(&Value<'a>) -> Option<Value<'a>>) -> Value<'a> {
    let Some(value) = args.first() else { return Value::error(crate::value::NO_OVERLOAD) };
    convert(value).unwrap_or_else(|| failed(value, to))
}

/// A floating point number as the original reads it.
pub fn double(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let negative = text.starts_with('-');
    match unsigned.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => return Some(if negative { f64::NEG_INFINITY } else { f64::INFINITY }),
        "nan" if text == unsigned => return Some(f64::NAN),
        "nan" => return None,
        _ => {}
    }
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}

fn int(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// A moment of a text.
pub fn timestamp(text: &str) -> Option<Value<'static>> {
    let time = gotime::parse(RFC3339, text, &Location::UTC).ok()?;
    Some(checked(time.unix(), |_| time))
}

fn checked<'a>(second: i64, make: impl FnOnce(i64) -> Time) -> Value<'a> {
    if (FIRST_SECOND..=LAST_SECOND).contains(&second) {
        Value::Timestamp(Arc::new(make(second)))
    } else {
        Value::error("timestamp overflow")
    }
}

/// A value as text.
pub fn string<'a>(value: &Value<'a>) -> Option<Value<'a>> {
    Some(match value {
        Value::String(_) => value.clone(),
        Value::Bool(flag) => Value::text(flag.to_string()),
        Value::Int(int) => Value::text(int.to_string()),
        Value::Uint(uint) => Value::text(uint.to_string()),
        Value::Double(double) => Value::text(general(*double)),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Value::text(text),
            Err(_) => Value::error("invalid UTF-8 in bytes, cannot convert to string"),
        },
        Value::Duration(nanoseconds) => {
            let seconds = gotime::Duration(*nanoseconds).seconds();
            Value::text(format!("{}s", format_float_verb(seconds, b'f', -1)))
        }
        Value::Timestamp(time) => {
            Value::text(String::from_utf8_lossy(&time.format(RFC3339_NANO)).into_owned())
        }
        Value::Type(name) => Value::text(name.clone()),
        Value::Ip(ip) => Value::text(net::address(ip)),
        Value::Cidr(ip, bits) => Value::text(format!("{}/{bits}", net::address(ip))),
        Value::Null => Value::text("null"),
        _ => return None,
    })
}

/// The conversion of an overload.
pub fn native(id: &str) -> Option<Native> {
    Some(match id {
        "bool_to_bool"
        | "bytes_to_bytes"
        | "double_to_double"
        | "duration_to_duration"
        | "int64_to_int64"
        | "string_to_string"
        | "timestamp_to_timestamp"
        | "uint64_to_uint64" => |args| args.first().cloned().unwrap_or(Value::Null),
        "string_to_bool" => |args| {
            one(args, "bool", |value| match value.as_str()? {
                "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(Value::Bool(true)),
                "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(Value::Bool(false)),
                _ => None,
            })
        },
        "string_to_bytes" => {
            |args| one(args, "bytes", |value| Some(Value::Bytes(value.as_str()?.as_bytes().into())))
        }
        "int64_to_double" | "uint64_to_double" | "string_to_double" => |args| {
            one(args, "double", |value| match value {
                Value::Int(int) => Some(Value::Double(*int as f64)),
                Value::Uint(uint) => Some(Value::Double(*uint as f64)),
                other => double(other.as_str()?).map(Value::Double),
            })
        },
        "int64_to_duration" | "string_to_duration" => |args| {
            one(args, "google.protobuf.Duration", |value| {
                gotime::Duration::parse(value.as_str()?).ok().map(|d| Value::Duration(d.nanoseconds()))
            })
        },
        "double_to_int64" | "duration_to_int64" | "string_to_int64" | "timestamp_to_int64"
        | "uint64_to_int64" => |args| {
            one(args, "int", |value| match value {
                Value::Double(double) if *double > -TWO_63 && *double < TWO_63 => {
                    Some(Value::Int(*double as i64))
                }
                Value::Double(_) => Some(Value::error(INT)),
                Value::Duration(nanoseconds) => Some(Value::Int(*nanoseconds)),
                Value::Timestamp(time) => Some(Value::Int(time.unix())),
                Value::Uint(uint) => {
                    Some(i64::try_from(*uint).map_or_else(|_| Value::error(INT), Value::Int))
                }
                other => int(other.as_str()?).map(Value::Int),
            })
        },
        "bool_to_string"
        | "bytes_to_string"
        | "double_to_string"
        | "duration_to_string"
        | "int64_to_string"
        | "timestamp_to_string"
        | "uint64_to_string"
        | "ip_to_string"
        | "cidr_to_string" => |args| one(args, "string", string),
        "int64_to_timestamp" | "string_to_timestamp" => |args| {
            one(args, "google.protobuf.Timestamp", |value| match value {
                Value::Int(int) => Some(checked(*int, |second| Time::from_unix(second, 0, Location::UTC))),
                other => timestamp(other.as_str()?),
            })
        },
        "double_to_uint64" | "int64_to_uint64" | "string_to_uint64" => |args| {
            one(args, "uint", |value| match value {
                Value::Double(double) if *double >= 0.0 && *double < TWO_64 => {
                    Some(Value::Uint(*double as u64))
                }
                Value::Double(_) => Some(Value::error(UINT)),
                Value::Int(int) => Some(u64::try_from(*int).map_or_else(|_| Value::error(UINT), Value::Uint)),
                other => {
                    let text = other.as_str().filter(|text| !text.starts_with('+'))?;
                    text.parse().ok().map(Value::Uint)
                }
            })
        },
        _ => return None,
    })
}
