//! Requests to registries: known by name, answered with patience, never shown to strangers.

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

/// Somebody to whom connections are made.
pub(super) struct Endpoint {
    client: legacy::Client<HttpsConnector<Dialer>, BoxBody>,
    client_cert_request: Arc<ClientCertRequest>,
    /// That it has ever answered.
    responded: AtomicBool,
}

/// How long the head of an answer may take.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a large upload may take beside that, for each byte of it: 50 kB a second at least.
const UPLOAD_TIMEOUT_PER_BYTE: Duration = Duration::from_micros(20);
/// How long nothing may come of a body.
pub(super) const BODY_IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// How much is read at a time: more does not fit into the processor's cache until it is hashed and written.
const READ_BUFFER_SIZE: usize = 256 << 10;
pub(super) const MAX_REDIRECTS: usize = 5;
const MAX_TOKEN: usize = 1 << 20;
const MAX_ERROR_BODY: usize = 64 << 10;

/// What is sent.
pub(super) enum RequestBody {
    /// What can be sent again.
    Bytes(Bytes),
    /// What cannot, and how long it is.
    Stream(BoxBody, u64),
}

impl RequestBody {
    pub(super) fn none() -> Self {
        Self::Bytes(Bytes::new())
    }
}

/// A request.
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

/// A registry that is talked to.
pub(super) struct RegistryHost {
    /// As references name it.
    pub registry: String,
    /// `https://HOST`.
    pub base: String,
    authority: String,
    auth_state: Mutex<AuthState>,
    /// What was found for a repository: a helper is a program, and asking it for each request takes long.
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

/// An address without what may be secret in it.
pub(super) fn display_uri(uri: &Uri) -> String {
    format!(
        "{}://{}{}",
        uri.scheme_str().unwrap_or_default(),
        uri.authority().map_or("", |a| a.as_str()),
        uri.path()
    )
}

/// The causes of an error, the last one last.
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
    /// The one who makes connections to an authority.
    fn endpoint(&self, authority: &str, tls_enabled: bool) -> Result<Arc<Endpoint>, Error> {
        let mut endpoints = lock(&self.inner.endpoints);
        let key = (authority.to_owned(), tls_enabled);
        if let Some(endpoint) = endpoints.get(&key) {
            return Ok(endpoint.clone());
        }
        // Reading all authorities of this machine takes longer than a small answer: only who speaks TLS needs them.
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

    /// A registry. With one of this machine it is tried whether it speaks TLS; with others it has to, unless the user
    /// said otherwise.
    pub(super) async fn registry_host(&self, registry: &str) -> Result<Arc<RegistryHost>, Error> {
        let authenticated = || lock(&self.inner.hosts).get(registry).cloned();
        if let Some(host) = authenticated() {
            return Ok(host);
        }
        // One tries, and all others who want to know wait.
        let _probe_guard = self.inner.probe_lock.lock().await;
        if let Some(host) = authenticated() {
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

    /// How a registry of this machine is talked to. Nothing secret is sent to find out.
    async fn probe(&self, authority: &str) -> Result<&'static str, Error> {
        let address = |scheme: &str| {
            let text = format!("{scheme}://{authority}/v2/");
            text.parse::<Uri>().map_err(|_| Error::InvalidUrl(text))
        };
        let get =
            async |uri: &Uri| self.send_once(Method::GET, uri, HeaderMap::new(), RequestBody::none()).await;
        if let Ok(response) = get(&address("http")?).await
            // Servers that speak TLS say something else to those who do not, if anything.
            && matches!(response.status().as_u16(), 200 | 401)
        {
            // A connection can be used again when all was read.
            let _ = read_body(response.into_body(), MAX_ERROR_BODY).await;
            return Ok("http");
        }
        match get(&address("https")?).await {
            Ok(_) => Ok("https"),
            // Who shows a certificate speaks TLS, whatever we think of the certificate.
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
            Err(_) => Err(failed(format!("no answer in {} s", timeout.as_secs()))),
        }
    }

    /// Sends a request to a registry: with what it wants to be shown, again when that may help, and after redirections.
    /// What cannot be sent twice is sent once.
    pub(super) async fn send(
        &self,
        host: &RegistryHost,
        mut request: RegistryRequest,
    ) -> Result<Response<Incoming>, Error> {
        let mut attempt = 0;
        let mut challenged = false;
        let mut redirects = 0;
        // Credentials are for this place and no other.
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
            let pause = match &sent {
                Ok(response) => match response.status().as_u16() {
                    401 if same_origin && !challenged => {
                        challenged = true;
                        if authenticated {
                            // It may have been changed since it was looked up.
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
                                reason: "there are too many".to_owned(),
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
            match pause {
                Some(challenged) if attempt < self.inner.options.retries => {
                    let pause = challenged.unwrap_or_else(|| self.backoff(attempt));
                    attempt += 1;
                    tokio::time::sleep(pause).await;
                }
                _ => return sent,
            }
        }
    }

    /// How long to wait after the n-th failure: longer each time, and not all at the same moment.
    pub(super) fn backoff(&self, attempt: u32) -> Duration {
        let whole = Duration::from_millis(200).saturating_mul(1 << attempt.min(6));
        let mut byte = [0];
        let _ = getrandom::fill(&mut byte);
        whole / 2 + whole / 2 * u32::from(byte[0]) / 255
    }

    fn store_challenge(&self, host: &RegistryHost, scope: &Scope, headers: &HeaderMap) {
        let texts = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let mut auth_state = lock(&host.auth_state);
        auth_state.challenge = Challenge::parse(texts);
        auth_state.tokens.remove(&scope.to_strings().join(" "));
    }

    async fn credential(&self, host: &RegistryHost, scope: &Scope) -> Result<Option<Credential>, Error> {
        // Others who want the same wait for the first one.
        let mut all = host.credentials.lock().await;
        if let Some(credential) = all.get(repository_name(scope)) {
            return Ok(Some(credential.clone()));
        }
        let keyring = self.inner.options.keyring.clone();
        let (registry, name) = (host.registry.clone(), repository_name(scope).to_owned());
        let credential = tokio::task::spawn_blocking(move || keyring.find(&registry, &name)).await;
        let credential = credential.map_err(|e| Error::Unexpected(e.to_string()))??;
        // Where there is none, there may be one after a login.
        if let Some(credential) = &credential {
            all.insert(repository_name(scope).to_owned(), credential.clone());
        }
        Ok(credential)
    }

    /// What is shown with a request.
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
        // The registry knows best what it wants, where it speaks of the same repository.
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
                (Method::POST, realm, RequestBody::Bytes(form_encode(&pairs, true).into()))
            }
            _ => {
                if let Some(Credential::Basic(user, password)) = &credential {
                    headers.insert(AUTHORIZATION, basic_auth(user, password)?);
                }
                let text = realm.to_string();
                let joined = format!(
                    "{text}{}{}",
                    if text.contains('?') { "&" } else { "?" },
                    form_encode(&pairs, false)
                );
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
            .ok_or_else(|| Error::Unexpected(format!("{} gave no token", display_uri(&uri))))
    }

    /// The error of an answer that is none that was hoped for.
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

    /// As [`Client::send`]; every answer but these is an error.
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
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| Error::Unexpected("a credential has characters that no header can have".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

pub(super) fn basic_auth(user: &str, password: &str) -> Result<HeaderValue, Error> {
    sensitive_header(&format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
}

fn form_encode(pairs: &[(&str, String)], _form: bool) -> String {
    pairs.iter().map(|(key, value)| format!("{key}={}", percent_encode(value))).collect::<Vec<_>>().join("&")
}

pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: u64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds.min(30)))
}

/// Whether one may go from one place to another: never from TLS to none, and never from elsewhere to this machine.
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
        _ => return Err(invalid("which is no address of the web")),
    }
    if host(target).contains('@') {
        return Err(invalid("which has a name in it"));
    }
    if is_loopback(&host(target)) && !is_loopback(&host(from)) {
        return Err(invalid("which is this machine"));
    }
    Ok(())
}

/// Where an answer says to go on.
pub(super) fn redirect_location(from: &Uri, headers: &HeaderMap) -> Result<Uri, Error> {
    let invalid =
        || Error::Redirect { from: display_uri(from), reason: "it does not say where to".to_owned() };
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

/// A body that has to be small.
pub(super) async fn read_body(mut body: Incoming, limit: usize) -> Result<Vec<u8>, Error> {
    let mut data = Vec::new();
    loop {
        let frame = tokio::time::timeout(BODY_IDLE_TIMEOUT, body.frame()).await;
        let frame = frame.map_err(|_| Error::Unexpected("the answer did not end".to_owned()))?;
        let Some(frame) = frame else { return Ok(data) };
        let frame =
            frame.map_err(|e| Error::Unexpected(format!("the answer broke off: {}", error_chain(&e))))?;
        if let Ok(chunk) = frame.into_data() {
            if data.len() + chunk.len() > limit {
                return Err(Error::Unexpected(format!("the answer is larger than {limit} bytes")));
            }
            data.extend_from_slice(&chunk);
        }
    }
}
