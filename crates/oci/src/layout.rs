//! OCI image layouts: `oci-layout`, `index.json`, `blobs/`.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::blob_source::{self, BlobSource};
use crate::digest::{Algorithm, Digest, Hasher};
use crate::disk::{self, BackgroundSync, TempFile};
use crate::model::{self, ANNOTATION_REF_NAME, Descriptor, Index, MAX_MANIFEST, ManifestOrIndex};
use crate::threaded_hasher::ThreadedHasher;

/// A layout that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An I/O error.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// The directory is not an OCI image layout.
    #[error("{0} is not an OCI image layout: it has no oci-layout file of version 1.0.0")]
    NotALayout(String),
    /// The index is invalid.
    #[error("{path}: {source}")]
    Index {
        /// The index file.
        path: String,
        /// The cause.
        source: model::Error,
    },
    /// No image has the name.
    #[error("{location} has no image {name:?}; it has {names}")]
    ImageNotFound {
        /// The layout.
        location: String,
        /// The requested name.
        name: String,
        /// The names in the layout.
        names: String,
    },
    /// Several images match.
    #[error("{location} has several images ({names}): select one with {location}:NAME")]
    AmbiguousImage {
        /// The layout.
        location: String,
        /// The names in the layout.
        names: String,
    },
    /// A blob does not match its descriptor.
    #[error("{0}")]
    BlobMismatch(String),
    /// A blob cannot be read.
    #[error(transparent)]
    BlobSource(#[from] blob_source::Error),
}

const LAYOUT_FILE_CONTENT: &str = "{\"imageLayoutVersion\":\"1.0.0\"}";
const INGEST_DIR: &str = "ingest";

/// Maximum number of attempts to create the ingest directory.
const MAX_ATTEMPTS: usize = 1000;

/// An OCI image layout directory.
#[derive(Clone, Debug)]
pub struct Layout {
    root: PathBuf,
    durable: bool,
}

/// Shared lock that keeps other processes from pruning.
pub struct PruneLock(#[allow(dead_code)] File);

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.display().to_string();
    move |source| Error::Io { path, source }
}

