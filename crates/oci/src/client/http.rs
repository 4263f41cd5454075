//! HTTP requests to registries: authentication, retries, redirects, timeouts.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{
    AUTHORIZATION, CONTENT_TYPE, LOCATION, PROXY_AUTHORIZATION, RETRY_AFTER, USER_AGENT, WWW_AUTHENTICATE,
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::auth::{Challenge, Scope, Token, percent_encode};
use super::credentials::Credential;
use super::dial::{Dialer, connector};
use super::tls::{ClientCertRequest, explain_missing_client_certificate, explain_tls_error};
use super::{Client, Error};
use crate::reference::{api_host, is_loopback};

type BoxError = Box<dyn std::error::Error + Send + Sync>;
pub(super) type BoxBody = UnsyncBoxBody<Bytes, BoxError>;

/// The connection pool of an authority.
pub(super) struct Endpoint {
    client: legacy::Client<HttpsConnector<Dialer>, BoxBody>,
    client_cert_request: Arc<ClientCertRequest>,
    /// Whether the host has ever responded.
    responded: AtomicBool,
}

/// Timeout for the response head.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(120);
/// Additional timeout per uploaded byte: at least 50 kB/s.
const UPLOAD_TIMEOUT_PER_BYTE: Duration = Duration::from_micros(20);
/// Maximum time between two frames of a response body.
pub(super) const BODY_IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Read buffer size; larger buffers leave the CPU cache before they are hashed and written.
const READ_BUFFER_SIZE: usize = 256 << 10;
pub(super) const MAX_REDIRECTS: usize = 5;
const MAX_TOKEN: usize = 1 << 20;
const MAX_ERROR_BODY: usize = 64 << 10;

/// A request body.
pub(super) enum RequestBody {
    /// Bytes that can be sent again.
    Bytes(Bytes),
    /// A stream that can be sent once, and its length.
    Stream(BoxBody, u64),
}

impl RequestBody {
    pub(super) fn none() -> Self {
        Self::Bytes(Bytes::new())
    }
}

/// A request to a registry.
pub(super) struct RegistryRequest {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: RequestBody,
    pub scope: Scope,
}

impl RegistryRequest {
    pub(super) fn new(method: Method, uri: Uri, scope: Scope) -> Self {
        Self { method, uri, headers: HeaderMap::new(), body: RequestBody::none(), scope }
    }
}

/// A registry and its authentication state.
pub(super) struct RegistryHost {
    /// The registry as written in references.
    pub registry: String,
    /// Base URL, `https://HOST`.
    pub base: String,
    authority: String,
    auth_state: Mutex<AuthState>,
    /// Credentials by repository, cached because a credential helper is a program.
    credentials: tokio::sync::Mutex<HashMap<String, Credential>>,
}

#[derive(Default)]
struct AuthState {
    challenge: Option<Challenge>,
    tokens: HashMap<String, Token>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The URI without query, which may contain secrets.
pub(super) fn display_uri(uri: &Uri) -> String {
    format!(
        "{}://{}{}",
        uri.scheme_str().unwrap_or_default(),
        uri.authority().map_or("", |a| a.as_str()),
        uri.path()
    )
}

/// An error with its chain of sources.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        next = cause.source();
    }
    text
}

impl RegistryHost {
    pub(super) fn uri(&self, path: &str) -> Result<Uri, Error> {
        let text = format!("{}{path}", self.base);
        text.parse().map_err(|_| Error::InvalidUrl(text))
    }
}

impl Client {
    /// The connection pool of an authority.
    fn endpoint(&self, authority: &str, tls_enabled: bool) -> Result<Arc<Endpoint>, Error> {
        let mut endpoints = lock(&self.inner.endpoints);
        let key = (authority.to_owned(), tls_enabled);
        if let Some(endpoint) = endpoints.get(&key) {
            return Ok(endpoint.clone());
        }
        // Loading the system's root certificates is slow, so plaintext endpoints skip it.
        let tls = tls_enabled.then_some(&self.inner.options.tls);
        let client_cert_request = Arc::default();
        let connector = connector(authority, tls, &self.inner.options.proxies, &client_cert_request);
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .pool_timer(TokioTimer::new())
            .http1_max_buf_size(READ_BUFFER_SIZE)
            .build(connector.map_err(Error::Tls)?);
        let endpoint = Arc::new(Endpoint { client, client_cert_request, responded: AtomicBool::new(false) });
        endpoints.insert(key, endpoint.clone());
        Ok(endpoint)
    }

