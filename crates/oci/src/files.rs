//! The files of an image under some paths, in memory: a catalog's `/configs`, a bundle's `/manifests`.
//!
//! Layers are read one after the other, the lowest first; whiteouts and replacements count, everything else of the
//! image is passed over. Nothing is written to disk.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::Arc;

use crate::digest::Digest;
use crate::layer::LayerReader;
use crate::tar::{self, Reader};
use crate::tree::{self, Effects, Id, Kind, Place, ROOT, Tree};

/// Why the files of an image cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A layer cannot be read.
    #[error("layer {layer}: {source}")]
    Layer {
        /// Which, from 1.
        layer: usize,
        /// Why.
        source: io::Error,
    },
    /// An entry of a layer is refused.
    #[error("layer {layer}: {source}")]
    Entry {
        /// Which, from 1.
        layer: usize,
        /// Why.
        source: tree::Error,
    },
    /// There is more than may be kept.
    #[error("the files under {paths} have more than {limit} bytes")]
    Large {
        /// Which were asked for.
        paths: String,
        /// The limit.
        limit: u64,
    },
    /// A link to a file that was not asked for.
    #[error("{path:?} is a hard link to a file outside of {paths}")]
    Outside {
        /// The link.
        path: String,
        /// Which were asked for.
        paths: String,
    },
}

/// How much may be read and kept.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of all files that are kept.
    pub kept: u64,
    /// Bytes that all layers together unpack to.
    pub unpacked: u64,
    /// Entries of all layers.
    pub entries: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { kept: 512 << 20, unpacked: 16 << 30, entries: 1_000_000 }
    }
}

/// A file of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its rights.
    pub mode: u32,
    /// Its content.
    pub data: Arc<[u8]>,
}

/// Files by path, without a slash in front: `configs/catalog.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// The files.
    pub files: BTreeMap<String, File>,
    /// Symbolic links, and what they say.
    pub links: BTreeMap<String, String>,
}

impl Files {
    /// The files below a directory, by their path from there.
    pub fn below(&self, directory: &str) -> impl Iterator<Item = (&str, &File)> {
        let prefix = clean(directory);
        let prefix = if prefix.is_empty() { prefix } else { prefix + "/" };
        self.files.iter().filter_map(move |(path, file)| Some((path.strip_prefix(&prefix)?, file)))
    }
}

fn clean(path: &str) -> String {
    path.split('/').filter(|part| !matches!(*part, "" | ".")).collect::<Vec<_>>().join("/")
}

/// Takes layers, the lowest first, and keeps what is under some paths.
pub struct Collector {
    tree: Tree<Content>,
    paths: Vec<String>,
    limits: Limits,
    kept: u64,
    left: u64,
    layer: usize,
    seen: usize,
}

/// Nothing for a file that was not asked for.
type Content = Option<File>;

struct Silent;

impl Effects for Silent {
    type Error = tree::Error;
    fn directory(&mut self, _: &[u8]) -> Result<(), tree::Error> {
        Ok(())
    }
    fn removed(&mut self, _: &[u8], _: bool) -> Result<(), tree::Error> {
        Ok(())
    }
}

impl Collector {
    /// For these paths, each a file or a directory; `/` is everything.
    pub fn new(paths: &[&str], limits: Limits) -> Self {
        Self {
            tree: Tree::new(limits.entries),
            paths: paths.iter().map(|path| clean(path)).collect(),
            limits,
            kept: 0,
            left: limits.unpacked,
            layer: 0,
            seen: 0,
        }
    }

    fn wanted(&self, path: &[u8]) -> bool {
        self.paths.iter().any(|wanted| {
            let rest = path.strip_prefix(wanted.as_bytes());
            wanted.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        })
    }

    fn asked(&self) -> String {
        self.paths.iter().map(|path| format!("/{path}")).collect::<Vec<_>>().join(", ")
    }

    /// Takes the next layer: a blob, compressed or not. With `diff_id`, it has to unpack to that. Read to its end.
    pub fn layer(&mut self, blob: impl Read, diff_id: Option<&Digest>) -> Result<(), Error> {
        self.layer += 1;
        self.tree.next_layer();
        let layer = self.layer;
        let failed = |source| Error::Layer { layer, source };
        let mut reader = Reader::new(LayerReader::new(blob, self.left, diff_id).map_err(failed)?);
        while let Some(entry) = reader.next_entry().map_err(failed)? {
            self.entry(&entry, &mut reader)?;
        }
        let (mut blob, left) = reader.into_inner().finish().map_err(failed)?;
        // What follows a compressed stream belongs to the blob too, and is part of its digest.
        io::copy(&mut blob, &mut io::sink()).map_err(failed)?;
        self.left = left;
        Ok(())
    }

