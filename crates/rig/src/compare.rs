//! Runs cases on an original and on a subject, and judges the pairs.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;

use crate::generate::{Case, Check, Family};
use crate::request::{Dialect, Outcome, RenderRequest};
use crate::subject::Subject;

/// How many cases travel to the original at once.
const BATCH: usize = 500;
/// How often the original is asked again before a difference is believed.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// In the same process.
    pub again: usize,
    /// In so many other processes, since some things vary only between processes.
    pub processes: usize,
    /// Once more when the answer proved to vary: one of its orders may be ours.
    pub often: usize,
}

/// The patience of every comparison.
pub const PATIENT: Patience = Patience { again: 60, processes: 6, often: 60 };
/// That of one that has found so many differences that a few more or less say nothing.
const HASTY: Patience = Patience { again: 5, processes: 0, often: 20 };
/// How many those are.
const MANY: usize = 30;
/// How many answers are waited for before they are looked at.
const ROUND: usize = 10;

/// Functions whose answer has a random order.
const MIXERS: &[&[u8]] = &[b"shuffle", b"keys", b"values"];

/// A case on which the two do not agree.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The case, with its dialect set.
    pub case: Case,
    /// What the original says.
    pub original: Outcome,
    /// What the subject says.
    pub subject: Outcome,
}

impl Difference {
    /// Both outcomes around the first letter at which they part.
    pub fn excerpts(&self) -> (String, String) {
        excerpts(&self.original.to_string(), &self.subject.to_string())
    }
}

/// Two texts around the first letter at which they part.
pub fn excerpts(a: &str, b: &str) -> (String, String) {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let common = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let cut = |text: &[char]| {
        let start = common.saturating_sub(300);
        let end = (common + 500).min(text.len());
        let dots = |more: bool| if more { "…" } else { "" };
        let middle: String = text.get(start..end).unwrap_or_default().iter().collect();
        format!("{}{middle}{}", dots(start > 0), dots(end < text.len()))
    };
    (cut(&a), cut(&b))
}

/// The figures of a run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Cases per family: all, and those on which the original gives an error.
    pub families: BTreeMap<Family, (usize, usize)>,
    /// How often each function was called in a case that the original renders.
    pub rendered: BTreeMap<&'static str, usize>,
    /// Cases whose answer varies by itself.
    pub random: usize,
    /// Cases on which the original itself breaks; they are not judged.
    pub broken: Vec<String>,
    /// Where the two differ.
    pub differences: Vec<Difference>,
}

impl Tally {
    /// Number of cases judged.
    pub fn cases(&self) -> usize {
        self.families.values().map(|(all, _)| all).sum()
    }

    /// Share of cases that are errors, in percent.
    pub fn error_share(&self) -> f64 {
        let errors: usize = self.families.values().map(|(_, errors)| errors).sum();
        100.0 * errors as f64 / self.cases().max(1) as f64
    }
}

/// Judges all cases in a dialect.
pub fn run(cases: &[Case], dialect: Dialect, original: &dyn Subject, subject: &dyn Subject) -> Tally {
    let mut tally = Tally::default();
    for batch in cases.chunks(BATCH) {
        let requests: Vec<RenderRequest> =
            batch.iter().map(|case| RenderRequest { dialect, ..case.request.clone() }).collect();
        let theirs = original.render_many(&requests);
        let ours = subject.render_many(&requests);
        for (((case, request), theirs), ours) in batch.iter().zip(requests).zip(theirs).zip(ours) {
            let entry = tally.families.entry(case.family).or_default();
            entry.0 += 1;
            entry.1 += usize::from(theirs.is_error());
            if let (false, Some((name, _))) = (theirs.is_error(), case.cells.first()) {
                *tally.rendered.entry(name).or_default() += 1;
            }
            if matches!(theirs, Outcome::Crash(_)) {
                tally.broken.push(case.id.clone());
                continue;
            }
            let patience = if tally.differences.len() < MANY { PATIENT } else { HASTY };
            match judge(case.check, &request, original, theirs, &ours, patience) {
                Verdict::Equal => {}
                Verdict::Varies => tally.random += 1,
                Verdict::Breaks => tally.broken.push(case.id.clone()),
                Verdict::Differs(original) => {
                    let case = Case { request, ..case.clone() };
                    tally.differences.push(Difference { case, original, subject: ours });
                }
            }
        }
    }
    tally
}

/// What became of one pair.
pub enum Verdict {
    /// They agree.
    Equal,
    /// The original's answer varies, and ours is one of them or looks like one.
    Varies,
    /// The original died when it was asked again.
    Breaks,
    /// They do not agree.
    Differs(Outcome),
}

