//! What may change in one schema, keyword by keyword.

use serde_json::{Map, Value};

use crate::problem::{Check, listed, shown};

/// A change that a rule forbids.
#[derive(Debug, PartialEq)]
pub enum Change<'a> {
    /// In a keyword with a rule: the part that is no longer as it was, before and after.
    Ruled(&'static str, Value, Value),
    /// In keywords without a rule: each before and after.
    Other(Vec<(&'a str, &'a Value, &'a Value)>),
}

/// Looks at one keyword before and after; absent is null.
type Rule = fn(&Value, &Value) -> Option<(Value, Value)>;

/// Tells a change in words.
type Words = fn(&str, &Value, &Value) -> String;

/// The keywords with a rule of their own.
const RULES: &[(&str, Rule, Words)] = &[
    ("default", any_change, change_words),
    ("enum", fewer_values, enum_words),
    ("maxItems", lower, limit_words),
    ("maxLength", lower, limit_words),
    ("maxProperties", lower, limit_words),
    ("maximum", lower, limit_words),
    ("minItems", higher, limit_words),
    ("minLength", higher, limit_words),
    ("minProperties", higher, limit_words),
    ("minimum", higher, limit_words),
    ("nullable", any_change, null_words),
    ("oneOf", other_choices, choice_words),
    ("pattern", any_change, change_words),
    ("required", more_fields, required_words),
    ("type", any_change, change_words),
];

/// Keywords that may change freely, or whose parts are compared by themselves.
const FREE: &[&str] = &["description", "items", "properties"];

/// Keywords that hold schemas: too long to be shown.
const SCHEMAS: &[&str] = &[
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "definitions",
    "dependencies",
    "not",
    "patternProperties",
];

/// Every change between two schemas in their one form that a rule forbids.
pub fn changes<'a>(old: &'a Value, new: &'a Value) -> Vec<Change<'a>> {
    let mut found = Vec::new();
    for (keyword, rule, _) in RULES {
        let (before, after) = (part(old, keyword), part(new, keyword));
        if before != after
            && let Some((before, after)) = rule(before, after)
        {
            found.push(Change::Ruled(keyword, before, after));
        }
    }
    // What has no rule may not change at all.
    let keywords = |schema: &'a Value| schema.as_object().into_iter().flat_map(Map::keys);
    let other: Vec<_> = keywords(old)
        .chain(keywords(new).filter(|keyword| part(old, keyword).is_null()))
        .filter(|keyword| !FREE.contains(&keyword.as_str()) && RULES.iter().all(|rule| rule.0 != *keyword))
        .map(|keyword| (keyword.as_str(), part(old, keyword), part(new, keyword)))
        .filter(|(_, before, after)| before != after)
        .collect();
    if !other.is_empty() {
        found.push(Change::Other(other));
    }
    found
}

fn part<'a>(schema: &'a Value, keyword: &str) -> &'a Value {
    schema.get(keyword).unwrap_or(&Value::Null)
}

impl Change<'_> {
    /// The rule that it breaks.
    pub fn check(&self) -> Check {
        match self {
            Self::Ruled(keyword, ..) => Check::Keyword(keyword),
            Self::Other(_) => Check::Other,
        }
    }

    /// What changed, in words.
    pub fn words(&self) -> String {
        match self {
            Self::Ruled(keyword, before, after) => {
                let rule = RULES.iter().find(|rule| rule.0 == *keyword);
                rule.map_or(change_words as Words, |rule| rule.2)(keyword, before, after)
            }
            Self::Other(keywords) => {
                let each = keywords.iter().map(|(keyword, before, after)| {
                    if SCHEMAS.contains(keyword) && !before.is_null() && !after.is_null() {
                        format!("{keyword} changed")
                    } else {
                        change_words(keyword, before, after)
                    }
                });
                each.collect::<Vec<_>>().join("; ")
            }
        }
    }
}

fn any_change(old: &Value, new: &Value) -> Option<(Value, Value)> {
    (old != new).then(|| (old.clone(), new.clone()))
}

fn lower(old: &Value, new: &Value) -> Option<(Value, Value)> {
    tighter(old, new, |old, new| new < old)
}

fn higher(old: &Value, new: &Value) -> Option<(Value, Value)> {
    tighter(old, new, |old, new| new > old)
}

