//! Image archives: OCI layouts in a tar file, and archives written by `docker save`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use serde_json::{Value, json};

use crate::blob_source::{self, BlobSource};
use crate::digest::{Algorithm, Digest};
use crate::disk::{self, TempFile};
use crate::gzip::GzipWriter;
use crate::layer::LayerReader;
use crate::layout::{self, Layout};
use crate::model::{
    Config, Descriptor, Index, MAX_CONFIG, MAX_MANIFEST, MEDIA_TYPE_CONFIG, MEDIA_TYPE_LAYER_GZIP,
    MEDIA_TYPE_MANIFEST, Manifest, ManifestOrIndex, Platform,
};
use crate::tar::{Entry, EntryKind, TarReader, TarWriter};

/// An archive that cannot be read or written.
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
    /// The file is not an image archive.
    #[error("{path} is not an image archive: {reason}")]
    NotAnArchive {
        /// The file.
        path: String,
        /// What is missing or invalid.
        reason: String,
    },
    /// A layout error.
    #[error(transparent)]
    Layout(#[from] layout::Error),
    /// A blob error.
    #[error(transparent)]
    BlobSource(#[from] blob_source::Error),
}

const MAX_ENTRIES: usize = 100_000;
/// Maximum decompressed size of an archive and of a layer in a Docker archive.
const MAX_DECOMPRESSED: u64 = 64 << 30;
/// Maximum length of a link chain; Docker archives link duplicate layers.
const MAX_LINKS: usize = 8;

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.display().to_string();
    move |source| Error::Io { path, source }
}

/// A tar file with random access to its entries.
pub struct Archive {
    path: PathBuf,
    /// The indexed file: the archive itself or its decompressed copy.
    file: PathBuf,
    entries: BTreeMap<String, (u64, u64)>,
    links: BTreeMap<String, String>,
    _decompressed: Option<TempFile>,
}

struct CountingReader<R> {
    inner: R,
    position: u64,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.position += read as u64;
        Ok(read)
    }
}

impl Archive {
    /// Opens and indexes an archive. A compressed archive is first decompressed into the directory `scratch`.
    pub fn open(path: &Path, scratch: &Path) -> Result<Self, Error> {
        let mut head = [0; 2];
        let mut stream = File::open(path).map_err(io_error(path))?;
        let compressed = stream.read_exact(&mut head).is_ok() && head == [0x1f, 0x8b];
        let (file, decompressed) = if compressed {
            let to = scratch.join(format!("podium-{}.tar", disk::random_name().map_err(io_error(path))?));
            let temporary_file = TempFile::new(to.clone());
            stream.seek(SeekFrom::Start(0)).map_err(io_error(path))?;
            let mut decoder = MultiGzDecoder::new(BufReader::new(stream)).take(MAX_DECOMPRESSED + 1);
            let mut out = File::create_new(&to).map_err(io_error(&to))?;
            if io::copy(&mut decoder, &mut out).map_err(io_error(path))? > MAX_DECOMPRESSED {
                return Err(io_error(path)(io::Error::other(
                    "it unpacks to more than 64 GiB: is it a bomb?",
                )));
            }
            (to, Some(temporary_file))
        } else {
            (path.to_owned(), None)
        };
        let stream = BufReader::with_capacity(64 << 10, File::open(&file).map_err(io_error(&file))?);
        let mut reader = TarReader::new(CountingReader { inner: stream, position: 0 });
        let (mut entries, mut links) = (BTreeMap::new(), BTreeMap::new());
        while let Some(entry) = reader.next_entry().map_err(io_error(path))? {
            let Some(name) = normalize_path(&entry.path) else { continue };
            match entry.kind {
                EntryKind::File => {
                    entries.insert(name, (reader.get_ref().position, entry.size));
                }
                EntryKind::Symlink | EntryKind::HardLink => {
                    let directory = if entry.kind == EntryKind::Symlink {
                        name.rsplit_once('/').map_or("", |(directory, _)| directory)
                    } else {
                        ""
                    };
                    links.extend(
                        resolve_path(directory, &String::from_utf8_lossy(&entry.link))
                            .map(|target| (name, target)),
                    );
                }
                _ => {}
            }
            if entries.len() + links.len() > MAX_ENTRIES {
                let reason = format!("it has more than {MAX_ENTRIES} entries");
                return Err(Error::NotAnArchive { path: path.display().to_string(), reason });
            }
        }
        Ok(Self { path: path.to_owned(), file, entries, links, _decompressed: decompressed })
    }

