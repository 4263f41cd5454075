//! The zones that the crate brings along: edition 2025c of the IANA time zone database, in a form of our own.
//!
//! `zones.bin` has, with numbers in little endian order:
//! - six counts of 16 bits: abbreviations, rules, kinds of time, spans, histories, names;
//! - for each abbreviation and then each rule, 16 bits: where its text ends in the texts;
//! - for each kind of time: its offset in 32 bits, whether it is summer time, and its abbreviation in 8 bits each;
//! - for each span, 32 bits: seconds from one change of the clocks to the next;
//! - for each history, 16 bits: where it ends in the histories;
//! - for each name, in order, 16 bits: where it ends in the names; then for each name 16 bits: its history;
//! - the texts, the histories, the names.
//!
//! A history is, in groups of 7 bits with the lowest first: its rule; how many kinds of time, and each; how many
//! changes; if there are any, the first moment (times two, minus one when negative) and the spans between them; and
//! last, in 4 bits each, the kind that each change leads to.

use super::location::{Change, Kind, Zone};
use super::rule::Rule;

const DATA: &[u8] = include_bytes!("zones.bin");

/// Where the tables begin and how many entries they have.
struct Tables {
    abbreviations: usize,
    text_ends: usize,
    kinds: usize,
    spans: usize,
    history_ends: usize,
    name_ends: usize,
    names: usize,
    histories_of_names: usize,
    texts: usize,
}

fn u16_at(at: usize) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes(DATA.get(at..)?.first_chunk().copied()?)))
}

/// The entry of a table of ends: a piece of what begins at `base`.
fn piece(ends: usize, index: usize, base: usize) -> Option<&'static [u8]> {
    let start = index.checked_sub(1).map_or(Some(0), |before| u16_at(ends + 2 * before))?;
    DATA.get(base + start..base + u16_at(ends + 2 * index)?)
}

impl Tables {
    fn new() -> Option<Self> {
        let count = |at: usize| u16_at(2 * at);
        let (abbreviations, rules, names) = (count(0)?, count(1)?, count(5)?);
        let text_ends = 12;
        let kinds = text_ends + 2 * (abbreviations + rules);
        let spans = kinds + 6 * count(2)?;
        let history_ends = spans + 4 * count(3)?;
        let name_ends = history_ends + 2 * count(4)?;
        let histories_of_names = name_ends + 2 * names;
        let texts = histories_of_names + 2 * names;
        Some(Self {
            abbreviations,
            text_ends,
            kinds,
            spans,
            history_ends,
            name_ends,
            names,
            histories_of_names,
            texts,
        })
    }

    fn histories(&self) -> Option<usize> {
        Some(self.texts + u16_at(self.kinds - 2)?)
    }

    fn names(&self) -> Option<usize> {
        Some(self.histories()? + u16_at(self.name_ends - 2)?)
    }

    fn kind(&self, index: usize) -> Option<Kind> {
        let bytes: &[u8; 6] = DATA.get(self.kinds + 6 * index..)?.first_chunk()?;
        let [a, b, c, d, summer, abbreviation] = *bytes;
        let name = piece(self.text_ends, usize::from(abbreviation), self.texts)?.to_vec();
        Some(Kind { name, offset: i64::from(i32::from_le_bytes([a, b, c, d])), summer: summer != 0 })
    }

    fn span(&self, index: usize) -> Option<i64> {
        let bytes = DATA.get(self.spans + 4 * index..)?.first_chunk().copied()?;
        Some(i64::from(u32::from_le_bytes(bytes)))
    }

    /// The number of the history of a name.
    fn history_of(&self, name: &[u8]) -> Option<usize> {
        let base = self.names()?;
        let (mut low, mut high) = (0, self.names);
        while low < high {
            let middle = (low + high) / 2;
            match piece(self.name_ends, middle, base)?.cmp(name) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return u16_at(self.histories_of_names + 2 * middle),
            }
        }
        None
    }

    fn zone(&self, name: &[u8]) -> Option<Zone> {
        let mut history = Numbers(piece(self.history_ends, self.history_of(name)?, self.histories()?)?);
        let rule = piece(self.text_ends, self.abbreviations + history.next()?, self.texts)?;
        let kinds = (0..history.next()?).map(|_| self.kind(history.next()?)).collect::<Option<Vec<_>>>()?;
        let mut moments = Vec::new();
        let count = history.next()?;
        if count > 0 {
            let first = history.next()?;
            let half = i64::try_from(first / 2).ok()?;
            moments.push(if first % 2 == 0 { half } else { -half - 1 });
        }
        while let Some(last) = moments.last()
            && moments.len() < count
        {
            moments.push(last + self.span(history.next()?)?);
        }
        let nibbles = history.0.iter().flat_map(|byte| [byte & 0xF, byte >> 4]).map(usize::from);
        let mut changes: Vec<Change> =
            moments.into_iter().zip(nibbles).map(|(when, kind)| Change { when, kind }).collect();
        if changes.is_empty() {
            changes.push(Change { when: i64::MIN, kind: 0 });
        }
        Some(Zone { name: name.to_vec(), kinds, changes, rule: Rule::parse(rule) })
    }
}

/// Numbers in groups of 7 bits.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn next(&mut self) -> Option<usize> {
        let mut number = 0;
        for shift in (0..63).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= usize::from(byte & 0x7F) << shift;
            if *byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}

/// Finds a zone by its name, letter case included.
pub(super) fn find(name: &[u8]) -> Option<Zone> {
    Tables::new()?.zone(name)
}

/// The names of all zones.
#[cfg(test)]
pub(super) fn names() -> Vec<&'static [u8]> {
    let tables = Tables::new().unwrap();
    let base = tables.names().unwrap();
    (0..tables.names).map(|index| piece(tables.name_ends, index, base).unwrap()).collect()
}
