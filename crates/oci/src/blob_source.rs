//! Where blobs are read from: a layout, an archive, memory.

use std::collections::BTreeMap;
use std::io::{self, Read};

use bytes::{Buf, Bytes};

use crate::digest::{Digest, VerifyingReader};
use crate::model::{self, Config, Descriptor, MAX_CONFIG, MAX_MANIFEST, ManifestOrIndex, Platform};

/// Why content cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not there.
    #[error("{digest} is not in {location}")]
    NotFound {
        /// Which content.
        digest: Digest,
        /// Where it should be.
        location: String,
    },
    /// It cannot be read, or is not what its digest says.
    #[error("{location}: {source}")]
    Read {
        /// Where it is.
        location: String,
        /// Why.
        source: io::Error,
    },
    /// It is no document.
    #[error("{location}: {source}")]
    Invalid {
        /// Where it is.
        location: String,
        /// Why.
        source: model::Error,
    },
    /// Indexes in indexes.
    #[error("{0}: an index of an index of an index is not followed")]
    NestedIndex(String),
    /// The files of an image.
    #[error(transparent)]
    ImageFiles(#[from] crate::files::Error),
}

/// A place that has blobs.
pub trait BlobSource: Send + Sync {
    /// The content of a digest from some byte on, as it is: who reads it has to compare.
    fn open_at(&self, digest: &Digest, offset: u64) -> io::Result<Box<dyn Read + Send>>;

    /// What messages call the place.
    fn location(&self) -> String;

    /// Whether content was compared with its digest when it was put there. What comes from elsewhere is compared on its
    /// way to a registry; the registry compares everything.
    fn is_verified(&self) -> bool {
        false
    }
}

/// How deep indexes may be in each other.
const MAX_DEPTH: usize = 3;

impl dyn BlobSource + '_ {
    /// A stream that fails unless it is what the descriptor says.
    pub fn open(&self, blob: &Descriptor) -> Result<VerifyingReader<Box<dyn Read + Send>>, Error> {
        match self.open_at(&blob.digest, 0) {
            Ok(stream) => Ok(VerifyingReader::new(stream, &blob.digest, blob.size)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                Err(Error::NotFound { digest: blob.digest.clone(), location: self.location() })
            }
            Err(source) => Err(Error::Read { location: self.location(), source }),
        }
    }

    /// A small blob, whole.
    pub fn read(&self, blob: &Descriptor, limit: u64) -> Result<Vec<u8>, Error> {
        let document = "the document";
        if blob.size > limit {
            let source = model::Error::TooLarge { document, size: blob.size, limit };
            return Err(Error::Invalid { location: self.location(), source });
        }
        let mut data = Vec::new();
        let read = self.open(blob)?.read_to_end(&mut data);
        read.map_err(|source| Error::Read { location: self.location(), source })?;
        Ok(data)
    }

    /// A manifest or an index.
    pub fn manifest_or_index(&self, descriptor: &Descriptor) -> Result<ManifestOrIndex, Error> {
        let data = self.read(descriptor, MAX_MANIFEST)?;
        ManifestOrIndex::parse(&data, Some(&descriptor.media_type))
            .map_err(|source| Error::Invalid { location: self.location(), source })
    }

    /// The image that is meant: of an index, the one for the platform.
    pub fn select_image(
        &self,
        descriptor: &Descriptor,
        platform: &Platform,
    ) -> Result<(Descriptor, model::Manifest), Error> {
        let mut descriptor = descriptor.clone();
        for _ in 0..MAX_DEPTH {
            match self.manifest_or_index(&descriptor)? {
                ManifestOrIndex::Manifest(manifest) => return Ok((descriptor, manifest)),
                ManifestOrIndex::Index(index) => {
                    let selected = index.select(platform);
                    descriptor = selected
                        .map_err(|source| Error::Invalid { location: self.location(), source })?
                        .clone();
                }
            }
        }
        Err(Error::NestedIndex(self.location()))
    }

    /// As [`BlobSource::image`], for somebody who has named the platform: an image that says it is for another one is refused.
    pub fn select_image_exact(
        &self,
        descriptor: &Descriptor,
        platform: &Platform,
    ) -> Result<(Descriptor, model::Manifest), Error> {
        let (image, manifest) = self.select_image(descriptor, platform)?;
        // Charts and other things that are no images run nowhere.
        if [model::MEDIA_TYPE_CONFIG, model::MEDIA_TYPE_DOCKER_CONFIG]
            .contains(&manifest.config.media_type.as_str())
            && let Some(available) =
                self.config(&manifest)?.platform().filter(|available| !platform.can_run(available))
        {
            let (requested, available) = (platform.to_string(), available.to_string());
            return Err(Error::Invalid {
                location: self.location(),
                source: model::Error::NoMatchingPlatform { requested, available },
            });
        }
        Ok((image, manifest))
    }

    /// The configuration of an image.
    pub fn config(&self, manifest: &model::Manifest) -> Result<Config, Error> {
        let data = self.read(&manifest.config, MAX_CONFIG)?;
        Config::parse(&data).map_err(|source| Error::Invalid { location: self.location(), source })
    }

    /// The files of an image under some paths, after all its layers. Everything is compared with its digest.
    pub fn files(
        &self,
        manifest: &model::Manifest,
        paths: &[&str],
        limits: crate::files::ExtractLimits,
    ) -> Result<crate::files::ImageFiles, Error> {
        let diff_ids = self.config(manifest)?.diff_ids();
        let mut collector = crate::files::FileCollector::new(paths, limits);
        for (index, layer) in manifest.layers.iter().enumerate() {
            collector.add_layer(self.open(layer)?, diff_ids.get(index))?;
        }
        Ok(collector.finish())
    }
}

/// Blobs in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryBlobs(BTreeMap<Digest, Bytes>);

impl MemoryBlobs {
    /// Takes a blob.
    pub fn put_blob(&mut self, media_type: &str, data: impl Into<Bytes>) -> Descriptor {
        let data = data.into();
        let descriptor = Descriptor::for_content(media_type, &data);
        self.0.insert(descriptor.digest.clone(), data);
        descriptor
    }
}

impl BlobSource for MemoryBlobs {
    fn open_at(&self, digest: &Digest, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        let data = self.0.get(digest).ok_or(io::ErrorKind::NotFound)?;
        let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(data.len());
        Ok(Box::new(data.slice(offset..).reader()))
    }

    fn location(&self) -> String {
        "memory".to_owned()
    }
}
