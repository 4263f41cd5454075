//! Authorizes the readers of `/metrics` by TokenReview and SubjectAccessReview, as controller-runtime does.

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

/// How long an allowed decision is cached.
const ALLOWED_TTL: Duration = Duration::from_secs(60);
/// How long a denied decision is cached.
const DENIED_TTL: Duration = Duration::from_secs(10);
/// How many decisions are cached.
const MAX_DECISIONS: usize = 256;
/// The longest bearer token that is sent to the API server.
const MAX_TOKEN: usize = 16 << 10;

/// The hash of token, path and verb: tokens are not kept in memory.
type DecisionKey = [u8; 32];

/// Authenticates and authorizes requests for metrics against the API server.
#[derive(Clone)]
pub struct MetricsAuthorizer {
    client: Client,
    decisions: Arc<Mutex<HashMap<DecisionKey, (Instant, StatusCode)>>>,
}

impl MetricsAuthorizer {
    /// An authorizer with an empty cache.
    pub fn new(client: Client) -> Self {
        Self { client, decisions: Arc::default() }
    }

    /// Decides on a request; an error is the status to answer with.
    pub fn authorize(&self, head: &Parts) -> AuthorizationFuture {
        let token = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = token.and_then(|text| text.strip_prefix("Bearer ")).map(str::trim).unwrap_or_default();
        let (authorizer, token, path) = (self.clone(), token.to_owned(), head.uri.path().to_owned());
        let verb = head.method.as_str().to_lowercase();
        Box::pin(async move {
            match authorizer.decide(&token, &path, &verb).await {
                StatusCode::OK => Ok(()),
                status => Err(status),
            }
        })
    }

    async fn decide(&self, token: &str, path: &str, verb: &str) -> StatusCode {
        if token.is_empty() || token.len() > MAX_TOKEN {
            return StatusCode::UNAUTHORIZED;
        }
        let key: DecisionKey = Sha256::digest([token, path, verb].join("\u{0}")).into();
        if let Some(status) = self.cached(&key) {
            return status;
        }
        // Without an answer of the API server the request is denied, and the decision is not cached.
        let Ok(status) = self.review(token, path, verb).await else {
            return StatusCode::INTERNAL_SERVER_ERROR;
        };
        let ttl = if status == StatusCode::OK { ALLOWED_TTL } else { DENIED_TTL };
        let mut decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        if decisions.len() >= MAX_DECISIONS {
            decisions.clear();
        }
        decisions.insert(key, (Instant::now() + ttl, status));
        status
    }

    fn cached(&self, key: &DecisionKey) -> Option<StatusCode> {
        let decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        decisions.get(key).filter(|(until, _)| *until > Instant::now()).map(|(_, status)| *status)
    }

    async fn review(&self, token: &str, path: &str, verb: &str) -> Result<StatusCode, client::Error> {
        let create = async |api: &str, kind: &str, plural: &str, spec: Value| {
            let body = json!({"apiVersion": format!("{api}/v1"), "kind": kind, "spec": spec});
            let body = Some(("application/json", body.to_string().into_bytes()));
            self.client.request(Method::POST, &format!("/apis/{api}/v1/{plural}"), body).await
        };
        let token = json!({"token": token});
        let user = create("authentication.k8s.io", "TokenReview", "tokenreviews", token).await?;
        if user.pointer("/status/authenticated") != Some(&Value::Bool(true)) {
            return Ok(StatusCode::UNAUTHORIZED);
        }
        let claim = |field: &str| user.pointer(&format!("/status/user/{field}")).cloned().unwrap_or_default();
        let mut spec =
            json!({"user": claim("username"), "nonResourceAttributes": {"path": path, "verb": verb}});
        for field in ["groups", "uid", "extra"] {
            if !claim(field).is_null() {
                spec[field] = claim(field);
            }
        }
        let api = "authorization.k8s.io";
        let access = create(api, "SubjectAccessReview", "subjectaccessreviews", spec).await?;
        let allowed = access.pointer("/status/allowed") == Some(&Value::Bool(true));
        Ok(if allowed { StatusCode::OK } else { StatusCode::FORBIDDEN })
    }
}
