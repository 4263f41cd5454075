//! The file tree of an image, in memory. Every path is resolved inside the root before anything is written or kept,
//! so no path, link or whiteout of a layer escapes the root.

use std::collections::BTreeMap;

/// A layer entry that is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The path is invalid.
    #[error("the path {path:?} {reason}")]
    InvalidPath {
        /// The path.
        path: String,
        /// The violated rule.
        reason: &'static str,
    },
    /// The path passes through too many symlinks.
    #[error("the path {0:?} goes through too many links")]
    SymlinkLoop(String),
    /// The target of a hard link is not a file of the image.
    #[error("{path:?} is a hard link to {target:?}, which is not a file of the image")]
    InvalidHardLink {
        /// The link.
        path: String,
        /// The target.
        target: String,
    },
    /// The image has too many entries.
    #[error("the image has more than {0} entries")]
    TooManyEntries(usize),
}

const MAX_PATH: usize = 4096;
const MAX_COMPONENT: usize = 255;
const MAX_SYMLINKS: usize = 64;
const WHITEOUT_PREFIX: &[u8] = b".wh.";
const OPAQUE_WHITEOUT: &[u8] = b".wh..wh..opq";

/// Index of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(usize);

/// The type of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind<T> {
    Directory,
    File(T),
    Symlink(Vec<u8>),
}

struct Node<T> {
    kind: NodeKind<T>,
    children: BTreeMap<Vec<u8>, NodeId>,
    parent: NodeId,
    name: Vec<u8>,
    /// The last layer that modified the node or a descendant.
    touched: u32,
}

/// The effect of a layer entry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ResolvedEntry {
    /// The entry is the root directory.
    Root,
    /// The entry is a child of a directory.
    Child(NodeId, Vec<u8>),
    /// The entry was a whiteout and has been applied.
    Whiteout,
}

pub(crate) struct FileTree<T> {
    nodes: Vec<Node<T>>,
    layer: u32,
    limit: usize,
}

pub(crate) const ROOT: NodeId = NodeId(0);

fn lossy(path: &[u8]) -> String {
    String::from_utf8_lossy(path.get(..200).unwrap_or(path)).into_owned()
}

/// Splits a path into components and drops `.`; rejects `..` and invalid names.
fn components(path: &[u8]) -> Result<Vec<&[u8]>, Error> {
    let invalid = |reason| Error::InvalidPath { path: lossy(path), reason };
    if path.len() > MAX_PATH {
        return Err(invalid("is longer than 4096 bytes"));
    }
    let mut components = Vec::new();
    for component in path.split(|byte| *byte == b'/') {
        match component {
            b"" | b"." => {}
            b".." => return Err(invalid("has .. in it")),
            component if component.contains(&0) => return Err(invalid("has a zero byte in it")),
            component if component.len() > MAX_COMPONENT => {
                return Err(invalid("has a component that is longer than 255 bytes"));
            }
            component => components.push(component),
        }
    }
    Ok(components)
}

/// Receives the changes of a tree.
pub(crate) trait TreeEffects {
    type Error: From<Error>;
    /// A missing parent directory was created.
    fn created_directory(&mut self, path: &[u8]) -> Result<(), Self::Error>;
    /// A path and its descendants were removed.
    fn removed(&mut self, path: &[u8], directory: bool) -> Result<(), Self::Error>;
}

impl<T> FileTree<T> {
    /// Creates a tree with an empty root and a maximum number of nodes.
    pub(crate) fn new(limit: usize) -> Self {
        let root = Node {
            kind: NodeKind::Directory,
            children: BTreeMap::new(),
            parent: ROOT,
            name: Vec::new(),
            touched: 0,
        };
        Self { nodes: vec![root], layer: 1, limit }
    }

    /// Starts the next layer.
    pub(crate) fn next_layer(&mut self) {
        self.layer += 1;
    }

    fn node(&self, id: NodeId) -> Option<&Node<T>> {
        self.nodes.get(id.0)
    }

    pub(crate) fn kind(&self, id: NodeId) -> Option<&NodeKind<T>> {
        self.node(id).map(|node| &node.kind)
    }

