//! A registry for one machine: pull, push in one or many parts, mounts, tags, referrers, deletion, garbage collection.

mod answer;
mod blobs;
mod path;
pub mod store;
pub mod users;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LINK, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::json;

use crate::digest::Digest;
use crate::model::{INDEX, Index, MAX_MANIFEST, is_media_type};
use crate::reference::is_tag;
use answer::{Answer, Refusal, json_answer, plain};
use path::{Route, parameter};
use store::Store;
use users::Users;

pub use answer::Outgoing;

/// Limits that suit a registry: connections last as long as a large push, and may pause between requests.
pub fn limits() -> podium_serve::ConnectionLimits {
    podium_serve::ConnectionLimits {
        max_connections: 512,
        // Bodies are read in parts of this size, too.
        max_header_bytes: 128 << 10,
        max_headers: 100,
        header_read_timeout: std::time::Duration::from_secs(60),
        max_connection_age: std::time::Duration::from_secs(6 * 3600),
        shutdown_timeout: std::time::Duration::from_secs(5),
    }
}

/// A registry over a store.
#[derive(Clone)]
pub struct Registry {
    store: Arc<Store>,
    users: Option<Arc<Users>>,
    /// Headers of those who were let in, hashed: passwords take long to check, on purpose.
    known: Arc<Mutex<BTreeSet<Digest>>>,
    read_only: bool,
}

const MAX_KNOWN: usize = 1000;
/// How many names a page has at most.
const PAGE: usize = 1000;

type Answering = Pin<Box<dyn Future<Output = Result<Answer, Infallible>> + Send>>;

impl Registry {
    /// Over a store, for everybody.
    pub fn new(store: Arc<Store>) -> Self {
        Self { store, users: None, known: Arc::default(), read_only: false }
    }

    /// Only for these users.
    pub fn with_users(self, users: Users) -> Self {
        Self { users: Some(Arc::new(users)), ..self }
    }

    /// Nobody may change anything.
    pub fn read_only(self) -> Self {
        Self { read_only: true, ..self }
    }

