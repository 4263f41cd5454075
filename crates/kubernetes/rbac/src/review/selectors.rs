//! Selectors in questions about rights: roles do not know them, but they have to make sense.

use podium_meta::{FieldError, Selector, names};
use serde_json::Value;

use super::{given, text};
use crate::attributes::field_terms;
use crate::rule::texts;
use crate::text::invalid;

/// What a selector chooses by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Fields of objects.
    Field,
    /// Labels.
    Label,
}

const VALUES: &str = "must be specified when `operator` is 'In' or 'NotIn'";
const NO_VALUES: &str = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";

fn requirements(selector: &Value) -> &[Value] {
    selector.get("requirements").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// What is wrong with a selector.
pub fn flaws(selector: &Value, kind: Kind, field: &str) -> Vec<FieldError> {
    let (raw, all) = (text(selector, "rawSelector"), requirements(selector));
    let mut flaws = Vec::new();
    if !raw.is_empty() && !all.is_empty() {
        let detail = "may not specified at the same time as requirements";
        flaws.push(invalid(format!("{field}.rawSelector"), raw, detail));
    }
    if raw.is_empty() && all.is_empty() {
        let detail = format!("when {field} is specified, requirements or rawSelector is required");
        flaws.push(FieldError::required(format!("{field}.requirements"), &detail));
    }
    for (index, one) in all.iter().enumerate() {
        let place = format!("{field}.requirements[{index}]");
        let (key, values) = (text(one, "key"), texts(one, "values"));
        if kind == Kind::Field && key.is_empty() {
            flaws.push(FieldError::required(format!("{place}.key"), "must be specified"));
        }
        match text(one, "operator") {
            "In" | "NotIn" if values.is_empty() => {
                flaws.push(FieldError::required(format!("{place}.values"), VALUES))
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                flaws.push(FieldError::forbidden(format!("{place}.values"), NO_VALUES));
            }
            _ => {}
        }
        if kind == Kind::Label {
            let wrong = names::qualified(key);
            flaws.extend(wrong.iter().map(|detail| invalid(format!("{place}.key"), key, detail)));
            for (index, value) in values.iter().enumerate() {
                let place = format!("{place}.values[{index}]");
                let wrong = names::label_value(value);
                flaws.extend(wrong.iter().map(|detail| invalid(place.clone(), value, detail)));
            }
        }
    }
    flaws
}

/// What is said about selectors of a question that cannot be read as a whole.
pub fn unread(resource: &Value) -> String {
    let mut said = Vec::new();
    for (key, kind) in [("fieldSelector", Kind::Field), ("labelSelector", Kind::Label)] {
        let Some(selector) = given(resource, key) else { continue };
        let (raw, all) = (text(selector, "rawSelector"), requirements(selector));
        let (good, bad) = match (kind, all) {
            (Kind::Field, []) => (0, usize::from(field_terms(raw).is_err())),
            (Kind::Label, []) => (0, usize::from(Selector::parse(raw).is_err())),
            (Kind::Field, all) => {
                count(all, |operator, values| matches!((operator, values), ("In" | "NotIn", 1)))
            }
            (Kind::Label, all) => {
                count(all, |operator, _| matches!(operator, "In" | "NotIn" | "Exists" | "DoesNotExist"))
            }
        };
        if bad > 0 {
            let how = if good > 0 { "partially ignored" } else { "ignored" };
            said.push(format!("spec.resourceAttributes.{key} {how} due to parse error"));
        }
    }
    said.join("; ")
}

fn count(all: &[Value], good: impl Fn(&str, usize) -> bool) -> (usize, usize) {
    let good = all.iter().filter(|one| good(text(one, "operator"), texts(one, "values").len())).count();
    (good, all.len() - good)
}
