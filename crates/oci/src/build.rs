//! Reproducible image builds from files, without a daemon or a base image.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::blob_source::BlobSource;
use crate::digest::{Algorithm, Digest, Hasher};
use crate::gzip::GzipWriter;
use crate::layout::{self, Layout};
use crate::model::{
    Annotations, Descriptor, Index, MEDIA_TYPE_CONFIG, MEDIA_TYPE_DOCKER_LAYER, MEDIA_TYPE_INDEX,
    MEDIA_TYPE_LAYER, MEDIA_TYPE_LAYER_GZIP, MEDIA_TYPE_MANIFEST, Manifest, Platform,
};
use crate::tar::{Entry, EntryKind, TarWriter};

/// An image that cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// The path is invalid in an image.
    #[error("{0:?} is not a path in an image: write it from the root, without ..")]
    InvalidPath(String),
    /// The path exists and one of the two is a directory.
    #[error("{0:?} is added both as a directory and as another file type")]
    DuplicatePath(String),
    /// The source is neither a file, a directory nor a symlink.
    #[error("{0} is neither a file, a directory nor a link")]
    UnsupportedFileType(String),
    /// The source has too many files.
    #[error("{0} has more than {MAX_FILES} files")]
    TooManyFiles(String),
    /// The layer cannot be written.
    #[error("the layer cannot be written: {0}")]
    Write(io::Error),
    /// The layout cannot be used.
    #[error(transparent)]
    Layout(#[from] layout::Error),
    /// The base image cannot be read.
    #[error("base image: {0}")]
    Base(#[from] crate::blob_source::Error),
    /// The base image has another platform.
    #[error("the base image is for {base}, but the image is built for {wanted}")]
    BasePlatformMismatch {
        /// Platform of the base image.
        base: String,
        /// Requested platform.
        wanted: String,
    },
}

const MAX_FILES: usize = 1_000_000;

/// Mode and owner of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileAttributes {
    /// Permission bits; by default 0755 for directories and executables, 0644 for other files.
    pub mode: Option<u32>,
    /// User ID.
    pub uid: u64,
    /// Group ID.
    pub gid: u64,
}

#[derive(Clone, Debug)]
enum EntryContent {
    Directory,
    Bytes(Arc<[u8]>),
    File(PathBuf),
    Link(String),
}

/// A layer under construction. Missing parent directories are added, owned by root, with mode 0755.
#[derive(Clone, Debug, Default)]
pub struct LayerBuilder {
    entries: BTreeMap<String, (EntryContent, FileAttributes, u32)>,
}

/// Normalizes a path in an image.
fn normalize_path(path: &str) -> Result<String, Error> {
    let invalid = || Error::InvalidPath(path.chars().take(300).collect());
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let bad =
        |part: &&str| *part == ".." || part.contains('\0') || part.len() > 255 || part.starts_with(".wh.");
    if parts.iter().any(bad) || path.len() > 4096 { Err(invalid()) } else { Ok(parts.join("/")) }
}

impl LayerBuilder {
    /// Creates an empty layer.
    pub fn new() -> Self {
        Self::default()
    }

    fn insert(
        &mut self,
        path: &str,
        content: EntryContent,
        attributes: FileAttributes,
        mode: u32,
    ) -> Result<(), Error> {
        let path = normalize_path(path)?;
        let mut above = path.as_str();
        while let Some((parent, _)) = above.rsplit_once('/') {
            above = parent;
            match self.entries.get(parent) {
                Some((EntryContent::Directory, ..)) => {}
                Some(_) => return Err(Error::DuplicatePath(format!("/{parent}"))),
                None => {
                    self.entries.insert(
                        parent.to_owned(),
                        (EntryContent::Directory, FileAttributes::default(), 0o755),
                    );
                }
            }
        }
        let directory = matches!(content, EntryContent::Directory);
        if let Some((EntryContent::Directory, ..)) = self.entries.get(&path)
            && !directory
        {
            return Err(Error::DuplicatePath(format!("/{path}")));
        }
        // The root directory has no entry in a layer.
        if path.is_empty() {
            return if directory { Ok(()) } else { Err(Error::InvalidPath("/".to_owned())) };
        }
        self.entries.insert(path, (content, attributes, attributes.mode.unwrap_or(mode) & 0o7777));
        Ok(())
    }

