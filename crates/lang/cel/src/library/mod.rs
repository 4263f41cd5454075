//! The functions: which one a call means, and what each does.

pub mod base64;
mod convert;
mod format;
pub mod formats;
mod lists;
mod net;
mod operators;
pub mod quantity;
mod strings;
mod time;
pub mod url;
mod versions;

use std::fmt::Write;
use std::sync::Arc;

use podium_re2::Regex;

use crate::declarations::{self, Overload};
use crate::list::List;
use crate::map::Map;
use crate::plan::{Function, fits};
use crate::value::Value;

pub use convert::timestamp;
pub use format::{Clause, check as check_format};

/// What a function does with its arguments.
pub type Native = for<'a> fn(&[Value<'a>]) -> Value<'a>;

/// How failures among the arguments are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// One or two arguments: all are computed before a failure is found.
    Few,
    /// Any number: the first failure ends the call.
    Many,
    /// Failures are arguments like others.
    NotStrict,
}

/// The function of a call.
#[derive(Debug, Clone)]
pub enum Op {
    /// One that takes what it gets.
    Plain(Native),
    /// One for the types of its overload.
    Guarded(&'static Overload, Native),
    /// Whichever fits.
    Any(Vec<(&'static Overload, Native)>),
    /// A pattern that is known before.
    Regex(Arc<Regex>),
    /// None.
    Missing,
}

/// The failure of a result that would not fit into memory; it ends the whole run.
pub const TOO_LARGE: &str = "operation cancelled: the result is too large";
/// The bytes of the largest text.
pub const LARGEST: usize = 1 << 24;
/// The elements of the largest list that a function makes; the cost of more is beyond every limit.
pub const MOST_ITEMS: usize = 1 << 21;

/// The failure of a function that no argument fits.
fn no_overload<'a>(name: &str, args: &[Value<'a>]) -> Value<'a> {
    if let Some(error) = args.iter().find(|arg| arg.is_error()) {
        return error.clone();
    }
    let types = args.iter().map(Value::type_name).collect::<Vec<_>>().join(", ");
    Value::error(format!("no such overload: {name}({types})"))
}

/// Functions whose overloads are called without a look at the types.
const UNGUARDED: [&str; 4] = ["contains", "endsWith", "startsWith", "flatten"];

/// Finds the function of a call.
pub fn bind(name: &str, overload: &str, args: usize) -> Result<(Style, Op), String> {
    let few = if args <= 2 { Style::Few } else { Style::Many };
    if name == "@not_strictly_false" {
        return Ok((Style::NotStrict, Op::Plain(operators::not_strictly_false)));
    }
    if let Some(native) = operators::singleton(name).or_else(|| lists::singleton(name)) {
        return Ok((few, Op::Plain(native)));
    }
    let overloads = declarations::function(name).unwrap_or_default();
    let known: Vec<(&'static Overload, Native)> =
        overloads.iter().filter_map(|overload| Some((overload, native(&overload.id)?))).collect();
    let style = |id: &str| if id == "string_format" { Style::Many } else { few };
    if let Some((overload, native)) = known.iter().find(|(known, _)| *known.id == *overload) {
        let op = if UNGUARDED.contains(&name) { Op::Plain(*native) } else { Op::Guarded(overload, *native) };
        return Ok((style(&overload.id), op));
    }
    Ok(match known.as_slice() {
        [] => (few, Op::Missing),
        [(overload, native)] if UNGUARDED.contains(&name) => (style(&overload.id), Op::Plain(*native)),
        [(overload, native)] => (style(&overload.id), Op::Guarded(overload, *native)),
        _ => (Style::Many, Op::Any(known)),
    })
}

fn native(id: &str) -> Option<Native> {
    convert::native(id)
        .or_else(|| strings::native(id))
        .or_else(|| lists::native(id))
        .or_else(|| time::native(id))
        .or_else(|| net::native(id))
        .or_else(|| url::native(id))
        .or_else(|| quantity::native(id))
        .or_else(|| versions::native(id))
        .or_else(|| formats::native(id))
        .or_else(|| operators::native(id))
}

/// Calls a function.
pub fn run<'a>(function: &Function, args: Vec<Value<'a>>) -> Value<'a> {
    let fit = |overload: &Overload| {
        overload.args.len() == args.len() && args.iter().zip(&overload.args).all(|(arg, t)| fits(arg, t))
    };
    match &function.op {
        Op::Plain(native) => native(&args),
        Op::Guarded(overload, native) if fit(overload) => native(&args),
        Op::Guarded(..) => no_overload(&function.name, &args),
        Op::Any(all) => {
            let unguarded = UNGUARDED.contains(&&*function.name);
            match all.iter().find(|(o, _)| if unguarded { o.args.len() == args.len() } else { fit(o) }) {
                Some((_, native)) => native(&args),
                None => no_overload(&function.name, &args),
            }
        }
        Op::Regex(regex) => strings::with_pattern(&function.name, regex, &args),
        Op::Missing => Value::error(format!("no such overload: {}", function.name)),
    }
}

