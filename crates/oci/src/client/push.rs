//! Pushing images to a registry.

use std::io::Read;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, RANGE};
use http::{HeaderMap, HeaderValue, Method, Uri};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use super::auth::Scope;
use super::http::{RegistryHost, RegistryRequest, RequestBody, redirect_location};
use super::{Client, Error, Platforms, Progress, ProgressReporter, TransferOutcome, unique_blobs};
use crate::blob_source::BlobSource;
use crate::buffer_pool::BufferPool;
use crate::digest::Hasher;
use crate::model::{Descriptor, MAX_MANIFEST, ManifestOrIndex};
use crate::reference::Reference;

/// Blobs up to this size are uploaded monolithically, with retries.
const MAX_MONOLITHIC: u64 = 1 << 20;
/// Read size, and number of chunks in the channel.
const CHUNK_SIZE: usize = 256 << 10;
const CHANNEL_CAPACITY: usize = 8;
const MAX_DEPTH: usize = 3;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Client {
    /// Pushes an image or an index with its manifests: missing blobs in parallel, then the manifests and the tag.
    pub async fn push(
        &self,
        from: &(impl BlobSource + Clone + 'static),
        image: &Descriptor,
        to: &Reference,
        progress: &ProgressReporter,
    ) -> Result<Descriptor, Error> {
        self.push_from(Arc::new(from.clone()), image, to, None, progress).await
    }

    /// Like [`Client::push`], from a shared source. Blobs of `mount_from`, another repository of the registry, are
    /// mounted.
    pub async fn push_from(
        &self,
        from: Arc<dyn BlobSource>,
        image: &Descriptor,
        to: &Reference,
        mount_from: Option<&str>,
        progress: &ProgressReporter,
    ) -> Result<Descriptor, Error> {
        let host = self.registry_host(&to.registry).await?;
        let (source, root) = (from.clone(), image.clone());
        let documents = tokio::task::spawn_blocking(move || collect_manifests(source.as_ref(), &root)).await;
        let documents = documents.map_err(|e| Error::Unexpected(e.to_string()))??;
        let blobs = unique_blobs(documents.iter().map(|(_, document, _)| document));
        let permits = Arc::new(Semaphore::new(self.inner.options.jobs.max(1)));
        let mut tasks = JoinSet::new();
        for blob in blobs {
            let upload = BlobUpload {
                client: self.clone(),
                host: host.clone(),
                repository: to.repository.clone(),
                mount_from: mount_from.filter(|mount_from| *mount_from != to.repository).map(str::to_owned),
                from: from.clone(),
                blob,
                progress: progress.clone(),
            };
            let permits = permits.clone();
            tasks.spawn(async move {
                let _permit = permits.acquire_owned().await;
                upload.run().await
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.map_err(|e| Error::Unexpected(e.to_string()))??;
        }
        // Push children first: registries reject an index with unknown manifests.
        for (descriptor, _, data) in documents.iter().rev() {
            let name = if descriptor.digest == image.digest {
                to.clone()
            } else {
                to.with_digest(&descriptor.digest)
            };
            let name = if name.tag.is_none() && name.digest.is_none() {
                name.with_digest(&descriptor.digest)
            } else {
                name
            };
            self.put_manifest(&name, &descriptor.media_type, data.clone()).await?;
        }
        Ok(image.clone())
    }

    /// Copies an image between or within registries without storing it locally.
    pub async fn copy(
        &self,
        from: &Reference,
        to: &Reference,
        platforms: &Platforms,
        progress: &ProgressReporter,
    ) -> Result<Descriptor, Error> {
        let remote = Arc::new(self.open(from, platforms).await?);
        let mount_from = (from.registry == to.registry).then(|| remote.reference().repository.clone());
        let root = remote.root.clone();
        self.push_from(remote, &root, to, mount_from.as_deref(), progress).await
    }
}

/// Collects the manifests of an image, parents before children.
fn collect_manifests(
    from: &dyn BlobSource,
    root: &Descriptor,
) -> Result<Vec<(Descriptor, ManifestOrIndex, Bytes)>, Error> {
    let mut manifests: Vec<(Descriptor, ManifestOrIndex, Bytes)> = Vec::new();
    let mut current = vec![root.clone()];
    for _ in 0..MAX_DEPTH {
        let mut next = Vec::new();
        for descriptor in current {
            if manifests.iter().any(|(other, ..)| other.digest == descriptor.digest) {
                continue;
            }
            let data = from.read(&descriptor, MAX_MANIFEST)?;
            let invalid = |source| Error::Manifest { location: from.location(), source };
            let document = ManifestOrIndex::parse(&data, Some(&descriptor.media_type)).map_err(invalid)?;
            next.extend(document.manifests().iter().cloned());
            manifests.push((descriptor, document, data.into()));
        }
        current = next;
        if current.is_empty() {
            return Ok(manifests);
        }
    }
    Err(Error::Unexpected(format!("{}: indexes are nested too deeply", from.location())))
}

/// The upload of one blob.
struct BlobUpload {
    client: Client,
    host: Arc<RegistryHost>,
    repository: String,
    mount_from: Option<String>,
    from: Arc<dyn BlobSource>,
    blob: Descriptor,
    progress: ProgressReporter,
}

/// Incremental digest of the source.
struct SourceHash {
    hasher: Option<Hasher>,
    hashed: u64,
}

impl BlobUpload {
    async fn run(self) -> Result<(), Error> {
        let digest = self.blob.digest.clone();
        if self.client.has_blob(&self.host, &self.repository, &self.blob).await? {
            (self.progress)(Progress::Finished(digest, TransferOutcome::AlreadyExists));
            return Ok(());
        }
        let Some(upload_url) = self.start_upload(self.mount_from.as_deref()).await? else {
            (self.progress)(Progress::Finished(digest, TransferOutcome::Mounted));
            return Ok(());
        };
        (self.progress)(Progress::Started(digest.clone(), self.blob.size, 0));
        if self.blob.size <= MAX_MONOLITHIC {
            self.upload_monolithic(upload_url).await?;
        } else {
            self.upload_streamed(upload_url).await?;
        }
        (self.progress)(Progress::Finished(digest, TransferOutcome::Transferred));
        Ok(())
    }

    fn scope(&self) -> Scope {
        Scope::new(&self.repository, "pull,push")
    }

    /// Starts an upload and returns its URL; `None` if the blob was mounted.
    async fn start_upload(&self, mount_from: Option<&str>) -> Result<Option<Uri>, Error> {
        let mut path = format!("/v2/{}/blobs/uploads/", self.repository);
        let mut scope = self.scope();
        if let Some(mount_from) = mount_from {
            path.push_str(&format!(
                "?mount={}&from={}",
                self.blob.digest,
                super::auth::percent_encode(mount_from)
            ));
            scope.mount_from = Some(mount_from.to_owned());
        }
        let uri = self.host.uri(&path)?;
        let response = self
            .client
            .send_expecting(&self.host, RegistryRequest::new(Method::POST, uri.clone(), scope), &[201, 202])
            .await?;
        if response.status() == 201 {
            return Ok(None);
        }
        redirect_location(&uri, response.headers()).map(Some)
    }

    /// Uploads the blob with a single PUT; restarts on failure.
    async fn upload_monolithic(&self, mut upload_url: Uri) -> Result<(), Error> {
        let (from, blob) = (self.from.clone(), self.blob.clone());
        let data = tokio::task::spawn_blocking(move || from.read(&blob, MAX_MONOLITHIC)).await;
        let data = Bytes::from(data.map_err(|e| Error::Unexpected(e.to_string()))??);
        let mut attempt = 0;
        loop {
            let mut request = self.request(Method::PUT, with_digest_query(&upload_url, &self.blob)?);
            request.body = RequestBody::Bytes(data.clone());
            match self.client.send_expecting(&self.host, request, &[201, 204]).await {
                Ok(_) => {
                    (self.progress)(Progress::Transferred(self.blob.digest.clone(), self.blob.size));
                    return Ok(());
                }
                // The upload session may have expired.
                Err(error) if attempt < self.client.inner.options.retries && is_retryable(&error) => {
                    tokio::time::sleep(self.client.backoff(attempt)).await;
                    attempt += 1;
                    match self.start_upload(None).await? {
                        Some(new) => upload_url = new,
                        None => return Ok(()),
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn request(&self, method: Method, uri: Uri) -> RegistryRequest {
        let mut request = RegistryRequest::new(method, uri, self.scope());
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
        request
    }

    /// Uploads the blob as a stream; after a failure, asks for the received offset and resumes.
    async fn upload_streamed(&self, mut upload_url: Uri) -> Result<(), Error> {
        let source_hash = Arc::new(Mutex::new(SourceHash {
            hasher: (!self.from.is_verified()).then(|| Hasher::new(self.blob.digest.algorithm())),
            hashed: 0,
        }));
        let (mut offset, mut failures) = (0, 0);
        while offset < self.blob.size {
            let before = offset;
            let mut request = self.request(Method::PATCH, upload_url.clone());
            let rest = self.blob.size - offset;
            request.headers.insert(CONTENT_LENGTH, HeaderValue::from(rest));
            if offset > 0 {
                let range = format!("{offset}-{}", self.blob.size - 1);
                request.headers.insert(
                    CONTENT_RANGE,
                    HeaderValue::from_str(&range).map_err(|e| Error::Unexpected(e.to_string()))?,
                );
            }
            let (body, read_error) = self.stream_body(offset, source_hash.clone());
            request.body = RequestBody::Stream(body, rest);
            let uri = request.uri.clone();
            let error = match self.client.send_expecting(&self.host, request, &[201, 202, 204]).await {
                Ok(response) => {
                    upload_url = redirect_location(&uri, response.headers()).unwrap_or(upload_url);
                    // Trust the offset reported by the registry, if any.
                    offset = received_bytes(response.headers()).unwrap_or(self.blob.size);
                    if offset >= self.blob.size {
                        break;
                    }
                    Error::Unexpected(format!(
                        "{}: the registry received only {offset} bytes",
                        self.blob.digest
                    ))
                }
                Err(error) => {
                    // A source error is not the registry's fault and is not retried.
                    if let Some(read_error) = read_error.lock().unwrap_or_else(PoisonError::into_inner).take()
                    {
                        return Err(Error::Unexpected(read_error));
                    }
                    error
                }
            };
            if failures >= self.client.inner.options.retries || !is_retryable(&error) {
                return Err(error);
            }
            tokio::time::sleep(self.client.backoff(failures)).await;
            failures += 1;
            let status = self
                .client
                .send_expecting(&self.host, self.request(Method::GET, upload_url.clone()), &[204, 200])
                .await;
            match status {
                Ok(response) => {
                    offset = received_bytes(response.headers()).unwrap_or(0).min(self.blob.size);
                    upload_url = redirect_location(&upload_url, response.headers()).unwrap_or(upload_url);
                    if offset > before {
                        failures = 0;
                    }
                }
                Err(_) => {
                    offset = 0;
                    match self.start_upload(None).await? {
                        Some(new) => upload_url = new,
                        None => return Ok(()),
                    }
                }
            }
        }
        let request = self.request(Method::PUT, with_digest_query(&upload_url, &self.blob)?);
        self.client.send_expecting(&self.host, request, &[201, 204]).await?;
        Ok(())
    }

    /// The body from an offset, verified while it is read, and the slot for a source error.
    fn stream_body(
        &self,
        offset: u64,
        source_hash: Arc<Mutex<SourceHash>>,
    ) -> (super::http::BoxBody, Arc<Mutex<Option<String>>>) {
        let (sender, receiver) = mpsc::channel(CHANNEL_CAPACITY);
        let (from, blob, progress) = (self.from.clone(), self.blob.clone(), self.progress.clone());
        let read_error = Arc::new(Mutex::new(None));
        let read_error_slot = read_error.clone();
        tokio::task::spawn_blocking(move || {
            if let Err(error) = read_source(from.as_ref(), &blob, offset, &source_hash, &sender, &progress) {
                *read_error_slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
                let _ = sender.blocking_send(Err(error.into()));
            }
        });
        (UploadBody { receiver, remaining: self.blob.size - offset }.boxed_unsync(), read_error)
    }
}

fn read_source(
    from: &dyn BlobSource,
    blob: &Descriptor,
    offset: u64,
    source_hash: &Mutex<SourceHash>,
    to: &mpsc::Sender<Result<Bytes, BoxError>>,
    progress: &ProgressReporter,
) -> Result<(), String> {
    let read_failed = |e: std::io::Error| format!("{}: {e}", from.location());
    let mut stream = from.open_at(&blob.digest, offset).map_err(read_failed)?;
    let mut position = offset;
    let mut buffers = BufferPool::default();
    while position < blob.size {
        let chunk_len = usize::try_from(blob.size - position).unwrap_or(usize::MAX).min(CHUNK_SIZE);
        let mut chunk = buffers.acquire(chunk_len);
        let mut filled = 0;
        while filled < chunk_len {
            match stream.read(chunk.get_mut(filled..).unwrap_or_default()) {
                Ok(0) => return Err(format!("{}: {} ends too early", from.location(), blob.digest)),
                Ok(more) => filled += more,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(read_failed(e)),
            }
        }
        position += chunk_len as u64;
        {
            let mut source_hash = source_hash.lock().unwrap_or_else(PoisonError::into_inner);
            // Bytes that are sent again have been hashed already.
            let new = usize::try_from(position.saturating_sub(source_hash.hashed))
                .unwrap_or(usize::MAX)
                .min(chunk_len);
            if let Some(hasher) = &mut source_hash.hasher {
                hasher.update(chunk.get(chunk_len - new..).unwrap_or_default());
            }
            source_hash.hashed = source_hash.hashed.max(position);
            if source_hash.hashed == blob.size
                && let Some(hasher) = source_hash.hasher.take()
            {
                let actual = hasher.finish();
                if actual != blob.digest {
                    return Err(format!(
                        "{}: the content should be {} and is {actual}",
                        from.location(),
                        blob.digest
                    ));
                }
            }
        }
        if to.blocking_send(Ok(buffers.freeze(chunk))).is_err() {
            // The request was dropped.
            return Ok(());
        }
        progress(Progress::Transferred(blob.digest.clone(), chunk_len as u64));
    }
    Ok(())
}

/// The number of received bytes in `Range: 0-N`.
fn received_bytes(headers: &HeaderMap) -> Option<u64> {
    let text = headers.get(RANGE)?.to_str().ok()?.trim();
    let text = text.strip_prefix("bytes=").unwrap_or(text);
    let (begin, end) = text.split_once('-')?;
    let end: u64 = end.parse().ok()?;
    // `0-0` stands for zero bytes or one. Assume zero: the registry rejects an overlapping chunk.
    (begin == "0").then_some(if end == 0 { 0 } else { end + 1 })
}

fn is_retryable(error: &Error) -> bool {
    match error {
        Error::Connect { .. }
        | Error::Unexpected(_)
        | Error::LoginRequired { credentials_sent: true, .. } => true,
        Error::Status { status, .. } => {
            matches!(status.as_u16(), 401 | 404 | 408 | 409 | 416 | 429) || status.is_server_error()
        }
        _ => false,
    }
}

fn with_digest_query(upload_url: &Uri, blob: &Descriptor) -> Result<Uri, Error> {
    let text = upload_url.to_string();
    let text = format!(
        "{text}{}digest={}",
        if text.contains('?') { "&" } else { "?" },
        super::auth::percent_encode(&blob.digest.to_string())
    );
    text.parse().map_err(|_| Error::InvalidUrl(text))
}

/// A request body fed by a blocking task.
struct UploadBody {
    receiver: mpsc::Receiver<Result<Bytes, BoxError>>,
    remaining: u64,
}

impl Body for UploadBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.receiver.poll_recv(context).map(|chunk| match chunk {
            Some(Ok(chunk)) => {
                self.remaining = self.remaining.saturating_sub(chunk.len() as u64);
                Some(Ok(Frame::data(chunk)))
            }
            Some(Err(error)) => Some(Err(error)),
            None if self.remaining > 0 => Some(Err("the content ended too early".into())),
            None => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.remaining == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining)
    }
}
