//! Storage of the registry, in a directory.
//!
//! ```text
//! blobs/sha256/ab/abcd…          blobs of all repositories, by digest
//! uploads/ID                     uploads in progress
//! repositories/NAME/_blobs/sha256/HEX       links to the blobs of a repository
//! repositories/NAME/_manifests/sha256/HEX   links to its manifests, with their media types
//! repositories/NAME/_tags/TAG               the digest of a tag
//! repositories/NAME/_referrers/sha256/HEX/sha256-HEX   descriptors of the referrers of a manifest
//! ```
//!
//! Files are written to a temporary path, synced and renamed: a crash or power loss never loses acknowledged content
//! and never leaves partial files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use bytes::Bytes;

use crate::digest::{Algorithm, Digest, Hasher};
use crate::disk::{self, BackgroundSync, TempFile};
use crate::model::{Annotations, Descriptor, MAX_MANIFEST, ManifestOrIndex};
use crate::reference::{is_repository, is_tag};
use crate::threaded_hasher::ThreadedHasher;

/// A failed store operation.
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
    /// The content does not match its digest.
    #[error("the content has digest {actual}, expected {expected}")]
    DigestMismatch {
        /// Digest of the content.
        actual: String,
        /// Expected digest.
        expected: String,
    },
    /// The chunk does not start at the end of the upload.
    #[error("the upload has {0} bytes: continue at that offset")]
    OffsetMismatch(u64),
    /// The upload does not exist.
    #[error("the upload does not exist")]
    UploadUnknown,
    /// Another request is writing to the upload.
    #[error("another request is writing to the upload")]
    UploadBusy,
    /// The manifest is invalid.
    #[error("{0}")]
    ManifestInvalid(String),
    /// The manifest references a blob that the repository does not have.
    #[error("the repository does not have {0}")]
    BlobUnknown(Digest),
    /// The tag, manifest, blob or repository does not exist.
    #[error("not found")]
    NotFound,
    /// Another process serves the directory.
    #[error("the images in {0} are served by another process already")]
    InUse(String),
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.display().to_string();
    move |source| Error::Io { path, source }
}

/// Hash state of a suspended upload, so that its content is not read again.
struct UploadHash {
    hasher: Hasher,
    size: u64,
}

/// The storage directory of a registry.
pub struct Store {
    root: PathBuf,
    durable: bool,
    upload_hashes: Mutex<BTreeMap<String, UploadHash>>,
    /// Read-locked while links to blobs are added, write-locked by garbage collection.
    gc_lock: RwLock<()>,
    /// Serializes changes of tags and manifests.
    manifest_lock: Mutex<()>,
    /// File lock that excludes other processes.
    #[allow(dead_code)]
    process_lock: Option<File>,
}

/// An upload that is locked for writing.
pub struct UploadSession<'s> {
    store: &'s Store,
    id: String,
    file: File,
    path: PathBuf,
    /// The hasher and the number of hashed bytes; `None` if the start of the upload was not hashed.
    hasher: Option<(ThreadedHasher, u64)>,
    sync: BackgroundSync,
}

/// Maximum number of saved hash states.
const MAX_UPLOAD_HASHES: usize = 1000;

impl Store {
    /// Opens or creates a store.
    pub fn open(root: impl Into<PathBuf>, durable: bool) -> Result<Self, Error> {
        let root = root.into();
        for name in ["blobs", "uploads", "repositories"] {
            let path = root.join(name);
            fs::create_dir_all(&path).map_err(io_error(&path))?;
        }
        Ok(Self {
            root,
            durable,
            upload_hashes: Mutex::default(),
            gc_lock: RwLock::default(),
            manifest_lock: Mutex::default(),
            process_lock: None,
        })
    }

