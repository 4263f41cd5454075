//! Responses and errors of the registry API.

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
use crate::buffer_pool::BufferPool;
use crate::digest::Digest;

/// A response of the registry.
pub(super) type HttpResponse = Response<ResponseBody>;

/// A response body: bytes in memory or a range of a file.
pub enum ResponseBody {
    /// Bytes in memory.
    Bytes(Option<Bytes>),
    /// A file, read while it is sent.
    File(FileChunks),
    /// Chunks from a background task that reads a slow disk, and the number of remaining bytes.
    Channel(mpsc::Receiver<io::Result<Bytes>>, u64),
}

/// Read size, and number of chunks in the channel.
const CHUNK_SIZE: usize = 256 << 10;
const CHANNEL_CAPACITY: usize = 8;
/// Reads from the page cache take a fraction of this. Slower reads move to a background task, so that they do not
/// block the runtime.
const SLOW_READ: Duration = Duration::from_millis(2);

/// The remaining range of a file.
pub struct FileChunks {
    file: File,
    remaining: u64,
    buffers: BufferPool,
}

impl FileChunks {
    fn next_chunk(&mut self) -> io::Result<Bytes> {
        let size = usize::try_from(self.remaining).unwrap_or(usize::MAX).min(CHUNK_SIZE);
        let mut chunk = self.buffers.acquire(size);
        self.file.read_exact(&mut chunk)?;
        self.remaining -= size as u64;
        Ok(self.buffers.freeze(chunk))
    }

    /// Reads the rest in a background task.
    fn read_in_background(mut self) -> ResponseBody {
        let (sender, receiver) = mpsc::channel(CHANNEL_CAPACITY);
        let remaining = self.remaining;
        tokio::task::spawn_blocking(move || {
            while self.remaining > 0 {
                let chunk = self.next_chunk();
                let failed = chunk.is_err();
                if sender.blocking_send(chunk).is_err() || failed {
                    return;
                }
            }
        });
        ResponseBody::Channel(receiver, remaining)
    }
}

impl ResponseBody {
    /// Sends a range of a file.
    pub(super) fn file(mut file: File, start: u64, end: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(start))?;
        Ok(Self::File(FileChunks { file, remaining: end - start, buffers: BufferPool::default() }))
    }

    fn remaining(&self) -> u64 {
        match self {
            Self::Bytes(data) => data.as_ref().map_or(0, Bytes::len) as u64,
            Self::File(chunks) => chunks.remaining,
            Self::Channel(_, remaining) => *remaining,
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let body = self.get_mut();
        match body {
            Self::Bytes(data) => Poll::Ready(data.take().map(|data| Ok(Frame::data(data)))),
            Self::File(chunks) if chunks.remaining == 0 => Poll::Ready(None),
            Self::File(chunks) => {
                let start = Instant::now();
                let chunk = chunks.next_chunk();
                if start.elapsed() > SLOW_READ
                    && chunk.is_ok()
                    && let Self::File(chunks) = std::mem::replace(body, Self::Bytes(None))
                {
                    *body = chunks.read_in_background();
                }
                Poll::Ready(Some(chunk.map(Frame::data)))
            }
            Self::Channel(receiver, remaining) => receiver.poll_recv(context).map(|chunk| match chunk {
                Some(Ok(chunk)) => {
                    *remaining = remaining.saturating_sub(chunk.len() as u64);
                    Some(Ok(Frame::data(chunk)))
                }
                Some(Err(error)) => Some(Err(error)),
                None => None,
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.remaining() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining())
    }
}

/// An error of the distribution API.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    received: Option<u64>,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, code: &'static str, message: &str) -> Self {
        Self { status, code, message: message.to_owned(), received: None }
    }

    pub(super) fn method_not_allowed() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "UNSUPPORTED", "the operation is not supported")
    }

    pub(super) fn internal(error: &dyn std::fmt::Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "UNKNOWN", &error.to_string())
    }

    /// Replaces code and message of a 404.
    pub(super) fn with_not_found_code(self, code: &'static str, message: &str) -> Self {
        if self.status == StatusCode::NOT_FOUND { Self::new(self.status, code, message) } else { self }
    }

    pub(super) fn into_response(self) -> HttpResponse {
        let body = json!({ "errors": [{ "code": self.code, "message": self.message }] });
        let mut response = json_response(self.status, "application/json", body.to_string().into_bytes());
        if let Some(size) = self.received {
            let _ = set_range(&mut response, size);
        }
        response
    }
}

impl From<store::Error> for ApiError {
    fn from(error: store::Error) -> Self {
        let text = error.to_string();
        match error {
            store::Error::Io { .. } | store::Error::InUse(_) => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "UNKNOWN", "storage failure")
            }
            store::Error::DigestMismatch { .. } => {
                Self::new(StatusCode::BAD_REQUEST, "DIGEST_INVALID", &text)
            }
            store::Error::OffsetMismatch(size) => {
                let error = Self::new(StatusCode::RANGE_NOT_SATISFIABLE, "BLOB_UPLOAD_INVALID", &text);
                Self { received: Some(size), ..error }
            }
            store::Error::UploadUnknown => Self::new(StatusCode::NOT_FOUND, "BLOB_UPLOAD_UNKNOWN", &text),
            store::Error::UploadBusy => Self::new(StatusCode::CONFLICT, "BLOB_UPLOAD_INVALID", &text),
            store::Error::ManifestInvalid(_) => Self::new(StatusCode::BAD_REQUEST, "MANIFEST_INVALID", &text),
            store::Error::BlobUnknown(_) => {
                Self::new(StatusCode::BAD_REQUEST, "MANIFEST_BLOB_UNKNOWN", &text)
            }
            store::Error::NotFound => Self::new(StatusCode::NOT_FOUND, "BLOB_UNKNOWN", &text),
        }
    }
}

/// A response without a body.
pub(super) fn empty_response(status: StatusCode) -> HttpResponse {
    let mut response = Response::new(ResponseBody::Bytes(None));
    *response.status_mut() = status;
    response
}

pub(super) fn json_response(status: StatusCode, content_type: &str, data: Vec<u8>) -> HttpResponse {
    let mut response = Response::new(ResponseBody::Bytes(Some(data.into())));
    *response.status_mut() = status;
    let content_type =
        HeaderValue::from_str(content_type).unwrap_or_else(|_| HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

pub(super) fn set_header(
    response: &mut HttpResponse,
    name: &'static str,
    value: &str,
) -> Result<(), ApiError> {
    let value = HeaderValue::from_str(value).map_err(|e| ApiError::internal(&e))?;
    response.headers_mut().insert(name, value);
    Ok(())
}

pub(super) fn set_location(response: &mut HttpResponse, path: &str) -> Result<(), ApiError> {
    set_header(response, "location", path)
}

pub(super) fn set_digest_headers(response: &mut HttpResponse, digest: &Digest) {
    let _ = set_header(response, "docker-content-digest", &digest.to_string());
    let _ = set_header(response, "etag", &format!("\"{digest}\""));
}

/// Sets the `Range` header of an upload.
pub(super) fn set_range(response: &mut HttpResponse, size: u64) -> Result<(), ApiError> {
    set_header(response, "range", &format!("0-{}", size.saturating_sub(1)))
}
