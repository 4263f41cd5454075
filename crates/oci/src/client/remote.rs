//! Images in a registry as a blob source: blobs are downloaded on demand and resumed after interruptions.

use std::collections::HashMap;
use std::io::{self, Read};

use bytes::{Buf, Bytes};
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, RANGE};
use http::{HeaderValue, Method};
use http_body_util::BodyExt;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::auth::Scope;
use super::http::{BODY_IDLE_TIMEOUT, RegistryRequest, display_uri};
use super::{Client, Error, Platforms};
use crate::blob_source::BlobSource;
use crate::digest::Digest;
use crate::disk::{WRITE_BATCH_BUFFERS, WRITE_BATCH_BYTES};
use crate::files::{ExtractLimits, ImageFiles};
use crate::model::{Config, Descriptor, Manifest, ManifestOrIndex, Platform};
use crate::reference::Reference;

/// Number of chunks between network and reader.
const CHANNEL_CAPACITY: usize = 16;
/// Maximum nesting of indexes, and maximum number of manifests.
const MAX_DEPTH: usize = 3;
const MAX_MANIFESTS: usize = 1000;

/// An image in a registry. Manifests are in memory; blobs are downloaded when they are read.
pub struct RemoteImage {
    client: Client,
    reference: Reference,
    /// The descriptor of the reference.
    pub resolved: Descriptor,
    /// The selected image, or the index if all platforms are selected.
    pub root: Descriptor,
    documents: HashMap<Digest, (Bytes, ManifestOrIndex)>,
    sizes: HashMap<Digest, u64>,
    runtime: Handle,
}

/// Files of an image under selected paths.
#[derive(Clone, Debug)]
pub struct ImageContents {
    /// The image for the selected platform.
    pub image: Descriptor,
    /// The descriptor of the reference: the image or its index.
    pub root: Descriptor,
    /// The image config.
    pub config: Config,
    /// The files.
    pub files: ImageFiles,
}

impl Client {
    /// Opens an image: gets its manifests, but no blobs.
    pub async fn open(&self, reference: &Reference, platforms: &Platforms) -> Result<RemoteImage, Error> {
        let (root, data, document) = self.manifest(reference).await?;
        let location = reference.to_string();
        let mut remote = RemoteImage {
            client: self.clone(),
            reference: reference.clone(),
            resolved: root.clone(),
            root: root.clone(),
            documents: HashMap::new(),
            sizes: HashMap::new(),
            runtime: Handle::current(),
        };
        let mut pending = vec![(root, data, document, 1)];
        while let Some((descriptor, data, document, depth)) = pending.pop() {
            let children = match (&document, platforms) {
                (ManifestOrIndex::Index(index), Platforms::One(platform)) => {
                    let selected = index
                        .select(platform)
                        .map_err(|source| Error::Manifest { location: location.clone(), source })?;
                    // For a single platform, the selected manifest becomes the root.
                    remote.root = selected.clone();
                    vec![selected.clone()]
                }
                (document, _) => document.manifests().to_vec(),
            };
            remote.sizes.extend(document.blobs().into_iter().map(|blob| (blob.digest.clone(), blob.size)));
            remote.documents.insert(descriptor.digest, (data, document));
            if remote.documents.len() + children.len() > MAX_MANIFESTS {
                return Err(Error::Unexpected(format!("{location} has more than {MAX_MANIFESTS} manifests")));
            }
            for child in children {
                if remote.documents.contains_key(&child.digest) {
                    continue;
                }
                if depth >= MAX_DEPTH {
                    return Err(Error::Unexpected(format!("{location}: indexes are nested too deeply")));
                }
                let (fetched, data, document) = self.manifest(&reference.with_digest(&child.digest)).await?;
                if fetched.size != child.size || document.media_type() != child.media_type {
                    return Err(Error::Unexpected(format!(
                        "{location}: {} does not match its descriptor in the index",
                        child.digest
                    )));
                }
                pending.push((child, data, document, depth + 1));
            }
        }
        Ok(remote)
    }

