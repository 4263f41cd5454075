//! The conditions of an object.

use serde_json::Value;

use crate::view::{Unreadable, strict_text};

/// One condition.
#[derive(Clone, Copy, Debug, Default)]
pub struct Condition<'a> {
    pub kind: &'a str,
    pub status: &'a str,
    pub reason: &'a str,
    pub message: &'a str,
}

impl Condition<'_> {
    /// Whether it is of a type and has a status.
    pub fn is(&self, kind: &str, status: &str) -> bool {
        self.kind == kind && self.status == status
    }
}

/// Reads them all, in their order.
pub fn conditions(object: &Value) -> Result<Vec<Condition<'_>>, Unreadable> {
    let list = match object.get("status") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(status)) => status.get("conditions"),
        Some(_) => return Err(Unreadable("status")),
    };
    match list {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(list)) => list.iter().map(condition).collect(),
        Some(_) => Err(Unreadable("status.conditions")),
    }
}

fn condition(value: &Value) -> Result<Condition<'_>, Unreadable> {
    match value {
        Value::Null => Ok(Condition::default()),
        Value::Object(map) => {
            let text = |field| strict_text(map, field, "status.conditions");
            Ok(Condition {
                kind: text("type")?,
                status: text("status")?,
                reason: text("reason")?,
                message: text("message")?,
            })
        }
        _ => Err(Unreadable("status.conditions")),
    }
}

/// The first one of a type with a status.
pub fn find<'a>(conditions: &[Condition<'a>], kind: &str, status: &str) -> Option<Condition<'a>> {
    conditions.iter().find(|condition| condition.is(kind, status)).copied()
}
