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

use super::auth::{Challenge, Scope, Token, escape};
use super::credentials::Credential;
use super::dial::{Dialer, connector};
use super::trust::{Asked, advice, turned_away};
use super::{Client, Error};
use crate::reference::{api_host, is_loopback};

type BoxError = Box<dyn std::error::Error + Send + Sync>;
pub(super) type Body = UnsyncBoxBody<Bytes, BoxError>;

/// Somebody to whom connections are made.
pub(super) struct Peer {
    client: legacy::Client<HttpsConnector<Dialer>, Body>,
    asked: Arc<Asked>,
    /// That it has ever answered.
    answered: AtomicBool,
}

/// How long the head of an answer may take.
const ANSWER: Duration = Duration::from_secs(120);
/// How long a large upload may take beside that, for each byte of it: 50 kB a second at least.
const PER_BYTE: Duration = Duration::from_micros(20);
/// How long nothing may come of a body.
pub(super) const SILENCE: Duration = Duration::from_secs(60);
/// How much is read at a time: more does not fit into the processor's cache until it is hashed and written.
const READ: usize = 256 << 10;
pub(super) const MAX_HOPS: usize = 5;
const MAX_TOKEN: usize = 1 << 20;
const MAX_MESSAGE: usize = 64 << 10;

/// What is sent.
pub(super) enum Payload {
    /// What can be sent again.
    Bytes(Bytes),
    /// What cannot, and how long it is.
    Stream(Body, u64),
}

impl Payload {
    pub(super) fn none() -> Self {
        Self::Bytes(Bytes::new())
    }
}

/// A request.
pub(super) struct Call {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub payload: Payload,
    pub scope: Scope,
}

impl Call {
    pub(super) fn new(method: Method, uri: Uri, scope: Scope) -> Self {
        Self { method, uri, headers: HeaderMap::new(), payload: Payload::none(), scope }
    }
}

/// A registry that is talked to.
pub(super) struct Host {
    /// As references name it.
    pub registry: String,
    /// `https://HOST`.
    pub base: String,
    authority: String,
    state: Mutex<State>,
    /// What was found for a repository: a helper is a program, and asking it for each request takes long.
    found: tokio::sync::Mutex<HashMap<String, Credential>>,
}