    /// Collects the files of an image under the given paths, without storing anything else.
    pub async fn files(
        &self,
        reference: &Reference,
        platform: &Platform,
        paths: &[&str],
        limits: ExtractLimits,
    ) -> Result<ImageContents, Error> {
        let remote = self.open(reference, &Platforms::One(platform.clone())).await?;
        let (image, resolved) = (remote.root.clone(), remote.resolved.clone());
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let done = tokio::task::spawn_blocking(move || {
            let blobs: &dyn BlobSource = &remote;
            let (_, manifest) = blobs.select_image(&remote.root, &Platform::host())?;
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            Ok::<_, crate::blob_source::Error>((
                blobs.config(&manifest)?,
                blobs.files(&manifest, &paths, limits)?,
            ))
        });
        let (config, files) = done.await.map_err(|e| Error::Unexpected(e.to_string()))??;
        Ok(ImageContents { image, root: resolved, config, files })
    }

    /// Starts the download of a blob at an offset. The stream has to be read from blocking code.
    pub(super) fn blob_stream(
        &self,
        runtime: &Handle,
        reference: &Reference,
        digest: &Digest,
        size: u64,
        offset: u64,
    ) -> BlobStream {
        let (sender, receiver) = mpsc::channel(CHANNEL_CAPACITY);
        let (client, reference, digest) = (self.clone(), reference.clone(), digest.clone());
        runtime.spawn(async move {
            if let Err(error) = client.download(&reference, &digest, size, offset, &sender).await {
                let _ = sender.send(Err(error)).await;
            }
        });
        BlobStream { receiver, chunk: Bytes::new() }
    }

    /// Downloads a blob and resumes after interruptions.
    async fn download(
        &self,
        reference: &Reference,
        digest: &Digest,
        size: u64,
        mut offset: u64,
        sender: &mpsc::Sender<Result<Bytes, Error>>,
    ) -> Result<(), Error> {
        let host = self.registry_host(&reference.registry).await?;
        let uri = host.uri(&format!("/v2/{}/blobs/{digest}", reference.repository))?;
        let mut failures = 0;
        while offset < size {
            let mut request =
                RegistryRequest::new(Method::GET, uri.clone(), Scope::new(&reference.repository, "pull"));
            if offset > 0 {
                let range = HeaderValue::from_str(&format!("bytes={offset}-{}", size - 1));
                request.headers.insert(RANGE, range.map_err(|e| Error::Unexpected(e.to_string()))?);
            }
            let response = match self.send_expecting(&host, request, &[200, 206]).await {
                Err(e) if e.is_not_found() => {
                    return Err(Error::NotFound(format!("{digest} of {}", reference.name())));
                }
                other => other?,
            };
            let headers = response.headers();
            let header_text =
                |value: Option<&HeaderValue>| value.and_then(|value| value.to_str().ok()).map(str::to_owned);
            let mut skip = 0;
            if response.status() == 206 {
                let from = format!("bytes {offset}-");
                if !header_text(headers.get(CONTENT_RANGE)).is_some_and(|range| range.starts_with(&from)) {
                    return Err(Error::Unexpected(format!(
                        "{}: the registry returned another range than requested",
                        display_uri(&uri)
                    )));
                }
            } else {
                // The server ignores ranges: skip what was received before.
                skip = offset;
                let length =
                    header_text(headers.get(CONTENT_LENGTH)).and_then(|length| length.parse::<u64>().ok());
                if let Some(length) = length.filter(|length| *length != size) {
                    let message =
                        format!("{}: Content-Length is {length}, expected {size}", display_uri(&uri));
                    return Err(Error::Unexpected(message));
                }
            }
            let before = offset;
            let mut body = response.into_body();
            let interruption = loop {
                let frame = match tokio::time::timeout(BODY_IDLE_TIMEOUT, body.frame()).await {
                    Ok(Some(Ok(frame))) => frame,
                    Ok(Some(Err(e))) => break e.to_string(),
                    Ok(None) => break "the connection was closed".to_owned(),
                    Err(_) => break format!("no data for {} s", BODY_IDLE_TIMEOUT.as_secs()),
                };
                let Ok(mut chunk) = frame.into_data() else { continue };
                let skipped = skip.min(chunk.len() as u64);
                chunk.advance(skipped as usize);
                skip -= skipped;
                offset += chunk.len() as u64;
                if offset > size {
                    return Err(Error::Unexpected(format!(
                        "{}: the blob is longer than its declared size",
                        display_uri(&uri)
                    )));
                }
                if !chunk.is_empty() && sender.send(Ok(chunk)).await.is_err() {
                    // The reader was dropped.
                    return Ok(());
                }
            };
            if offset < size {
                failures = if offset > before { 0 } else { failures + 1 };
                if failures > self.inner.options.retries {
                    let message = format!(
                        "{}: interrupted after {offset} of {size} bytes: {interruption}",
                        display_uri(&uri)
                    );
                    return Err(Error::Unexpected(message));
                }
                tokio::time::sleep(self.backoff(failures)).await;
            }
        }
        Ok(())
    }
}

