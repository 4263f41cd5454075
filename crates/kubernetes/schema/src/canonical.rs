//! Schemas in one form: what says nothing is left out, so that equal meanings are equal values.

use serde_json::{Map, Value};

/// How deep a definition may nest; our parser of answers takes no more either.
pub const DEEPEST: usize = 128;

/// What a keyword holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    /// A text, where the empty one is none.
    Text,
    /// A flag, where false is none.
    Flag,
    /// A number.
    Number,
    /// Anything but null.
    Data,
    /// A list of anything, where the empty one is none.
    List,
    /// A list of maps whose empty fields are none.
    Records,
    /// A map whose empty fields are none.
    Record,
    /// A schema, or something else in its place.
    Schema,
    /// A list of schemas.
    Schemas,
    /// A map of schemas.
    Named,
}

/// Every keyword that servers keep; they drop others.
const KEYWORDS: &[(&str, Holds)] = &[
    ("$ref", Holds::Data),
    ("$schema", Holds::Text),
    ("additionalItems", Holds::Schema),
    ("additionalProperties", Holds::Schema),
    ("allOf", Holds::Schemas),
    ("anyOf", Holds::Schemas),
    ("default", Holds::Data),
    ("definitions", Holds::Named),
    ("dependencies", Holds::Named),
    ("description", Holds::Text),
    ("enum", Holds::List),
    ("example", Holds::Data),
    ("exclusiveMaximum", Holds::Flag),
    ("exclusiveMinimum", Holds::Flag),
    ("externalDocs", Holds::Record),
    ("format", Holds::Text),
    ("id", Holds::Text),
    ("items", Holds::Schema),
    ("maxItems", Holds::Number),
    ("maxLength", Holds::Number),
    ("maxProperties", Holds::Number),
    ("maximum", Holds::Number),
    ("minItems", Holds::Number),
    ("minLength", Holds::Number),
    ("minProperties", Holds::Number),
    ("minimum", Holds::Number),
    ("multipleOf", Holds::Number),
    ("not", Holds::Schema),
    ("nullable", Holds::Flag),
    ("oneOf", Holds::Schemas),
    ("pattern", Holds::Text),
    ("patternProperties", Holds::Named),
    ("properties", Holds::Named),
    ("required", Holds::List),
    ("title", Holds::Text),
    ("type", Holds::Text),
    ("uniqueItems", Holds::Flag),
    ("x-kubernetes-embedded-resource", Holds::Flag),
    ("x-kubernetes-int-or-string", Holds::Flag),
    ("x-kubernetes-list-map-keys", Holds::List),
    ("x-kubernetes-list-type", Holds::Data),
    ("x-kubernetes-map-type", Holds::Data),
    ("x-kubernetes-preserve-unknown-fields", Holds::Data),
    ("x-kubernetes-validations", Holds::Records),
];

/// Whether a value nests deeper than anybody's schema; the rest of this crate may then not look at it.
pub fn too_deep(value: &Value) -> bool {
    let mut waiting = vec![(value, 0_usize)];
    while let Some((value, depth)) = waiting.pop() {
        if depth > DEEPEST {
            return true;
        }
        match value {
            Value::Array(list) => waiting.extend(list.iter().map(|one| (one, depth + 1))),
            Value::Object(map) => waiting.extend(map.values().map(|one| (one, depth + 1))),
            _ => {}
        }
    }
    false
}

/// The schema in its one form; what is no map is the empty schema. Its depth was checked before.
pub fn canonical(schema: &Value) -> Value {
    let mut out = Map::new();
    let Some(schema) = schema.as_object() else { return Value::Object(out) };
    for (keyword, holds) in KEYWORDS {
        if let Some(value) = schema.get(*keyword).and_then(|value| kept(value, *holds)) {
            out.insert((*keyword).to_owned(), value);
        }
    }
    Value::Object(out)
}

/// What a keyword says, if anything.
fn kept(value: &Value, holds: Holds) -> Option<Value> {
    let says = match holds {
        _ if value.is_null() => false,
        Holds::Text => value.as_str() != Some(""),
        Holds::Flag => value.as_bool() == Some(true),
        Holds::List | Holds::Records | Holds::Schemas => !value.as_array().is_some_and(Vec::is_empty),
        Holds::Named => !value.as_object().is_some_and(Map::is_empty),
        Holds::Number | Holds::Data | Holds::Record | Holds::Schema => true,
    };
    says.then(|| match (holds, value) {
        (Holds::Schema, Value::Object(_)) => canonical(value),
        (Holds::Schema | Holds::Schemas, Value::Array(list)) => list.iter().map(canonical).collect(),
        (Holds::Named, Value::Object(map)) => {
            // Dependencies may also be lists of names.
            let one = |value: &Value| if value.is_array() { value.clone() } else { canonical(value) };
            map.iter().map(|(name, value)| (name.clone(), one(value))).collect::<Map<_, _>>().into()
        }
        (Holds::Records, Value::Array(list)) => list.iter().map(record).collect(),
        (Holds::Record, _) => record(value),
        // 1 and 1.0 are one number.
        (Holds::Number, Value::Number(number)) => match number.as_i64() {
            None => number.as_f64().filter(|it| it.fract() == 0.0 && it.abs() < 1e15).map_or_else(
                || value.clone(),
                #[allow(clippy::cast_possible_truncation, reason = "it is whole and small")]
                |whole| Value::from(whole as i64),
            ),
            Some(_) => value.clone(),
        },
        _ => value.clone(),
    })
}

fn record(value: &Value) -> Value {
    let Some(map) = value.as_object() else { return value.clone() };
    let says = |value: &Value| !value.is_null() && value.as_str() != Some("");
    let fields = map.iter().filter(|(_, value)| says(value));
    Value::Object(fields.map(|(name, value)| (name.clone(), value.clone())).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_says_nothing_is_left_out() {
        let schema = json!({"type": "object", "title": "", "nullable": false, "enum": [], "default": null, "maximum": 1.0,
            "strange": 1, "x-kubernetes-preserve-unknown-fields": false, "not": {}, "properties": {"a": {"format": ""}},
            "x-kubernetes-validations": [{"rule": "r", "message": ""}]});
        let expected = json!({"type": "object", "maximum": 1, "x-kubernetes-preserve-unknown-fields": false, "not": {},
            "properties": {"a": {}}, "x-kubernetes-validations": [{"rule": "r"}]});
        assert_eq!(canonical(&schema), expected);
    }

    #[test]
    fn keywords_are_there_once() {
        assert!(KEYWORDS.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn deep_values_are_seen_without_recursion() {
        let mut value = json!(1);
        for _ in 0..DEEPEST {
            value = json!([value]);
        }
        assert!(!too_deep(&value));
        assert!(too_deep(&json!([value])));
    }
}
