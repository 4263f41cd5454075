//! Unpacking of images to disk.
//!
//! Layers are unpacked into a new directory. Each path is first resolved in memory (see [`crate::tree`]), so writes
//! only pass through real directories below the root. Devices and pipes are skipped, owners are set only when running
//! as root, and sizes are limited.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::blob_source::{self, BlobSource};
use crate::digest::Digest;
use crate::files::ExtractLimits;
use crate::layer::LayerReader;
use crate::model::Manifest;
use crate::tar::{self, TarReader};
use crate::tree::{self, FileTree, NodeKind, ResolvedEntry, TreeEffects};

/// An image that cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The destination exists and is not empty.
    #[error("{0} is not empty: unpack the image into a new or empty directory")]
    DestinationNotEmpty(String),
    /// A file cannot be written.
    #[error("{path}: {source}")]
    Write {
        /// The file.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// A layer cannot be read.
    #[error("layer {layer}: {source}")]
    Layer {
        /// Layer number, from 1.
        layer: usize,
        /// The cause.
        source: io::Error,
    },
    /// A layer has an invalid entry.
    #[error("{0}")]
    Entry(#[from] tree::Error),
    /// A blob cannot be read.
    #[error(transparent)]
    BlobSource(#[from] blob_source::Error),
    /// Manifest and config have a different number of layers.
    #[error("the image has {layers} layers, but its config has {diff_ids} diff IDs")]
    LayerCountMismatch {
        /// Number of layers in the manifest.
        layers: usize,
        /// Number of diff IDs in the config.
        diff_ids: usize,
    },
}

/// Summary of an unpacked image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnpackReport {
    /// Entries in all layers.
    pub entries: usize,
    /// Bytes written to files.
    pub bytes: u64,
    /// Devices and pipes that were skipped.
    pub devices_skipped: usize,
    /// Entries whose extended attributes were skipped.
    pub xattrs_skipped: usize,
}

/// Unpacks an image into a new or empty directory. Removes the directory on failure.
pub fn unpack(
    from: &dyn BlobSource,
    manifest: &Manifest,
    to: &Path,
    limits: ExtractLimits,
) -> Result<UnpackReport, Error> {
    let diff_ids = from.config(manifest)?.diff_ids();
    if diff_ids.len() != manifest.layers.len() {
        return Err(Error::LayerCountMismatch { layers: manifest.layers.len(), diff_ids: diff_ids.len() });
    }
    let mut unpacker = Unpacker::new(to, limits)?;
    for (layer, id) in manifest.layers.iter().zip(&diff_ids) {
        unpacker.add_layer(from.open(layer)?, Some(id))?;
    }
    unpacker.finish()
}

/// Applies layers, lowest first.
pub struct Unpacker {
    disk: DiskWriter,
    tree: FileTree<()>,
    limits: ExtractLimits,
    remaining: u64,
    layer: usize,
    report: UnpackReport,
    finished: bool,
}

/// Applies tree changes to the root directory.
struct DiskWriter {
    root: PathBuf,
    /// Whether the process may set owners.
    can_chown: bool,
    /// Mode and mtime of directories, set after their content is written.
    directories: BTreeMap<Vec<u8>, (u32, i64)>,
}

impl DiskWriter {
    fn path(&self, path: &[u8]) -> PathBuf {
        self.root.join(OsStr::from_bytes(path))
    }

    fn write_error(&self, path: &[u8]) -> impl FnOnce(io::Error) -> Error {
        let path = self.path(path).display().to_string();
        move |source| Error::Write { path, source }
    }
}

impl TreeEffects for DiskWriter {
    type Error = Error;

    fn created_directory(&mut self, path: &[u8]) -> Result<(), Error> {
        create_private_directory(&self.path(path)).map_err(self.write_error(path))?;
        self.directories.insert(path.to_vec(), (0o755, 0));
        Ok(())
    }

    fn removed(&mut self, path: &[u8], directory: bool) -> Result<(), Error> {
        let destination = self.path(path);
        if directory {
            let prefix = [path, b"/"].concat();
            self.directories.retain(|other, _| other != path && !other.starts_with(&prefix));
            fs::remove_dir_all(&destination)
        } else {
            fs::remove_file(&destination)
        }
        .map_err(self.write_error(path))
    }
}

/// Creates a directory that other users cannot enter while it is being filled.
fn create_private_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(path)
}