/// A blob being downloaded.
pub(super) struct BlobStream {
    receiver: mpsc::Receiver<Result<Bytes, Error>>,
    chunk: Bytes,
}

impl BlobStream {
    /// The next chunk; `None` at the end.
    pub(super) fn next_chunk(&mut self) -> Result<Option<Bytes>, Error> {
        self.receiver.blocking_recv().transpose()
    }

    /// Collects chunks for one batched write; empty at the end. On error, `batch` has what was received before.
    pub(super) fn next_batch(&mut self, batch: &mut Vec<Bytes>) -> Result<(), Error> {
        batch.clear();
        let mut size = 0;
        while size < WRITE_BATCH_BYTES
            && batch.len() < WRITE_BATCH_BUFFERS
            && let Some(chunk) = self.next_chunk()?
        {
            size += chunk.len();
            batch.push(chunk);
        }
        Ok(())
    }
}

impl Read for BlobStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.chunk.is_empty() {
            match self.next_chunk() {
                Ok(Some(chunk)) => self.chunk = chunk,
                Ok(None) => return Ok(0),
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        let read = self.chunk.len().min(buffer.len());
        self.chunk.split_to(read).copy_to_slice(buffer.get_mut(..read).unwrap_or_default());
        Ok(read)
    }
}

impl RemoteImage {
    /// The manifests by digest.
    pub fn documents(&self) -> impl Iterator<Item = (&Digest, &ManifestOrIndex, &Bytes)> {
        self.documents.iter().map(|(digest, (data, document))| (digest, document, data))
    }

    /// Selects the image for a platform.
    pub fn select_image(&self, platform: &Platform) -> Result<(Descriptor, Manifest), Error> {
        Ok((self as &dyn BlobSource).select_image(&self.root, platform)?)
    }

    /// Reads the config of an image.
    pub async fn config(self: &std::sync::Arc<Self>, manifest: &Manifest) -> Result<Config, Error> {
        let (remote, manifest) = (self.clone(), manifest.clone());
        let read =
            tokio::task::spawn_blocking(move || (remote.as_ref() as &dyn BlobSource).config(&manifest)).await;
        Ok(read.map_err(|e| Error::Unexpected(e.to_string()))??)
    }

    pub(super) fn reference(&self) -> &Reference {
        &self.reference
    }
}

impl BlobSource for RemoteImage {
    fn open_at(&self, digest: &Digest, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        if let Some((data, _)) = self.documents.get(digest) {
            let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(data.len());
            return Ok(Box::new(data.slice(offset..).reader()));
        }
        let size = self.sizes.get(digest).copied().ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(self.client.blob_stream(&self.runtime, &self.reference, digest, size, offset)))
    }

    fn location(&self) -> String {
        self.reference.to_string()
    }
}