impl Layout {
    /// Opens an existing layout.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, Error> {
        let root = root.into();
        let marker = read_limited(&root.join("oci-layout"), 4096);
        let version = marker.ok().and_then(|text| serde_json::from_slice::<serde_json::Value>(&text).ok());
        let version = version.as_ref().and_then(|value| value.get("imageLayoutVersion")?.as_str());
        if version != Some("1.0.0") {
            return Err(Error::NotALayout(root.display().to_string()));
        }
        Ok(Self { root, durable: true })
    }

    /// Opens a layout or creates one. Rejects a directory with other content.
    pub fn create(root: impl Into<PathBuf>) -> Result<Self, Error> {
        Self::create_with(root.into(), true)
    }

    /// Like [`Layout::create`], without syncing to disk.
    pub fn create_transient(root: impl Into<PathBuf>) -> Result<Self, Error> {
        Self::create_with(root.into(), false)
    }

    fn create_with(root: PathBuf, durable: bool) -> Result<Self, Error> {
        if root.join("oci-layout").exists() {
            return Ok(Self { durable, ..Self::open(root)? });
        }
        fs::create_dir_all(&root).map_err(io_error(&root))?;
        if fs::read_dir(&root).map_err(io_error(&root))?.next().is_some() {
            return Err(Error::NotALayout(root.display().to_string()));
        }
        let blobs = root.join("blobs/sha256");
        fs::create_dir_all(&blobs).map_err(io_error(&blobs))?;
        let index = root.join("index.json");
        disk::write_atomically(&index, &Index::new(Vec::new()).to_bytes(), durable)
            .map_err(io_error(&index))?;
        let marker = root.join("oci-layout");
        disk::write_atomically(&marker, LAYOUT_FILE_CONTENT.as_bytes(), durable)
            .map_err(io_error(&marker))?;
        Ok(Self { root, durable })
    }

    /// The layout directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn blob_path(&self, digest: &Digest) -> PathBuf {
        self.root.join("blobs").join(digest.algorithm().name()).join(digest.hex())
    }

    /// Whether the blob exists with the described size.
    pub fn has_blob(&self, blob: &Descriptor) -> bool {
        fs::metadata(self.blob_path(&blob.digest)).is_ok_and(|meta| meta.is_file() && meta.len() == blob.size)
    }

    /// Stores a small blob.
    pub fn put_blob(&self, media_type: &str, data: &[u8]) -> Result<Descriptor, Error> {
        let descriptor = Descriptor::for_content(media_type, data);
        if !self.has_blob(&descriptor) {
            let mut writer = self.blob_writer(Algorithm::Sha256)?;
            writer.write_all(data).map_err(io_error(&self.root))?;
            writer.finish(media_type)?;
        }
        Ok(descriptor)
    }

    /// Returns a writer for a blob of unknown digest.
    pub fn blob_writer(&self, algorithm: Algorithm) -> Result<BlobWriter, Error> {
        let name = disk::random_name().map_err(io_error(&self.root))?;
        let (file, path) = self.open_ingest_file(&name, true)?;
        Ok(BlobWriter {
            layout: self.clone(),
            temp_file: TempFile::new(path),
            file: BufWriter::with_capacity(256 << 10, file),
            hasher: Hasher::new(algorithm),
            size: 0,
        })
    }

    fn open_ingest_file(&self, name: &str, new: bool) -> Result<(File, PathBuf), Error> {
        let directory = self.root.join(INGEST_DIR);
        let path = directory.join(name);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).create_new(new).truncate(false);
        let mut attempts = 0;
        loop {
            fs::create_dir_all(&directory).map_err(io_error(&directory))?;
            match options.open(&path) {
                // Another writer removed the empty directory after it was created.
                Err(error) if error.kind() == io::ErrorKind::NotFound && attempts < MAX_ATTEMPTS => {
                    attempts += 1
                }
                file => return Ok((file.map_err(io_error(&path))?, path)),
            }
        }
    }

    /// Ingests a blob of known digest and resumes an earlier attempt; [`BlobIngest::offset`] is the number of bytes
    /// already stored.
    pub fn ingest(&self, blob: &Descriptor) -> Result<BlobIngest, Error> {
        let name = format!("{}-{}", blob.digest.algorithm().name(), blob.digest.hex());
        let (mut file, mut path) = self.open_ingest_file(&name, false)?;
        if file.try_lock().is_err() {
            // Another process ingests the same blob. Both continue, and the first to finish wins.
            (file, path) = self.open_ingest_file(
                &format!("{name}-{}", disk::random_name().map_err(io_error(&path))?),
                true,
            )?;
        }
        let mut hasher = Hasher::new(blob.digest.algorithm());
        let mut offset = 0;
        let mut chunk = vec![0; 256 << 10];
        loop {
            let read = file.read(&mut chunk).map_err(io_error(&path))?;
            if read == 0 {
                break;
            }
            hasher.update(chunk.get(..read).unwrap_or_default());
            offset += read as u64;
        }
        let (layout, blob) = (self.clone(), blob.clone());
        let mut ingest = BlobIngest {
            layout,
            file,
            path,
            hasher: ThreadedHasher::new(hasher),
            offset,
            blob,
            sync: BackgroundSync::default(),
        };
        if offset > ingest.blob.size {
            ingest.restart()?;
        }
        Ok(ingest)
    }

    /// Tags an image and moves an existing tag. Without a name, the image is listed by digest only.
    pub fn tag(&self, descriptor: &Descriptor, name: Option<&str>) -> Result<(), Error> {
        self.update_index(|index| {
            let mut entry = descriptor.clone();
            entry.annotations.remove(ANNOTATION_REF_NAME);
            if let Some(name) = name {
                entry.annotations.insert(ANNOTATION_REF_NAME.to_owned(), name.to_owned());
            }
            let same = |old: &Descriptor| match name {
                Some(name) => old.ref_name() == Some(name),
                None => old.ref_name().is_none() && old.digest == descriptor.digest,
            };
            index.manifests.retain(|old| !same(old));
            index.manifests.push(entry);
        })
    }

    /// Removes a tag; returns whether it existed.
    pub fn untag(&self, name: &str) -> Result<bool, Error> {
        let mut found = false;
        self.update_index(|index| {
            let before = index.manifests.len();
            index.manifests.retain(|old| old.ref_name() != Some(name));
            found = index.manifests.len() < before;
        })?;
        Ok(found)
    }

    /// Removes an untagged image from the index.
    pub fn remove_untagged(&self, image: &Descriptor) -> Result<(), Error> {
        self.update_index(|index| {
            index.manifests.retain(|old| old.ref_name().is_some() || old.digest != image.digest);
        })
    }

    fn update_index(&self, edit: impl FnOnce(&mut Index)) -> Result<(), Error> {
        let blobs = self.root.join("blobs");
        let lock = File::open(&blobs).map_err(io_error(&blobs))?;
        lock.lock().map_err(io_error(&blobs))?;
        let mut index = self.index()?;
        edit(&mut index);
        let path = self.root.join("index.json");
        disk::write_atomically(&path, &index.to_bytes(), self.durable).map_err(io_error(&path))
    }

    /// The index of all tagged and untagged images.
    pub fn index(&self) -> Result<Index, Error> {
        let path = self.root.join("index.json");
        let data = read_limited(&path, MAX_MANIFEST).map_err(io_error(&path))?;
        let invalid = |source| Error::Index { path: path.display().to_string(), source };
        match ManifestOrIndex::parse(&data, None).map_err(invalid)? {
            ManifestOrIndex::Index(index) => Ok(index),
            ManifestOrIndex::Manifest(_) => Err(Error::NotALayout(self.root.display().to_string())),
        }
    }

    /// Finds an image by tag or digest; without a name, the only image.
    pub fn find(&self, name: Option<&str>) -> Result<Descriptor, Error> {
        find_image(&self.index()?.manifests, name, &self.root.display().to_string())
    }

    /// Prevents pruning until the lock is dropped, so that blobs are not removed before they are tagged.
    pub fn lock_prune(&self) -> Result<PruneLock, Error> {
        let path = self.root.join("oci-layout");
        let file = File::open(&path).map_err(io_error(&path))?;
        file.lock_shared().map_err(io_error(&path))?;
        Ok(PruneLock(file))
    }

    /// Removes unreferenced blobs; returns their number and size in bytes.
    pub fn prune(&self) -> Result<(usize, u64), Error> {
        let path = self.root.join("oci-layout");
        let lock = File::open(&path).map_err(io_error(&path))?;
        lock.lock().map_err(io_error(&path))?;
        let mut referenced = BTreeSet::new();
        let mut pending = self.index()?.manifests;
        while let Some(descriptor) = pending.pop() {
            if !referenced.insert(descriptor.digest.clone()) || !self.has_blob(&descriptor) {
                continue;
            }
            if descriptor.is_manifest() || descriptor.is_index() {
                let document = (self as &dyn BlobSource).manifest_or_index(&descriptor)?;
                referenced.extend(document.blobs().into_iter().map(|blob| blob.digest.clone()));
                pending.extend(document.manifests().iter().cloned());
            }
        }
        let (mut count, mut bytes) = (0, 0);
        for algorithm in [Algorithm::Sha256, Algorithm::Sha512] {
            let directory = self.root.join("blobs").join(algorithm.name());
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                let name = format!("{}:{}", algorithm.name(), entry.file_name().to_string_lossy());
                if Digest::parse(&name).is_ok_and(|digest| !referenced.contains(&digest)) {
                    bytes += entry.metadata().map_or(0, |meta| meta.len());
                    fs::remove_file(entry.path()).map_err(io_error(&entry.path()))?;
                    count += 1;
                }
            }
        }
        for entry in fs::read_dir(self.root.join(INGEST_DIR)).into_iter().flatten().flatten() {
            bytes += entry.metadata().map_or(0, |meta| meta.len());
            let _ = fs::remove_file(entry.path());
        }
        let _ = fs::remove_dir(self.root.join(INGEST_DIR));
        Ok((count, bytes))
    }

    fn commit_blob(
        &self,
        temp_file: TempFile,
        file: &File,
        sync: &mut BackgroundSync,
        digest: &Digest,
    ) -> Result<(), Error> {
        let path = self.blob_path(digest);
        if self.durable {
            sync.finish(file).map_err(io_error(&path))?;
        }
        temp_file.persist(&path, self.durable).map_err(io_error(&path))?;
        // Other tools warn about unknown directories in a layout.
        let _ = fs::remove_dir(self.root.join(INGEST_DIR));
        Ok(())
    }
}