    /// As what [`podium_serve::Server::run`] takes.
    pub fn service(self) -> impl Fn(Request<Incoming>) -> Answering + Clone + Send + 'static {
        move |request| {
            let registry = self.clone();
            Box::pin(async move {
                let (head, body) = request.into_parts();
                let mut answer = match registry.answer(&head, body).await {
                    Ok(answer) => answer,
                    Err(refusal) => refusal.answer(),
                };
                let headers = answer.headers_mut();
                headers.insert("docker-distribution-api-version", HeaderValue::from_static("registry/2.0"));
                headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
                Ok(answer)
            })
        }
    }

    async fn let_in(&self, head: &Parts) -> bool {
        let Some(users) = self.users.clone() else { return true };
        let Some(header) = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()) else {
            return false;
        };
        let digest = Digest::of(header.as_bytes());
        if self.known.lock().unwrap_or_else(PoisonError::into_inner).contains(&digest) {
            return true;
        }
        let header = header.to_owned();
        let fine = tokio::task::spawn_blocking(move || users.know(&header)).await.unwrap_or(false);
        if fine {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= MAX_KNOWN {
                known.clear();
            }
            known.insert(digest);
        }
        fine
    }

    async fn answer(&self, head: &Parts, body: Incoming) -> Result<Answer, Refusal> {
        if !self.let_in(head).await {
            let mut answer = Refusal::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", "who are you?").answer();
            answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"podium\""));
            return Ok(answer);
        }
        let reads = matches!(head.method, Method::GET | Method::HEAD);
        if self.read_only && !reads {
            return Err(Refusal::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "UNSUPPORTED",
                "this registry is read only",
            ));
        }
        let route = Route::parse(head.uri.path())?;
        match route {
            Route::Base if reads => Ok(json_answer(StatusCode::OK, "application/json", b"{}".to_vec())),
            Route::Catalog if reads => self.catalog(head).await,
            Route::Tags(name) if reads => self.tags(head, &name).await,
            Route::Manifest(name, version) => self.manifest(head, body, name, version).await,
            Route::Blob(name, digest) => self.blob(head, name, digest).await,
            Route::Uploads(name) if head.method == Method::POST => self.begin_upload(head, body, name).await,
            Route::Upload(name, id) => self.upload(head, body, name, id).await,
            Route::Referrers(name, digest) if reads => self.referrers(head, name, digest).await,
            _ => Err(Refusal::method()),
        }
    }

    /// Runs something that waits for the disk.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, store::Error> + Send + 'static,
    ) -> Result<T, Refusal> {
        let store = self.store.clone();
        let done = tokio::task::spawn_blocking(move || work(&store)).await;
        Ok(done.map_err(|e| Refusal::inner(&e))??)
    }

    async fn catalog(&self, head: &Parts) -> Result<Answer, Refusal> {
        let all = self.on_disk(|store| Ok(store.repositories())).await?;
        page(head, "/v2/_catalog", all, |names| json!({ "repositories": names }))
    }

    async fn tags(&self, head: &Parts, name: &str) -> Result<Answer, Refusal> {
        let repository = name.to_owned();
        let all = self.on_disk(move |store| store.tags(&repository)).await;
        let all = all.map_err(|refusal| refusal.named("NAME_UNKNOWN", "there is no such repository"))?;
        page(head, &format!("/v2/{name}/tags/list"), all, |tags| json!({ "name": name, "tags": tags }))
    }

    async fn manifest(
        &self,
        head: &Parts,
        body: Incoming,
        name: String,
        version: String,
    ) -> Result<Answer, Refusal> {
        if Digest::parse(&version).is_err() && !is_tag(&version) {
            return Err(Refusal::new(
                StatusCode::NOT_FOUND,
                "MANIFEST_UNKNOWN",
                "it is neither a tag nor a digest",
            ));
        }
        match head.method {
            Method::GET | Method::HEAD => {
                let found = self.on_disk(move |store| store.manifest(&name, &version)).await;
                let (kind, digest, data) = found
                    .map_err(|refusal| refusal.named("MANIFEST_UNKNOWN", "there is no such manifest"))?;
                // Whoever asks for certain kinds only cannot read others.
                let accepts: Vec<&str> =
                    head.headers.get_all(ACCEPT).iter().filter_map(|v| v.to_str().ok()).collect();
                let takes =
                    |text: &str| text == kind || matches!(text, "*/*" | "application/*" | "application/json");
                let words = accepts.iter().flat_map(|text| text.split(','));
                let mut words = words.map(|word| word.split(';').next().unwrap_or_default().trim());
                if !accepts.is_empty() && !words.any(takes) {
                    let text = format!("the manifest is {kind}, which was not asked for");
                    return Err(Refusal::new(StatusCode::NOT_FOUND, "MANIFEST_UNKNOWN", &text));
                }
                let mut answer = json_answer(StatusCode::OK, &kind, data);
                answer::digest(&mut answer, &digest);
                Ok(answer)
            }
            Method::PUT => {
                let kind =
                    head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
                let kind = kind.split(';').next().unwrap_or_default().trim().to_owned();
                if !kind.is_empty() && !is_media_type(&kind) {
                    return Err(Refusal::new(
                        StatusCode::BAD_REQUEST,
                        "MANIFEST_INVALID",
                        "the media type is none",
                    ));
                }
                let data = small(body).await?;
                let (repository, wanted) = (name.clone(), version);
                let put =
                    self.on_disk(move |store| store.put_manifest(&repository, &wanted, &kind, &data)).await;
                let (digest, subject) = put?;
                let mut answer = plain(StatusCode::CREATED);
                answer::location(&mut answer, &format!("/v2/{name}/manifests/{digest}"))?;
                answer::digest(&mut answer, &digest);
                if let Some(subject) = subject {
                    answer::header(&mut answer, "oci-subject", &subject.to_string())?;
                }
                Ok(answer)
            }
            Method::DELETE => {
                let deleted = self.on_disk(move |store| store.delete_manifest(&name, &version)).await;
                deleted.map_err(|refusal| refusal.named("MANIFEST_UNKNOWN", "there is no such manifest"))?;
                Ok(plain(StatusCode::ACCEPTED))
            }
            _ => Err(Refusal::method()),
        }
    }

    async fn referrers(&self, head: &Parts, name: String, digest: Digest) -> Result<Answer, Refusal> {
        let mut found = self.on_disk(move |store| Ok(store.referrers(&name, &digest))).await?;
        let kind = parameter(head, "artifactType");
        if let Some(kind) = &kind {
            found.retain(|descriptor| descriptor.artifact_type.as_ref() == Some(kind));
        }
        let mut answer = json_answer(StatusCode::OK, INDEX, Index::new(found).bytes());
        if kind.is_some() {
            answer::header(&mut answer, "oci-filters-applied", "artifactType")?;
        }
        Ok(answer)
    }
}

/// A manifest that somebody sends.
async fn small(mut body: Incoming) -> Result<Vec<u8>, Refusal> {
    let mut data = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|_| Refusal::new(StatusCode::BAD_REQUEST, "MANIFEST_INVALID", "it broke off"))?;
        if let Ok(part) = frame.into_data() {
            if data.len() + part.len() > MAX_MANIFEST as usize {
                let text = "a manifest has at most 4 MiB";
                return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "MANIFEST_INVALID", text));
            }
            data.extend_from_slice(&part);
        }
    }
    Ok(data)
}

/// One page of names, with the way to the next one.
fn page(
    head: &Parts,
    path: &str,
    all: Vec<String>,
    show: impl Fn(&[String]) -> serde_json::Value,
) -> Result<Answer, Refusal> {
    let many = match parameter(head, "n") {
        Some(text) => {
            let wrong = |_| {
                Refusal::new(StatusCode::BAD_REQUEST, "PAGINATION_NUMBER_INVALID", "n has to be a number")
            };
            Some(text.parse::<usize>().map_err(wrong)?)
        }
        None => None,
    };
    let begin = parameter(head, "last").map_or(0, |last| all.partition_point(|name| *name <= last));
    let rest = all.get(begin..).unwrap_or_default();
    // Who names no number gets all, as from other registries.
    let count = many.map_or(rest.len(), |many| many.min(PAGE)).min(rest.len());
    let shown = rest.get(..count).unwrap_or_default();
    let mut answer = json_answer(StatusCode::OK, "application/json", show(shown).to_string().into_bytes());
    if count < rest.len()
        && let (Some(many), Some(last)) = (many.filter(|many| *many > 0), shown.last())
    {
        let link = format!("<{path}?last={last}&n={}>; rel=\"next\"", many.min(PAGE));
        let value = HeaderValue::from_str(&link).map_err(|e| Refusal::inner(&e))?;
        answer.headers_mut().insert(LINK, value);
    }
    Ok(answer)
}
