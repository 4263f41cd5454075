//! Empty values and choices between values.

use podium_gotmpl::types::{ANY, BOOL};
use podium_gotmpl::{Func, Value};

use crate::args::{any, func, rest, variadic};

/// The functions of this module.
pub static FUNCS: &[Func] = &[
    variadic("default", &[&ANY, &ANY], |_, a| {
        Ok(match a.get(1) {
            Some(given) if given.truth() => given.clone(),
            _ => any(a, 0).clone(),
        })
    }),
    func("empty", &[&ANY], |_, a| Ok(Value::Bool(!any(a, 0).truth()))),
    variadic("coalesce", &[&ANY], |_, a| Ok(a.iter().find(|v| v.truth()).cloned().unwrap_or_default())),
    variadic("all", &[&ANY], |_, a| Ok(Value::Bool(a.iter().all(Value::truth)))),
    variadic("any", &[&ANY], |_, a| Ok(Value::Bool(a.iter().any(Value::truth)))),
    func("ternary", &[&ANY, &ANY, &BOOL], |_, a| {
        let chosen = if any(a, 2).truth() { 0 } else { 1 };
        Ok(rest(a, chosen).first().cloned().unwrap_or_default())
    }),
];
