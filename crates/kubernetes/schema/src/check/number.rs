//! Numbers: ranges, bounds, multiples.

use podium_gotmpl::fmt::format_float;

use super::outcome::{Fault, Outcome};
use super::{Run, Trail};
use crate::go::{Figure, whole};
use crate::node::{Node, Type};

/// The largest whole number that JavaScript keeps apart from its neighbours.
const SAFE: f64 = 9_007_199_254_740_991.0;
const CLOSE: f64 = 1e-9;

/// Whether a float stands for a whole number, as far as it can be told.
pub fn is_whole(f: f64) -> bool {
    if f.is_nan() || f.abs() > SAFE {
        return false;
    }
    if f.fract() == 0.0 {
        return true;
    }
    // Below zero the original's unsigned neighbour is far away; there only whole numbers count.
    let near = unsigned(f);
    let distance = (f - near).abs();
    near != 0.0 && distance / (f.abs() + near.abs()).min(f64::MAX) < CLOSE
}

/// A float cut to an unsigned number and back, as an amd64 machine does it.
fn unsigned(f: f64) -> f64 {
    if f >= 0.0 { f.trunc() } else { whole(f) as u64 as f64 }
}

/// Where the number types of a schema say something about range.
fn range(node: &Node) -> (&'static str, &str) {
    let single = (node.words == "integer").then_some(Type::Integer);
    let single = single.or((node.words == "number").then_some(Type::Number));
    match (single, node.format.as_str()) {
        (Some(Type::Integer), format @ ("int32" | "int64")) => ("integer", format),
        (Some(Type::Integer), _) => ("integer", ""),
        (Some(_), format @ ("float" | "double")) => ("number", format),
        (Some(_), _) => ("number", ""),
        (None, _) => ("", ""),
    }
}

impl Run<'_> {
    /// What is wrong with a number, in the order of the original.
    pub(super) fn number(&self, out: &mut Outcome, node: &Node, figure: Figure, at: &Trail<'_>) {
        out.extend(self.in_range(node, figure, "Checked", at));
        if let Some(factor) = node.multiple_of {
            let fault = self.in_range(node, Figure::Broken(factor), "MultipleOf", at);
            let native = fault.is_none();
            out.extend(fault);
            out.extend(self.multiple(figure, factor, native, at));
        }
        if let Some((minimum, exclusive)) = node.minimum {
            let fault = self.in_range(node, Figure::Broken(minimum), "Minimum boundary", at);
            let bound = bound(figure, minimum, fault.is_none());
            out.extend(fault);
            let outside = match bound {
                (Figure::Whole(value), Figure::Whole(bound)) => value < bound || exclusive && value == bound,
                (value, bound) => {
                    value.float() < bound.float() || exclusive && value.float() == bound.float()
                }
            };
            if outside {
                let than = if exclusive { "greater than" } else { "greater than or equal to" };
                out.add(self.bounded(bound, than, at));
            }
        }
        if let Some((maximum, exclusive)) = node.maximum {
            let fault = self.in_range(node, Figure::Broken(maximum), "Maximum boundary", at);
            let bound = bound(figure, maximum, fault.is_none());
            out.extend(fault);
            let outside = match bound {
                (Figure::Whole(value), Figure::Whole(bound)) => value > bound || exclusive && value == bound,
                (value, bound) => {
                    value.float() > bound.float() || exclusive && value.float() == bound.float()
                }
            };
            if outside {
                let than = if exclusive { "less than" } else { "less than or equal to" };
                out.add(self.bounded(bound, than, at));
            }
        }
    }

    fn bounded(&self, (value, bound): (Figure, Figure), than: &str, at: &Trail<'_>) -> Fault {
        self.invalid(at, &value.plain(), &format!("should be {than} {}", bound.plain()))
    }

    fn multiple(&self, figure: Figure, factor: f64, native: bool, at: &Trail<'_>) -> Option<Fault> {
        if let (Figure::Whole(value), true) = (figure, native) {
            let factor = whole(factor);
            if factor <= 0 {
                return Some(self.not_positive(&factor.to_string(), at));
            }
            let fits = value.wrapping_rem(factor) == 0;
            return (!fits)
                .then(|| self.invalid(at, &value.to_string(), &format!("should be a multiple of {factor}")));
        }
        if factor <= 0.0 {
            return Some(self.not_positive(&format_float(factor), at));
        }
        let value = figure.float();
        let times = if factor < 1.0 { 1.0 / factor * value } else { value / factor };
        let rest = format!("should be a multiple of {}", format_float(factor));
        (!is_whole(times)).then(|| self.invalid(at, &format_float(value), &rest))
    }

    fn not_positive(&self, factor: &str, at: &Trail<'_>) -> Fault {
        let name = at.text();
        let text = format!("factor MultipleOf declared for {name} must be positive: {factor}");
        self.fault(&name, podium_meta::ErrorType::Invalid, Some(factor), &text, text.clone())
    }

    /// Whether a number, or a bound of numbers, is one of the type at all.
    fn in_range(&self, node: &Node, figure: Figure, what: &str, at: &Trail<'_>) -> Option<Fault> {
        let (kind, format) = range(node);
        let fits = match (kind, figure) {
            ("integer", Figure::Whole(value)) => format != "int32" || i32::try_from(value).is_ok(),
            ("integer", Figure::Broken(value)) => {
                let digits = value.to_string();
                if format == "int32" { digits.parse::<i32>().is_ok() } else { digits.parse::<i64>().is_ok() }
            }
            ("number", figure) => format != "float" || (figure.float() as f32).is_finite(),
            _ => true,
        };
        if fits {
            return None;
        }
        let format =
            if format.is_empty() { "(default format)".to_owned() } else { format!("with format {format}") };
        Some(self.loose(format!("{what} value must be of type {kind} {format} in {}", at.text())))
    }
}

/// A value and its bound as they are compared: whole if the value is, unless the bound is no number of the type.
fn bound(figure: Figure, bound: f64, native: bool) -> (Figure, Figure) {
    match figure {
        Figure::Whole(_) if native => (figure, Figure::Whole(whole(bound))),
        figure => (Figure::Broken(figure.float()), Figure::Broken(bound)),
    }
}
