//! What a registry says.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use hyper::body::{Body, Frame, SizeHint};
use serde_json::json;
use tokio::sync::mpsc;

use super::store;
use crate::digest::Digest;

/// An answer.
pub(super) type Answer = Response<Outgoing>;

/// What is sent: some bytes, or parts that somebody reads from disk.
pub enum Outgoing {
    /// All of it.
    Bytes(Option<Bytes>),
    /// So many bytes, in parts.
    Parts(mpsc::Receiver<std::io::Result<Bytes>>, u64),
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        match self.get_mut() {
            Self::Bytes(data) => Poll::Ready(data.take().map(|data| Ok(Frame::data(data)))),
            Self::Parts(parts, left) => parts.poll_recv(context).map(|part| match part {
                Some(Ok(part)) => {
                    *left = left.saturating_sub(part.len() as u64);
                    Some(Ok(Frame::data(part)))
                }
                Some(Err(error)) => Some(Err(error)),
                None => None,
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Bytes(data) => data.as_ref().is_none_or(Bytes::is_empty),
            Self::Parts(_, left) => *left == 0,
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match self {
            Self::Bytes(data) => data.as_ref().map_or(0, Bytes::len) as u64,
            Self::Parts(_, left) => *left,
        })
    }
}

/// Why not.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    code: &'static str,
    message: String,
    range: Option<u64>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, code: &'static str, message: &str) -> Self {
        Self { status, code, message: message.to_owned(), range: None }
    }

    pub(super) fn method() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "UNSUPPORTED", "that cannot be done here")
    }

    pub(super) fn inner(error: &dyn std::fmt::Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "UNKNOWN", &error.to_string())
    }

    /// In the words for what is missing.
    pub(super) fn named(self, code: &'static str, message: &str) -> Self {
        if self.status == StatusCode::NOT_FOUND { Self::new(self.status, code, message) } else { self }
    }

    pub(super) fn answer(self) -> Answer {
        let body = json!({ "errors": [{ "code": self.code, "message": self.message }] });
        let mut answer = json_answer(self.status, "application/json", body.to_string().into_bytes());
        if let Some(size) = self.range {
            let _ = range(&mut answer, size);
        }
        answer
    }
}

impl From<store::Error> for Refusal {
    fn from(error: store::Error) -> Self {
        let text = error.to_string();
        match error {
            store::Error::Io { .. } => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "UNKNOWN", "the disk: see the log")
            }
            store::Error::Digest { .. } => Self::new(StatusCode::BAD_REQUEST, "DIGEST_INVALID", &text),
            store::Error::Range(size) => {
                let refusal = Self::new(StatusCode::RANGE_NOT_SATISFIABLE, "BLOB_UPLOAD_INVALID", &text);
                Self { range: Some(size), ..refusal }
            }
            store::Error::Upload => Self::new(StatusCode::NOT_FOUND, "BLOB_UPLOAD_UNKNOWN", &text),
            store::Error::Busy => Self::new(StatusCode::CONFLICT, "BLOB_UPLOAD_INVALID", &text),
            store::Error::Manifest(_) => Self::new(StatusCode::BAD_REQUEST, "MANIFEST_INVALID", &text),
            store::Error::Unknown(_) => Self::new(StatusCode::BAD_REQUEST, "MANIFEST_BLOB_UNKNOWN", &text),
            store::Error::Missing => Self::new(StatusCode::NOT_FOUND, "BLOB_UNKNOWN", &text),
        }
    }
}

/// Without a body.
pub(super) fn plain(status: StatusCode) -> Answer {
    let mut answer = Response::new(Outgoing::Bytes(None));
    *answer.status_mut() = status;
    answer
}

pub(super) fn json_answer(status: StatusCode, kind: &str, data: Vec<u8>) -> Answer {
    let mut answer = Response::new(Outgoing::Bytes(Some(data.into())));
    *answer.status_mut() = status;
    let kind = HeaderValue::from_str(kind).unwrap_or_else(|_| HeaderValue::from_static("application/json"));
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}

/// The same head, with the length of a body that is not sent.
pub(super) fn without_body(answer: Answer) -> Answer {
    let (mut head, body) = answer.into_parts();
    let length = body.size_hint().exact().unwrap_or(0);
    head.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    Response::from_parts(head, Outgoing::Bytes(None))
}

pub(super) fn header(answer: &mut Answer, name: &'static str, value: &str) -> Result<(), Refusal> {
    let value = HeaderValue::from_str(value).map_err(|e| Refusal::inner(&e))?;
    answer.headers_mut().insert(name, value);
    Ok(())
}

pub(super) fn location(answer: &mut Answer, path: &str) -> Result<(), Refusal> {
    header(answer, "location", path)
}

pub(super) fn digest(answer: &mut Answer, digest: &Digest) {
    let _ = header(answer, "docker-content-digest", &digest.to_string());
    let _ = header(answer, "etag", &format!("\"{digest}\""));
}

/// How much of an upload there is.
pub(super) fn range(answer: &mut Answer, size: u64) -> Result<(), Refusal> {
    header(answer, "range", &format!("0-{}", size.saturating_sub(1)))
}
