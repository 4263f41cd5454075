//! An image's files on disk.
//!
//! Everything is put into a new directory. Each path is resolved in memory first (see [`crate::tree`]), so that what is
//! written goes through real directories of that root only. Devices and pipes are never made, owners are set by root
//! alone, and how much is written has limits.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::blobs::{self, Blobs};
use crate::digest::Digest;
use crate::files::Limits;
use crate::layer::LayerReader;
use crate::model::Manifest;
use crate::tar::{self, Reader};
use crate::tree::{self, Effects, Kind, Place, Tree};

/// Why an image cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The place is taken.
    #[error("{0} is there already: images are unpacked into a directory that is not there yet, or is empty")]
    Taken(String),
    /// A file cannot be written.
    #[error("{path}: {source}")]
    Write {
        /// Which.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A layer cannot be read.
    #[error("layer {layer}: {source}")]
    Layer {
        /// Which, from 1.
        layer: usize,
        /// Why.
        source: io::Error,
    },
    /// An entry is refused.
    #[error("{0}")]
    Entry(#[from] tree::Error),
    /// A blob cannot be read.
    #[error(transparent)]
    Blobs(#[from] blobs::Error),
    /// The configuration and the manifest do not speak of the same layers.
    #[error("the image has {layers} layers and its configuration speaks of {ids}")]
    Layers {
        /// Of the manifest.
        layers: usize,
        /// Of the configuration.
        ids: usize,
    },
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Entries of layers.
    pub entries: usize,
    /// Bytes of files that were written.
    pub bytes: u64,
    /// Devices and pipes that were left out.
    pub devices: usize,
    /// Entries whose extended attributes were left out.
    pub attributes: usize,
}

/// Unpacks an image into a directory that is not there yet, or is empty. If that fails, nothing is left.
pub fn unpack(from: &dyn Blobs, manifest: &Manifest, to: &Path, limits: Limits) -> Result<Report, Error> {
    let ids = from.config(manifest)?.diff_ids();
    if ids.len() != manifest.layers.len() {
        return Err(Error::Layers { layers: manifest.layers.len(), ids: ids.len() });
    }
    let mut unpacker = Unpacker::new(to, limits)?;
    for (layer, id) in manifest.layers.iter().zip(&ids) {
        unpacker.layer(from.open(layer)?, Some(id))?;
    }
    unpacker.finish()
}

/// Takes layers, the lowest first.
pub struct Unpacker {
    disk: Disk,
    tree: Tree<()>,
    limits: Limits,
    left: u64,
    layer: usize,
    report: Report,
    done: bool,
}

/// What is done to the disk.
struct Disk {
    root: PathBuf,
    /// Whether owners can be given.
    owner: bool,
    /// Rights and times of directories, which are set when all is in them.
    directories: BTreeMap<Vec<u8>, (u32, i64)>,
}

impl Disk {
    fn path(&self, path: &[u8]) -> PathBuf {
        self.root.join(OsStr::from_bytes(path))
    }

    fn failed(&self, path: &[u8]) -> impl FnOnce(io::Error) -> Error {
        let path = self.path(path).display().to_string();
        move |source| Error::Write { path, source }
    }
}

impl Effects for Disk {
    type Error = Error;

    fn directory(&mut self, path: &[u8]) -> Result<(), Error> {
        make_directory(&self.path(path)).map_err(self.failed(path))?;
        self.directories.insert(path.to_vec(), (0o755, 0));
        Ok(())
    }

    fn removed(&mut self, path: &[u8], directory: bool) -> Result<(), Error> {
        let place = self.path(path);
        if directory {
            let inside = [path, b"/"].concat();
            self.directories.retain(|other, _| other != path && !other.starts_with(&inside));
            fs::remove_dir_all(&place)
        } else {
            fs::remove_file(&place)
        }
        .map_err(self.failed(path))
    }
}

/// Only we may look into it while it is being filled.
fn make_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(path)
}

impl Unpacker {
    /// Into a directory that is not there yet, or is empty.
    pub fn new(root: &Path, limits: Limits) -> Result<Self, Error> {
        let failed = |source| Error::Write { path: root.display().to_string(), source };
        match make_directory(root) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                let taken = || Error::Taken(root.display().to_string());
                if fs::symlink_metadata(root).map_err(failed)?.is_symlink()
                    || fs::read_dir(root).map_err(failed)?.next().is_some()
                {
                    return Err(taken());
                }
            }
            Err(e) => return Err(failed(e)),
        }
        // Whoever may give files away is root.
        let owner = lchown(root, Some(0), Some(0)).is_ok();
        let directories = BTreeMap::from([(Vec::new(), (0o755, 0))]);
        let disk = Disk { root: root.to_owned(), owner, directories };
        let tree = Tree::new(limits.entries);
        Ok(Self {
            disk,
            tree,
            limits,
            left: limits.unpacked,
            layer: 0,
            report: Report::default(),
            done: false,
        })
    }

    /// Takes the next layer.
    pub fn layer(&mut self, blob: impl Read, diff_id: Option<&Digest>) -> Result<(), Error> {
        self.layer += 1;
        self.tree.next_layer();
        let layer = self.layer;
        let failed = |source| Error::Layer { layer, source };
        let mut reader = Reader::new(LayerReader::new(blob, self.left, diff_id).map_err(failed)?);
        while let Some(entry) = reader.next_entry().map_err(failed)? {
            self.report.entries += 1;
            if self.report.entries > self.limits.entries {
                return Err(tree::Error::Many(self.limits.entries).into());
            }
            self.entry(&entry, &mut reader)?;
        }
        let (mut blob, left) = reader.into_inner().finish().map_err(failed)?;
        io::copy(&mut blob, &mut io::sink()).map_err(failed)?;
        self.left = left;
        Ok(())
    }

    fn entry(&mut self, entry: &tar::Entry, content: &mut impl Read) -> Result<(), Error> {
        let (parent, name) = match self.tree.place(&entry.path, &mut self.disk)? {
            Place::Put(parent, name) => (parent, name),
            Place::Root if entry.kind == tar::Kind::Directory => {
                self.disk.directories.insert(Vec::new(), (entry.mode, entry.mtime));
                return self.own(b"", entry);
            }
            Place::Root | Place::Whiteout => return Ok(()),
        };
        if entry.attributes {
            self.report.attributes += 1;
        }
        if entry.kind == tar::Kind::Special {
            self.report.devices += 1;
            return Ok(());
        }
        // A link is looked up before what it replaces is taken away: it may be itself.
        let target = match entry.kind {
            tar::Kind::HardLink => {
                let target = self.tree.target(&entry.link, &entry.path, &mut self.disk)?;
                if self.tree.child(parent, &name) == Some(target) {
                    return Ok(());
                }
                Some(self.tree.path(target))
            }
            _ => None,
        };
        let directory = entry.kind == tar::Kind::Directory;
        let there = self.tree.make_room(parent, &name, directory, &mut self.disk)?;
        if let Some(target) = &target
            && fs::symlink_metadata(self.disk.path(target)).is_err()
        {
            // What was replaced had the file in it.
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            return Err(tree::Error::Link { path: text(&entry.path), target: text(&entry.link) }.into());
        }
        let kind = match entry.kind {
            tar::Kind::Directory => Kind::Directory,
            tar::Kind::Symlink => Kind::Symlink(entry.link.clone()),
            _ => Kind::File(()),
        };
        let id = match there {
            Some(id) => id,
            None => self.tree.put(parent, &name, kind).ok_or(tree::Error::Many(self.limits.entries))?,
        };
        let path = self.tree.path(id);
        let place = self.disk.path(&path);
        match entry.kind {
            tar::Kind::Directory => {
                if there.is_none() {
                    make_directory(&place).map_err(self.disk.failed(&path))?;
                }
                self.disk.directories.insert(path.clone(), (entry.mode, entry.mtime));
                self.own(&path, entry)
            }
            tar::Kind::Symlink => {
                symlink(OsStr::from_bytes(&entry.link), &place).map_err(self.disk.failed(&path))?;
                self.own(&path, entry)
            }
            tar::Kind::HardLink => {
                let target = target.map(|target| self.disk.path(&target)).unwrap_or_default();
                fs::hard_link(target, &place).map_err(self.disk.failed(&path))
            }
            _ => self.file(&path, &place, entry, content),
        }
    }

    fn own(&self, path: &[u8], entry: &tar::Entry) -> Result<(), Error> {
        if !self.disk.owner {
            return Ok(());
        }
        let number = |id: u64| u32::try_from(id).ok().filter(|id| *id != u32::MAX);
        let wrong = || io::Error::new(io::ErrorKind::InvalidData, "an owner that no system has");
        let ids = number(entry.uid).zip(number(entry.gid)).ok_or_else(wrong);
        let done = ids.and_then(|(uid, gid)| lchown(self.disk.path(path), Some(uid), Some(gid)));
        done.map_err(self.disk.failed(path))
    }

    fn file(
        &mut self,
        path: &[u8],
        place: &Path,
        entry: &tar::Entry,
        content: &mut impl Read,
    ) -> Result<(), Error> {
        let open = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(place);
        let mut file = open.map_err(self.disk.failed(path))?;
        let layer = self.layer;
        let mut part = vec![0; 64 << 10];
        loop {
            let read = content.read(&mut part).map_err(|source| Error::Layer { layer, source })?;
            if read == 0 {
                break;
            }
            io::Write::write_all(&mut file, part.get(..read).unwrap_or_default())
                .map_err(self.disk.failed(path))?;
            self.report.bytes += read as u64;
        }
        // Rights last: giving a file away takes some of them.
        self.own(path, entry)?;
        let rights = if self.disk.owner { entry.mode } else { entry.mode & 0o1777 };
        finish(&file, rights, entry.mtime).map_err(self.disk.failed(path))
    }

    /// Sets the rights of directories, the deepest first.
    pub fn finish(mut self) -> Result<Report, Error> {
        for (path, (mode, mtime)) in self.disk.directories.iter().rev() {
            let open = File::open(self.disk.path(path));
            let mode = if self.disk.owner { *mode } else { *mode & 0o1777 };
            open.and_then(|file| finish(&file, mode, *mtime)).map_err(self.disk.failed(path))?;
        }
        self.done = true;
        Ok(self.report)
    }
}

