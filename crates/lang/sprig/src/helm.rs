//! Helm's own functions that are no conversion.

use podium_gotmpl::types::{ANY, STRING};
use podium_gotmpl::{Ctx, Error, Func, Value};

use crate::args::{Outcome, any, func, string, text};

/// The functions of this module.
pub static FUNCS: &[Func] = &[
    func("required", &[&STRING, &ANY], |_, a| match any(a, 1) {
        value if is_missing(value) => Err(complaint(text(a, 0))),
        value => Ok(value.clone()),
    }),
    func("fail", &[&STRING], |_, a| Err(complaint(text(a, 0)))),
    func("lookup", &[&STRING, &STRING, &STRING, &STRING], lookup),
    func("getHostByName", &[&STRING], |cx, a| {
        let name = String::from_utf8_lossy(text(a, 0));
        // Sprig drops the resolver's error and chooses among no addresses.
        string(cx.world.resolve_host(&name).map_err(|_| Error::new("invalid argument to Intn"))?)
    }),
];

/// The functions as a linter sees them: values may be missing, and there is no cluster.
pub static LINT_FUNCS: &[Func] = &[
    func("required", &[&STRING, &ANY], |_, a| match any(a, 1) {
        value if is_missing(value) => string(""),
        value => Ok(value.clone()),
    }),
    func("fail", &[&STRING], |_, _| string("")),
    func("lookup", &[&STRING, &STRING, &STRING, &STRING], |cx, _| {
        Ok(Value::Map(cx.heap.map(Default::default())))
    }),
];

fn is_missing(value: &Value<'_>) -> bool {
    value.is_nil() || value.as_str().is_some_and(|s| s.is_empty())
}

/// Helm marks what the author wrote, so that it can be told from the rest of an error.
fn complaint(message: &[u8]) -> Error {
    Error::new([b"HELM_ERR_START", message, b"HELM_ERR_END"].concat())
}

fn lookup<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let nth = |i| String::from_utf8_lossy(text(args, i));
    cx.world.lookup(cx.heap, &nth(0), &nth(1), &nth(2), &nth(3)).map_err(Error::new)
}
