//! What is answered to who may not, or asks for nonsense.

use podium_meta::FieldError;
use serde_json::{Map, Value, json};

use crate::text::quote;

/// The group of roles and their bindings.
pub const RBAC: &str = "rbac.authorization.k8s.io";

/// A refused request, as a `Status` says it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The HTTP status.
    pub code: u16,
    /// The machine's word for it, such as `Forbidden`.
    pub reason: &'static str,
    /// The sentence for people.
    pub message: String,
    /// What it is about.
    pub details: Option<Box<Details>>,
}

/// What a refusal is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// The name of the object.
    pub name: String,
    /// The group of its kind.
    pub group: String,
    /// The plural of its kind, or the kind where fields are wrong.
    pub kind: String,
    /// What is wrong with its fields.
    pub flaws: Vec<FieldError>,
}

impl Refusal {
    /// A request that makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self { code: 400, reason: "BadRequest", message: message.into(), details: None }
    }

    /// An object that was sent to a namespace of which it is not.
    pub fn other_namespace() -> Self {
        Self::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )
    }

    /// Somebody may not do this, and why.
    pub fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let what = qualified(resource, group);
        let message = match name {
            _ if what.is_empty() => format!("forbidden: {why}"),
            "" => format!("{what} is forbidden: {why}"),
            name => format!("{what} {} is forbidden: {why}", quote(name)),
        };
        Self::about(403, "Forbidden", message, group, resource, name)
    }

    /// There is no such object.
    pub fn not_found(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {} not found", qualified(resource, group), quote(name));
        Self::about(404, "NotFound", message, group, resource, name)
    }

    /// The object is not the one that was meant.
    pub fn conflict(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let what = qualified(resource, group);
        let message = format!("Operation cannot be fulfilled on {what} {}: {why}", quote(name));
        Self::about(409, "Conflict", message, group, resource, name)
    }

    /// Fields are wrong.
    pub fn invalid(group: &str, kind: &str, name: &str, flaws: Vec<FieldError>) -> Self {
        let what = qualified(kind, group);
        let message = format!("{what} {} is invalid: {}", quote(name), FieldError::aggregate(&flaws));
        let mut refusal = Self::about(422, "Invalid", message, group, kind, name);
        if let Some(details) = &mut refusal.details {
            details.flaws = flaws;
        }
        refusal
    }

    /// Something went wrong on our side.
    pub fn internal(why: &str) -> Self {
        let message = format!("Internal error occurred: {why}");
        Self { code: 500, reason: "InternalError", message, details: Some(Box::default()) }
    }

    fn about(code: u16, reason: &'static str, message: String, group: &str, kind: &str, name: &str) -> Self {
        let [name, group, kind] = [name, group, kind].map(str::to_owned);
        let details = Details { name, group, kind, flaws: Vec::new() };
        Self { code, reason, message, details: Some(Box::new(details)) }
    }

    /// The body of the answer.
    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        });
        if let (Some(details), Some(fields)) = (&self.details, status.as_object_mut()) {
            fields.insert("details".to_owned(), details.to_json());
        }
        status
    }
}

impl Details {
    fn to_json(&self) -> Value {
        let mut out = Map::new();
        for (key, text) in [("name", &self.name), ("group", &self.group), ("kind", &self.kind)] {
            if !text.is_empty() {
                out.insert(key.to_owned(), json!(text));
            }
        }
        if !self.flaws.is_empty() {
            let cause = |flaw: &FieldError| json!({"reason": flaw.error_type.reason(), "message": flaw.body, "field": flaw.field});
            out.insert("causes".to_owned(), self.flaws.iter().map(cause).collect());
        }
        Value::Object(out)
    }
}

/// `deployments.apps`, or the name alone where there is no group.
fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}
