//! A text as the automaton sees it.
//!
//! Go reads a byte that is no UTF-8 as U+FFFD of width one. Automata over bytes cannot know that a byte is out of
//! place, so such a text is searched with real U+FFFD in it, and places found there are counted back.

use std::borrow::Cow;
use std::ops::Range;

const REPLACEMENT: &str = "\u{FFFD}";

/// Valid UTF-8 to search in, with the way back to the original.
pub(crate) struct Haystack<'h> {
    text: Cow<'h, [u8]>,
    /// Where the text has a replacement that the original has not.
    repaired: Vec<usize>,
}

impl<'h> Haystack<'h> {
    pub fn new(original: &'h [u8]) -> Self {
        if std::str::from_utf8(original).is_ok() {
            return Self { text: Cow::Borrowed(original), repaired: Vec::new() };
        }
        let mut text = Vec::with_capacity(original.len() * 2);
        let mut repaired = Vec::new();
        for chunk in original.utf8_chunks() {
            text.extend_from_slice(chunk.valid().as_bytes());
            for _ in chunk.invalid() {
                repaired.push(text.len());
                text.extend_from_slice(REPLACEMENT.as_bytes());
            }
        }
        Self { text: Cow::Owned(text), repaired }
    }

    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The place of the original for a place between two characters.
    pub fn original(&self, at: usize) -> usize {
        at - self.repaired.partition_point(|r| *r < at) * (REPLACEMENT.len() - 1)
    }

    pub fn original_range(&self, range: Range<usize>) -> Range<usize> {
        self.original(range.start)..self.original(range.end)
    }

    /// How wide the character at a place is; nothing at the end.
    pub fn width(&self, at: usize) -> Option<usize> {
        self.text.get(at).map(|first| match first {
            0..=0x7F => 1,
            0x80..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xFF => 4,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_broken_sequence_counts_for_itself() {
        let hay = Haystack::new(b"a\xE2\x82b\xFF\xED\xA0\x80c");
        assert_eq!(hay.text(), "a\u{FFFD}\u{FFFD}b\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}c".as_bytes());
        let places: Vec<usize> = [0, 1, 4, 7, 8, 11, 14, 17, 20, 21].map(|at| hay.original(at)).into();
        assert_eq!(places, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }
}