    /// Like [`Store::open`], but excludes other processes: garbage collection in one process could remove blobs that
    /// another one is about to link.
    pub fn open_exclusive(root: impl Into<PathBuf>, durable: bool) -> Result<Self, Error> {
        let mut store = Self::open(root, durable)?;
        let path = store.root.join("lock");
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(io_error(&path))?;
        match lock.try_lock() {
            Ok(()) => store.process_lock = Some(lock),
            Err(TryLockError::WouldBlock) => return Err(Error::InUse(store.root.display().to_string())),
            Err(TryLockError::Error(error)) => return Err(io_error(&path)(error)),
        }
        Ok(store)
    }

    fn blob_path(&self, digest: &Digest) -> PathBuf {
        let hex = digest.hex();
        self.root
            .join("blobs")
            .join(digest.algorithm().name())
            .join(hex.get(..2).unwrap_or_default())
            .join(hex)
    }

    /// The directory of a repository. Names are validated, and no component starts with an underscore.
    fn repository_dir(&self, name: &str) -> PathBuf {
        self.root.join("repositories").join(name)
    }

    fn link_path(&self, repository: &str, directory: &str, digest: &Digest) -> PathBuf {
        self.repository_dir(repository).join(directory).join(digest.algorithm().name()).join(digest.hex())
    }

    fn write(&self, path: &Path, data: &[u8]) -> Result<(), Error> {
        let parent = path.parent().unwrap_or(&self.root);
        if !parent.is_dir() {
            fs::create_dir_all(parent).map_err(io_error(parent))?;
        }
        match disk::write_atomically(path, data, self.durable) {
            // The new directory was removed concurrently.
            Err(e) if e.kind() == io::ErrorKind::NotFound => fs::create_dir_all(parent)
                .and_then(|()| disk::write_atomically(path, data, self.durable))
                .map_err(io_error(path)),
            other => other.map_err(io_error(path)),
        }
    }

    /// The size of a blob in a repository. Also renews the link, so that garbage collection keeps a blob that the
    /// client is about to reference.
    pub fn blob_size(&self, repository: &str, digest: &Digest) -> Option<u64> {
        let _gc_guard = self.gc_lock.read().unwrap_or_else(PoisonError::into_inner);
        let link = self.link_path(repository, "_blobs", digest);
        let meta = fs::metadata(&link).ok()?;
        if meta.modified().ok()?.elapsed().is_ok_and(|min_age| min_age > Duration::from_secs(1)) {
            let _ =
                File::options().write(true).open(&link).and_then(|file| file.set_modified(SystemTime::now()));
        }
        Some(fs::metadata(self.blob_path(digest)).ok()?.len())
    }

    /// Opens a blob of a repository.
    pub fn blob(&self, repository: &str, digest: &Digest) -> Option<File> {
        fs::metadata(self.link_path(repository, "_blobs", digest)).ok()?;
        File::open(self.blob_path(digest)).ok()
    }

    /// Mounts a blob from another repository; returns whether that repository has it.
    pub fn mount(&self, repository: &str, from: &str, digest: &Digest) -> Result<bool, Error> {
        let _gc_guard = self.gc_lock.read().unwrap_or_else(PoisonError::into_inner);
        if self.blob(from, digest).is_none() {
            return Ok(false);
        }
        self.write(&self.link_path(repository, "_blobs", digest), b"")?;
        Ok(true)
    }

    /// Unlinks a blob from a repository.
    pub fn delete_blob(&self, repository: &str, digest: &Digest) -> Result<(), Error> {
        remove_file(&self.link_path(repository, "_blobs", digest))
    }

    /// Starts an upload and returns its ID.
    pub fn start_upload(&self) -> Result<String, Error> {
        let id = disk::random_name().map_err(io_error(&self.root))?;
        let path = self.root.join("uploads").join(&id);
        File::create_new(&path).map_err(io_error(&path))?;
        Ok(id)
    }

    fn upload_path(&self, id: &str) -> Result<PathBuf, Error> {
        let valid = id.len() == 24 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if valid { Ok(self.root.join("uploads").join(id)) } else { Err(Error::UploadUnknown) }
    }

