//! `format`: texts with values in them.

use std::fmt::Write;

use podium_gotmpl::fmt::format_float_verb;
use podium_gotmpl::gostr;

use super::{LARGEST, TOO_LARGE, convert};
use crate::types::Type;
use crate::value::{NO_OVERLOAD, Value};

/// The digits behind the point where nothing else is said.
const PRECISION: usize = 6;
/// The most digits behind the point.
const MOST_DIGITS: usize = 10_000;

/// What a `%` asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Clause {
    Text,
    Decimal,
    Fixed(usize),
    Scientific(usize),
    Binary,
    Hex(bool),
    Octal,
}

impl Clause {
    /// What it says of a value of a wrong type.
    fn problem(self, found: &str) -> String {
        let rule = match self {
            Self::Text => {
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, \
                 durations, and timestamps"
            }
            Self::Decimal => "decimal clause can only be used on integers",
            Self::Fixed(_) => "fixed-point clause can only be used on doubles",
            Self::Scientific(_) => "scientific clause can only be used on doubles",
            Self::Binary => "only integers and bools can be formatted as binary",
            Self::Hex(_) => "only integers, byte buffers, and strings can be formatted as hex",
            Self::Octal => "octal clause can only be used on integers",
        };
        format!("{rule}, was given {found}")
    }

    /// Whether values of a type can be written so, as far as the type tells.
    pub fn takes(self, t: &Type) -> bool {
        matches!(
            (self, t),
            (_, Type::Dyn)
                | (
                    Self::Text,
                    Type::List(_)
                        | Type::Map(_)
                        | Type::Double
                        | Type::Bool
                        | Type::String
                        | Type::Timestamp
                        | Type::Bytes
                        | Type::Duration
                        | Type::Type(_)
                        | Type::Null
                )
                | (
                    Self::Text | Self::Decimal | Self::Binary | Self::Hex(_) | Self::Octal,
                    Type::Int | Type::Uint
                )
                | (Self::Fixed(_) | Self::Scientific(_), Type::Double | Type::String)
                | (Self::Binary, Type::Bool)
                | (Self::Hex(_), Type::String | Type::Bytes)
        )
    }
}

