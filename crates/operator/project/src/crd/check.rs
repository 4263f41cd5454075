//! Whether a value fits a structural schema, as a server will ask of every default.

use serde_json::Value;

/// Whether a server would take a value, and lose no field of it. Formats are not checked: a text that has to have one
/// counts as refused.
pub fn takes(schema: &Value, value: &Value) -> bool {
    let flag = |name: &str| schema[name] == Value::Bool(true);
    let open = flag("x-kubernetes-preserve-unknown-fields");
    if value.is_null() {
        let nowhere = schema.get("type").is_none() && schema.get("x-kubernetes-int-or-string").is_none();
        return (flag("nullable") || nowhere) && rules(schema, value);
    }
    let typed = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        _ if flag("x-kubernetes-int-or-string") => value.is_string() || value.is_i64() || value.is_u64(),
        _ => open,
    };
    typed && rules(schema, value) && inside(schema, value, open)
}

fn inside(schema: &Value, value: &Value, open: bool) -> bool {
    match value {
        Value::Object(fields) => fields.iter().all(|(name, field)| {
            let named = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
            named.map_or(open, |schema| takes(schema, field))
        }),
        Value::Array(items) => {
            items.iter().all(|item| schema.get("items").map_or(open, |schema| takes(schema, item)))
        }
        _ => true,
    }
}

/// Everything but types and fields.
fn rules(schema: &Value, value: &Value) -> bool {
    let count = |name: &str| schema[name].as_u64();
    let within = |length: usize, least: &str, most: &str| {
        let length = length as u64;
        count(least).is_none_or(|least| length >= least) && count(most).is_none_or(|most| length <= most)
    };
    let simple = match value {
        Value::String(text) => {
            within(text.chars().count(), "minLength", "maxLength") && matches(schema, text)
        }
        Value::Array(items) => within(items.len(), "minItems", "maxItems"),
        Value::Object(fields) => {
            within(fields.len(), "minProperties", "maxProperties")
                && schema["required"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .all(|name| name.as_str().is_some_and(|name| fields.contains_key(name)))
        }
        Value::Number(number) => in_range(schema, number.as_f64().unwrap_or(f64::NAN)),
        _ => true,
    };
    let branches = |name: &str| schema[name].as_array().into_iter().flatten();
    simple
        // Null is never found among the values of an enum.
        && schema["enum"].as_array().is_none_or(|list| list.contains(value) && !value.is_null())
        && branches("allOf").all(|branch| deep_rules(branch, value))
        && (schema["anyOf"].is_null() || branches("anyOf").any(|branch| deep_rules(branch, value)))
        && (schema["oneOf"].is_null()
            || branches("oneOf").filter(|branch| deep_rules(branch, value)).count() == 1)
        && schema.get("not").is_none_or(|branch| !deep_rules(branch, value))
}

/// The rules of a branch, which has no types.
fn deep_rules(schema: &Value, value: &Value) -> bool {
    let below = match value {
        Value::Object(fields) => fields.iter().all(|(name, field)| {
            schema["properties"].get(name).is_none_or(|schema| deep_rules(schema, field))
        }),
        Value::Array(items) => {
            items.iter().all(|item| schema.get("items").is_none_or(|schema| deep_rules(schema, item)))
        }
        _ => true,
    };
    below && rules(schema, value)
}

/// Patterns are not run here: with one, only an equal member of an enum is sure to fit.
fn matches(schema: &Value, text: &str) -> bool {
    let Some(pattern) = schema["pattern"].as_str() else { return schema.get("format").is_none() };
    let Ok(regex) = podium_re2::Regex::new(pattern.as_bytes()) else { return false };
    schema.get("format").is_none() && regex.is_match(text.as_bytes())
}

fn in_range(schema: &Value, number: f64) -> bool {
    let bound = |name: &str| schema[name].as_f64();
    let exclusive = |name: &str| schema[name] == Value::Bool(true);
    bound("minimum").is_none_or(|least| number > least || !exclusive("exclusiveMinimum") && number == least)
        && bound("maximum")
            .is_none_or(|most| number < most || !exclusive("exclusiveMaximum") && number == most)
        && bound("multipleOf").is_none_or(|step| step > 0.0 && (number / step).fract() == 0.0)
}