    fn entry(&self, name: &str) -> Option<(u64, u64)> {
        let mut name = name;
        for _ in 0..MAX_LINKS {
            match (self.entries.get(name), self.links.get(name)) {
                (Some(position), _) => return Some(*position),
                (None, Some(target)) => name = target,
                (None, None) => return None,
            }
        }
        None
    }

    fn open_entry(&self, name: &str, offset: u64) -> io::Result<io::Take<File>> {
        let (begin, size) = self.entry(name).ok_or(io::ErrorKind::NotFound)?;
        let mut file = File::open(&self.file)?;
        file.seek(SeekFrom::Start(begin + offset.min(size)))?;
        Ok(file.take(size.saturating_sub(offset)))
    }

    fn read_entry(&self, name: &str, limit: u64) -> Result<Vec<u8>, Error> {
        let missing = || Error::NotAnArchive { path: self.location(), reason: format!("it has no {name}") };
        let (_, size) = self.entry(name).ok_or_else(missing)?;
        if size > limit {
            return Err(Error::NotAnArchive {
                path: self.location(),
                reason: format!("{name} is larger than {limit} bytes"),
            });
        }
        let mut data = Vec::new();
        self.open_entry(name, 0)
            .and_then(|mut stream| stream.read_to_end(&mut data))
            .map_err(io_error(&self.path))?;
        Ok(data)
    }

    /// Whether the archive was written by `docker save` and has no OCI index.
    pub fn is_docker(&self) -> bool {
        self.entry("index.json").is_none() && self.entry("manifest.json").is_some()
    }

    /// The index of an OCI archive.
    pub fn index(&self) -> Result<Index, Error> {
        let data = self.read_entry("index.json", MAX_MANIFEST)?;
        match ManifestOrIndex::parse(&data, None) {
            Ok(ManifestOrIndex::Index(index)) => Ok(index),
            Ok(_) => Err(Error::NotAnArchive {
                path: self.location(),
                reason: "index.json is not an image index".to_owned(),
            }),
            Err(e) => Err(Error::NotAnArchive { path: self.location(), reason: format!("index.json: {e}") }),
        }
    }

    /// Finds an image by name in an OCI archive; without a name, the only image.
    pub fn find(&self, name: Option<&str>) -> Result<Descriptor, Error> {
        Ok(layout::find_image(&self.index()?.manifests, name, &self.location())?)
    }

    /// Loads the images of a Docker archive into a layout and returns them with their tags. Layers are recompressed
    /// deterministically.
    pub fn load_docker(&self, layout: &Layout) -> Result<Vec<(Descriptor, Vec<String>)>, Error> {
        let invalid = |reason: String| Error::NotAnArchive { path: self.location(), reason };
        let data = self.read_entry("manifest.json", MAX_MANIFEST)?;
        let manifest_entries: Value =
            serde_json::from_slice(&data).map_err(|e| invalid(format!("manifest.json: {e}")))?;
        let manifest_entries =
            manifest_entries.as_array().filter(|manifest_entries| manifest_entries.len() <= 1000);
        let manifest_entries =
            manifest_entries.ok_or_else(|| invalid("manifest.json is not a list of images".to_owned()))?;
        let mut images = Vec::new();
        for image in manifest_entries {
            let config =
                image.get("Config").and_then(Value::as_str).and_then(|name| normalize_path(name.as_bytes()));
            let config = self.read_entry(
                &config.ok_or_else(|| invalid("an image has no Config".to_owned()))?,
                MAX_CONFIG,
            )?;
            let parsed = Config::parse(&config).map_err(|e| invalid(e.to_string()))?;
            let diff_ids = parsed.diff_ids();
            let names = image.get("Layers").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            if names.len() != diff_ids.len() {
                return Err(invalid(format!(
                    "an image has {} layers, but its config has {} diff IDs",
                    names.len(),
                    diff_ids.len()
                )));
            }
            let mut layers = Vec::new();
            for (name, diff_id) in names.iter().zip(&diff_ids) {
                let name = name.as_str().and_then(|name| normalize_path(name.as_bytes()));
                let name = name.ok_or_else(|| invalid("a layer has no name".to_owned()))?;
                layers.push(self.load_layer(&name, diff_id, layout)?);
            }
            let config = layout.put_blob(MEDIA_TYPE_CONFIG, &config)?;
            let mut descriptor =
                layout.put_blob(MEDIA_TYPE_MANIFEST, &Manifest::new(config, layers).to_bytes())?;
            descriptor.platform = parsed.platform();
            let tags = image.get("RepoTags").and_then(Value::as_array).into_iter().flatten();
            images.push((descriptor, tags.filter_map(|tag| Some(tag.as_str()?.to_owned())).collect()));
        }
        Ok(images)
    }

