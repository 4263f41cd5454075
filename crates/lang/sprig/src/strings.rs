//! Text: cutting, joining, quoting, indenting.

use std::collections::BTreeSet;

use podium_gotmpl::fmt;
use podium_gotmpl::gostr::{decode_char, decode_last_char, quote as go_quote, runes};
use podium_gotmpl::types::{ANY, INT, STRING, STRING_MAP, STRINGS};
use podium_gotmpl::{Ctx, Entries, Error, Func, Str, Value};

use crate::args::{Outcome, any, func, int, string, strval, text, variadic};
use crate::limits::{PART, affordable, room_for_bytes};

/// The functions of this module.
pub static FUNCS: &[Func] = &[
    func("hello", &[], |_, _| string("Hello!")),
    func("trunc", &[&INT, &STRING], |_, a| string(truncate(int(a, 0), text(a, 1)).to_vec())),
    func("substr", &[&INT, &INT, &STRING], |_, a| substring(int(a, 0), int(a, 1), text(a, 2))),
    func("repeat", &[&INT, &STRING], |cx, a| string(repeat(cx, text(a, 1), int(a, 0))?)),
    func("trimall", &[&STRING, &STRING], |_, a| string(trim(text(a, 1), text(a, 0)).to_vec())),
    func("trimAll", &[&STRING, &STRING], |_, a| string(trim(text(a, 1), text(a, 0)).to_vec())),
    func("trimSuffix", &[&STRING, &STRING], |_, a| {
        Ok(if text(a, 1).ends_with(text(a, 0)) {
            Value::string(text(a, 1).strip_suffix(text(a, 0)).unwrap_or_default().to_vec())
        } else {
            any(a, 1).clone()
        })
    }),
    func("trimPrefix", &[&STRING, &STRING], |_, a| {
        Ok(match text(a, 1).strip_prefix(text(a, 0)) {
            Some(rest) => Value::string(rest.to_vec()),
            None => any(a, 1).clone(),
        })
    }),
    func("contains", &[&STRING, &STRING], |_, a| Ok(Value::Bool(find(text(a, 1), text(a, 0)).is_some()))),
    func("hasPrefix", &[&STRING, &STRING], |_, a| Ok(Value::Bool(text(a, 1).starts_with(text(a, 0))))),
    func("hasSuffix", &[&STRING, &STRING], |_, a| Ok(Value::Bool(text(a, 1).ends_with(text(a, 0))))),
    variadic("quote", &[&ANY], |cx, a| {
        joined(cx, a, |out, v| {
            let text = strval(cx, v)?;
            // A byte becomes four at most.
            cx.heap.for_a_while(|| cx.heap.charge(text.len().saturating_mul(4)))?;
            out.extend(go_quote(&text));
            Ok(())
        })
    }),
    variadic("squote", &[&ANY], |cx, a| {
        joined(cx, a, |out, v| {
            out.push(b'\'');
            fmt::value(out, v);
            out.push(b'\'');
            Ok(())
        })
    }),
    variadic("cat", &[&ANY], |cx, a| {
        joined(cx, a, |out, v| {
            fmt::value(out, v);
            Ok(())
        })
    }),
    func("indent", &[&INT, &STRING], |cx, a| string(indent(cx, Vec::new(), int(a, 0), text(a, 1))?)),
    func("nindent", &[&INT, &STRING], |cx, a| string(indent(cx, vec![b'\n'], int(a, 0), text(a, 1))?)),
    func("replace", &[&STRING, &STRING, &STRING], replace),
    func("plural", &[&STRING, &STRING, &INT], |_, a| Ok(any(a, usize::from(int(a, 2) != 1)).clone())),
    func("toString", &[&ANY], |cx, a| string(strval(cx, any(a, 0))?)),
    func("split", &[&STRING, &STRING], |cx, a| {
        numbered(cx, split(text(a, 1), text(a, 0), affordable(cx, -1)))
    }),
    func("splitn", &[&STRING, &INT, &STRING], |cx, a| {
        numbered(cx, split(text(a, 2), text(a, 0), affordable(cx, int(a, 1))))
    }),
    func("splitList", &[&STRING, &STRING], |cx, a| {
        let parts = split(text(a, 1), text(a, 0), affordable(cx, -1));
        cx.heap.charge(parts.len() * PART)?;
        Ok(cx.heap.strings(parts.into_iter().map(<[u8]>::to_vec)))
    }),
    func("toStrings", &[&ANY], |cx, a| string_slice(cx, any(a, 0))),
    func("join", &[&STRING, &ANY], join),
];

