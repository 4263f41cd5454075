//! The status of a custom resource: its conditions and fields.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// A condition of a status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its type.
    pub kind: &'static str,
    /// True, False or Unknown.
    pub status: &'static str,
    /// Its reason, in CamelCase.
    pub reason: String,
    /// Its message.
    pub message: String,
}

impl Condition {
    /// A condition that is True or False.
    pub fn new(
        kind: &'static str,
        is_true: bool,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        let status = if is_true { "True" } else { "False" };
        Self { kind, status, reason: reason.into(), message: truncate(message.into()) }
    }
}

/// The longest message in bytes.
const MAX_MESSAGE: usize = 8 << 10;

fn truncate(mut text: String) -> String {
    if text.len() > MAX_MESSAGE {
        let end = (0..=MAX_MESSAGE).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

/// A change of the status of a resource.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Conditions to set.
    pub set: Vec<Condition>,
    /// Types of conditions to remove.
    pub clear: Vec<&'static str>,
    /// Other fields to set; null removes one.
    pub fields: Map<String, Value>,
}

impl Report {
    /// The status with the change; `None` when it stays the same.
    pub fn apply(&self, before: &Value, now: Timestamp) -> Option<Value> {
        let mut after = before.as_object().cloned().unwrap_or_default();
        let mut conditions: Vec<Value> =
            before.get("conditions").and_then(Value::as_array).cloned().unwrap_or_default();
        let kind =
            |condition: &Value| condition.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        conditions.retain(|condition| !self.clear.contains(&kind(condition).as_str()));
        for Condition { kind: name, status, reason, message } in &self.set {
            let old = conditions.iter().position(|condition| kind(condition) == *name);
            let known = old.and_then(|at| conditions.get(at));
            let same = known.is_some_and(|known| known.get("status").and_then(Value::as_str) == Some(status));
            let since = known.and_then(|known| known.get("lastTransitionTime")).filter(|_| same).cloned();
            let since = since.unwrap_or_else(|| now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into());
            let mut new = json!({"type": name, "status": status, "lastTransitionTime": since});
            for (key, text) in [("reason", reason), ("message", message)] {
                if !text.is_empty() {
                    new[key] = text.as_str().into();
                }
            }
            match old.and_then(|at| conditions.get_mut(at)) {
                Some(slot) => *slot = new,
                None => conditions.push(new),
            }
        }
        after.insert("conditions".to_owned(), conditions.into());
        for (key, value) in &self.fields {
            match value {
                Value::Null => drop(after.remove(key)),
                value => drop(after.insert(key.clone(), value.clone())),
            }
        }
        let after = Value::Object(after);
        (after != *before).then_some(after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transition_time_changes_only_with_the_status() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let report = |is_true, message: &str| Report {
            set: vec![Condition::new("Ready", is_true, "R", message)],
            ..Report::default()
        };
        let first = report(false, "a").apply(&json!({}), at(0)).unwrap();
        assert_eq!(report(false, "a").apply(&first, at(9)), None);
        let second = report(false, "b").apply(&first, at(9)).unwrap();
        assert_eq!(second.pointer("/conditions/0/lastTransitionTime"), Some(&json!("1970-01-01T00:00:00Z")));
        let third = report(true, "b").apply(&second, at(9)).unwrap();
        assert_eq!(third.pointer("/conditions/0/lastTransitionTime"), Some(&json!("1970-01-01T00:00:09Z")));
    }

    #[test]
    fn keeps_conditions_and_fields_of_others() {
        let before = json!({"conditions": [{"type": "Theirs", "status": "True"}, {"type": "ReleaseFailed", "status": "True"}], "x": 1});
        let report = Report { clear: vec!["ReleaseFailed"], ..Report::default() };
        let after = report.apply(&before, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(after, json!({"conditions": [{"type": "Theirs", "status": "True"}], "x": 1}));
    }
}
