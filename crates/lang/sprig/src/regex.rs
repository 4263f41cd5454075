//! Regular expressions.

use std::cell::RefCell;
use std::rc::Rc;

use podium_gotmpl::gostr::{can_backquote, quote};
use podium_gotmpl::types::{INT, STRING, STRINGS};
use podium_gotmpl::{Ctx, Error, Func, Value};
use podium_re2::Regex;

use crate::args::{Outcome, func, int, string, text};
use crate::limits::{PART, affordable};

/// The functions of this module.
pub static FUNCS: &[Func] = &[
    func("regexMatch", &[&STRING, &STRING], |_, a| {
        Ok(Value::Bool(compile(text(a, 0)).is_ok_and(|re| re.is_match(text(a, 1)))))
    }),
    func("mustRegexMatch", &[&STRING, &STRING], |_, a| Ok(Value::Bool(returned(a)?.is_match(text(a, 1))))),
    func("regexFind", &[&STRING, &STRING], |_, a| find(panicked(a)?, a)),
    func("mustRegexFind", &[&STRING, &STRING], |_, a| find(returned(a)?, a)),
    func("regexFindAll", &[&STRING, &STRING, &INT], |cx, a| find_all(cx, panicked(a)?, a)),
    func("mustRegexFindAll", &[&STRING, &STRING, &INT], |cx, a| find_all(cx, returned(a)?, a)),
    func("regexReplaceAll", &[&STRING, &STRING, &STRING], |cx, a| replace(cx, panicked(a)?, a)),
    func("mustRegexReplaceAll", &[&STRING, &STRING, &STRING], |cx, a| replace(cx, returned(a)?, a)),
    func("regexReplaceAllLiteral", &[&STRING, &STRING, &STRING], |cx, a| literal(cx, panicked(a)?, a)),
    func("mustRegexReplaceAllLiteral", &[&STRING, &STRING, &STRING], |cx, a| literal(cx, returned(a)?, a)),
    func("regexSplit", &[&STRING, &STRING, &INT], |cx, a| split(cx, panicked(a)?, a)),
    func("mustRegexSplit", &[&STRING, &STRING, &INT], |cx, a| split(cx, returned(a)?, a)),
    func("regexQuoteMeta", &[&STRING], |_, a| string(podium_re2::quote_meta(text(a, 0)))),
];

/// How many compiled patterns a thread keeps, and how long a pattern may be to be kept.
const KEPT: usize = 64;
const KEPT_LENGTH: usize = 1024;

thread_local! {
    /// The patterns that were used last, the newest at the end: charts match one pattern over and over.
    static RECENT: RefCell<Vec<Rc<Regex>>> = const { RefCell::new(Vec::new()) };
}

fn compile(pattern: &[u8]) -> Result<Rc<Regex>, podium_re2::Error> {
    RECENT.with_borrow_mut(|recent| {
        if let Some(found) = recent.iter().rposition(|re| re.pattern() == pattern) {
            let re = recent.remove(found);
            recent.push(Rc::clone(&re));
            return Ok(re);
        }
        let re = Rc::new(Regex::new(pattern)?);
        if pattern.len() <= KEPT_LENGTH {
            if recent.len() == KEPT {
                recent.remove(0);
            }
            recent.push(Rc::clone(&re));
        }
        Ok(re)
    })
}

/// The pattern of a function that returns the compiler's error.
fn returned(args: &[Value<'_>]) -> Result<Rc<Regex>, Error> {
    compile(text(args, 0)).map_err(|e| Error::new(e.to_bytes()))
}

/// The pattern of a function that panics with the compiler's error.
fn panicked(args: &[Value<'_>]) -> Result<Rc<Regex>, Error> {
    let pattern = text(args, 0);
    compile(pattern).map_err(|e| {
        let quoted = if can_backquote(pattern) { [b"`", pattern, b"`"].concat() } else { quote(pattern) };
        Error::new([b"regexp: Compile(", &quoted[..], b"): ", &e.to_bytes()].concat())
    })
}

fn find<'h>(re: Rc<Regex>, args: &[Value<'h>]) -> Outcome<'h> {
    string(re.find(text(args, 1)).unwrap_or_default().to_vec())
}

fn find_all<'h>(cx: &Ctx<'h>, re: Rc<Regex>, args: &[Value<'h>]) -> Outcome<'h> {
    let found = re.find_all(text(args, 1), affordable(cx, int(args, 2)));
    cx.heap.charge(found.len() * PART + text(args, 1).len())?;
    Ok(if found.is_empty() {
        cx.heap.nil_list(&STRINGS)
    } else {
        cx.heap.strings(found.into_iter().map(<[u8]>::to_vec))
    })
}

fn split<'h>(cx: &Ctx<'h>, re: Rc<Regex>, args: &[Value<'h>]) -> Outcome<'h> {
    if int(args, 2) == 0 {
        return Ok(cx.heap.nil_list(&STRINGS));
    }
    let parts = re.split(text(args, 1), affordable(cx, int(args, 2)));
    cx.heap.charge(parts.len() * PART + text(args, 1).len())?;
    Ok(cx.heap.strings(parts.into_iter().map(<[u8]>::to_vec)))
}

fn replace<'h>(cx: &Ctx<'h>, re: Rc<Regex>, args: &[Value<'h>]) -> Outcome<'h> {
    let template = text(args, 2);
    // Each reference of the template can bring the whole text once, over all matches together.
    let references = template.iter().filter(|b| **b == b'$').count();
    charge_growth(cx, &re, text(args, 1), template, references)?;
    string(re.replace_all(text(args, 1), template))
}

fn literal<'h>(cx: &Ctx<'h>, re: Rc<Regex>, args: &[Value<'h>]) -> Outcome<'h> {
    charge_growth(cx, &re, text(args, 1), text(args, 2), 0)?;
    string(re.replace_all_literal(text(args, 1), text(args, 2)))
}

/// Asks for room for the result; matches are counted only when it may be large.
fn charge_growth(
    cx: &Ctx<'_>,
    re: &Regex,
    source: &[u8],
    replacement: &[u8],
    references: usize,
) -> Result<(), Error> {
    const SMALL: usize = 1 << 20;
    let brought = source.len().saturating_mul(references + 1);
    let most = brought.saturating_add((source.len() + 1).saturating_mul(replacement.len()));
    if most <= SMALL {
        return cx.heap.charge(source.len() + replacement.len());
    }
    let matches = re.find_all_index(source, -1).len();
    cx.heap.charge(brought.saturating_add(matches.saturating_mul(replacement.len())))
}