impl Unpacker {
    /// Unpacks into a new or empty directory.
    pub fn new(root: &Path, limits: ExtractLimits) -> Result<Self, Error> {
        let failed = |source| Error::Write { path: root.display().to_string(), source };
        match create_private_directory(root) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                let not_empty = || Error::DestinationNotEmpty(root.display().to_string());
                if fs::symlink_metadata(root).map_err(failed)?.is_symlink()
                    || fs::read_dir(root).map_err(failed)?.next().is_some()
                {
                    return Err(not_empty());
                }
            }
            Err(e) => return Err(failed(e)),
        }
        // Only root can change owners.
        let can_chown = lchown(root, Some(0), Some(0)).is_ok();
        let directories = BTreeMap::from([(Vec::new(), (0o755, 0))]);
        let disk = DiskWriter { root: root.to_owned(), can_chown, directories };
        let tree = FileTree::new(limits.max_entries);
        Ok(Self {
            disk,
            tree,
            limits,
            remaining: limits.max_unpacked_bytes,
            layer: 0,
            report: UnpackReport::default(),
            finished: false,
        })
    }

    /// Applies the next layer.
    pub fn add_layer(&mut self, blob: impl Read, diff_id: Option<&Digest>) -> Result<(), Error> {
        self.layer += 1;
        self.tree.next_layer();
        let layer = self.layer;
        let failed = |source| Error::Layer { layer, source };
        let mut reader = TarReader::new(LayerReader::new(blob, self.remaining, diff_id).map_err(failed)?);
        while let Some(entry) = reader.next_entry().map_err(failed)? {
            self.report.entries += 1;
            if self.report.entries > self.limits.max_entries {
                return Err(tree::Error::TooManyEntries(self.limits.max_entries).into());
            }
            self.apply_entry(&entry, &mut reader)?;
        }
        let (mut blob, remaining) = reader.into_inner().finish().map_err(failed)?;
        io::copy(&mut blob, &mut io::sink()).map_err(failed)?;
        self.remaining = remaining;
        Ok(())
    }

    fn apply_entry(&mut self, entry: &tar::Entry, content: &mut impl Read) -> Result<(), Error> {
        let (parent, name) = match self.tree.resolve(&entry.path, &mut self.disk)? {
            ResolvedEntry::Child(parent, name) => (parent, name),
            ResolvedEntry::Root if entry.kind == tar::EntryKind::Directory => {
                self.disk.directories.insert(Vec::new(), (entry.mode, entry.mtime));
                return self.chown(b"", entry);
            }
            ResolvedEntry::Root | ResolvedEntry::Whiteout => return Ok(()),
        };
        if entry.has_xattrs {
            self.report.xattrs_skipped += 1;
        }
        if entry.kind == tar::EntryKind::Special {
            self.report.devices_skipped += 1;
            return Ok(());
        }
        // Resolve the link before the existing entry is removed: it may be the link's own target.
        let target = match entry.kind {
            tar::EntryKind::HardLink => {
                let target = self.tree.resolve_hard_link(&entry.link, &entry.path, &mut self.disk)?;
                if self.tree.child(parent, &name) == Some(target) {
                    return Ok(());
                }
                Some(self.tree.path(target))
            }
            _ => None,
        };
        let directory = entry.kind == tar::EntryKind::Directory;
        let existing = self.tree.replace_existing(parent, &name, directory, &mut self.disk)?;
        if let Some(target) = &target
            && fs::symlink_metadata(self.disk.path(target)).is_err()
        {
            // The target was inside the replaced directory.
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            return Err(
                tree::Error::InvalidHardLink { path: text(&entry.path), target: text(&entry.link) }.into()
            );
        }
        let kind = match entry.kind {
            tar::EntryKind::Directory => NodeKind::Directory,
            tar::EntryKind::Symlink => NodeKind::Symlink(entry.link.clone()),
            _ => NodeKind::File(()),
        };
        let id = match existing {
            Some(id) => id,
            None => self
                .tree
                .insert(parent, &name, kind)
                .ok_or(tree::Error::TooManyEntries(self.limits.max_entries))?,
        };
        let path = self.tree.path(id);
        let destination = self.disk.path(&path);
        match entry.kind {
            tar::EntryKind::Directory => {
                if existing.is_none() {
                    create_private_directory(&destination).map_err(self.disk.write_error(&path))?;
                }
                self.disk.directories.insert(path.clone(), (entry.mode, entry.mtime));
                self.chown(&path, entry)
            }
            tar::EntryKind::Symlink => {
                symlink(OsStr::from_bytes(&entry.link), &destination)
                    .map_err(self.disk.write_error(&path))?;
                self.chown(&path, entry)
            }
            tar::EntryKind::HardLink => {
                let target = target.map(|target| self.disk.path(&target)).unwrap_or_default();
                fs::hard_link(target, &destination).map_err(self.disk.write_error(&path))
            }
            _ => self.write_file(&path, &destination, entry, content),
        }
    }

    fn chown(&self, path: &[u8], entry: &tar::Entry) -> Result<(), Error> {
        if !self.disk.can_chown {
            return Ok(());
        }
        let number = |id: u64| u32::try_from(id).ok().filter(|id| *id != u32::MAX);
        let invalid = || io::Error::new(io::ErrorKind::InvalidData, "the user or group ID is out of range");
        let owner = number(entry.uid).zip(number(entry.gid)).ok_or_else(invalid);
        let result = owner.and_then(|(uid, gid)| lchown(self.disk.path(path), Some(uid), Some(gid)));
        result.map_err(self.disk.write_error(path))
    }

    fn write_file(
        &mut self,
        path: &[u8],
        destination: &Path,
        entry: &tar::Entry,
        content: &mut impl Read,
    ) -> Result<(), Error> {
        let open = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(destination);
        let mut file = open.map_err(self.disk.write_error(path))?;
        let layer = self.layer;
        let mut chunk = vec![0; 64 << 10];
        loop {
            let read = content.read(&mut chunk).map_err(|source| Error::Layer { layer, source })?;
            if read == 0 {
                break;
            }
            io::Write::write_all(&mut file, chunk.get(..read).unwrap_or_default())
                .map_err(self.disk.write_error(path))?;
            self.report.bytes += read as u64;
        }
        // Set the mode last: chown clears setuid and setgid.
        self.chown(path, entry)?;
        let mode = if self.disk.can_chown { entry.mode } else { entry.mode & 0o1777 };
        set_metadata(&file, mode, entry.mtime).map_err(self.disk.write_error(path))
    }

    /// Sets mode and mtime of all directories, deepest first.
    pub fn finish(mut self) -> Result<UnpackReport, Error> {
        for (path, (mode, mtime)) in self.disk.directories.iter().rev() {
            let open = File::open(self.disk.path(path));
            let mode = if self.disk.can_chown { *mode } else { *mode & 0o1777 };
            open.and_then(|file| set_metadata(&file, mode, *mtime)).map_err(self.disk.write_error(path))?;
        }
        self.finished = true;
        Ok(self.report)
    }
}