/// Compares a pair; asks the original again when they differ, since some answers vary by themselves.
pub fn judge(
    check: Check,
    request: &RenderRequest,
    original: &dyn Subject,
    theirs: Outcome,
    ours: &Outcome,
    patience: Patience,
) -> Verdict {
    if equal(check, &theirs, ours) {
        return Verdict::Equal;
    }
    // What these mix has the same bytes in another order.
    let letters = MIXERS.iter().any(|word| mentions(request, word));
    let alike = |a: &Outcome| {
        equal(check, a, ours)
            || equal(Check::Shape, a, ours)
            || both_numbers(a, ours)
            || letters && same_letters(a, ours)
    };
    let (first, varies) = (alike(&theirs), Cell::new(false));
    // `None` while it is open; a crash ends it, since an original that dies now and then is slow to ask.
    let ask = |times: usize| {
        original.render_many(&vec![request.clone(); times]).iter().find_map(|answer| {
            if matches!(answer, Outcome::Crash(_)) {
                return Some(Verdict::Breaks);
            }
            varies.set(varies.get() || *answer != theirs);
            (varies.get() && (first || alike(answer))).then_some(Verdict::Varies)
        })
    };
    let rounds = |times: usize| (0..times.div_ceil(ROUND)).find_map(|_| ask(ROUND));
    let verdict = rounds(patience.again).or_else(|| {
        (0..patience.processes).find_map(|_| {
            original.start_over();
            ask(1)
        })
    });
    match verdict {
        Some(verdict) => verdict,
        None if !varies.get() => Verdict::Differs(theirs),
        None => rounds(patience.often).unwrap_or(Verdict::Differs(theirs)),
    }
}

/// Whether both answers are nothing but whole numbers, as those of `randInt` are: one may be negative.
fn both_numbers(a: &Outcome, b: &Outcome) -> bool {
    let number = |text: &[u8]| std::str::from_utf8(text).is_ok_and(|text| text.trim().parse::<i64>().is_ok());
    match (a, b) {
        (Outcome::Files(a), Outcome::Files(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.0 == y.0 && number(x.1) && number(y.1))
        }
        (Outcome::Stdout(a), Outcome::Stdout(b)) => number(a) && number(b),
        _ => false,
    }
}

/// The same bytes in any order.
fn same_letters(a: &Outcome, b: &Outcome) -> bool {
    let sorted = |outcome: &Outcome| {
        let mut bytes = without_addresses(outcome.to_string().as_bytes());
        bytes.sort_unstable();
        bytes
    };
    a.is_error() == b.is_error() && sorted(a) == sorted(b)
}

fn mentions(request: &RenderRequest, word: &[u8]) -> bool {
    request.files.iter().any(|file| file.data.windows(word.len()).any(|w| w == word))
}

/// Whether two outcomes count as the same.
pub fn equal(check: Check, a: &Outcome, b: &Outcome) -> bool {
    match (a, b) {
        (Outcome::Files(a), Outcome::Files(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.0 == y.0 && same(check, x.1, y.1))
        }
        (Outcome::Stdout(a), Outcome::Stdout(b)) | (Outcome::Error(a), Outcome::Error(b)) => {
            same(check, a, b)
        }
        _ => false,
    }
}

fn same(check: Check, a: &[u8], b: &[u8]) -> bool {
    a == b || same_but_addresses(a, b) || normal(check, a) == normal(check, b)
}

/// What we print for every pointer, in all bases, where Go prints an address that means nothing.
const ADDRESSES: [&[u8]; 4] = [b"0x7c0000000000", b"136339441844224", b"7c0000000000", b"7C0000000000"];

/// How many bytes an address at the start has.
fn address(text: &[u8]) -> Option<usize> {
    let digits = text.strip_prefix(b"0x")?.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    (6..=12).contains(&digits).then_some(2 + digits)
}

/// The length of what Go may print in the place of our address.
fn other_address(text: &[u8], ours: &[u8]) -> Option<usize> {
    let hex = ours.contains(&b'c') || ours.contains(&b'C');
    let is_digit = |b: &&u8| if hex { b.is_ascii_hexdigit() } else { b.is_ascii_digit() };
    if ours.starts_with(b"0x") {
        return address(text);
    }
    let digits = text.iter().take_while(is_digit).count();
    (6..=15).contains(&digits).then_some(digits)
}

/// Whether the two differ only where the second has our address and the first any other.
fn same_but_addresses(mut a: &[u8], mut b: &[u8]) -> bool {
    let find = |b: &[u8]| {
        let at = |ours: &&'static [u8]| b.windows(ours.len()).position(|w| w == *ours);
        ADDRESSES.iter().filter_map(|ours| Some((at(ours)?, *ours))).min_by_key(|(at, _)| *at)
    };
    while let Some((at, ours)) = find(b) {
        let Some(length) = a.get(at..).and_then(|text| other_address(text, ours)) else { return false };
        if a.get(..at) != b.get(..at) {
            return false;
        }
        (a, b) = (&a[at + length..], &b[at + ours.len()..]);
    }
    a == b
}

fn without_addresses(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.first() {
        match address(rest) {
            Some(length) => rest = &rest[length..],
            None => {
                out.push(*first);
                rest = &rest[1..];
            }
        }
    }
    out
}