    /// Adds a file with the given content; mode 0644 unless `attributes` sets another one.
    pub fn add_file(
        &mut self,
        path: &str,
        data: impl Into<Arc<[u8]>>,
        attributes: FileAttributes,
    ) -> Result<&mut Self, Error> {
        self.insert(path, EntryContent::Bytes(data.into()), attributes, 0o644)?;
        Ok(self)
    }

    /// Adds a directory.
    pub fn add_directory(&mut self, path: &str, attributes: FileAttributes) -> Result<&mut Self, Error> {
        self.insert(path, EntryContent::Directory, attributes, 0o755)?;
        Ok(self)
    }

    /// Adds a symbolic link.
    pub fn add_symlink(&mut self, path: &str, target: &str) -> Result<&mut Self, Error> {
        self.insert(path, EntryContent::Link(target.to_owned()), FileAttributes::default(), 0o777)?;
        Ok(self)
    }

    /// Adds a file or a directory tree from disk. Symlinks are preserved; timestamps and owners are not, and of the
    /// mode only the executable bit.
    pub fn add_path(
        &mut self,
        from: &Path,
        to: &str,
        attributes: FileAttributes,
    ) -> Result<&mut Self, Error> {
        let failed = |path: &Path, source| Error::Read { path: path.display().to_string(), source };
        let mut pending = vec![(from.to_owned(), normalize_path(to)?)];
        let mut count = 0usize;
        while let Some((path, to)) = pending.pop() {
            count += 1;
            if count > MAX_FILES {
                return Err(Error::TooManyFiles(from.display().to_string()));
            }
            // Follow a symlink given by the caller, but not those found in the tree.
            let meta = if path == from { fs::metadata(&path) } else { fs::symlink_metadata(&path) };
            let meta = meta.map_err(|source| failed(&path, source))?;
            if meta.is_dir() {
                self.insert(
                    &to,
                    EntryContent::Directory,
                    FileAttributes { mode: None, ..attributes },
                    0o755,
                )?;
                for entry in fs::read_dir(&path).map_err(|source| failed(&path, source))? {
                    let entry = entry.map_err(|source| failed(&path, source))?;
                    let name = entry.file_name();
                    let name = name
                        .to_str()
                        .ok_or_else(|| Error::InvalidPath(name.to_string_lossy().into_owned()))?;
                    pending.push((
                        entry.path(),
                        if to.is_empty() { name.to_owned() } else { format!("{to}/{name}") },
                    ));
                }
            } else if meta.is_symlink() {
                let target = fs::read_link(&path).map_err(|source| failed(&path, source))?;
                let target = target
                    .to_str()
                    .ok_or_else(|| Error::InvalidPath(target.to_string_lossy().into_owned()))?;
                self.insert(
                    &to,
                    EntryContent::Link(target.to_owned()),
                    FileAttributes { mode: None, ..attributes },
                    0o777,
                )?;
            } else if meta.is_file() {
                let mode = if meta.permissions().mode() & 0o111 == 0 { 0o644 } else { 0o755 };
                self.insert(&to, EntryContent::File(path), attributes, mode)?;
            } else {
                return Err(Error::UnsupportedFileType(path.display().to_string()));
            }
        }
        Ok(self)
    }

