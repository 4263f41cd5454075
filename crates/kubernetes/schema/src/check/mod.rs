//! Checks values against a schema, with the verdicts and words of the API server.

mod combine;
mod number;
mod outcome;

use std::collections::HashSet;

use podium_meta::{ErrorType, FieldError};
use serde_json::{Map, Value};

use crate::correlate::Pair;
use crate::formats::Format;
use crate::go::{self, Figure};
use crate::node::{Node, Type};
use crate::path::Path;
use outcome::{Fault, Outcome};

/// Checks a value; with an old value, what has not changed is not reported.
pub fn check(node: &Node, base: &Path, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let run = Run { base };
    let root = Trail { parent: None, step: Step::Root };
    let outcome = match old {
        Some(old) => run.ratchet(node, &root, &Pair::new(new, old, node)),
        None => run.check(node, new, &root, None),
    };
    outcome.faults.into_iter().map(|fault| fault.flaw).collect()
}

/// One step from a value to one inside it.
enum Step<'a> {
    Root,
    Field(&'a str),
    Extra(&'a str),
    Index(usize),
}

/// The way to a value; it is written only where something is wrong.
struct Trail<'a> {
    parent: Option<&'a Trail<'a>>,
    step: Step<'a>,
}

impl<'a> Trail<'a> {
    fn to(&'a self, step: Step<'a>) -> Self {
        Trail { parent: Some(self), step }
    }

    fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    /// The name of the place, as sentences begin with it.
    fn text(&self) -> String {
        let mut steps = Vec::new();
        let mut at = Some(self);
        while let Some(trail) = at {
            steps.push(&trail.step);
            at = trail.parent;
        }
        let mut text = String::new();
        for step in steps.into_iter().rev() {
            match step {
                Step::Root => {}
                Step::Field(name) => {
                    if !text.is_empty() {
                        text.push('.');
                    }
                    text.push_str(name);
                }
                Step::Extra(name) => {
                    text.push('.');
                    text.push_str(name);
                }
                Step::Index(index) => text.push_str(&format!("[{index}]")),
            }
        }
        text
    }
}

/// One check of one object.
struct Run<'a> {
    base: &'a Path,
}

