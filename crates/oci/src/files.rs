//! Files of an image under selected paths, in memory: a catalog's `/configs`, a bundle's `/manifests`.
//!
//! Layers are applied from the lowest up, including whiteouts and replacements. Other files of the image are skipped,
//! and nothing is written to disk.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::Arc;

use crate::digest::Digest;
use crate::layer::LayerReader;
use crate::tar::{self, TarReader};
use crate::tree::{self, FileTree, NodeId, NodeKind, ROOT, ResolvedEntry, TreeEffects};

/// An image whose files cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A layer cannot be read.
    #[error("layer {layer}: {source}")]
    Layer {
        /// Layer number, from 1.
        layer: usize,
        /// The cause.
        source: io::Error,
    },
    /// A layer has an invalid entry.
    #[error("layer {layer}: {source}")]
    Entry {
        /// Layer number, from 1.
        layer: usize,
        /// The cause.
        source: tree::Error,
    },
    /// The selected files exceed the size limit.
    #[error("the files under {paths} have more than {limit} bytes")]
    TooLarge {
        /// The selected paths.
        paths: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// A selected path is a hard link to a file outside the selected paths.
    #[error("{path:?} is a hard link to a file outside of {paths}")]
    LinkOutsidePaths {
        /// The link.
        path: String,
        /// The selected paths.
        paths: String,
    },
}

/// Limits for reading and unpacking images.
#[derive(Clone, Copy, Debug)]
pub struct ExtractLimits {
    /// Maximum size of all collected files in bytes.
    pub max_file_bytes: u64,
    /// Maximum uncompressed size of all layers in bytes.
    pub max_unpacked_bytes: u64,
    /// Maximum number of entries in all layers.
    pub max_entries: usize,
}

impl Default for ExtractLimits {
    fn default() -> Self {
        Self { max_file_bytes: 512 << 20, max_unpacked_bytes: 16 << 30, max_entries: 1_000_000 }
    }
}

/// A file of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFile {
    /// Permission bits.
    pub mode: u32,
    /// Content.
    pub data: Arc<[u8]>,
}

/// Files by path without a leading slash: `configs/catalog.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageFiles {
    /// Regular files.
    pub files: BTreeMap<String, ImageFile>,
    /// Symbolic links and their targets.
    pub links: BTreeMap<String, String>,
}

impl ImageFiles {
    /// The files under a directory, by relative path.
    pub fn files_under(&self, directory: &str) -> impl Iterator<Item = (&str, &ImageFile)> {
        let prefix = normalize_path(directory);
        let prefix = if prefix.is_empty() { prefix } else { prefix + "/" };
        self.files.iter().filter_map(move |(path, file)| Some((path.strip_prefix(&prefix)?, file)))
    }
}

fn normalize_path(path: &str) -> String {
    path.split('/').filter(|part| !matches!(*part, "" | ".")).collect::<Vec<_>>().join("/")
}

/// Applies layers, lowest first, and keeps the files under the selected paths.
pub struct FileCollector {
    tree: FileTree<FileContent>,
    paths: Vec<String>,
    limits: ExtractLimits,
    kept_bytes: u64,
    remaining: u64,
    layer: usize,
    entries_seen: usize,
}

/// `None` for files outside the selected paths.
type FileContent = Option<ImageFile>;

struct NoEffects;

impl TreeEffects for NoEffects {
    type Error = tree::Error;
    fn created_directory(&mut self, _: &[u8]) -> Result<(), tree::Error> {
        Ok(())
    }
    fn removed(&mut self, _: &[u8], _: bool) -> Result<(), tree::Error> {
        Ok(())
    }
}

impl FileCollector {
    /// Selects paths, each a file or a directory; `/` selects everything.
    pub fn new(paths: &[&str], limits: ExtractLimits) -> Self {
        Self {
            tree: FileTree::new(limits.max_entries),
            paths: paths.iter().map(|path| normalize_path(path)).collect(),
            limits,
            kept_bytes: 0,
            remaining: limits.max_unpacked_bytes,
            layer: 0,
            entries_seen: 0,
        }
    }

    fn is_selected(&self, path: &[u8]) -> bool {
        self.paths.iter().any(|selected| {
            let rest = path.strip_prefix(selected.as_bytes());
            selected.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        })
    }

    fn selected_paths(&self) -> String {
        self.paths.iter().map(|path| format!("/{path}")).collect::<Vec<_>>().join(", ")
    }