fn truncate(count: i64, s: &[u8]) -> &[u8] {
    let size = count.unsigned_abs() as usize;
    let part = if count < 0 {
        s.len().checked_sub(size).filter(|start| *start > 0).and_then(|start| s.get(start..))
    } else {
        s.get(..size)
    };
    part.unwrap_or(s)
}

fn substring<'h>(start: i64, end: i64, s: &[u8]) -> Outcome<'h> {
    let length = s.len() as i64;
    let found = if start < 0 {
        match usize::try_from(end) {
            Err(_) => Err(format!("[:{end}]")),
            Ok(to) => s.get(..to).ok_or_else(|| format!("[:{end}] with length {length}")),
        }
    } else if end < 0 || end > length {
        s.get(start as usize..).ok_or_else(|| format!("[{start}:{length}]"))
    } else {
        s.get(start as usize..end as usize).ok_or_else(|| format!("[{start}:{end}]"))
    };
    match found {
        Ok(part) => string(part.to_vec()),
        Err(bounds) => Err(Error::new(format!("runtime error: slice bounds out of range {bounds}"))),
    }
}

fn repeat(cx: &Ctx<'_>, s: &[u8], count: i64) -> Result<Vec<u8>, Error> {
    let count = usize::try_from(count).map_err(|_| Error::new("strings: negative Repeat count"))?;
    let size = s.len().checked_mul(count).filter(|size| *size <= i64::MAX as usize);
    cx.heap.charge(size.ok_or_else(|| Error::new("strings: Repeat output length overflow"))?)?;
    Ok(s.repeat(count))
}

/// Cuts the characters of a set from both ends. A damaged byte counts as U+FFFD on both sides.
fn trim<'a>(mut s: &'a [u8], set: &[u8]) -> &'a [u8] {
    let set: BTreeSet<char> = runes(set).map(|(_, c, _)| c).collect();
    loop {
        match decode_char(s) {
            (c, width) if width > 0 && set.contains(&c) => s = s.get(width..).unwrap_or_default(),
            _ => break,
        }
    }
    loop {
        match decode_last_char(s) {
            (c, width) if width > 0 && set.contains(&c) => {
                s = s.get(..s.len() - width).unwrap_or_default();
            }
            _ => return s,
        }
    }
}

/// The first place of a text in another.
pub(crate) fn find(s: &[u8], wanted: &[u8]) -> Option<usize> {
    if wanted.is_empty() {
        return Some(0);
    }
    memchr::memmem::find(s, wanted)
}

/// Writes all but the nils, with a space between.
fn joined<'h>(
    cx: &Ctx<'h>,
    args: &[Value<'h>],
    mut write: impl FnMut(&mut Vec<u8>, &Value<'h>) -> Result<(), Error>,
) -> Outcome<'h> {
    let mut out = Vec::new();
    for (i, value) in args.iter().filter(|v| !v.is_nil()).enumerate() {
        if i > 0 {
            out.push(b' ');
        }
        let before = out.len();
        write(&mut out, value)?;
        cx.heap.charge(out.len() - before)?;
    }
    string(out)
}

fn indent(cx: &Ctx<'_>, mut out: Vec<u8>, spaces: i64, s: &[u8]) -> Result<Vec<u8>, Error> {
    let width = usize::try_from(spaces).map_err(|_| Error::new("strings: negative Repeat count"))?;
    let lines = memchr::memchr_iter(b'\n', s).count() + 1;
    let size = width.saturating_mul(lines).saturating_add(s.len());
    cx.heap.charge(size)?;
    out.reserve_exact(size);
    for (i, line) in s.split(|b| *b == b'\n').enumerate() {
        if i > 0 {
            out.push(b'\n');
        }
        out.resize(out.len() + width, b' ');
        out.extend_from_slice(line);
    }
    Ok(out)
}

