//! Who may read metrics: whoever the cluster lets, as the originals ask it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{Method, StatusCode};
use podium_client::{Client, client};
use podium_serve::probes::AuthorizationFuture;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// How long an answer of the cluster counts.
const LASTS: Duration = Duration::from_secs(60);
/// How long it counts when it was no.
const NO_LASTS: Duration = Duration::from_secs(10);
/// How many answers are kept.
const MOST: usize = 256;
/// The longest token that is passed on.
const LONGEST: usize = 16 << 10;

type Question = [u8; 32];

/// Asks the cluster who somebody is, and whether they may.
#[derive(Clone)]
pub struct Guard {
    client: Client,
    known: Arc<Mutex<HashMap<Question, (Instant, StatusCode)>>>,
}

impl Guard {
    /// Of a cluster.
    pub fn new(client: Client) -> Self {
        Self { client, known: Arc::default() }
    }

    /// Whether a request may be answered.
    pub fn leave(&self, head: &Parts) -> AuthorizationFuture {
        let token = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = token.and_then(|text| text.strip_prefix("Bearer ")).map(str::trim).unwrap_or_default();
        let (guard, token, path) = (self.clone(), token.to_owned(), head.uri.path().to_owned());
        let verb = head.method.as_str().to_lowercase();
        Box::pin(async move {
            match guard.status(&token, &path, &verb).await {
                StatusCode::OK => Ok(()),
                status => Err(status),
            }
        })
    }

    async fn status(&self, token: &str, path: &str, verb: &str) -> StatusCode {
        if token.is_empty() || token.len() > LONGEST {
            return StatusCode::UNAUTHORIZED;
        }
        // A token is not kept in memory: its hash is enough.
        let question: Question = Sha256::digest([token, path, verb].join("\u{0}")).into();
        if let Some(status) = self.remembered(&question) {
            return status;
        }
        // A cluster that does not answer lets nobody in, and is asked again.
        let Ok(status) = self.ask(token, path, verb).await else { return StatusCode::INTERNAL_SERVER_ERROR };
        let lasts = if status == StatusCode::OK { LASTS } else { NO_LASTS };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(question, (Instant::now() + lasts, status));
        status
    }

    fn remembered(&self, question: &Question) -> Option<StatusCode> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(question).filter(|(until, _)| *until > Instant::now()).map(|(_, status)| *status)
    }

    async fn ask(&self, token: &str, path: &str, verb: &str) -> Result<StatusCode, client::Error> {
        let review = async |api: &str, kind: &str, plural: &str, spec: Value| {
            let body = json!({"apiVersion": format!("{api}/v1"), "kind": kind, "spec": spec});
            let body = Some(("application/json", body.to_string().into_bytes()));
            self.client.request(Method::POST, &format!("/apis/{api}/v1/{plural}"), body).await
        };
        let token = json!({"token": token});
        let who = review("authentication.k8s.io", "TokenReview", "tokenreviews", token).await?;
        if who.pointer("/status/authenticated") != Some(&Value::Bool(true)) {
            return Ok(StatusCode::UNAUTHORIZED);
        }
        let user = |field: &str| who.pointer(&format!("/status/user/{field}")).cloned().unwrap_or_default();
        let mut spec =
            json!({"user": user("username"), "nonResourceAttributes": {"path": path, "verb": verb}});
        for field in ["groups", "uid", "extra"] {
            if !user(field).is_null() {
                spec[field] = user(field);
            }
        }
        let api = "authorization.k8s.io";
        let may = review(api, "SubjectAccessReview", "subjectaccessreviews", spec).await?;
        let allowed = may.pointer("/status/allowed") == Some(&Value::Bool(true));
        Ok(if allowed { StatusCode::OK } else { StatusCode::FORBIDDEN })
    }
}