    /// Whether the layer has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Writes the layer as an uncompressed tar.
    fn write_tar(&self, to: impl Write, mtime: i64) -> Result<(), Error> {
        let mut writer = TarWriter::new(to);
        for (path, (content, attributes, mode)) in &self.entries {
            let entry = Entry {
                mode: *mode,
                uid: attributes.uid,
                gid: attributes.gid,
                mtime,
                ..Entry::file(path, 0, 0)
            };
            match content {
                EntryContent::Directory => {
                    let path = format!("{path}/").into_bytes();
                    writer.append(&Entry { path, kind: EntryKind::Directory, ..entry }, &mut io::empty())
                }
                EntryContent::Link(target) => {
                    let link = target.as_bytes().to_vec();
                    writer.append(&Entry { kind: EntryKind::Symlink, link, ..entry }, &mut io::empty())
                }
                EntryContent::Bytes(data) => {
                    writer.append(&Entry { size: data.len() as u64, ..entry }, &mut &data[..])
                }
                EntryContent::File(file) => {
                    let failed = |source| Error::Read { path: file.display().to_string(), source };
                    let mut stream = File::open(file).map_err(failed)?;
                    let size = stream.metadata().map_err(failed)?.len();
                    writer.append(&Entry { size, ..entry }, &mut stream)
                }
            }
            .map_err(Error::Write)?;
        }
        writer.finish().and_then(|mut to| to.flush()).map_err(Error::Write)
    }

    /// Writes the compressed layer and returns its descriptor and diff ID. `cache` maps diff IDs to compressed
    /// layers.
    pub fn write(
        &self,
        layout: &Layout,
        mtime: i64,
        cache: Option<&Path>,
    ) -> Result<(Descriptor, Digest), Error> {
        let mut hashing = HashingWriter { hasher: Hasher::new(Algorithm::Sha256), inner: io::sink() };
        if let Some(cache) = cache {
            self.write_tar(&mut hashing, mtime)?;
            let diff_id = hashing.hasher.finish();
            if let Some(layer) = cached_layer(cache, &diff_id).filter(|layer| layout.has_blob(layer)) {
                return Ok((layer, diff_id));
            }
        }
        let inner = GzipWriter::new(layout.blob_writer(Algorithm::Sha256)?);
        let mut hashing = HashingWriter { hasher: Hasher::new(Algorithm::Sha256), inner };
        self.write_tar(&mut hashing, mtime)?;
        let layer = hashing.inner.finish().map_err(Error::Write)?.finish(MEDIA_TYPE_LAYER_GZIP)?;
        let diff_id = hashing.hasher.finish();
        if let Some(cache) = cache {
            cache_layer(cache, &diff_id, &layer);
        }
        Ok((layer, diff_id))
    }
}

fn cached_layer(cache: &Path, diff_id: &Digest) -> Option<Descriptor> {
    let mut text = String::new();
    File::open(cache.join(diff_id.hex())).ok()?.take(300).read_to_string(&mut text).ok()?;
    let (digest, size) = text.trim().split_once(' ')?;
    Some(Descriptor::new(MEDIA_TYPE_LAYER_GZIP, Digest::parse(digest).ok()?, size.parse().ok()?))
}

/// Ignores errors: the cache is optional.
fn cache_layer(cache: &Path, diff_id: &Digest, layer: &Descriptor) {
    let text = format!("{} {}\n", layer.digest, layer.size);
    let _ = fs::create_dir_all(cache)
        .and_then(|()| crate::disk::write_atomically(&cache.join(diff_id.hex()), text.as_bytes(), false));
}

