//! Character classes: brackets, groups with names, Perl's and Unicode's escapes.

use super::Parser;
use crate::error::{Error, ErrorKind};
use crate::set::RuneSet;
use crate::unicode;

type Ranges = &'static [(u32, u32)];

const DIGIT: Ranges = &[(0x30, 0x39)];
const WORD: Ranges = &[(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)];

/// The classes of `[:name:]`.
static NAMED: [(&[u8], Ranges); 14] = [
    (b"alnum", &[(0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)]),
    (b"alpha", &[(0x41, 0x5A), (0x61, 0x7A)]),
    (b"ascii", &[(0, 0x7F)]),
    (b"blank", &[(9, 9), (0x20, 0x20)]),
    (b"cntrl", &[(0, 0x1F), (0x7F, 0x7F)]),
    (b"digit", DIGIT),
    (b"graph", &[(0x21, 0x7E)]),
    (b"lower", &[(0x61, 0x7A)]),
    (b"print", &[(0x20, 0x7E)]),
    (b"punct", &[(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)]),
    (b"space", &[(9, 13), (0x20, 0x20)]),
    (b"upper", &[(0x41, 0x5A)]),
    (b"word", WORD),
    (b"xdigit", &[(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)]),
];

impl Parser<'_> {
    /// A set as the flags want it: with both cases, and turned round.
    fn group(&self, set: RuneSet, negated: bool) -> RuneSet {
        let set = if self.flags.fold { set.folded() } else { set };
        if negated { set.negated() } else { set }
    }

    /// Reads `\d`, `\pL` and their like; nothing if it is another escape.
    pub(super) fn class_escape(&self, at: usize) -> Result<Option<(RuneSet, usize)>, Error> {
        let [b'\\', letter, ..] = self.rest(at) else { return Ok(None) };
        let ranges: Ranges = match letter.to_ascii_lowercase() {
            b'd' => DIGIT,
            b's' => &[(9, 10), (12, 13), (0x20, 0x20)],
            b'w' => WORD,
            b'p' => return self.unicode_class(at).map(Some),
            _ => return Ok(None),
        };
        let set = RuneSet::from_ranges(ranges.iter().copied());
        Ok(Some((self.group(set, letter.is_ascii_uppercase()), at + 2)))
    }

    /// Reads `\pL`, `\p{Greek}`, `\P{^Greek}`.
    fn unicode_class(&self, at: usize) -> Result<(RuneSet, usize), Error> {
        let mut negated = self.byte(at + 1) == Some(b'P');
        let (first, after_first) = self.rune(at + 2)?;
        let (name_at, name_end, end) = if first == u32::from(b'{') {
            let Some(close) = self.rest(at).iter().position(|b| *b == b'}').map(|n| at + n) else {
                self.check_utf8(at, self.pattern.len())?;
                return self.error(ErrorKind::InvalidCharRange, at, self.pattern.len());
            };
            self.check_utf8(at + 3, close)?;
            (at + 3, close, close + 1)
        } else {
            (at + 2, after_first, after_first)
        };
        let mut name = std::str::from_utf8(self.slice(name_at, name_end)).unwrap_or_default();
        if let Some(inverted) = name.strip_prefix('^') {
            negated = !negated;
            name = inverted;
        }
        match unicode::class(name, self.flags.fold) {
            Some(set) => Ok((if negated { set.negated() } else { set }, end)),
            None => self.error(ErrorKind::InvalidCharRange, at, end),
        }
    }

    /// Reads `[:alpha:]` inside a bracket; nothing if it does not end as such a name does.
    fn named_class(&self, at: usize) -> Result<Option<(RuneSet, usize)>, Error> {
        let [b'[', b':', inner @ ..] = self.rest(at) else { return Ok(None) };
        if self.no_named_class.get() {
            return Ok(None);
        }
        let Some(length) = inner.windows(2).position(|pair| pair == b":]") else {
            self.no_named_class.set(true);
            return Ok(None);
        };
        let end = at + 2 + length + 2;
        let name = inner.get(..length).unwrap_or_default();
        let (name, negated) = match name {
            [b'^', name @ ..] => (name, true),
            _ => (name, false),
        };
        let Some((_, ranges)) = NAMED.iter().find(|(known, _)| *known == name) else {
            return self.error(ErrorKind::InvalidCharRange, at, end);
        };
        let set = RuneSet::from_ranges(ranges.iter().copied());
        Ok(Some((self.group(set, negated), end)))
    }

    /// Reads a class in brackets: the set and the place after it.
    pub(super) fn bracket(&self, start: usize) -> Result<(RuneSet, usize), Error> {
        let mut at = start + 1;
        let negated = self.byte(at) == Some(b'^');
        if negated {
            at += 1;
        }
        let mut set = RuneSet::default();
        let mut plain = RuneSet::default();
        let mut first = true;
        // A bracket that closes at once is a member.
        while first || self.byte(at) != Some(b']') {
            first = false;
            let group = match self.named_class(at)? {
                Some(group) => Some(group),
                None => self.class_escape(at)?,
            };
            if let Some((group, next)) = group {
                set.add_all(&group);
                at = next;
                continue;
            }
            let range_at = at;
            let (lo, next) = self.member(start, at)?;
            at = next;
            let mut hi = lo;
            if self.byte(at) == Some(b'-') && self.byte(at + 1).is_some_and(|b| b != b']') {
                (hi, at) = self.member(start, at + 1)?;
                if hi < lo {
                    return self.error(ErrorKind::InvalidCharRange, range_at, at);
                }
            }
            plain.add(lo, hi);
        }
        plain.tidy();
        set.add_all(&if self.flags.fold { plain.folded() } else { plain });
        set.tidy();
        Ok((if negated { set.negated() } else { set }, at + 1))
    }

    /// Reads one character of a class that started at `start`.
    fn member(&self, start: usize, at: usize) -> Result<(u32, usize), Error> {
        match self.byte(at) {
            None => self.error(ErrorKind::MissingBracket, start, self.pattern.len()),
            Some(b'\\') => self.escape(at),
            Some(_) => self.rune(at),
        }
    }
}
