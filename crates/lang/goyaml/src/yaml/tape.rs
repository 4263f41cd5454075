//! A parsed document: its nodes in the order of the text, in one vector.

use std::borrow::Cow;

use super::cook::cook;
use super::error::Mark;
use super::room;
use super::token::Scalar;

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Scalar,
    /// Another name for a node that came before.
    Alias,
    Sequence,
    Mapping,
}

/// A node. The children of a collection come right behind it.
#[derive(Debug)]
pub(super) struct Entry {
    pub shape: Shape,
    /// Whether a scalar may be something else than a string, because nothing says that it is one.
    pub implicit: bool,
    pub mark: Mark,
    /// One more than the index of its tag; 0 if it has none.
    pub tag: u32,
    /// Behind a collection: the index of the node after its last child. Of an alias: the node that it stands for.
    pub link: u32,
    /// The text of a scalar, or the name of an alias.
    pub text: Scalar,
}

/// The nodes of a document.
pub(super) struct Tape<'t> {
    pub text: &'t [u8],
    pub entries: Vec<Entry>,
    pub tags: Vec<Vec<u8>>,
    /// Whether there is something that may fail to become JSON, or needs more than a walk from top to bottom to do so:
    /// an alias, a tag, a merge, a key that is no string, a number that is not finite, deep nesting.
    pub intricate: bool,
}

/// Children beyond this are not counted.
const MAX_COUNTED: usize = 128;

/// Texts have about this many bytes for each node, and few of them need more than so many nodes.
const BYTES_PER_NODE: usize = 8;
const MANY_NODES: usize = 256;

impl<'t> Tape<'t> {
    /// A tape for the nodes of a text, or only for those of its head.
    pub fn new(text: &'t [u8], all: bool) -> Self {
        let nodes = if all { (text.len() / BYTES_PER_NODE).clamp(16, MANY_NODES) } else { 32 };
        Self { text, entries: room::find_entries(nodes), tags: Vec::new(), intricate: false }
    }

    /// The index of the node after this one and all that it holds.
    pub fn after(&self, at: usize) -> usize {
        match self.entries.get(at) {
            Some(entry) if matches!(entry.shape, Shape::Sequence | Shape::Mapping) => entry.link as usize,
            _ => at + 1,
        }
    }

    /// How many nodes a collection holds, as far as it is worth counting.
    pub fn children(&self, at: usize) -> usize {
        let end = self.after(at);
        let mut next = at + 1;
        let mut count = 0;
        while next < end && count < MAX_COUNTED {
            next = self.after(next);
            count += 1;
        }
        count
    }

    /// The text of a scalar.
    pub fn text_of(&self, entry: &Entry) -> Cow<'t, [u8]> {
        cook(self.text, &entry.text)
    }

    /// The tag of a node, in its long form.
    pub fn tag_of(&self, entry: &Entry) -> Option<&[u8]> {
        let index = usize::try_from(entry.tag).ok()?.checked_sub(1)?;
        self.tags.get(index).map(Vec::as_slice)
    }
}

impl Drop for Tape<'_> {
    fn drop(&mut self) {
        room::leave_entries(std::mem::take(&mut self.entries));
    }
}
