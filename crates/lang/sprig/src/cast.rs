//! Any value as a number, by the rules of spf13/cast: what is no number is 0, without an error.

use podium_gotmpl::Value;

use crate::strconv::{parse_float, parse_int};

/// `cast.ToInt64`, and `cast.ToInt`, which is the same on 64 bits.
pub fn to_int64(value: &Value<'_>) -> i64 {
    match value {
        Value::Int(i) | Value::Int64(i) => *i,
        Value::Int32(i) => i64::from(*i),
        Value::Uint8(u) => i64::from(*u),
        Value::Uint64(u) => *u as i64,
        Value::Float(f) => float_to_int(*f),
        Value::Bool(b) => i64::from(*b),
        Value::Str(s) => match parse_int(without_zero_fraction(s), 0) {
            (i, true) => i,
            _ => 0,
        },
        Value::Opaque(_) => calendar_number(value).unwrap_or(0),
        _ => 0,
    }
}

/// `cast.ToFloat64`.
pub fn to_float64(value: &Value<'_>) -> f64 {
    match value {
        Value::Float(f) => *f,
        Value::Int(i) | Value::Int64(i) => *i as f64,
        Value::Int32(i) => f64::from(*i),
        Value::Uint8(u) => f64::from(*u),
        Value::Uint64(u) => *u as f64,
        Value::Bool(b) => f64::from(u8::from(*b)),
        Value::Str(s) => parse_float(s).unwrap_or(0.0),
        Value::Opaque(_) => calendar_number(value).unwrap_or(0) as f64,
        _ => 0.0,
    }
}

/// Go's conversion on amd64: everything out of range becomes the smallest integer.
pub fn float_to_int(f: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&f) { f as i64 } else { i64::MIN }
}

/// Months and weekdays, the only named integers that cast knows, are `int`s beneath.
fn calendar_number(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Opaque(o) => match o.basic() {
            Some(Value::Int(i)) => Some(i),
            _ => None,
        },
        _ => None,
    }
}

/// Cuts `.0`, `.00` and so on from the end.
fn without_zero_fraction(text: &[u8]) -> &[u8] {
    let kept = text.len() - text.iter().rev().take_while(|b| **b == b'0').count();
    match text.get(..kept) {
        Some([whole @ .., b'.']) if kept < text.len() => whole,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(text: &str) -> Value<'_> {
        Value::string(text)
    }

    #[test]
    fn strings_become_integers_as_in_cast() {
        for (text, want) in [
            ("5.0", 5),
            ("5.00", 5),
            ("5.", 0),
            ("5.7", 0),
            ("1e3", 0),
            ("08", 0),
            ("0x1F", 31),
            ("010", 8),
            (".0", 0),
            ("", 0),
            ("100", 100),
            ("9223372036854775808", 0),
        ] {
            assert_eq!(to_int64(&s(text)), want, "{text}");
        }
    }

    #[test]
    fn floats_out_of_range_become_the_smallest_integer() {
        for f in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e19, -1e19, 9.3e18] {
            assert_eq!(to_int64(&Value::Float(f)), i64::MIN, "{f}");
        }
        assert_eq!(to_int64(&Value::Float(-3.9)), -3);
    }
}
