//! Small pieces of syntax: code points, repeat counts, escapes of one character.

use super::Parser;
use crate::error::{Error, ErrorKind};
use crate::set::MAX_RUNE;

/// What stands in for a code point at the end of the pattern; it is equal to nothing that can be written there.
const NO_RUNE: u32 = u32::MAX;

/// The first code point and its width; nothing if the text starts with a byte that is no UTF-8.
pub(super) fn decode(text: &[u8]) -> Option<(u32, usize)> {
    let Some(first) = text.first() else { return Some((NO_RUNE, 0)) };
    if first.is_ascii() {
        return Some((u32::from(*first), 1));
    }
    let head = text.get(..text.len().min(4))?;
    let valid = match std::str::from_utf8(head) {
        Ok(s) => s,
        Err(e) => std::str::from_utf8(head.get(..e.valid_up_to())?).ok()?,
    };
    valid.chars().next().map(|c| (u32::from(c), c.len_utf8()))
}

/// Least and most repetitions (most: nothing for no limit); nothing at all if a number is out of range.
pub(super) type Counts = Option<(u32, Option<u32>)>;

/// Reads `{2}`, `{2,}` or `{2,5}` and says how long it is; anything else is no repetition.
pub(super) fn counts(text: &[u8]) -> Option<(Counts, usize)> {
    let (min, mut at) = number(text, 1)?;
    let mut max = Some(min);
    if text.get(at) == Some(&b',') {
        at += 1;
        max = None;
        if text.get(at) != Some(&b'}') {
            let (most, next) = number(text, at)?;
            max = Some(most);
            at = next;
        }
    }
    if text.get(at) != Some(&b'}') {
        return None;
    }
    let counts = match (min, max) {
        (Some(min), None) => Some((min, None)),
        (Some(min), Some(Some(max))) => Some((min, Some(max))),
        _ => None,
    };
    Some((counts, at + 1))
}

/// A decimal number without leading zeros; nothing inside if it is far too large.
fn number(text: &[u8], from: usize) -> Option<(Option<u32>, usize)> {
    let digits = text.get(from..)?.iter().take_while(|b| b.is_ascii_digit()).count();
    let end = from + digits;
    match text.get(from..end)? {
        [] | [b'0', _, ..] => None,
        digits => {
            let add = |n: Option<u32>, d: &u8| n?.checked_mul(10)?.checked_add(u32::from(d - b'0'));
            Some((digits.iter().fold(Some(0), add), end))
        }
    }
}

fn hex(c: u32) -> Option<u32> {
    char::from_u32(c)?.to_digit(16)
}

impl Parser<'_> {
    /// Reads the escape of one character: the character and the place after it.
    pub(super) fn escape(&self, at: usize) -> Result<(u32, usize), Error> {
        if at + 1 >= self.pattern.len() {
            return Err(Error::new(ErrorKind::TrailingBackslash, b""));
        }
        let (c, after) = self.rune(at + 1)?;
        let next_is_octal = matches!(self.byte(after), Some(b'0'..=b'7'));
        let rune = match char::from_u32(c) {
            Some('0') => return Ok(self.octal(at + 1)),
            Some('1'..='7') if next_is_octal => return Ok(self.octal(at + 1)),
            Some('x') => return self.hexadecimal(at, after),
            Some('a') => 7,
            Some('f') => 12,
            Some('n') => 10,
            Some('r') => 13,
            Some('t') => 9,
            Some('v') => 11,
            Some(c) if c.is_ascii() && !c.is_ascii_alphanumeric() => u32::from(c),
            _ => return self.error(ErrorKind::InvalidEscape, at, after),
        };
        Ok((rune, after))
    }

    /// Reads up to three octal digits.
    fn octal(&self, from: usize) -> (u32, usize) {
        let digits = self.rest(from).iter().take(3).take_while(|b| (b'0'..=b'7').contains(*b));
        digits.fold((0, from), |(value, at), d| (value * 8 + u32::from(d - b'0'), at + 1))
    }

    /// Reads what follows `\x`; `start` is where the backslash is.
    fn hexadecimal(&self, start: usize, at: usize) -> Result<(u32, usize), Error> {
        let (first, mut at) = self.rune(at)?;
        if first != u32::from(b'{') {
            let (second, end) = if first == NO_RUNE { (NO_RUNE, at) } else { self.rune(at)? };
            return match (hex(first), hex(second)) {
                (Some(high), Some(low)) => Ok((high * 16 + low, end)),
                _ => self.error(ErrorKind::InvalidEscape, start, end),
            };
        }
        let mut value = None;
        loop {
            let (c, next) = self.rune(at)?;
            at = next;
            match (hex(c), value) {
                (Some(digit), _) => {
                    let rune = value.unwrap_or(0) * 16 + digit;
                    if rune > MAX_RUNE {
                        return self.error(ErrorKind::InvalidEscape, start, at);
                    }
                    value = Some(rune);
                }
                (None, Some(rune)) if c == u32::from(b'}') => return Ok((rune, at)),
                _ => return self.error(ErrorKind::InvalidEscape, start, at),
            }
        }
    }
}
