//! What layers make of a file system, in memory: every path is resolved here, inside the root, before anything is
//! written or kept. So no path, link or whiteout of a layer can reach outside, whatever comes before it.

use std::collections::BTreeMap;

/// Why an entry of a layer is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The path is none.
    #[error("the path {path:?} {why}")]
    Path {
        /// Which.
        path: String,
        /// What is wrong.
        why: &'static str,
    },
    /// Links lead to each other.
    #[error("the path {0:?} goes through too many links")]
    Loop(String),
    /// A hard link to nothing that can have one.
    #[error("{path:?} is a hard link to {target:?}, which is no file of the image")]
    Link {
        /// Which link.
        path: String,
        /// To what.
        target: String,
    },
    /// There are too many.
    #[error("the image has more than {0} entries")]
    Many(usize),
}

const MAX_PATH: usize = 4096;
const MAX_PART: usize = 255;
const MAX_HOPS: usize = 64;
const MARK: &[u8] = b".wh.";
const OPAQUE: &[u8] = b".wh..wh..opq";

/// A place in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id(usize);

/// What is at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind<T> {
    Directory,
    File(T),
    Symlink(Vec<u8>),
}

struct Node<T> {
    kind: Kind<T>,
    children: BTreeMap<Vec<u8>, Id>,
    parent: Id,
    name: Vec<u8>,
    /// The last layer that put it, or something below it, there.
    touched: u32,
}

/// What an entry of a layer does.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The root itself.
    Root,
    /// Something is put there.
    Put(Id, Vec<u8>),
    /// Something is taken away; it was a whiteout.
    Whiteout,
}

pub(crate) struct Tree<T> {
    nodes: Vec<Node<T>>,
    layer: u32,
    limit: usize,
}

pub(crate) const ROOT: Id = Id(0);

fn text(path: &[u8]) -> String {
    String::from_utf8_lossy(path.get(..200).unwrap_or(path)).into_owned()
}

/// The parts of a path, without `.`; `..` and what no file can be called are refused.
fn parts(path: &[u8]) -> Result<Vec<&[u8]>, Error> {
    let wrong = |why| Error::Path { path: text(path), why };
    if path.len() > MAX_PATH {
        return Err(wrong("is longer than 4096 bytes"));
    }
    let mut parts = Vec::new();
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => return Err(wrong("has .. in it")),
            part if part.contains(&0) => return Err(wrong("has a zero byte in it")),
            part if part.len() > MAX_PART => return Err(wrong("has a part that is longer than 255 bytes")),
            part => parts.push(part),
        }
    }
    Ok(parts)
}

/// What is done to the disk, or to nothing, when the tree changes.
pub(crate) trait Effects {
    type Error: From<Error>;
    /// A directory that no entry named was needed.
    fn directory(&mut self, path: &[u8]) -> Result<(), Self::Error>;
    /// A path is gone, with all below it.
    fn removed(&mut self, path: &[u8], directory: bool) -> Result<(), Self::Error>;
}

impl<T> Tree<T> {
    /// An empty root that may get so many places.
    pub(crate) fn new(limit: usize) -> Self {
        let root = Node {
            kind: Kind::Directory,
            children: BTreeMap::new(),
            parent: ROOT,
            name: Vec::new(),
            touched: 0,
        };
        Self { nodes: vec![root], layer: 1, limit }
    }

    /// The next layer begins.
    pub(crate) fn next_layer(&mut self) {
        self.layer += 1;
    }

    fn node(&self, id: Id) -> Option<&Node<T>> {
        self.nodes.get(id.0)
    }

    pub(crate) fn kind(&self, id: Id) -> Option<&Kind<T>> {
        self.node(id).map(|node| &node.kind)
    }

    pub(crate) fn child(&self, id: Id, name: &[u8]) -> Option<Id> {
        self.node(id)?.children.get(name).copied()
    }

    pub(crate) fn children(&self, id: Id) -> impl Iterator<Item = (&[u8], Id)> {
        self.node(id)
            .into_iter()
            .flat_map(|node| node.children.iter().map(|(name, id)| (name.as_slice(), *id)))
    }

    /// The path of a place from the root, without a slash in front.
    pub(crate) fn path(&self, mut id: Id) -> Vec<u8> {
        let mut names = Vec::new();
        while let Some(node) = self.node(id).filter(|_| id != ROOT) {
            names.push(node.name.as_slice());
            id = node.parent;
        }
        names.reverse();
        names.join(&b'/')
    }

