//! A schema from values, for charts that have none.

use serde_json::{Map, Value, json};

/// The types that values have. Fields that are not there stay allowed, and so does anything where a value says nothing.
pub fn infer(values: &Value) -> Value {
    match values {
        Value::Bool(_) => json!({ "type": "boolean" }),
        Value::String(_) => json!({ "type": "string" }),
        Value::Number(number) if number.is_f64() && number.as_f64().is_some_and(|f| f.fract() != 0.0) => {
            json!({ "type": "number" })
        }
        Value::Number(_) => json!({ "type": "integer" }),
        Value::Object(fields) if !fields.is_empty() => {
            let properties: Map<String, Value> =
                fields.iter().map(|(name, value)| (name.clone(), infer(value))).collect();
            json!({ "type": "object", "properties": properties, "additionalProperties": true })
        }
        Value::Object(_) => json!({ "type": "object" }),
        Value::Array(items) => {
            let kinds: Vec<Value> = items.iter().map(infer).collect();
            match kinds.split_first() {
                Some((first, rest))
                    if first.get("properties").is_none() && rest.iter().all(|kind| kind == first) =>
                {
                    json!({ "type": "array", "items": first })
                }
                _ => json!({ "type": "array" }),
            }
        }
        Value::Null => Value::Bool(true),
    }
}