fn finish(file: &File, mode: u32, mtime: i64) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(mode))?;
    let seconds = Duration::from_secs(mtime.unsigned_abs().min(1 << 40));
    let time = if mtime < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(seconds)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(seconds)
    };
    file.set_modified(time.unwrap_or(SystemTime::UNIX_EPOCH))
}

impl Drop for Unpacker {
    fn drop(&mut self) {
        if !self.done {
            let _ = fs::remove_dir_all(&self.disk.root);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::tar::{Entry, Writer};
    use crate::testing::Scratch;

    fn layer(entries: &[(Entry, &str)]) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new());
        for (entry, data) in entries {
            let size = if entry.kind == tar::Kind::File { data.len() as u64 } else { 0 };
            writer.entry(&Entry { size, ..entry.clone() }, &mut data.as_bytes()).unwrap();
        }
        writer.finish().unwrap()
    }

    fn unpacked(root: &Path, layers: &[Vec<u8>], limits: Limits) -> Result<Report, Error> {
        let mut unpacker = Unpacker::new(root, limits)?;
        for layer in layers {
            unpacker.layer(layer.as_slice(), Some(&Digest::of(layer)))?;
        }
        unpacker.finish()
    }

    fn file(path: &str) -> Entry {
        Entry::file(path, 0o644, 0)
    }

