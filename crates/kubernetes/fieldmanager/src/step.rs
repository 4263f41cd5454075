//! One step of the way from an object to a field in it.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use serde_json::{Number, Value};

use crate::go::{self, Num};

/// How a part is found in what contains it.
#[derive(Debug, Clone)]
pub enum Step<'a> {
    /// Under a key of an object.
    Field(Cow<'a, str>),
    /// The item of a list whose fields have these values, sorted by name.
    Key(Vec<(Cow<'a, str>, Datum<'a>)>),
    /// The item of a list that is this value.
    Value(Datum<'a>),
    /// The item at this place of a list.
    Index(i64),
}

/// A value in a step; nearly always one without parts.
#[derive(Debug, Clone)]
pub enum Datum<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number, and all that were read from a stored set.
    Float(f64),
    /// Text.
    Text(Cow<'a, str>),
    /// A list or an object.
    Whole(Cow<'a, Value>),
}

impl<'a> Datum<'a> {
    /// The datum of a value.
    pub fn of(value: &'a Value) -> Self {
        match value {
            Value::Null => Datum::Null,
            Value::Bool(yes) => Datum::Bool(*yes),
            Value::Number(number) => Self::number(Num::of(number)),
            Value::String(text) => Datum::Text(Cow::Borrowed(text)),
            other => Datum::Whole(Cow::Borrowed(other)),
        }
    }

    fn number(number: Num) -> Self {
        match number {
            Num::Int(whole) => Datum::Int(whole),
            Num::Float(float) => Datum::Float(float),
        }
    }

    /// The datum of a value that was stored: Go reads all its numbers as floats.
    fn stored(value: Value) -> Datum<'static> {
        match value {
            Value::Null => Datum::Null,
            Value::Bool(yes) => Datum::Bool(yes),
            Value::Number(number) => Datum::Float(Num::of(&number).float()),
            Value::String(text) => Datum::Text(Cow::Owned(text)),
            other => Datum::Whole(Cow::Owned(floats(other))),
        }
    }

    fn owned(self) -> Datum<'static> {
        match self {
            Datum::Null => Datum::Null,
            Datum::Bool(yes) => Datum::Bool(yes),
            Datum::Int(whole) => Datum::Int(whole),
            Datum::Float(float) => Datum::Float(float),
            Datum::Text(text) => Datum::Text(Cow::Owned(text.into_owned())),
            Datum::Whole(value) => Datum::Whole(Cow::Owned(value.into_owned())),
        }
    }

    fn write_json(&self, out: &mut String) {
        match self {
            Datum::Null => out.push_str("null"),
            Datum::Bool(yes) => out.push_str(if *yes { "true" } else { "false" }),
            Datum::Int(whole) => go::json_number(out, Num::Int(*whole)),
            Datum::Float(float) => go::json_number(out, Num::Float(*float)),
            Datum::Text(text) => go::json_text(out, text, true),
            Datum::Whole(value) => go::json(out, value),
        }
    }

    /// Numbers, text, truth values, lists, objects, nothing: the order of kinds.
    fn rank(&self) -> u8 {
        match self {
            Datum::Int(_) | Datum::Float(_) => 0,
            Datum::Text(_) => 1,
            Datum::Bool(_) => 2,
            Datum::Whole(value) if value.is_array() => 3,
            Datum::Whole(_) => 4,
            Datum::Null => 5,
        }
    }
}

fn floats(value: Value) -> Value {
    match value {
        Value::Number(number) => {
            Number::from_f64(Num::of(&number).float()).map_or(Value::Null, Value::Number)
        }
        Value::Array(items) => Value::Array(items.into_iter().map(floats).collect()),
        Value::Object(map) => Value::Object(map.into_iter().map(|(k, v)| (k, floats(v))).collect()),
        other => other,
    }
}

fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

fn compare_values(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            let differs = a.iter().zip(b).map(|(a, b)| compare_values(a, b)).find(|o| o.is_ne());
            differs.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let one = |((k, a), (l, b)): ((&String, &Value), (&String, &Value))| {
                k.cmp(l).then_with(|| compare_values(a, b))
            };
            let differs = a.iter().zip(b).map(one).find(|o| o.is_ne());
            differs.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (a, b) => Datum::of(a).cmp(&Datum::of(b)),
    }
}

impl Ord for Datum<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Datum::Int(a), Datum::Int(b)) => a.cmp(b),
            (Datum::Int(a), Datum::Float(b)) => compare_floats(*a as f64, *b),
            (Datum::Float(a), Datum::Int(b)) => compare_floats(*a, *b as f64),
            (Datum::Float(a), Datum::Float(b)) => compare_floats(*a, *b),
            (Datum::Text(a), Datum::Text(b)) => a.cmp(b),
            (Datum::Bool(a), Datum::Bool(b)) => a.cmp(b),
            (Datum::Whole(a), Datum::Whole(b)) if self.rank() == other.rank() => compare_values(a, b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl Ord for Step<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Step::Field(a), Step::Field(b)) => a.cmp(b),
            (Step::Key(a), Step::Key(b)) => a.cmp(b),
            (Step::Value(a), Step::Value(b)) => a.cmp(b),
            (Step::Index(a), Step::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

macro_rules! ordered_by_cmp {
    ($($name:ident)*) => {$(
        impl PartialOrd for $name<'_> {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }
        impl PartialEq for $name<'_> {
            fn eq(&self, other: &Self) -> bool {
                self.cmp(other).is_eq()
            }
        }
        impl Eq for $name<'_> {}
    )*};
}
ordered_by_cmp!(Datum Step);

