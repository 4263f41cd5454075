//! Lists: building, cutting, searching.

use std::borrow::Cow;
use std::collections::BTreeSet;

use podium_gotmpl::types::{ANY, INT, LIST, LISTS, STRINGS};
use podium_gotmpl::{Ctx, Error, Func, Str, Value};

use crate::args::{NIL_POINTER, Outcome, any, func, int, rest, strval, variadic};
use crate::cast::{float_to_int, to_int64};
use crate::limits::{check_time, room_for_bytes};
use crate::strings::string_slice;

/// The functions of this module.
pub static FUNCS: &[Func] = &[
    variadic("list", &[&ANY], |cx, a| Ok(cx.heap.list(a.to_vec()))),
    variadic("tuple", &[&ANY], |cx, a| Ok(cx.heap.list(a.to_vec()))),
    func("append", &[&ANY, &ANY], push),
    func("push", &[&ANY, &ANY], push),
    func("mustAppend", &[&ANY, &ANY], push),
    func("mustPush", &[&ANY, &ANY], push),
    func("prepend", &[&ANY, &ANY], prepend),
    func("mustPrepend", &[&ANY, &ANY], prepend),
    func("first", &[&ANY], first),
    func("mustFirst", &[&ANY], first),
    func("last", &[&ANY], last),
    func("mustLast", &[&ANY], last),
    func("rest", &[&ANY], tail),
    func("mustRest", &[&ANY], tail),
    func("initial", &[&ANY], initial),
    func("mustInitial", &[&ANY], initial),
    func("reverse", &[&ANY], reverse),
    func("mustReverse", &[&ANY], reverse),
    func("compact", &[&ANY], compact),
    func("mustCompact", &[&ANY], compact),
    func("uniq", &[&ANY], uniq),
    func("mustUniq", &[&ANY], uniq),
    variadic("without", &[&ANY, &ANY], without),
    variadic("mustWithout", &[&ANY, &ANY], without),
    func("has", &[&ANY, &ANY], has),
    func("mustHas", &[&ANY, &ANY], has),
    variadic("slice", &[&ANY, &ANY], slice),
    variadic("mustSlice", &[&ANY, &ANY], slice),
    variadic("concat", &[&ANY], concat),
    func("chunk", &[&INT, &ANY], chunk),
    func("mustChunk", &[&INT, &ANY], chunk),
    func("sortAlpha", &[&ANY], sort_alpha),
];

/// The elements of a slice, or the complaint of a function that wants one.
fn elements<'h>(cx: &Ctx<'h>, value: &Value<'h>, complaint: &str) -> Result<Cow<'h, [Value<'h>]>, Error> {
    room_for_bytes(cx, value)?;
    match value.elements() {
        Some(items) => Ok(items),
        None if value.is_nil() => Err(Error::new(NIL_POINTER)),
        None => Err(Error::new(complaint.replace("{}", value.kind().name()))),
    }
}

fn push<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let items = elements(cx, any(args, 0), "Cannot push on type {}")?;
    let mut longer = Vec::with_capacity(items.len() + 1);
    longer.extend_from_slice(&items);
    longer.push(any(args, 1).clone());
    Ok(cx.heap.list(longer))
}

fn prepend<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let items = elements(cx, any(args, 0), "Cannot prepend on type {}")?;
    let mut longer = Vec::with_capacity(items.len() + 1);
    longer.push(any(args, 1).clone());
    longer.extend_from_slice(&items);
    Ok(cx.heap.list(longer))
}

fn first<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let items = elements(cx, any(args, 0), "Cannot find first on type {}")?;
    Ok(items.first().cloned().unwrap_or_default())
}

fn last<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let items = elements(cx, any(args, 0), "Cannot find last on type {}")?;
    Ok(items.last().cloned().unwrap_or_default())
}

fn tail<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let items = elements(cx, any(args, 0), "Cannot find rest on type {}")?;
    Ok(match items.split_first() {
        Some((_, tail)) => cx.heap.list(tail.to_vec()),
        None => cx.heap.nil_list(&LIST),
    })
}

fn initial<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let items = elements(cx, any(args, 0), "Cannot find initial on type {}")?;
    Ok(match items.split_last() {
        Some((_, head)) => cx.heap.list(head.to_vec()),
        None => cx.heap.nil_list(&LIST),
    })
}

fn reverse<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let items = elements(cx, any(args, 0), "Cannot find reverse on type {}")?;
    Ok(cx.heap.list(items.iter().rev().cloned().collect()))
}

fn compact<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let items = elements(cx, any(args, 0), "Cannot compact on type {}")?;
    Ok(cx.heap.list(items.iter().filter(|v| v.truth()).cloned().collect()))
}

fn uniq<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let items = elements(cx, any(args, 0), "Cannot find uniq on type {}")?;
    let mut seen = BTreeSet::new();
    let mut others: Vec<Value<'h>> = Vec::new();
    let mut kept = Vec::new();
    for item in items.iter() {
        let new = match Scalar::of(item) {
            Some(scalar) => seen.insert(scalar),
            None => {
                let new = !contains(cx, &others, item)?;
                if new {
                    others.push(item.clone());
                }
                new
            }
        };
        if new {
            kept.push(item.clone());
        }
    }
    Ok(cx.heap.list(kept))
}

