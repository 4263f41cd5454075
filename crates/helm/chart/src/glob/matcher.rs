//! Matchers, and the search that compares a name with them.

use std::collections::HashMap;

use podium_gotmpl::gostr::decode_char;

use super::{Fault, SEPARATOR};

/// Past this many steps a search is given up. Real patterns need some thousands.
const MAX_STEPS: usize = 20_000_000;

#[derive(Clone, Debug)]
pub(super) enum Matcher {
    Nothing,
    Text { bytes: Vec<u8>, runes: usize },
    Any,
    Super,
    Single,
    List { not: bool, chars: Vec<char> },
    Range { not: bool, lo: char, hi: char },
    Min(usize),
    Max(usize),
    Contains { not: bool, needle: Vec<u8> },
    Prefix(Vec<u8>),
    Suffix(Vec<u8>),
    PrefixSuffix { prefix: Vec<u8>, suffix: Vec<u8> },
    PrefixAny(Vec<u8>),
    SuffixAny(Vec<u8>),
    Row { runes: usize, matchers: Vec<Matcher> },
    AnyOf(Vec<Matcher>),
    EveryOf(Vec<Matcher>),
    Tree(Box<Tree>),
}

/// A matcher that is searched for, with what must stand on its two sides.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    id: u32,
    pub(super) value: Matcher,
    pub(super) left: Option<Matcher>,
    pub(super) right: Option<Matcher>,
    // Lengths of the sides in characters as they were when the tree was made; `None` where they vary.
    left_runes: Option<usize>,
    right_runes: Option<usize>,
    runes: Option<usize>,
}

impl Tree {
    pub(super) fn new(id: u32, value: Matcher, left: Option<Matcher>, right: Option<Matcher>) -> Self {
        let side = |m: &Option<Matcher>| m.as_ref().map_or(Some(0), Matcher::runes);
        let (left_runes, right_runes) = (side(&left), side(&right));
        let runes = [left_runes, value.runes(), right_runes].into_iter().sum();
        Self { id, value, left, right, left_runes, right_runes, runes }
    }
}

impl Matcher {
    pub(super) fn text(text: &str) -> Self {
        Self::Text { bytes: text.as_bytes().to_vec(), runes: text.chars().count() }
    }

    /// The number of characters that it matches, where that is fixed.
    pub(super) fn runes(&self) -> Option<usize> {
        match self {
            Self::Nothing => Some(0),
            Self::Text { runes, .. } | Self::Row { runes, .. } => Some(*runes),
            Self::Single | Self::List { .. } | Self::Range { .. } => Some(1),
            Self::Tree(tree) => tree.runes,
            Self::AnyOf(all) => {
                // Alternatives of varying length before the first fixed one do not count.
                let mut fixed = None;
                for one in all {
                    match (fixed, one.runes()) {
                        (None, runes) => fixed = runes,
                        (Some(a), Some(b)) if a == b => {}
                        _ => return None,
                    }
                }
                fixed
            }
            _ => None,
        }
    }

    /// Whether a matcher of one character takes this one.
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Single => c != SEPARATOR,
            Self::List { not, chars } => chars.contains(&c) != *not,
            Self::Range { not, lo, hi } => (*lo..=*hi).contains(&c) != *not,
            _ => false,
        }
    }
}

/// Where a matcher was found in a text: the offset, and the lengths in bytes that it can have there, rising.
type Found = Option<(usize, Vec<usize>)>;

/// One comparison of a name.
pub(super) struct Search<'a> {
    name: &'a str,
    known: HashMap<(u32, usize, usize), bool>,
    steps: usize,
}

impl<'a> Search<'a> {
    pub(super) fn new(name: &'a str) -> Self {
        Self { name, known: HashMap::new(), steps: 0 }
    }

    pub(super) fn run(mut self, matcher: &Matcher) -> Result<bool, Fault> {
        self.matches(matcher, 0, self.name.len())
    }

