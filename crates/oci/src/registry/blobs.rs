//! Content, in and out.

use bytes::Bytes;
use http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, RANGE};
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::mpsc;

use super::answer::{self, Answer, Outgoing, Refusal, plain};
use super::path::parameter;
use super::{Registry, store};
use crate::digest::Digest;
use crate::disk::{GATHER, MANY};
use crate::reference::is_repository;

/// How many parts wait for the disk.
const WAITING: usize = 8;
/// How long a client may be silent in the middle of a body.
const SILENCE: std::time::Duration = std::time::Duration::from_secs(120);

impl Registry {
    pub(super) async fn blob(&self, head: &Parts, name: String, digest: Digest) -> Result<Answer, Refusal> {
        let unknown =
            || Refusal::new(StatusCode::NOT_FOUND, "BLOB_UNKNOWN", "the repository does not have it");
        let wanted = digest.clone();
        match head.method {
            Method::HEAD => {
                let size = self
                    .on_disk(move |store| Ok(store.blob_size(&name, &wanted)))
                    .await?
                    .ok_or_else(unknown)?;
                let mut answer = plain(StatusCode::OK);
                content(&mut answer, &digest);
                answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(size));
                Ok(answer)
            }
            Method::GET => {
                let file =
                    self.on_disk(move |store| Ok(store.blob(&name, &wanted))).await?.ok_or_else(unknown)?;
                let size = file.metadata().map_err(|e| Refusal::inner(&e))?.len();
                let asked = head.headers.get(RANGE).and_then(|value| value.to_str().ok());
                let (begin, end) = match asked.map(|text| part_of(text, size)) {
                    None | Some(None) => (0, size),
                    Some(Some(Ok(part))) => part,
                    Some(Some(Err(()))) => {
                        let text = format!("it has {size} bytes");
                        return Err(Refusal::new(StatusCode::RANGE_NOT_SATISFIABLE, "SIZE_INVALID", &text));
                    }
                };
                let mut answer =
                    Response::new(Outgoing::file(file, begin, end).map_err(|e| Refusal::inner(&e))?);
                if (begin, end) != (0, size) || asked.is_some_and(|text| part_of(text, size).is_some()) {
                    *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
                    let range = format!("bytes {begin}-{}/{size}", end.saturating_sub(1));
                    answer::header(&mut answer, CONTENT_RANGE_NAME, &range)?;
                }
                content(&mut answer, &digest);
                Ok(answer)
            }
            Method::DELETE => {
                let deleted = self.on_disk(move |store| store.delete_blob(&name, &wanted)).await;
                deleted
                    .map_err(|refusal| refusal.named("BLOB_UNKNOWN", "the repository does not have it"))?;
                Ok(plain(StatusCode::ACCEPTED))
            }
            _ => Err(Refusal::method()),
        }
    }

    pub(super) async fn begin_upload(
        &self,
        head: &Parts,
        body: Incoming,
        name: String,
    ) -> Result<Answer, Refusal> {
        if let (Some(digest), Some(from)) = (parameter(head, "mount"), parameter(head, "from"))
            && let Ok(digest) = Digest::parse(&digest)
            && is_repository(&from)
        {
            let (repository, wanted) = (name.clone(), digest.clone());
            if self.on_disk(move |store| store.mount(&repository, &from, &wanted)).await? {
                return created(&name, &digest);
            }
        }
        let id = self.on_disk(|store| store.begin()).await?;
        if let Some(digest) = parameter(head, "digest") {
            return self.finish_upload(head, body, name, id, &digest).await;
        }
        accepted(&name, &id, 0)
    }

    pub(super) async fn upload(
        &self,
        head: &Parts,
        body: Incoming,
        name: String,
        id: String,
    ) -> Result<Answer, Refusal> {
        match head.method {
            Method::GET | Method::HEAD => {
                let wanted = id.clone();
                let size = self.on_disk(move |store| store.upload_size(&wanted)).await?;
                let mut answer = accepted(&name, &id, size)?;
                *answer.status_mut() = StatusCode::NO_CONTENT;
                Ok(answer)
            }
            Method::PATCH => {
                let size = self.receive(head, body, &id, |part| part.pause()).await?;
                accepted(&name, &id, size)
            }
            Method::PUT => {
                let digest = parameter(head, "digest");
                let missing = || {
                    Refusal::new(StatusCode::BAD_REQUEST, "DIGEST_INVALID", "the parameter digest is missing")
                };
                self.finish_upload(head, body, name, id, &digest.ok_or_else(missing)?).await
            }
            Method::DELETE => {
                self.on_disk(move |store| store.cancel(&id)).await?;
                Ok(plain(StatusCode::NO_CONTENT))
            }
            _ => Err(Refusal::method()),
        }
    }

    async fn finish_upload(
        &self,
        head: &Parts,
        body: Incoming,
        name: String,
        id: String,
        digest: &str,
    ) -> Result<Answer, Refusal> {
        let digest = Digest::parse(digest);
        let digest =
            digest.map_err(|e| Refusal::new(StatusCode::BAD_REQUEST, "DIGEST_INVALID", &e.to_string()))?;
        let (repository, wanted) = (name.clone(), digest.clone());
        self.receive(head, body, &id, move |part| part.finish(&repository, &wanted)).await?;
        created(&name, &digest)
    }

    /// Takes what comes, then does something with it. What came before the client broke off stays.
    async fn receive<T: Send + 'static>(
        &self,
        head: &Parts,
        mut body: Incoming,
        id: &str,
        then: impl FnOnce(store::Part<'_>) -> Result<T, store::Error> + Send + 'static,
    ) -> Result<T, Refusal> {
        let from = match head.headers.get(CONTENT_RANGE) {
            None => None,
            Some(value) => {
                let text = value.to_str().unwrap_or_default();
                let begin = text.trim_start_matches("bytes").trim_start_matches(['=', ' ']).split('-').next();
                let begin = begin.and_then(|begin| begin.parse::<u64>().ok());
                let wrong = || {
                    Refusal::new(
                        StatusCode::BAD_REQUEST,
                        "BLOB_UPLOAD_INVALID",
                        "Content-Range is not BEGIN-END",
                    )
                };
                Some(begin.ok_or_else(wrong)?)
            }
        };
        let (sender, mut receiver) = mpsc::channel::<Option<Bytes>>(WAITING);
        let (store, id) = (self.store.clone(), id.to_owned());
        let work = tokio::task::spawn_blocking(move || {
            let mut part = store.part(&id, from)?;
            let mut waiting = Vec::new();
            loop {
                let (mut size, mut end) = (0, None);
                while size < GATHER && waiting.len() < MANY && end.is_none() {
                    match receiver.blocking_recv() {
                        Some(Some(data)) => {
                            size += data.len();
                            waiting.push(data);
                        }
                        other => end = Some(other.is_some()),
                    }
                }
                part.write(&waiting)?;
                waiting.clear();
                match end {
                    None => {}
                    // All of it is here.
                    Some(true) => return then(part).map(Some),
                    Some(false) => {
                        part.pause()?;
                        return Ok(None);
                    }
                }
            }
        });
        let whole = loop {
            match tokio::time::timeout(SILENCE, body.frame()).await {
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
        if whole {
            let _ = sender.send(None).await;
        }
        drop(sender);
        let broke = || Refusal::new(StatusCode::BAD_REQUEST, "BLOB_UPLOAD_INVALID", "the content broke off");
        work.await.map_err(|e| Refusal::inner(&e))??.ok_or_else(broke)
    }
}

const CONTENT_RANGE_NAME: &str = "content-range";

fn content(answer: &mut Answer, digest: &Digest) {
    answer::digest(answer, digest);
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
}

fn created(name: &str, digest: &Digest) -> Result<Answer, Refusal> {
    let mut answer = plain(StatusCode::CREATED);
    answer::location(&mut answer, &format!("/v2/{name}/blobs/{digest}"))?;
    answer::digest(&mut answer, digest);
    Ok(answer)
}

fn accepted(name: &str, id: &str, size: u64) -> Result<Answer, Refusal> {
    let mut answer = plain(StatusCode::ACCEPTED);
    answer::location(&mut answer, &format!("/v2/{name}/blobs/uploads/{id}"))?;
    answer::range(&mut answer, size)?;
    answer::header(&mut answer, "docker-upload-uuid", id)?;
    Ok(answer)
}

/// One range of bytes; nothing for what is to be ignored.
fn part_of(text: &str, size: u64) -> Option<Result<(u64, u64), ()>> {
    let ranges = text.strip_prefix("bytes=")?;
    if ranges.contains(',') {
        return None;
    }
    let (begin, end) = ranges.split_once('-')?;
    let part = match (begin.trim(), end.trim()) {
        ("", last) => (size.saturating_sub(last.parse().ok()?), size),
        (begin, "") => (begin.parse().ok()?, size),
        (begin, end) => (begin.parse().ok()?, end.parse::<u64>().ok()?.saturating_add(1).min(size)),
    };
    Some(if part.0 < part.1 { Ok(part) } else { Err(()) })
}

#[cfg(test)]
mod tests {
    use super::part_of;

    #[test]
    fn parts_are_inside() {
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
            assert_eq!(part_of(text, 10), expected, "{text}");
        }
    }
}
