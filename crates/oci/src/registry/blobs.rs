//! Handlers for blobs and uploads.

use bytes::Bytes;
use http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, RANGE};
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::mpsc;

use super::response::{self, ApiError, HttpResponse, ResponseBody, empty_response};
use super::route::query_parameter;
use super::{Registry, store};
use crate::digest::Digest;
use crate::disk::{WRITE_BATCH_BUFFERS, WRITE_BATCH_BYTES};
use crate::reference::is_repository;

/// Number of chunks queued for the disk.
const CHANNEL_CAPACITY: usize = 8;
/// Maximum time between two chunks of a request body.
const BODY_IDLE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(120);

impl Registry {
    pub(super) async fn blob(
        &self,
        head: &Parts,
        name: String,
        digest: Digest,
    ) -> Result<HttpResponse, ApiError> {
        let unknown =
            || ApiError::new(StatusCode::NOT_FOUND, "BLOB_UNKNOWN", "the repository does not have the blob");
        let requested = digest.clone();
        match head.method {
            Method::HEAD => {
                let size = self
                    .with_store(move |store| Ok(store.blob_size(&name, &requested)))
                    .await?
                    .ok_or_else(unknown)?;
                let mut response = empty_response(StatusCode::OK);
                set_blob_headers(&mut response, &digest);
                response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(size));
                Ok(response)
            }
            Method::GET => {
                let file = self
                    .with_store(move |store| Ok(store.blob(&name, &requested)))
                    .await?
                    .ok_or_else(unknown)?;
                let size = file.metadata().map_err(|e| ApiError::internal(&e))?.len();
                let range_header = head.headers.get(RANGE).and_then(|value| value.to_str().ok());
                let (start, end) = match range_header.map(|text| parse_range(text, size)) {
                    None | Some(None) => (0, size),
                    Some(Some(Ok(range))) => range,
                    Some(Some(Err(()))) => {
                        let text = format!("the blob has {size} bytes");
                        return Err(ApiError::new(StatusCode::RANGE_NOT_SATISFIABLE, "SIZE_INVALID", &text));
                    }
                };
                let mut response =
                    Response::new(ResponseBody::file(file, start, end).map_err(|e| ApiError::internal(&e))?);
                if (start, end) != (0, size)
                    || range_header.is_some_and(|text| parse_range(text, size).is_some())
                {
                    *response.status_mut() = StatusCode::PARTIAL_CONTENT;
                    let range = format!("bytes {start}-{}/{size}", end.saturating_sub(1));
                    response::set_header(&mut response, CONTENT_RANGE_NAME, &range)?;
                }
                set_blob_headers(&mut response, &digest);
                Ok(response)
            }
            Method::DELETE => {
                let deleted = self.with_store(move |store| store.delete_blob(&name, &requested)).await;
                deleted.map_err(|error| {
                    error.with_not_found_code("BLOB_UNKNOWN", "the repository does not have the blob")
                })?;
                Ok(empty_response(StatusCode::ACCEPTED))
            }
            _ => Err(ApiError::method_not_allowed()),
        }
    }

    pub(super) async fn start_upload(
        &self,
        head: &Parts,
        body: Incoming,
        name: String,
    ) -> Result<HttpResponse, ApiError> {
        if let (Some(digest), Some(from)) = (query_parameter(head, "mount"), query_parameter(head, "from"))
            && let Ok(digest) = Digest::parse(&digest)
            && is_repository(&from)
        {
            let (repository, requested) = (name.clone(), digest.clone());
            if self.with_store(move |store| store.mount(&repository, &from, &requested)).await? {
                return blob_created(&name, &digest);
            }
        }
        let id = self.with_store(|store| store.start_upload()).await?;
        if let Some(digest) = query_parameter(head, "digest") {
            return self.finish_upload(head, body, name, id, &digest).await;
        }
        upload_accepted(&name, &id, 0)
    }

    pub(super) async fn upload(
        &self,
        head: &Parts,
        body: Incoming,
        name: String,
        id: String,
    ) -> Result<HttpResponse, ApiError> {
        match head.method {
            Method::GET | Method::HEAD => {
                let requested = id.clone();
                let size = self.with_store(move |store| store.upload_size(&requested)).await?;
                let mut response = upload_accepted(&name, &id, size)?;
                *response.status_mut() = StatusCode::NO_CONTENT;
                Ok(response)
            }
            Method::PATCH => {
                let size = self.receive(head, body, &id, |session| session.suspend()).await?;
                upload_accepted(&name, &id, size)
            }
            Method::PUT => {
                let digest = query_parameter(head, "digest");
                let missing = || {
                    ApiError::new(
                        StatusCode::BAD_REQUEST,
                        "DIGEST_INVALID",
                        "the parameter digest is missing",
                    )
                };
                self.finish_upload(head, body, name, id, &digest.ok_or_else(missing)?).await
            }
            Method::DELETE => {
                self.with_store(move |store| store.cancel_upload(&id)).await?;
                Ok(empty_response(StatusCode::NO_CONTENT))
            }
            _ => Err(ApiError::method_not_allowed()),
        }
    }

    async fn finish_upload(
        &self,
        head: &Parts,
        body: Incoming,
        name: String,
        id: String,
        digest: &str,
    ) -> Result<HttpResponse, ApiError> {
        let digest = Digest::parse(digest);
        let digest =
            digest.map_err(|e| ApiError::new(StatusCode::BAD_REQUEST, "DIGEST_INVALID", &e.to_string()))?;
        let (repository, requested) = (name.clone(), digest.clone());
        self.receive(head, body, &id, move |session| session.finish(&repository, &requested)).await?;
        blob_created(&name, &digest)
    }

    /// Writes the request body to the upload, then calls `complete`. Data received before the client disconnects is
    /// kept.
    async fn receive<T: Send + 'static>(
        &self,
        head: &Parts,
        mut body: Incoming,
        id: &str,
        complete: impl FnOnce(store::UploadSession<'_>) -> Result<T, store::Error> + Send + 'static,
    ) -> Result<T, ApiError> {
        let offset = match head.headers.get(CONTENT_RANGE) {
            None => None,
            Some(value) => {
                let text = value.to_str().unwrap_or_default();
                let start = text.trim_start_matches("bytes").trim_start_matches(['=', ' ']).split('-').next();
                let start = start.and_then(|start| start.parse::<u64>().ok());
                let invalid = || {
                    ApiError::new(
                        StatusCode::BAD_REQUEST,
                        "BLOB_UPLOAD_INVALID",
                        "Content-Range is not BEGIN-END",
                    )
                };
                Some(start.ok_or_else(invalid)?)
            }
        };
        let (sender, mut receiver) = mpsc::channel::<Option<Bytes>>(CHANNEL_CAPACITY);
        let (store, id) = (self.store.clone(), id.to_owned());
        let writer = tokio::task::spawn_blocking(move || {
            let mut session = store.resume_upload(&id, offset)?;
            let mut batch = Vec::new();
            loop {
                let (mut size, mut end) = (0, None);
                while size < WRITE_BATCH_BYTES && batch.len() < WRITE_BATCH_BUFFERS && end.is_none() {
                    match receiver.blocking_recv() {
                        Some(Some(data)) => {
                            size += data.len();
                            batch.push(data);
                        }
                        other => end = Some(other.is_some()),
                    }
                }
                session.write(&batch)?;
                batch.clear();
                match end {
                    None => {}
                    // The body is complete.
                    Some(true) => return complete(session).map(Some),
                    Some(false) => {
                        session.suspend()?;
                        return Ok(None);
                    }
                }
            }
        });
        let body_complete = loop {
            match tokio::time::timeout(BODY_IDLE_TIMEOUT, body.frame()).await {
                Ok(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data()
                        && sender.send(Some(data)).await.is_err()
                    {
                        break true;
                    }
                }
                Ok(None) => break true,
                Ok(Some(Err(_))) | Err(_) => break false,
            }
        };
        if body_complete {
            let _ = sender.send(None).await;
        }
        drop(sender);
        let interrupted = || {
            ApiError::new(StatusCode::BAD_REQUEST, "BLOB_UPLOAD_INVALID", "the request body was interrupted")
        };
        writer.await.map_err(|e| ApiError::internal(&e))??.ok_or_else(interrupted)
    }
}

