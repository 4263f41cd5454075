//! `Status`: the API server's error response.

use std::fmt;

use serde_json::Value;

/// The fields of a `Status` that a client acts on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The HTTP status code.
    pub code: u16,
    /// The machine-readable reason, such as `NotFound`.
    pub reason: String,
    /// The human-readable message.
    pub message: String,
    /// The individual causes.
    pub causes: Vec<Cause>,
}

/// One cause of an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// The machine-readable reason, such as `FieldManagerConflict`.
    pub reason: String,
    /// The human-readable message.
    pub message: String,
    /// The field path.
    pub field: String,
}

impl Status {
    /// Parses an error response; a body that is not a `Status`, such as a proxy's page, becomes the message.
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

    /// Whether the object was not found, as opposed to an unknown path.
    pub fn is_not_found(&self) -> bool {
        self.code == 404 && self.reason == "NotFound"
    }
}

/// Maximum number of characters kept of a body that is not a `Status`.
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
    fn parses_statuses_and_other_bodies() {
        let body = br#"{"kind":"Status","status":"Failure","message":"secrets \"a\" not found","reason":"NotFound","code":404}"#;
        let status = Status::read(404, body);
        assert!(status.is_not_found());
        assert_eq!(status.to_string(), "secrets \"a\" not found");
        assert!(!Status::read(404, b"404 page not found").is_not_found());
        assert_eq!(Status::read(502, b"").to_string(), "the server answered with status 502");
    }
}
