//! What a server says when it refuses.

use std::fmt;

use serde_json::Value;

/// The part of a `Status` that a client acts on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The HTTP status.
    pub code: u16,
    /// The machine's word for it, such as `NotFound`.
    pub reason: String,
    /// The sentence for people.
    pub message: String,
    /// What is wrong in particular.
    pub causes: Vec<Cause>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// The machine's word for it, such as `FieldManagerConflict`.
    pub reason: String,
    /// The sentence for people.
    pub message: String,
    /// The field.
    pub field: String,
}

impl Status {
    /// From the body of a refused request; a body that is no `Status` (a proxy's page) is kept as the message.
    pub fn read(code: u16, body: &[u8]) -> Self {
        let text =
            |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        match serde_json::from_slice::<Value>(body) {
            Ok(value) if value.get("kind").and_then(Value::as_str) == Some("Status") => {
                let causes = value.pointer("/details/causes").and_then(Value::as_array).into_iter().flatten();
                let cause = |cause: &Value| Cause {
                    reason: text(cause, "reason"),
                    message: text(cause, "message"),
                    field: text(cause, "field"),
                };
                Self {
                    code,
                    reason: text(&value, "reason"),
                    message: text(&value, "message"),
                    causes: causes.map(cause).collect(),
                }
            }
            _ => {
                let message: String = String::from_utf8_lossy(body).trim().chars().take(LONGEST).collect();
                Self { code, message, ..Self::default() }
            }
        }
    }

    /// Whether the object, and not the whole path, is unknown.
    pub fn is_not_found(&self) -> bool {
        self.code == 404 && self.reason == "NotFound"
    }
}

/// As much of an unexpected body as is shown.
const LONGEST: usize = 200;

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message.as_str() {
            "" => write!(f, "the server answered with status {}", self.code),
            message => f.write_str(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_and_pages_of_proxies_are_read() {
        let body = br#"{"kind":"Status","status":"Failure","message":"secrets \"a\" not found","reason":"NotFound","code":404}"#;
        let status = Status::read(404, body);
        assert!(status.is_not_found());
        assert_eq!(status.to_string(), "secrets \"a\" not found");
        assert!(!Status::read(404, b"404 page not found").is_not_found());
        assert_eq!(Status::read(502, b"").to_string(), "the server answered with status 502");
    }
}
