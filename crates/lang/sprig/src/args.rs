//! Helpers that every function of the library shares: tables, arguments, results.

use podium_gotmpl::{Call, Ctx, Error, Func, Map, Str, Type, Value};

/// The code of a function.
pub(crate) type Native = for<'h> fn(&Ctx<'h>, &[Value<'h>]) -> Result<Value<'h>, Error>;

/// What a function gives back.
pub(crate) type Outcome<'h> = Result<Value<'h>, Error>;

/// An entry of a table: a function with exactly these parameters.
pub(crate) const fn func(name: &'static str, params: &'static [&'static Type], code: Native) -> Func {
    Func { name, params, variadic: false, call: Call::Native(code) }
}

/// A method without arguments that templates cannot call.
pub(crate) const fn refused(name: &'static str, why: &'static str) -> Func {
    Func { name, params: &[], variadic: false, call: Call::Refused(why) }
}

/// An entry of a table: a function whose last parameter takes any number of arguments.
pub(crate) const fn variadic(name: &'static str, params: &'static [&'static Type], code: Native) -> Func {
    Func { name, params, variadic: true, call: Call::Native(code) }
}

/// The argument of a `string` parameter.
pub(crate) fn text<'a>(args: &'a [Value<'_>], index: usize) -> &'a [u8] {
    match args.get(index) {
        Some(Value::Str(s)) => s,
        _ => b"",
    }
}

/// The argument of an `int` or `int64` parameter.
pub(crate) fn int(args: &[Value<'_>], index: usize) -> i64 {
    match args.get(index) {
        Some(Value::Int(i) | Value::Int64(i)) => *i,
        _ => 0,
    }
}

/// The argument of an `interface {}` parameter.
pub(crate) fn any<'a, 'h>(args: &'a [Value<'h>], index: usize) -> &'a Value<'h> {
    args.get(index).unwrap_or(&Value::Nil)
}

/// The argument of a `map[string]interface {}` parameter. A literal `nil` arrives as a nil map, or as nothing.
pub(crate) fn map<'h>(args: &[Value<'h>], index: usize) -> Option<&'h Map<'h>> {
    args.get(index).and_then(Value::as_map)
}

/// The arguments from an index on.
pub(crate) fn rest<'a, 'h>(args: &'a [Value<'h>], from: usize) -> &'a [Value<'h>] {
    args.get(from..).unwrap_or_default()
}

/// A string result.
pub(crate) fn string<'h>(text: impl Into<Str<'h>>) -> Outcome<'h> {
    Ok(Value::Str(text.into()))
}

/// Sprig's idea of a value as text: like `%v`, but bytes are text. A text that is made is paid for.
pub(crate) fn strval<'h>(cx: &Ctx<'h>, value: &Value<'h>) -> Result<Str<'h>, Error> {
    Ok(match value {
        Value::Str(s) => s.clone(),
        Value::Bytes(b) => Str::Borrowed(b),
        other => {
            let text = podium_gotmpl::fmt::to_bytes(other);
            cx.heap.charge(text.len())?;
            text.into()
        }
    })
}

/// Go's text for following a nil pointer, which is also what asking for the kind of `nil`'s type gives.
pub(crate) const NIL_POINTER: &str = "runtime error: invalid memory address or nil pointer dereference";