    /// The host of a registry. Loopback registries are probed for TLS; others use TLS unless plain HTTP is
    /// configured.
    pub(super) async fn registry_host(&self, registry: &str) -> Result<Arc<RegistryHost>, Error> {
        let cached = || lock(&self.inner.hosts).get(registry).cloned();
        if let Some(host) = cached() {
            return Ok(host);
        }
        // Concurrent requests wait for one probe.
        let _probe_guard = self.inner.probe_lock.lock().await;
        if let Some(host) = cached() {
            return Ok(host);
        }
        let authority = api_host(registry).to_owned();
        let scheme = if self.inner.options.plain_http {
            "http"
        } else if is_loopback(&authority) {
            self.probe(&authority).await?
        } else {
            "https"
        };
        let host = Arc::new(RegistryHost {
            registry: registry.to_owned(),
            base: format!("{scheme}://{authority}"),
            authority,
            auth_state: Mutex::default(),
            credentials: tokio::sync::Mutex::default(),
        });
        Ok(lock(&self.inner.hosts).entry(registry.to_owned()).or_insert(host).clone())
    }

    /// Probes whether a loopback registry uses TLS. Sends no credentials.
    async fn probe(&self, authority: &str) -> Result<&'static str, Error> {
        let address = |scheme: &str| {
            let text = format!("{scheme}://{authority}/v2/");
            text.parse::<Uri>().map_err(|_| Error::InvalidUrl(text))
        };
        let get =
            async |uri: &Uri| self.send_once(Method::GET, uri, HeaderMap::new(), RequestBody::none()).await;
        if let Ok(response) = get(&address("http")?).await
            // TLS servers answer plaintext requests with another status or not at all.
            && matches!(response.status().as_u16(), 200 | 401)
        {
            // Read the body so that the connection is reused.
            let _ = read_body(response.into_body(), MAX_ERROR_BODY).await;
            return Ok("http");
        }
        match get(&address("https")?).await {
            Ok(_) => Ok("https"),
            // A certificate error proves that the server uses TLS.
            Err(error @ Error::Certificate { .. }) => Err(error),
            Err(_) => Ok("http"),
        }
    }

    pub(super) async fn send_once(
        &self,
        method: Method,
        uri: &Uri,
        headers: HeaderMap,
        body: RequestBody,
    ) -> Result<Response<Incoming>, Error> {
        let authority = uri.authority().map(|authority| authority.as_str().to_owned()).unwrap_or_default();
        let endpoint = self.endpoint(&authority, uri.scheme_str() == Some("https"))?;
        let (body, timeout) = match body {
            RequestBody::Bytes(data) if data.is_empty() => {
                (Empty::new().map_err(|e| match e {}).boxed_unsync(), RESPONSE_TIMEOUT)
            }
            RequestBody::Bytes(data) => {
                (Full::new(data).map_err(|e| match e {}).boxed_unsync(), RESPONSE_TIMEOUT)
            }
            RequestBody::Stream(body, size) => (
                body,
                RESPONSE_TIMEOUT
                    + UPLOAD_TIMEOUT_PER_BYTE.saturating_mul(u32::try_from(size).unwrap_or(u32::MAX)),
            ),
        };
        let failed = |reason: String| Error::Connect { host: authority.clone(), reason };
        let mut request =
            Request::builder().method(method).uri(uri).body(body).map_err(|e| failed(e.to_string()))?;
        *request.headers_mut() = headers;
        request
            .headers_mut()
            .insert(USER_AGENT, HeaderValue::from_static(concat!("podium/", env!("CARGO_PKG_VERSION"))));
        if let Some(proxy) = self.inner.options.proxies.authorization(uri) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, proxy);
        }
        match tokio::time::timeout(timeout, endpoint.client.request(request)).await {
            Ok(Ok(response)) => {
                endpoint.responded.store(true, Ordering::Relaxed);
                Ok(response)
            }
            Ok(Err(e)) => {
                let reason = error_chain(&e);
                let rejected_without_certificate = endpoint.client_cert_request.was_requested()
                    && !endpoint.responded.load(Ordering::Relaxed);
                match explain_tls_error(&reason).or_else(|| {
                    rejected_without_certificate.then(|| explain_missing_client_certificate(&reason))
                }) {
                    Some(reason) => Err(Error::Certificate { host: authority.clone(), reason }),
                    None => Err(failed(reason)),
                }
            }
            Err(_) => Err(failed(format!("no response within {} s", timeout.as_secs()))),
        }
    }

    /// Sends a request with authentication, retries and redirects. A streamed body is sent only once.
    pub(super) async fn send(
        &self,
        host: &RegistryHost,
        mut request: RegistryRequest,
    ) -> Result<Response<Incoming>, Error> {
        let mut attempt = 0;
        let mut challenged = false;
        let mut redirects = 0;
        // Credentials are sent to the registry's origin only.
        let mut same_origin =
            request.uri.authority().is_some_and(|authority| authority.as_str() == host.authority)
                && request.uri.scheme_str() == host.base.split(':').next();
        loop {
            let mut headers = request.headers.clone();
            let mut authenticated = false;
            if same_origin && let Some(value) = self.authorization(host, &request.scope).await? {
                headers.insert(AUTHORIZATION, value);
                authenticated = true;
            }
            let (body, replayable) = match &mut request.body {
                RequestBody::Bytes(data) => (RequestBody::Bytes(data.clone()), true),
                stream => (std::mem::replace(stream, RequestBody::none()), false),
            };
            let sent = self.send_once(request.method.clone(), &request.uri, headers, body).await;
            let retry = match &sent {
                Ok(response) => match response.status().as_u16() {
                    401 if same_origin && !challenged => {
                        challenged = true;
                        if authenticated {
                            // The cached credential may be outdated.
                            host.credentials.lock().await.remove(repository_name(&request.scope));
                        }
                        self.store_challenge(host, &request.scope, response.headers());
                        if replayable {
                            continue;
                        }
                        None
                    }
                    301 | 302 | 303 | 307 | 308
                        if replayable && matches!(request.method, Method::GET | Method::HEAD) =>
                    {
                        redirects += 1;
                        let target = redirect_location(&request.uri, response.headers())?;
                        if redirects > MAX_REDIRECTS {
                            return Err(Error::Redirect {
                                from: display_uri(&request.uri),
                                reason: "too many redirects".to_owned(),
                            });
                        }
                        same_origin = same_origin && target.authority() == request.uri.authority();
                        request.uri = target;
                        continue;
                    }
                    408 | 429 | 500 | 502..=504 if replayable => Some(retry_after(response.headers())),
                    _ => None,
                },
                Err(Error::Connect { .. }) if replayable => Some(None),
                Err(_) => None,
            };
            match retry {
                Some(delay) if attempt < self.inner.options.retries => {
                    let delay = delay.unwrap_or_else(|| self.backoff(attempt));
                    attempt += 1;
                    tokio::time::sleep(delay).await;
                }
                _ => return sent,
            }
        }
    }

    /// Exponential backoff with jitter.
    pub(super) fn backoff(&self, attempt: u32) -> Duration {
        let delay = Duration::from_millis(200).saturating_mul(1 << attempt.min(6));
        let mut byte = [0];
        let _ = getrandom::fill(&mut byte);
        delay / 2 + delay / 2 * u32::from(byte[0]) / 255
    }

    fn store_challenge(&self, host: &RegistryHost, scope: &Scope, headers: &HeaderMap) {
        let texts = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let mut auth_state = lock(&host.auth_state);
        auth_state.challenge = Challenge::parse(texts);
        auth_state.tokens.remove(&scope.to_strings().join(" "));
    }

    async fn credential(&self, host: &RegistryHost, scope: &Scope) -> Result<Option<Credential>, Error> {
        // Concurrent requests wait for the first lookup.
        let mut all = host.credentials.lock().await;
        if let Some(credential) = all.get(repository_name(scope)) {
            return Ok(Some(credential.clone()));
        }
        let keyring = self.inner.options.keyring.clone();
        let (registry, name) = (host.registry.clone(), repository_name(scope).to_owned());
        let credential = tokio::task::spawn_blocking(move || keyring.find(&registry, &name)).await;
        let credential = credential.map_err(|e| Error::Unexpected(e.to_string()))??;
        // Do not cache a miss: the user may log in later.
        if let Some(credential) = &credential {
            all.insert(repository_name(scope).to_owned(), credential.clone());
        }
        Ok(credential)
    }

    /// The `Authorization` header of a request.
    async fn authorization(&self, host: &RegistryHost, scope: &Scope) -> Result<Option<HeaderValue>, Error> {
        let key = scope.to_strings().join(" ");
        let challenge = {
            let auth_state = lock(&host.auth_state);
            let Some(challenge) = auth_state.challenge.clone() else { return Ok(None) };
            if let Some(token) = auth_state.tokens.get(&key).filter(|token| token.expires_at > Instant::now())
            {
                return Ok(Some(sensitive_header(&format!("Bearer {}", token.value))?));
            }
            challenge
        };
        let credential = self.credential(host, scope).await?;
        match (challenge, credential) {
            (_, Some(Credential::Bearer(token))) => Ok(Some(sensitive_header(&format!("Bearer {token}"))?)),
            (Challenge::Basic, Some(Credential::Basic(user, password))) => {
                Ok(Some(basic_auth(&user, &password)?))
            }
            (Challenge::Basic, _) => Ok(None),
            (Challenge::Bearer { realm, service, scope: declared }, credential) => {
                let token =
                    self.fetch_token(host, &realm, service.as_deref(), declared, scope, credential).await?;
                let value = sensitive_header(&format!("Bearer {}", token.value))?;
                lock(&host.auth_state).tokens.insert(key, token);
                Ok(Some(value))
            }
        }
    }

    async fn fetch_token(
        &self,
        host: &RegistryHost,
        realm: &str,
        service: Option<&str>,
        declared: Option<String>,
        scope: &Scope,
        credential: Option<Credential>,
    ) -> Result<Token, Error> {
        let from: Uri = host.uri("/v2/")?;
        let realm: Uri = realm.parse().map_err(|_| Error::InvalidUrl(realm.to_owned()))?;
        check_redirect(&from, &realm)?;
        let mut pairs: Vec<(&str, String)> =
            service.map(|service| ("service", service.to_owned())).into_iter().collect();
        let mut scopes = scope.to_strings();
        // Add the challenge's scope if it is for the same repository.
        if let Some(declared) = declared
            .filter(|declared| scope.repository.is_none() || !scopes.iter().any(|own| own == declared))
        {
            let same = scope
                .repository
                .as_ref()
                .is_none_or(|name| declared.starts_with(&format!("repository:{name}:")));
            if same && !scopes.iter().any(|own| declared.ends_with(":pull") && own.starts_with(&declared)) {
                scopes.push(declared);
            }
        }
        pairs.extend(scopes.into_iter().map(|scope| ("scope", scope)));
        let mut headers = HeaderMap::new();
        let (method, uri, body) = match &credential {
            Some(Credential::IdentityToken(token)) => {
                pairs.push(("grant_type", "refresh_token".to_owned()));
                pairs.push(("client_id", "podium".to_owned()));
                pairs.push(("refresh_token", token.clone()));
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
                (Method::POST, realm, RequestBody::Bytes(form_encode(&pairs).into()))
            }
            _ => {
                if let Some(Credential::Basic(user, password)) = &credential {
                    headers.insert(AUTHORIZATION, basic_auth(user, password)?);
                }
                let text = realm.to_string();
                let joined =
                    format!("{text}{}{}", if text.contains('?') { "&" } else { "?" }, form_encode(&pairs));
                (Method::GET, joined.parse().map_err(|_| Error::InvalidUrl(text))?, RequestBody::none())
            }
        };
        let response = self.send_once(method, &uri, headers, body).await?;
        if !response.status().is_success() {
            if matches!(response.status().as_u16(), 400 | 401 | 403) {
                return Err(Error::LoginRequired {
                    registry: host.registry.clone(),
                    credentials_sent: credential.is_some(),
                });
            }
            return Err(self.status_error("GET", &uri, response).await);
        }
        let data = read_body(response.into_body(), MAX_TOKEN).await?;
        Token::parse(&data, Instant::now())
            .ok_or_else(|| Error::Unexpected(format!("{}: the response has no token", display_uri(&uri))))
    }

    /// Converts an unexpected response to an error.
    pub(super) async fn status_error(&self, method: &str, uri: &Uri, response: Response<Incoming>) -> Error {
        let status = response.status();
        let data = read_body(response.into_body(), MAX_ERROR_BODY).await.unwrap_or_default();
        let value: serde_json::Value = serde_json::from_slice(&data).unwrap_or_default();
        let first = value.get("errors").and_then(|errors| errors.get(0));
        let text =
            |key: &str| first.and_then(|error| error.get(key)?.as_str()).unwrap_or_default().to_owned();
        let (code, message) = (text("code"), text("message"));
        let plain = |text: String| text.chars().filter(|c| !c.is_control()).take(300).collect::<String>();
        let message = match (code.is_empty(), message.is_empty()) {
            (false, false) => plain(format!("{code}: {message}")),
            (false, true) => plain(code),
            _ => status.canonical_reason().unwrap_or("no reason").to_owned(),
        };
        Error::Status { method: method.to_owned(), url: display_uri(uri), status, message }
    }

    /// Like [`Client::send`]; any other status is an error.
    pub(super) async fn send_expecting(
        &self,
        host: &RegistryHost,
        request: RegistryRequest,
        expected: &[u16],
    ) -> Result<Response<Incoming>, Error> {
        let (method, uri) = (request.method.to_string(), request.uri.clone());
        let scope = request.scope.clone();
        let response = self.send(host, request).await?;
        if expected.contains(&response.status().as_u16()) {
            return Ok(response);
        }
        if response.status() == StatusCode::UNAUTHORIZED {
            let credentials_sent = self.credential(host, &scope).await?.is_some();
            return Err(Error::LoginRequired { registry: host.registry.clone(), credentials_sent });
        }
        Err(self.status_error(&method, &uri, response).await)
    }
}