/// Whether a second is one that moments can have.
pub fn is_second(second: i64) -> bool {
    (operators::FIRST_SECOND..=operators::LAST_SECOND).contains(&second)
}

/// The index that a value is, or why it is none.
pub fn list_index(value: &Value<'_>) -> Result<i64, String> {
    match value {
        Value::Int(int) => Ok(*int),
        Value::Double(double) if *double as i64 as f64 == *double && *double < i64::MAX as f64 => {
            Ok(*double as i64)
        }
        Value::Uint(uint) if i64::try_from(*uint).is_ok() => Ok(*uint as i64),
        Value::Double(_) | Value::Uint(_) => Err(format!("unsupported index value {} in list", show(value))),
        other => Err(format!("unsupported index type '{}' in list", other.shown_type())),
    }
}

/// How the original names the type of a value in its own language.
pub fn go_type(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "types.Null",
        Value::Bool(_) => "types.Bool",
        Value::Int(_) => "types.Int",
        Value::Uint(_) => "types.Uint",
        Value::Double(_) => "types.Double",
        Value::String(_) => "types.String",
        Value::Bytes(_) => "types.Bytes",
        Value::Duration(_) => "types.Duration",
        Value::Timestamp(_) => "types.Timestamp",
        Value::List(List::Items(_) | List::Json(_)) => "*types.baseList",
        Value::List(List::Joined(..)) => "*types.concatList",
        Value::List(List::Typed(_)) => "*common.unstructuredList",
        Value::Map(Map::Typed(..)) => "*common.unstructuredMap",
        Value::Map(_) => "*types.baseMap",
        Value::Type(_) => "*types.Type",
        Value::Optional(_) => "*types.Optional",
        Value::Url(_) => "cel.URL",
        Value::Quantity(_, false) => "cel.Quantity",
        Value::Quantity(_, true) => "*cel.Quantity",
        Value::Ip(_) => "cel.IP",
        Value::Cidr(..) => "cel.CIDR",
        Value::Format(_) => "cel.Format",
        Value::Semver(_) => "cel.Semver",
        Value::Preserved(_) => "*common.unknownPreserved",
        Value::Error(_) => "*types.Err",
    }
}

/// A value as it is printed in failures.
pub fn show(value: &Value<'_>) -> String {
    let mut out = String::new();
    show_into(&mut out, value);
    out
}

fn show_into(out: &mut String, value: &Value<'_>) {
    if out.len() > LARGEST {
        return;
    }
    // Writing to a string does not fail.
    let _ = match value {
        Value::Null => write!(out, "0"),
        Value::Bool(flag) => write!(out, "{flag}"),
        Value::Int(int) => write!(out, "{int}"),
        Value::Uint(uint) => write!(out, "{uint}"),
        Value::Double(double) => write!(out, "{}", general(*double)),
        Value::String(text) => write!(out, "{}", &**text),
        Value::Bytes(bytes) => {
            let shown: Vec<String> = bytes.iter().map(u8::to_string).collect();
            write!(out, "[{}]", shown.join(" "))
        }
        Value::Duration(nanoseconds) => {
            write!(
                out,
                "{}",
                String::from_utf8_lossy(
                    &podium_sprig::gotime::Duration(*nanoseconds).to_string().into_bytes()
                )
            )
        }
        Value::Timestamp(time) => write!(out, "{}", String::from_utf8_lossy(&time.to_bytes())),
        Value::List(list) => {
            out.push('[');
            for (at, item) in list.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                show_into(out, &item);
            }
            write!(out, "]")
        }
        Value::Map(map) => {
            out.push('{');
            for (at, name) in map.keys().iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                show_into(out, name);
                out.push_str(": ");
                if let Some(value) = map.find(name) {
                    show_into(out, &value);
                }
            }
            write!(out, "}}")
        }
        Value::Type(name) => write!(out, "{name}"),
        Value::Optional(None) => write!(out, "optional.none()"),
        Value::Optional(Some(inner)) => {
            out.push_str("optional(");
            show_into(out, inner);
            write!(out, ")")
        }
        Value::Url(url) => write!(out, "{}", url.text()),
        Value::Ip(ip) => write!(out, "{}", net::address(ip)),
        Value::Cidr(ip, bits) => write!(out, "{}/{bits}", net::address(ip)),
        Value::Semver(version) => write!(out, "{}", versions::text(version)),
        Value::Quantity(quantity, _) => write!(out, "{quantity}"),
        Value::Format(format) => write!(out, "{}", format.name),
        Value::Preserved(json) => write!(out, "{json}"),
        Value::Error(error) => write!(out, "{error}"),
    };
}

/// A floating point number as `%v` prints it.
pub fn general(double: f64) -> String {
    podium_gotmpl::fmt::format_float(double)
}
