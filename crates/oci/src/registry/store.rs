//! What a registry keeps, in a directory.
//!
//! ```text
//! blobs/sha256/ab/abcd…          content, by digest, of all repositories
//! uploads/ID                     content on its way
//! repositories/NAME/_blobs/sha256/HEX       which content a repository has
//! repositories/NAME/_manifests/sha256/HEX   which manifests, and of what kind
//! repositories/NAME/_tags/TAG               which manifest a tag means
//! repositories/NAME/_referrers/sha256/HEX/sha256-HEX   what is about a manifest
//! ```
//!
//! Every file is written beside its place and moved there, after it is safe on the disk: a registry that is killed or
//! loses power at any moment has all that it has acknowledged, and nothing half.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use bytes::Bytes;

use crate::digest::{Algorithm, Digest, Hasher};
use crate::disk::{self, Ahead, Draft};
use crate::hashing::Hashing;
use crate::model::{Annotations, Descriptor, Document, MAX_MANIFEST};
use crate::reference::{is_repository, is_tag};

/// Why the store says no.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk.
    #[error("{path}: {source}")]
    Io {
        /// Where.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// What came is not what was said.
    #[error("the content is {is} and should be {should}")]
    Digest {
        /// What it is.
        is: String,
        /// What it was said to be.
        should: String,
    },
    /// The part does not go on where the last one ended.
    #[error("the upload has {0} bytes: send the part that follows them")]
    Range(u64),
    /// Nobody has begun such an upload.
    #[error("there is no such upload")]
    Upload,
    /// Somebody else is sending to it.
    #[error("the upload is being sent by somebody else")]
    Busy,
    /// A manifest that is none.
    #[error("{0}")]
    Manifest(String),
    /// A manifest of what is not there.
    #[error("the repository does not have {0}")]
    Unknown(Digest),
    /// It is not there.
    #[error("it is not there")]
    Missing,
    /// Another process has the directory.
    #[error("the images in {0} are served by another process already")]
    Taken(String),
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.display().to_string();
    move |source| Error::Io { path, source }
}

/// What is kept of an upload that goes on: what was hashed of it, so that it need not be read again.
struct Going {
    hasher: Hasher,
    size: u64,
}

/// A registry's directory.
pub struct Store {
    root: PathBuf,
    durable: bool,
    going: Mutex<BTreeMap<String, Going>>,
    /// Held by all who add a link to content, and alone by who removes content.
    sweep: RwLock<()>,
    /// Those who change tags and manifests of the store, one at a time.
    change: Mutex<()>,
    /// Keeps other processes away as long as it is open.
    #[allow(dead_code)]
    alone: Option<File>,
}

/// An upload that is being written to; others have to wait.
pub struct Part<'s> {
    store: &'s Store,
    id: String,
    file: File,
    path: PathBuf,
    /// What hashes it, and of how many bytes; nothing if it was not there from the beginning.
    hashing: Option<(Hashing, u64)>,
    ahead: Ahead,
}

/// How many uploads remember what was hashed.
const MAX_GOING: usize = 1000;

impl Store {
    /// A directory that is there or is made now.
    pub fn open(root: impl Into<PathBuf>, durable: bool) -> Result<Self, Error> {
        let root = root.into();
        for name in ["blobs", "uploads", "repositories"] {
            let path = root.join(name);
            fs::create_dir_all(&path).map_err(at(&path))?;
        }
        Ok(Self {
            root,
            durable,
            going: Mutex::default(),
            sweep: RwLock::default(),
            change: Mutex::default(),
            alone: None,
        })
    }