impl Run<'_> {
    /// A fault of the value at a place.
    fn fault(&self, name: &str, wrong: ErrorType, shown: Option<&str>, detail: &str, text: String) -> Fault {
        let field = match name {
            "" | "." => self.base.text(),
            name => self.base.child(name.strip_prefix('.').unwrap_or(name)).text(),
        };
        let flaw = match shown {
            Some(shown) => FieldError::new(wrong, field, shown, detail),
            None => FieldError::without_value(wrong, field, detail),
        };
        Fault { flaw, text }
    }

    /// A value that cannot be, shown, with the sentence as its detail.
    fn invalid(&self, at: &Trail<'_>, shown: &str, rest: &str) -> Fault {
        let name = at.text();
        let text = format!("{name} in body {rest}");
        self.fault(&name, ErrorType::Invalid, Some(shown), &text, text.clone())
    }

    /// Something that is said of the object as a whole.
    fn loose(&self, text: String) -> Fault {
        Fault { flaw: FieldError::new(ErrorType::Invalid, self.base, "\"\"", &text), text }
    }

    /// A value of another type.
    fn wrong_type(&self, at: &Trail<'_>, wanted: &str, found: &str) -> Fault {
        let name = at.text();
        let text = format!("{name} in body must be of type {wanted}: {}", go::quote(found));
        self.fault(&name, ErrorType::TypeInvalid, Some(&go::quote(found)), &text, text.clone())
    }

    /// Checks a new value beside its old one.
    fn ratchet(&self, node: &Node, at: &Trail<'_>, pair: &Pair<'_>) -> Outcome {
        let outcome = self.check(node, pair.new, at, Some(pair));
        if outcome.is_valid() || !pair.equal() { outcome } else { Outcome::counted(outcome.matches) }
    }

    /// Checks a value. What counts is how much of it was looked at, too: of several schemas of which none fits, the
    /// one that got furthest is reported.
    fn check(&self, node: &Node, value: &Value, at: &Trail<'_>, pair: Option<&Pair<'_>>) -> Outcome {
        let mut out = Outcome::default();
        if value.is_null() {
            match self.null(node, at) {
                Some(fault) => out.add(fault),
                None => out.matches += 1,
            }
            out.extend(self.choice(node, value, at));
            return out;
        }
        if !node.words.is_empty() || !node.format.is_empty() {
            match self.of_type(node, value, at) {
                Some(fault) => out.add(fault),
                None => out.matches += 1,
            }
            out.matches += 1;
        }
        if let Some(combined) = &node.combined {
            out.merge(self.combine(combined, value, at));
        }
        out.matches += 2;
        match value {
            Value::String(text) => {
                out.extend(self.text(node, text, at));
                out.matches += 1;
                if let Some(format) = node.known {
                    out.extend(self.format(node, format, text, at));
                    out.matches += 1;
                }
            }
            Value::Number(number) => {
                self.number(&mut out, node, Figure::of(number), at);
                out.matches += 2;
            }
            Value::Array(items) => {
                self.items(&mut out, node, items, at, pair);
                out.matches += 2;
            }
            _ => {}
        }
        out.extend(self.choice(node, value, at));
        out.matches += 1;
        if let Value::Object(fields) = value {
            self.fields(&mut out, node, fields, at, pair);
            out.matches += 1;
        }
        out.matches += 1;
        out
    }

    fn null(&self, node: &Node, at: &Trail<'_>) -> Option<Fault> {
        if node.words.is_empty() || node.types.has(Type::Null) || node.nullable {
            return None;
        }
        Some(self.wrong_type(at, &node.words, "null"))
    }

    fn of_type(&self, node: &Node, value: &Value, at: &Trail<'_>) -> Option<Fault> {
        let (kind, format) = match value {
            Value::Null | Value::Object(_) => (Type::Object, ""),
            Value::Bool(_) => (Type::Boolean, ""),
            Value::String(_) => (Type::String, ""),
            Value::Array(_) => (Type::Array, ""),
            Value::Number(number) => match Figure::of(number) {
                Figure::Whole(_) => (Type::Integer, "int64"),
                Figure::Broken(_) => (Type::Number, "float64"),
            },
        };
        let float = if kind == Type::Number { value.as_f64().unwrap_or_default() } else { 0.5 };
        let fits = node.types.has(kind)
            || node.types.has(Type::Integer) && number::is_whole(float)
            || kind == Type::Integer && node.types.has(Type::Number);
        let many = matches!(kind, Type::String | Type::Array);
        if !many && !node.format.is_empty() && !fits && format != node.format {
            return Some(self.wrong_type(at, &node.format, format));
        }
        let numeric = node.types.has(Type::Number) || node.types.has(Type::Integer);
        if fits || !numeric && !node.format.is_empty() && many {
            return None;
        }
        Some(self.wrong_type(at, &node.words, kind.name()))
    }

    fn text(&self, node: &Node, text: &str, at: &Trail<'_>) -> Option<Fault> {
        if node.max_length.is_none() && node.min_length.is_none() && node.pattern.is_none() {
            return None;
        }
        let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        if let Some(most) = node.max_length.filter(|most| length > *most) {
            let name = at.text();
            let said = format!("{name} in body should be at most {most} chars long");
            return Some(self.fault(&name, ErrorType::TooLong, None, &too_long(most), said));
        }
        if let Some(least) = node.min_length.filter(|least| length < *least) {
            let rest = format!("should be at least {least} chars long");
            return Some(self.invalid(at, &go::quote(text), &rest));
        }
        let pattern = node.pattern.as_ref()?;
        let rest = match &pattern.regex {
            Ok(regex) if regex.is_match(text) => return None,
            Ok(_) => format!("should match '{}'", pattern.text),
            Err(error) => format!("should match '{}, but pattern is invalid: {error}'", pattern.text),
        };
        Some(self.invalid(at, &go::quote(text), &rest))
    }

    fn format(&self, node: &Node, format: Format, text: &str, at: &Trail<'_>) -> Option<Fault> {
        (!format.fits(text)).then(|| self.wrong_type(at, &node.format, text))
    }

    /// One of a few values. Numbers are compared as the type of the allowed one, and a number is one character of text.
    fn choice(&self, node: &Node, value: &Value, at: &Trail<'_>) -> Option<Fault> {
        if node.enumeration.is_empty() || node.enumeration.iter().any(|allowed| same_choice(value, allowed)) {
            return None;
        }
        let name = at.text();
        let word = |allowed: &Value| {
            go::quote(allowed.as_str().map_or_else(|| go::json(allowed), str::to_owned).as_str())
        };
        let words: Vec<String> = node.enumeration.iter().map(word).collect();
        let detail = format!("supported values: {}", words.join(", "));
        let all: Vec<String> = node.enumeration.iter().map(go::plain).collect();
        let text = format!("{name} in body should be one of [{}]", all.join(" "));
        Some(self.fault(&name, ErrorType::NotSupported, Some(&go::shown(value)), &detail, text))
    }

    fn items(
        &self,
        out: &mut Outcome,
        node: &Node,
        items: &[Value],
        at: &Trail<'_>,
        pair: Option<&Pair<'_>>,
    ) {
        if let Some(schema) = node.items.as_deref() {
            for (index, item) in items.iter().enumerate() {
                let at = at.to(Step::Index(index));
                out.merge(match pair.and_then(|pair| pair.index(index)) {
                    Some(pair) => self.ratchet(schema, &at, &pair),
                    None => self.check(schema, item, &at, None),
                });
            }
        }
        let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
        if let Some(least) = node.min_items.filter(|least| size < *least) {
            out.add(self.invalid(at, &size.to_string(), &format!("should have at least {least} items")));
        }
        if let Some(most) = node.max_items.filter(|most| size > *most) {
            let name = at.text();
            let said = format!("{name} in body should have at most {most} items");
            out.add(self.fault(&name, ErrorType::TooMany, Some(&size.to_string()), &too_many(most), said));
        }
        let mut seen = HashSet::new();
        if node.unique_items && !items.iter().all(|item| seen.insert(item.to_string())) {
            out.add(self.invalid(at, "\"\"", "shouldn't contain duplicates"));
        }
    }

    fn fields(
        &self,
        out: &mut Outcome,
        node: &Node,
        fields: &Map<String, Value>,
        at: &Trail<'_>,
        pair: Option<&Pair<'_>>,
    ) {
        let size = i64::try_from(fields.len()).unwrap_or(i64::MAX);
        if let Some(least) = node.min_properties.filter(|least| size < *least) {
            out.add(self.invalid(at, &size.to_string(), &format!("should have at least {least} properties")));
        }
        if let Some(most) = node.max_properties.filter(|most| size > *most) {
            let name = at.text();
            let said = format!("{name} in body should have at most {most} properties");
            out.add(self.fault(&name, ErrorType::TooMany, Some(&size.to_string()), &too_many(most), said));
        }
        if let Some(extra) = &node.extra {
            for (name, value) in fields.iter().filter(|(name, _)| !node.properties.contains_key(*name)) {
                if !extra.allows {
                    let place = at.text();
                    let text = format!("{place}.{name} in body is a forbidden property");
                    out.add(self.fault(
                        &place,
                        ErrorType::Invalid,
                        Some(&go::quote(name)),
                        &text,
                        text.clone(),
                    ));
                } else if let Some(schema) = extra.node.as_deref() {
                    out.merge(self.field(schema, name, value, &at.to(Step::Extra(name)), pair));
                }
            }
        }
        for (name, schema) in &node.properties {
            if let Some(value) = fields.get(name) {
                out.merge(self.field(schema, name, value, &at.to(Step::Field(name)), pair));
            }
        }
        for name in node.required.iter().filter(|name| !fields.contains_key(*name)) {
            let place = format!("{}.{name}", at.text());
            let text = format!("{place} in body is required");
            out.add(self.fault(&place, ErrorType::Required, None, "", text));
        }
    }

    /// Checks a field; what the kind of an object says of itself is always looked at.
    fn field(
        &self,
        schema: &Node,
        name: &str,
        value: &Value,
        at: &Trail<'_>,
        pair: Option<&Pair<'_>>,
    ) -> Outcome {
        let named = at.parent.is_some_and(Trail::is_root) && matches!(name, "kind" | "apiVersion");
        match pair.and_then(|pair| pair.key(name)).filter(|_| !named) {
            Some(pair) => self.ratchet(schema, at, &pair),
            None => self.check(schema, value, at, None),
        }
    }
}

