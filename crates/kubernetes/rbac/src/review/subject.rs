//! Who am I? Whose token is this?

use serde_json::{Value, json};

use super::{given, text};
use crate::refusal::Refusal;
use crate::rule::texts;
use crate::text::aggregate;
use crate::time;
use crate::token::{Error, Known};
use crate::user::User;

/// Answers a SelfSubjectReview at a moment, in seconds since 1970.
pub fn self_subject(user: &User, now: i64, review: &Value) -> Value {
    let kind = given(review, "kind").cloned().unwrap_or_else(|| json!("SelfSubjectReview"));
    let version = given(review, "apiVersion").cloned().unwrap_or_else(|| json!("authentication.k8s.io/v1"));
    json!({
        "kind": kind,
        "apiVersion": version,
        "metadata": {"creationTimestamp": time::format(now)},
        "status": {"userInfo": user.to_json()},
    })
}

/// Answers a TokenReview: `known` says whose a token is that has to be for one of some audiences, or what is wrong
/// with it. Without audiences of its own, a token has to be for those of the server.
pub fn token(
    mut review: Value,
    own: &[String],
    known: impl FnOnce(&str, &[String]) -> Result<Known, Error>,
) -> Result<Value, Refusal> {
    let spec = review.get("spec").unwrap_or(&Value::Null);
    let token = text(spec, "token").to_owned();
    if token.is_empty() {
        return Err(Refusal::bad_request("token is required for TokenReview in authentication"));
    }
    let mut audiences = texts(spec, "audiences");
    if audiences.is_empty() {
        audiences = own.to_vec();
    }
    let status = match known(&token, &audiences) {
        Ok(known) => {
            let user = known.user.authenticated();
            json!({"authenticated": true, "user": user.to_json(), "audiences": known.audiences})
        }
        Err(error) => {
            // A server asks for its own token first, which this is not either.
            let errors = [Error::Unknown, error].map(|error| error.to_string());
            json!({"user": {}, "error": aggregate(&errors)})
        }
    };
    if let Some(fields) = review.as_object_mut() {
        fields.insert("status".to_owned(), status);
    }
    Ok(review)
}
