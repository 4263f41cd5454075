//! Go's own template functions.

use std::cmp::Ordering;

use crate::fmt;
use crate::func::{Call, Ctx, Error, Func};
use crate::gostr;
use crate::types::{ANY, Kind, REFLECT, STRING, Shape, Type};
use crate::value::{Str, Value};

type Native = for<'h> fn(&Ctx<'h>, &[Value<'h>]) -> Result<Value<'h>, Error>;

const fn native(
    name: &'static str,
    params: &'static [&'static crate::types::Type],
    variadic: bool,
    call: Native,
) -> Func {
    Func { name, params, variadic, call: Call::Native(call) }
}

/// The functions that every template has.
pub static FUNCS: &[Func] = &[
    Func { name: "and", params: &[&REFLECT, &REFLECT], variadic: true, call: Call::And },
    Func { name: "or", params: &[&REFLECT, &REFLECT], variadic: true, call: Call::Or },
    Func { name: "call", params: &[&REFLECT, &REFLECT], variadic: true, call: Call::Call },
    native("html", &[&ANY], true, |cx, args| escaped(cx, args, html)),
    native("js", &[&ANY], true, |cx, args| escaped(cx, args, js)),
    native("urlquery", &[&ANY], true, |cx, args| escaped(cx, args, url_query)),
    native("index", &[&REFLECT, &REFLECT], true, index),
    native("slice", &[&REFLECT, &REFLECT], true, slice),
    native("len", &[&REFLECT], false, length),
    native("not", &[&REFLECT], false, |_, args| Ok(Value::Bool(!args[0].truth()))),
    native("print", &[&ANY], true, |_, args| Ok(Value::string(fmt::sprint(args)))),
    native("println", &[&ANY], true, |_, args| Ok(Value::string(fmt::sprintln(args)))),
    native("printf", &[&STRING, &ANY], true, |cx, args| {
        let Some((Value::Str(format), rest)) = args.split_first() else {
            return Ok(Value::Nil);
        };
        let text = fmt::sprintf(format, rest);
        cx.heap.charge(text.len())?;
        Ok(Value::string(text))
    }),
    native("eq", &[&REFLECT, &REFLECT], true, |_, args| eq(&args[0], &args[1..]).map(Value::Bool)),
    native("ne", &[&REFLECT, &REFLECT], false, |_, args| {
        eq(&args[0], &args[1..]).map(|equal| Value::Bool(!equal))
    }),
    native("lt", &[&REFLECT, &REFLECT], false, |_, args| lt(&args[0], &args[1]).map(Value::Bool)),
    native("le", &[&REFLECT, &REFLECT], false, |_, args| le(&args[0], &args[1]).map(Value::Bool)),
    native("gt", &[&REFLECT, &REFLECT], false, |_, args| le(&args[0], &args[1]).map(|le| Value::Bool(!le))),
    native("ge", &[&REFLECT, &REFLECT], false, |_, args| lt(&args[0], &args[1]).map(|lt| Value::Bool(!lt))),
];

/// Functions that render a template to a string, which are Helm's and not Go's.
pub static RENDERERS: &[Func] = &[
    Func { name: "include", params: &[&STRING, &ANY], variadic: false, call: Call::Include },
    Func { name: "tpl", params: &[&STRING, &ANY], variadic: false, call: Call::Tpl },
];

/// Arguments as one text, the way templates print them.
fn joined<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Vec<u8> {
    if let [Value::Str(s)] = args {
        return s.to_vec();
    }
    let shown: Vec<Value<'_>> = args
        .iter()
        .map(|v| match v {
            Value::Nil | Value::NilAny => Value::Str(Str::Borrowed(b"<no value>")),
            v => cx.heap.pointed_to(v.clone()),
        })
        .collect();
    fmt::sprint(&shown)
}

