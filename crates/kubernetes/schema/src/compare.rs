//! Two schemas, side by side.

use serde_json::{Map, Value};

use crate::problem::Check;
use crate::rules::{Change, changes};

/// What is compared: schemas in their one form, whose depth was checked, so that recursion is bounded.
#[derive(Clone, Copy)]
struct Pair<'a> {
    old: &'a Value,
    /// Nothing where the new side lacks the field.
    new: Option<&'a Value>,
}

/// One step from a schema to one inside it.
#[derive(Clone, Copy)]
enum Step<'a> {
    /// The value of a keyword.
    At(&'static str),
    /// One of a keyword's list.
    Index(&'static str, usize),
    /// One of a keyword's map.
    Name(&'static str, &'a str),
}

/// Is told the path of every problem, the rule, and the words.
pub type Tell<'t> = dyn FnMut(&dyn Fn() -> String, Check, &dyn Fn() -> String) + 't;

/// A comparison under way.
struct Walk<'a, 't, 's> {
    steps: Vec<Step<'a>>,
    /// Whether a field that is gone is one, whatever it was.
    strict: bool,
    /// What is said of a field that is gone.
    gone: &'s str,
    tell: &'s mut Tell<'t>,
}

/// Compares a version with its successor: what only the new one has is free to come.
pub fn successor(old: &Value, new: &Value, tell: &mut Tell<'_>) {
    let mut walk = Walk { steps: Vec::new(), strict: true, gone: "field is gone", tell };
    walk.visit(Pair { old, new: Some(new) }, None);
}

/// Compares two versions that are served beside each other; what was already so between those of the past is no news.
pub fn neighbours(
    older: &Value,
    newer: &Value,
    past: Option<(&Value, &Value)>,
    gone: &str,
    tell: &mut Tell<'_>,
) {
    let mut walk = Walk { steps: Vec::new(), strict: false, gone, tell };
    let past = past.map(|(older, newer)| Pair { old: older, new: Some(newer) });
    walk.visit(Pair { old: older, new: Some(newer) }, past);
}

impl<'a> Walk<'a, '_, '_> {
    fn visit(&mut self, pair: Pair<'a>, past: Option<Pair<'a>>) {
        if pair.new.is_none() {
            // All that was in it is gone with it: that is one problem.
            if self.strict || pair.has_news(past) {
                let gone = self.gone;
                self.tell(Check::FieldRemoval, &|| gone.to_owned());
            }
            return;
        }
        for change in pair.news(past) {
            self.tell(change.check(), &|| change.words());
        }
        for step in steps(pair.old) {
            if let Some(child) = pair.child(step) {
                self.steps.push(step);
                self.visit(child, past.and_then(|past| past.child(step)));
                self.steps.pop();
            }
        }
    }

    fn tell(&mut self, check: Check, words: &dyn Fn() -> String) {
        let steps = &self.steps;
        (self.tell)(&|| steps.iter().map(Step::segment).collect(), check, words);
    }
}

impl<'a> Pair<'a> {
    fn child(self, step: Step<'_>) -> Option<Self> {
        let new = self.new.and_then(|new| find(new, step));
        find(self.old, step).map(|old| Self { old, new })
    }

    fn changes(self) -> Vec<Change<'a>> {
        changes(self.old, self.new.unwrap_or(&Value::Null))
    }

    /// Changes that the past did not have.
    fn news(self, past: Option<Self>) -> Vec<Change<'a>> {
        let mut found = self.changes();
        if let Some(past) = past.filter(|_| !found.is_empty()) {
            let known = past.changes();
            found.retain(|change| !known.contains(change));
        }
        found
    }

    /// Whether there are such changes here or in anything inside.
    fn has_news(self, past: Option<Self>) -> bool {
        !self.news(past).is_empty()
            || steps(self.old).into_iter().any(|step| {
                let past = past.and_then(|past| past.child(step));
                self.child(step).is_some_and(|child| child.has_news(past))
            })
    }
}

fn find<'a>(schema: &'a Value, step: Step<'_>) -> Option<&'a Value> {
    let found = match step {
        Step::At(keyword) => schema.get(keyword),
        Step::Index(keyword, index) => schema.get(keyword)?.as_array()?.get(index),
        Step::Name(keyword, name) => schema.get(keyword)?.as_object()?.get(name),
    };
    found.filter(|found| found.is_object())
}

/// The ways to all schemas right inside a schema.
fn steps(schema: &Value) -> Vec<Step<'_>> {
    let mut all: Vec<Step<'_>> =
        ["items", "additionalProperties", "not", "additionalItems"].map(Step::At).into();
    for keyword in ["items", "allOf", "anyOf", "oneOf"] {
        let count = schema.get(keyword).and_then(Value::as_array).map_or(0, Vec::len);
        all.extend((0..count).map(|index| Step::Index(keyword, index)));
    }
    for keyword in ["properties", "patternProperties", "definitions", "dependencies"] {
        let names = schema.get(keyword).and_then(Value::as_object).into_iter().flat_map(Map::keys);
        all.extend(names.map(|name| Step::Name(keyword, name)));
    }
    all
}

impl Step<'_> {
    fn segment(&self) -> String {
        match self {
            Self::At("items") => "[]".to_owned(),
            Self::At("additionalProperties") => "[*]".to_owned(),
            Self::At(keyword) => format!(".{keyword}"),
            Self::Index(keyword, index) => format!(".{keyword}[{index}]"),
            Self::Name("properties", name) => format!(".{name}"),
            Self::Name(keyword, name) => format!(".{keyword}[{name}]"),
        }
    }
}