fn repository_name(scope: &Scope) -> &str {
    scope.repository.as_deref().unwrap_or_default()
}

fn sensitive_header(text: &str) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(text).map_err(|_| {
        Error::Unexpected("the credential contains characters that are invalid in a header".to_owned())
    })?;
    value.set_sensitive(true);
    Ok(value)
}

pub(super) fn basic_auth(user: &str, password: &str) -> Result<HeaderValue, Error> {
    sensitive_header(&format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
}

fn form_encode(pairs: &[(&str, String)]) -> String {
    pairs.iter().map(|(key, value)| format!("{key}={}", percent_encode(value))).collect::<Vec<_>>().join("&")
}

pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: u64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds.min(30)))
}

/// Rejects redirects from TLS to plaintext and from other hosts to loopback.
pub(super) fn check_redirect(from: &Uri, target: &Uri) -> Result<(), Error> {
    let invalid = |reason: &str| Error::Redirect {
        from: display_uri(from),
        reason: format!("to {}, {reason}", display_uri(target)),
    };
    let host = |uri: &Uri| uri.authority().map(|authority| authority.as_str().to_owned()).unwrap_or_default();
    match target.scheme_str() {
        Some("https") => {}
        Some("http") if from.scheme_str() == Some("http") => {}
        Some("http") => return Err(invalid("which is not encrypted")),
        _ => return Err(invalid("which is not an HTTP URL")),
    }
    if host(target).contains('@') {
        return Err(invalid("which contains credentials"));
    }
    if is_loopback(&host(target)) && !is_loopback(&host(from)) {
        return Err(invalid("which is a loopback address"));
    }
    Ok(())
}

