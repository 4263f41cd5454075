//! Ranges: comparisons joined by space (all must hold) and `||` (one side must hold).

use std::cmp::Ordering;

use podium_gotmpl::gostr;

use super::version::{Version, VersionError};
use crate::number::quoted;

/// Why a range could not be read. Texts in the variants are quoted already.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// The range begins with `||`.
    #[error("First element in range is '||'")]
    FirstIsOr,
    /// The range is empty or ends with `||`.
    #[error("Last element in range is '||'")]
    LastIsOr,
    /// A comparison has no digit, so no version.
    #[error("Could not get version from string: {0}")]
    NoVersion(String),
    /// A comparison begins with something that is no comparator.
    #[error("Could not parse Range {part}: Could not parse comparator {comparator} in {trimmed}")]
    Comparator {
        /// The whole comparison.
        part: String,
        /// The same without space after the comparator.
        trimmed: String,
        /// What stands before the version.
        comparator: String,
    },
    /// The version of a comparison is none.
    #[error("Could not parse Range {part}: Could not parse version {version} in {trimmed}: {source}")]
    Version {
        /// The whole comparison.
        part: String,
        /// The same without space after the comparator.
        trimmed: String,
        /// The version text.
        version: String,
        /// What is wrong with it.
        source: VersionError,
    },
}

#[derive(Debug, Clone, Copy)]
struct Accepts {
    less: bool,
    equal: bool,
    greater: bool,
}

impl Accepts {
    fn new(comparator: &[u8]) -> Option<Self> {
        let (less, equal, greater) = match comparator {
            b"" | b"=" | b"==" => (false, true, false),
            b"!" | b"!=" => (true, false, true),
            b">" => (false, false, true),
            b">=" => (false, true, true),
            b"<" => (true, false, false),
            b"<=" => (true, true, false),
            _ => return None,
        };
        Some(Self { less, equal, greater })
    }

    fn accepts(self, order: Ordering) -> bool {
        match order {
            Ordering::Less => self.less,
            Ordering::Equal => self.equal,
            Ordering::Greater => self.greater,
        }
    }
}

/// A range of versions such as `>=1.0.0 <2.0.0 || 3.x`.
#[derive(Debug, Clone)]
pub struct Range {
    groups: Vec<Vec<(Accepts, Version)>>,
}

impl Range {
    /// Reads a range.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, RangeError> {
        let groups = split_groups(split_parts(text.as_ref()))?;
        // All wildcards are expanded before any comparison is read: of two errors the earlier stage's is told.
        let expanded = groups.iter().map(|group| expand_group(group)).collect::<Result<Vec<_>, _>>()?;
        let read = |group: &Vec<Vec<u8>>| group.iter().map(|part| read_comparison(part)).collect();
        Ok(Self { groups: expanded.iter().map(read).collect::<Result<_, _>>()? })
    }

    /// Reports whether the version lies in the range; an alternative without comparisons holds nothing.
    pub fn contains(&self, version: &Version) -> bool {
        self.groups.iter().any(|group| {
            let holds = |(accepts, own): &(Accepts, Version)| accepts.accepts(version.compare(own));
            !group.is_empty() && group.iter().all(holds)
        })
    }
}

/// Splits at spaces that do not follow a comparator. Parts of a single byte get lost, as in the original.
fn split_parts(text: &[u8]) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    let mut keep = |part: &[u8]| {
        if part.len() > 1 {
            parts.push(part.iter().copied().filter(|&byte| byte != b' ').collect());
        }
    };
    let (mut start, mut last) = (0, 0);
    for (at, &byte) in text.iter().enumerate() {
        if byte != b' ' {
            last = byte;
        } else if !b"><=".contains(&last) {
            keep(text.get(start..at).unwrap_or_default());
            start = at + 1;
        }
    }
    keep(text.get(start..).unwrap_or_default());
    parts
}

