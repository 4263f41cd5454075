//! An image in a registry, read like one on disk: blobs come as they are asked for, and go on where they broke off.

use std::collections::HashMap;
use std::io::{self, Read};

use bytes::{Buf, Bytes};
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, RANGE};
use http::{HeaderValue, Method};
use http_body_util::BodyExt;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::auth::Scope;
use super::http::{Call, SILENCE, shown};
use super::{Client, Error, Platforms};
use crate::blobs::Blobs;
use crate::digest::Digest;
use crate::disk::{GATHER, MANY};
use crate::files::{Files, Limits};
use crate::model::{Config, Descriptor, Document, Manifest, Platform};
use crate::reference::Reference;

/// How many parts wait between the network and whoever reads.
const WAITING: usize = 16;
/// How deep indexes may be in each other, and how many images an index may bring.
const MAX_DEPTH: usize = 3;
const MAX_IMAGES: usize = 1000;

/// An image in a registry: its manifests are here, its blobs are got when they are read.
pub struct Remote {
    client: Client,
    reference: Reference,
    /// What the name means.
    pub named: Descriptor,
    /// What was asked for: the image for one platform, or all.
    pub root: Descriptor,
    documents: HashMap<Digest, (Bytes, Document)>,
    sizes: HashMap<Digest, u64>,
    handle: Handle,
}

/// What an image has under some paths.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The image, for the platform that was asked for.
    pub image: Descriptor,
    /// What the name means: the image, or an index that has it.
    pub root: Descriptor,
    /// Its configuration, with labels and command.
    pub config: Config,
    /// The files.
    pub files: Files,
}

impl Client {
    /// Gets the manifests of an image, and no blob yet.
    pub async fn open(&self, reference: &Reference, platforms: &Platforms) -> Result<Remote, Error> {
        let (root, data, document) = self.manifest(reference).await?;
        let place = reference.to_string();
        let mut remote = Remote {
            client: self.clone(),
            reference: reference.clone(),
            named: root.clone(),
            root: root.clone(),
            documents: HashMap::new(),
            sizes: HashMap::new(),
            handle: Handle::current(),
        };
        let mut todo = vec![(root, data, document, 1)];
        while let Some((descriptor, data, document, depth)) = todo.pop() {
            let children = match (&document, platforms) {
                (Document::Index(index), Platforms::One(platform)) => {
                    let chosen = index
                        .choose(platform)
                        .map_err(|source| Error::Model { place: place.clone(), source })?;
                    // Whoever asks for one image gets that one.
                    remote.root = chosen.clone();
                    vec![chosen.clone()]
                }
                (document, _) => document.manifests().to_vec(),
            };
            remote.sizes.extend(document.blobs().into_iter().map(|blob| (blob.digest.clone(), blob.size)));
            remote.documents.insert(descriptor.digest, (data, document));
            if remote.documents.len() + children.len() > MAX_IMAGES {
                return Err(Error::Wrong(format!("{place} has more than {MAX_IMAGES} images")));
            }
            for child in children {
                if remote.documents.contains_key(&child.digest) {
                    continue;
                }
                if depth >= MAX_DEPTH {
                    return Err(Error::Wrong(format!("{place}: indexes are nested too deeply")));
                }
                let (got, data, document) = self.manifest(&reference.with_digest(&child.digest)).await?;
                if got.size != child.size || document.media_type() != child.media_type {
                    return Err(Error::Wrong(format!(
                        "{place}: {} is not what the index says",
                        child.digest
                    )));
                }
                todo.push((child, data, document, depth + 1));
            }
        }
        Ok(remote)
    }

    /// The files of an image under some paths, without keeping anything else: what tools that look into images need.
    pub async fn files(
        &self,
        reference: &Reference,
        platform: &Platform,
        paths: &[&str],
        limits: Limits,
    ) -> Result<Contents, Error> {
        let remote = self.open(reference, &Platforms::One(platform.clone())).await?;
        let (image, named) = (remote.root.clone(), remote.named.clone());
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let done = tokio::task::spawn_blocking(move || {
            let blobs: &dyn Blobs = &remote;
            let (_, manifest) = blobs.image(&remote.root, &Platform::here())?;
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            Ok::<_, crate::blobs::Error>((blobs.config(&manifest)?, blobs.files(&manifest, &paths, limits)?))
        });
        let (config, files) = done.await.map_err(|e| Error::Wrong(e.to_string()))??;
        Ok(Contents { image, root: named, config, files })
    }

    /// Begins to get a blob from some byte on. Has to be read outside of asynchronous code.
    pub(super) fn stream(
        &self,
        handle: &Handle,
        reference: &Reference,
        digest: &Digest,
        size: u64,
        offset: u64,
    ) -> Stream {
        let (sender, receiver) = mpsc::channel(WAITING);
        let (client, reference, digest) = (self.clone(), reference.clone(), digest.clone());
        handle.spawn(async move {
            if let Err(error) = client.feed(&reference, &digest, size, offset, &sender).await {
                let _ = sender.send(Err(error)).await;
            }
        });
        Stream { receiver, part: Bytes::new() }
    }