    /// Where an entry belongs. Missing directories on the way are made; links on the way are followed inside the root.
    /// Whiteouts do their work here.
    pub(crate) fn place<E: Effects>(&mut self, path: &[u8], effects: &mut E) -> Result<Place, E::Error> {
        let parts = parts(path)?;
        let Some((name, above)) = parts.split_last() else { return Ok(Place::Root) };
        let parent = self.walk(path, above, effects)?;
        if *name == OPAQUE {
            self.clear(parent, effects)?;
            return Ok(Place::Whiteout);
        }
        let Some(hidden) = name.strip_prefix(MARK) else { return Ok(Place::Put(parent, name.to_vec())) };
        // Marks of other kinds mean something to one old file system only.
        if hidden.starts_with(MARK) {
            return Ok(Place::Whiteout);
        }
        if matches!(hidden, b"" | b"." | b"..") {
            return Err(Error::Path { path: text(path), why: "is a whiteout of nothing that can be" }.into());
        }
        if let Some(id) = self.child(parent, hidden) {
            self.hide(parent, hidden, id, effects)?;
        }
        Ok(Place::Whiteout)
    }

    /// Goes down `above`, follows links, makes what is missing.
    fn walk<E: Effects>(&mut self, path: &[u8], above: &[&[u8]], effects: &mut E) -> Result<Id, E::Error> {
        let mut todo: Vec<Vec<u8>> = above.iter().rev().map(|part| part.to_vec()).collect();
        let mut at = ROOT;
        let mut hops = 0;
        while let Some(part) = todo.pop() {
            match part.as_slice() {
                b"" | b"." => continue,
                // In a link `..` of the root is the root, as for a process that cannot leave it.
                b".." => {
                    at = self.node(at).map_or(ROOT, |node| node.parent);
                    continue;
                }
                _ => {}
            }
            let next = match self.child(at, &part) {
                Some(next) => next,
                None => {
                    let next = self.put(at, &part, Kind::Directory).ok_or(Error::Many(self.limit))?;
                    effects.directory(&self.path(next))?;
                    next
                }
            };
            match self.node(next).map(|node| &node.kind) {
                Some(Kind::Directory) => at = next,
                Some(Kind::Symlink(target)) => {
                    hops += 1;
                    if hops > MAX_HOPS || todo.len() > MAX_PATH {
                        return Err(Error::Loop(text(path)).into());
                    }
                    if target.starts_with(b"/") {
                        at = ROOT;
                    }
                    todo.extend(target.split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec));
                }
                _ => return Err(Error::Path { path: text(path), why: "goes through a file" }.into()),
            }
        }
        Ok(at)
    }

    /// Makes room for an entry: what is there goes, except a directory that a directory is put over.
    pub(crate) fn make_room<E: Effects>(
        &mut self,
        parent: Id,
        name: &[u8],
        directory: bool,
        effects: &mut E,
    ) -> Result<Option<Id>, E::Error> {
        let Some(id) = self.child(parent, name) else { return Ok(None) };
        let is = matches!(self.kind(id), Some(Kind::Directory));
        if is && directory {
            self.touch(id);
            return Ok(Some(id));
        }
        self.remove(parent, name, id, effects)?;
        Ok(None)
    }

    /// Puts something where nothing is; nothing if there is too much.
    pub(crate) fn put(&mut self, parent: Id, name: &[u8], kind: Kind<T>) -> Option<Id> {
        if self.nodes.len() >= self.limit {
            return None;
        }
        let id = Id(self.nodes.len());
        let node = Node { kind, children: BTreeMap::new(), parent, name: name.to_vec(), touched: self.layer };
        self.nodes.push(node);
        self.nodes.get_mut(parent.0)?.children.insert(name.to_vec(), id);
        self.touch(parent);
        Some(id)
    }

    fn touch(&mut self, mut id: Id) {
        while let Some(node) = self.nodes.get_mut(id.0) {
            // Whoever was touched has touched all above.
            if node.touched == self.layer || id == ROOT {
                break;
            }
            node.touched = self.layer;
            id = node.parent;
        }
    }

    /// The file that a hard link means: links on the way are followed, the last part is not.
    pub(crate) fn target<E: Effects>(
        &mut self,
        link: &[u8],
        path: &[u8],
        effects: &mut E,
    ) -> Result<Id, E::Error> {
        let wrong = || Error::Link { path: text(path), target: text(link) };
        let parts = parts(link)?;
        let (name, above) = parts.split_last().ok_or_else(wrong)?;
        let parent = self.walk(link, above, effects)?;
        let id = self.child(parent, name).ok_or_else(wrong)?;
        match self.kind(id) {
            Some(Kind::File(_)) => Ok(id),
            _ => Err(wrong().into()),
        }
    }

    /// A whiteout: only what lower layers have put there goes.
    fn hide<E: Effects>(&mut self, parent: Id, name: &[u8], id: Id, effects: &mut E) -> Result<(), E::Error> {
        match self.node(id) {
            Some(node) if node.touched == self.layer => match node.kind {
                Kind::Directory => self.clear(id, effects),
                _ => Ok(()),
            },
            _ => self.remove(parent, name, id, effects),
        }
    }

    /// An opaque directory: what lower layers have put into it goes.
    fn clear<E: Effects>(&mut self, directory: Id, effects: &mut E) -> Result<(), E::Error> {
        let mut todo = vec![directory];
        while let Some(at) = todo.pop() {
            let children: Vec<(Vec<u8>, Id)> =
                self.children(at).map(|(name, id)| (name.to_vec(), id)).collect();
            for (name, id) in children {
                if self.node(id).is_some_and(|node| node.touched == self.layer) {
                    todo.push(id);
                } else {
                    self.remove(at, &name, id, effects)?;
                }
            }
        }
        Ok(())
    }

    fn remove<E: Effects>(
        &mut self,
        parent: Id,
        name: &[u8],
        id: Id,
        effects: &mut E,
    ) -> Result<(), E::Error> {
        let directory = matches!(self.kind(id), Some(Kind::Directory));
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

    impl Effects for Log {
        type Error = Error;
        fn directory(&mut self, path: &[u8]) -> Result<(), Error> {
            self.0.push(format!("+{}", text(path)));
            Ok(())
        }
        fn removed(&mut self, path: &[u8], _: bool) -> Result<(), Error> {
            self.0.push(format!("-{}", text(path)));
            Ok(())
        }
    }

    fn put(tree: &mut Tree<()>, path: &str, kind: Kind<()>) -> Result<String, Error> {
        let mut log = Log::default();
        match tree.place(path.as_bytes(), &mut log)? {
            Place::Put(parent, name) => {
                let directory = kind == Kind::Directory;
                let id = match tree.make_room(parent, &name, directory, &mut log)? {
                    Some(id) => id,
                    None => tree.put(parent, &name, kind).ok_or(Error::Many(0))?,
                };
                log.0.push(text(&tree.path(id)));
            }
            other => log.0.push(format!("{other:?}")),
        }
        Ok(log.0.join(" "))
    }

    #[test]
    fn paths_stay_inside_whatever_links_say() {
        let tree = &mut Tree::new(1000);
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
            assert!(put(tree, path, Kind::File(())).is_err(), "{path}");
        }
        put(tree, "out", Kind::Symlink(b"/etc".to_vec())).unwrap();
        put(tree, "up", Kind::Symlink(b"../../../../tmp".to_vec())).unwrap();
        assert_eq!(put(tree, "out/passwd", Kind::File(())).unwrap(), "+etc etc/passwd");
        assert_eq!(put(tree, "./up/x", Kind::File(())).unwrap(), "+tmp tmp/x");
        put(tree, "l1", Kind::Symlink(b"l2".to_vec())).unwrap();
        put(tree, "l2", Kind::Symlink(b"l1".to_vec())).unwrap();
        assert!(matches!(put(tree, "l1/x", Kind::File(())), Err(Error::Loop(_))));
        put(tree, "grow", Kind::Symlink(b"grow/grow/grow".to_vec())).unwrap();
        assert!(put(tree, "grow/x", Kind::File(())).is_err());
        assert!(put(tree, "etc/passwd/x", Kind::File(())).is_err());
        // A link itself is replaced, not what it leads to.
        assert_eq!(put(tree, "out", Kind::File(())).unwrap(), "-out out");
        assert_eq!(put(tree, "/", Kind::Directory).unwrap(), "Root");
    }

    #[test]
    fn whiteouts_hide_lower_layers_only() {
        let tree = &mut Tree::new(1000);
        for path in ["d/a", "d/b", "d/s/x", "e"] {
            put(tree, path, Kind::File(())).unwrap();
        }
        tree.next_layer();
        assert_eq!(put(tree, "d/s/new", Kind::File(())).unwrap(), "d/s/new");
        put(tree, "d/b", Kind::File(())).unwrap();
        assert_eq!(put(tree, "d/.wh..wh..opq", Kind::File(())).unwrap(), "-d/a -d/s/x Whiteout");
        assert_eq!(put(tree, ".wh.e", Kind::File(())).unwrap(), "-e Whiteout");
        assert_eq!(put(tree, "d/.wh.b", Kind::File(())).unwrap(), "Whiteout");
        assert_eq!(put(tree, ".wh.missing", Kind::File(())).unwrap(), "Whiteout");
        assert_eq!(put(tree, ".wh..wh.plnk", Kind::File(())).unwrap(), "Whiteout");
        tree.next_layer();
        assert_eq!(put(tree, "d", Kind::File(())).unwrap(), "-d d");
        let left: Vec<String> = tree.children(ROOT).map(|(name, _)| text(name)).collect();
        assert_eq!(left, ["d"]);
    }

    #[test]
    fn there_are_not_too_many() {
        let tree = &mut Tree::new(10);
        for number in 0..9 {
            put(tree, &number.to_string(), Kind::File(())).unwrap();
        }
        assert!(put(tree, "one-more", Kind::File(())).is_err());
        assert!(put(tree, "a/b", Kind::File(())).is_err());
    }
}