    fn entry(&mut self, entry: &tar::Entry, content: &mut impl Read) -> Result<(), Error> {
        let layer = self.layer;
        let refused = |source| Error::Entry { layer, source };
        self.seen += 1;
        if self.seen > self.limits.entries {
            return Err(refused(tree::Error::Many(self.limits.entries)));
        }
        let Place::Put(parent, name) = self.tree.place(&entry.path, &mut Silent).map_err(refused)? else {
            return Ok(());
        };
        let at = self.tree.path(parent);
        let path = if at.is_empty() { name.clone() } else { [at, name.clone()].join(&b'/') };
        let kind = match entry.kind {
            tar::Kind::Directory => Kind::Directory,
            tar::Kind::Symlink => Kind::Symlink(entry.link.clone()),
            tar::Kind::Special => Kind::File(None),
            tar::Kind::File if self.wanted(&path) => {
                self.kept = self.kept.saturating_add(entry.size);
                if self.kept > self.limits.kept {
                    return Err(Error::Large { paths: self.asked(), limit: self.limits.kept });
                }
                let mut data = Vec::new();
                content.read_to_end(&mut data).map_err(|source| Error::Layer { layer, source })?;
                Kind::File(Some(File { mode: entry.mode, data: data.into() }))
            }
            tar::Kind::File => Kind::File(None),
            tar::Kind::HardLink => {
                let target = self.tree.target(&entry.link, &entry.path, &mut Silent).map_err(refused)?;
                match self.tree.kind(target) {
                    Some(Kind::File(None)) if self.wanted(&path) => {
                        let path = String::from_utf8_lossy(&path).into_owned();
                        return Err(Error::Outside { path, paths: self.asked() });
                    }
                    Some(kind) => kind.clone(),
                    None => return Ok(()),
                }
            }
        };
        let directory = kind == Kind::Directory;
        if self.tree.make_room(parent, &name, directory, &mut Silent).map_err(refused)?.is_none() {
            let many = || refused(tree::Error::Many(self.limits.entries));
            self.tree.put(parent, &name, kind).ok_or_else(many)?;
        }
        Ok(())
    }

    /// What there is after all layers.
    pub fn finish(self) -> Files {
        let mut found = Files::default();
        let mut todo: Vec<Id> = vec![ROOT];
        while let Some(at) = todo.pop() {
            for (_, id) in self.tree.children(at) {
                // A name that is not UTF-8 is none that a catalog or bundle has.
                let path = || String::from_utf8(self.tree.path(id)).ok();
                match self.tree.kind(id) {
                    Some(Kind::Directory) => todo.push(id),
                    Some(Kind::File(Some(file))) => {
                        let wanted = path().filter(|path| self.wanted(path.as_bytes()));
                        found.files.extend(wanted.map(|path| (path, file.clone())));
                    }
                    Some(Kind::Symlink(target)) => {
                        let target = String::from_utf8_lossy(target).into_owned();
                        let wanted = path().filter(|path| self.wanted(path.as_bytes()));
                        found.links.extend(wanted.map(|path| (path, target)));
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
    use crate::tar::{Entry, Writer};

    fn layer(entries: &[(Entry, &str)]) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new());
        for (entry, data) in entries {
            let entry = Entry {
                size: if entry.kind == tar::Kind::File { data.len() as u64 } else { 0 },
                ..entry.clone()
            };
            writer.entry(&entry, &mut data.as_bytes()).unwrap();
        }
        writer.finish().unwrap()
    }

    fn file(path: &str) -> Entry {
        Entry::file(path, 0o644, 0)
    }

    fn hard(path: &str, target: &str) -> Entry {
        Entry { kind: tar::Kind::HardLink, link: target.as_bytes().to_vec(), ..file(path) }
    }

    fn collect(paths: &[&str], layers: &[Vec<u8>], limits: Limits) -> Result<Vec<(String, String)>, Error> {
        let mut collector = Collector::new(paths, limits);
        for layer in layers {
            collector.layer(layer.as_slice(), Some(&Digest::of(layer)))?;
        }
        let text = |file: &File| String::from_utf8_lossy(&file.data).into_owned();
        Ok(collector.finish().files.iter().map(|(path, file)| (path.clone(), text(file))).collect())
    }

    #[test]
    fn upper_layers_hide_lower_ones() {
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
        let found = collect(&["/configs"], &layers, Limits::default()).unwrap();
        let expected = [("configs/a", "2"), ("configs/d/f", "3"), ("configs/h", "2")];
        assert_eq!(found, expected.map(|(path, data)| (path.to_owned(), data.to_owned())));
        assert_eq!(collect(&["configs/a"], &layers, Limits::default()).unwrap().len(), 1);
        assert_eq!(collect(&["conf"], &layers, Limits::default()).unwrap(), []);
        assert_eq!(collect(&["/"], &layers, Limits::default()).unwrap().len(), 4);
    }

    #[test]
    fn limits_and_tricks_end_in_errors() {
        let limits = Limits { kept: 5, unpacked: 1 << 20, entries: 10 };
        assert!(matches!(
            collect(&["a"], &[layer(&[(file("a"), "123456")])], limits),
            Err(Error::Large { .. })
        ));
        assert!(collect(&["b"], &[layer(&[(file("a"), "123456")])], limits).is_ok());
        let many: Vec<(Entry, &str)> = (0..11).map(|n| (file(&n.to_string()), "")).collect();
        assert!(matches!(collect(&["x"], &[layer(&many)], limits), Err(Error::Entry { .. })));
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
            assert!(collect(&["configs"], &[layer(&entries)], Limits::default()).is_err());
        }
    }

    #[test]
    fn below_a_directory() {
        let layers = layer(&[(file("configs/a/b"), "1"), (file("configs.yaml"), "1")]);
        let mut collector = Collector::new(&["/"], Limits::default());
        collector.layer(layers.as_slice(), None).unwrap();
        let files = collector.finish();
        assert_eq!(files.below("/configs/").map(|(path, _)| path).collect::<Vec<_>>(), ["a/b"]);
        assert_eq!(files.below("/").count(), 2);
    }
}
