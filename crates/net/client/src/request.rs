//! Arbitrary requests, streamed responses, response timeouts and request counts.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::header::ACCEPT;
use http::{Method, Request};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use podium_meta::Status;
use serde_json::Value;

use crate::client::{Client, Error};
use crate::root_cause::root_cause;

/// Limit for a response: a connection whose peer is gone reports no error.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);
/// Limit for the body of an error response.
const MAX_STATUS_BYTES: usize = 64 << 10;
/// Limit for a page of a list.
const MAX_PAGE_BYTES: usize = 1 << 30;

impl Client {
    /// Sends a request with an optional content type and body, and decodes the JSON response.
    pub async fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<(&str, Vec<u8>)>,
    ) -> Result<Value, Error> {
        self.send(method, path, "application/json", body).await
    }

    /// Like [`Client::request`], with an `Accept` header: the response to a delete may be the whole deleted object.
    pub async fn request_as(
        &self,
        method: Method,
        path: &str,
        accept: &str,
        body: Option<(&str, Vec<u8>)>,
    ) -> Result<Value, Error> {
        self.send(method, path, accept, body).await
    }

    /// Sends a GET request and returns the response body as a stream.
    pub(crate) async fn open_stream(&self, path: &str, accept: &str) -> Result<Body, Error> {
        let invalid_response = |reason: String| Error::InvalidResponse { path: path.to_owned(), reason };
        let request = Request::get(path).header(ACCEPT, accept);
        let request = request.body(Body::empty()).map_err(|e| invalid_response(e.to_string()))?;
        self.with_timeout(async {
            let counter = RequestCounter::start(&Method::GET);
            let response =
                self.watches.send(request).await.map_err(|error| self.unreachable(root_cause(&error)))?;
            let status = response.status();
            counter.finish(status.as_u16());
            if status.is_success() {
                return Ok(response.into_body());
            }
            let body = Limited::new(response.into_body(), MAX_STATUS_BYTES).collect().await;
            let body = body.map(|body| body.to_bytes()).unwrap_or_default();
            Err(Error::Api(Status::read(status.as_u16(), &body)))
        })
        .await
    }

    /// Sends a GET request and returns the whole response body.
    pub(crate) async fn get_bytes(
        &self,
        path: &str,
        accept: &str,
    ) -> Result<impl AsRef<[u8]> + use<>, Error> {
        let body = self.open_stream(path, accept).await?;
        let invalid_response = |reason: String| Error::InvalidResponse { path: path.to_owned(), reason };
        self.with_timeout(async {
            Limited::new(body, MAX_PAGE_BYTES).collect().await.map_err(|e| invalid_response(root_cause(&*e)))
        })
        .await
        .map(|body| body.to_bytes())
    }

    /// Awaits a request and fails with [`Error::Unreachable`] after the response timeout.
    pub async fn with_timeout<T>(&self, request: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        match tokio::time::timeout(RESPONSE_TIMEOUT, request).await {
            Ok(result) => result,
            Err(_) => Err(self.unreachable(format!("no answer in {} s", RESPONSE_TIMEOUT.as_secs()))),
        }
    }

    fn unreachable(&self, reason: String) -> Error {
        Error::Unreachable { url: self.url.clone(), reason }
    }
}

/// Requests of this process by method and status; status 0 means no response.
static REQUEST_COUNTS: Mutex<BTreeMap<(&'static str, u16), u64>> = Mutex::new(BTreeMap::new());

/// Counts one request when it is dropped, even if no response arrives.
pub(crate) struct RequestCounter {
    method: &'static str,
    status: u16,
}

impl RequestCounter {
    /// Creates the counter of a request that is about to be sent.
    pub(crate) fn start(method: &Method) -> Self {
        let known = ["GET", "POST", "PUT", "PATCH", "DELETE"];
        let method = known.into_iter().find(|name| *name == method.as_str()).unwrap_or("OTHER");
        Self { method, status: 0 }
    }

    /// Records the status of the response.
    pub(crate) fn finish(mut self, status: u16) {
        self.status = status;
    }
}

impl Drop for RequestCounter {
    fn drop(&mut self) {
        let mut counts = REQUEST_COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry((self.method, self.status)).or_default() += 1;
    }
}

/// Requests that this process has sent, by method and status; status 0 means no response.
pub fn counts() -> Vec<(&'static str, u16, u64)> {
    let counts = REQUEST_COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    counts.iter().map(|((method, status), count)| (*method, *status, *count)).collect()
}