    /// Gets a blob and passes it on, again from where it broke off.
    async fn feed(
        &self,
        reference: &Reference,
        digest: &Digest,
        size: u64,
        mut at: u64,
        to: &mpsc::Sender<Result<Bytes, Error>>,
    ) -> Result<(), Error> {
        let host = self.host(&reference.registry).await?;
        let uri = host.uri(&format!("/v2/{}/blobs/{digest}", reference.repository))?;
        let mut failures = 0;
        while at < size {
            let mut call = Call::new(Method::GET, uri.clone(), Scope::new(&reference.repository, "pull"));
            if at > 0 {
                let range = HeaderValue::from_str(&format!("bytes={at}-{}", size - 1));
                call.headers.insert(RANGE, range.map_err(|e| Error::Wrong(e.to_string()))?);
            }
            let response = match self.expect(&host, call, &[200, 206]).await {
                Err(e) if e.is_not_found() => {
                    return Err(Error::NotFound(format!("{digest} of {}", reference.name())));
                }
                other => other?,
            };
            let headers = response.headers();
            let text =
                |value: Option<&HeaderValue>| value.and_then(|value| value.to_str().ok()).map(str::to_owned);
            let mut skip = 0;
            if response.status() == 206 {
                let from = format!("bytes {at}-");
                if !text(headers.get(CONTENT_RANGE)).is_some_and(|range| range.starts_with(&from)) {
                    return Err(Error::Wrong(format!(
                        "{}: another part came than was asked for",
                        shown(&uri)
                    )));
                }
            } else {
                // The server does not know parts: what is there already is passed over.
                skip = at;
                let length = text(headers.get(CONTENT_LENGTH)).and_then(|length| length.parse::<u64>().ok());
                if let Some(length) = length.filter(|length| *length != size) {
                    let what =
                        format!("{}: it is said to have {length} bytes and should have {size}", shown(&uri));
                    return Err(Error::Wrong(what));
                }
            }
            let before = at;
            let mut body = response.into_body();
            let broke = loop {
                let frame = match tokio::time::timeout(SILENCE, body.frame()).await {
                    Ok(Some(Ok(frame))) => frame,
                    Ok(Some(Err(e))) => break e.to_string(),
                    Ok(None) => break "it ended".to_owned(),
                    Err(_) => break format!("nothing came for {} s", SILENCE.as_secs()),
                };
                let Ok(mut part) = frame.into_data() else { continue };
                let passed = skip.min(part.len() as u64);
                part.advance(passed as usize);
                skip -= passed;
                at += part.len() as u64;
                if at > size {
                    return Err(Error::Wrong(format!("{}: it is longer than its size says", shown(&uri))));
                }
                if !part.is_empty() && to.send(Ok(part)).await.is_err() {
                    // Whoever read has gone.
                    return Ok(());
                }
            };
            if at < size {
                failures = if at > before { 0 } else { failures + 1 };
                if failures > self.inner.options.retries {
                    let what = format!("{}: it broke off after {at} of {size} bytes: {broke}", shown(&uri));
                    return Err(Error::Wrong(what));
                }
                tokio::time::sleep(self.pause(failures)).await;
            }
        }
        Ok(())
    }
}

/// A blob on its way.
pub(super) struct Stream {
    receiver: mpsc::Receiver<Result<Bytes, Error>>,
    part: Bytes,
}

impl Stream {
    /// The next part; nothing at the end.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, Error> {
        self.receiver.blocking_recv().transpose()
    }

    /// The next parts, enough to be worth a write; none at the end. What came before an error is there too.
    pub(super) fn gather(&mut self, parts: &mut Vec<Bytes>) -> Result<(), Error> {
        parts.clear();
        let mut size = 0;
        while size < GATHER
            && parts.len() < MANY
            && let Some(part) = self.next()?
        {
            size += part.len();
            parts.push(part);
        }
        Ok(())
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.part.is_empty() {
            match self.next() {
                Ok(Some(part)) => self.part = part,
                Ok(None) => return Ok(0),
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        let read = self.part.len().min(buffer.len());
        self.part.split_to(read).copy_to_slice(buffer.get_mut(..read).unwrap_or_default());
        Ok(read)
    }
}

impl Remote {
    /// The manifests, by digest.
    pub fn documents(&self) -> impl Iterator<Item = (&Digest, &Document, &Bytes)> {
        self.documents.iter().map(|(digest, (data, document))| (digest, document, data))
    }

    /// The image for a platform.
    pub fn image(&self, platform: &Platform) -> Result<(Descriptor, Manifest), Error> {
        Ok((self as &dyn Blobs).image(&self.root, platform)?)
    }

    /// The configuration of an image of it.
    pub async fn config(self: &std::sync::Arc<Self>, manifest: &Manifest) -> Result<Config, Error> {
        let (remote, manifest) = (self.clone(), manifest.clone());
        let read =
            tokio::task::spawn_blocking(move || (remote.as_ref() as &dyn Blobs).config(&manifest)).await;
        Ok(read.map_err(|e| Error::Wrong(e.to_string()))??)
    }

    pub(super) fn repository(&self) -> &Reference {
        &self.reference
    }
}

impl Blobs for Remote {
    fn open_at(&self, digest: &Digest, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        if let Some((data, _)) = self.documents.get(digest) {
            let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(data.len());
            return Ok(Box::new(data.slice(offset..).reader()));
        }
        let size = self.sizes.get(digest).copied().ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(self.client.stream(&self.handle, &self.reference, digest, size, offset)))
    }

    fn place(&self) -> String {
        self.reference.to_string()
    }
}
