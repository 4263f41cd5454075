//! A registry for one machine (OCI distribution API): pull, monolithic and chunked push, mounts, tags, referrers,
//! deletion, garbage collection.

mod blobs;
pub mod htpasswd;
mod response;
mod route;
pub mod store;

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
use crate::model::{Index, MAX_MANIFEST, MEDIA_TYPE_INDEX, is_media_type};
use crate::reference::is_tag;
use htpasswd::Htpasswd;
use response::{ApiError, HttpResponse, empty_response, json_response};
use route::{Route, query_parameter};
use store::Store;

pub use response::ResponseBody;

/// Limits that suit a registry: connections last as long as a large push, and may pause between requests.
pub fn server_limits() -> podium_serve::ConnectionLimits {
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
    htpasswd: Option<Arc<Htpasswd>>,
    /// Digests of `Authorization` headers that passed: bcrypt is slow by design.
    authenticated: Arc<Mutex<BTreeSet<Digest>>>,
    read_only: bool,
}

const MAX_AUTHENTICATED: usize = 1000;
/// Maximum number of entries per page.
const MAX_PAGE_SIZE: usize = 1000;

type ResponseFuture = Pin<Box<dyn Future<Output = Result<HttpResponse, Infallible>> + Send>>;

impl Registry {
    /// Creates a registry without authentication.
    pub fn new(store: Arc<Store>) -> Self {
        Self { store, htpasswd: None, authenticated: Arc::default(), read_only: false }
    }

    /// Requires the credentials of an htpasswd user.
    pub fn with_htpasswd(self, htpasswd: Htpasswd) -> Self {
        Self { htpasswd: Some(Arc::new(htpasswd)), ..self }
    }

    /// Rejects all writes.
    pub fn read_only(self) -> Self {
        Self { read_only: true, ..self }
    }

    /// The handler for [`podium_serve::Server::run`].
    pub fn service(self) -> impl Fn(Request<Incoming>) -> ResponseFuture + Clone + Send + 'static {
        move |request| {
            let registry = self.clone();
            Box::pin(async move {
                let (head, body) = request.into_parts();
                let mut response = match registry.handle(&head, body).await {
                    Ok(response) => response,
                    Err(error) => error.into_response(),
                };
                let headers = response.headers_mut();
                headers.insert("docker-distribution-api-version", HeaderValue::from_static("registry/2.0"));
                headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
                Ok(response)
            })
        }
    }

    async fn authenticate(&self, head: &Parts) -> bool {
        let Some(htpasswd) = self.htpasswd.clone() else { return true };
        let Some(header) = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()) else {
            return false;
        };
        let digest = Digest::sha256(header.as_bytes());
        if self.authenticated.lock().unwrap_or_else(PoisonError::into_inner).contains(&digest) {
            return true;
        }
        let header = header.to_owned();
        let accepted =
            tokio::task::spawn_blocking(move || htpasswd.authenticate(&header)).await.unwrap_or(false);
        if accepted {
            let mut authenticated = self.authenticated.lock().unwrap_or_else(PoisonError::into_inner);
            if authenticated.len() >= MAX_AUTHENTICATED {
                authenticated.clear();
            }
            authenticated.insert(digest);
        }
        accepted
    }

    async fn handle(&self, head: &Parts, body: Incoming) -> Result<HttpResponse, ApiError> {
        if !self.authenticate(head).await {
            let mut response =
                ApiError::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", "authentication required")
                    .into_response();
            response
                .headers_mut()
                .insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"podium\""));
            return Ok(response);
        }
        let reads = matches!(head.method, Method::GET | Method::HEAD);
        if self.read_only && !reads {
            return Err(ApiError::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "UNSUPPORTED",
                "this registry is read only",
            ));
        }
        let route = Route::parse(head.uri.path())?;
        match route {
            Route::Base if reads => Ok(json_response(StatusCode::OK, "application/json", b"{}".to_vec())),
            Route::Catalog if reads => self.catalog(head).await,
            Route::Tags(name) if reads => self.tags(head, &name).await,
            Route::Manifest(name, tag_or_digest) => self.manifest(head, body, name, tag_or_digest).await,
            Route::Blob(name, digest) => self.blob(head, name, digest).await,
            Route::Uploads(name) if head.method == Method::POST => self.start_upload(head, body, name).await,
            Route::Upload(name, id) => self.upload(head, body, name, id).await,
            Route::Referrers(name, digest) if reads => self.referrers(head, name, digest).await,
            _ => Err(ApiError::method_not_allowed()),
        }
    }

    /// Runs a blocking store operation on the blocking pool.
    async fn with_store<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Store) -> Result<T, store::Error> + Send + 'static,
    ) -> Result<T, ApiError> {
        let store = self.store.clone();
        let result = tokio::task::spawn_blocking(move || operation(&store)).await;
        Ok(result.map_err(|e| ApiError::internal(&e))??)
    }

    async fn catalog(&self, head: &Parts) -> Result<HttpResponse, ApiError> {
        let all = self.with_store(|store| Ok(store.repositories())).await?;
        paginate(head, "/v2/_catalog", all, |names| json!({ "repositories": names }))
    }

    async fn tags(&self, head: &Parts, name: &str) -> Result<HttpResponse, ApiError> {
        let repository = name.to_owned();
        let all = self.with_store(move |store| store.tags(&repository)).await;
        let all =
            all.map_err(|error| error.with_not_found_code("NAME_UNKNOWN", "there is no such repository"))?;
        paginate(head, &format!("/v2/{name}/tags/list"), all, |tags| json!({ "name": name, "tags": tags }))
    }

    async fn manifest(
        &self,
        head: &Parts,
        body: Incoming,
        name: String,
        tag_or_digest: String,
    ) -> Result<HttpResponse, ApiError> {
        if Digest::parse(&tag_or_digest).is_err() && !is_tag(&tag_or_digest) {
            return Err(ApiError::new(
                StatusCode::NOT_FOUND,
                "MANIFEST_UNKNOWN",
                "the reference is neither a tag nor a digest",
            ));
        }
        match head.method {
            Method::GET | Method::HEAD => {
                let found = self.with_store(move |store| store.manifest(&name, &tag_or_digest)).await;
                let (media_type, digest, data) = found.map_err(|error| {
                    error.with_not_found_code("MANIFEST_UNKNOWN", "there is no such manifest")
                })?;
                // A client that lists media types cannot read others.
                let accept: Vec<&str> =
                    head.headers.get_all(ACCEPT).iter().filter_map(|v| v.to_str().ok()).collect();
                let accepts_media_type = |text: &str| {
                    text == media_type || matches!(text, "*/*" | "application/*" | "application/json")
                };
                let accepted = accept.iter().flat_map(|text| text.split(','));
                let mut accepted = accepted.map(|word| word.split(';').next().unwrap_or_default().trim());
                if !accept.is_empty() && !accepted.any(accepts_media_type) {
                    let text = format!("the manifest is {media_type}, which the request does not accept");
                    return Err(ApiError::new(StatusCode::NOT_FOUND, "MANIFEST_UNKNOWN", &text));
                }
                let mut response = json_response(StatusCode::OK, &media_type, data);
                response::set_digest_headers(&mut response, &digest);
                Ok(response)
            }
            Method::PUT => {
                let media_type =
                    head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
                let media_type = media_type.split(';').next().unwrap_or_default().trim().to_owned();
                if !media_type.is_empty() && !is_media_type(&media_type) {
                    return Err(ApiError::new(
                        StatusCode::BAD_REQUEST,
                        "MANIFEST_INVALID",
                        "the media type is invalid",
                    ));
                }
                let data = read_manifest_body(body).await?;
                let repository = name.clone();
                let put = self
                    .with_store(move |store| {
                        store.put_manifest(&repository, &tag_or_digest, &media_type, &data)
                    })
                    .await;
                let (digest, subject) = put?;
                let mut response = empty_response(StatusCode::CREATED);
                response::set_location(&mut response, &format!("/v2/{name}/manifests/{digest}"))?;
                response::set_digest_headers(&mut response, &digest);
                if let Some(subject) = subject {
                    response::set_header(&mut response, "oci-subject", &subject.to_string())?;
                }
                Ok(response)
            }
            Method::DELETE => {
                let deleted =
                    self.with_store(move |store| store.delete_manifest(&name, &tag_or_digest)).await;
                deleted.map_err(|error| {
                    error.with_not_found_code("MANIFEST_UNKNOWN", "there is no such manifest")
                })?;
                Ok(empty_response(StatusCode::ACCEPTED))
            }
            _ => Err(ApiError::method_not_allowed()),
        }
    }

    async fn referrers(&self, head: &Parts, name: String, digest: Digest) -> Result<HttpResponse, ApiError> {
        let mut found = self.with_store(move |store| Ok(store.referrers(&name, &digest))).await?;
        let media_type = query_parameter(head, "artifactType");
        if let Some(media_type) = &media_type {
            found.retain(|descriptor| descriptor.artifact_type.as_ref() == Some(media_type));
        }
        let mut response = json_response(StatusCode::OK, MEDIA_TYPE_INDEX, Index::new(found).to_bytes());
        if media_type.is_some() {
            response::set_header(&mut response, "oci-filters-applied", "artifactType")?;
        }
        Ok(response)
    }
}

