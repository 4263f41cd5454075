//! What the server knows besides the object, and how it refuses.

use podium_meta::FieldError;
use serde_json::Value;

/// What is not in the object.
pub struct Facts<'f> {
    /// The time, such as `2026-11-16T12:00:00Z`.
    pub now: &'f str,
    /// Ends of names that nobody has: five signs.
    pub suffix: &'f dyn Fn() -> String,
    /// Looks for an object by resource (`serviceaccounts`, `priorityclasses.scheduling.k8s.io`), namespace (empty
    /// for those without) and name; with an empty name, for the one that is the default.
    pub lookup: &'f dyn Fn(&str, &str, &str) -> Option<Value>,
    /// The body as it was sent, if there is one: what nobody wrote is sometimes filled in in another way.
    pub given: Option<&'f Value>,
    /// Who asks, as reviews of tokens say it: `username`, `uid`, `groups`, `extra`.
    pub user: Option<&'f Value>,
}

/// A refusal that is not about one field, or that comes before the checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The HTTP status.
    pub code: u16,
    /// The machine's word for it.
    pub reason: &'static str,
    /// The sentence for people; empty if there are flaws.
    pub message: String,
    /// What is wrong, for refusals that say so (422).
    pub flaws: Vec<FieldError>,
}

impl Refused {
    /// Something may not be done.
    pub fn forbidden(message: String) -> Self {
        Self { code: 403, reason: "Forbidden", message, flaws: Vec::new() }
    }

    /// Something is wrong with the object.
    pub fn invalid(flaws: Vec<FieldError>) -> Self {
        Self { code: 422, reason: "Invalid", message: String::new(), flaws }
    }

    /// Something went wrong with the server.
    pub fn internal(why: &str) -> Self {
        let message = format!("Internal error occurred: {why}");
        Self { code: 500, reason: "InternalError", message, flaws: Vec::new() }
    }
}
