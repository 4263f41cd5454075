//! What a registry says.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use hyper::body::{Body, Frame, SizeHint};
use serde_json::json;
use tokio::sync::mpsc;

use super::store;
use crate::buffers::Buffers;
use crate::digest::Digest;

/// An answer.
pub(super) type Answer = Response<Outgoing>;

/// What is sent: some bytes, or a part of a file.
pub enum Outgoing {
    /// All of it.
    Bytes(Option<Bytes>),
    /// What is left of a file.
    File(Reading),
    /// So many bytes, in parts that somebody reads from a slow disk.
    Parts(mpsc::Receiver<io::Result<Bytes>>, u64),
}

/// How much is read at a time, and how many parts wait.
const PART: usize = 256 << 10;
const WAITING: usize = 8;
/// A part that is in memory takes a fraction of this. What takes longer is read beside the network: others must not
/// wait for a disk.
const SLOW: Duration = Duration::from_millis(2);

/// A file that is being sent.
pub struct Reading {
    file: File,
    left: u64,
    buffers: Buffers,
}

impl Reading {
    fn next(&mut self) -> io::Result<Bytes> {
        let size = usize::try_from(self.left).unwrap_or(usize::MAX).min(PART);
        let mut part = self.buffers.take(size);
        self.file.read_exact(&mut part)?;
        self.left -= size as u64;
        Ok(self.buffers.send(part))
    }

    /// The rest, read by somebody else.
    fn beside(mut self) -> Outgoing {
        let (sender, receiver) = mpsc::channel(WAITING);
        let left = self.left;
        tokio::task::spawn_blocking(move || {
            while self.left > 0 {
                let part = self.next();
                let failed = part.is_err();
                if sender.blocking_send(part).is_err() || failed {
                    return;
                }
            }
        });
        Outgoing::Parts(receiver, left)
    }
}

impl Outgoing {
    /// A part of a file.
    pub(super) fn file(mut file: File, begin: u64, end: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(begin))?;
        Ok(Self::File(Reading { file, left: end - begin, buffers: Buffers::default() }))
    }

    fn left(&self) -> u64 {
        match self {
            Self::Bytes(data) => data.as_ref().map_or(0, Bytes::len) as u64,
            Self::File(reading) => reading.left,
            Self::Parts(_, left) => *left,
        }
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let own = self.get_mut();
        match own {
            Self::Bytes(data) => Poll::Ready(data.take().map(|data| Ok(Frame::data(data)))),
            Self::File(reading) if reading.left == 0 => Poll::Ready(None),
            Self::File(reading) => {
                let begin = Instant::now();
                let part = reading.next();
                if begin.elapsed() > SLOW
                    && part.is_ok()
                    && let Self::File(reading) = std::mem::replace(own, Self::Bytes(None))
                {
                    *own = reading.beside();
                }
                Poll::Ready(Some(part.map(Frame::data)))
            }
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
        self.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left())
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
            store::Error::Io { .. } | store::Error::Taken(_) => {
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
