//! The order of keys: digit runs by their number, letters after everything else.
//!
//! go-yaml's comparison is not transitive (`a10` < `a1b` < `a9` < `a10`), so that for some sets of keys Go's own output
//! changes from run to run. Ours does not: the keys come sorted bytewise, and the sort is stable and indifferent to
//! contradictions (the standard library's may panic on them).

use std::borrow::Cow;

use super::Dialect;
use crate::unicode::{self, is_digit, is_letter};
use crate::walk::Entry;

/// Sorts the entries of a mapping.
pub(super) fn sort<T>(keys: &[u8], entries: &mut [Entry<T>], dialect: Dialect) {
    let sorted = entries.windows(2).all(|pair| match pair {
        [a, b] => !before(b.key(keys), a.key(keys), dialect),
        _ => true,
    });
    if sorted {
        return;
    }
    let order = merge_sort(entries.len(), |a, b| match (entries.get(a), entries.get(b)) {
        (Some(a), Some(b)) => before(a.key(keys), b.key(keys), dialect),
        _ => false,
    });
    permute(entries, order);
}

/// The indices of `len` things in their order. What is neither before nor after keeps its place.
fn merge_sort(len: usize, before: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut from: Vec<usize> = (0..len).collect();
    let mut into = Vec::with_capacity(len);
    let mut width = 1;
    while width < len {
        into.clear();
        for run in from.chunks(2 * width) {
            let (mut left, mut right) = run.split_at(width.min(run.len()));
            while let ([a, left_rest @ ..], [b, right_rest @ ..]) = (left, right) {
                if before(*b, *a) {
                    into.push(*b);
                    right = right_rest;
                } else {
                    into.push(*a);
                    left = left_rest;
                }
            }
            into.extend_from_slice(left);
            into.extend_from_slice(right);
        }
        std::mem::swap(&mut from, &mut into);
        width *= 2;
    }
    from
}

/// Puts the thing with index `order[i]` at place `i`.
fn permute<T>(things: &mut [T], mut order: Vec<usize>) {
    for place in 0..order.len() {
        let Some(&wanted) = order.get(place) else { return };
        let mut source = wanted;
        // What belongs here may have been swapped away to where the smaller places sent it.
        while source < place {
            source = order.get(source).copied().unwrap_or(place);
        }
        if let Some(slot) = order.get_mut(place) {
            *slot = source;
        }
        things.swap(place, source);
    }
}

/// Whether `a` is written before `b`.
fn before(a: &[u8], b: &[u8], dialect: Dialect) -> bool {
    // What was JSON before is UTF-8 already. Stray bytes all read as U+FFFD, so that different keys can be equal here.
    let is_text = |key| dialect == Dialect::Kubernetes || std::str::from_utf8(key).is_ok();
    if is_text(a) && is_text(b) {
        rune_before(a, b, dialect)
    } else {
        rune_before(&lossy(a), &lossy(b), dialect)
    }
}

fn lossy(key: &[u8]) -> Vec<u8> {
    match unicode::valid(key) {
        Cow::Borrowed(text) => text.as_bytes().to_vec(),
        Cow::Owned(text) => text.into_bytes(),
    }
}

fn rune_before(a: &[u8], b: &[u8], dialect: Dialect) -> bool {
    let mut same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    if same == a.len() || same == b.len() {
        return a.len() < b.len();
    }
    while same > 0 && a.get(same).is_some_and(|byte| byte & 0xc0 == 0x80) {
        same -= 1;
    }
    let prefix = a.get(..same).unwrap_or_default();
    let (a, b) = (a.get(same..).unwrap_or_default(), b.get(same..).unwrap_or_default());
    let (Some((x, _)), Some((y, _))) = (unicode::decode(a), unicode::decode(b)) else { return false };
    match (is_letter(x), is_letter(y)) {
        (true, true) => x < y,
        (false, false) => {
            let ahead = (x == '0' || y == '0') && significant(prefix);
            let (x_number, x_len) = digits(a, ahead);
            let (y_number, y_len) = digits(b, ahead);
            (x_number, x_len, x) < (y_number, y_len, y)
        }
        (x_letter, _) => x_letter == (dialect == Dialect::Pretty && last(prefix).is_some_and(is_digit)),
    }
}

fn last(text: &[u8]) -> Option<char> {
    let start = text.iter().rposition(|byte| byte & 0xc0 != 0x80)?;
    unicode::decode(text.get(start..)?).map(|(c, _)| c)
}

/// Whether the digits at the end of the common prefix are more than zeroes.
fn significant(mut prefix: &[u8]) -> bool {
    while let Some(c) = last(prefix).filter(|&c| is_digit(c)) {
        if c != '0' {
            return true;
        }
        prefix = prefix.get(..prefix.len() - c.len_utf8()).unwrap_or_default();
    }
    false
}

/// The number that the digits at the start make (after a `1` if there were some `ahead`), and how many there are.
/// As in Go, it wraps around, and digits of other scripts count by their distance to `0`.
fn digits(mut text: &[u8], ahead: bool) -> (i64, usize) {
    let mut number = i64::from(ahead);
    let mut len = 0;
    while let Some((c, width)) = unicode::decode(text).filter(|&(c, _)| is_digit(c)) {
        number = number.wrapping_mul(10).wrapping_add(i64::from(c as u32) - i64::from(b'0'));
        len += 1;
        text = text.get(width..).unwrap_or_default();
    }
    (number, len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(mut keys: Vec<&str>, dialect: Dialect) -> Vec<&str> {
        let order = merge_sort(keys.len(), |a, b| before(keys[a].as_bytes(), keys[b].as_bytes(), dialect));
        permute(&mut keys, order);
        keys
    }

    #[test]
    fn digit_runs_are_compared_as_numbers() {
        let keys = vec!["a10", "b", "a9", "A", "_", "a1", "1", "a01", "Z", "a", "é", "a-", "10", "9"];
        let natural = ["_", "1", "9", "10", "A", "Z", "a", "a-", "a1", "a01", "a9", "a10", "b", "é"];
        assert_eq!(sorted(keys, Dialect::Kubernetes), natural);
    }

    #[test]
    fn after_a_digit_the_dialects_differ() {
        assert_eq!(sorted(vec!["1-", "1A", "1a"], Dialect::Kubernetes), ["1-", "1A", "1a"]);
        assert_eq!(sorted(vec!["1-", "1A", "1a"], Dialect::Pretty), ["1A", "1a", "1-"]);
    }

    #[test]
    fn a_contradiction_is_survived() {
        assert_eq!(sorted(vec!["a10", "a1b", "a9"], Dialect::Kubernetes).len(), 3);
    }
}