fn same_choice(value: &Value, allowed: &Value) -> bool {
    match (value, allowed) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Number(value), Value::Number(allowed)) => match (Figure::of(value), Figure::of(allowed)) {
            (Figure::Whole(value), Figure::Whole(allowed)) => value == allowed,
            (value, Figure::Broken(allowed)) => value.float() == allowed,
            (Figure::Broken(value), Figure::Whole(allowed)) => go::whole(value) == allowed,
        },
        (Value::Number(value), Value::String(allowed)) => match Figure::of(value) {
            Figure::Whole(code) => {
                let c = u32::try_from(code).ok().and_then(char::from_u32).unwrap_or('\u{FFFD}');
                allowed.chars().eq([c])
            }
            Figure::Broken(_) => false,
        },
        (value, allowed) => value == allowed,
    }
}

/// What is said of text that is too long.
pub fn too_long(most: i64) -> String {
    match most {
        1 => "may not be more than 1 byte".to_owned(),
        0.. => format!("may not be more than {most} bytes"),
        _ => "value is too long".to_owned(),
    }
}

/// What is said of a list that is too long.
pub fn too_many(most: i64) -> String {
    match most {
        1 => "must have at most 1 item".to_owned(),
        0.. => format!("must have at most {most} items"),
        _ => "has too many items".to_owned(),
    }
}
