//! The pages that every server of ours has: probes and metrics.

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

/// A page.
pub type Answer = Response<Full<Bytes>>;

/// What is shown; what is not given is not found.
#[derive(Clone, Default)]
pub struct Pages {
    /// Behind `/healthz`: whether the process has to be started anew.
    pub alive: Option<Health>,
    /// Behind `/readyz`: whether it can do its work.
    pub ready: Option<Health>,
    /// Behind `/metrics`.
    pub metrics: Option<Registry>,
}

impl Pages {
    /// The answer to a request.
    pub fn answer<B>(&self, request: &Request<B>) -> Answer {
        let path = request.uri().path();
        let path = path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(path);
        let page = match path {
            "/healthz" | "/healthz/ping" => self.alive.as_ref().map(probe),
            "/readyz" | "/readyz/ping" => self.ready.as_ref().map(probe),
            "/metrics" => self.metrics.as_ref().map(|metrics| {
                answer(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", metrics.text())
            }),
            _ => None,
        };
        let Some(mut page) = page else {
            return answer(StatusCode::NOT_FOUND, PLAIN, "404 page not found\n".to_owned());
        };
        if request.method() != Method::GET && request.method() != Method::HEAD {
            page = answer(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "only GET and HEAD\n".to_owned());
            page.headers_mut().insert(ALLOW, http::HeaderValue::from_static("GET, HEAD"));
        }
        page
    }

    /// As what [`crate::Server::run`] takes.
    pub fn service(
        self,
    ) -> impl Fn(Request<Incoming>) -> std::future::Ready<Result<Answer, Infallible>> + Clone + Send + 'static
    {
        move |request| std::future::ready(Ok(self.answer(&request)))
    }
}

/// Whether a request may be answered: if not, with what status instead.
pub type Leave = Pin<Box<dyn Future<Output = Result<(), StatusCode>> + Send>>;

impl Pages {
    /// As [`Pages::service`], for those whom somebody lets in.
    pub fn guarded(
        self,
        guard: impl Fn(&Parts) -> Leave + Clone + Send + Sync + 'static,
    ) -> impl Fn(Request<Incoming>) -> Pin<Box<dyn Future<Output = Result<Answer, Infallible>> + Send>>
    + Clone
    + Send
    + 'static {
        move |request| {
            let (head, _) = request.into_parts();
            let (leave, pages) = (guard(&head), self.clone());
            Box::pin(async move {
                Ok(match leave.await {
                    Ok(()) => pages.answer(&Request::from_parts(head, ())),
                    Err(status) => {
                        let reason = status.canonical_reason().unwrap_or_default();
                        answer(status, PLAIN, format!("{reason}\n"))
                    }
                })
            })
        }
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";

fn probe(health: &Health) -> Answer {
    match health.troubles() {
        None => answer(StatusCode::OK, PLAIN, "ok".to_owned()),
        Some(troubles) => answer(StatusCode::INTERNAL_SERVER_ERROR, PLAIN, troubles),
    }
}

fn answer(status: StatusCode, kind: &'static str, text: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(text)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(kind));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_tell_the_truth_and_the_rest_is_not_found() {
        let ready = Health::default();
        let pages = Pages { alive: Some(Health::default()), ready: Some(ready.clone()), metrics: None };
        let get = |method: Method, path: &str| {
            pages.answer(&Request::builder().method(method).uri(path).body(()).unwrap()).status().as_u16()
        };
        ready.bad("watch", "forbidden");
        assert_eq!((get(Method::GET, "/healthz"), get(Method::GET, "/readyz?verbose")), (200, 500));
        ready.good("watch");
        assert_eq!((get(Method::HEAD, "/readyz/"), get(Method::POST, "/readyz")), (200, 405));
        for path in ["/", "/metrics", "/healthz/x", "//healthz"] {
            assert_eq!(get(Method::GET, path), 404, "{path}");
        }
    }
}