    pub(crate) fn child(&self, id: NodeId, name: &[u8]) -> Option<NodeId> {
        self.node(id)?.children.get(name).copied()
    }

    pub(crate) fn children(&self, id: NodeId) -> impl Iterator<Item = (&[u8], NodeId)> {
        self.node(id)
            .into_iter()
            .flat_map(|node| node.children.iter().map(|(name, id)| (name.as_slice(), *id)))
    }

    /// The path of a node, without a leading slash.
    pub(crate) fn path(&self, mut id: NodeId) -> Vec<u8> {
        let mut names = Vec::new();
        while let Some(node) = self.node(id).filter(|_| id != ROOT) {
            names.push(node.name.as_slice());
            id = node.parent;
        }
        names.reverse();
        names.join(&b'/')
    }

    /// Resolves the path of an entry. Creates missing parent directories, follows symlinks inside the root, and
    /// applies whiteouts.
    pub(crate) fn resolve<E: TreeEffects>(
        &mut self,
        path: &[u8],
        effects: &mut E,
    ) -> Result<ResolvedEntry, E::Error> {
        let components = components(path)?;
        let Some((name, parents)) = components.split_last() else { return Ok(ResolvedEntry::Root) };
        let parent = self.resolve_parent(path, parents, effects)?;
        if *name == OPAQUE_WHITEOUT {
            self.apply_opaque_whiteout(parent, effects)?;
            return Ok(ResolvedEntry::Whiteout);
        }
        let Some(hidden) = name.strip_prefix(WHITEOUT_PREFIX) else {
            return Ok(ResolvedEntry::Child(parent, name.to_vec()));
        };
        // Other AUFS metadata entries are ignored.
        if hidden.starts_with(WHITEOUT_PREFIX) {
            return Ok(ResolvedEntry::Whiteout);
        }
        if matches!(hidden, b"" | b"." | b"..") {
            return Err(Error::InvalidPath {
                path: lossy(path),
                reason: "is a whiteout without a valid name",
            }
            .into());
        }
        if let Some(id) = self.child(parent, hidden) {
            self.apply_whiteout(parent, hidden, id, effects)?;
        }
        Ok(ResolvedEntry::Whiteout)
    }