fn replace<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let (old, new, source) = (text(args, 0), text(args, 1), text(args, 2));
    let places: Vec<usize> = if old.is_empty() {
        runes(source).map(|(at, ..)| at).chain([source.len()]).collect()
    } else {
        memchr::memmem::find_iter(source, old).collect()
    };
    if places.is_empty() {
        return Ok(any(args, 2).clone());
    }
    let size = new.len().saturating_mul(places.len()).saturating_add(source.len());
    cx.heap.charge(size)?;
    let mut out = Vec::with_capacity(source.len());
    let mut done = 0;
    for at in places {
        out.extend_from_slice(source.get(done..at).unwrap_or_default());
        out.extend_from_slice(new);
        done = at + old.len();
    }
    out.extend_from_slice(source.get(done..).unwrap_or_default());
    string(out)
}

/// Go's `strings.SplitN`: at most `limit` parts (all when negative); an empty separator parts the characters.
fn split<'a>(s: &'a [u8], separator: &[u8], limit: i64) -> Vec<&'a [u8]> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if limit == 0 {
        return Vec::new();
    }
    let cuts: Vec<usize> = if separator.is_empty() {
        runes(s).map(|(at, ..)| at).skip(1).take(limit - 1).collect()
    } else {
        memchr::memmem::find_iter(s, separator).take(limit - 1).collect()
    };
    if separator.is_empty() && s.is_empty() {
        return Vec::new();
    }
    let mut parts = Vec::with_capacity(cuts.len() + 1);
    let mut done = 0;
    for at in cuts {
        parts.push(s.get(done..at).unwrap_or_default());
        done = at + separator.len();
    }
    parts.push(s.get(done..).unwrap_or_default());
    parts
}

/// The parts as a map with the keys `_0`, `_1` and so on.
fn numbered<'h>(cx: &Ctx<'h>, parts: Vec<&[u8]>) -> Outcome<'h> {
    cx.heap.charge(parts.len() * (PART + 2 * size_of::<Value>()))?;
    let entries: Entries<'h> = parts
        .into_iter()
        .enumerate()
        .map(|(i, part)| (format!("_{i}").into(), Value::string(part.to_vec())))
        .collect();
    Ok(Value::Map(cx.heap.typed_map(&STRING_MAP, entries)))
}

/// Anything as `[]string`: a slice of that type is handed back itself, `nil` elements of others are left out.
pub(crate) fn string_slice<'h>(cx: &Ctx<'h>, value: &Value<'h>) -> Outcome<'h> {
    room_for_bytes(cx, value)?;
    Ok(match value {
        Value::List(l) if l.ty.is(&STRINGS) => value.clone(),
        Value::Nil | Value::NilAny => cx.heap.typed_list(&STRINGS, Vec::new()),
        other => match other.elements() {
            Some(items) => cx.heap.strings(texts(cx, &items)?),
            None => cx.heap.strings([strval(cx, other)?]),
        },
    })
}

/// The elements of a list that are not `nil`, as texts.
fn texts<'h>(cx: &Ctx<'h>, items: &[Value<'h>]) -> Result<Vec<Str<'h>>, Error> {
    items.iter().filter(|v| !v.is_nil()).map(|v| strval(cx, v)).collect()
}

fn join<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let (separator, list) = (text(args, 0), any(args, 1));
    room_for_bytes(cx, list)?;
    let texts: Vec<Str<'h>> = match list.elements() {
        Some(items) => texts(cx, &items)?,
        None if list.is_nil() => Vec::new(),
        None => return string(strval(cx, list)?),
    };
    let gaps = separator.len().saturating_mul(texts.len().saturating_sub(1));
    let size = texts.iter().fold(gaps, |size, text| size.saturating_add(text.len()));
    cx.heap.charge(size)?;
    let mut out = Vec::with_capacity(size);
    for (i, text) in texts.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(separator);
        }
        out.extend_from_slice(text);
    }
    string(out)
}
