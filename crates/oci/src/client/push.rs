//! From anywhere into a registry.

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
use super::http::{Call, Host, Payload, location};
use super::{Client, Error, How, Listener, Platforms, Progress, blobs_of};
use crate::blobs::Blobs;
use crate::buffers::Buffers;
use crate::digest::Hasher;
use crate::model::{Descriptor, Document, MAX_MANIFEST};
use crate::reference::Reference;

/// Blobs up to this size are sent with one request, and again if that fails.
const SMALL: u64 = 1 << 20;
/// How much is read at a time, and how many parts wait for the network.
const PART: usize = 256 << 10;
const WAITING: usize = 8;
const MAX_DEPTH: usize = 3;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Client {
    /// Sends an image, or an index with all its images: blobs side by side, those that are there already not again, and
    /// at the end the name.
    pub async fn push(
        &self,
        from: &(impl Blobs + Clone + 'static),
        image: &Descriptor,
        to: &Reference,
        listener: &Listener,
    ) -> Result<Descriptor, Error> {
        self.push_from(Arc::new(from.clone()), image, to, None, listener).await
    }

    /// As [`Client::push`], from blobs that somebody else has too. Blobs of `sibling`, a repository of the same registry,
    /// need not be sent.
    pub async fn push_from(
        &self,
        from: Arc<dyn Blobs>,
        image: &Descriptor,
        to: &Reference,
        sibling: Option<&str>,
        listener: &Listener,
    ) -> Result<Descriptor, Error> {
        let host = self.host(&to.registry).await?;
        let (source, root) = (from.clone(), image.clone());
        let documents = tokio::task::spawn_blocking(move || collect(source.as_ref(), &root)).await;
        let documents = documents.map_err(|e| Error::Wrong(e.to_string()))??;
        let blobs = blobs_of(documents.iter().map(|(_, document, _)| document));
        let places = Arc::new(Semaphore::new(self.inner.options.jobs.max(1)));
        let mut tasks = JoinSet::new();
        for blob in blobs {
            let upload = Upload {
                client: self.clone(),
                host: host.clone(),
                repository: to.repository.clone(),
                sibling: sibling.filter(|sibling| *sibling != to.repository).map(str::to_owned),
                from: from.clone(),
                blob,
                listener: listener.clone(),
            };
            let places = places.clone();
            tasks.spawn(async move {
                let _place = places.acquire_owned().await;
                upload.run().await
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.map_err(|e| Error::Wrong(e.to_string()))??;
        }
        // Those that others list come first: a registry refuses an index of what it does not have.
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

    /// Copies an image from one registry to another, or inside of one; nothing is kept on the way.
    pub async fn copy(
        &self,
        from: &Reference,
        to: &Reference,
        platforms: &Platforms,
        listener: &Listener,
    ) -> Result<Descriptor, Error> {
        let remote = Arc::new(self.open(from, platforms).await?);
        let sibling = (from.registry == to.registry).then(|| remote.repository().repository.clone());
        let root = remote.root.clone();
        self.push_from(remote, &root, to, sibling.as_deref(), listener).await
    }
}

/// The manifests that an image needs, those that list others before those that are listed.
fn collect(from: &dyn Blobs, root: &Descriptor) -> Result<Vec<(Descriptor, Document, Bytes)>, Error> {
    let mut found: Vec<(Descriptor, Document, Bytes)> = Vec::new();
    let mut level = vec![root.clone()];
    for _ in 0..MAX_DEPTH {
        let mut next = Vec::new();
        for descriptor in level {
            if found.iter().any(|(other, ..)| other.digest == descriptor.digest) {
                continue;
            }
            let data = from.read(&descriptor, MAX_MANIFEST)?;
            let wrong = |source| Error::Model { place: from.place(), source };
            let document = Document::parse(&data, Some(&descriptor.media_type)).map_err(wrong)?;
            next.extend(document.manifests().iter().cloned());
            found.push((descriptor, document, data.into()));
        }
        level = next;
        if level.is_empty() {
            return Ok(found);
        }
    }
    Err(Error::Wrong(format!("{}: indexes are nested too deeply", from.place())))
}

/// One blob on its way.
struct Upload {
    client: Client,
    host: Arc<Host>,
    repository: String,
    sibling: Option<String>,
    from: Arc<dyn Blobs>,
    blob: Descriptor,
    listener: Listener,
}

/// What has been read of a blob, in order.
struct Seen {
    hasher: Option<Hasher>,
    hashed: u64,
}

impl Upload {
    async fn run(self) -> Result<(), Error> {
        let digest = self.blob.digest.clone();
        if self.client.has_blob(&self.host, &self.repository, &self.blob).await? {
            (self.listener)(Progress::Done(digest, How::Existed));
            return Ok(());
        }
        let Some(at) = self.begin(self.sibling.as_deref()).await? else {
            (self.listener)(Progress::Done(digest, How::Mounted));
            return Ok(());
        };
        (self.listener)(Progress::Begin(digest.clone(), self.blob.size, 0));
        if self.blob.size <= SMALL {
            self.whole(at).await?;
        } else {
            self.parts(at).await?;
        }
        (self.listener)(Progress::Done(digest, How::Moved));
        Ok(())
    }

    fn scope(&self) -> Scope {
        Scope::new(&self.repository, "pull,push")
    }

    /// Where to send it; nothing if it was found in the other repository.
    async fn begin(&self, sibling: Option<&str>) -> Result<Option<Uri>, Error> {
        let mut path = format!("/v2/{}/blobs/uploads/", self.repository);
        let mut scope = self.scope();
        if let Some(sibling) = sibling {
            path.push_str(&format!("?mount={}&from={}", self.blob.digest, super::auth::escape(sibling)));
            scope.from = Some(sibling.to_owned());
        }
        let uri = self.host.uri(&path)?;
        let response =
            self.client.expect(&self.host, Call::new(Method::POST, uri.clone(), scope), &[201, 202]).await?;
        if response.status() == 201 {
            return Ok(None);
        }
        location(&uri, response.headers()).map(Some)
    }

    /// With one request, all of it again when it fails.
    async fn whole(&self, mut at: Uri) -> Result<(), Error> {
        let (from, blob) = (self.from.clone(), self.blob.clone());
        let data = tokio::task::spawn_blocking(move || from.read(&blob, SMALL)).await;
        let data = Bytes::from(data.map_err(|e| Error::Wrong(e.to_string()))??);
        let mut attempt = 0;
        loop {
            let mut call = self.call(Method::PUT, with_digest(&at, &self.blob)?);
            call.payload = Payload::Bytes(data.clone());
            match self.client.expect(&self.host, call, &[201, 204]).await {
                Ok(_) => {
                    (self.listener)(Progress::Moved(self.blob.digest.clone(), self.blob.size));
                    return Ok(());
                }
                // The place to send it to may be gone.
                Err(error) if attempt < self.client.inner.options.retries && may_help(&error) => {
                    tokio::time::sleep(self.client.pause(attempt)).await;
                    attempt += 1;
                    match self.begin(None).await? {
                        Some(new) => at = new,
                        None => return Ok(()),
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn call(&self, method: Method, uri: Uri) -> Call {
        let mut call = Call::new(method, uri, self.scope());
        call.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
        call
    }

    /// As a stream; when it breaks off, the registry is asked how much it has, and the rest is sent.
    async fn parts(&self, mut at: Uri) -> Result<(), Error> {
        let read = Arc::new(Mutex::new(Seen {
            hasher: (!self.from.compared()).then(|| Hasher::new(self.blob.digest.algorithm())),
            hashed: 0,
        }));
        let (mut offset, mut failures) = (0, 0);
        while offset < self.blob.size {
            let before = offset;
            let mut call = self.call(Method::PATCH, at.clone());
            let rest = self.blob.size - offset;
            call.headers.insert(CONTENT_LENGTH, HeaderValue::from(rest));
            if offset > 0 {
                let range = format!("{offset}-{}", self.blob.size - 1);
                call.headers.insert(
                    CONTENT_RANGE,
                    HeaderValue::from_str(&range).map_err(|e| Error::Wrong(e.to_string()))?,
                );
            }
            let (body, trouble) = self.body(offset, read.clone());
            call.payload = Payload::Stream(body, rest);
            let uri = call.uri.clone();
            let error = match self.client.expect(&self.host, call, &[201, 202, 204]).await {
                Ok(response) => {
                    at = location(&uri, response.headers()).unwrap_or(at);
                    // How much came is what the registry says, if it says it.
                    offset = received(response.headers()).unwrap_or(self.blob.size);
                    if offset >= self.blob.size {
                        break;
                    }
                    Error::Wrong(format!("{}: only {offset} bytes came", self.blob.digest))
                }
                Err(error) => {
                    // What is wrong with what was read is no fault of the registry.
                    if let Some(trouble) = trouble.lock().unwrap_or_else(PoisonError::into_inner).take() {
                        return Err(Error::Wrong(trouble));
                    }
                    error
                }
            };
            if failures >= self.client.inner.options.retries || !may_help(&error) {
                return Err(error);
            }
            tokio::time::sleep(self.client.pause(failures)).await;
            failures += 1;
            let asked = self.client.expect(&self.host, self.call(Method::GET, at.clone()), &[204, 200]).await;
            match asked {
                Ok(response) => {
                    offset = received(response.headers()).unwrap_or(0).min(self.blob.size);
                    at = location(&at, response.headers()).unwrap_or(at);
                    if offset > before {
                        failures = 0;
                    }
                }
                Err(_) => {
                    offset = 0;
                    match self.begin(None).await? {
                        Some(new) => at = new,
                        None => return Ok(()),
                    }
                }
            }
        }
        let call = self.call(Method::PUT, with_digest(&at, &self.blob)?);
        self.client.expect(&self.host, call, &[201, 204]).await?;
        Ok(())
    }

    /// The blob from some byte on, read and compared on the way; and where trouble with reading is told.
    fn body(&self, offset: u64, read: Arc<Mutex<Seen>>) -> (super::http::Body, Arc<Mutex<Option<String>>>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        let (from, blob, listener) = (self.from.clone(), self.blob.clone(), self.listener.clone());
        let trouble = Arc::new(Mutex::new(None));
        let told = trouble.clone();
        tokio::task::spawn_blocking(move || {
            if let Err(error) = feed(from.as_ref(), &blob, offset, &read, &sender, &listener) {
                *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
                let _ = sender.blocking_send(Err(error.into()));
            }
        });
        (Outgoing { receiver, left: self.blob.size - offset }.boxed_unsync(), trouble)
    }
}

fn feed(
    from: &dyn Blobs,
    blob: &Descriptor,
    offset: u64,
    read: &Mutex<Seen>,
    to: &mpsc::Sender<Result<Bytes, BoxError>>,
    listener: &Listener,
) -> Result<(), String> {
    let place = |e: std::io::Error| format!("{}: {e}", from.place());
    let mut stream = from.open_at(&blob.digest, offset).map_err(place)?;
    let mut at = offset;
    let mut buffers = Buffers::default();
    while at < blob.size {
        let room = usize::try_from(blob.size - at).unwrap_or(usize::MAX).min(PART);
        let mut part = buffers.take(room);
        let mut filled = 0;
        while filled < room {
            match stream.read(part.get_mut(filled..).unwrap_or_default()) {
                Ok(0) => return Err(format!("{}: {} ends too early", from.place(), blob.digest)),
                Ok(more) => filled += more,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(place(e)),
            }
        }
        at += room as u64;
        {
            let mut read = read.lock().unwrap_or_else(PoisonError::into_inner);
            // What is sent again was looked at before.
            let new = usize::try_from(at.saturating_sub(read.hashed)).unwrap_or(usize::MAX).min(room);
            if let Some(hasher) = &mut read.hasher {
                hasher.update(part.get(room - new..).unwrap_or_default());
            }
            read.hashed = read.hashed.max(at);
            if read.hashed == blob.size
                && let Some(hasher) = read.hasher.take()
            {
                let is = hasher.finish();
                if is != blob.digest {
                    return Err(format!(
                        "{}: the content should be {} and is {is}",
                        from.place(),
                        blob.digest
                    ));
                }
            }
        }
        if to.blocking_send(Ok(buffers.send(part))).is_err() {
            // Whoever sent it has gone.
            return Ok(());
        }
        listener(Progress::Moved(blob.digest.clone(), room as u64));
    }
    Ok(())
}

/// `Range: 0-N` of an upload: how many bytes there are.
fn received(headers: &HeaderMap) -> Option<u64> {
    let text = headers.get(RANGE)?.to_str().ok()?.trim();
    let text = text.strip_prefix("bytes=").unwrap_or(text);
    let (begin, end) = text.split_once('-')?;
    let end: u64 = end.parse().ok()?;
    // Nothing and one byte are written the same way; what is sent again does no harm to the registry, it refuses it.
    (begin == "0").then_some(if end == 0 { 0 } else { end + 1 })
}

fn may_help(error: &Error) -> bool {
    match error {
        Error::Connect { .. } | Error::Wrong(_) | Error::Login { known: true, .. } => true,
        Error::Status { status, .. } => {
            matches!(status.as_u16(), 401 | 404 | 408 | 409 | 416 | 429) || status.is_server_error()
        }
        _ => false,
    }
}

fn with_digest(at: &Uri, blob: &Descriptor) -> Result<Uri, Error> {
    let text = at.to_string();
    let text = format!(
        "{text}{}digest={}",
        if text.contains('?') { "&" } else { "?" },
        super::auth::escape(&blob.digest.to_string())
    );
    text.parse().map_err(|_| Error::Address(text))
}

/// A body whose parts somebody else brings.
struct Outgoing {
    receiver: mpsc::Receiver<Result<Bytes, BoxError>>,
    left: u64,
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.receiver.poll_recv(context).map(|part| match part {
            Some(Ok(part)) => {
                self.left = self.left.saturating_sub(part.len() as u64);
                Some(Ok(Frame::data(part)))
            }
            Some(Err(error)) => Some(Err(error)),
            None if self.left > 0 => Some(Err("the content ended too early".into())),
            None => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