    fn bytes(&self, from: usize, to: usize) -> &'a [u8] {
        self.name.as_bytes().get(from..to).unwrap_or_default()
    }

    fn step(&mut self, cost: usize) -> Result<(), Fault> {
        self.steps = self.steps.saturating_add(cost);
        if self.steps > MAX_STEPS { Err(Fault::TooSlow(self.name.to_owned())) } else { Ok(()) }
    }

    /// Whether the matcher takes the whole text between two offsets.
    fn matches(&mut self, matcher: &Matcher, from: usize, to: usize) -> Result<bool, Fault> {
        let text = self.bytes(from, to);
        self.step(text.len() + 1)?;
        Ok(match matcher {
            Matcher::Nothing => text.is_empty(),
            Matcher::Text { bytes, .. } => text == bytes,
            Matcher::Any => !has_separator(text),
            Matcher::Super => true,
            Matcher::Single | Matcher::List { .. } | Matcher::Range { .. } => {
                let (c, width) = decode_char(text);
                text.len() <= width && matcher.takes(c)
            }
            Matcher::Min(min) => starts(text).count() >= (*min).max(1),
            Matcher::Max(max) => starts(text).count() <= *max,
            Matcher::Contains { not, needle } => position(text, needle).is_some() != *not,
            Matcher::Prefix(prefix) => text.starts_with(prefix),
            Matcher::Suffix(suffix) => text.ends_with(suffix),
            Matcher::PrefixSuffix { prefix, suffix } => text.starts_with(prefix) && text.ends_with(suffix),
            Matcher::PrefixAny(prefix) => text.strip_prefix(&prefix[..]).is_some_and(|t| !has_separator(t)),
            Matcher::SuffixAny(suffix) => text.strip_suffix(&suffix[..]).is_some_and(|t| !has_separator(t)),
            Matcher::Row { runes, matchers } => {
                starts(text).count() == *runes && self.row_matches(matchers, from, to)?
            }
            Matcher::AnyOf(all) => {
                for one in all {
                    if self.matches(one, from, to)? {
                        return Ok(true);
                    }
                }
                false
            }
            Matcher::EveryOf(all) => {
                for one in all {
                    if !self.matches(one, from, to)? {
                        return Ok(false);
                    }
                }
                true
            }
            Matcher::Tree(tree) => {
                let key = (tree.id, from, to);
                if let Some(&known) = self.known.get(&key) {
                    return Ok(known);
                }
                let answer = self.tree_matches(tree, from, to)?;
                self.known.insert(key, answer);
                answer
            }
        })
    }

    /// Compares matchers of fixed length one after the other. The last character of each is taken for one byte.
    fn row_matches(&mut self, matchers: &[Matcher], from: usize, to: usize) -> Result<bool, Fault> {
        let mut at = from;
        for matcher in matchers {
            let wanted = matcher.runes().unwrap_or(0);
            let (mut last, mut seen) = (0, 0);
            for start in starts(self.bytes(at, to)) {
                last = start;
                seen += 1;
                if seen == wanted {
                    break;
                }
            }
            if seen < wanted {
                return Ok(false);
            }
            let end = at + last + 1;
            if end > to {
                return Err(Fault::Bounds { end: end - from, length: to - from });
            }
            if !self.matches(matcher, at, end)? {
                return Ok(false);
            }
            at = end;
        }
        Ok(true)
    }

    fn tree_matches(&mut self, tree: &Tree, from: usize, to: usize) -> Result<bool, Fault> {
        let length = to - from;
        if tree.runes.is_some_and(|runes| runes > length) {
            return Ok(false);
        }
        let mut offset = from + tree.left_runes.unwrap_or(0);
        // A right side longer than the text leaves no room at all.
        let Some(limit) = to.checked_sub(tree.right_runes.unwrap_or(0)) else { return Ok(false) };
        while offset < limit {
            self.step(limit - offset)?;
            let Some((index, lengths)) = self.find(&tree.value, offset, limit)? else { return Ok(false) };
            let start = offset + index;
            let left = match &tree.left {
                Some(left) => self.matches(left, from, start)?,
                None => start == from,
            };
            if left {
                for length in lengths.iter().rev() {
                    let end = (start + length).min(to);
                    let right = match &tree.right {
                        Some(right) => self.matches(right, end, to)?,
                        None => end == to,
                    };
                    if right {
                        return Ok(true);
                    }
                }
            }
            offset = start + decode_char(self.bytes(start, to)).1.max(1);
        }
        Ok(false)
    }

    /// Looks for the first place where the matcher takes something.
    fn find(&mut self, matcher: &Matcher, from: usize, to: usize) -> Result<Found, Fault> {
        let text = self.bytes(from, to);
        self.step(text.len() + 1)?;
        Ok(match matcher {
            Matcher::Nothing => Some((0, vec![0])),
            Matcher::Text { bytes, .. } => position(text, bytes).map(|at| (at, vec![bytes.len()])),
            Matcher::Any => Some((0, ends(before_separator(text), 0))),
            Matcher::Super => Some((0, ends(text, 0))),
            Matcher::Single | Matcher::List { .. } | Matcher::Range { .. } => starts(text).find_map(|at| {
                let (c, _) = decode_char(text.get(at..)?);
                matcher.takes(c).then(|| (at, vec![c.len_utf8()]))
            }),
            Matcher::Min(min) => {
                let lengths: Vec<_> = rune_ends(text).skip(min.saturating_sub(1)).collect();
                let room = text.len() >= *min;
                (room && !lengths.is_empty()).then_some((0, lengths))
            }
            Matcher::Max(max) => Some((0, std::iter::once(0).chain(rune_ends(text).take(*max)).collect())),
            Matcher::Contains { not: true, needle } => {
                let end = position(text, needle).unwrap_or(text.len());
                Some((0, ends(text.get(..end).unwrap_or_default(), 0)))
            }
            Matcher::Contains { not: false, needle } => position(text, needle).map(|at| {
                let after = at + needle.len();
                (0, ends(text.get(after..).unwrap_or_default(), after))
            }),
            Matcher::Prefix(prefix) => position(text, prefix).map(|at| {
                let rest = text.get(at + prefix.len()..).unwrap_or_default();
                (at, after_prefix(prefix.len(), rest))
            }),
            Matcher::PrefixAny(prefix) => position(text, prefix).map(|at| {
                let rest = text.get(at + prefix.len()..).unwrap_or_default();
                let rest = rest.split(|b| *b == SEPARATOR as u8).next().unwrap_or_default();
                (at, after_prefix(prefix.len(), rest))
            }),
            Matcher::Suffix(suffix) => position(text, suffix).map(|at| (0, vec![at + suffix.len()])),
            Matcher::SuffixAny(suffix) => position(text, suffix).map(|at| {
                let before = text.get(..at).unwrap_or_default();
                let start = before.iter().rposition(|b| *b == SEPARATOR as u8).map_or(0, |s| s + 1);
                (start, vec![at + suffix.len() - start])
            }),
            Matcher::PrefixSuffix { prefix, suffix } => find_prefix_suffix(text, prefix, suffix),
            Matcher::Row { runes, matchers } => {
                for at in starts(text) {
                    if text.len() - at < *runes {
                        break;
                    }
                    if self.row_matches(matchers, from + at, to)? {
                        return Ok(Some((at, vec![*runes])));
                    }
                }
                None
            }
            Matcher::AnyOf(all) => {
                let mut best: Found = None;
                for one in all {
                    let Some((at, lengths)) = self.find(one, from, to)? else { continue };
                    match &mut best {
                        Some((index, _)) if *index < at => {}
                        Some((index, known)) if *index == at => {
                            known.extend(lengths);
                            known.sort_unstable();
                            known.dedup();
                        }
                        _ => best = Some((at, lengths)),
                    }
                }
                best
            }
            Matcher::EveryOf(all) => self.find_every(all, from, to)?,
            // Trees are compared, never searched for: inside alternatives that come first they are not found.
            Matcher::Tree(_) => None,
        })
    }

    /// The lengths that all matchers share; all of them are found at the start of the text or not at all.
    fn find_every(&mut self, all: &[Matcher], from: usize, to: usize) -> Result<Found, Fault> {
        let mut shared: Option<Vec<usize>> = None;
        for one in all {
            let Some((_, lengths)) = self.find(one, from, to)? else { return Ok(None) };
            let both = match shared {
                None => lengths,
                Some(known) => known.into_iter().filter(|length| lengths.contains(length)).collect(),
            };
            if both.is_empty() {
                return Ok(None);
            }
            shared = Some(both);
        }
        Ok(shared.map(|lengths| (0, lengths)))
    }
}