    fn load_layer(&self, name: &str, diff_id: &Digest, layout: &Layout) -> Result<Descriptor, Error> {
        let stream = self.open_entry(name, 0).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => {
                Error::NotAnArchive { path: self.location(), reason: format!("it has no {name}") }
            }
            _ => io_error(&self.path)(e),
        })?;
        let mut layer =
            LayerReader::new(stream, MAX_DECOMPRESSED, Some(diff_id)).map_err(io_error(&self.path))?;
        let mut encoder = GzipWriter::new(layout.blob_writer(Algorithm::Sha256)?);
        io::copy(&mut layer, &mut encoder).map_err(io_error(&self.path))?;
        layer.finish().map_err(io_error(&self.path))?;
        Ok(encoder.finish().map_err(io_error(&self.path))?.finish(MEDIA_TYPE_LAYER_GZIP)?)
    }
}

impl BlobSource for Archive {
    fn open_at(&self, digest: &Digest, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(
            self.open_entry(&format!("blobs/{}/{}", digest.algorithm().name(), digest.hex()), offset)?,
        ))
    }

    fn location(&self) -> String {
        self.path.display().to_string()
    }
}

/// Normalizes a path in an archive; `None` if it escapes the root.
fn normalize_path(path: &[u8]) -> Option<String> {
    resolve_path("", str::from_utf8(path).ok()?)
}

fn resolve_path(directory: &str, path: &str) -> Option<String> {
    let mut components: Vec<&str> = directory.split('/').filter(|component| !component.is_empty()).collect();
    for component in path.split('/') {
        match component {
            "" | "." => {}
            ".." => {
                components.pop()?;
            }
            component => components.push(component),
        }
    }
    Some(components.join("/"))
}

/// Writes a tar file atomically.
fn write_archive(
    path: &Path,
    write: impl FnOnce(&mut TarWriter<BufWriter<File>>) -> Result<(), Error>,
) -> Result<(), Error> {
    let temporary =
        disk::parent_dir(path).join(format!(".{}.new", disk::random_name().map_err(io_error(path))?));
    let temporary_file = TempFile::new(temporary.clone());
    let file = File::create_new(&temporary).map_err(io_error(path))?;
    let mut writer = TarWriter::new(BufWriter::with_capacity(256 << 10, file));
    write(&mut writer)?;
    let file = writer
        .finish()
        .and_then(|out| out.into_inner().map_err(io::IntoInnerError::into_error))
        .map_err(io_error(path))?;
    file.sync_all().map_err(io_error(path))?;
    temporary_file.persist(path, true).map_err(io_error(path))
}

fn write_bytes(writer: &mut TarWriter<BufWriter<File>>, name: &str, data: &[u8]) -> io::Result<()> {
    writer.append(&Entry::file(name, 0o644, data.len() as u64), &mut &data[..])
}

/// Saves images with their names as an OCI archive, deterministically.
pub fn save_oci(from: &dyn BlobSource, images: &[Descriptor], path: &Path) -> Result<(), Error> {
    let mut blobs: BTreeMap<Digest, Descriptor> = BTreeMap::new();
    let mut pending: Vec<Descriptor> = images.to_vec();
    while let Some(descriptor) = pending.pop() {
        if descriptor.is_index() || descriptor.is_manifest() {
            let document = from.manifest_or_index(&descriptor)?;
            let new = |blob: &&Descriptor| !blobs.contains_key(&blob.digest);
            pending.extend(document.manifests().iter().filter(new).cloned());
            for blob in document.blobs() {
                blobs.insert(blob.digest.clone(), blob.clone());
            }
        }
        blobs.insert(descriptor.digest.clone(), descriptor);
    }
    write_archive(path, |writer| {
        for directory in ["blobs/", "blobs/sha256/"] {
            writer.append(&Entry::directory(directory, 0o755), &mut io::empty()).map_err(io_error(path))?;
        }
        for (digest, descriptor) in &blobs {
            let name = format!("blobs/{}/{}", digest.algorithm().name(), digest.hex());
            let mut stream = from.open(descriptor)?;
            writer
                .append(&Entry::file(&name, 0o644, descriptor.size), &mut stream)
                .map_err(io_error(path))?;
            stream.finish().map_err(io_error(path))?;
        }
        write_bytes(writer, "index.json", &Index::new(images.to_vec()).to_bytes()).map_err(io_error(path))?;
        write_bytes(writer, "oci-layout", b"{\"imageLayoutVersion\":\"1.0.0\"}").map_err(io_error(path))
    })
}