/// Walks through a format; `write` gives the text of each clause, or why there is none.
fn walk(
    format: &str,
    count: usize,
    runtime: bool,
    mut write: impl FnMut(usize, Clause) -> Result<String, String>,
) -> Result<String, String> {
    let mut out: Vec<u8> = Vec::with_capacity(format.len());
    let mut next = 0;
    let mut rest = format.as_bytes();
    while let [byte, after @ ..] = rest {
        match (byte, after) {
            (b'%', [b'%', after @ ..]) => {
                out.push(b'%');
                rest = after;
            }
            (b'%', _) => {
                if runtime && next >= count {
                    return Err(format!("index {next} out of range"));
                }
                if after.is_empty() {
                    return Err("unexpected end of string".to_owned());
                }
                if next >= count {
                    return Err(format!("index {next} out of range"));
                }
                let (clause, tail) =
                    clause(after).map_err(|error| format!("could not parse formatting clause: {error}"))?;
                let text =
                    write(next, clause).map_err(|error| format!("error during formatting: {error}"))?;
                out.extend(text.into_bytes());
                if out.len() > LARGEST {
                    return Err(TOO_LARGE.to_owned());
                }
                next += 1;
                rest = tail;
            }
            _ => {
                out.push(*byte);
                rest = after;
            }
        }
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// The clause behind a `%`, and what follows it.
fn clause(text: &[u8]) -> Result<(Clause, &[u8]), String> {
    let mut precision = None;
    let mut rest = text;
    if let Some(after) = text.strip_prefix(b".") {
        let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, tail) = after.split_at(digits);
        if tail.is_empty() {
            return Err("error while parsing precision: could not find end of precision specifier".to_owned());
        }
        let number = String::from_utf8_lossy(number);
        let problem = if number.is_empty() { "invalid syntax" } else { "value out of range" };
        let parsed = number.parse::<i64>().map_err(|_| {
            format!(
                "error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing \
                 \"{number}\": {problem}"
            )
        })?;
        precision = Some(usize::try_from(parsed).unwrap_or(MOST_DIGITS).min(MOST_DIGITS));
        rest = tail;
    }
    let [verb, tail @ ..] = rest else { return Err("unexpected end".to_owned()) };
    let clause = match verb {
        b's' => Clause::Text,
        b'd' => Clause::Decimal,
        b'f' => Clause::Fixed(precision.unwrap_or(PRECISION)),
        b'e' => Clause::Scientific(precision.unwrap_or(PRECISION)),
        b'b' => Clause::Binary,
        b'x' => Clause::Hex(false),
        b'X' => Clause::Hex(true),
        b'o' => Clause::Octal,
        other => return Err(format!("unrecognized formatting clause \"{}\"", char::from(*other))),
    };
    Ok((clause, tail))
}

/// Checks a format and arguments that are both written out: `judge` says whether an argument fits a clause. The
/// answer is how many arguments the format asks for.
pub fn check(
    format: &str,
    count: usize,
    mut judge: impl FnMut(usize, Clause) -> Option<String>,
) -> Result<usize, String> {
    let mut asked = 0;
    walk(format, count, false, |at, clause| {
        asked += 1;
        judge(at, clause).map_or(Ok(String::new()), |found| Err(clause.problem(&found)))
    })?;
    Ok(asked)
}

/// The function.
pub fn native<'a>(args: &[Value<'a>]) -> Value<'a> {
    let [Value::String(format), Value::List(list)] = args else { return Value::error(NO_OVERLOAD) };
    let written = walk(format, list.len(), true, |at, clause| {
        let value = list.get(at).unwrap_or(Value::Null);
        write(&value, clause)
    });
    written.map_or_else(
        |error| Value::error(if error.ends_with(TOO_LARGE) { TOO_LARGE.to_owned() } else { error }),
        Value::text,
    )
}

fn write(value: &Value<'_>, clause: Clause) -> Result<String, String> {
    let special = value.as_str().filter(|text| ["NaN", "Infinity", "-Infinity"].contains(text));
    let number = match value {
        Value::Double(double) => Some(*double),
        _ => special.and_then(convert::double),
    };
    match (clause, value) {
        (Clause::Text, _) => text(value),
        (Clause::Decimal | Clause::Octal | Clause::Binary | Clause::Hex(_), Value::Int(int)) => {
            let digits = radix(int.unsigned_abs(), clause);
            Ok(if *int < 0 { format!("-{digits}") } else { digits })
        }
        (Clause::Decimal | Clause::Octal | Clause::Binary | Clause::Hex(_), Value::Uint(uint)) => {
            Ok(radix(*uint, clause))
        }
        (Clause::Binary, Value::Bool(flag)) => Ok(u8::from(*flag).to_string()),
        (Clause::Hex(upper), Value::String(text)) => Ok(hex(text.as_bytes(), upper)),
        (Clause::Hex(upper), Value::Bytes(bytes)) => Ok(hex(bytes, upper)),
        (Clause::Fixed(precision), _) if number.is_some() => Ok(fixed(number.unwrap_or_default(), precision)),
        (Clause::Scientific(width), _) if number.is_some() => {
            Ok(scientific(number.unwrap_or_default(), width))
        }
        (clause, other) => Err(clause.problem(other.type_name())),
    }
}

fn radix(number: u64, clause: Clause) -> String {
    match clause {
        Clause::Octal => format!("{number:o}"),
        Clause::Binary => format!("{number:b}"),
        Clause::Hex(true) => format!("{number:X}"),
        Clause::Hex(false) => format!("{number:x}"),
        _ => number.to_string(),
    }
}

fn hex(bytes: &[u8], upper: bool) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = if upper { write!(out, "{byte:02X}") } else { write!(out, "{byte:02x}") };
    }
    out
}

/// What is no finite number, in signs.
fn unusual(number: f64) -> Option<String> {
    if number.is_nan() {
        return Some("NaN".to_owned());
    }
    number.is_infinite().then(|| if number > 0.0 { "∞" } else { "-∞" }.to_owned())
}