    /// As [`Store::open`], for this process alone: two who serve the same directory would take away what the other one
    /// is about to name.
    pub fn open_alone(root: impl Into<PathBuf>, durable: bool) -> Result<Self, Error> {
        let mut store = Self::open(root, durable)?;
        let path = store.root.join("lock");
        let lock =
            OpenOptions::new().write(true).create(true).truncate(false).open(&path).map_err(at(&path))?;
        match lock.try_lock() {
            Ok(()) => store.alone = Some(lock),
            Err(TryLockError::WouldBlock) => return Err(Error::Taken(store.root.display().to_string())),
            Err(TryLockError::Error(error)) => return Err(at(&path)(error)),
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

    /// The folder of a repository. Names were checked, and no part of one begins with an underscore.
    fn repository(&self, name: &str) -> PathBuf {
        self.root.join("repositories").join(name)
    }

    fn link(&self, repository: &str, kind: &str, digest: &Digest) -> PathBuf {
        self.repository(repository).join(kind).join(digest.algorithm().name()).join(digest.hex())
    }

    fn write(&self, path: &Path, data: &[u8]) -> Result<(), Error> {
        let parent = path.parent().unwrap_or(&self.root);
        if !parent.is_dir() {
            fs::create_dir_all(parent).map_err(at(parent))?;
        }
        match disk::write(path, data, self.durable) {
            // Somebody tidied up the folder that was just made.
            Err(e) if e.kind() == io::ErrorKind::NotFound => fs::create_dir_all(parent)
                .and_then(|()| disk::write(path, data, self.durable))
                .map_err(at(path)),
            other => other.map_err(at(path)),
        }
    }

    /// The size of content that a repository has. Asking keeps it from being removed for a while: whoever asks is about
    /// to build on it.
    pub fn blob_size(&self, repository: &str, digest: &Digest) -> Option<u64> {
        let _held = self.sweep.read().unwrap_or_else(PoisonError::into_inner);
        let link = self.link(repository, "_blobs", digest);
        let meta = fs::metadata(&link).ok()?;
        if meta.modified().ok()?.elapsed().is_ok_and(|age| age > Duration::from_secs(1)) {
            let _ =
                File::options().write(true).open(&link).and_then(|file| file.set_modified(SystemTime::now()));
        }
        Some(fs::metadata(self.blob_path(digest)).ok()?.len())
    }

    /// Content of a repository.
    pub fn blob(&self, repository: &str, digest: &Digest) -> Option<File> {
        fs::metadata(self.link(repository, "_blobs", digest)).ok()?;
        File::open(self.blob_path(digest)).ok()
    }

    /// Gives a repository content that another one has; whether that has it.
    pub fn mount(&self, repository: &str, from: &str, digest: &Digest) -> Result<bool, Error> {
        let _held = self.sweep.read().unwrap_or_else(PoisonError::into_inner);
        if self.blob(from, digest).is_none() {
            return Ok(false);
        }
        self.write(&self.link(repository, "_blobs", digest), b"")?;
        Ok(true)
    }

    /// Takes content away from a repository.
    pub fn delete_blob(&self, repository: &str, digest: &Digest) -> Result<(), Error> {
        remove(&self.link(repository, "_blobs", digest))
    }

    /// Begins an upload; gives its name.
    pub fn begin(&self) -> Result<String, Error> {
        let id = disk::unique().map_err(at(&self.root))?;
        let path = self.root.join("uploads").join(&id);
        File::create_new(&path).map_err(at(&path))?;
        Ok(id)
    }

    fn upload_path(&self, id: &str) -> Result<PathBuf, Error> {
        let fine = id.len() == 24 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if fine { Ok(self.root.join("uploads").join(id)) } else { Err(Error::Upload) }
    }

    /// How many bytes of an upload there are.
    pub fn upload_size(&self, id: &str) -> Result<u64, Error> {
        Ok(fs::metadata(self.upload_path(id)?).map_err(|_| Error::Upload)?.len())
    }

    /// Forgets an upload.
    pub fn cancel(&self, id: &str) -> Result<(), Error> {
        self.going.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        fs::remove_file(self.upload_path(id)?).map_err(|_| Error::Upload)
    }

    /// Goes on with an upload. `from` is where the next part begins, if the client said it.
    pub fn part(&self, id: &str, from: Option<u64>) -> Result<Part<'_>, Error> {
        let path = self.upload_path(id)?;
        let mut file = OpenOptions::new().read(true).write(true).open(&path).map_err(|_| Error::Upload)?;
        file.try_lock().map_err(|_| Error::Busy)?;
        let size = file.seek(SeekFrom::End(0)).map_err(at(&path))?;
        if from.is_some_and(|from| from != size) {
            return Err(Error::Range(size));
        }
        let going = self.going.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        let going = going.filter(|going| going.size == size);
        let going =
            going.or_else(|| (size == 0).then(|| Going { hasher: Hasher::new(Algorithm::Sha256), size: 0 }));
        let hashing = going.map(|going| (Hashing::new(going.hasher), going.size));
        Ok(Part { store: self, id: id.to_owned(), file, path, hashing, ahead: Ahead::default() })
    }

    /// The manifest of a tag or a digest: its kind, its digest and itself.
    pub fn manifest(&self, repository: &str, version: &str) -> Result<(String, Digest, Vec<u8>), Error> {
        let digest = match Digest::parse(version) {
            Ok(digest) => digest,
            Err(_) if is_tag(version) => {
                let path = self.repository(repository).join("_tags").join(version);
                let text = read_small(&path, 200).ok_or(Error::Missing)?;
                Digest::parse(text.trim()).map_err(|_| Error::Missing)?
            }
            Err(_) => return Err(Error::Missing),
        };
        let kind = read_small(&self.link(repository, "_manifests", &digest), 300).ok_or(Error::Missing)?;
        let path = self.blob_path(&digest);
        let mut data = Vec::new();
        let file = File::open(&path).map_err(|_| Error::Missing)?;
        file.take(MAX_MANIFEST + 1).read_to_end(&mut data).map_err(at(&path))?;
        Ok((kind, digest, data))
    }

    /// Keeps a manifest under a tag or its digest; gives its digest and what it is about. All that it needs has to be
    /// there.
    pub fn put_manifest(
        &self,
        repository: &str,
        version: &str,
        kind: &str,
        data: &[u8],
    ) -> Result<(Digest, Option<Digest>), Error> {
        let document = Document::parse(data, Some(kind)).map_err(|e| Error::Manifest(e.to_string()))?;
        let (digest, tag) = match Digest::parse(version) {
            Ok(digest) => (digest, None),
            Err(_) => (Digest::of(data), Some(version)),
        };
        if !digest.fits(data) {
            return Err(Error::Digest { is: Digest::of(data).to_string(), should: digest.to_string() });
        }
        let _held = self.sweep.read().unwrap_or_else(PoisonError::into_inner);
        let _one = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        for blob in document.blobs() {
            // Layers that lie elsewhere for good are not kept by anybody.
            let foreign = blob.media_type.contains("nondistributable") || blob.media_type.contains("foreign");
            if !foreign && self.blob(repository, &blob.digest).is_none() {
                return Err(Error::Unknown(blob.digest.clone()));
            }
        }
        for child in document.manifests() {
            if fs::metadata(self.link(repository, "_manifests", &child.digest)).is_err() {
                return Err(Error::Unknown(child.digest.clone()));
            }
        }
        let path = self.blob_path(&digest);
        if fs::metadata(&path).is_err() {
            self.write(&path, data)?;
        }
        if let Some(subject) = document.subject() {
            let descriptor = referrer(&document, kind, &digest, data);
            let name = format!("{}-{}", digest.algorithm().name(), digest.hex());
            let path = self.link(repository, "_referrers", &subject.digest).join(name);
            self.write(&path, descriptor.json().to_string().as_bytes())?;
        }
        self.write(&self.link(repository, "_manifests", &digest), document.media_type().as_bytes())?;
        if let Some(tag) = tag {
            self.write(&self.repository(repository).join("_tags").join(tag), digest.to_string().as_bytes())?;
        }
        Ok((digest, document.subject().map(|subject| subject.digest.clone())))
    }

    /// Removes a tag, or a manifest with all its tags.
    pub fn delete_manifest(&self, repository: &str, version: &str) -> Result<(), Error> {
        let _one = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        let tags = self.repository(repository).join("_tags");
        let Ok(digest) = Digest::parse(version) else {
            return if is_tag(version) { remove(&tags.join(version)) } else { Err(Error::Missing) };
        };
        let (kind, _, data) = self.manifest(repository, version)?;
        for tag in self.tags(repository)? {
            let path = tags.join(&tag);
            if read_small(&path, 200).is_some_and(|text| text.trim() == version) {
                remove(&path)?;
            }
        }
        if let Ok(document) = Document::parse(&data, Some(&kind))
            && let Some(subject) = document.subject()
        {
            let name = format!("{}-{}", digest.algorithm().name(), digest.hex());
            let _ = fs::remove_file(self.link(repository, "_referrers", &subject.digest).join(name));
        }
        remove(&self.link(repository, "_manifests", &digest))
    }

    /// All tags of a repository, sorted; an error if there is no such repository.
    pub fn tags(&self, repository: &str) -> Result<Vec<String>, Error> {
        if fs::metadata(self.repository(repository).join("_manifests")).is_err() {
            return Err(Error::Missing);
        }
        let mut tags = names(&self.repository(repository).join("_tags"));
        tags.retain(|tag| is_tag(tag));
        tags.sort();
        Ok(tags)
    }

    /// What is about a manifest.
    pub fn referrers(&self, repository: &str, digest: &Digest) -> Vec<Descriptor> {
        let folder = self.link(repository, "_referrers", digest);
        let mut files = names(&folder);
        files.sort();
        let read = |name: &String| {
            let value = serde_json::from_str(&read_small(&folder.join(name), 1 << 20)?).ok()?;
            Descriptor::read(&value, "the referrer", "descriptor").ok()
        };
        files.iter().filter_map(read).collect()
    }

    /// All repositories, sorted.
    pub fn repositories(&self) -> Vec<String> {
        let root = self.root.join("repositories");
        let mut found = Vec::new();
        let mut todo = vec![String::new()];
        while let Some(at) = todo.pop() {
            for name in names(&root.join(&at)) {
                let path = if at.is_empty() { name.clone() } else { format!("{at}/{name}") };
                if name == "_manifests" {
                    found.push(at.clone());
                } else if !name.starts_with(['_', '.']) && is_repository(&path) && root.join(&path).is_dir() {
                    todo.push(path);
                }
            }
        }
        found.sort();
        found
    }

    /// Removes content that no manifest needs, links to such content, and uploads that nobody goes on with; only what
    /// is older than `age`. Gives how many files and bytes that were.
    pub fn collect_garbage(&self, age: Duration) -> Result<(usize, u64), Error> {
        let _alone = self.sweep.write().unwrap_or_else(PoisonError::into_inner);
        let old = |path: &Path| {
            let modified = fs::metadata(path).and_then(|meta| meta.modified());
            modified.is_ok_and(|time| time.elapsed().is_ok_and(|past| past >= age))
        };
        let mut needed: BTreeSet<Digest> = BTreeSet::new();
        for repository in self.repositories() {
            let mut own = BTreeSet::new();
            for digest in digests(&self.repository(&repository).join("_manifests")) {
                let Ok((kind, _, data)) = self.manifest(&repository, &digest.to_string()) else { continue };
                if let Ok(document) = Document::parse(&data, Some(&kind)) {
                    own.extend(document.blobs().into_iter().map(|blob| blob.digest.clone()));
                }
                needed.insert(digest);
            }
            let links = self.repository(&repository).join("_blobs");
            for digest in digests(&links) {
                let link = self.link(&repository, "_blobs", &digest);
                if own.contains(&digest) || !old(&link) {
                    needed.insert(digest);
                } else {
                    let _ = fs::remove_file(link);
                }
            }
        }
        // Repositories that have content and no manifest yet.
        needed.extend(self.linked_elsewhere(&old));
        let (mut count, mut bytes) = (0, 0);
        for algorithm in [Algorithm::Sha256, Algorithm::Sha512] {
            let folder = self.root.join("blobs").join(algorithm.name());
            for first in names(&folder) {
                for hex in names(&folder.join(&first)) {
                    let path = folder.join(&first).join(&hex);
                    let digest = Digest::parse(&format!("{}:{hex}", algorithm.name()));
                    if digest.is_ok_and(|digest| !needed.contains(&digest)) && old(&path) {
                        bytes += fs::metadata(&path).map_or(0, |meta| meta.len());
                        fs::remove_file(&path).map_err(at(&path))?;
                        count += 1;
                    }
                }
            }
        }
        for id in names(&self.root.join("uploads")) {
            let path = self.root.join("uploads").join(&id);
            let free = || File::open(&path).is_ok_and(|file| file.try_lock().is_ok());
            if old(&path) && free() {
                bytes += fs::metadata(&path).map_or(0, |meta| meta.len());
                let _ = fs::remove_file(&path);
                self.going.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
                count += 1;
            }
        }
        Ok((count, bytes))
    }

    fn linked_elsewhere(&self, old: &dyn Fn(&Path) -> bool) -> BTreeSet<Digest> {
        let root = self.root.join("repositories");
        let mut found = BTreeSet::new();
        let mut todo = vec![root];
        while let Some(at) = todo.pop() {
            for name in names(&at) {
                let path = at.join(&name);
                if name == "_blobs" && !at.join("_manifests").is_dir() {
                    for digest in digests(&path) {
                        let link = path.join(digest.algorithm().name()).join(digest.hex());
                        if old(&link) {
                            let _ = fs::remove_file(link);
                        } else {
                            found.insert(digest);
                        }
                    }
                } else if !name.starts_with(['_', '.']) && path.is_dir() {
                    todo.push(path);
                }
            }
        }
        found
    }
}

fn referrer(document: &Document, kind: &str, digest: &Digest, data: &[u8]) -> Descriptor {
    let (artifact_type, annotations): (Option<String>, Annotations) = match document {
        Document::Manifest(manifest) => {
            let kind = manifest.artifact_type.clone().or_else(|| Some(manifest.config.media_type.clone()));
            (kind, manifest.annotations.clone())
        }
        Document::Index(index) => (index.artifact_type.clone(), index.annotations.clone()),
    };
    Descriptor { artifact_type, annotations, ..Descriptor::new(kind, digest.clone(), data.len() as u64) }
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Err(Error::Missing),
        other => other.map_err(at(path)),
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn digests(folder: &Path) -> Vec<Digest> {
    let of = |algorithm: Algorithm| {
        let all = names(&folder.join(algorithm.name())).into_iter();
        all.filter_map(move |hex| Digest::parse(&format!("{}:{hex}", algorithm.name())).ok())
    };
    of(Algorithm::Sha256).chain(of(Algorithm::Sha512)).collect()
}

fn read_small(path: &Path, limit: u64) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(limit).read_to_string(&mut text).ok()?;
    Some(text)
}

impl Part<'_> {
    /// Takes bytes.
    pub fn write(&mut self, parts: &[Bytes]) -> Result<(), Error> {
        let more: u64 = parts.iter().map(|part| part.len() as u64).sum();
        if let Some((hashing, size)) = &mut self.hashing {
            hashing.update(parts);
            *size += more;
        }
        disk::write_parts(&self.file, parts).map_err(at(&self.path))?;
        if self.store.durable {
            self.ahead.wrote(&self.file, more).map_err(at(&self.path))?;
        }
        Ok(())
    }

