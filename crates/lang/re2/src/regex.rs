//! The compiled pattern and its searches.

use std::ops::Range;

use regex_automata::Input;
use regex_automata::meta;
use regex_automata::util::primitives::NonMaxUsize;

use crate::captures::Captures;
use crate::error::Error;
use crate::haystack::Haystack;
use crate::{compile, parse};

/// A compiled pattern. It is immutable, and threads can share it.
#[derive(Clone, Debug)]
pub struct Regex {
    pattern: Box<[u8]>,
    names: Box<[Box<str>]>,
    automaton: meta::Regex,
    /// `\B` holds inside a character of several bytes, and a search that stops at the first possible end would end
    /// there; such a pattern is searched for its true end.
    splits_characters: bool,
}

/// What one search found, as places of the searched text: two per group.
type Slots = Box<[Option<NonMaxUsize>]>;

/// The place of a group, if it took part.
fn span(slots: &[Option<NonMaxUsize>], group: usize) -> Option<Range<usize>> {
    let start = slots.get(group * 2)?.as_ref()?.get();
    let end = slots.get(group * 2 + 1)?.as_ref()?.get();
    Some(start..end)
}

impl Regex {
    /// Compiles a pattern as Go's `regexp.Compile` does, with its error texts.
    pub fn new(pattern: impl AsRef<[u8]>) -> Result<Self, Error> {
        let pattern = pattern.as_ref();
        let parsed = parse::parse(pattern)?;
        let automaton = compile::compile(pattern, &parsed)?;
        let splits_characters = parsed.not_word_boundary;
        Ok(Self { pattern: pattern.into(), names: parsed.names.into(), automaton, splits_characters })
    }

    /// The pattern as it was written.
    pub fn pattern(&self) -> &[u8] {
        &self.pattern
    }

    /// The names of the groups, from group 0, the whole match; empty where a group has none.
    pub fn group_names(&self) -> &[Box<str>] {
        &self.names
    }

    /// Whether the pattern matches anywhere.
    pub fn is_match(&self, text: impl AsRef<[u8]>) -> bool {
        let hay = Haystack::new(text.as_ref());
        let input = Input::new(hay.text());
        if self.splits_characters {
            self.automaton.find(input).is_some()
        } else {
            self.automaton.is_match(input)
        }
    }