#[derive(Default)]
struct State {
    challenge: Option<Challenge>,
    tokens: HashMap<String, Token>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An address without what may be secret in it.
pub(super) fn shown(uri: &Uri) -> String {
    format!(
        "{}://{}{}",
        uri.scheme_str().unwrap_or_default(),
        uri.authority().map_or("", |a| a.as_str()),
        uri.path()
    )
}

/// The causes of an error, the last one last.
fn causes(error: &dyn std::error::Error) -> String {
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

impl Host {
    pub(super) fn uri(&self, path: &str) -> Result<Uri, Error> {
        let text = format!("{}{path}", self.base);
        text.parse().map_err(|_| Error::Address(text))
    }
}

impl Client {
    /// The one who makes connections to an authority.
    fn peer(&self, authority: &str, secure: bool) -> Result<Arc<Peer>, Error> {
        let mut peers = locked(&self.inner.peers);
        let key = (authority.to_owned(), secure);
        if let Some(peer) = peers.get(&key) {
            return Ok(peer.clone());
        }
        // Reading all authorities of this machine takes longer than a small answer: only who speaks TLS needs them.
        let trust = secure.then_some(&self.inner.options.trust);
        let asked = Arc::default();
        let made = connector(authority, trust, &self.inner.options.proxies, &asked);
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .pool_timer(TokioTimer::new())
            .http1_max_buf_size(READ)
            .build(made.map_err(Error::Tls)?);
        let peer = Arc::new(Peer { client, asked, answered: AtomicBool::new(false) });
        peers.insert(key, peer.clone());
        Ok(peer)
    }

    /// A registry. With one of this machine it is tried whether it speaks TLS; with others it has to, unless the user
    /// said otherwise.
    pub(super) async fn host(&self, registry: &str) -> Result<Arc<Host>, Error> {
        let known = || locked(&self.inner.hosts).get(registry).cloned();
        if let Some(host) = known() {
            return Ok(host);
        }
        // One tries, and all others who want to know wait.
        let _trying = self.inner.trying.lock().await;
        if let Some(host) = known() {
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
        let host = Arc::new(Host {
            registry: registry.to_owned(),
            base: format!("{scheme}://{authority}"),
            authority,
            state: Mutex::default(),
            found: tokio::sync::Mutex::default(),
        });
        Ok(locked(&self.inner.hosts).entry(registry.to_owned()).or_insert(host).clone())
    }

    /// How a registry of this machine is talked to. Nothing secret is sent to find out.
    async fn probe(&self, authority: &str) -> Result<&'static str, Error> {
        let address = |scheme: &str| {
            let text = format!("{scheme}://{authority}/v2/");
            text.parse::<Uri>().map_err(|_| Error::Address(text))
        };
        let ask = async |uri: &Uri| self.send_once(Method::GET, uri, HeaderMap::new(), Payload::none()).await;
        if let Ok(response) = ask(&address("http")?).await
            // Servers that speak TLS say something else to those who do not, if anything.
            && matches!(response.status().as_u16(), 200 | 401)
        {
            // A connection can be used again when all was read.
            let _ = bounded(response.into_body(), MAX_MESSAGE).await;
            return Ok("http");
        }
        match ask(&address("https")?).await {
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
        payload: Payload,
    ) -> Result<Response<Incoming>, Error> {
        let authority = uri.authority().map(|authority| authority.as_str().to_owned()).unwrap_or_default();
        let peer = self.peer(&authority, uri.scheme_str() == Some("https"))?;
        let (body, patience) = match payload {
            Payload::Bytes(data) if data.is_empty() => {
                (Empty::new().map_err(|e| match e {}).boxed_unsync(), ANSWER)
            }
            Payload::Bytes(data) => (Full::new(data).map_err(|e| match e {}).boxed_unsync(), ANSWER),
            Payload::Stream(body, size) => {
                (body, ANSWER + PER_BYTE.saturating_mul(u32::try_from(size).unwrap_or(u32::MAX)))
            }
        };
        let failed = |why: String| Error::Connect { host: authority.clone(), why };
        let mut request =
            Request::builder().method(method).uri(uri).body(body).map_err(|e| failed(e.to_string()))?;
        *request.headers_mut() = headers;
        request
            .headers_mut()
            .insert(USER_AGENT, HeaderValue::from_static(concat!("podium/", env!("CARGO_PKG_VERSION"))));
        if let Some(proxy) = self.inner.options.proxies.authorization(uri) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, proxy);
        }
        match tokio::time::timeout(patience, peer.client.request(request)).await {
            Ok(Ok(response)) => {
                peer.answered.store(true, Ordering::Relaxed);
                Ok(response)
            }
            Ok(Err(e)) => {
                let why = causes(&e);
                let turned = peer.asked.in_vain() && !peer.answered.load(Ordering::Relaxed);
                match advice(&why).or_else(|| turned.then(|| turned_away(&why))) {
                    Some(why) => Err(Error::Certificate { host: authority.clone(), why }),
                    None => Err(failed(why)),
                }
            }
            Err(_) => Err(failed(format!("no answer in {} s", patience.as_secs()))),
        }
    }

    /// Sends a request to a registry: with what it wants to be shown, again when that may help, and after redirections.
    /// What cannot be sent twice is sent once.
    pub(super) async fn send(&self, host: &Host, mut call: Call) -> Result<Response<Incoming>, Error> {
        let mut attempt = 0;
        let mut asked = false;
        let mut hops = 0;
        // Credentials are for this place and no other.
        let mut home = call.uri.authority().is_some_and(|authority| authority.as_str() == host.authority)
            && call.uri.scheme_str() == host.base.split(':').next();
        loop {
            let mut headers = call.headers.clone();
            let mut known = false;
            if home && let Some(value) = self.authorization(host, &call.scope).await? {
                headers.insert(AUTHORIZATION, value);
                known = true;
            }
            let (payload, again) = match &mut call.payload {
                Payload::Bytes(data) => (Payload::Bytes(data.clone()), true),
                stream => (std::mem::replace(stream, Payload::none()), false),
            };
            let sent = self.send_once(call.method.clone(), &call.uri, headers, payload).await;
            let pause = match &sent {
                Ok(response) => match response.status().as_u16() {
                    401 if home && !asked => {
                        asked = true;
                        if known {
                            // It may have been changed since it was looked up.
                            host.found.lock().await.remove(repository(&call.scope));
                        }
                        self.challenged(host, &call.scope, response.headers());
                        if again {
                            continue;
                        }
                        None
                    }
                    301 | 302 | 303 | 307 | 308
                        if again && matches!(call.method, Method::GET | Method::HEAD) =>
                    {
                        hops += 1;
                        let to = location(&call.uri, response.headers())?;
                        if hops > MAX_HOPS {
                            return Err(Error::Redirect {
                                from: shown(&call.uri),
                                why: "there are too many".to_owned(),
                            });
                        }
                        home = home && to.authority() == call.uri.authority();
                        call.uri = to;
                        continue;
                    }
                    408 | 429 | 500 | 502..=504 if again => Some(retry_after(response.headers())),
                    _ => None,
                },
                Err(Error::Connect { .. }) if again => Some(None),
                Err(_) => None,
            };
            match pause {
                Some(asked) if attempt < self.inner.options.retries => {
                    let pause = asked.unwrap_or_else(|| self.pause(attempt));
                    attempt += 1;
                    tokio::time::sleep(pause).await;
                }
                _ => return sent,
            }
        }
    }

    /// How long to wait after the n-th failure: longer each time, and not all at the same moment.
    pub(super) fn pause(&self, attempt: u32) -> Duration {
        let whole = Duration::from_millis(200).saturating_mul(1 << attempt.min(6));
        let mut byte = [0];
        let _ = getrandom::fill(&mut byte);
        whole / 2 + whole / 2 * u32::from(byte[0]) / 255
    }

    fn challenged(&self, host: &Host, scope: &Scope, headers: &HeaderMap) {
        let texts = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let mut state = locked(&host.state);
        state.challenge = Challenge::parse(texts);
        state.tokens.remove(&scope.texts().join(" "));
    }

    async fn credential(&self, host: &Host, scope: &Scope) -> Result<Option<Credential>, Error> {
        // Others who want the same wait for the first one.
        let mut all = host.found.lock().await;
        if let Some(found) = all.get(repository(scope)) {
            return Ok(Some(found.clone()));
        }
        let keyring = self.inner.options.keyring.clone();
        let (registry, name) = (host.registry.clone(), repository(scope).to_owned());
        let found = tokio::task::spawn_blocking(move || keyring.find(&registry, &name)).await;
        let found = found.map_err(|e| Error::Wrong(e.to_string()))??;
        // Where there is none, there may be one after a login.
        if let Some(found) = &found {
            all.insert(repository(scope).to_owned(), found.clone());
        }
        Ok(found)
    }

    /// What is shown with a request.
    async fn authorization(&self, host: &Host, scope: &Scope) -> Result<Option<HeaderValue>, Error> {
        let key = scope.texts().join(" ");
        let challenge = {
            let state = locked(&host.state);
            let Some(challenge) = state.challenge.clone() else { return Ok(None) };
            if let Some(token) = state.tokens.get(&key).filter(|token| token.until > Instant::now()) {
                return Ok(Some(secret(&format!("Bearer {}", token.text))?));
            }
            challenge
        };
        let credential = self.credential(host, scope).await?;
        match (challenge, credential) {
            (_, Some(Credential::Bearer(token))) => Ok(Some(secret(&format!("Bearer {token}"))?)),
            (Challenge::Basic, Some(Credential::Basic(user, password))) => Ok(Some(basic(&user, &password)?)),
            (Challenge::Basic, _) => Ok(None),
            (Challenge::Bearer { realm, service, scope: said }, credential) => {
                let token = self.token(host, &realm, service.as_deref(), said, scope, credential).await?;
                let value = secret(&format!("Bearer {}", token.text))?;
                locked(&host.state).tokens.insert(key, token);
                Ok(Some(value))
            }
        }
    }

    async fn token(
        &self,
        host: &Host,
        realm: &str,
        service: Option<&str>,
        said: Option<String>,
        scope: &Scope,
        credential: Option<Credential>,
    ) -> Result<Token, Error> {
        let from: Uri = host.uri("/v2/")?;
        let realm: Uri = realm.parse().map_err(|_| Error::Address(realm.to_owned()))?;
        check_hop(&from, &realm)?;
        let mut pairs: Vec<(&str, String)> =
            service.map(|service| ("service", service.to_owned())).into_iter().collect();
        let mut scopes = scope.texts();
        // The registry knows best what it wants, where it speaks of the same repository.
        if let Some(said) =
            said.filter(|said| scope.repository.is_none() || !scopes.iter().any(|own| own == said))
        {
            let same =
                scope.repository.as_ref().is_none_or(|name| said.starts_with(&format!("repository:{name}:")));
            if same && !scopes.iter().any(|own| said.ends_with(":pull") && own.starts_with(&said)) {
                scopes.push(said);
            }
        }
        pairs.extend(scopes.into_iter().map(|scope| ("scope", scope)));
        let mut headers = HeaderMap::new();
        let (method, uri, payload) = match &credential {
            Some(Credential::Identity(token)) => {
                pairs.push(("grant_type", "refresh_token".to_owned()));
                pairs.push(("client_id", "podium".to_owned()));
                pairs.push(("refresh_token", token.clone()));
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
                (Method::POST, realm, Payload::Bytes(query(&pairs, true).into()))
            }
            _ => {
                if let Some(Credential::Basic(user, password)) = &credential {
                    headers.insert(AUTHORIZATION, basic(user, password)?);
                }
                let text = realm.to_string();
                let joined =
                    format!("{text}{}{}", if text.contains('?') { "&" } else { "?" }, query(&pairs, false));
                (Method::GET, joined.parse().map_err(|_| Error::Address(text))?, Payload::none())
            }
        };
        let response = self.send_once(method, &uri, headers, payload).await?;
        if !response.status().is_success() {
            if matches!(response.status().as_u16(), 400 | 401 | 403) {
                return Err(Error::Login { registry: host.registry.clone(), known: credential.is_some() });
            }
            return Err(self.refusal("GET", &uri, response).await);
        }
        let data = bounded(response.into_body(), MAX_TOKEN).await?;
        Token::parse(&data, Instant::now())
            .ok_or_else(|| Error::Wrong(format!("{} gave no token", shown(&uri))))
    }

    /// The error of an answer that is none that was hoped for.
    pub(super) async fn refusal(&self, method: &str, uri: &Uri, response: Response<Incoming>) -> Error {
        let status = response.status();
        let data = bounded(response.into_body(), MAX_MESSAGE).await.unwrap_or_default();
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
        Error::Status { method: method.to_owned(), url: shown(uri), status, message }
    }

    /// As [`Client::send`]; every answer but these is an error.
    pub(super) async fn expect(
        &self,
        host: &Host,
        call: Call,
        hoped: &[u16],
    ) -> Result<Response<Incoming>, Error> {
        let (method, uri) = (call.method.to_string(), call.uri.clone());
        let scope = call.scope.clone();
        let response = self.send(host, call).await?;
        if hoped.contains(&response.status().as_u16()) {
            return Ok(response);
        }
        if response.status() == StatusCode::UNAUTHORIZED {
            let known = self.credential(host, &scope).await?.is_some();
            return Err(Error::Login { registry: host.registry.clone(), known });
        }
        Err(self.refusal(&method, &uri, response).await)
    }
}

fn repository(scope: &Scope) -> &str {
    scope.repository.as_deref().unwrap_or_default()
}

fn secret(text: &str) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| Error::Wrong("a credential has characters that no header can have".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

pub(super) fn basic(user: &str, password: &str) -> Result<HeaderValue, Error> {
    secret(&format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
}

fn query(pairs: &[(&str, String)], _form: bool) -> String {
    pairs.iter().map(|(key, value)| format!("{key}={}", escape(value))).collect::<Vec<_>>().join("&")
}

pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: u64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds.min(30)))
}