    fn hard(path: &str, target: &str) -> Entry {
        Entry { kind: tar::Kind::HardLink, link: target.as_bytes().to_vec(), ..file(path) }
    }

    #[test]
    fn layers_become_files() {
        let scratch = Scratch::new();
        let root = scratch.path("root");
        let layers = [
            layer(&[
                (Entry { mtime: 1000, ..Entry::directory("d/", 0o555) }, ""),
                (Entry { mtime: 2000, ..Entry::file("d/a", 0o750, 0) }, "one"),
                (file("d/gone"), "x"),
                (Entry::symlink("bin", "usr/bin"), ""),
                (file("bin/sh"), "sh"),
                (hard("d/hard", "/d/a"), ""),
            ]),
            layer(&[
                (file("d/.wh.gone"), ""),
                (file("d/b"), "two"),
                (Entry::symlink("link", "/etc/passwd"), ""),
            ]),
        ];
        let report = unpacked(&root, &layers, Limits::default()).unwrap();
        assert_eq!(report.entries, 9);
        let text = |path: &str| fs::read_to_string(root.join(path)).unwrap();
        assert_eq!(
            (text("d/a"), text("d/b"), text("usr/bin/sh"), text("d/hard")),
            ("one".into(), "two".into(), "sh".into(), "one".into())
        );
        assert!(!root.join("d/gone").exists());
        let meta = fs::metadata(root.join("d/a")).unwrap();
        assert_eq!((meta.mode() & 0o7777, meta.mtime(), meta.nlink()), (0o750, 2000, 2));
        let meta = fs::metadata(root.join("d")).unwrap();
        assert_eq!((meta.mode() & 0o7777, meta.mtime()), (0o555, 1000));
        assert_eq!(fs::read_link(root.join("link")).unwrap(), Path::new("/etc/passwd"));
        assert!(matches!(Unpacker::new(&root, Limits::default()), Err(Error::Taken(_))));
        assert!(root.join("d/a").exists());
    }

