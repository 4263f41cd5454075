//! Sources of blobs: layouts, archives, memory, registries.

use std::collections::BTreeMap;
use std::io::{self, Read};

use bytes::{Buf, Bytes};

use crate::digest::{Digest, VerifyingReader};
use crate::model::{self, Config, Descriptor, MAX_CONFIG, MAX_MANIFEST, ManifestOrIndex, Platform};

/// Content that cannot be read from a source.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The source does not have the blob.
    #[error("{digest} is not in {location}")]
    NotFound {
        /// The digest.
        digest: Digest,
        /// The source.
        location: String,
    },
    /// The blob cannot be read or does not match its digest.
    #[error("{location}: {source}")]
    Read {
        /// The source.
        location: String,
        /// The cause.
        source: io::Error,
    },
    /// The manifest, index or config is invalid.
    #[error("{location}: {source}")]
    Invalid {
        /// The source.
        location: String,
        /// The cause.
        source: model::Error,
    },
    /// Indexes are nested too deeply.
    #[error("{0}: indexes are nested too deeply")]
    NestedIndex(String),
    /// The files of the image cannot be read.
    #[error(transparent)]
    ImageFiles(#[from] crate::files::Error),
}

/// A source of blobs.
pub trait BlobSource: Send + Sync {
    /// Opens a blob at an offset. The content is not verified.
    fn open_at(&self, digest: &Digest, offset: u64) -> io::Result<Box<dyn Read + Send>>;

    /// The source as shown in messages.
    fn location(&self) -> String;

    /// Whether blobs were verified against their digests when they were stored. Others are verified during a push;
    /// the registry verifies all of them.
    fn is_verified(&self) -> bool {
        false
    }
}

/// Maximum nesting of indexes.
const MAX_DEPTH: usize = 3;

impl dyn BlobSource + '_ {
    /// Opens a blob; the reader verifies size and digest.
    pub fn open(&self, blob: &Descriptor) -> Result<VerifyingReader<Box<dyn Read + Send>>, Error> {
        match self.open_at(&blob.digest, 0) {
            Ok(stream) => Ok(VerifyingReader::new(stream, &blob.digest, blob.size)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                Err(Error::NotFound { digest: blob.digest.clone(), location: self.location() })
            }
            Err(source) => Err(Error::Read { location: self.location(), source }),
        }
    }

    /// Reads a small blob into memory.
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

    /// Reads a manifest or an index.
    pub fn manifest_or_index(&self, descriptor: &Descriptor) -> Result<ManifestOrIndex, Error> {
        let data = self.read(descriptor, MAX_MANIFEST)?;
        ManifestOrIndex::parse(&data, Some(&descriptor.media_type))
            .map_err(|source| Error::Invalid { location: self.location(), source })
    }

    /// Resolves a descriptor to an image manifest; of an index, selects the manifest for the platform.
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

    /// Like `select_image`, but also rejects a single image whose config declares another platform.
    pub fn select_image_exact(
        &self,
        descriptor: &Descriptor,
        platform: &Platform,
    ) -> Result<(Descriptor, model::Manifest), Error> {
        let (image, manifest) = self.select_image(descriptor, platform)?;
        // Charts and other artifacts have no platform.
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

    /// Reads the config of an image.
    pub fn config(&self, manifest: &model::Manifest) -> Result<Config, Error> {
        let data = self.read(&manifest.config, MAX_CONFIG)?;
        Config::parse(&data).map_err(|source| Error::Invalid { location: self.location(), source })
    }

    /// Collects the files of an image under the given paths. Blobs and diff IDs are verified.
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
    /// Adds a blob.
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