const CONTENT_RANGE_NAME: &str = "content-range";

fn set_blob_headers(response: &mut HttpResponse, digest: &Digest) {
    response::set_digest_headers(response, digest);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
}

fn blob_created(name: &str, digest: &Digest) -> Result<HttpResponse, ApiError> {
    let mut response = empty_response(StatusCode::CREATED);
    response::set_location(&mut response, &format!("/v2/{name}/blobs/{digest}"))?;
    response::set_digest_headers(&mut response, digest);
    Ok(response)
}

fn upload_accepted(name: &str, id: &str, size: u64) -> Result<HttpResponse, ApiError> {
    let mut response = empty_response(StatusCode::ACCEPTED);
    response::set_location(&mut response, &format!("/v2/{name}/blobs/uploads/{id}"))?;
    response::set_range(&mut response, size)?;
    response::set_header(&mut response, "docker-upload-uuid", id)?;
    Ok(response)
}

/// Parses a single byte range; `None` if the header is to be ignored.
fn parse_range(text: &str, size: u64) -> Option<Result<(u64, u64), ()>> {
    let ranges = text.strip_prefix("bytes=")?;
    if ranges.contains(',') {
        return None;
    }
    let (start, end) = ranges.split_once('-')?;
    let range = match (start.trim(), end.trim()) {
        ("", last) => (size.saturating_sub(last.parse().ok()?), size),
        (start, "") => (start.parse().ok()?, size),
        (start, end) => (start.parse().ok()?, end.parse::<u64>().ok()?.saturating_add(1).min(size)),
    };
    Some(if range.0 < range.1 { Ok(range) } else { Err(()) })
}

#[cfg(test)]
mod tests {
    use super::parse_range;

    #[test]
    fn parses_byte_ranges() {
        for (text, expected) in [
            ("bytes=0-", Some(Ok((0, 10)))),
            ("bytes=3-5", Some(Ok((3, 6)))),
            ("bytes=3-500", Some(Ok((3, 10)))),
            ("bytes=-4", Some(Ok((6, 10)))),
            ("bytes=-40", Some(Ok((0, 10)))),
            ("bytes=10-", Some(Err(()))),
            ("bytes=5-3", Some(Err(()))),
            ("bytes=0-18446744073709551615", Some(Ok((0, 10)))),
            ("bytes=0-1,3-4", None),
            ("lines=1-2", None),
            ("bytes=x-y", None),
        ] {
            assert_eq!(parse_range(text, 10), expected, "{text}");
        }
    }
}
