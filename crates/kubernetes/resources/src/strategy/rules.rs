//! Rules about types: what is asked of a value, in the order in which the server asks.

use super::formats::Format;
use super::place::{Flaws, Place};
use super::selectors;

/// One thing that is asked of an object.
#[derive(Clone, Copy)]
pub enum Rule {
    /// A field must not be empty.
    Need(&'static str),
    /// A field must not be empty, with a reason.
    NeedBecause(&'static str, &'static str),
    /// A text must be there and be of a format.
    Name(&'static str, Format),
    /// A text, if there is one, must be of a format.
    Form(&'static str, Format),
    /// A text must be there and be one of these.
    OneOf(&'static str, &'static [&'static str]),
    /// A text, if the field is there, must be one of these.
    Among(&'static str, &'static [&'static str]),
    /// A number must not be below zero.
    NotNegative(&'static str),
    /// A map of labels.
    Labels(&'static str),
    /// A selector of labels.
    Selector(&'static str),
    /// A function looks at it.
    Call(fn(&Place<'_>, &mut Flaws)),
}

/// Asks everything of an object.
pub fn check(place: &Place<'_>, rules: &[Rule], out: &mut Flaws) {
    rules.iter().for_each(|rule| one(place, *rule, out));
}

fn one(place: &Place<'_>, rule: Rule, out: &mut Flaws) {
    match rule {
        Rule::Need(key) => need(&place.at(key), "", out),
        Rule::NeedBecause(key, why) => need(&place.at(key), why, out),
        Rule::Name(key, format) => {
            let field = place.at(key);
            if field.text().is_empty() {
                out.required(&field, "");
            } else {
                out.wrong(&field, format(field.text()));
            }
        }
        Rule::Form(key, format) => {
            let field = place.at(key);
            if !field.text().is_empty() {
                out.wrong(&field, format(field.text()));
            }
        }
        Rule::OneOf(key, list) => one_of(&place.at(key), list, out),
        Rule::Among(key, list) => {
            let field = place.at(key);
            if field.is() && !list.contains(&field.text()) {
                out.unsupported(&field, list);
            }
        }
        Rule::NotNegative(key) => out.not_negative(&place.at(key)),
        Rule::Labels(key) => selectors::labels(&place.at(key), out),
        Rule::Selector(key) => selectors::selector(&place.at(key), out),
        Rule::Call(call) => call(place, out),
    }
}

fn need(field: &Place<'_>, why: &str, out: &mut Flaws) {
    if field.text().is_empty() && field.count() == 0 {
        out.required(field, why);
    }
}

/// A text that must be there and be one of a few.
pub fn one_of(field: &Place<'_>, list: &[&str], out: &mut Flaws) {
    if field.text().is_empty() {
        out.required(field, "");
    } else if !list.contains(&field.text()) {
        out.unsupported(field, list);
    }
}
