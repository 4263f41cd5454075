//! What a value is.

use podium_gotmpl::types::{ANY, STRING};
use podium_gotmpl::{Func, Value};

use crate::args::{any, func, string, text};

/// The functions of this module.
pub static FUNCS: &[Func] = &[
    func("typeOf", &[&ANY], |_, a| string(any(a, 0).type_name())),
    func("typeIs", &[&STRING, &ANY], |_, a| Ok(Value::Bool(text(a, 0) == any(a, 1).type_name().as_bytes()))),
    func("typeIsLike", &[&STRING, &ANY], |_, a| {
        let name = any(a, 1).type_name().as_bytes();
        Ok(Value::Bool(text(a, 0) == name || name.strip_prefix(b"*") == Some(text(a, 0))))
    }),
    func("kindOf", &[&ANY], |_, a| string(any(a, 0).kind().name())),
    func("kindIs", &[&STRING, &ANY], |_, a| {
        Ok(Value::Bool(text(a, 0) == any(a, 1).kind().name().as_bytes()))
    }),
    func("deepEqual", &[&ANY, &ANY], |_, a| Ok(Value::Bool(any(a, 0).deep_equal(any(a, 1))))),
];
