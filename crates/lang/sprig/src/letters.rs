//! Case, white space, words and line breaks.

use podium_gotmpl::types::{INT, STRING};
use podium_gotmpl::{Ctx, Func, Value};

use crate::args::{Outcome, any, func, int, string, text};
use crate::text as forms;

/// The functions of this module.
pub static FUNCS: &[Func] = &[
    func("trim", &[&STRING], |_, a| {
        let trimmed = forms::trim_space(text(a, 0));
        Ok(if trimmed.len() == text(a, 0).len() {
            any(a, 0).clone()
        } else {
            Value::string(trimmed.to_vec())
        })
    }),
    func("upper", &[&STRING], |cx, a| changed(cx, a, forms::upper)),
    func("lower", &[&STRING], |cx, a| changed(cx, a, forms::lower)),
    func("title", &[&STRING], |cx, a| changed(cx, a, forms::title)),
    func("untitle", &[&STRING], |cx, a| changed(cx, a, forms::uncapitalize)),
    func("swapcase", &[&STRING], |cx, a| changed(cx, a, forms::swap_case)),
    func("snakecase", &[&STRING], |cx, a| changed(cx, a, forms::snake_case)),
    func("camelcase", &[&STRING], |cx, a| changed(cx, a, forms::pascal_case)),
    func("kebabcase", &[&STRING], |cx, a| changed(cx, a, forms::kebab_case)),
    func("nospace", &[&STRING], |cx, a| changed(cx, a, forms::without_space)),
    func("initials", &[&STRING], |cx, a| changed(cx, a, forms::initials)),
    func("abbrev", &[&INT, &STRING], |_, a| string(forms::abbreviate(int(a, 0), text(a, 1)))),
    func("abbrevboth", &[&INT, &INT, &STRING], |_, a| {
        string(forms::abbreviate_both(int(a, 0), int(a, 1), text(a, 2)))
    }),
    func("wrap", &[&INT, &STRING], |cx, a| {
        cx.heap.charge(text(a, 1).len())?;
        string(forms::wrap(int(a, 0), text(a, 1)))
    }),
    func("wrapWith", &[&INT, &STRING, &STRING], |cx, a| {
        let (width, separator, source) = (int(a, 0), text(a, 1), text(a, 2));
        // Lines end where they are full, or at a space.
        let spaces = source.iter().filter(|b| **b == b' ').count();
        let lines = spaces + source.len() / usize::try_from(width.max(1)).unwrap_or(usize::MAX);
        cx.heap.charge(lines.saturating_mul(separator.len()).saturating_add(source.len()))?;
        string(forms::wrap_with(width, separator, source))
    }),
];

fn changed<'h>(cx: &Ctx<'h>, args: &[Value<'h>], change: fn(&[u8]) -> Vec<u8>) -> Outcome<'h> {
    cx.heap.charge(text(args, 0).len())?;
    string(change(text(args, 0)))
}