/// Saves images with their tags in the format of `docker save`.
pub fn save_docker(
    from: &dyn BlobSource,
    images: &[(Descriptor, Vec<String>)],
    platform: &Platform,
    path: &Path,
) -> Result<(), Error> {
    write_archive(path, |writer| {
        let mut manifest_entries = Vec::new();
        let mut written = std::collections::BTreeSet::new();
        for (descriptor, tags) in images {
            let (_, manifest) = from.select_image(descriptor, platform)?;
            let config = from.read(&manifest.config, MAX_CONFIG)?;
            let diff_ids = from.config(&manifest)?.diff_ids();
            let config_name = format!("{}.json", manifest.config.digest.hex());
            if written.insert(config_name.clone()) {
                write_bytes(writer, &config_name, &config).map_err(io_error(path))?;
            }
            let mut layers = Vec::new();
            for (layer, diff_id) in manifest.layers.iter().zip(&diff_ids) {
                let name = format!("{}.tar", diff_id.hex());
                if written.insert(name.clone()) {
                    // Docker layers are uncompressed and the tar header needs their size, so they are decompressed
                    // twice.
                    let size = decompressed_size(from, layer, diff_id, &mut io::sink())?;
                    let mut reader = LayerReader::new(from.open(layer)?, MAX_DECOMPRESSED, Some(diff_id))
                        .map_err(io_error(path))?;
                    writer.append(&Entry::file(&name, 0o644, size), &mut reader).map_err(io_error(path))?;
                }
                layers.push(name);
            }
            manifest_entries.push(json!({ "Config": config_name, "RepoTags": tags, "Layers": layers }));
        }
        write_bytes(writer, "manifest.json", Value::from(manifest_entries).to_string().as_bytes())
            .map_err(io_error(path))
    })
}

fn decompressed_size(
    from: &dyn BlobSource,
    layer: &Descriptor,
    diff_id: &Digest,
    to: &mut dyn Write,
) -> Result<u64, Error> {
    let failed = |source| Error::Io { path: from.location(), source };
    let mut reader = LayerReader::new(from.open(layer)?, MAX_DECOMPRESSED, Some(diff_id)).map_err(failed)?;
    let size = io::copy(&mut reader, to).map_err(failed)?;
    reader.finish().and_then(|(mut blob, _)| io::copy(&mut blob, &mut io::sink())).map_err(failed)?;
    Ok(size)
}