/// Finds an image by tag or digest.
pub(crate) fn find_image(
    images: &[Descriptor],
    name: Option<&str>,
    location: &str,
) -> Result<Descriptor, Error> {
    let display_name =
        |image: &Descriptor| image.ref_name().map_or_else(|| image.digest.to_string(), str::to_owned);
    let names = || {
        let names: Vec<String> = images.iter().take(20).map(display_name).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let Some(name) = name else {
        return match images {
            [only] => Ok(only.clone()),
            [] => Err(Error::ImageNotFound {
                location: location.to_owned(),
                name: String::new(),
                names: names(),
            }),
            _ => Err(Error::AmbiguousImage { location: location.to_owned(), names: names() }),
        };
    };
    let digest = name.trim_start_matches('@');
    let matches = |image: &&Descriptor| image.ref_name() == Some(name) || image.digest.to_string() == digest;
    let found = images.iter().rev().find(matches);
    found.cloned().ok_or_else(|| Error::ImageNotFound {
        location: location.to_owned(),
        name: name.to_owned(),
        names: names(),
    })
}

fn read_limited(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut data = Vec::new();
    let read = File::open(path)?.take(limit + 1).read_to_end(&mut data)?;
    if read as u64 > limit { Err(io::Error::other(format!("larger than {limit} bytes"))) } else { Ok(data) }
}

impl BlobSource for Layout {
    fn open_at(&self, digest: &Digest, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        let mut file = File::open(self.blob_path(digest))?;
        if offset > 0 {
            file.seek(SeekFrom::Start(offset))?;
        }
        Ok(Box::new(file))
    }

    fn location(&self) -> String {
        self.root.display().to_string()
    }

    fn is_verified(&self) -> bool {
        true
    }
}

/// A blob being written.
pub struct BlobWriter {
    layout: Layout,
    temp_file: TempFile,
    file: BufWriter<File>,
    hasher: Hasher,
    size: u64,
}

impl BlobWriter {
    /// Stores the blob under its digest.
    pub fn finish(self, media_type: &str) -> Result<Descriptor, Error> {
        let Self { layout, temp_file, file, hasher, size } = self;
        let file =
            file.into_inner().map_err(|e| Error::Io { path: layout.location(), source: e.into_error() })?;
        let digest = hasher.finish();
        let descriptor = Descriptor::new(media_type, digest, size);
        if !layout.has_blob(&descriptor) {
            layout.commit_blob(temp_file, &file, &mut BackgroundSync::default(), &descriptor.digest)?;
        }
        Ok(descriptor)
    }
}

impl Write for BlobWriter {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let written = self.file.write(data)?;
        self.hasher.update(data.get(..written).unwrap_or_default());
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A blob being ingested; partial content is kept for the next attempt.
pub struct BlobIngest {
    layout: Layout,
    file: File,
    path: PathBuf,
    hasher: ThreadedHasher,
    offset: u64,
    blob: Descriptor,
    sync: BackgroundSync,
}

impl BlobIngest {
    /// Number of bytes stored so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Discards the stored bytes.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.file
            .set_len(0)
            .and_then(|()| self.file.seek(SeekFrom::Start(0)))
            .map_err(io_error(&self.path))?;
        self.hasher = ThreadedHasher::new(Hasher::new(self.blob.digest.algorithm()));
        self.offset = 0;
        Ok(())
    }

    /// Appends data; rejects more than the described size.
    pub fn write(&mut self, data: &[u8]) -> Result<(), Error> {
        self.append(&[Bytes::copy_from_slice(data)])
    }

    /// Appends chunks; rejects more than the described size.
    pub(crate) fn append(&mut self, chunks: &[Bytes]) -> Result<(), Error> {
        let added: u64 = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        if self.offset + added > self.blob.size {
            self.restart()?;
            return Err(Error::BlobMismatch(format!(
                "{} is longer than its declared size",
                self.blob.digest
            )));
        }
        self.hasher.update(chunks);
        disk::write_all_vectored(&self.file, chunks).map_err(io_error(&self.path))?;
        if self.layout.durable {
            self.sync.record_write(&self.file, added).map_err(io_error(&self.path))?;
        }
        self.offset += added;
        Ok(())
    }

    /// Verifies the digest and stores the blob. Mismatched content is removed.
    pub fn finish(self) -> Result<(), Error> {
        if self.offset < self.blob.size {
            let remaining = self.blob.size - self.offset;
            return Err(Error::BlobMismatch(format!(
                "{} ends {remaining} bytes too early",
                self.blob.digest
            )));
        }
        let Self { layout, file, path, hasher, blob, mut sync, .. } = self;
        let actual = hasher.finish().map_err(io_error(&path))?.finish();
        if actual != blob.digest {
            let _ = fs::remove_file(&path);
            return Err(Error::BlobMismatch(format!(
                "the content should be {} and is {actual}",
                blob.digest
            )));
        }
        layout.commit_blob(TempFile::new(path), &file, &mut sync, &blob.digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_util::TempDir;

    #[test]
    fn tags_finds_and_prunes_images() {
        let scratch = TempDir::new();
        let layout = Layout::create(scratch.path("l")).unwrap();
        let blob = layout.put_blob(model::MEDIA_TYPE_LAYER, b"hello").unwrap();
        let config = layout.put_blob(model::MEDIA_TYPE_CONFIG, b"{}").unwrap();
        let manifest = model::Manifest::new(config, vec![blob.clone()]);
        let image = layout.put_blob(model::MEDIA_TYPE_MANIFEST, &manifest.to_bytes()).unwrap();
        layout.put_blob(model::MEDIA_TYPE_LAYER, b"garbage").unwrap();
        layout.tag(&image, Some("a:1")).unwrap();
        layout.tag(&image, Some("a:2")).unwrap();
        layout.tag(&image, Some("a:1")).unwrap();
        assert_eq!(layout.index().unwrap().manifests.len(), 2);
        let layout = Layout::open(scratch.path("l")).unwrap();
        assert_eq!(layout.find(Some("a:1")).unwrap().digest, image.digest);
        assert_eq!(layout.find(Some(&image.digest.to_string())).unwrap().digest, image.digest);
        assert!(matches!(layout.find(None), Err(Error::AmbiguousImage { .. })));
        assert!(layout.find(Some("b")).unwrap_err().to_string().contains("a:2"));
        assert_eq!(layout.prune().unwrap(), (1, 7));
        assert_eq!((&layout as &dyn BlobSource).read(&blob, 10).unwrap(), b"hello");
        assert!(
            layout.untag("a:1").unwrap() && layout.untag("a:2").unwrap() && !layout.untag("a:2").unwrap()
        );
        assert_eq!(layout.prune().unwrap().0, 3);
        assert!((&layout as &dyn BlobSource).read(&blob, 10).unwrap_err().to_string().contains("is not in"));
    }

    #[test]
    fn rejects_directories_that_are_not_layouts() {
        let scratch = TempDir::new();
        fs::create_dir_all(scratch.path("d")).unwrap();
        fs::write(scratch.path("d/file"), "x").unwrap();
        assert!(matches!(Layout::create(scratch.path("d")), Err(Error::NotALayout(_))));
        assert!(matches!(Layout::open(scratch.path("none")), Err(Error::NotALayout(_))));
    }

    #[test]
    fn ingest_resumes_and_rejects_mismatched_content() {
        let scratch = TempDir::new();
        let layout = Layout::create(scratch.path("l")).unwrap();
        let blob = Descriptor::for_content(model::MEDIA_TYPE_LAYER, b"hello world");
        let mut ingest = layout.ingest(&blob).unwrap();
        ingest.write(b"hello").unwrap();
        let mut other = layout.ingest(&blob).unwrap();
        assert_eq!(other.offset(), 0, "another ingest holds the file");
        other.write(b"hello world").unwrap();
        drop(ingest);
        let mut ingest = layout.ingest(&blob).unwrap();
        assert_eq!(ingest.offset(), 5);
        assert!(ingest.write(b" world!").is_err());
        ingest.write(b"hello worl").unwrap();
        assert!(ingest.finish().unwrap_err().to_string().contains("too early"));
        assert!(!layout.has_blob(&blob));
        other.finish().unwrap();
        assert!(layout.has_blob(&blob));
        let invalid = Descriptor::new(model::MEDIA_TYPE_LAYER, Digest::sha256(b"x"), 3);
        let mut ingest = layout.ingest(&invalid).unwrap();
        ingest.write(b"abc").unwrap();
        assert!(ingest.finish().unwrap_err().to_string().contains("should be"));
        assert_eq!(layout.ingest(&invalid).unwrap().offset(), 0);
        fs::write(layout.blob_path(&blob.digest), "hellO world").unwrap();
        assert!((&layout as &dyn BlobSource).read(&blob, 100).is_err(), "a modified blob is rejected");
    }
}
