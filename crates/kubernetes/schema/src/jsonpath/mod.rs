//! Paths into objects as columns of lists write them: the JSONPath that kubectl speaks.

mod parse;

use serde_json::Value;

use crate::go::{self, Figure};
use parse::{Bound, Step};

/// A path that was read.
#[derive(Clone, Debug)]
pub struct JsonPath {
    parts: Vec<Part>,
}

/// One part of what a path prints: text, or what is found.
#[derive(Clone, Debug)]
enum Part {
    Text(Value),
    Steps(Vec<Step>),
}

type Found<'a> = Vec<&'a Value>;

impl JsonPath {
    /// Reads a path such as `.spec.items[?(@.name=="x")].size`; an error says why it is none.
    pub fn parse(path: &str) -> Result<Self, String> {
        Ok(Self { parts: parse::template(&format!("{{{path}}}"))? })
    }

    /// What the path leads to, if it leads anywhere; an error if it cannot be followed.
    pub fn find<'a>(&'a self, object: &'a Value) -> Result<Vec<&'a Value>, String> {
        let mut first = None;
        for part in &self.parts {
            let found = match part {
                Part::Text(text) => vec![text],
                Part::Steps(steps) => follow(vec![object], steps)?,
            };
            first.get_or_insert(found);
        }
        Ok(first.unwrap_or_default())
    }
}

impl JsonPath {
    /// The fields that the path begins with, if everything that it leads to is behind them.
    pub fn start(&self) -> Option<Vec<&str>> {
        let [Part::Steps(steps)] = self.parts.as_slice() else { return None };
        let fields: Vec<&str> = steps.iter().map_while(field).collect();
        (!fields.is_empty()).then_some(fields)
    }

    /// The first of what the path leads to from the value behind so many of its steps.
    pub fn follow_from<'a>(&'a self, steps: usize, value: Option<&'a Value>) -> Option<&'a Value> {
        let Some(Part::Steps(all)) = self.parts.first() else { return None };
        let rest = all.get(steps..).unwrap_or_default();
        follow(value.into_iter().collect(), rest).ok()?.into_iter().next()
    }
}

/// The name of a field that JSON writes without escapes.
fn field(step: &Step) -> Option<&str> {
    let escaped = |c: char| c.is_control() || matches!(c, '"' | '\\');
    match step {
        Step::Field(name) if !name.contains(escaped) => Some(name),
        _ => None,
    }
}

/// A found value as text.
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".to_owned(),
        Value::Array(_) | Value::Object(_) => go::json(value),
        single => go::plain(single),
    }
}

fn follow<'a>(mut found: Found<'a>, steps: &'a [Step]) -> Result<Found<'a>, String> {
    for step in steps {
        found = one(found, step)?;
    }
    Ok(found)
}

fn one<'a>(input: Found<'a>, step: &'a Step) -> Result<Found<'a>, String> {
    Ok(match step {
        Step::Text(text) => vec![text],
        Step::Same(value) => vec![value; input.len()],
        Step::Identifier(name) => return Err(format!("unrecognized identifier {name}")),
        Step::Field(name) => input.into_iter().filter_map(|value| value.get(name)).collect(),
        Step::All => input.into_iter().flat_map(children).collect(),
        Step::Deep => {
            let mut all = Vec::new();
            deep(&mut all, input);
            all
        }
        Step::Union(lists) => {
            let mut all = Vec::new();
            for list in lists {
                all.extend(follow(input.clone(), list)?);
            }
            all
        }
        Step::Slice(bounds) => {
            let mut all = Vec::new();
            for value in input {
                if !slice(&mut all, value, bounds)? {
                    break;
                }
            }
            all
        }
        Step::Filter { left, right, operator } => {
            let mut all = Vec::new();
            for value in input {
                if !value.is_array() {
                    return Err(format!("{} is not array or slice and cannot be filtered", go::plain(value)));
                }
                for item in children(value) {
                    if passes(item, left, right, operator)? {
                        all.push(item);
                    }
                }
            }
            all
        }
    })
}