/// Whether one may go from one place to another: never from TLS to none, and never from elsewhere to this machine.
pub(super) fn check_hop(from: &Uri, to: &Uri) -> Result<(), Error> {
    let wrong = |why: &str| Error::Redirect { from: shown(from), why: format!("to {}, {why}", shown(to)) };
    let host = |uri: &Uri| uri.authority().map(|authority| authority.as_str().to_owned()).unwrap_or_default();
    match to.scheme_str() {
        Some("https") => {}
        Some("http") if from.scheme_str() == Some("http") => {}
        Some("http") => return Err(wrong("which is not encrypted")),
        _ => return Err(wrong("which is no address of the web")),
    }
    if host(to).contains('@') {
        return Err(wrong("which has a name in it"));
    }
    if is_loopback(&host(to)) && !is_loopback(&host(from)) {
        return Err(wrong("which is this machine"));
    }
    Ok(())
}

/// Where an answer says to go on.
pub(super) fn location(from: &Uri, headers: &HeaderMap) -> Result<Uri, Error> {
    let wrong = || Error::Redirect { from: shown(from), why: "it does not say where to".to_owned() };
    let text = headers.get(LOCATION).and_then(|value| value.to_str().ok()).ok_or_else(wrong)?;
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
        return Err(wrong());
    };
    let to: Uri = whole.parse().map_err(|_| wrong())?;
    check_hop(from, &to)?;
    Ok(to)
}

/// A body that has to be small.
pub(super) async fn bounded(mut body: Incoming, limit: usize) -> Result<Vec<u8>, Error> {
    let mut data = Vec::new();
    loop {
        let frame = tokio::time::timeout(SILENCE, body.frame()).await;
        let frame = frame.map_err(|_| Error::Wrong("the answer did not end".to_owned()))?;
        let Some(frame) = frame else { return Ok(data) };
        let frame = frame.map_err(|e| Error::Wrong(format!("the answer broke off: {}", causes(&e))))?;
        if let Ok(part) = frame.into_data() {
            if data.len() + part.len() > limit {
                return Err(Error::Wrong(format!("the answer is larger than {limit} bytes")));
            }
            data.extend_from_slice(&part);
        }
    }
}