    /// The first match.
    pub fn find<'h>(&self, text: &'h (impl AsRef<[u8]> + ?Sized)) -> Option<&'h [u8]> {
        let text = text.as_ref();
        self.find_index(text).and_then(|at| text.get(at))
    }

    /// Where the first match is.
    pub fn find_index(&self, text: impl AsRef<[u8]>) -> Option<Range<usize>> {
        let hay = Haystack::new(text.as_ref());
        let found = self.automaton.find(Input::new(hay.text()))?;
        Some(hay.original_range(found.range()))
    }

    /// The matches from left to right that do not overlap, at most `n` of them if `n` is not negative.
    pub fn find_all<'h>(&self, text: &'h (impl AsRef<[u8]> + ?Sized), n: i64) -> Vec<&'h [u8]> {
        let text = text.as_ref();
        self.find_all_index(text, n).into_iter().filter_map(|at| text.get(at)).collect()
    }

    /// Where the matches of [`Regex::find_all`] are.
    pub fn find_all_index(&self, text: impl AsRef<[u8]>, n: i64) -> Vec<Range<usize>> {
        let hay = Haystack::new(text.as_ref());
        let mut found = Vec::new();
        self.each_match(&hay, n, 1, |slots| {
            found.extend(span(slots, 0).map(|at| hay.original_range(at)));
        });
        found
    }

    /// The first match with its groups.
    pub fn captures<'h>(&self, text: &'h (impl AsRef<[u8]> + ?Sized)) -> Option<Captures<'_, 'h>> {
        self.captures_all(text, 1).pop()
    }

    /// The matches of [`Regex::find_all`] with their groups.
    pub fn captures_all<'h>(&self, text: &'h (impl AsRef<[u8]> + ?Sized), n: i64) -> Vec<Captures<'_, 'h>> {
        let text = text.as_ref();
        let hay = Haystack::new(text);
        let mut found = Vec::new();
        self.each_match(&hay, n, self.names.len(), |slots| {
            let spans = (0..self.names.len()).map(|g| span(slots, g).map(|at| hay.original_range(at)));
            found.push(Captures::new(text, &self.names, spans.collect()));
        });
        found
    }

    /// The pieces of the text between the matches, at most `n` of them (the last one being all the rest) if `n` is
    /// positive, none if it is 0.
    pub fn split<'h>(&self, text: &'h (impl AsRef<[u8]> + ?Sized), n: i64) -> Vec<&'h [u8]> {
        let text = text.as_ref();
        if n == 0 {
            return Vec::new();
        }
        if !self.pattern.is_empty() && text.is_empty() {
            return vec![text];
        }
        let mut pieces = Vec::new();
        let mut start = 0;
        let mut end = 0;
        for found in self.find_all_index(text, n) {
            if n > 0 && pieces.len() as i64 >= n - 1 {
                break;
            }
            end = found.start;
            if found.end != 0 {
                pieces.extend(text.get(start..end));
            }
            start = found.end;
        }
        // A match of nothing at the very end leaves no empty piece behind it.
        if end != text.len() {
            pieces.extend(text.get(start..));
        }
        pieces
    }

    fn slots(&self, groups: usize) -> Slots {
        vec![None; groups * 2].into()
    }

    /// Searches from a place of the searched text on.
    fn search(
        &self,
        hay: &Haystack<'_>,
        from: usize,
        slots: &mut [Option<NonMaxUsize>],
    ) -> Option<Range<usize>> {
        slots.fill(None);
        self.automaton.search_slots(&Input::new(hay.text()).range(from..), slots)?;
        span(slots, 0)
    }

    /// Visits the matches that Go's `FindAll` lists: a match of nothing is skipped right after another match.
    fn each_match(
        &self,
        hay: &Haystack<'_>,
        n: i64,
        groups: usize,
        mut visit: impl FnMut(&[Option<NonMaxUsize>]),
    ) {
        let mut slots = self.slots(groups);
        let mut left = usize::try_from(n).unwrap_or(usize::MAX);
        let mut from = 0;
        let mut previous_end = None;
        while left > 0 && from <= hay.text().len() {
            let Some(found) = self.search(hay, from, &mut slots) else { break };
            let mut accept = true;
            if found.end == from {
                accept = previous_end != Some(found.start);
                from = hay.width(from).map_or(usize::MAX, |width| from + width);
            } else {
                from = found.end;
            }
            previous_end = Some(found.end);
            if accept {
                visit(&slots);
                left -= 1;
            }
        }
    }

    /// Copies the text with every match replaced by what `write` appends. Go's rule for matches of nothing differs
    /// here from the one of `FindAll`.
    pub(crate) fn replace_each(
        &self,
        text: &[u8],
        groups: usize,
        mut write: impl FnMut(&mut Vec<u8>, &dyn Fn(usize) -> Option<Range<usize>>),
    ) -> Vec<u8> {
        let hay = Haystack::new(text);
        let mut slots = self.slots(groups);
        let mut out = Vec::with_capacity(text.len());
        let mut from = 0;
        let mut copied = 0;
        while from <= hay.text().len() {
            let Some(found) = self.search(&hay, from, &mut slots) else { break };
            out.extend_from_slice(text.get(hay.original_range(copied..found.start)).unwrap_or_default());
            if found.end > copied || found.start == 0 {
                write(&mut out, &|group| span(&slots, group).map(|at| hay.original_range(at)));
            }
            copied = found.end;
            let step = hay.width(from).unwrap_or(1);
            from = found.end.max(from + step);
        }
        out.extend_from_slice(text.get(hay.original(copied)..).unwrap_or_default());
        out
    }
}