    /// Number of bytes received by an upload.
    pub fn upload_size(&self, id: &str) -> Result<u64, Error> {
        Ok(fs::metadata(self.upload_path(id)?).map_err(|_| Error::UploadUnknown)?.len())
    }

    /// Cancels an upload.
    pub fn cancel_upload(&self, id: &str) -> Result<(), Error> {
        self.upload_hashes.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        fs::remove_file(self.upload_path(id)?).map_err(|_| Error::UploadUnknown)
    }

    /// Locks an upload for appending. `from` is the offset of the next chunk, if the client sent one.
    pub fn resume_upload(&self, id: &str, from: Option<u64>) -> Result<UploadSession<'_>, Error> {
        let path = self.upload_path(id)?;
        let mut file =
            OpenOptions::new().read(true).write(true).open(&path).map_err(|_| Error::UploadUnknown)?;
        file.try_lock().map_err(|_| Error::UploadBusy)?;
        let size = file.seek(SeekFrom::End(0)).map_err(io_error(&path))?;
        if from.is_some_and(|from| from != size) {
            return Err(Error::OffsetMismatch(size));
        }
        let saved = self.upload_hashes.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        let saved = saved.filter(|saved| saved.size == size);
        let saved = saved
            .or_else(|| (size == 0).then(|| UploadHash { hasher: Hasher::new(Algorithm::Sha256), size: 0 }));
        let hasher = saved.map(|saved| (ThreadedHasher::new(saved.hasher), saved.size));
        Ok(UploadSession {
            store: self,
            id: id.to_owned(),
            file,
            path,
            hasher,
            sync: BackgroundSync::default(),
        })
    }

    /// The media type, digest and content of a manifest, by tag or digest.
    pub fn manifest(&self, repository: &str, reference: &str) -> Result<(String, Digest, Vec<u8>), Error> {
        let digest = match Digest::parse(reference) {
            Ok(digest) => digest,
            Err(_) if is_tag(reference) => {
                let path = self.repository_dir(repository).join("_tags").join(reference);
                let text = read_limited(&path, 200).ok_or(Error::NotFound)?;
                Digest::parse(text.trim()).map_err(|_| Error::NotFound)?
            }
            Err(_) => return Err(Error::NotFound),
        };
        let media_type =
            read_limited(&self.link_path(repository, "_manifests", &digest), 300).ok_or(Error::NotFound)?;
        let path = self.blob_path(&digest);
        let mut data = Vec::new();
        let file = File::open(&path).map_err(|_| Error::NotFound)?;
        file.take(MAX_MANIFEST + 1).read_to_end(&mut data).map_err(io_error(&path))?;
        Ok((media_type, digest, data))
    }

    /// Stores a manifest under a tag or its digest; returns its digest and that of its subject. All referenced
    /// content has to exist.
    pub fn put_manifest(
        &self,
        repository: &str,
        reference: &str,
        media_type: &str,
        data: &[u8],
    ) -> Result<(Digest, Option<Digest>), Error> {
        let manifest = ManifestOrIndex::parse(data, Some(media_type))
            .map_err(|e| Error::ManifestInvalid(e.to_string()))?;
        let (digest, tag) = match Digest::parse(reference) {
            Ok(digest) => (digest, None),
            Err(_) => (Digest::sha256(data), Some(reference)),
        };
        if !digest.matches(data) {
            return Err(Error::DigestMismatch {
                actual: Digest::sha256(data).to_string(),
                expected: digest.to_string(),
            });
        }
        let _gc_guard = self.gc_lock.read().unwrap_or_else(PoisonError::into_inner);
        let _manifest_guard = self.manifest_lock.lock().unwrap_or_else(PoisonError::into_inner);
        for blob in manifest.blobs() {
            // Non-distributable layers are not stored in registries.
            let foreign = blob.media_type.contains("nondistributable") || blob.media_type.contains("foreign");
            if !foreign && self.blob(repository, &blob.digest).is_none() {
                return Err(Error::BlobUnknown(blob.digest.clone()));
            }
        }
        for child in manifest.manifests() {
            if fs::metadata(self.link_path(repository, "_manifests", &child.digest)).is_err() {
                return Err(Error::BlobUnknown(child.digest.clone()));
            }
        }
        let path = self.blob_path(&digest);
        if fs::metadata(&path).is_err() {
            self.write(&path, data)?;
        }
        if let Some(subject) = manifest.subject() {
            let descriptor = referrer_descriptor(&manifest, media_type, &digest, data);
            let name = format!("{}-{}", digest.algorithm().name(), digest.hex());
            let path = self.link_path(repository, "_referrers", &subject.digest).join(name);
            self.write(&path, descriptor.to_json().to_string().as_bytes())?;
        }
        self.write(&self.link_path(repository, "_manifests", &digest), manifest.media_type().as_bytes())?;
        if let Some(tag) = tag {
            self.write(
                &self.repository_dir(repository).join("_tags").join(tag),
                digest.to_string().as_bytes(),
            )?;
        }
        Ok((digest, manifest.subject().map(|subject| subject.digest.clone())))
    }

    /// Deletes a tag, or by digest a manifest with all its tags.
    pub fn delete_manifest(&self, repository: &str, reference: &str) -> Result<(), Error> {
        let _manifest_guard = self.manifest_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let tags = self.repository_dir(repository).join("_tags");
        let Ok(digest) = Digest::parse(reference) else {
            return if is_tag(reference) { remove_file(&tags.join(reference)) } else { Err(Error::NotFound) };
        };
        let (media_type, _, data) = self.manifest(repository, reference)?;
        for tag in self.tags(repository)? {
            let path = tags.join(&tag);
            if read_limited(&path, 200).is_some_and(|text| text.trim() == reference) {
                remove_file(&path)?;
            }
        }
        if let Ok(manifest) = ManifestOrIndex::parse(&data, Some(&media_type))
            && let Some(subject) = manifest.subject()
        {
            let name = format!("{}-{}", digest.algorithm().name(), digest.hex());
            let _ = fs::remove_file(self.link_path(repository, "_referrers", &subject.digest).join(name));
        }
        remove_file(&self.link_path(repository, "_manifests", &digest))
    }

    /// The sorted tags of a repository; an error if the repository does not exist.
    pub fn tags(&self, repository: &str) -> Result<Vec<String>, Error> {
        if fs::metadata(self.repository_dir(repository).join("_manifests")).is_err() {
            return Err(Error::NotFound);
        }
        let mut tags = list_dir(&self.repository_dir(repository).join("_tags"));
        tags.retain(|tag| is_tag(tag));
        tags.sort();
        Ok(tags)
    }

    /// The referrers of a manifest.
    pub fn referrers(&self, repository: &str, digest: &Digest) -> Vec<Descriptor> {
        let directory = self.link_path(repository, "_referrers", digest);
        let mut files = list_dir(&directory);
        files.sort();
        let read = |name: &String| {
            let value = serde_json::from_str(&read_limited(&directory.join(name), 1 << 20)?).ok()?;
            Descriptor::from_json(&value, "the referrer", "descriptor").ok()
        };
        files.iter().filter_map(read).collect()
    }

    /// All repositories, sorted.
    pub fn repositories(&self) -> Vec<String> {
        let root = self.root.join("repositories");
        let mut found = Vec::new();
        let mut pending = vec![String::new()];
        while let Some(io_error) = pending.pop() {
            for name in list_dir(&root.join(&io_error)) {
                let path = if io_error.is_empty() { name.clone() } else { format!("{io_error}/{name}") };
                if name == "_manifests" {
                    found.push(io_error.clone());
                } else if !name.starts_with(['_', '.']) && is_repository(&path) && root.join(&path).is_dir() {
                    pending.push(path);
                }
            }
        }
        found.sort();
        found
    }

    /// Removes unreferenced blobs and links and abandoned uploads that are older than `min_age`; returns their number
    /// and size in bytes.
    pub fn collect_garbage(&self, min_age: Duration) -> Result<(usize, u64), Error> {
        let _gc_guard = self.gc_lock.write().unwrap_or_else(PoisonError::into_inner);
        let expired = |path: &Path| {
            let modified = fs::metadata(path).and_then(|meta| meta.modified());
            modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age >= min_age))
        };
        let mut referenced: BTreeSet<Digest> = BTreeSet::new();
        for repository in self.repositories() {
            let mut repository_blobs = BTreeSet::new();
            for digest in list_digests(&self.repository_dir(&repository).join("_manifests")) {
                let Ok((media_type, _, data)) = self.manifest(&repository, &digest.to_string()) else {
                    continue;
                };
                if let Ok(manifest) = ManifestOrIndex::parse(&data, Some(&media_type)) {
                    repository_blobs.extend(manifest.blobs().into_iter().map(|blob| blob.digest.clone()));
                }
                referenced.insert(digest);
            }
            let links = self.repository_dir(&repository).join("_blobs");
            for digest in list_digests(&links) {
                let link = self.link_path(&repository, "_blobs", &digest);
                if repository_blobs.contains(&digest) || !expired(&link) {
                    referenced.insert(digest);
                } else {
                    let _ = fs::remove_file(link);
                }
            }
        }
        // Keep blobs of repositories that have no manifest yet.
        referenced.extend(self.blobs_without_manifest(&expired));
        let (mut count, mut bytes) = (0, 0);
        for algorithm in [Algorithm::Sha256, Algorithm::Sha512] {
            let directory = self.root.join("blobs").join(algorithm.name());
            for prefix in list_dir(&directory) {
                for hex in list_dir(&directory.join(&prefix)) {
                    let path = directory.join(&prefix).join(&hex);
                    let digest = Digest::parse(&format!("{}:{hex}", algorithm.name()));
                    if digest.is_ok_and(|digest| !referenced.contains(&digest)) && expired(&path) {
                        bytes += fs::metadata(&path).map_or(0, |meta| meta.len());
                        fs::remove_file(&path).map_err(io_error(&path))?;
                        count += 1;
                    }
                }
            }
        }
        for id in list_dir(&self.root.join("uploads")) {
            let path = self.root.join("uploads").join(&id);
            let unlocked = || File::open(&path).is_ok_and(|file| file.try_lock().is_ok());
            if expired(&path) && unlocked() {
                bytes += fs::metadata(&path).map_or(0, |meta| meta.len());
                let _ = fs::remove_file(&path);
                self.upload_hashes.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
                count += 1;
            }
        }
        Ok((count, bytes))
    }

    fn blobs_without_manifest(&self, expired: &dyn Fn(&Path) -> bool) -> BTreeSet<Digest> {
        let root = self.root.join("repositories");
        let mut found = BTreeSet::new();
        let mut pending = vec![root];
        while let Some(io_error) = pending.pop() {
            for name in list_dir(&io_error) {
                let path = io_error.join(&name);
                if name == "_blobs" && !io_error.join("_manifests").is_dir() {
                    for digest in list_digests(&path) {
                        let link = path.join(digest.algorithm().name()).join(digest.hex());
                        if expired(&link) {
                            let _ = fs::remove_file(link);
                        } else {
                            found.insert(digest);
                        }
                    }
                } else if !name.starts_with(['_', '.']) && path.is_dir() {
                    pending.push(path);
                }
            }
        }
        found
    }
}