/// Copies an image with its manifests and blobs into a layout.
pub fn import(from: &dyn BlobSource, image: &Descriptor, layout: &Layout) -> Result<(), Error> {
    let mut pending = vec![image.clone()];
    let mut visited = std::collections::BTreeSet::new();
    while let Some(descriptor) = pending.pop() {
        if !visited.insert(descriptor.digest.clone()) {
            continue;
        }
        if descriptor.is_index() || descriptor.is_manifest() {
            let document = from.manifest_or_index(&descriptor)?;
            pending.extend(document.manifests().iter().cloned());
            pending.extend(document.blobs().into_iter().cloned());
        }
        if layout.has_blob(&descriptor) {
            continue;
        }
        let mut ingest = layout.ingest(&descriptor)?;
        ingest.restart()?;
        let failed = |source| Error::Io { path: from.location(), source };
        let mut stream = from.open_at(&descriptor.digest, 0).map_err(failed)?;
        let mut buffer = vec![0; 256 << 10];
        loop {
            let read = stream.read(&mut buffer).map_err(failed)?;
            if read == 0 {
                break;
            }
            ingest.write(buffer.get(..read).unwrap_or_default())?;
        }
        ingest.finish()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::build::{FileAttributes, ImageBuilder, LayerBuilder};
    use crate::test_util::TempDir;

    fn layout(scratch: &TempDir) -> (Layout, Descriptor) {
        let layout = Layout::create(scratch.path("from")).unwrap();
        let mut layer = LayerBuilder::new();
        layer.add_file("/a", *b"hello", FileAttributes::default()).unwrap();
        let mut image = ImageBuilder::new(Platform::host());
        image.layers.push(layer);
        let descriptor = image.write(&layout).unwrap();
        (layout, descriptor)
    }

    #[test]
    fn oci_archive_round_trip() {
        let scratch = TempDir::new();
        let (layout, mut image) = layout(&scratch);
        image.annotations.insert(crate::model::ANNOTATION_REF_NAME.to_owned(), "app:1".to_owned());
        let path = scratch.path("a.tar");
        save_oci(&layout, &[image.clone()], &path).unwrap();
        save_oci(&layout, &[image.clone()], &scratch.path("b.tar")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), fs::read(scratch.path("b.tar")).unwrap());
        let archive = Archive::open(&path, &scratch.path("")).unwrap();
        assert!(!archive.is_docker());
        assert_eq!(archive.find(Some("app:1")).unwrap().digest, image.digest);
        let to = Layout::create(scratch.path("to")).unwrap();
        import(&archive, &archive.find(None).unwrap(), &to).unwrap();
        assert!(to.has_blob(&image));
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&fs::read(&path).unwrap()).unwrap();
        fs::write(scratch.path("a.tgz"), gzip.finish().unwrap()).unwrap();
        let archive = Archive::open(&scratch.path("a.tgz"), &scratch.path("")).unwrap();
        assert_eq!(archive.find(None).unwrap().digest, image.digest);
        drop(archive);
        let remaining = fs::read_dir(scratch.path("")).unwrap().flatten();
        assert!(
            !remaining.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("podium-"))
        );
    }

    #[test]
    fn docker_archive_round_trip() {
        let scratch = TempDir::new();
        let (layout, image) = layout(&scratch);
        let path = scratch.path("d.tar");
        save_docker(
            &layout,
            &[(image.clone(), vec!["host.example/a:1".to_owned()])],
            &Platform::host(),
            &path,
        )
        .unwrap();
        let archive = Archive::open(&path, &scratch.path("")).unwrap();
        assert!(archive.is_docker());
        let to = Layout::create(scratch.path("to")).unwrap();
        let loaded = archive.load_docker(&to).unwrap();
        assert_eq!(loaded[0].1, ["host.example/a:1"]);
        // Recompressing a layer that this crate compressed gives the same digest.
        assert_eq!(loaded[0].0.digest, image.digest);
    }

    #[test]
    fn rejects_invalid_archives() {
        let scratch = TempDir::new();
        let path = scratch.path("x.tar");
        let write = |entries: &[(&str, &str)]| {
            let mut writer = TarWriter::new(Vec::new());
            for (name, data) in entries {
                writer.append(&Entry::file(name, 0o644, data.len() as u64), &mut data.as_bytes()).unwrap();
            }
            fs::write(&path, writer.finish().unwrap()).unwrap();
            Archive::open(&path, &scratch.path("")).unwrap()
        };
        let to = Layout::create(scratch.path("to")).unwrap();
        assert!(write(&[("x", "")]).find(None).unwrap_err().to_string().contains("no index.json"));
        assert!(write(&[("index.json", "{}")]).find(None).is_err());
        for text in [
            "",
            "{}",
            "[{}]",
            "[{\"Config\":\"../c\",\"Layers\":[]}]",
            "[{\"Config\":\"c\",\"Layers\":[\"x\"]}]",
        ] {
            let archive = write(&[("manifest.json", text), ("c", "{\"rootfs\":{\"diff_ids\":[]}}")]);
            assert!(archive.load_docker(&to).is_err(), "{text}");
        }
        let lie = format!("{{\"rootfs\":{{\"diff_ids\":[\"{}\"]}}}}", Digest::sha256(b"other"));
        let archive =
            write(&[("manifest.json", "[{\"Config\":\"c\",\"Layers\":[\"l\"]}]"), ("c", &lie), ("l", "x")]);
        assert!(archive.load_docker(&to).unwrap_err().to_string().contains("should unpack to"));
        fs::write(&path, [0x1f, 0x8b, 1, 2]).unwrap();
        assert!(Archive::open(&path, &scratch.path("")).is_err());
    }
}
