//! Status conditions of an object.

use serde_json::Value;

use crate::fields::{InvalidField, string_field};

/// A status condition.
#[derive(Clone, Copy, Debug, Default)]
pub struct Condition<'a> {
    pub condition_type: &'a str,
    pub status: &'a str,
    pub reason: &'a str,
    pub message: &'a str,
}

impl Condition<'_> {
    /// Whether the condition has this type and status.
    pub fn is(&self, condition_type: &str, status: &str) -> bool {
        self.condition_type == condition_type && self.status == status
    }
}

/// Reads `status.conditions`, in order.
pub fn conditions(object: &Value) -> Result<Vec<Condition<'_>>, InvalidField> {
    let list = match object.get("status") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(status)) => status.get("conditions"),
        Some(_) => return Err(InvalidField("status")),
    };
    match list {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(list)) => list.iter().map(condition).collect(),
        Some(_) => Err(InvalidField("status.conditions")),
    }
}

fn condition(value: &Value) -> Result<Condition<'_>, InvalidField> {
    match value {
        Value::Null => Ok(Condition::default()),
        Value::Object(map) => {
            let text = |field| string_field(map, field, "status.conditions");
            Ok(Condition {
                condition_type: text("type")?,
                status: text("status")?,
                reason: text("reason")?,
                message: text("message")?,
            })
        }
        _ => Err(InvalidField("status.conditions")),
    }
}

/// First condition with this type and status.
pub fn find_condition<'a>(
    conditions: &[Condition<'a>],
    condition_type: &str,
    status: &str,
) -> Option<Condition<'a>> {
    conditions.iter().find(|condition| condition.is(condition_type, status)).copied()
}
