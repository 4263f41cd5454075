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
use crate::reason::innermost;

/// How long an answer may take: a connection whose other end is gone says nothing.
const PATIENCE: Duration = Duration::from_secs(60);
/// As much of a refusal as is read.
const REFUSAL: usize = 64 << 10;
/// The largest page of a list.
const PAGE: usize = 1 << 30;

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
    pub(crate) async fn open(&self, path: &str, accept: &str) -> Result<Body, Error> {
        let unreadable = |reason: String| Error::InvalidResponse { path: path.to_owned(), reason };
        let request = Request::get(path).header(ACCEPT, accept);
        let request = request.body(Body::empty()).map_err(|e| unreadable(e.to_string()))?;
        self.with_timeout(async {
            let tally = tally(&Method::GET);
            let answer = self.watches.send(request).await.map_err(|error| self.away(innermost(&error)))?;
            let status = answer.status();
            tally.count(status.as_u16());
            if status.is_success() {
                return Ok(answer.into_body());
            }
            let body = Limited::new(answer.into_body(), REFUSAL).collect().await;
            let body = body.map(|body| body.to_bytes()).unwrap_or_default();
            Err(Error::Api(Status::read(status.as_u16(), &body)))
        })
        .await
    }

    /// A whole answer as it came.
    pub(crate) async fn raw(&self, path: &str, accept: &str) -> Result<impl AsRef<[u8]> + use<>, Error> {
        let body = self.open(path, accept).await?;
        let unreadable = |reason: String| Error::InvalidResponse { path: path.to_owned(), reason };
        self.with_timeout(async {
            Limited::new(body, PAGE).collect().await.map_err(|e| unreadable(innermost(&*e)))
        })
        .await
        .map(|body| body.to_bytes())
    }

    /// The result of a request, or an error if it takes too long.
    pub async fn with_timeout<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        match tokio::time::timeout(PATIENCE, work).await {
            Ok(result) => result,
            Err(_) => Err(self.away(format!("no answer in {} s", PATIENCE.as_secs()))),
        }
    }

    fn away(&self, reason: String) -> Error {
        Error::Unreachable { url: self.url.clone(), reason }
    }
}

/// How often each method got each status, in this process; status 0 is no answer.
static TALLY: Mutex<BTreeMap<(&'static str, u16), u64>> = Mutex::new(BTreeMap::new());

/// Counts one request, also one whose answer never comes.
pub(crate) struct Tally {
    method: &'static str,
    status: u16,
}

/// Begins to count a request.
pub(crate) fn tally(method: &Method) -> Tally {
    let known = ["GET", "POST", "PUT", "PATCH", "DELETE"];
    let method = known.into_iter().find(|name| *name == method.as_str()).unwrap_or("OTHER");
    Tally { method, status: 0 }
}

impl Tally {
    /// The answer came.
    pub(crate) fn count(mut self, status: u16) {
        self.status = status;
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        let mut all = TALLY.lock().unwrap_or_else(PoisonError::into_inner);
        *all.entry((self.method, self.status)).or_default() += 1;
    }
}

/// How many requests this process has sent, by method and by status, which is 0 where no answer came.
pub fn sent() -> Vec<(&'static str, u16, u64)> {
    let all = TALLY.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().map(|((method, status), count)| (*method, *status, *count)).collect()
}