/// The offsets at which characters start; each damaged byte counts as one.
fn starts(text: &[u8]) -> impl Iterator<Item = usize> + '_ {
    podium_gotmpl::gostr::runes(text).map(|(at, ..)| at)
}

/// The offsets after each character. A damaged byte counts as long as the character that stands for it.
fn rune_ends(text: &[u8]) -> impl Iterator<Item = usize> + '_ {
    podium_gotmpl::gostr::runes(text).map(|(at, c, _)| at + c.len_utf8())
}

/// The start of each character and the end of the text, moved by an offset.
fn ends(text: &[u8], offset: usize) -> Vec<usize> {
    starts(text).chain(std::iter::once(text.len())).map(|at| offset + at).collect()
}

fn after_prefix(length: usize, rest: &[u8]) -> Vec<usize> {
    std::iter::once(length).chain(rune_ends(rest).map(|end| length + end)).collect()
}

fn has_separator(text: &[u8]) -> bool {
    text.contains(&(SEPARATOR as u8))
}

fn before_separator(text: &[u8]) -> &[u8] {
    text.split(|b| *b == SEPARATOR as u8).next().unwrap_or_default()
}

fn position(text: &[u8], needle: &[u8]) -> Option<usize> {
    if needle.is_empty() { Some(0) } else { text.windows(needle.len()).position(|window| window == needle) }
}

fn find_prefix_suffix(text: &[u8], prefix: &[u8], suffix: &[u8]) -> Found {
    let at = position(text, prefix)?;
    let mut rest = text.get(at..)?;
    if suffix.is_empty() {
        return Some((at, vec![rest.len()]));
    }
    let mut lengths = Vec::new();
    while let Some(found) = rest.windows(suffix.len()).rposition(|window| window == suffix) {
        lengths.push(found + suffix.len());
        rest = rest.get(..found)?;
    }
    lengths.reverse();
    (!lengths.is_empty()).then_some((at, lengths))
}