fn children(value: &Value) -> Found<'_> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => Vec::new(),
    }
}

fn deep<'a>(all: &mut Found<'a>, input: Found<'a>) {
    for value in input {
        let inner = children(value);
        if !inner.is_empty() {
            all.push(value);
            deep(all, inner);
        }
    }
}

/// Items of a list between bounds; false if the bounds are empty, which ends the search.
fn slice<'a>(all: &mut Found<'a>, value: &'a Value, bounds: &[Bound; 3]) -> Result<bool, String> {
    let items = match value {
        Value::Null => return Ok(true),
        Value::Array(items) => items,
        other => return Err(format!("{} is not array or slice", go::plain(other))),
    };
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let [from, to, step] = bounds;
    let mut start = if from.known { from.value } else { 0 };
    if start < 0 {
        start += length;
    }
    let mut end = if to.known { to.value } else { length };
    if end < 0 || end == 0 && to.derived {
        end += length;
    }
    if start == end {
        return Ok(false);
    }
    if start >= length || start < 0 {
        return Err(format!("array index out of bounds: index {start}, length {length}"));
    }
    if end > length || end < 0 {
        return Err(format!("array index out of bounds: index {}, length {length}", end - 1));
    }
    if start > end {
        return Err(format!("starting index {start} is greater than ending index {end}"));
    }
    if step.known && step.value <= 0 {
        return Err("step must be > 0".to_owned());
    }
    let by = if step.known { usize::try_from(step.value).unwrap_or(usize::MAX) } else { 1 };
    let place = |place: i64| usize::try_from(place).unwrap_or(usize::MAX);
    all.extend((place(start)..place(end)).step_by(by).filter_map(|index| items.get(index)));
    Ok(true)
}

fn passes(item: &Value, left: &[Step], right: &[Step], operator: &str) -> Result<bool, String> {
    let lefts = follow(vec![item], left);
    if operator == "exists" {
        return Ok(lefts.is_ok_and(|lefts| !lefts.is_empty()));
    }
    let lefts = lefts?;
    let [left] = lefts.as_slice() else { return single(&lefts) };
    let rights = follow(vec![item], right)?;
    let [right] = rights.as_slice() else { return single(&rights) };
    let order = compare(left, right)?;
    let less = || order.ok_or_else(|| "invalid type for comparison".to_owned());
    Ok(match operator {
        "==" => left == right || order == Some(std::cmp::Ordering::Equal),
        "!=" => left != right && order != Some(std::cmp::Ordering::Equal),
        "<" => less()?.is_lt(),
        ">" => less()?.is_gt(),
        "<=" => less()?.is_le(),
        ">=" => less()?.is_ge(),
        other => return Err(format!("unrecognized filter operator {other}")),
    })
}

fn single(found: &[&Value]) -> Result<bool, String> {
    if found.is_empty() { Ok(false) } else { Err("can only compare one element at a time".to_owned()) }
}

/// The order of two values of one kind; none for flags.
fn compare(left: &Value, right: &Value) -> Result<Option<std::cmp::Ordering>, String> {
    match (left, right) {
        (Value::Bool(_), Value::Bool(_)) => Ok(None),
        (Value::String(left), Value::String(right)) => Ok(Some(left.cmp(right))),
        (Value::Number(left), Value::Number(right)) => match (Figure::of(left), Figure::of(right)) {
            (Figure::Whole(left), Figure::Whole(right)) => Ok(Some(left.cmp(&right))),
            (Figure::Broken(left), Figure::Broken(right)) => Ok(left.partial_cmp(&right)),
            _ => Err("incompatible types for comparison".to_owned()),
        },
        (left, right) => {
            let odd = |value: &Value| matches!(value, Value::Null | Value::Array(_) | Value::Object(_));
            let kind = if odd(left) || odd(right) { "invalid type" } else { "incompatible types" };
            Err(format!("{kind} for comparison"))
        }
    }
}
