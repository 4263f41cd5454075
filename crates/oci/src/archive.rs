//! Images in one file: OCI's layout in a tar, and what `docker save` writes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use serde_json::{Value, json};

use crate::blobs::{self, Blobs};
use crate::digest::{Algorithm, Digest};
use crate::disk::{self, Draft};
use crate::gzip::Gzip;
use crate::layer::LayerReader;
use crate::layout::{self, Layout};
use crate::model::{
    CONFIG, Config, Descriptor, Document, Index, LAYER_GZIP, MANIFEST, MAX_CONFIG, MAX_MANIFEST, Manifest,
    Platform,
};
use crate::tar::{Entry, Kind, Reader, Writer};

/// Why an archive cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// Which.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// It is something else.
    #[error("{path} is not an archive of images: {why}")]
    NotOne {
        /// Which.
        path: String,
        /// What is missing.
        why: String,
    },
    /// A layout.
    #[error(transparent)]
    Layout(#[from] layout::Error),
    /// A blob.
    #[error(transparent)]
    Blobs(#[from] blobs::Error),
}

const MAX_ENTRIES: usize = 100_000;
/// What a compressed archive may unpack to, and what one of docker's layers may.
const MAX_UNPACKED: u64 = 64 << 30;
/// Links in docker's archives: layers that are there once.
const MAX_LINKS: usize = 8;

fn at(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.display().to_string();
    move |source| Error::Io { path, source }
}

/// A tar file whose entries can be read in any order.
pub struct Archive {
    path: PathBuf,
    /// What is read: the file itself, or what it was unpacked to.
    file: PathBuf,
    entries: BTreeMap<String, (u64, u64)>,
    links: BTreeMap<String, String>,
    _unpacked: Option<Draft>,
}

struct Counted<R> {
    inner: R,
    at: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Archive {
    /// Looks through an archive. One that is compressed is unpacked beside `scratch` first.
    pub fn open(path: &Path, scratch: &Path) -> Result<Self, Error> {
        let mut head = [0; 2];
        let mut stream = File::open(path).map_err(at(path))?;
        let compressed = stream.read_exact(&mut head).is_ok() && head == [0x1f, 0x8b];
        let (file, unpacked) = if compressed {
            let to = scratch.join(format!("podium-{}.tar", disk::unique().map_err(at(path))?));
            let draft = Draft::new(to.clone());
            stream.seek(SeekFrom::Start(0)).map_err(at(path))?;
            let mut plain = MultiGzDecoder::new(BufReader::new(stream)).take(MAX_UNPACKED + 1);
            let mut out = File::create_new(&to).map_err(at(&to))?;
            if io::copy(&mut plain, &mut out).map_err(at(path))? > MAX_UNPACKED {
                return Err(at(path)(io::Error::other("it unpacks to more than 64 GiB: is it a bomb?")));
            }
            (to, Some(draft))
        } else {
            (path.to_owned(), None)
        };
        let stream = BufReader::with_capacity(64 << 10, File::open(&file).map_err(at(&file))?);
        let mut reader = Reader::new(Counted { inner: stream, at: 0 });
        let (mut entries, mut links) = (BTreeMap::new(), BTreeMap::new());
        while let Some(entry) = reader.next_entry().map_err(at(path))? {
            let Some(name) = clean(&entry.path) else { continue };
            match entry.kind {
                Kind::File => {
                    entries.insert(name, (reader.get_ref().at, entry.size));
                }
                Kind::Symlink | Kind::HardLink => {
                    let folder = if entry.kind == Kind::Symlink {
                        name.rsplit_once('/').map_or("", |(folder, _)| folder)
                    } else {
                        ""
                    };
                    links.extend(
                        join(folder, &String::from_utf8_lossy(&entry.link)).map(|target| (name, target)),
                    );
                }
                _ => {}
            }
            if entries.len() + links.len() > MAX_ENTRIES {
                let why = format!("it has more than {MAX_ENTRIES} entries");
                return Err(Error::NotOne { path: path.display().to_string(), why });
            }
        }
        Ok(Self { path: path.to_owned(), file, entries, links, _unpacked: unpacked })
    }

    fn entry(&self, name: &str) -> Option<(u64, u64)> {
        let mut name = name;
        for _ in 0..MAX_LINKS {
            match (self.entries.get(name), self.links.get(name)) {
                (Some(place), _) => return Some(*place),
                (None, Some(target)) => name = target,
                (None, None) => return None,
            }
        }
        None
    }

    fn stream(&self, name: &str, offset: u64) -> io::Result<io::Take<File>> {
        let (begin, size) = self.entry(name).ok_or(io::ErrorKind::NotFound)?;
        let mut file = File::open(&self.file)?;
        file.seek(SeekFrom::Start(begin + offset.min(size)))?;
        Ok(file.take(size.saturating_sub(offset)))
    }

    fn small(&self, name: &str, limit: u64) -> Result<Vec<u8>, Error> {
        let missing = || Error::NotOne { path: self.place(), why: format!("there is no {name} in it") };
        let (_, size) = self.entry(name).ok_or_else(missing)?;
        if size > limit {
            return Err(Error::NotOne {
                path: self.place(),
                why: format!("{name} is larger than {limit} bytes"),
            });
        }
        let mut data = Vec::new();
        self.stream(name, 0).and_then(|mut stream| stream.read_to_end(&mut data)).map_err(at(&self.path))?;
        Ok(data)
    }

    /// Whether it is what `docker save` writes and no OCI layout.
    pub fn is_docker(&self) -> bool {
        self.entry("index.json").is_none() && self.entry("manifest.json").is_some()
    }

    /// What an OCI archive has.
    pub fn index(&self) -> Result<Index, Error> {
        let data = self.small("index.json", MAX_MANIFEST)?;
        match Document::parse(&data, None) {
            Ok(Document::Index(index)) => Ok(index),
            Ok(_) => Err(Error::NotOne { path: self.place(), why: "index.json is no index".to_owned() }),
            Err(e) => Err(Error::NotOne { path: self.place(), why: format!("index.json: {e}") }),
        }
    }

    /// The image of a name in an OCI archive; without a name, the only one.
    pub fn find(&self, name: Option<&str>) -> Result<Descriptor, Error> {
        Ok(layout::find(&self.index()?.manifests, name, &self.place())?)
    }

    /// Puts the images of a docker archive into a layout: its layers are compressed on the way, always in the same way.
    /// Gives them with their names.
    pub fn load_docker(&self, layout: &Layout) -> Result<Vec<(Descriptor, Vec<String>)>, Error> {
        let wrong = |why: String| Error::NotOne { path: self.place(), why };
        let data = self.small("manifest.json", MAX_MANIFEST)?;
        let list: Value = serde_json::from_slice(&data).map_err(|e| wrong(format!("manifest.json: {e}")))?;
        let list = list.as_array().filter(|list| list.len() <= 1000);
        let list = list.ok_or_else(|| wrong("manifest.json is no list of images".to_owned()))?;
        let mut images = Vec::new();
        for image in list {
            let config = image.get("Config").and_then(Value::as_str).and_then(|name| clean(name.as_bytes()));
            let config =
                self.small(&config.ok_or_else(|| wrong("an image has no Config".to_owned()))?, MAX_CONFIG)?;
            let parsed = Config::parse(&config).map_err(|e| wrong(e.to_string()))?;
            let ids = parsed.diff_ids();
            let names = image.get("Layers").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            if names.len() != ids.len() {
                return Err(wrong(format!(
                    "an image has {} layers and its configuration speaks of {}",
                    names.len(),
                    ids.len()
                )));
            }
            let mut layers = Vec::new();
            for (name, id) in names.iter().zip(&ids) {
                let name = name.as_str().and_then(|name| clean(name.as_bytes()));
                let name = name.ok_or_else(|| wrong("a layer has no name".to_owned()))?;
                layers.push(self.load_layer(&name, id, layout)?);
            }
            let config = layout.put(CONFIG, &config)?;
            let mut descriptor = layout.put(MANIFEST, &Manifest::new(config, layers).bytes())?;
            descriptor.platform = parsed.platform();
            let tags = image.get("RepoTags").and_then(Value::as_array).into_iter().flatten();
            images.push((descriptor, tags.filter_map(|tag| Some(tag.as_str()?.to_owned())).collect()));
        }
        Ok(images)
    }

    fn load_layer(&self, name: &str, id: &Digest, layout: &Layout) -> Result<Descriptor, Error> {
        let stream = self.stream(name, 0).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => {
                Error::NotOne { path: self.place(), why: format!("there is no {name} in it") }
            }
            _ => at(&self.path)(e),
        })?;
        let mut layer = LayerReader::new(stream, MAX_UNPACKED, Some(id)).map_err(at(&self.path))?;
        let mut encoder = Gzip::new(layout.writer(Algorithm::Sha256)?);
        io::copy(&mut layer, &mut encoder).map_err(at(&self.path))?;
        layer.finish().map_err(at(&self.path))?;
        Ok(encoder.finish().map_err(at(&self.path))?.finish(LAYER_GZIP)?)
    }
}