    #[test]
    fn tricks_reach_nothing_outside_and_leave_nothing() {
        let scratch = Scratch::new();
        fs::create_dir(scratch.path("outside")).unwrap();
        fs::write(scratch.path("outside/secret"), "secret").unwrap();
        let outside = scratch.path("outside").display().to_string();
        let limits = Limits { kept: 0, unpacked: 1 << 20, entries: 50 };
        for entries in [
            vec![(file("../outside/new"), "")],
            vec![(file("a/../../outside/new"), "")],
            vec![(hard("h", "../outside/secret"), "")],
            vec![(hard("h", &format!("{outside}/secret")), "")],
            vec![(Entry::symlink("s", &format!("{outside}/secret")), ""), (hard("h", "s"), "")],
            vec![(file("x/.wh..."), "")],
            vec![(file(".wh.."), "")],
            vec![(file("f"), ""), (file("f/g"), "")],
            vec![(file("big"), &"0".repeat(2 << 20))],
            (0..60).map(|_| (file("same"), "")).collect(),
            vec![(file("d/f"), "x"), (hard("d", "d/f"), "")],
        ] {
            let root = scratch.path("root");
            assert!(unpacked(&root, &[layer(&entries)], limits).is_err(), "{:?}", entries[0].0);
            assert!(!root.exists(), "nothing is left");
        }
        // What goes through links stays inside.
        let root = scratch.path("root");
        let entries = [
            (Entry::symlink("s", &outside), ""),
            (file("s/new"), "in"),
            (Entry::symlink("up", "../../../../../../../../outside"), ""),
            (file("up/new"), "in"),
            (file("s/.wh.secret"), ""),
            (file("up/.wh..wh..opq"), ""),
            (Entry::symlink("secret", &format!("{outside}/secret")), ""),
            (file("secret"), "mine"),
            (hard("secret", "secret"), ""),
        ];
        unpacked(&root, &[layer(&entries)], limits).unwrap();
        assert_eq!(fs::read_dir(scratch.path("outside")).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(scratch.path("outside/secret")).unwrap(), "secret");
        assert_eq!(fs::read_to_string(root.join("secret")).unwrap(), "mine");
        assert!(root.join("outside/new").exists());
    }

    #[test]
    fn devices_are_left_out() {
        let scratch = Scratch::new();
        let mut data = layer(&[(file("dev/null"), "")]);
        data[156] = b'3';
        let sum: u64 = data[..512]
            .iter()
            .enumerate()
            .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u64::from(*byte) })
            .sum();
        data[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let report = unpacked(&scratch.path("root"), &[data], Limits::default()).unwrap();
        assert_eq!(report.devices, 1);
        assert!(!scratch.path("root/dev/null").exists());
    }
}