/// Arguments as one text, escaped: no character becomes more than six.
fn escaped<'h>(cx: &Ctx<'h>, args: &[Value<'h>], how: fn(&[u8]) -> Vec<u8>) -> Result<Value<'h>, Error> {
    let text = joined(cx, args);
    cx.heap.for_a_while(|| cx.heap.charge(text.len().saturating_mul(6)))?;
    Ok(Value::string(how(&text)))
}

fn html(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for b in text {
        match b {
            0 => out.extend_from_slice("\u{fffd}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            _ => out.push(*b),
        }
    }
    out
}

fn js(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for (at, c, width) in gostr::runes(text) {
        match c {
            '\\' => out.extend_from_slice(b"\\\\"),
            '\'' => out.extend_from_slice(b"\\'"),
            '"' => out.extend_from_slice(b"\\\""),
            '<' | '>' | '&' | '=' | '\0'..='\x1f' => {
                out.extend_from_slice(format!("\\u{:04X}", u32::from(c)).as_bytes());
            }
            ' '..='\x7f' => out.push(text[at]),
            c if gostr::is_print(c) => out.extend_from_slice(&text[at..at + width]),
            c => out.extend_from_slice(format!("\\u{:04X}", u32::from(c)).as_bytes()),
        }
    }
    out
}

fn url_query(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for b in text {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(*b),
            b' ' => out.push(b'+'),
            _ => out.extend_from_slice(format!("%{b:02X}").as_bytes()),
        }
    }
    out
}

/// A number that is used as an index.
fn index_number(index: &Value<'_>, limit: usize) -> Result<usize, Error> {
    let x = match integer(index) {
        Some(Integer::Signed(i)) => i,
        Some(Integer::Unsigned(u)) => u as i64,
        None if index.is_nil() => return Err("cannot index slice/array with nil".into()),
        None => {
            return Err(format!("cannot index slice/array with type {}", index.type_name()).into());
        }
    };
    match usize::try_from(x) {
        Ok(x) if x <= limit => Ok(x),
        _ => Err(format!("index out of range: {x}").into()),
    }
}

fn index<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Result<Value<'h>, Error> {
    let mut item = args[0].clone();
    if item.is_nil() {
        return Err("index of untyped nil".into());
    }
    for index in &args[1..] {
        if item.is_nil() {
            return Err("index of nil pointer".into());
        }
        item = match &item {
            Value::Map(map) => {
                let Shape::Map(element) = map.ty.shape else {
                    return Ok(Value::Nil);
                };
                let key = match index {
                    Value::Str(key) => key,
                    _ if index.is_nil() => {
                        return Err("value is nil; should be of type string".into());
                    }
                    other => {
                        let ty = other.type_name();
                        return Err(format!("value has type {ty}; should be string").into());
                    }
                };
                match map.get(key) {
                    Some(Value::Nil) => Value::NilAny,
                    Some(value) => value,
                    None => Value::zero(element, cx.heap),
                }
            }
            Value::List(list) => {
                let x = index_number(index, list.items.len())?;
                match list.items.get(x) {
                    Some(Value::Nil) => Value::NilAny,
                    Some(value) => value.clone(),
                    None => return Err("reflect: slice index out of range".into()),
                }
            }
            Value::Bytes(text) => {
                let x = index_number(index, text.len())?;
                match text.get(x) {
                    Some(b) => Value::Uint8(*b),
                    None => return Err("reflect: slice index out of range".into()),
                }
            }
            Value::Str(text) => {
                let x = index_number(index, text.len())?;
                match text.as_bytes().get(x) {
                    Some(b) => Value::Uint8(*b),
                    None => return Err("reflect: string index out of range".into()),
                }
            }
            other => return Err(format!("can't index item of type {}", target_name(other)).into()),
        };
    }
    Ok(item)
}