/// What of a text counts.
pub fn normal(check: Check, bytes: &[u8]) -> Vec<u8> {
    let bytes = without_go_version(bytes);
    match check {
        Check::Exact => bytes.into_owned(),
        Check::Shape => shape(&bytes),
        Check::SchemaHead => schema_head(&bytes).to_vec(),
    }
}

/// The patch version of the Go that built the original is no behaviour.
fn without_go_version(bytes: &[u8]) -> Cow<'_, [u8]> {
    const MARK: &[u8] = b"go1.";
    if !bytes.windows(MARK.len()).any(|w| w == MARK) {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(MARK.len()).position(|w| w == MARK) {
        out.extend_from_slice(&rest[..at + MARK.len()]);
        rest = &rest[at + MARK.len()..];
        let end = rest.iter().position(|b| !b.is_ascii_digit() && *b != b'.').unwrap_or(rest.len());
        rest = &rest[end..];
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}

/// Letters, digits, base64 and blanks in a row count as one.
fn shape(bytes: &[u8]) -> Vec<u8> {
    const BCRYPT: &[u8] = b"$2a$10$";
    let mut out: Vec<u8> = Vec::new();
    let mut hash = 0..0;
    for (i, byte) in bytes.iter().enumerate() {
        // A hash of bcrypt has dots among its 53 letters.
        if bytes[..i].ends_with(BCRYPT) {
            hash = i..i + 53;
        }
        if hash.contains(&i) && *byte == b'.' {
            continue;
        }
        let random = byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || b"+/=".contains(byte);
        match (random, out.last()) {
            (true, Some(b'w')) => {}
            (true, _) => out.push(b'w'),
            (false, _) => out.push(*byte),
        }
    }
    out
}

/// Everything up to and with the first line that names a path.
fn schema_head(bytes: &[u8]) -> &[u8] {
    let Some(at) = bytes.windows(5).position(|w| w == b"- at ") else { return bytes };
    let end = bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| at + n);
    &bytes[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_number_may_be_negative() {
        let of = |text: &[u8]| Outcome::Stdout(text.to_vec());
        assert!(both_numbers(&of(b"92\n"), &of(b"-1\n")));
        assert!(!both_numbers(&of(b"92\n"), &of(b"a-1\n")));
        assert!(!both_numbers(&of(b"92\n"), &Outcome::Error(b"-1".to_vec())));
    }

    #[test]
    fn random_texts_have_the_same_shape_and_others_do_not() {
        assert!(same(Check::Shape, b"7f-a0\n", b"00-zz\n"));
        assert!(!same(Check::Shape, b"7f-a0", b"7f_a0"));
        assert!(!same(Check::Exact, b"a", b"b"));
        assert!(same(Check::Exact, b"x go1.26.8 y", b"x go1.26.9 y"));
        assert!(!same(Check::Exact, b"x go1.26.8 y", b"x go1.26.8 z"));
    }

    #[test]
    fn an_address_is_like_any_other_address_and_like_nothing_else() {
        assert!(same(Check::Exact, b"[0xc000123456 0x2d318c0]", b"[0x7c0000000000 0x7c0000000000]"));
        assert!(same(Check::Exact, b"{0 47388864}", b"{0 136339441844224}"));
        assert!(!same(Check::Exact, b"[0xc000123456 b]", b"[0x7c0000000000 a]"));
        assert!(!same(Check::Exact, b"[0x7c0000000000]", b"[0xc000123456]"));
        assert!(!same(Check::Exact, b"[0x1f]", b"[0x7c0000000000]"));
        assert!(!same(Check::Exact, b"[&{a}]", b"[0x7c0000000000]"));
    }

    #[test]
    fn mixed_letters_are_the_same_letters() {
        let of = |text: &[u8]| Outcome::Stdout(text.to_vec());
        assert!(same_letters(&of(b"[b 0xc000123456 a]"), &of(b"[a b 0x7c0000000000]")));
        assert!(!same_letters(&of(b"abc"), &of(b"abd")));
        assert!(!same_letters(&of(b"abc"), &Outcome::Error(b"abc".to_vec())));
    }

    #[test]
    fn a_hash_may_have_dots() {
        let (a, b) =
            (&b"u:$2a$10$.MxbuX3Ya1cg4V0m.h5A9u x.y"[..], &b"u:$2a$10$hW13oqmtS5ODaoH39LOVRe x.y"[..]);
        assert!(same(Check::Shape, a, b));
        assert!(!same(Check::Shape, b"a.b", b"ab"));
    }

    #[test]
    fn only_the_head_of_a_schema_error_counts() {
        let a = b"x:\n- at '/a': got number, want string\n- at '/b': y\n";
        assert!(same(Check::SchemaHead, a, b"x:\n- at '/a': got number, want string\nmore\n"));
        assert!(!same(Check::SchemaHead, a, b"x:\n- at '/b': got number, want string\n"));
    }
}
