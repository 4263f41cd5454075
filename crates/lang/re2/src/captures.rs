//! A match with its groups.

use std::ops::Range;

/// A match: where its groups are and what they hold.
#[derive(Clone, Debug)]
pub struct Captures<'r, 'h> {
    text: &'h [u8],
    names: &'r [Box<str>],
    spans: Box<[Option<Range<usize>>]>,
}

impl<'r, 'h> Captures<'r, 'h> {
    pub(crate) fn new(text: &'h [u8], names: &'r [Box<str>], spans: Box<[Option<Range<usize>>]>) -> Self {
        Self { text, names, spans }
    }

    /// The number of groups, with group 0, the whole match.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Never: there is always group 0.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Where a group matched; nothing if it took no part.
    pub fn index(&self, group: usize) -> Option<Range<usize>> {
        self.spans.get(group)?.clone()
    }

    /// What a group matched; nothing if it took no part.
    pub fn get(&self, group: usize) -> Option<&'h [u8]> {
        self.text.get(self.index(group)?)
    }

    /// What the first group of this name that took part matched.
    pub fn name(&self, name: &str) -> Option<&'h [u8]> {
        let mut named =
            (0..self.len()).filter(|g| self.names.get(*g).is_some_and(|n| **n == *name && !name.is_empty()));
        named.find_map(|group| self.get(group))
    }

    /// What the groups matched, from group 0.
    pub fn iter(&self) -> impl Iterator<Item = Option<&'h [u8]>> + '_ {
        (0..self.len()).map(|group| self.get(group))
    }
}