    /// How many bytes there are.
    pub fn size(&self) -> Result<u64, Error> {
        Ok(self.file.metadata().map_err(at(&self.path))?.len())
    }

    /// More will come later.
    pub fn pause(self) -> Result<u64, Error> {
        let size = self.size()?;
        if let Some((hashing, size)) = self.hashing.filter(|(_, hashed)| *hashed == size)
            && let Ok(hasher) = hashing.finish()
        {
            let going = Going { hasher, size };
            let mut all = self.store.going.lock().unwrap_or_else(PoisonError::into_inner);
            if all.len() < MAX_GOING {
                all.insert(self.id, going);
            }
        }
        Ok(size)
    }

    /// That was all: if it is what it was said to be, the repository has it now.
    pub fn finish(mut self, repository: &str, digest: &Digest) -> Result<u64, Error> {
        let size = self.size()?;
        let known = self
            .hashing
            .take()
            .filter(|(_, hashed)| *hashed == size && digest.algorithm() == Algorithm::Sha256);
        let is = match known {
            Some((hashing, _)) => hashing.finish().map_err(at(&self.path))?.finish(),
            None => self.hash(digest.algorithm())?,
        };
        if is != *digest {
            let _ = fs::remove_file(&self.path);
            return Err(Error::Digest { is: is.to_string(), should: digest.to_string() });
        }
        if self.store.durable {
            self.ahead.end(&self.file).map_err(at(&self.path))?;
        }
        let _held = self.store.sweep.read().unwrap_or_else(PoisonError::into_inner);
        let place = self.store.blob_path(digest);
        Draft::new(self.path).publish(&place, self.store.durable).map_err(at(&place))?;
        self.store.write(&self.store.link(repository, "_blobs", digest), b"")?;
        Ok(size)
    }

    fn hash(&mut self, algorithm: Algorithm) -> Result<Digest, Error> {
        let mut hasher = Hasher::new(algorithm);
        self.file.seek(SeekFrom::Start(0)).map_err(at(&self.path))?;
        let mut part = vec![0; 256 << 10];
        loop {
            let read = self.file.read(&mut part).map_err(at(&self.path))?;
            if read == 0 {
                return Ok(hasher.finish());
            }
            hasher.update(part.get(..read).unwrap_or_default());
        }
    }
}
