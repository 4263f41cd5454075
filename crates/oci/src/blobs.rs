//! Where blobs are read from: a layout, an archive, memory.

use std::collections::BTreeMap;
use std::io::{self, Read};

use bytes::{Buf, Bytes};

use crate::digest::{Digest, Verified};
use crate::model::{self, Config, Descriptor, Document, MAX_CONFIG, MAX_MANIFEST, Platform};

/// Why content cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not there.
    #[error("{digest} is not in {place}")]
    Missing {
        /// Which content.
        digest: Digest,
        /// Where it should be.
        place: String,
    },
    /// It cannot be read, or is not what its digest says.
    #[error("{place}: {source}")]
    Read {
        /// Where it is.
        place: String,
        /// Why.
        source: io::Error,
    },
    /// It is no document.
    #[error("{place}: {source}")]
    Model {
        /// Where it is.
        place: String,
        /// Why.
        source: model::Error,
    },
    /// Indexes in indexes.
    #[error("{0}: an index of an index of an index is not followed")]
    Deep(String),
    /// The files of an image.
    #[error(transparent)]
    Files(#[from] crate::files::Error),
}

/// A place that has blobs.
pub trait Blobs: Send + Sync {
    /// The content of a digest from some byte on, as it is: who reads it has to compare.
    fn open_at(&self, digest: &Digest, offset: u64) -> io::Result<Box<dyn Read + Send>>;

    /// What messages call the place.
    fn place(&self) -> String;

    /// Whether content was compared with its digest when it was put there. What comes from elsewhere is compared on its
    /// way to a registry; the registry compares everything.
    fn compared(&self) -> bool {
        false
    }
}

/// How deep indexes may be in each other.
const MAX_DEPTH: usize = 3;

impl dyn Blobs + '_ {
    /// A stream that fails unless it is what the descriptor says.
    pub fn open(&self, blob: &Descriptor) -> Result<Verified<Box<dyn Read + Send>>, Error> {
        match self.open_at(&blob.digest, 0) {
            Ok(stream) => Ok(Verified::new(stream, &blob.digest, blob.size)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                Err(Error::Missing { digest: blob.digest.clone(), place: self.place() })
            }
            Err(source) => Err(Error::Read { place: self.place(), source }),
        }
    }

    /// A small blob, whole.
    pub fn read(&self, blob: &Descriptor, limit: u64) -> Result<Vec<u8>, Error> {
        let what = "the document";
        if blob.size > limit {
            let source = model::Error::Large { what, size: blob.size, limit };
            return Err(Error::Model { place: self.place(), source });
        }
        let mut data = Vec::new();
        let read = self.open(blob)?.read_to_end(&mut data);
        read.map_err(|source| Error::Read { place: self.place(), source })?;
        Ok(data)
    }

    /// A manifest or an index.
    pub fn document(&self, descriptor: &Descriptor) -> Result<Document, Error> {
        let data = self.read(descriptor, MAX_MANIFEST)?;
        Document::parse(&data, Some(&descriptor.media_type))
            .map_err(|source| Error::Model { place: self.place(), source })
    }

    /// The image that is meant: of an index, the one for the platform.
    pub fn image(
        &self,
        descriptor: &Descriptor,
        platform: &Platform,
    ) -> Result<(Descriptor, model::Manifest), Error> {
        let mut descriptor = descriptor.clone();
        for _ in 0..MAX_DEPTH {
            match self.document(&descriptor)? {
                Document::Manifest(manifest) => return Ok((descriptor, manifest)),
                Document::Index(index) => {
                    let chosen = index.choose(platform);
                    descriptor =
                        chosen.map_err(|source| Error::Model { place: self.place(), source })?.clone();
                }
            }
        }
        Err(Error::Deep(self.place()))
    }

    /// As [`Blobs::image`], for somebody who has named the platform: an image that says it is for another one is refused.
    pub fn image_for(
        &self,
        descriptor: &Descriptor,
        platform: &Platform,
    ) -> Result<(Descriptor, model::Manifest), Error> {
        let (image, manifest) = self.image(descriptor, platform)?;
        // Charts and other things that are no images run nowhere.
        if [model::CONFIG, model::DOCKER_CONFIG].contains(&manifest.config.media_type.as_str())
            && let Some(offered) =
                self.config(&manifest)?.platform().filter(|offered| !platform.runs(offered))
        {
            let (wanted, offered) = (platform.to_string(), offered.to_string());
            return Err(Error::Model {
                place: self.place(),
                source: model::Error::NoPlatform { wanted, offered },
            });
        }
        Ok((image, manifest))
    }

    /// The configuration of an image.
    pub fn config(&self, manifest: &model::Manifest) -> Result<Config, Error> {
        let data = self.read(&manifest.config, MAX_CONFIG)?;
        Config::parse(&data).map_err(|source| Error::Model { place: self.place(), source })
    }

    /// The files of an image under some paths, after all its layers. Everything is compared with its digest.
    pub fn files(
        &self,
        manifest: &model::Manifest,
        paths: &[&str],
        limits: crate::files::Limits,
    ) -> Result<crate::files::Files, Error> {
        let ids = self.config(manifest)?.diff_ids();
        let mut collector = crate::files::Collector::new(paths, limits);
        for (number, layer) in manifest.layers.iter().enumerate() {
            collector.layer(self.open(layer)?, ids.get(number))?;
        }
        Ok(collector.finish())
    }
}

/// Blobs in memory.
#[derive(Clone, Debug, Default)]
pub struct Memory(BTreeMap<Digest, Bytes>);

impl Memory {
    /// Takes a blob.
    pub fn put(&mut self, media_type: &str, data: impl Into<Bytes>) -> Descriptor {
        let data = data.into();
        let descriptor = Descriptor::of(media_type, &data);
        self.0.insert(descriptor.digest.clone(), data);
        descriptor
    }
}

impl Blobs for Memory {
    fn open_at(&self, digest: &Digest, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        let data = self.0.get(digest).ok_or(io::ErrorKind::NotFound)?;
        let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(data.len());
        Ok(Box::new(data.slice(offset..).reader()))
    }

    fn place(&self) -> String {
        "memory".to_owned()
    }
}
