//! Problems that a checked tree can still have: literals that no function takes, and lists of mixed types.

use podium_re2::Regex;
use podium_sprig::gotime::Duration;

use crate::ast::{Call, Expr, Kind, Literal};
use crate::checker::Checked;
use crate::library::check_format;
use crate::source::{Issues, Place};
use crate::types::Type;

/// Reports the problems of a tree.
pub fn validate(checked: &Checked, issues: &mut Issues) {
    walk(checked, &checked.tree, false, issues);
}

fn walk(checked: &Checked, expr: &Expr, in_format: bool, issues: &mut Issues) {
    let mut in_format = in_format;
    match &expr.kind {
        Kind::Call(call) => {
            literals(call, issues);
            if &*call.function == "format" {
                formats(checked, expr, call, issues);
                in_format = true;
            }
        }
        Kind::List(elements) if !in_format => {
            let types =
                elements.iter().map(|(element, optional)| (element.place, part(checked, element, *optional)));
            homogeneous(types.collect(), true, issues);
        }
        Kind::Map(entries) if !in_format => {
            let keys = entries.iter().map(|entry| (entry.key.place, checked.type_of(&entry.key).clone()));
            homogeneous(keys.collect(), false, issues);
            let values =
                entries.iter().map(|entry| (entry.value.place, part(checked, &entry.value, entry.optional)));
            homogeneous(values.collect(), false, issues);
        }
        _ => {}
    }
    for child in expr.children() {
        walk(checked, child, in_format, issues);
    }
}

fn part(checked: &Checked, expr: &Expr, optional: bool) -> Type {
    let t = checked.type_of(expr);
    if optional { t.unwrapped().unwrap_or(t).clone() } else { t.clone() }
}

fn homogeneous(types: Vec<(Place, Type)>, only_first: bool, issues: &mut Issues) {
    let Some(((_, first), rest)) = types.split_first() else { return };
    for (place, t) in rest.iter().filter(|(_, t)| !first.is_equivalent(t)) {
        issues.report(*place, format!("expected type '{first}' but found '{t}'"));
        if only_first {
            break;
        }
    }
}

/// Durations, moments and patterns that are written out.
fn literals(call: &Call, issues: &mut Issues) {
    let Some(Expr { kind: Kind::Literal(literal), place, .. }) = call.args.first() else { return };
    let good = match (&*call.function, literal) {
        ("duration", Literal::String(text)) => Duration::parse(&**text).is_ok(),
        ("duration", Literal::Int(_)) => false,
        ("timestamp", Literal::String(text)) => {
            matches!(crate::library::timestamp(text), Some(crate::value::Value::Timestamp(_)))
        }
        ("timestamp", Literal::Int(second)) => crate::library::is_second(*second),
        ("matches", Literal::String(pattern)) => Regex::new(pattern.as_bytes()).is_ok(),
        _ => true,
    };
    if !good {
        issues.report(*place, format!("invalid {} argument", call.function));
    }
}

/// A format and its arguments that are both written out.
fn formats(checked: &Checked, expr: &Expr, call: &Call, issues: &mut Issues) {
    let (Some(target), [Expr { kind: Kind::List(args), .. }]) =
        (call.target.as_deref(), call.args.as_slice())
    else {
        return;
    };
    let Kind::Literal(Literal::String(format)) = &target.kind else { return };
    let mut wrong: Option<Place> = None;
    let asked = check_format(format, args.len(), |at, clause| {
        let (arg, _) = args.get(at)?;
        let found = unfit(checked, arg, clause)?;
        wrong = Some(found.place);
        Some(checked.type_of(found).runtime_name().to_owned())
    });
    match asked {
        Err(error) => issues.report(wrong.unwrap_or(expr.place), error),
        Ok(asked) if args.len() > asked => {
            let count = args.len();
            issues.report(
                expr.place,
                format!("too many arguments supplied to string.format (expected {asked}, got {count})"),
            );
        }
        Ok(_) => {}
    }
}

/// The part of an argument that a clause does not take.
fn unfit<'e>(checked: &Checked, arg: &'e Expr, clause: crate::library::Clause) -> Option<&'e Expr> {
    if !clause.takes(checked.type_of(arg)) {
        return Some(arg);
    }
    if clause != crate::library::Clause::Text || !matches!(arg.kind, Kind::List(_) | Kind::Map(_)) {
        return None;
    }
    arg.children().into_iter().find_map(|child| unfit(checked, child, clause))
}