/// The target of a `Location` header.
pub(super) fn redirect_location(from: &Uri, headers: &HeaderMap) -> Result<Uri, Error> {
    let invalid = || Error::Redirect {
        from: display_uri(from),
        reason: "the Location header is missing or invalid".to_owned(),
    };
    let text = headers.get(LOCATION).and_then(|value| value.to_str().ok()).ok_or_else(invalid)?;
    let whole = if text.contains("://") {
        text.to_owned()
    } else if text.starts_with("//") {
        format!("{}:{text}", from.scheme_str().unwrap_or("https"))
    } else if text.starts_with('/') {
        format!(
            "{}://{}{text}",
            from.scheme_str().unwrap_or("https"),
            from.authority().map_or("", |a| a.as_str())
        )
    } else {
        return Err(invalid());
    };
    let target: Uri = whole.parse().map_err(|_| invalid())?;
    check_redirect(from, &target)?;
    Ok(target)
}

/// Reads a response body of limited size.
pub(super) async fn read_body(mut body: Incoming, limit: usize) -> Result<Vec<u8>, Error> {
    let mut data = Vec::new();
    loop {
        let frame = tokio::time::timeout(BODY_IDLE_TIMEOUT, body.frame()).await;
        let frame = frame.map_err(|_| Error::Unexpected("the response body timed out".to_owned()))?;
        let Some(frame) = frame else { return Ok(data) };
        let frame = frame
            .map_err(|e| Error::Unexpected(format!("the response was interrupted: {}", error_chain(&e))))?;
        if let Ok(chunk) = frame.into_data() {
            if data.len() + chunk.len() > limit {
                return Err(Error::Unexpected(format!("the response is larger than {limit} bytes")));
            }
            data.extend_from_slice(&chunk);
        }
    }
}
