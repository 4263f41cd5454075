//! Vectors that one reading leaves to the next one of its thread: for a small text, making them takes as long as reading
//! it, and the places that they leave in memory are too small for the next ones.

use std::cell::Cell;
use std::collections::VecDeque;

use super::parse::Expect;
use super::scan::KeyGuess;
use super::tape::Entry;
use super::token::Token;

/// A vector that grew beyond this is not kept.
const MOST: usize = 1024;

/// What scanning and parsing put aside.
#[derive(Default)]
pub(super) struct Room {
    pub queue: VecDeque<Token>,
    pub guesses: Vec<KeyGuess>,
    pub indents: Vec<Option<usize>>,
    pub expected: Vec<Expect>,
    pub open: Vec<usize>,
}

thread_local! {
    static ROOM: Cell<Room> = Cell::default();
    static ENTRIES: Cell<Vec<Entry>> = Cell::default();
}

impl Room {
    /// Room that nobody uses.
    pub fn find() -> Self {
        ROOM.take()
    }

    /// Leaves it to the next reading.
    pub fn leave(mut self) {
        self.queue.clear();
        if self.queue.capacity() > MOST {
            self.queue = VecDeque::new();
        }
        let (guesses, indents) = (emptied(self.guesses), emptied(self.indents));
        let (expected, open) = (emptied(self.expected), emptied(self.open));
        ROOM.set(Self { queue: self.queue, guesses, indents, expected, open });
    }
}

/// Room for nodes.
pub(super) fn find_entries(count: usize) -> Vec<Entry> {
    let mut entries = ENTRIES.take();
    entries.reserve(count);
    entries
}

/// Leaves it to the next reading.
pub(super) fn leave_entries(entries: Vec<Entry>) {
    ENTRIES.set(emptied(entries));
}

fn emptied<T>(mut vector: Vec<T>) -> Vec<T> {
    vector.clear();
    if vector.capacity() > MOST { Vec::new() } else { vector }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grew_large_is_not_kept() {
        let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
        for text in [&deep[..], "a: [1, 2", "a: {b: c}", "- x"] {
            drop(crate::yaml::parse(text.as_bytes(), 0));
        }
        assert!(find_entries(0).capacity() <= MOST);
        let room = Room::find();
        assert!(room.queue.capacity() <= MOST && room.queue.is_empty());
        assert!(room.guesses.capacity() <= MOST && room.guesses.is_empty());
        assert!(room.indents.capacity() <= MOST && room.expected.capacity() <= MOST);
        assert!(room.open.capacity() <= MOST && room.open.is_empty());
    }
}