    /// Applies the next layer, compressed or not, and verifies it against `diff_id` if given. Reads the blob to its
    /// end.
    pub fn add_layer(&mut self, blob: impl Read, diff_id: Option<&Digest>) -> Result<(), Error> {
        self.layer += 1;
        self.tree.next_layer();
        let layer = self.layer;
        let failed = |source| Error::Layer { layer, source };
        let mut reader = TarReader::new(LayerReader::new(blob, self.remaining, diff_id).map_err(failed)?);
        while let Some(entry) = reader.next_entry().map_err(failed)? {
            self.apply_entry(&entry, &mut reader)?;
        }
        let (mut blob, remaining) = reader.into_inner().finish().map_err(failed)?;
        // Trailing data after the compressed stream is part of the blob and its digest.
        io::copy(&mut blob, &mut io::sink()).map_err(failed)?;
        self.remaining = remaining;
        Ok(())
    }

    fn apply_entry(&mut self, entry: &tar::Entry, content: &mut impl Read) -> Result<(), Error> {
        let layer = self.layer;
        let rejected = |source| Error::Entry { layer, source };
        self.entries_seen += 1;
        if self.entries_seen > self.limits.max_entries {
            return Err(rejected(tree::Error::TooManyEntries(self.limits.max_entries)));
        }
        let ResolvedEntry::Child(parent, name) =
            self.tree.resolve(&entry.path, &mut NoEffects).map_err(rejected)?
        else {
            return Ok(());
        };
        let parent_path = self.tree.path(parent);
        let path =
            if parent_path.is_empty() { name.clone() } else { [parent_path, name.clone()].join(&b'/') };
        let kind = match entry.kind {
            tar::EntryKind::Directory => NodeKind::Directory,
            tar::EntryKind::Symlink => NodeKind::Symlink(entry.link.clone()),
            tar::EntryKind::Special => NodeKind::File(None),
            tar::EntryKind::File if self.is_selected(&path) => {
                self.kept_bytes = self.kept_bytes.saturating_add(entry.size);
                if self.kept_bytes > self.limits.max_file_bytes {
                    return Err(Error::TooLarge {
                        paths: self.selected_paths(),
                        limit: self.limits.max_file_bytes,
                    });
                }
                let mut data = Vec::new();
                content.read_to_end(&mut data).map_err(|source| Error::Layer { layer, source })?;
                NodeKind::File(Some(ImageFile { mode: entry.mode, data: data.into() }))
            }
            tar::EntryKind::File => NodeKind::File(None),
            tar::EntryKind::HardLink => {
                let target = self
                    .tree
                    .resolve_hard_link(&entry.link, &entry.path, &mut NoEffects)
                    .map_err(rejected)?;
                match self.tree.kind(target) {
                    Some(NodeKind::File(None)) if self.is_selected(&path) => {
                        let path = String::from_utf8_lossy(&path).into_owned();
                        return Err(Error::LinkOutsidePaths { path, paths: self.selected_paths() });
                    }
                    Some(kind) => kind.clone(),
                    None => return Ok(()),
                }
            }
        };
        let directory = kind == NodeKind::Directory;
        if self.tree.replace_existing(parent, &name, directory, &mut NoEffects).map_err(rejected)?.is_none() {
            let too_many = || rejected(tree::Error::TooManyEntries(self.limits.max_entries));
            self.tree.insert(parent, &name, kind).ok_or_else(too_many)?;
        }
        Ok(())
    }

