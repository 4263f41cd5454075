//! What is answered when a request is refused: a `Status`, in the words that clients know.

use podium_meta::{FieldError, GroupVersionKind};
use podium_resources::typed::write::to_json;
use podium_store::Error as StoreError;
use serde_json::{Map, Value, json};

use crate::served::Resource;

/// A request that is refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The HTTP status.
    pub code: u16,
    /// The machine's word for it.
    pub reason: &'static str,
    /// The sentence for people.
    pub message: String,
    /// What it is about: name, group, kind, uid, causes, retryAfterSeconds.
    pub details: Option<Value>,
    /// What the list can be continued with, for pages that are too old.
    pub next: Option<String>,
    /// What the client is warned of all the same.
    pub warnings: Box<[String]>,
}

/// An answer, or why there is none.
pub type Outcome<T> = Result<T, Refusal>;

impl Refusal {
    /// One without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, next: None, warnings: Box::default() }
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 500.
    pub fn internal(message: impl std::fmt::Display) -> Self {
        let causes = json!([{"message": message.to_string()}]);
        let mut refusal = Self::new(500, "InternalError", format!("Internal error occurred: {message}"));
        refusal.details = Some(json!({"causes": causes}));
        refusal
    }

    /// 500 with the message as it is.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// 405.
    pub fn not_allowed() -> Self {
        let mut refusal = Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        );
        refusal.details = Some(json!({}));
        refusal
    }

    /// 404 of an address at which nothing is served, in a group that is.
    pub fn no_such() -> Self {
        let mut refusal = Self::new(404, "NotFound", "the server could not find the requested resource");
        refusal.details = Some(json!({}));
        refusal
    }

    /// 404 of an object.
    pub fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", resource.qualified());
        Self::about(404, "NotFound", message, resource, name)
    }

    /// 409 of an object that is there.
    pub fn exists(resource: &Resource, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", resource.qualified());
        Self::about(409, "AlreadyExists", message, resource, name)
    }

    /// 409.
    pub fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", resource.qualified());
        Self::about(409, "Conflict", message, resource, name)
    }

    /// 409: somebody was faster.
    pub fn modified(resource: &Resource, name: &str) -> Self {
        Self::conflict(resource, name, MODIFIED)
    }

    /// 403 of an object or a list.
    pub fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let named = if name.is_empty() { String::new() } else { format!(" \"{name}\"") };
        let message = format!("{}{named} is forbidden: {why}", resource.qualified());
        Self::about(403, "Forbidden", message, resource, name)
    }

    /// A refusal that names a resource.
    pub fn about(code: u16, reason: &'static str, message: String, resource: &Resource, name: &str) -> Self {
        let mut details = Map::new();
        for (key, value) in [("name", name), ("group", &resource.kind.group), ("kind", &resource.plural)] {
            if !value.is_empty() {
                details.insert(key.to_owned(), value.into());
            }
        }
        Self { details: Some(Value::Object(details)), ..Self::new(code, reason, message) }
    }

    /// 422: fields are wrong. The kind is `Kind` or `resource.group`, as the server says it in each place.
    pub fn invalid(group: &str, kind: &str, name: &str, flaws: &[FieldError]) -> Self {
        let full = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let message = match flaws {
            [] => format!("{full} {name:?} is invalid"),
            flaws => format!("{full} {name:?} is invalid: {}", FieldError::aggregate(flaws)),
        };
        let cause = |flaw: &FieldError| {
            let mut cause = json!({"reason": flaw.error_type.reason(), "message": flaw.body});
            if !flaw.field.is_empty()
                && let Some(cause) = cause.as_object_mut()
            {
                cause.insert("field".to_owned(), flaw.field.as_str().into());
            }
            cause
        };
        let mut details = Map::new();
        for (key, value) in [("name", name), ("group", group), ("kind", kind)] {
            if !value.is_empty() {
                details.insert(key.to_owned(), value.into());
            }
        }
        if !flaws.is_empty() {
            details.insert("causes".to_owned(), flaws.iter().map(cause).collect());
        }
        Self { details: Some(Value::Object(details)), ..Self::new(422, "Invalid", message) }
    }

    /// 422 of an object of a kind.
    pub fn invalid_object(kind: &GroupVersionKind, name: &str, flaws: &[FieldError]) -> Self {
        Self::invalid(&kind.group, &kind.kind, name, flaws)
    }

    /// 415.
    pub fn unsupported_media(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 413.
    pub fn too_large(message: impl std::fmt::Display) -> Self {
        Self::new(413, "RequestEntityTooLarge", format!("Request entity too large: {message}"))
    }

    /// 410.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 401.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// Adds causes.
    #[must_use]
    pub fn with_causes(mut self, causes: Value) -> Self {
        let details = self.details.get_or_insert_with(|| json!({}));
        if let Some(details) = details.as_object_mut() {
            details.insert("causes".to_owned(), causes);
        }
        self
    }

    /// Tells when to try again.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        let details = self.details.get_or_insert_with(|| json!({}));
        if let Some(details) = details.as_object_mut() {
            details.insert("retryAfterSeconds".to_owned(), seconds.into());
        }
        self
    }

    /// When to try again, if it says so.
    pub fn retry(&self) -> Option<i64> {
        self.details.as_ref()?.get("retryAfterSeconds")?.as_i64()
    }

    /// The `Status`.
    pub fn to_value(&self) -> Value {
        let metadata = match &self.next {
            Some(next) => json!({"continue": next}),
            None => json!({}),
        };
        let mut status = json!({"kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure",
            "message": self.message, "code": self.code});
        if let Some(status) = status.as_object_mut() {
            if !self.reason.is_empty() {
                status.insert("reason".to_owned(), self.reason.into());
            }
            if let Some(details) = &self.details {
                status.insert("details".to_owned(), details.clone());
            }
        }
        status
    }

    /// The `Status` as it is sent.
    pub fn body(&self) -> String {
        to_json(&GroupVersionKind::new("v1", "Status"), &self.to_value())
    }
}

/// What the server says to whoever was too slow.
pub const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// What a failed write of the store means for whoever asked for it.
pub fn of_store(error: &StoreError, resource: &Resource, name: &str) -> Refusal {
    match error {
        StoreError::Exists { .. } => Refusal::exists(resource, name),
        StoreError::Absent { .. } => Refusal::not_found(resource, name),
        StoreError::Conflict { .. } => Refusal::modified(resource, name),
        StoreError::Unfit { reason, .. } => Refusal::too_large(reason),
        StoreError::Compacted { .. } => {
            Refusal::expired("The resourceVersion for the provided list is too old.")
        }
        StoreError::Future { asked, newest } => {
            let cause =
                json!([{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]);
            let message = format!("Timeout: Too large resource version: {asked}, current: {newest}");
            Refusal::new(504, "Timeout", message).with_causes(cause).retry_after(1)
        }
        StoreError::Full { .. } => Refusal::new(507, "InternalError", error.to_string()),
        other => Refusal::internal(other),
    }
}
