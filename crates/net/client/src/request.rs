//! Requests of any kind, answers that are read as they come, and how many there were.

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

/// How long an answer may take: a connection whose other end is gone says nothing.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);
/// As much of a refusal as is read.
const MAX_STATUS_BYTES: usize = 64 << 10;
/// The largest page of a list.
const MAX_PAGE_BYTES: usize = 1 << 30;

impl Client {
    /// Sends a body, if there is one with its media type, and reads the answer; one that does not come is an error.
    pub async fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<(&str, Vec<u8>)>,
    ) -> Result<Value, Error> {
        self.send(method, path, "application/json", body).await
    }

    /// The same, with an answer of a media type: what is deleted may be answered with everything that it was.
    pub async fn request_as(
        &self,
        method: Method,
        path: &str,
        accept: &str,
        body: Option<(&str, Vec<u8>)>,
    ) -> Result<Value, Error> {
        self.send(method, path, accept, body).await
    }

    /// An answer that is read piece by piece.
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

    /// A whole answer as it came.
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

    /// The result of a request, or an error if it takes too long.
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

/// How often each method got each status, in this process; status 0 is no answer.
static REQUEST_COUNTS: Mutex<BTreeMap<(&'static str, u16), u64>> = Mutex::new(BTreeMap::new());

/// Counts one request, also one whose answer never comes.
pub(crate) struct RequestCounter {
    method: &'static str,
    status: u16,
}

impl RequestCounter {
    /// Begins to count a request.
    pub(crate) fn start(method: &Method) -> Self {
        let known = ["GET", "POST", "PUT", "PATCH", "DELETE"];
        let method = known.into_iter().find(|name| *name == method.as_str()).unwrap_or("OTHER");
        Self { method, status: 0 }
    }

    /// The answer came.
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

/// How many requests this process has sent, by method and by status, which is 0 where no answer came.
pub fn counts() -> Vec<(&'static str, u16, u64)> {
    let counts = REQUEST_COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    counts.iter().map(|((method, status), count)| (*method, *status, *count)).collect()
}