fn set_metadata(file: &File, mode: u32, mtime: i64) -> io::Result<()> {
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
        if !self.finished {
            let _ = fs::remove_dir_all(&self.disk.root);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::tar::{Entry, TarWriter};
    use crate::test_util::TempDir;

    fn layer(entries: &[(Entry, &str)]) -> Vec<u8> {
        let mut writer = TarWriter::new(Vec::new());
        for (entry, data) in entries {
            let size = if entry.kind == tar::EntryKind::File { data.len() as u64 } else { 0 };
            writer.append(&Entry { size, ..entry.clone() }, &mut data.as_bytes()).unwrap();
        }
        writer.finish().unwrap()
    }

    fn unpack_layers(root: &Path, layers: &[Vec<u8>], limits: ExtractLimits) -> Result<UnpackReport, Error> {
        let mut unpacker = Unpacker::new(root, limits)?;
        for layer in layers {
            unpacker.add_layer(layer.as_slice(), Some(&Digest::sha256(layer)))?;
        }
        unpacker.finish()
    }

    fn file(path: &str) -> Entry {
        Entry::file(path, 0o644, 0)
    }

    fn hard(path: &str, target: &str) -> Entry {
        Entry { kind: tar::EntryKind::HardLink, link: target.as_bytes().to_vec(), ..file(path) }
    }

    #[test]
    fn unpacks_layers() {
        let scratch = TempDir::new();
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
        let report = unpack_layers(&root, &layers, ExtractLimits::default()).unwrap();
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
        assert!(matches!(Unpacker::new(&root, ExtractLimits::default()), Err(Error::DestinationNotEmpty(_))));
        assert!(root.join("d/a").exists());
    }

    #[test]
    fn rejects_escapes_and_cleans_up() {
        let scratch = TempDir::new();
        fs::create_dir(scratch.path("outside")).unwrap();
        fs::write(scratch.path("outside/secret"), "secret").unwrap();
        let outside = scratch.path("outside").display().to_string();
        let limits = ExtractLimits { max_file_bytes: 0, max_unpacked_bytes: 1 << 20, max_entries: 50 };
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
            assert!(unpack_layers(&root, &[layer(&entries)], limits).is_err(), "{:?}", entries[0].0);
            assert!(!root.exists(), "the root is removed");
        }
        // Paths through symlinks stay inside the root.
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
        unpack_layers(&root, &[layer(&entries)], limits).unwrap();
        assert_eq!(fs::read_dir(scratch.path("outside")).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(scratch.path("outside/secret")).unwrap(), "secret");
        assert_eq!(fs::read_to_string(root.join("secret")).unwrap(), "mine");
        assert!(root.join("outside/new").exists());
    }

    #[test]
    fn skips_devices() {
        let scratch = TempDir::new();
        let mut data = layer(&[(file("dev/null"), "")]);
        data[156] = b'3';
        let sum: u64 = data[..512]
            .iter()
            .enumerate()
            .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u64::from(*byte) })
            .sum();
        data[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let report = unpack_layers(&scratch.path("root"), &[data], ExtractLimits::default()).unwrap();
        assert_eq!(report.devices_skipped, 1);
        assert!(!scratch.path("root/dev/null").exists());
    }
}