struct HashingWriter<W> {
    hasher: Hasher,
    inner: W,
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(data)?;
        self.hasher.update(data.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// An image under construction.
#[derive(Clone, Debug)]
pub struct ImageBuilder {
    /// Target platform.
    pub platform: Platform,
    /// Base image in the same layout.
    pub base: Option<Descriptor>,
    /// Layers on top of the base.
    pub layers: Vec<LayerBuilder>,
    /// Entrypoint; empty keeps the base's.
    pub entrypoint: Vec<String>,
    /// Cmd, the default arguments.
    pub cmd: Vec<String>,
    /// Environment as `NAME=VALUE`; replaces variables of the base.
    pub env: Vec<String>,
    /// Labels.
    pub labels: Annotations,
    /// User as `UID`, `UID:GID` or names; empty keeps the base's.
    pub user: String,
    /// Working directory; empty keeps the base's.
    pub workdir: String,
    /// Exposed ports, for example `8080/tcp`.
    pub ports: Vec<String>,
    /// Annotations of the manifest.
    pub annotations: Annotations,
    /// Timestamp of the image and its files, in seconds since the epoch.
    pub created: i64,
    /// Directory of the layer cache.
    pub cache: Option<PathBuf>,
}

impl ImageBuilder {
    /// Creates an image without layers.
    pub fn new(platform: Platform) -> Self {
        Self {
            platform,
            base: None,
            layers: Vec::new(),
            entrypoint: Vec::new(),
            cmd: Vec::new(),
            env: Vec::new(),
            labels: Annotations::new(),
            user: String::new(),
            workdir: String::new(),
            ports: Vec::new(),
            annotations: Annotations::new(),
            created: 0,
            cache: None,
        }
    }

    /// Writes layers, config and manifest into a layout; the returned descriptor has the platform set.
    pub fn write(&self, layout: &Layout) -> Result<Descriptor, Error> {
        let mut layers = Vec::new();
        let mut config = json!({});
        if let Some(base) = &self.base {
            let blobs: &dyn BlobSource = layout;
            let (_, manifest) = blobs.select_image(base, &self.platform)?;
            let read = blobs.config(&manifest)?;
            if let Some(actual) = read.platform().filter(|actual| !self.platform.can_run(actual)) {
                return Err(Error::BasePlatformMismatch {
                    base: actual.to_string(),
                    wanted: self.platform.to_string(),
                });
            }
            config = read.as_json().clone();
            layers = manifest.layers;
            for layer in &mut layers {
                // Do not mix OCI and Docker media types in one manifest.
                if layer.media_type == MEDIA_TYPE_DOCKER_LAYER {
                    MEDIA_TYPE_LAYER_GZIP.clone_into(&mut layer.media_type);
                } else if layer.media_type == "application/vnd.docker.image.rootfs.diff.tar" {
                    MEDIA_TYPE_LAYER.clone_into(&mut layer.media_type);
                }
            }
        }
        let mut diff_ids = Vec::new();
        for layer in self.layers.iter().filter(|layer| !layer.is_empty()) {
            let (descriptor, diff_id) = layer.write(layout, self.created, self.cache.as_deref())?;
            layers.push(descriptor);
            diff_ids.push(diff_id);
        }
        self.apply_config(&mut config, &diff_ids);
        let config = layout.put_blob(MEDIA_TYPE_CONFIG, config.to_string().as_bytes())?;
        let manifest = Manifest { annotations: self.annotations.clone(), ..Manifest::new(config, layers) };
        let mut descriptor = layout.put_blob(MEDIA_TYPE_MANIFEST, &manifest.to_bytes())?;
        descriptor.platform = Some(self.platform.clone());
        Ok(descriptor)
    }

    fn apply_config(&self, value: &mut Value, diff_ids: &[Digest]) {
        let Some(value) = value.as_object_mut() else { return };
        let created = format_rfc3339(self.created);
        value.insert("architecture".to_owned(), self.platform.architecture.as_str().into());
        value.insert("os".to_owned(), self.platform.os.as_str().into());
        if let Some(variant) = &self.platform.variant {
            value.insert("variant".to_owned(), variant.as_str().into());
        }
        value.insert("created".to_owned(), created.as_str().into());
        edit_object(value, "config", |inner| self.apply_run_config(inner));
        edit_object(value, "rootfs", |root| {
            root.insert("type".to_owned(), "layers".into());
            append_to_array(
                root,
                "diff_ids",
                diff_ids.iter().map(|diff_id| Value::from(diff_id.to_string())),
            );
        });
        let step = json!({ "created": created, "created_by": "podium image build" });
        append_to_array(value, "history", diff_ids.iter().map(|_| step.clone()));
    }

    /// Applies the run settings to the `config` section.
    fn apply_run_config(&self, inner: &mut Map<String, Value>) {
        let words = |list: &[String]| Value::from(list.to_vec());
        if !self.entrypoint.is_empty() {
            inner.insert("Entrypoint".to_owned(), words(&self.entrypoint));
            // Cmd of the base are arguments of the base's entrypoint.
            inner.remove("Cmd");
        }
        if !self.cmd.is_empty() {
            inner.insert("Cmd".to_owned(), words(&self.cmd));
        }
        if !self.env.is_empty() {
            let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
            let mut env: Vec<String> = Vec::new();
            let old = inner.get("Env").and_then(Value::as_array).into_iter().flatten();
            let old = old.filter_map(|word| word.as_str().map(str::to_owned));
            for word in old.chain(self.env.iter().cloned()) {
                match env.iter_mut().find(|had| name(had) == name(&word)) {
                    Some(had) => *had = word,
                    None => env.push(word),
                }
            }
            inner.insert("Env".to_owned(), env.into());
        }
        for (key, text) in [("User", &self.user), ("WorkingDir", &self.workdir)] {
            if !text.is_empty() {
                inner.insert(key.to_owned(), text.as_str().into());
            }
        }
        if !self.labels.is_empty() {
            let labels = self.labels.iter().map(|(key, text)| (key.clone(), text.as_str().into()));
            edit_object(inner, "Labels", |inner| inner.extend(labels));
        }
        if !self.ports.is_empty() {
            let ports = self.ports.iter().map(|port| (port.clone(), json!({})));
            edit_object(inner, "ExposedPorts", |inner| inner.extend(ports));
        }
    }
}

/// Edits the object at a key; replaces any other value.
fn edit_object(map: &mut Map<String, Value>, key: &str, change: impl FnOnce(&mut Map<String, Value>)) {
    let mut inner = match map.remove(key) {
        Some(Value::Object(inner)) => inner,
        _ => Map::new(),
    };
    change(&mut inner);
    map.insert(key.to_owned(), Value::Object(inner));
}

/// Appends to the array at a key.
fn append_to_array(map: &mut Map<String, Value>, key: &str, more: impl Iterator<Item = Value>) {
    let mut list = match map.remove(key) {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    };
    list.extend(more);
    map.insert(key.to_owned(), Value::Array(list));
}

/// Writes an image index for images in the layout.
pub fn write_index(
    layout: &Layout,
    images: &[Descriptor],
    annotations: &Annotations,
) -> Result<Descriptor, Error> {
    let mut manifests = images.to_vec();
    manifests.sort_by(|a, b| a.platform.cmp(&b.platform));
    for manifest in &mut manifests {
        manifest.annotations.clear();
    }
    let index = Index { annotations: annotations.clone(), ..Index::new(manifests) };
    Ok(layout.put_blob(MEDIA_TYPE_INDEX, &index.to_bytes())?)
}

/// Formats seconds since the epoch as RFC 3339: `2006-01-02T15:04:05Z`.
pub fn format_rfc3339(seconds: i64) -> String {
    let seconds = seconds.clamp(-62_135_596_800, 253_402_300_799);
    let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years start on March 1, so that the leap day is the last day of a year.
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let of_era = day.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{date:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Config;
    use crate::test_util::TempDir;

    fn image() -> ImageBuilder {
        let mut layer = LayerBuilder::new();
        layer
            .add_file("/bin/app", *b"#!", FileAttributes { mode: Some(0o755), ..FileAttributes::default() })
            .unwrap();
        layer
            .add_file("etc/data/x", *b"y", FileAttributes { uid: 5, gid: 6, ..FileAttributes::default() })
            .unwrap();
        layer.add_symlink("/app", "bin/app").unwrap();
        let mut image = ImageBuilder::new(Platform::parse("linux/amd64").unwrap());
        image.layers = vec![layer, LayerBuilder::new()];
        image.entrypoint = vec!["/app".to_owned()];
        image.env = vec!["A=1".to_owned()];
        image.labels.insert("l".to_owned(), "v".to_owned());
        image
    }

    #[test]
    fn builds_are_reproducible() {
        let scratch = TempDir::new();
        let one = Layout::create(scratch.path("1")).unwrap();
        let two = Layout::create_transient(scratch.path("2")).unwrap();
        let first = image().write(&one).unwrap();
        assert_eq!(first, image().write(&two).unwrap());
        // This digest must stay stable: a change breaks the reproducibility of published images.
        assert_eq!(
            first.digest.to_string(),
            "sha256:01d5d231d296583fa7eb6dc109504a86ab1e418a12e8edd47d2191f8a5c5f4c7"
        );
        let mut above = image();
        above.base = Some(first.clone());
        above.env = vec!["B=2".to_owned(), "A=3".to_owned()];
        above.entrypoint.clear();
        above.cmd = vec!["run".to_owned()];
        let blobs: &dyn BlobSource = &one;
        let descriptor = above.write(&one).unwrap();
        let (_, manifest) = blobs.select_image(&descriptor, &above.platform).unwrap();
        let config = blobs.config(&manifest).unwrap();
        assert_eq!((manifest.layers.len(), config.diff_ids().len()), (2, 2));
        assert_eq!(config.string_list("Env"), ["A=3", "B=2"]);
        assert_eq!(config.command(), ["/app", "run"]);
        above.platform = Platform::parse("linux/arm64").unwrap();
        assert!(matches!(above.write(&one), Err(Error::BasePlatformMismatch { .. })));
        let all = write_index(&one, &[first.clone(), descriptor], &Annotations::new()).unwrap();
        assert_eq!(
            blobs.select_image(&all, &Platform::parse("linux/amd64").unwrap()).unwrap().0.digest,
            first.digest
        );
        let files = blobs.files(&manifest, &["/etc"], crate::files::ExtractLimits::default()).unwrap();
        assert_eq!(files.files["etc/data/x"].data[..], *b"y");
    }

    #[test]
    fn directory_copies_ignore_timestamps() {
        let scratch = TempDir::new();
        let digest = |name: &str| {
            let from = scratch.path(name);
            fs::create_dir_all(from.join("sub")).unwrap();
            fs::write(from.join("sub/b"), "b").unwrap();
            fs::write(from.join("a"), "a").unwrap();
            std::os::unix::fs::symlink("a", from.join("l")).unwrap();
            let mut image = ImageBuilder::new(Platform::host());
            let mut layer = LayerBuilder::new();
            layer.add_path(&from, "/chart", FileAttributes::default()).unwrap();
            image.layers = vec![layer];
            image.cache = Some(scratch.path("cache"));
            image.write(&Layout::create(scratch.path("l")).unwrap()).unwrap().digest
        };
        assert_eq!(digest("one"), digest("two"));
        assert_eq!(fs::read_dir(scratch.path("cache")).unwrap().count(), 1);
    }

    #[test]
    fn rejects_invalid_paths() {
        let mut layer = LayerBuilder::new();
        for path in ["../x", "a/../b", "", "/", "a/.wh.b", "\0"] {
            assert!(layer.add_file(path, *b"", FileAttributes::default()).is_err(), "{path}");
        }
        layer.add_file("a/b", *b"", FileAttributes::default()).unwrap();
        assert!(matches!(layer.add_file("a", *b"", FileAttributes::default()), Err(Error::DuplicatePath(_))));
        assert!(matches!(
            layer.add_file("a/b/c", *b"", FileAttributes::default()),
            Err(Error::DuplicatePath(_))
        ));
        assert!(layer.add_path(Path::new("/nonexistent"), "/x", FileAttributes::default()).is_err());
    }

    #[test]
    fn formats_rfc3339() {
        assert_eq!(format_rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(format_rfc3339(951_868_799), "2000-02-29T23:59:59Z");
        assert_eq!(format_rfc3339(-1), "1969-12-31T23:59:59Z");
        let _ = Config::parse(b"{}").unwrap();
    }
}
