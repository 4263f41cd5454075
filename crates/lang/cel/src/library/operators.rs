//! Operators, sizes, and optional values.

use std::cmp::Ordering;
use std::sync::Arc;

use podium_sprig::gotime::Time;

use super::{LARGEST, Native, TOO_LARGE};
use crate::value::{NO_OVERLOAD, Value};

const INT: &str = "integer overflow";
const UINT: &str = "unsigned integer overflow";
/// The seconds of the first and the last moment that there is.
pub const FIRST_SECOND: i64 = -62_135_596_800;
pub const LAST_SECOND: i64 = 253_402_300_799;
const BILLION: i64 = 1_000_000_000;

/// The functions that look at their arguments themselves.
pub fn singleton(name: &str) -> Option<Native> {
    Some(match name {
        "!_" => |args| match args {
            [Value::Bool(flag)] => Value::Bool(!flag),
            [other, ..] => other.no_overload(),
            [] => Value::error(NO_OVERLOAD),
        },
        "-_" => negate,
        "_+_" => |args| binary(args, "_+_", add),
        "_-_" => |args| binary(args, "_-_", subtract),
        "_*_" => |args| binary(args, "_*_", multiply),
        "_/_" => |args| binary(args, "_/_", divide),
        "_%_" => |args| binary(args, "_%_", modulo),
        "_<_" => |args| compared(args, "_<_", Ordering::is_lt),
        "_<=_" => |args| compared(args, "_<=_", Ordering::is_le),
        "_>_" => |args| compared(args, "_>_", Ordering::is_gt),
        "_>=_" => |args| compared(args, "_>=_", Ordering::is_ge),
        "@in" => |args| match args {
            [value, Value::List(list)] => list.contains(value),
            [value, Value::Map(map)] => map.contains(value),
            [_, other] => other.no_overload(),
            _ => Value::error(NO_OVERLOAD),
        },
        "size" => |args| match args {
            [value @ (Value::String(_) | Value::Bytes(_) | Value::List(_) | Value::Map(_))] => {
                Value::Int(value.size().unwrap_or(0) as i64)
            }
            [value] => without_trait(value, "size"),
            _ => Value::error(NO_OVERLOAD),
        },
        "type" => |args| match args {
            [value] => Value::Type(value.type_name().into()),
            _ => Value::error(NO_OVERLOAD),
        },
        "dyn" => |args| args.first().cloned().unwrap_or(Value::error(NO_OVERLOAD)),
        "matches" => super::strings::matches,
        _ => return None,
    })
}

/// The failure of a value that cannot do what a function needs.
pub fn without_trait<'a>(value: &Value<'a>, name: &str) -> Value<'a> {
    match value {
        // These would have looked for the function themselves.
        Value::String(_) | Value::Duration(_) | Value::Timestamp(_) => Value::error(NO_OVERLOAD),
        _ => Value::error(format!("no such overload: {name}")),
    }
}

/// Whether a failure counts.
pub fn not_strictly_false<'a>(args: &[Value<'a>]) -> Value<'a> {
    match args.first() {
        Some(Value::Bool(flag)) => Value::Bool(*flag),
        _ => Value::Bool(true),
    }
}

/// What an operator makes of two values; nothing if the first cannot do it at all.
type Operation = for<'a> fn(&Value<'a>, &Value<'a>) -> Option<Value<'a>>;

fn binary<'a>(args: &[Value<'a>], name: &str, operation: Operation) -> Value<'a> {
    let [one, two] = args else { return Value::error(NO_OVERLOAD) };
    operation(one, two).unwrap_or_else(|| without_trait(one, name))
}

fn compared<'a>(args: &[Value<'a>], name: &str, test: fn(Ordering) -> bool) -> Value<'a> {
    let [one, two] = args else { return Value::error(NO_OVERLOAD) };
    if !one.is_comparable() {
        return without_trait(one, name);
    }
    one.compare(two).map_or_else(|failure| failure, |order| Value::Bool(test(order)))
}

fn int<'a>(result: Option<i64>) -> Option<Value<'a>> {
    Some(result.map_or_else(|| Value::error(INT), Value::Int))
}

fn uint<'a>(result: Option<u64>) -> Option<Value<'a>> {
    Some(result.map_or_else(|| Value::error(UINT), Value::Uint))
}

fn duration<'a>(result: Option<i64>) -> Option<Value<'a>> {
    Some(result.map_or_else(|| Value::error(INT), Value::Duration))
}

fn negate<'a>(args: &[Value<'a>]) -> Value<'a> {
    match args {
        [Value::Int(int)] => int.checked_neg().map_or_else(|| Value::error(INT), Value::Int),
        [Value::Double(double)] => Value::Double(-double),
        [Value::Duration(d)] => d.checked_neg().map_or_else(|| Value::error(INT), Value::Duration),
        [Value::Bool(_)] => Value::error(NO_OVERLOAD),
        [other, ..] => without_trait(other, "-_"),
        [] => Value::error(NO_OVERLOAD),
    }
}