impl<'a> Step<'a> {
    /// The step to a field.
    pub fn field(name: &'a str) -> Self {
        Step::Field(Cow::Borrowed(name))
    }

    fn rank(&self) -> u8 {
        match self {
            Step::Field(_) => 0,
            Step::Key(_) => 1,
            Step::Value(_) => 2,
            Step::Index(_) => 3,
        }
    }

    /// Reads a step as field sets store it; nothing where it is of a kind that is not known.
    pub fn parse(text: &'a str) -> Result<Option<Self>, &'static str> {
        let (Some(kind), Some(rest)) = (text.get(..2), text.get(2..)) else {
            return Err("key must be 2 characters long");
        };
        Ok(Some(match kind {
            "f:" => Step::field(rest),
            "v:" => Step::Value(Datum::stored(first(rest)?)),
            "k:" => {
                if let Some((name, value)) = plain_key(rest) {
                    return Ok(Some(Step::Key(vec![(
                        Cow::Borrowed(name),
                        Datum::Text(Cow::Borrowed(value)),
                    )])));
                }
                let Value::Object(map) = first(rest)? else { return Err("not an object") };
                Step::Key(map.into_iter().map(|(name, v)| (Cow::Owned(name), Datum::stored(v))).collect())
            }
            "i:" => Step::Index(rest.parse().map_err(|_| "not an index")?),
            _ if kind.ends_with(':') => return Ok(None),
            _ => return Err("missing colon"),
        }))
    }

    /// Writes the step as field sets store it.
    pub fn write(&self, out: &mut String) {
        match self {
            Step::Field(name) => {
                out.push_str("f:");
                out.push_str(name);
            }
            Step::Key(fields) => {
                out.push_str("k:{");
                for (at, (name, value)) in fields.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    go::json_text(out, name, false);
                    out.push(':');
                    value.write_json(out);
                }
                out.push('}');
            }
            Step::Value(value) => {
                out.push_str("v:");
                value.write_json(out);
            }
            Step::Index(index) => {
                out.push_str("i:");
                go::json_number(out, Num::Int(*index));
            }
        }
    }

    /// The step with its texts its own.
    pub fn into_owned(self) -> Step<'static> {
        match self {
            Step::Field(name) => Step::Field(Cow::Owned(name.into_owned())),
            Step::Key(fields) => {
                Step::Key(fields.into_iter().map(|(n, v)| (Cow::Owned(n.into_owned()), v.owned())).collect())
            }
            Step::Value(value) => Step::Value(value.owned()),
            Step::Index(index) => Step::Index(index),
        }
    }
}

/// The name and the value of a key that is one plain text, as most are.
fn plain_key(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.strip_prefix("{\"")?.strip_suffix("\"}")?.split_once("\":\"")?;
    let plain = |text: &str| text.bytes().all(|b| b >= b' ' && b != b'"' && b != b'\\');
    (plain(name) && plain(value)).then_some((name, value))
}

/// The first JSON value of a text; Go does not look at what follows it.
fn first(text: &str) -> Result<Value, &'static str> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    values.next().and_then(Result::ok).ok_or("not JSON")
}

impl fmt::Display for Datum<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Datum::Null => f.write_str("null"),
            Datum::Bool(yes) => write!(f, "{yes}"),
            Datum::Int(whole) => write!(f, "{whole}"),
            Datum::Float(float) => f.write_str(&go::plain_number(Num::Float(*float))),
            Datum::Text(text) => f.write_str(&go::quote(text)),
            Datum::Whole(value) => write_parts(f, value),
        }
    }
}

fn write_parts(f: &mut fmt::Formatter<'_>, value: &Value) -> fmt::Result {
    match value {
        Value::Array(items) => {
            f.write_str("[")?;
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    f.write_str(",")?;
                }
                write!(f, "{}", Datum::of(item))?;
            }
            f.write_str("]")
        }
        Value::Object(map) => map.iter().try_for_each(|(key, value)| write!(f, "{key}={}", Datum::of(value))),
        other => write!(f, "{}", Datum::of(other)),
    }
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Field(name) => write!(f, ".{name}"),
            Step::Key(fields) => {
                f.write_str("[")?;
                for (at, (name, value)) in fields.iter().enumerate() {
                    if at > 0 {
                        f.write_str(",")?;
                    }
                    write!(f, "{name}={value}")?;
                }
                f.write_str("]")
            }
            Step::Value(value) => write!(f, "[={value}]"),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}
