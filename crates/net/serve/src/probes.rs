//! Probe and metrics endpoints: `/healthz`, `/readyz` and `/metrics`.

use std::convert::Infallible;
use std::pin::Pin;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;

use crate::health::Health;
use crate::metrics::Registry;

/// Response of a probe or metrics endpoint.
pub type ProbeResponse = Response<Full<Bytes>>;

/// Serves probes and metrics; endpoints that are not set respond with 404.
#[derive(Clone, Default)]
pub struct ProbeService {
    /// Checks of `/healthz`: the kubelet restarts the container while one fails.
    pub liveness: Option<Health>,
    /// Checks of `/readyz`.
    pub readiness: Option<Health>,
    /// Metrics of `/metrics`.
    pub metrics: Option<Registry>,
}

impl ProbeService {
    /// Responds to a request.
    pub fn respond<B>(&self, request: &Request<B>) -> ProbeResponse {
        let path = request.uri().path();
        let path = path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(path);
        let response = match path {
            "/healthz" | "/healthz/ping" => self.liveness.as_ref().map(probe),
            "/readyz" | "/readyz/ping" => self.readiness.as_ref().map(probe),
            "/metrics" => self.metrics.as_ref().map(|metrics| {
                text_response(
                    StatusCode::OK,
                    "text/plain; version=0.0.4; charset=utf-8",
                    metrics.encode_text(),
                )
            }),
            _ => None,
        };
        let Some(mut response) = response else {
            return text_response(StatusCode::NOT_FOUND, PLAIN_TEXT, "404 page not found\n".to_owned());
        };
        if request.method() != Method::GET && request.method() != Method::HEAD {
            response =
                text_response(StatusCode::METHOD_NOT_ALLOWED, PLAIN_TEXT, "only GET and HEAD\n".to_owned());
            response.headers_mut().insert(ALLOW, http::HeaderValue::from_static("GET, HEAD"));
        }
        response
    }

    /// Converts into a service for [`crate::Server::run`].
    pub fn into_service(
        self,
    ) -> impl Fn(Request<Incoming>) -> std::future::Ready<Result<ProbeResponse, Infallible>> + Clone + Send + 'static
    {
        move |request| std::future::ready(Ok(self.respond(&request)))
    }
}

/// Authorization decision on a request: `Err` is the status to respond with.
pub type AuthorizationFuture = Pin<Box<dyn Future<Output = Result<(), StatusCode>> + Send>>;

impl ProbeService {
    /// Like [`ProbeService::into_service`], for requests that `authorize` admits.
    pub fn into_authorized_service(
        self,
        authorize: impl Fn(&Parts) -> AuthorizationFuture + Clone + Send + Sync + 'static,
    ) -> impl Fn(Request<Incoming>) -> Pin<Box<dyn Future<Output = Result<ProbeResponse, Infallible>> + Send>>
    + Clone
    + Send
    + 'static {
        move |request| {
            let (parts, _) = request.into_parts();
            let (authorization, probes) = (authorize(&parts), self.clone());
            Box::pin(async move {
                Ok(match authorization.await {
                    Ok(()) => probes.respond(&Request::from_parts(parts, ())),
                    Err(status) => {
                        let reason = status.canonical_reason().unwrap_or_default();
                        text_response(status, PLAIN_TEXT, format!("{reason}\n"))
                    }
                })
            })
        }
    }
}

const PLAIN_TEXT: &str = "text/plain; charset=utf-8";

fn probe(health: &Health) -> ProbeResponse {
    match health.reasons() {
        None => text_response(StatusCode::OK, PLAIN_TEXT, "ok".to_owned()),
        Some(reasons) => text_response(StatusCode::INTERNAL_SERVER_ERROR, PLAIN_TEXT, reasons),
    }
}

fn text_response(status: StatusCode, content_type: &'static str, text: String) -> ProbeResponse {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(content_type));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serves_probes_and_rejects_other_paths_and_methods() {
        let ready = Health::default();
        let probes =
            ProbeService { liveness: Some(Health::default()), readiness: Some(ready.clone()), metrics: None };
        let get = |method: Method, path: &str| {
            probes.respond(&Request::builder().method(method).uri(path).body(()).unwrap()).status().as_u16()
        };
        ready.set_unhealthy("watch", "forbidden");
        assert_eq!((get(Method::GET, "/healthz"), get(Method::GET, "/readyz?verbose")), (200, 500));
        ready.clear("watch");
        assert_eq!((get(Method::HEAD, "/readyz/"), get(Method::POST, "/readyz")), (200, 405));
        for path in ["/", "/metrics", "/healthz/x", "//healthz"] {
            assert_eq!(get(Method::GET, path), 404, "{path}");
        }
    }
}
