//! Whether a value is what its shape says, as far as ownership needs it.

use std::collections::BTreeSet;
use std::fmt;

use podium_schema::shape::{List, Merge, Shape, Shapes};
use serde_json::Value;

use super::{DEEPEST, Kind, Parts, keys, parts};
use crate::go;
use crate::step::{Datum, Step};

/// What is wrong with a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where, such as `.spec.replicas`.
    pub path: String,
    /// What.
    pub message: String,
}

/// All that is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errors(pub Vec<Problem>);

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = self.0.as_slice() {
            return write!(f, "{only}");
        }
        f.write_str("errors:")?;
        self.0.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

impl std::error::Error for Errors {}

/// Whether two items of a list may have the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    /// They may: what is stored is what it is.
    Allowed,
    /// They may not.
    Refused,
}

/// Checks a value.
pub fn validate(shapes: &Shapes, shape: &Shape, value: &Value, duplicates: Duplicates) -> Result<(), Errors> {
    let mut check = Check { shapes, duplicates, path: Vec::new(), problems: Vec::new() };
    check.value(shape, value);
    if check.problems.is_empty() { Ok(()) } else { Err(Errors(check.problems)) }
}

struct Check<'a> {
    shapes: &'a Shapes,
    duplicates: Duplicates,
    path: Vec<Step<'a>>,
    problems: Vec<Problem>,
}

impl<'a> Check<'a> {
    fn report(&mut self, message: String) {
        let path = self.path.iter().map(ToString::to_string).collect();
        self.problems.push(Problem { path, message });
    }

    fn below(&mut self, step: Step<'a>, shape: &'a Shape, value: &'a Value) {
        self.path.push(step);
        if self.path.len() > DEEPEST {
            // The path to it is too long to be of use.
            self.problems
                .push(Problem { path: String::new(), message: "value is nested too deeply".to_owned() });
        } else {
            self.value(shape, value);
        }
        self.path.pop();
    }

    fn value(&mut self, shape: &'a Shape, value: &'a Value) {
        match parts(shape) {
            Parts::Scalar(kind) => {
                if let Some(message) = scalar(kind, value) {
                    self.report(message);
                }
            }
            shape @ Parts::Map(_) => self.map(shape, value),
            Parts::List(list) => self.list(list, value),
            Parts::Any | Parts::Opaque => self.anything(value),
        }
    }

    fn map(&mut self, shape: Parts<'a>, value: &'a Value) {
        let map = match value {
            Value::Object(map) => map,
            Value::Null => return,
            other => return self.report(format!("expected map, got &{{{}}}", go::plain(other))),
        };
        for (key, value) in map {
            let Some(child) = shape.child(self.shapes, key) else {
                self.path.push(Step::field(key));
                self.report("field not declared in schema".to_owned());
                self.path.pop();
                return;
            };
            self.below(Step::field(key), child, value);
        }
    }

    fn list(&mut self, list: &'a List, value: &'a Value) {
        let items = match value {
            Value::Array(items) => items,
            Value::Null => return,
            other => return self.report(format!("expected list, got &{{{}}}", go::plain(other))),
        };
        let shape = self.shapes.get(list.items);
        let mut seen = BTreeSet::new();
        for (at, item) in items.iter().enumerate() {
            let step = if list.merge == Merge::Whole {
                Step::Index(i64::try_from(at).unwrap_or(i64::MAX))
            } else {
                match keys::step(self.shapes, list, item) {
                    Ok(step) => step,
                    Err(message) => return self.report(format!("element {at}: {message}")),
                }
            };
            if list.merge != Merge::Whole && items.len() > 1 {
                let again = !seen.insert(step.clone());
                if again && self.duplicates == Duplicates::Refused {
                    self.report(format!("duplicate entries for key {step}"));
                }
            }
            self.below(step, shape, item);
        }
    }

    /// Nothing can be wrong but the depth.
    fn anything(&mut self, value: &'a Value) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    self.below(Step::field(key), &super::ANYTHING, value);
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.below(Step::Value(Datum::Null), &super::ANYTHING, item);
                }
            }
            _ => {}
        }
    }
}

fn scalar(kind: Kind, value: &Value) -> Option<String> {
    let fits = match kind {
        Kind::Text => value.is_string(),
        Kind::Number => value.is_number(),
        Kind::Boolean => value.is_boolean(),
        Kind::Any => !value.is_object() && !value.is_array(),
    };
    if fits || value.is_null() {
        return None;
    }
    Some(match kind {
        Kind::Text => {
            format!("expected string, got &value.valueUnstructured{{Value:{}}}", go::literal(value))
        }
        Kind::Number => format!("expected numeric (int or float), got {}", go::type_name(value)),
        Kind::Boolean => format!("expected boolean, got &{{{}}}", go::plain(value)),
        Kind::Any => format!("expected any scalar, got &{{{}}}", go::plain(value)),
    })
}