/// Values that are equal to Go exactly when these are equal, so that a set can hold them.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Scalar<'h> {
    Nil,
    Bool(bool),
    Int(i64),
    Int64(i64),
    Float(u64),
    Str(Str<'h>),
}

impl<'h> Scalar<'h> {
    fn of(value: &Value<'h>) -> Option<Self> {
        Some(match value {
            Value::Nil | Value::NilAny => Scalar::Nil,
            Value::Bool(b) => Scalar::Bool(*b),
            Value::Int(i) => Scalar::Int(*i),
            Value::Int64(i) => Scalar::Int64(*i),
            Value::Float(f) if !f.is_nan() => Scalar::Float((f + 0.0).to_bits()),
            Value::Str(s) => Scalar::Str(s.clone()),
            _ => return None,
        })
    }
}

fn contains<'h>(cx: &Ctx<'h>, list: &[Value<'h>], wanted: &Value<'h>) -> Result<bool, Error> {
    let quick = Scalar::of(wanted).is_some();
    for (i, item) in list.iter().enumerate() {
        // Two containers can take long to compare.
        if !quick || i % 256 == 255 {
            check_time(cx)?;
        }
        if wanted.deep_equal(item) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn without<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let items = elements(cx, any(args, 0), "Cannot find without on type {}")?;
    let omitted = rest(args, 1);
    let mut kept = Vec::new();
    for (i, item) in items.iter().enumerate() {
        if i % 256 == 255 {
            check_time(cx)?;
        }
        if !contains(cx, omitted, item)? {
            kept.push(item.clone());
        }
    }
    Ok(cx.heap.list(kept))
}

fn has<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let (wanted, list) = (any(args, 0), any(args, 1));
    if list.is_nil() {
        return Ok(Value::Bool(false));
    }
    let items = elements(cx, list, "Cannot find has on type {}")?;
    Ok(Value::Bool(contains(cx, &items, wanted)?))
}

fn slice<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let list = any(args, 0);
    let length = elements(cx, list, "list should be type of slice or array but {}")?.len();
    if length == 0 {
        return Ok(Value::Nil);
    }
    let start = usize::try_from(args.get(1).map_or(0, to_int64));
    let end = usize::try_from(args.get(2).map_or(length as i64, to_int64));
    let part = match (list, start, end) {
        (Value::Bytes(b), Ok(start), Ok(end)) => b.get(start..end).map(Value::Bytes),
        (Value::List(l), Ok(start), Ok(end)) => {
            l.items.get(start..end).map(|part| cx.heap.typed_list(l.ty, part.to_vec()))
        }
        _ => None,
    };
    part.ok_or_else(|| Error::new("reflect.Value.Slice: slice index out of bounds"))
}

fn concat<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let mut all = Vec::new();
    let size: usize = args.iter().map(|v| if let Value::List(l) = v { l.items.len() } else { 0 }).sum();
    cx.heap.for_a_while(|| cx.heap.charge(size.saturating_mul(size_of::<Value>())))?;
    for list in args {
        all.extend_from_slice(&elements(cx, list, "Cannot concat type {} as list")?);
    }
    Ok(if all.is_empty() { cx.heap.nil_list(&LIST) } else { cx.heap.list(all) })
}

/// What a chunk takes besides its elements.
const CHUNK: usize = 128;

/// The number of chunks comes from floating point arithmetic, which decides what odd sizes do.
fn chunk<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    const TOO_LONG: &str = "runtime error: makeslice: len out of range";
    let size = int(args, 0);
    let items = elements(cx, any(args, 1), "Cannot chunk type {}")?;
    let total = items.len() as f64;
    let count = float_to_int(((total - 1.0) / size as f64).floor() + 1.0);
    // With a negative size and at most one element there is one chunk, but its length may be the size.
    let odd = size < 0 && count > 0 && (items.len() as i64).checked_rem(size) == Some(0);
    if count < 0 || odd {
        return Err(Error::new(TOO_LONG));
    }
    let width = usize::try_from(size).unwrap_or(usize::MAX).max(1);
    cx.heap.for_a_while(|| cx.heap.charge((items.len() / width).saturating_mul(CHUNK)))?;
    let chunks = items.chunks(width).take(count as usize).map(|part| cx.heap.list(part.to_vec())).collect();
    Ok(cx.heap.typed_list(&LISTS, chunks))
}

fn sort_alpha<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let list = any(args, 0);
    if !matches!(list, Value::List(_) | Value::Bytes(_)) {
        return Ok(cx.heap.strings([strval(cx, list)?]));
    }
    let order = |a: &Value<'h>, b: &Value<'h>| a.as_str().cmp(&b.as_str());
    let texts = string_slice(cx, list)?;
    if let Value::List(l) = &texts {
        debug_assert!(l.ty.is(&STRINGS));
        l.sort(order);
    }
    Ok(texts)
}