fn referrer_descriptor(
    manifest: &ManifestOrIndex,
    media_type: &str,
    digest: &Digest,
    data: &[u8],
) -> Descriptor {
    let (artifact_type, annotations): (Option<String>, Annotations) = match manifest {
        ManifestOrIndex::Manifest(manifest) => {
            let artifact_type =
                manifest.artifact_type.clone().or_else(|| Some(manifest.config.media_type.clone()));
            (artifact_type, manifest.annotations.clone())
        }
        ManifestOrIndex::Index(index) => (index.artifact_type.clone(), index.annotations.clone()),
    };
    Descriptor {
        artifact_type,
        annotations,
        ..Descriptor::new(media_type, digest.clone(), data.len() as u64)
    }
}

fn remove_file(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Err(Error::NotFound),
        other => other.map_err(io_error(path)),
    }
}

fn list_dir(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn list_digests(directory: &Path) -> Vec<Digest> {
    let list_algorithm = |algorithm: Algorithm| {
        let all = list_dir(&directory.join(algorithm.name())).into_iter();
        all.filter_map(move |hex| Digest::parse(&format!("{}:{hex}", algorithm.name())).ok())
    };
    list_algorithm(Algorithm::Sha256).chain(list_algorithm(Algorithm::Sha512)).collect()
}

fn read_limited(path: &Path, limit: u64) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(limit).read_to_string(&mut text).ok()?;
    Some(text)
}