/// A number with digits behind the point, and a comma between thousands.
fn fixed(number: f64, precision: usize) -> String {
    if let Some(unusual) = unusual(number) {
        return unusual;
    }
    let plain = format_float_verb(number, b'f', precision as i64);
    let (sign, plain) = plain.strip_prefix('-').map_or(("", plain.as_str()), |rest| ("-", rest));
    let (whole, fraction) = plain.split_once('.').map_or((plain, None), |(w, f)| (w, Some(f)));
    let mut out = sign.to_owned();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// A number with a power of ten, so wide at least.
fn scientific(number: f64, width: usize) -> String {
    let text = unusual(number).unwrap_or_else(|| {
        let plain = format_float_verb(number, b'e', PRECISION as i64);
        let (digits, exponent) = plain.split_once('e').unwrap_or((&plain, "+00"));
        let raised: String = exponent
            .chars()
            .filter_map(|c| match c {
                '-' => Some('⁻'),
                '0' => Some('⁰'),
                '1' => Some('¹'),
                '2' => Some('²'),
                '3' => Some('³'),
                '4'..='9' => char::from_u32('⁴' as u32 + (c as u32 - '4' as u32)),
                _ => None,
            })
            .collect();
        format!("{digits}\u{202f}×\u{202f}10{raised}")
    });
    let length = text.chars().count();
    format!("{}{text}", " ".repeat(width.saturating_sub(length)))
}

fn quoted(text: &str) -> String {
    String::from_utf8_lossy(&gostr::quote(text.as_bytes())).into_owned()
}

/// A value as `%s` writes it.
fn text(value: &Value<'_>) -> Result<String, String> {
    match value {
        Value::List(_) | Value::Map(_) => nested(value),
        Value::Null => Ok("null".to_owned()),
        Value::Int(_)
        | Value::Uint(_)
        | Value::Double(_)
        | Value::Bool(_)
        | Value::String(_)
        | Value::Timestamp(_)
        | Value::Bytes(_)
        | Value::Duration(_)
        | Value::Type(_) => match convert::string(value) {
            Some(Value::String(text)) => Ok(text.to_string()),
            Some(Value::Error(error)) => {
                Err(format!("could not convert argument {} to string", quoted(&error)))
            }
            _ => Err(String::new()),
        },
        other => Err(Clause::Text.problem(other.type_name())),
    }
}

/// A value within a list or map.
fn nested(value: &Value<'_>) -> Result<String, String> {
    let plain = |value: &Value<'_>| text(value);
    Ok(match value {
        Value::List(list) => {
            let items = list.iter().map(|item| nested(&item)).collect::<Result<Vec<_>, _>>()?;
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => {
            let mut entries = Vec::new();
            for name in map.keys() {
                let shown = match &name {
                    Value::String(text) => quoted(text),
                    Value::Bool(_) | Value::Int(_) | Value::Uint(_) => plain(&name)?,
                    other => {
                        return Err(format!(
                            "no formatting function for map key of type {}",
                            other.type_name()
                        ));
                    }
                };
                let Some(value) = map.find(&name) else {
                    return Err(format!("could not find key: {}", quoted(&super::show(&name))));
                };
                entries.push((shown, nested(&value)?));
            }
            entries.sort();
            let entries: Vec<String> =
                entries.into_iter().map(|(name, value)| format!("{name}:{value}")).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::String(text) => quoted(text),
        Value::Bytes(_) => format!("b{}", quoted(&plain(value)?)),
        Value::Timestamp(_) => format!("timestamp({})", quoted(&plain(value)?)),
        Value::Duration(_) => format!("duration({})", quoted(&plain(value)?)),
        Value::Double(double) if double.is_finite() => format_float_verb(*double, b'f', PRECISION as i64),
        Value::Double(double) => quoted(&super::general(*double)),
        Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Null | Value::Type(_) => plain(value)?,
        other => return Err(format!("no formatting function for {}", other.type_name())),
    })
}