    /// Resolves `parents` to a directory, follows symlinks and creates missing directories.
    fn resolve_parent<E: TreeEffects>(
        &mut self,
        path: &[u8],
        parents: &[&[u8]],
        effects: &mut E,
    ) -> Result<NodeId, E::Error> {
        let mut pending: Vec<Vec<u8>> = parents.iter().rev().map(|component| component.to_vec()).collect();
        let mut current = ROOT;
        let mut symlinks = 0;
        while let Some(component) = pending.pop() {
            match component.as_slice() {
                b"" | b"." => continue,
                // `..` in a symlink stops at the root, as in a chroot.
                b".." => {
                    current = self.node(current).map_or(ROOT, |node| node.parent);
                    continue;
                }
                _ => {}
            }
            let next = match self.child(current, &component) {
                Some(next) => next,
                None => {
                    let next = self
                        .insert(current, &component, NodeKind::Directory)
                        .ok_or(Error::TooManyEntries(self.limit))?;
                    effects.created_directory(&self.path(next))?;
                    next
                }
            };
            match self.node(next).map(|node| &node.kind) {
                Some(NodeKind::Directory) => current = next,
                Some(NodeKind::Symlink(target)) => {
                    symlinks += 1;
                    if symlinks > MAX_SYMLINKS || pending.len() > MAX_PATH {
                        return Err(Error::SymlinkLoop(lossy(path)).into());
                    }
                    if target.starts_with(b"/") {
                        current = ROOT;
                    }
                    pending.extend(target.split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec));
                }
                _ => {
                    return Err(
                        Error::InvalidPath { path: lossy(path), reason: "goes through a file" }.into()
                    );
                }
            }
        }
        Ok(current)
    }

    /// Removes an existing entry unless both are directories; returns the kept directory.
    pub(crate) fn replace_existing<E: TreeEffects>(
        &mut self,
        parent: NodeId,
        name: &[u8],
        directory: bool,
        effects: &mut E,
    ) -> Result<Option<NodeId>, E::Error> {
        let Some(id) = self.child(parent, name) else { return Ok(None) };
        let is_directory = matches!(self.kind(id), Some(NodeKind::Directory));
        if is_directory && directory {
            self.touch(id);
            return Ok(Some(id));
        }
        self.remove(parent, name, id, effects)?;
        Ok(None)
    }

    /// Inserts a node; `None` at the node limit.
    pub(crate) fn insert(&mut self, parent: NodeId, name: &[u8], kind: NodeKind<T>) -> Option<NodeId> {
        if self.nodes.len() >= self.limit {
            return None;
        }
        let id = NodeId(self.nodes.len());
        let node = Node { kind, children: BTreeMap::new(), parent, name: name.to_vec(), touched: self.layer };
        self.nodes.push(node);
        self.nodes.get_mut(parent.0)?.children.insert(name.to_vec(), id);
        self.touch(parent);
        Some(id)
    }

    fn touch(&mut self, mut id: NodeId) {
        while let Some(node) = self.nodes.get_mut(id.0) {
            // The ancestors of a touched node are touched already.
            if node.touched == self.layer || id == ROOT {
                break;
            }
            node.touched = self.layer;
            id = node.parent;
        }
    }

    /// Resolves the target of a hard link. Symlinks are followed except in the last component.
    pub(crate) fn resolve_hard_link<E: TreeEffects>(
        &mut self,
        link: &[u8],
        path: &[u8],
        effects: &mut E,
    ) -> Result<NodeId, E::Error> {
        let invalid = || Error::InvalidHardLink { path: lossy(path), target: lossy(link) };
        let components = components(link)?;
        let (name, parents) = components.split_last().ok_or_else(invalid)?;
        let parent = self.resolve_parent(link, parents, effects)?;
        let id = self.child(parent, name).ok_or_else(invalid)?;
        match self.kind(id) {
            Some(NodeKind::File(_)) => Ok(id),
            _ => Err(invalid().into()),
        }
    }

    /// Applies a whiteout: removes only content of lower layers.
    fn apply_whiteout<E: TreeEffects>(
        &mut self,
        parent: NodeId,
        name: &[u8],
        id: NodeId,
        effects: &mut E,
    ) -> Result<(), E::Error> {
        match self.node(id) {
            Some(node) if node.touched == self.layer => match node.kind {
                NodeKind::Directory => self.apply_opaque_whiteout(id, effects),
                _ => Ok(()),
            },
            _ => self.remove(parent, name, id, effects),
        }
    }

    /// Applies an opaque whiteout: removes content of lower layers from a directory.
    fn apply_opaque_whiteout<E: TreeEffects>(
        &mut self,
        directory: NodeId,
        effects: &mut E,
    ) -> Result<(), E::Error> {
        let mut pending = vec![directory];
        while let Some(current) = pending.pop() {
            let children: Vec<(Vec<u8>, NodeId)> =
                self.children(current).map(|(name, id)| (name.to_vec(), id)).collect();
            for (name, id) in children {
                if self.node(id).is_some_and(|node| node.touched == self.layer) {
                    pending.push(id);
                } else {
                    self.remove(current, &name, id, effects)?;
                }
            }
        }
        Ok(())
    }

    fn remove<E: TreeEffects>(
        &mut self,
        parent: NodeId,
        name: &[u8],
        id: NodeId,
        effects: &mut E,
    ) -> Result<(), E::Error> {
        let directory = matches!(self.kind(id), Some(NodeKind::Directory));
        let path = self.path(id);
        if let Some(parent) = self.nodes.get_mut(parent.0) {
            parent.children.remove(name);
        }
        effects.removed(&path, directory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Log(Vec<String>);

    impl TreeEffects for Log {
        type Error = Error;
        fn created_directory(&mut self, path: &[u8]) -> Result<(), Error> {
            self.0.push(format!("+{}", lossy(path)));
            Ok(())
        }
        fn removed(&mut self, path: &[u8], _: bool) -> Result<(), Error> {
            self.0.push(format!("-{}", lossy(path)));
            Ok(())
        }
    }

    fn insert(tree: &mut FileTree<()>, path: &str, kind: NodeKind<()>) -> Result<String, Error> {
        let mut log = Log::default();
        match tree.resolve(path.as_bytes(), &mut log)? {
            ResolvedEntry::Child(parent, name) => {
                let directory = kind == NodeKind::Directory;
                let id = match tree.replace_existing(parent, &name, directory, &mut log)? {
                    Some(id) => id,
                    None => tree.insert(parent, &name, kind).ok_or(Error::TooManyEntries(0))?,
                };
                log.0.push(lossy(&tree.path(id)));
            }
            other => log.0.push(format!("{other:?}")),
        }
        Ok(log.0.join(" "))
    }

    #[test]
    fn paths_resolve_inside_root() {
        let tree = &mut FileTree::new(1000);
        for path in [
            "../a",
            "a/../../b",
            "a/..",
            "/../x",
            "a/\0b",
            &"x".repeat(256),
            &"a/".repeat(3000),
            ".wh.",
            ".wh..",
            ".wh...",
        ] {
            assert!(insert(tree, path, NodeKind::File(())).is_err(), "{path}");
        }
        insert(tree, "out", NodeKind::Symlink(b"/etc".to_vec())).unwrap();
        insert(tree, "up", NodeKind::Symlink(b"../../../../tmp".to_vec())).unwrap();
        assert_eq!(insert(tree, "out/passwd", NodeKind::File(())).unwrap(), "+etc etc/passwd");
        assert_eq!(insert(tree, "./up/x", NodeKind::File(())).unwrap(), "+tmp tmp/x");
        insert(tree, "l1", NodeKind::Symlink(b"l2".to_vec())).unwrap();
        insert(tree, "l2", NodeKind::Symlink(b"l1".to_vec())).unwrap();
        assert!(matches!(insert(tree, "l1/x", NodeKind::File(())), Err(Error::SymlinkLoop(_))));
        insert(tree, "grow", NodeKind::Symlink(b"grow/grow/grow".to_vec())).unwrap();
        assert!(insert(tree, "grow/x", NodeKind::File(())).is_err());
        assert!(insert(tree, "etc/passwd/x", NodeKind::File(())).is_err());
        // A symlink itself is replaced, not its target.
        assert_eq!(insert(tree, "out", NodeKind::File(())).unwrap(), "-out out");
        assert_eq!(insert(tree, "/", NodeKind::Directory).unwrap(), "Root");
    }

    #[test]
    fn whiteouts_hide_lower_layers_only() {
        let tree = &mut FileTree::new(1000);
        for path in ["d/a", "d/b", "d/s/x", "e"] {
            insert(tree, path, NodeKind::File(())).unwrap();
        }
        tree.next_layer();
        assert_eq!(insert(tree, "d/s/new", NodeKind::File(())).unwrap(), "d/s/new");
        insert(tree, "d/b", NodeKind::File(())).unwrap();
        assert_eq!(insert(tree, "d/.wh..wh..opq", NodeKind::File(())).unwrap(), "-d/a -d/s/x Whiteout");
        assert_eq!(insert(tree, ".wh.e", NodeKind::File(())).unwrap(), "-e Whiteout");
        assert_eq!(insert(tree, "d/.wh.b", NodeKind::File(())).unwrap(), "Whiteout");
        assert_eq!(insert(tree, ".wh.missing", NodeKind::File(())).unwrap(), "Whiteout");
        assert_eq!(insert(tree, ".wh..wh.plnk", NodeKind::File(())).unwrap(), "Whiteout");
        tree.next_layer();
        assert_eq!(insert(tree, "d", NodeKind::File(())).unwrap(), "-d d");
        let remaining: Vec<String> = tree.children(ROOT).map(|(name, _)| lossy(name)).collect();
        assert_eq!(remaining, ["d"]);
    }

    #[test]
    fn limits_node_count() {
        let tree = &mut FileTree::new(10);
        for number in 0..9 {
            insert(tree, &number.to_string(), NodeKind::File(())).unwrap();
        }
        assert!(insert(tree, "one-more", NodeKind::File(())).is_err());
        assert!(insert(tree, "a/b", NodeKind::File(())).is_err());
    }
}