fn slice<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Result<Value<'h>, Error> {
    let item = &args[0];
    let indexes = &args[1..];
    if item.is_nil() {
        return Err("slice of untyped nil".into());
    }
    if indexes.len() > 3 {
        return Err(format!("too many slice indexes: {}", indexes.len()).into());
    }
    let length = match item {
        Value::Str(_) if indexes.len() == 3 => return Err("cannot 3-index slice a string".into()),
        Value::Str(s) => s.len(),
        Value::Bytes(b) => b.len(),
        Value::List(l) => l.items.len(),
        other => return Err(format!("can't slice item of type {}", other.type_name()).into()),
    };
    let mut bounds = [0, length, length];
    for (i, index) in indexes.iter().enumerate() {
        bounds[i] = index_number(index, length)?;
    }
    let [from, to, cap] = bounds;
    if from > to {
        return Err(format!("invalid slice index: {from} > {to}").into());
    }
    if indexes.len() == 3 && to > cap {
        return Err(format!("invalid slice index: {to} > {cap}").into());
    }
    Ok(match item {
        Value::Str(s) => Value::string(s[from..to].to_vec()),
        Value::Bytes(b) => Value::Bytes(&b[from..to]),
        Value::List(l) => cx.heap.typed_list(l.ty, l.items[from..to].to_vec()),
        _ => Value::Nil,
    })
}