fn add<'a>(one: &Value<'a>, two: &Value<'a>) -> Option<Value<'a>> {
    match (one, two) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_add(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_add(*b)),
        (Value::Double(a), Value::Double(b)) => Some(Value::Double(a + b)),
        (Value::String(a), Value::String(b)) => Some(if a.len() + b.len() > LARGEST {
            Value::error(TOO_LARGE)
        } else {
            Value::text([&**a, &**b].concat())
        }),
        (Value::Bytes(a), Value::Bytes(b)) => Some(if a.len() + b.len() > LARGEST {
            Value::error(TOO_LARGE)
        } else {
            Value::Bytes([&**a, &**b].concat().into())
        }),
        (Value::List(a), Value::List(b)) => Some(Value::List(a.add(b))),
        (Value::Duration(a), Value::Duration(b)) => duration(a.checked_add(*b)),
        (Value::Duration(d), Value::Timestamp(t)) | (Value::Timestamp(t), Value::Duration(d)) => {
            Some(moved(t, *d))
        }
        (
            Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::String(_)
            | Value::Bytes(_)
            | Value::List(_)
            | Value::Duration(_)
            | Value::Timestamp(_),
            other,
        ) => Some(other.no_overload()),
        _ => None,
    }
}

/// A moment so much later.
fn moved<'a>(time: &Time, nanoseconds: i64) -> Value<'a> {
    let sum = i64::from(time.nanosecond()) + nanoseconds % BILLION;
    let seconds =
        time.unix().checked_add(nanoseconds / BILLION).and_then(|s| s.checked_add(sum.div_euclid(BILLION)));
    match seconds {
        None => Value::error(INT),
        Some(seconds) if !(FIRST_SECOND..=LAST_SECOND).contains(&seconds) => {
            Value::error("timestamp overflow")
        }
        Some(seconds) => {
            let moved = Time::from_unix(seconds, sum.rem_euclid(BILLION), time.location().clone());
            Value::Timestamp(Arc::new(moved))
        }
    }
}

fn subtract<'a>(one: &Value<'a>, two: &Value<'a>) -> Option<Value<'a>> {
    match (one, two) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_sub(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_sub(*b)),
        (Value::Double(a), Value::Double(b)) => Some(Value::Double(a - b)),
        (Value::Duration(a), Value::Duration(b)) => duration(a.checked_sub(*b)),
        (Value::Timestamp(t), Value::Duration(d)) => {
            Some(d.checked_neg().map_or_else(|| Value::error(INT), |back| moved(t, back)))
        }
        (Value::Timestamp(a), Value::Timestamp(b)) => {
            let seconds = a.unix().checked_sub(b.unix()).and_then(|seconds| seconds.checked_mul(BILLION));
            let rest = i64::from(a.nanosecond()) - i64::from(b.nanosecond());
            duration(seconds.and_then(|seconds| seconds.checked_add(rest)))
        }
        (
            Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Duration(_) | Value::Timestamp(_),
            other,
        ) => Some(other.no_overload()),
        _ => None,
    }
}

fn multiply<'a>(one: &Value<'a>, two: &Value<'a>) -> Option<Value<'a>> {
    match (one, two) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_mul(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_mul(*b)),
        (Value::Double(a), Value::Double(b)) => Some(Value::Double(a * b)),
        (Value::Int(_) | Value::Uint(_) | Value::Double(_), other) => Some(other.no_overload()),
        _ => None,
    }
}

fn divide<'a>(one: &Value<'a>, two: &Value<'a>) -> Option<Value<'a>> {
    match (one, two) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
            Some(Value::error("division by zero"))
        }
        (Value::Int(a), Value::Int(b)) => int(a.checked_div(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_div(*b)),
        (Value::Double(a), Value::Double(b)) => Some(Value::Double(a / b)),
        (Value::Int(_) | Value::Uint(_) | Value::Double(_), other) => Some(other.no_overload()),
        _ => None,
    }
}

fn modulo<'a>(one: &Value<'a>, two: &Value<'a>) -> Option<Value<'a>> {
    match (one, two) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
            Some(Value::error("modulus by zero"))
        }
        (Value::Int(a), Value::Int(b)) => int(a.checked_rem(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_rem(*b)),
        (Value::Int(_) | Value::Uint(_), other) => Some(other.no_overload()),
        _ => None,
    }
}

/// Whether a value is the zero of its type.
fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Int(int) => *int == 0,
        Value::Uint(uint) => *uint == 0,
        Value::Double(double) => *double == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::Duration(d) => *d == 0,
        Value::Timestamp(time) => time.is_zero(),
        // Lists and maps with a schema do not know.
        Value::List(list) => !matches!(list, crate::list::List::Typed(_)) && list.is_empty(),
        Value::Map(map) => !matches!(map, crate::map::Map::Typed(..)) && map.is_empty(),
        _ => false,
    }
}

/// The functions of optional values.
pub fn native(id: &str) -> Option<Native> {
    Some(match id {
        "optional_of" => {
            |args| args.first().map_or(Value::Optional(None), |value| Value::some(value.clone()))
        }
        "optional_ofNonZeroValue" => |args| match args.first() {
            Some(value) if !is_zero(value) => Value::some(value.clone()),
            _ => Value::Optional(None),
        },
        "optional_none" => |_| Value::Optional(None),
        "optional_value" => |args| match args.first() {
            Some(Value::Optional(Some(inner))) => (**inner).clone(),
            _ => Value::error("optional.none() dereference"),
        },
        "optional_hasValue" => |args| Value::Bool(matches!(args.first(), Some(Value::Optional(Some(_))))),
        "optional_unwrap" | "optional_unwrapOpt" => |args| {
            let Some(Value::List(list)) = args.first() else { return Value::error(NO_OVERLOAD) };
            let mut items = Vec::new();
            for item in list.iter() {
                match item {
                    Value::Optional(inner) => items.extend(inner.map(|inner| (*inner).clone())),
                    other => return Value::error(format!("value {} is not optional", super::show(&other))),
                }
            }
            Value::list(items)
        },
        "list_first" | "list_last" => return super::lists::end(id),
        _ => return None,
    })
}