impl Blobs for Archive {
    fn open_at(&self, digest: &Digest, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(self.stream(&format!("blobs/{}/{}", digest.algorithm().name(), digest.hex()), offset)?))
    }

    fn place(&self) -> String {
        self.path.display().to_string()
    }
}

/// A path in an archive, without `./`; nothing for one that leads out.
fn clean(path: &[u8]) -> Option<String> {
    join("", str::from_utf8(path).ok()?)
}

fn join(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// A file that is written beside its place and moved there when it is whole.
fn writing(
    path: &Path,
    write: impl FnOnce(&mut Writer<BufWriter<File>>) -> Result<(), Error>,
) -> Result<(), Error> {
    let beside = disk::folder(path).join(format!(".{}.new", disk::unique().map_err(at(path))?));
    let draft = Draft::new(beside.clone());
    let file = File::create_new(&beside).map_err(at(path))?;
    let mut writer = Writer::new(BufWriter::with_capacity(256 << 10, file));
    write(&mut writer)?;
    let file = writer
        .finish()
        .and_then(|out| out.into_inner().map_err(io::IntoInnerError::into_error))
        .map_err(at(path))?;
    file.sync_all().map_err(at(path))?;
    draft.publish(path, true).map_err(at(path))
}

fn bytes(writer: &mut Writer<BufWriter<File>>, name: &str, data: &[u8]) -> io::Result<()> {
    writer.entry(&Entry::file(name, 0o644, data.len() as u64), &mut &data[..])
}

/// Writes images with their names as an OCI archive; the same images are always the same bytes.
pub fn save_oci(from: &dyn Blobs, images: &[Descriptor], path: &Path) -> Result<(), Error> {
    let mut needed: BTreeMap<Digest, Descriptor> = BTreeMap::new();
    let mut todo: Vec<Descriptor> = images.to_vec();
    while let Some(descriptor) = todo.pop() {
        if descriptor.is_index() || descriptor.is_manifest() {
            let document = from.document(&descriptor)?;
            let new = |blob: &&Descriptor| !needed.contains_key(&blob.digest);
            todo.extend(document.manifests().iter().filter(new).cloned());
            for blob in document.blobs() {
                needed.insert(blob.digest.clone(), blob.clone());
            }
        }
        needed.insert(descriptor.digest.clone(), descriptor);
    }
    writing(path, |writer| {
        for folder in ["blobs/", "blobs/sha256/"] {
            writer.entry(&Entry::directory(folder, 0o755), &mut io::empty()).map_err(at(path))?;
        }
        for (digest, descriptor) in &needed {
            let name = format!("blobs/{}/{}", digest.algorithm().name(), digest.hex());
            let mut stream = from.open(descriptor)?;
            writer.entry(&Entry::file(&name, 0o644, descriptor.size), &mut stream).map_err(at(path))?;
            stream.finish().map_err(at(path))?;
        }
        bytes(writer, "index.json", &Index::new(images.to_vec()).bytes()).map_err(at(path))?;
        bytes(writer, "oci-layout", b"{\"imageLayoutVersion\":\"1.0.0\"}").map_err(at(path))
    })
}

/// Writes images with their names as `docker save` does.
pub fn save_docker(
    from: &dyn Blobs,
    images: &[(Descriptor, Vec<String>)],
    platform: &Platform,
    path: &Path,
) -> Result<(), Error> {
    writing(path, |writer| {
        let mut list = Vec::new();
        let mut written = std::collections::BTreeSet::new();
        for (descriptor, tags) in images {
            let (_, manifest) = from.image(descriptor, platform)?;
            let config = from.read(&manifest.config, MAX_CONFIG)?;
            let ids = from.config(&manifest)?.diff_ids();
            let config_name = format!("{}.json", manifest.config.digest.hex());
            if written.insert(config_name.clone()) {
                bytes(writer, &config_name, &config).map_err(at(path))?;
            }
            let mut layers = Vec::new();
            for (layer, id) in manifest.layers.iter().zip(&ids) {
                let name = format!("{}.tar", id.hex());
                if written.insert(name.clone()) {
                    // Docker's layers are plain, and their size stands before them: they are unpacked twice.
                    let size = plain(from, layer, id, &mut io::sink())?;
                    let mut reader =
                        LayerReader::new(from.open(layer)?, MAX_UNPACKED, Some(id)).map_err(at(path))?;
                    writer.entry(&Entry::file(&name, 0o644, size), &mut reader).map_err(at(path))?;
                }
                layers.push(name);
            }
            list.push(json!({ "Config": config_name, "RepoTags": tags, "Layers": layers }));
        }
        bytes(writer, "manifest.json", Value::from(list).to_string().as_bytes()).map_err(at(path))
    })
}

fn plain(from: &dyn Blobs, layer: &Descriptor, id: &Digest, to: &mut dyn Write) -> Result<u64, Error> {
    let failed = |source| Error::Io { path: from.place(), source };
    let mut reader = LayerReader::new(from.open(layer)?, MAX_UNPACKED, Some(id)).map_err(failed)?;
    let size = io::copy(&mut reader, to).map_err(failed)?;
    reader.finish().and_then(|(mut blob, _)| io::copy(&mut blob, &mut io::sink())).map_err(failed)?;
    Ok(size)
}

/// Copies an image with all that it needs into a layout.
pub fn import(from: &dyn Blobs, image: &Descriptor, layout: &Layout) -> Result<(), Error> {
    let mut todo = vec![image.clone()];
    let mut seen = std::collections::BTreeSet::new();
    while let Some(descriptor) = todo.pop() {
        if !seen.insert(descriptor.digest.clone()) {
            continue;
        }
        if descriptor.is_index() || descriptor.is_manifest() {
            let document = from.document(&descriptor)?;
            todo.extend(document.manifests().iter().cloned());
            todo.extend(document.blobs().into_iter().cloned());
        }
        if layout.has(&descriptor) {
            continue;
        }
        let mut receiver = layout.receive(&descriptor)?;
        receiver.restart()?;
        let failed = |source| Error::Io { path: from.place(), source };
        let mut stream = from.open_at(&descriptor.digest, 0).map_err(failed)?;
        let mut part = vec![0; 256 << 10];
        loop {
            let read = stream.read(&mut part).map_err(failed)?;
            if read == 0 {
                break;
            }
            receiver.write(part.get(..read).unwrap_or_default())?;
        }
        receiver.finish()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::build::{Image, Layer, Rights};
    use crate::testing::Scratch;

    fn layout(scratch: &Scratch) -> (Layout, Descriptor) {
        let layout = Layout::create(scratch.path("from")).unwrap();
        let mut layer = Layer::new();
        layer.file("/a", *b"hello", Rights::default()).unwrap();
        let mut image = Image::new(Platform::here());
        image.layers.push(layer);
        let descriptor = image.write(&layout).unwrap();
        (layout, descriptor)
    }

    #[test]
    fn oci_archives_there_and_back() {
        let scratch = Scratch::new();
        let (layout, mut image) = layout(&scratch);
        image.annotations.insert(crate::model::REF_NAME.to_owned(), "app:1".to_owned());
        let path = scratch.path("a.tar");
        save_oci(&layout, &[image.clone()], &path).unwrap();
        save_oci(&layout, &[image.clone()], &scratch.path("b.tar")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), fs::read(scratch.path("b.tar")).unwrap());
        let archive = Archive::open(&path, &scratch.path("")).unwrap();
        assert!(!archive.is_docker());
        assert_eq!(archive.find(Some("app:1")).unwrap().digest, image.digest);
        let to = Layout::create(scratch.path("to")).unwrap();
        import(&archive, &archive.find(None).unwrap(), &to).unwrap();
        assert!(to.has(&image));
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&fs::read(&path).unwrap()).unwrap();
        fs::write(scratch.path("a.tgz"), packed.finish().unwrap()).unwrap();
        let archive = Archive::open(&scratch.path("a.tgz"), &scratch.path("")).unwrap();
        assert_eq!(archive.find(None).unwrap().digest, image.digest);
        drop(archive);
        let left = fs::read_dir(scratch.path("")).unwrap().flatten();
        assert!(!left.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("podium-")));
    }

    #[test]
    fn docker_archives_there_and_back() {
        let scratch = Scratch::new();
        let (layout, image) = layout(&scratch);
        let path = scratch.path("d.tar");
        save_docker(
            &layout,
            &[(image.clone(), vec!["host.example/a:1".to_owned()])],
            &Platform::here(),
            &path,
        )
        .unwrap();
        let archive = Archive::open(&path, &scratch.path("")).unwrap();
        assert!(archive.is_docker());
        let to = Layout::create(scratch.path("to")).unwrap();
        let loaded = archive.load_docker(&to).unwrap();
        assert_eq!(loaded[0].1, ["host.example/a:1"]);
        // Layers that we have compressed are the same when we compress them again.
        assert_eq!(loaded[0].0.digest, image.digest);
    }

    #[test]
    fn broken_archives_are_errors() {
        let scratch = Scratch::new();
        let path = scratch.path("x.tar");
        let write = |entries: &[(&str, &str)]| {
            let mut writer = Writer::new(Vec::new());
            for (name, data) in entries {
                writer.entry(&Entry::file(name, 0o644, data.len() as u64), &mut data.as_bytes()).unwrap();
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
        let lie = format!("{{\"rootfs\":{{\"diff_ids\":[\"{}\"]}}}}", Digest::of(b"other"));
        let archive =
            write(&[("manifest.json", "[{\"Config\":\"c\",\"Layers\":[\"l\"]}]"), ("c", &lie), ("l", "x")]);
        assert!(archive.load_docker(&to).unwrap_err().to_string().contains("should unpack to"));
        fs::write(&path, [0x1f, 0x8b, 1, 2]).unwrap();
        assert!(Archive::open(&path, &scratch.path("")).is_err());
    }
}