/// The name of the type, or of what a pointer points to.
fn target_name(value: &Value<'_>) -> &'static str {
    match value.ty().map(|t| &t.shape) {
        Some(Shape::Pointer(target)) => target.name,
        _ => value.type_name(),
    }
}

fn length<'h>(_: &Ctx<'h>, args: &[Value<'h>]) -> Result<Value<'h>, Error> {
    let n = match &args[0] {
        Value::Nil => return Err("reflect: call of reflect.Value.Type on zero Value".into()),
        Value::NilAny => return Err("len of nil pointer".into()),
        Value::Str(s) => s.len(),
        Value::Bytes(b) => b.len(),
        Value::List(l) => l.items.len(),
        Value::Map(m) => m.len(),
        other => return Err(format!("len of type {}", target_name(other)).into()),
    };
    Ok(Value::Int(n as i64))
}

enum Integer {
    Signed(i64),
    Unsigned(u64),
}

fn integer(v: &Value<'_>) -> Option<Integer> {
    Some(match v {
        Value::Int(i) | Value::Int64(i) => Integer::Signed(*i),
        Value::Int32(i) => Integer::Signed(i64::from(*i)),
        Value::Uint8(u) => Integer::Unsigned(u64::from(*u)),
        Value::Uint64(u) => Integer::Unsigned(*u),
        Value::Opaque(o) => return o.basic().as_ref().and_then(integer),
        _ => return None,
    })
}

/// The kinds that comparison knows.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Basic {
    None,
    Bool,
    Complex,
    Int,
    Float,
    String,
    Uint,
}

fn basic(v: &Value<'_>) -> Basic {
    match v.kind() {
        Kind::Bool => Basic::Bool,
        Kind::Int(_) => Basic::Int,
        Kind::Uint(_) => Basic::Uint,
        Kind::Float64 => Basic::Float,
        Kind::Complex128 => Basic::Complex,
        Kind::String => Basic::String,
        _ => Basic::None,
    }
}

fn compare_integers(a: &Value<'_>, b: &Value<'_>) -> Option<Ordering> {
    Some(match (integer(a)?, integer(b)?) {
        (Integer::Signed(x), Integer::Signed(y)) => x.cmp(&y),
        (Integer::Unsigned(x), Integer::Unsigned(y)) => x.cmp(&y),
        (Integer::Signed(x), Integer::Unsigned(y)) => u64::try_from(x).map_or(Ordering::Less, |x| x.cmp(&y)),
        (Integer::Unsigned(x), Integer::Signed(y)) => {
            u64::try_from(y).map_or(Ordering::Greater, |y| x.cmp(&y))
        }
    })
}

fn incompatible(a: &Value<'_>, b: &Value<'_>) -> Error {
    format!("incompatible types for comparison: {} and {}", a.type_name(), b.type_name()).into()
}

/// An error about two values or one: their bytes need not be UTF-8.
fn not_comparable(format: &str, values: &[Value<'_>]) -> Error {
    Error::new(fmt::sprintf(format.as_bytes(), values))
}

fn eq<'h>(a: &Value<'h>, others: &[Value<'h>]) -> Result<bool, Error> {
    if others.is_empty() {
        return Err("missing argument for comparison".into());
    }
    let kind = basic(a);
    for b in others {
        let other = basic(b);
        let equal = match (kind, other) {
            (Basic::Int | Basic::Uint, Basic::Int | Basic::Uint) => {
                compare_integers(a, b) == Some(Ordering::Equal)
            }
            (x, y) if x != y => {
                if !a.is_nil() && !b.is_nil() {
                    return Err(incompatible(a, b));
                }
                false
            }
            (Basic::None, _) => same_object(a, b)?,
            _ => match (a, b) {
                (Value::Bool(x), Value::Bool(y)) => x == y,
                (Value::Float(x), Value::Float(y)) => x == y,
                (Value::Complex(x, i), Value::Complex(y, j)) => x == y && i == j,
                (Value::Str(x), Value::Str(y)) => x == y,
                _ => false,
            },
        };
        if equal {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Comparison of what is no number, string or boolean.
fn same_object<'h>(a: &Value<'h>, b: &Value<'h>) -> Result<bool, Error> {
    let nil = a.is_nil_of_type() || b.is_nil_of_type();
    if a.kind() != b.kind() && !a.is_nil() && !b.is_nil() {
        let values = [a.clone(), a.clone(), b.clone(), b.clone()];
        return Err(not_comparable("non-comparable types %s: %T, %T: %v", &values));
    }
    if nil {
        return Ok(a.is_nil_of_type() == b.is_nil_of_type());
    }
    match (a, b) {
        (_, Value::Struct(y)) if !is_comparable(y.ty) => {
            Err(not_comparable("non-comparable type %s: %T", &[b.clone(), b.clone()]))
        }
        (Value::Struct(x), Value::Struct(y)) => {
            Ok(if matches!(x.ty.shape, Shape::Pointer(_)) { std::ptr::eq(*x, *y) } else { a.deep_equal(b) })
        }
        (Value::Opaque(x), Value::Opaque(y)) => Ok(x.ty().is(y.ty()) && x.same(y.as_ref())),
        // Both are structs or both pointers, but of types that differ.
        (Value::Struct(_), Value::Opaque(_)) | (Value::Opaque(_), Value::Struct(_)) => Ok(false),
        _ => Err(not_comparable("non-comparable type %s: %T", &[b.clone(), b.clone()])),
    }
}

/// Whether Go's `==` is there for values of the type.
fn is_comparable(ty: &Type) -> bool {
    match ty.shape {
        Shape::Slice(_) | Shape::Map(_) | Shape::Func => false,
        Shape::Struct(fields) => fields.iter().all(|field| is_comparable(field.ty)),
        _ => true,
    }
}

fn lt(a: &Value<'_>, b: &Value<'_>) -> Result<bool, Error> {
    let (x, y) = (basic(a), basic(b));
    if x == Basic::None || y == Basic::None {
        return Err("invalid type for comparison".into());
    }
    match (x, y) {
        (Basic::Int | Basic::Uint, Basic::Int | Basic::Uint) => {
            Ok(compare_integers(a, b) == Some(Ordering::Less))
        }
        _ if x != y => Err(incompatible(a, b)),
        _ => match (a, b) {
            (Value::Float(x), Value::Float(y)) => Ok(x < y),
            (Value::Str(x), Value::Str(y)) => Ok(x < y),
            _ => Err("invalid type for comparison".into()),
        },
    }
}

fn le<'h>(a: &Value<'h>, b: &Value<'h>) -> Result<bool, Error> {
    Ok(lt(a, b)? || eq(a, std::slice::from_ref(b))?)
}