    /// Returns the files after all layers.
    pub fn finish(self) -> ImageFiles {
        let mut found = ImageFiles::default();
        let mut pending: Vec<NodeId> = vec![ROOT];
        while let Some(directory) = pending.pop() {
            for (_, id) in self.tree.children(directory) {
                // Catalogs and bundles have no file names outside UTF-8.
                let path = || String::from_utf8(self.tree.path(id)).ok();
                match self.tree.kind(id) {
                    Some(NodeKind::Directory) => pending.push(id),
                    Some(NodeKind::File(Some(file))) => {
                        let selected = path().filter(|path| self.is_selected(path.as_bytes()));
                        found.files.extend(selected.map(|path| (path, file.clone())));
                    }
                    Some(NodeKind::Symlink(target)) => {
                        let target = String::from_utf8_lossy(target).into_owned();
                        let selected = path().filter(|path| self.is_selected(path.as_bytes()));
                        found.links.extend(selected.map(|path| (path, target)));
                    }
                    _ => {}
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tar::{Entry, TarWriter};

    fn layer(entries: &[(Entry, &str)]) -> Vec<u8> {
        let mut writer = TarWriter::new(Vec::new());
        for (entry, data) in entries {
            let entry = Entry {
                size: if entry.kind == tar::EntryKind::File { data.len() as u64 } else { 0 },
                ..entry.clone()
            };
            writer.append(&entry, &mut data.as_bytes()).unwrap();
        }
        writer.finish().unwrap()
    }

    fn file(path: &str) -> Entry {
        Entry::file(path, 0o644, 0)
    }

    fn hard(path: &str, target: &str) -> Entry {
        Entry { kind: tar::EntryKind::HardLink, link: target.as_bytes().to_vec(), ..file(path) }
    }

    fn collect(
        paths: &[&str],
        layers: &[Vec<u8>],
        limits: ExtractLimits,
    ) -> Result<Vec<(String, String)>, Error> {
        let mut collector = FileCollector::new(paths, limits);
        for layer in layers {
            collector.add_layer(layer.as_slice(), Some(&Digest::sha256(layer)))?;
        }
        let text = |file: &ImageFile| String::from_utf8_lossy(&file.data).into_owned();
        Ok(collector.finish().files.iter().map(|(path, file)| (path.clone(), text(file))).collect())
    }

    #[test]
    fn upper_layers_replace_and_hide_files() {
        let layers = [
            layer(&[
                (file("configs/a"), "1"),
                (file("configs/b"), "1"),
                (file("etc/x"), "no"),
                (file("configs/d/e"), "1"),
            ]),
            layer(&[
                (file("configs/a"), "2"),
                (file("configs/.wh.b"), ""),
                (hard("./configs/h", "configs/a"), ""),
            ]),
            layer(&[(file("/configs/d/.wh..wh..opq"), ""), (file("configs/d/f"), "3")]),
        ];
        let found = collect(&["/configs"], &layers, ExtractLimits::default()).unwrap();
        let expected = [("configs/a", "2"), ("configs/d/f", "3"), ("configs/h", "2")];
        assert_eq!(found, expected.map(|(path, data)| (path.to_owned(), data.to_owned())));
        assert_eq!(collect(&["configs/a"], &layers, ExtractLimits::default()).unwrap().len(), 1);
        assert_eq!(collect(&["conf"], &layers, ExtractLimits::default()).unwrap(), []);
        assert_eq!(collect(&["/"], &layers, ExtractLimits::default()).unwrap().len(), 4);
    }

    #[test]
    fn enforces_limits_and_rejects_escapes() {
        let limits = ExtractLimits { max_file_bytes: 5, max_unpacked_bytes: 1 << 20, max_entries: 10 };
        assert!(matches!(
            collect(&["a"], &[layer(&[(file("a"), "123456")])], limits),
            Err(Error::TooLarge { .. })
        ));
        assert!(collect(&["b"], &[layer(&[(file("a"), "123456")])], limits).is_ok());
        let too_many: Vec<(Entry, &str)> = (0..11).map(|n| (file(&n.to_string()), "")).collect();
        assert!(matches!(collect(&["x"], &[layer(&too_many)], limits), Err(Error::Entry { .. })));
        let same: Vec<(Entry, &str)> = (0..11).map(|_| (file("x"), "")).collect();
        assert!(collect(&["x"], &[layer(&same)], limits).is_err());
        let bomb = layer(&[(file("x"), &"0".repeat(2 << 20))]);
        assert!(collect(&["y"], &[bomb], limits).is_err());
        for entries in [
            vec![(file("../x"), "")],
            vec![(hard("h", "/etc/passwd"), "")],
            vec![(hard("h", "../../etc/passwd"), "")],
            vec![(file("x"), "s"), (hard("configs/h", "x"), "")],
            vec![(Entry::symlink("s", "/etc/passwd"), ""), (hard("configs/h", "s"), "")],
        ] {
            assert!(collect(&["configs"], &[layer(&entries)], ExtractLimits::default()).is_err());
        }
    }

    #[test]
    fn files_under_directory() {
        let layers = layer(&[(file("configs/a/b"), "1"), (file("configs.yaml"), "1")]);
        let mut collector = FileCollector::new(&["/"], ExtractLimits::default());
        collector.add_layer(layers.as_slice(), None).unwrap();
        let files = collector.finish();
        assert_eq!(files.files_under("/configs/").map(|(path, _)| path).collect::<Vec<_>>(), ["a/b"]);
        assert_eq!(files.files_under("/").count(), 2);
    }
}
