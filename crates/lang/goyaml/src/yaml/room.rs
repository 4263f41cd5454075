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
        let flow = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
        let block = "- ".repeat(5000) + "1";
        for text in [&flow[..], &block, "a: [1, 2", "a: {b: c}", "- x"] {
            drop(crate::yaml::parse(text.as_bytes(), 0));
        }
        assert!(find_entries(0).capacity() <= MOST);
        let room = Room::find();
        let Room { queue, guesses, indents, expected, open } = &room;
        let sizes = [
            (queue.len(), queue.capacity()),
            (guesses.len(), guesses.capacity()),
            (indents.len(), indents.capacity()),
            (expected.len(), expected.capacity()),
            (open.len(), open.capacity()),
        ];
        assert!(sizes.iter().all(|(length, capacity)| *length == 0 && *capacity <= MOST), "{sizes:?}");
    }

    #[test]
    fn what_one_reading_leaves_the_next_one_uses() {
        drop(crate::yaml::parse(b"a: {b: [c]}\nd:\n- e\n", 0));
        let (entries, room) = (find_entries(0), Room::find());
        assert!(entries.capacity() > 0 && room.queue.capacity() > 0 && room.guesses.capacity() > 0);
        assert!(room.indents.capacity() > 0 && room.expected.capacity() > 0 && room.open.capacity() > 0);
    }
}