impl UploadSession<'_> {
    /// Appends chunks.
    pub fn write(&mut self, chunks: &[Bytes]) -> Result<(), Error> {
        let added: u64 = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        if let Some((hasher, size)) = &mut self.hasher {
            hasher.update(chunks);
            *size += added;
        }
        disk::write_all_vectored(&self.file, chunks).map_err(io_error(&self.path))?;
        if self.store.durable {
            self.sync.record_write(&self.file, added).map_err(io_error(&self.path))?;
        }
        Ok(())
    }

    /// Number of bytes received so far.
    pub fn size(&self) -> Result<u64, Error> {
        Ok(self.file.metadata().map_err(io_error(&self.path))?.len())
    }

    /// Suspends the upload and saves its hash state.
    pub fn suspend(self) -> Result<u64, Error> {
        let size = self.size()?;
        if let Some((hasher, size)) = self.hasher.filter(|(_, hashed)| *hashed == size)
            && let Ok(hasher) = hasher.finish()
        {
            let saved = UploadHash { hasher, size };
            let mut all = self.store.upload_hashes.lock().unwrap_or_else(PoisonError::into_inner);
            if all.len() < MAX_UPLOAD_HASHES {
                all.insert(self.id, saved);
            }
        }
        Ok(size)
    }

    /// Verifies the digest and links the blob to the repository.
    pub fn finish(mut self, repository: &str, digest: &Digest) -> Result<u64, Error> {
        let size = self.size()?;
        let incremental = self
            .hasher
            .take()
            .filter(|(_, hashed)| *hashed == size && digest.algorithm() == Algorithm::Sha256);
        let actual = match incremental {
            Some((hasher, _)) => hasher.finish().map_err(io_error(&self.path))?.finish(),
            None => self.hash(digest.algorithm())?,
        };
        if actual != *digest {
            let _ = fs::remove_file(&self.path);
            return Err(Error::DigestMismatch { actual: actual.to_string(), expected: digest.to_string() });
        }
        if self.store.durable {
            self.sync.finish(&self.file).map_err(io_error(&self.path))?;
        }
        let _gc_guard = self.store.gc_lock.read().unwrap_or_else(PoisonError::into_inner);
        let path = self.store.blob_path(digest);
        TempFile::new(self.path).persist(&path, self.store.durable).map_err(io_error(&path))?;
        self.store.write(&self.store.link_path(repository, "_blobs", digest), b"")?;
        Ok(size)
    }

    fn hash(&mut self, algorithm: Algorithm) -> Result<Digest, Error> {
        let mut hasher = Hasher::new(algorithm);
        self.file.seek(SeekFrom::Start(0)).map_err(io_error(&self.path))?;
        let mut chunk = vec![0; 256 << 10];
        loop {
            let read = self.file.read(&mut chunk).map_err(io_error(&self.path))?;
            if read == 0 {
                return Ok(hasher.finish());
            }
            hasher.update(chunk.get(..read).unwrap_or_default());
        }
    }
}