/// A limit where there was none is a tighter one; no limit is never one.
fn tighter(old: &Value, new: &Value, is_tighter: fn(f64, f64) -> bool) -> Option<(Value, Value)> {
    let found = match (old.as_f64(), new.as_f64()) {
        (_, None) => false,
        (None, Some(_)) => true,
        // Beyond 2^53 floats are too coarse for lengths.
        (Some(before), Some(after)) => match (old.as_i64(), new.as_i64()) {
            (Some(old), Some(new)) if old != new && before == after => {
                is_tighter(0.0, if new > old { 1.0 } else { -1.0 })
            }
            _ => is_tighter(before, after),
        },
    };
    found.then(|| (old.clone(), new.clone()))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The values of one list that another lacks, each once and in order.
fn missing(of: &[Value], from: &[Value]) -> Vec<Value> {
    // Sorted by their text: values themselves have no order.
    let known: std::collections::BTreeSet<String> = from.iter().map(Value::to_string).collect();
    let mut missing: Vec<(String, &Value)> =
        of.iter().map(|value| (value.to_string(), value)).filter(|(text, _)| !known.contains(text)).collect();
    missing.sort_by(|a, b| a.0.cmp(&b.0));
    missing.dedup_by(|a, b| a.0 == b.0);
    missing.into_iter().map(|(_, value)| value.clone()).collect()
}

fn fewer_values(old: &Value, new: &Value) -> Option<(Value, Value)> {
    let (old, new) = (list(old), list(new));
    if old.is_empty() {
        return Some((Value::Null, missing(new, &[]).into()));
    }
    let gone = missing(old, new);
    (!gone.is_empty()).then(|| (gone.into(), Value::Null))
}

fn more_fields(old: &Value, new: &Value) -> Option<(Value, Value)> {
    let added = missing(list(new), list(old));
    (!added.is_empty()).then(|| (Value::Null, added.into()))
}

/// The same choices in another order are the same; their words do not count.
fn other_choices(old: &Value, new: &Value) -> Option<(Value, Value)> {
    let bare = |value: &Value| -> Vec<Value> {
        let mut schemas = list(value).to_vec();
        for schema in schemas.iter_mut().filter_map(Value::as_object_mut) {
            for keyword in ["description", "title", "example", "externalDocs"] {
                schema.remove(keyword);
            }
        }
        schemas
    };
    let (old, new) = (bare(old), bare(new));
    let gone = missing(&old, &new);
    if !gone.is_empty() {
        return Some((gone.into(), Value::Null));
    }
    let added = missing(&new, &old);
    (!added.is_empty()).then(|| (Value::Null, added.into()))
}

fn change_words(keyword: &str, before: &Value, after: &Value) -> String {
    match (before, after) {
        (Value::Null, after) => format!("{keyword} added: {}", shown(after)),
        (before, Value::Null) => format!("{keyword} removed: {}", shown(before)),
        (before, after) => format!("{keyword} changed from {} to {}", shown(before), shown(after)),
    }
}

fn limit_words(keyword: &str, before: &Value, after: &Value) -> String {
    let verb = if keyword.starts_with("max") { "lowered" } else { "raised" };
    match before {
        Value::Null => change_words(keyword, before, after),
        before => format!("{keyword} {verb} from {} to {}", shown(before), shown(after)),
    }
}

fn enum_words(_: &str, before: &Value, after: &Value) -> String {
    match before {
        Value::Null => format!("any value was allowed, now only {}", listed(list(after))),
        before => format!("values no longer allowed: {}", listed(list(before))),
    }
}

fn required_words(_: &str, _: &Value, after: &Value) -> String {
    format!("new required fields: {}", listed(list(after)))
}

fn null_words(_: &str, _: &Value, after: &Value) -> String {
    if after.is_null() { "null is no longer allowed" } else { "null is allowed, which it was not" }.to_owned()
}

fn choice_words(keyword: &str, before: &Value, after: &Value) -> String {
    let (schemas, verb) = if after.is_null() { (before, "removed from") } else { (after, "added to") };
    let count = list(schemas).len();
    format!("{count} {} {verb} {keyword}", if count == 1 { "choice" } else { "choices" })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_rule_tells_what_changed() {
        let table = [
            (
                json!({"type": "string"}),
                json!({"type": "integer"}),
                r#"type changed from "string" to "integer""#,
            ),
            (json!({"maximum": 9}), json!({"maximum": 8.5}), "maximum lowered from 9 to 8.5"),
            (json!({"minLength": 1}), json!({"minLength": 2}), "minLength raised from 1 to 2"),
            (json!({}), json!({"maxItems": 3}), "maxItems added: 3"),
            (
                json!({"maxLength": i64::MAX}),
                json!({"maxLength": i64::MAX - 1}),
                "maxLength lowered from 9223372036854775807 to 9223372036854775806",
            ),
            (
                json!({"enum": ["a", "b", "c"]}),
                json!({"enum": ["d", "b"]}),
                r#"values no longer allowed: "a", "c""#,
            ),
            (json!({}), json!({"enum": ["a"]}), r#"any value was allowed, now only "a""#),
            (json!({"pattern": "^a"}), json!({}), r#"pattern removed: "^a""#),
            (json!({"required": ["a"]}), json!({"required": ["b", "a"]}), r#"new required fields: "b""#),
            (json!({"default": 1}), json!({"default": 2}), "default changed from 1 to 2"),
            (json!({}), json!({"nullable": true}), "null is allowed, which it was not"),
            (json!({"nullable": true}), json!({}), "null is no longer allowed"),
            (
                json!({"oneOf": [{}, {"type": "string"}]}),
                json!({"oneOf": [{}]}),
                "1 choice removed from oneOf",
            ),
            (json!({}), json!({"oneOf": [{}, {"type": "string"}]}), "2 choices added to oneOf"),
            (
                json!({"format": "a", "not": {}}),
                json!({"format": "b", "not": {"type": "string"}, "title": "t"}),
                r#"format changed from "a" to "b"; not changed; title added: "t""#,
            ),
        ];
        for (old, new, expected) in table {
            let changes = changes(&old, &new);
            let words: Vec<String> = changes.iter().map(Change::words).collect();
            assert_eq!(words, [expected], "{old} {new}");
        }
    }

    #[test]
    fn what_loosens_is_free() {
        let table = [
            (json!({"maximum": 9}), json!({"maximum": 10})),
            (json!({"maximum": 9, "minItems": 1}), json!({})),
            (json!({"enum": ["a"]}), json!({"enum": ["b", "a"]})),
            (json!({"required": ["a"]}), json!({})),
            (json!({"description": "a"}), json!({"description": "b"})),
            (json!({"oneOf": [{"type": "a"}, {"title": "x"}]}), json!({"oneOf": [{}, {"type": "a"}]})),
        ];
        for (old, new) in table {
            assert_eq!(changes(&old, &new), [], "{old} {new}");
        }
    }
}