fn split_groups(parts: Vec<Vec<u8>>) -> Result<Vec<Vec<Vec<u8>>>, RangeError> {
    if parts.first().is_some_and(|part| part == b"||") {
        return Err(RangeError::FirstIsOr);
    }
    if parts.last().is_none_or(|part| part == b"||") {
        return Err(RangeError::LastIsOr);
    }
    Ok(parts.split(|part| part == b"||").map(<[_]>::to_vec).collect())
}

/// Separates the comparator from the version, which begins with the first digit of any script.
fn split_comparator(part: &[u8]) -> Result<(&[u8], &[u8]), RangeError> {
    let digit = gostr::runes(part).find(|&(_, c, _)| gostr::is_digit(c));
    let halves = digit.and_then(|(at, ..)| part.split_at_checked(at));
    let (comparator, version) = halves.ok_or_else(|| RangeError::NoVersion(quoted(part)))?;
    Ok((gostr::trim_space(comparator), version))
}

fn read_comparison(part: &[u8]) -> Result<(Accepts, Version), RangeError> {
    let (comparator, version) = split_comparator(part)?;
    let (whole, trimmed) = (|| quoted(part), || quoted(&[comparator, version].concat()));
    let accepts = Accepts::new(comparator).ok_or_else(|| RangeError::Comparator {
        part: whole(),
        trimmed: trimmed(),
        comparator: quoted(comparator),
    })?;
    let parsed = Version::parse(version).map_err(|source| RangeError::Version {
        part: whole(),
        trimmed: trimmed(),
        version: quoted(version),
        source,
    })?;
    Ok((accepts, parsed))
}

fn expand_group(group: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, RangeError> {
    let mut parts = Vec::with_capacity(group.len());
    for part in group {
        if part.contains(&b'x') {
            expand_wildcard(part, &mut parts)?;
        } else {
            parts.push(part.clone());
        }
    }
    Ok(parts)
}

fn expand_wildcard(part: &[u8], parts: &mut Vec<Vec<u8>>) -> Result<(), RangeError> {
    let (comparator, version) = split_comparator(part)?;
    let low = with_zeroes(version);
    let next = || next_after(version, &low);
    let mut push = |comparator: &[u8], version: Vec<u8>| parts.push([comparator, &version].concat());
    match comparator {
        b">" => push(b">=", next()),
        b">=" => push(b">=", low),
        b"<" => push(b"<", low),
        b"<=" => push(b"<", next()),
        b"" | b"=" | b"==" => {
            push(b">=", low.clone());
            push(b"<", next());
        }
        b"!=" | b"!" => {
            push(b"<", low.clone());
            push(b">=", next());
        }
        // The original forgets a comparator that it does not know.
        _ => push(b"", low),
    }
    Ok(())
}

fn replace_once(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    match text.windows(from.len().max(1)).position(|window| window == from) {
        Some(at) => {
            let mut out = text.to_vec();
            out.splice(at..at + from.len(), to.iter().copied());
            out
        }
        None => text.to_vec(),
    }
}

fn with_zeroes(version: &[u8]) -> Vec<u8> {
    let mut low = replace_once(&replace_once(version, b".x.x", b".x"), b".x", b".0");
    if low.iter().filter(|&&byte| byte == b'.').count() == 1 {
        low.extend(b".0");
    }
    low
}

/// The lowest version after all that a wildcard stands for; nothing when there is no such number.
fn next_after(version: &[u8], low: &[u8]) -> Vec<u8> {
    let mut written = version.rsplit(|&byte| byte == b'.');
    let place = match (written.next(), written.count()) {
        (Some(b"x"), 1) => 0,
        (Some(b"x"), 2) => 1,
        _ => return Vec::new(),
    };
    let mut parts: Vec<Vec<u8>> = low.split(|&byte| byte == b'.').map(<[u8]>::to_vec).collect();
    let number = parts.get(place).and_then(|part| std::str::from_utf8(part).ok()?.parse::<i64>().ok());
    match (parts.get_mut(place), number) {
        (Some(part), Some(number)) => {
            *part = number.wrapping_add(1).to_string().into_bytes();
            parts.join(&b'.')
        }
        _ => Vec::new(),
    }
}
