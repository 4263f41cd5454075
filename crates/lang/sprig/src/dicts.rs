//! Maps: building, reading, changing.

use std::collections::BTreeSet;

use podium_gotmpl::types::{ANY, MAP, STRING};
use podium_gotmpl::{Ctx, Entries, Error, Func, Map, Str, Value};

use crate::args::{Outcome, any, func, map, rest, string, strval, text, variadic};

/// The functions of this module.
pub static FUNCS: &[Func] = &[
    variadic("dict", &[&ANY], dict),
    func("get", &[&MAP, &STRING], |_, a| match map(a, 0).and_then(|m| m.get(text(a, 1))) {
        Some(value) => Ok(value),
        None => string(""),
    }),
    func("set", &[&MAP, &STRING, &ANY], set),
    func("unset", &[&MAP, &STRING], |cx, a| {
        if let Some(m) = map(a, 0) {
            m.remove(text(a, 1));
        }
        Ok(plain(cx, map(a, 0)))
    }),
    func("hasKey", &[&MAP, &STRING], |_, a| {
        Ok(Value::Bool(map(a, 0).is_some_and(|m| m.contains(text(a, 1)))))
    }),
    variadic("pluck", &[&STRING, &MAP], |cx, a| {
        let maps = rest(a, 1).iter().filter_map(Value::as_map);
        Ok(cx.heap.list(maps.filter_map(|m| m.get(text(a, 0))).collect()))
    }),
    variadic("keys", &[&MAP], |cx, a| {
        let count: usize = a.iter().filter_map(Value::as_map).map(Map::len).sum();
        cx.heap.for_a_while(|| cx.heap.charge(count.saturating_mul(2 * size_of::<Value>())))?;
        let mut keys: Vec<Str<'_>> = Vec::with_capacity(count);
        for m in a.iter().filter_map(Value::as_map) {
            keys.extend(m.borrow().keys().cloned());
        }
        Ok(cx.heap.strings(keys))
    }),
    func("values", &[&MAP], |cx, a| {
        let values = map(a, 0).map(|m| m.borrow().values().cloned().collect()).unwrap_or_default();
        Ok(cx.heap.list(values))
    }),
    variadic("pick", &[&MAP, &STRING], |cx, a| {
        let keys = rest(a, 1).iter().filter_map(Value::as_str);
        let entries = keys.filter_map(|k| Some((k.clone(), map(a, 0)?.get(k)?))).collect();
        Ok(Value::Map(cx.heap.map(entries)))
    }),
    variadic("omit", &[&MAP, &STRING], |cx, a| {
        let omitted: BTreeSet<&[u8]> = rest(a, 1).iter().filter_map(Value::as_str).map(|s| &s[..]).collect();
        let mut entries = map(a, 0).map(Map::entries).unwrap_or_default();
        entries.retain(|(key, _)| !omitted.contains(&key[..]));
        Ok(Value::Map(cx.heap.map(entries.into_iter().collect())))
    }),
    variadic("dig", &[&ANY], dig),
];

/// The argument as a function hands it back: the same map, but of the parameter's type.
pub(crate) fn plain<'h>(cx: &Ctx<'h>, map: Option<&'h Map<'h>>) -> Value<'h> {
    match map {
        Some(m) => Value::Map(cx.heap.retyped(m, &MAP)),
        None => cx.heap.nil_map(&MAP),
    }
}

fn dict<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let mut entries = Entries::new();
    for pair in args.chunks(2) {
        let value = pair.get(1).cloned().unwrap_or_else(|| Value::string(""));
        entries.insert(strval(cx, any(pair, 0))?, value);
    }
    Ok(Value::Map(cx.heap.map(entries)))
}

fn set<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let Some(m) = map(args, 0).filter(|m| !m.nil) else {
        return Err(Error::new("assignment to entry in nil map"));
    };
    let key = strval(cx, any(args, 1))?;
    cx.heap.charge(2 * size_of::<Value>())?;
    m.set(key, any(args, 2).clone());
    Ok(plain(cx, Some(m)))
}

fn dig<'h>(_: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let [keys @ .., fallback, start] = args else {
        return Err(Error::new("dig needs at least three arguments"));
    };
    let Some((last, path)) = keys.split_last() else {
        return Err(Error::new("dig needs at least three arguments"));
    };
    let mut here = exactly_map(start)?;
    for key in keys {
        key.as_str().ok_or_else(|| not_a(key, "string"))?;
    }
    for key in path {
        match here.get(text(std::slice::from_ref(key), 0)) {
            Some(step) => here = exactly_map(&step)?,
            None => return Ok(fallback.clone()),
        }
    }
    Ok(here.get(text(std::slice::from_ref(last), 0)).unwrap_or_else(|| fallback.clone()))
}

/// Go's type assertion to `map[string]interface {}`: a named map type does not pass.
fn exactly_map<'h>(value: &Value<'h>) -> Result<&'h Map<'h>, Error> {
    match value {
        Value::Map(m) if m.ty.is(&MAP) => Ok(m),
        other => Err(not_a(other, MAP.name)),
    }
}

fn not_a(value: &Value<'_>, wanted: &str) -> Error {
    let found = if value.is_nil() { "nil" } else { value.type_name() };
    Error::new(format!("interface conversion: interface {{}} is {found}, not {wanted}"))
}