/// Reads the body of a manifest upload.
async fn read_manifest_body(mut body: Incoming) -> Result<Vec<u8>, ApiError> {
    let mut data = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| {
            ApiError::new(StatusCode::BAD_REQUEST, "MANIFEST_INVALID", "the request body was interrupted")
        })?;
        if let Ok(chunk) = frame.into_data() {
            if data.len() + chunk.len() > MAX_MANIFEST as usize {
                let text = "a manifest has at most 4 MiB";
                return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "MANIFEST_INVALID", text));
            }
            data.extend_from_slice(&chunk);
        }
    }
    Ok(data)
}

/// Returns one page of names, with a `Link` to the next one.
fn paginate(
    head: &Parts,
    path: &str,
    all: Vec<String>,
    show: impl Fn(&[String]) -> serde_json::Value,
) -> Result<HttpResponse, ApiError> {
    let limit = match query_parameter(head, "n") {
        Some(text) => {
            let invalid = |_| {
                ApiError::new(StatusCode::BAD_REQUEST, "PAGINATION_NUMBER_INVALID", "n has to be a number")
            };
            Some(text.parse::<usize>().map_err(invalid)?)
        }
        None => None,
    };
    let start = query_parameter(head, "last").map_or(0, |last| all.partition_point(|name| *name <= last));
    let rest = all.get(start..).unwrap_or_default();
    // Without `n`, all names are returned, as other registries do.
    let count = limit.map_or(rest.len(), |limit| limit.min(MAX_PAGE_SIZE)).min(rest.len());
    let entries = rest.get(..count).unwrap_or_default();
    let mut response =
        json_response(StatusCode::OK, "application/json", show(entries).to_string().into_bytes());
    if count < rest.len()
        && let (Some(limit), Some(last)) = (limit.filter(|limit| *limit > 0), entries.last())
    {
        let link = format!("<{path}?last={last}&n={}>; rel=\"next\"", limit.min(MAX_PAGE_SIZE));
        let value = HeaderValue::from_str(&link).map_err(|e| ApiError::internal(&e))?;
        response.headers_mut().insert(LINK, value);
    }
    Ok(response)
}
