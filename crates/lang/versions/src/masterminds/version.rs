//! One version: lenient and strict reading, order, and the next versions.

use std::cmp::Ordering;
use std::fmt;

use super::scan::take_version;
use crate::number::{NumberError, ascii, has_leading_zero, is_identifier_byte, parse_u64};

/// Longest version text that is read.
pub const MAX_VERSION_LEN: usize = 256;

/// Why a version could not be read or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// The text does not look like a version.
    #[error("invalid semantic version")]
    Invalid,
    /// The text is empty.
    #[error("version string empty")]
    Empty,
    /// A number has something that is not a digit.
    #[error("invalid characters in version")]
    InvalidCharacters,
    /// A number or numeric identifier has needless zeros in front.
    #[error("version segment starts with 0")]
    LeadingZero,
    /// The build metadata has an empty or bad identifier.
    #[error("invalid metadata string")]
    InvalidMetadata,
    /// The pre-release has an empty or bad identifier.
    #[error("invalid prerelease string")]
    InvalidPrerelease,
    /// The text is longer than [`MAX_VERSION_LEN`].
    #[error("version string is too long (max 256 bytes)")]
    TooLong,
    /// A number does not fit, found by the lenient reader.
    #[error("error parsing version segment: {0}")]
    Segment(#[source] NumberError),
    /// A number does not fit or is missing, found by the strict reader.
    #[error(transparent)]
    Number(NumberError),
    /// The number is the largest there is and cannot be incremented.
    #[error("{0} version increment would overflow uint64")]
    Overflow(&'static str),
}

/// A semantic version that remembers how it was written.
#[derive(Debug, Clone, Default)]
pub struct Version {
    major: u64,
    minor: u64,
    patch: u64,
    pre: String,
    metadata: String,
    original: String,
}

impl Version {
    /// Reads a version leniently: `v` in front, one or two numbers and zeros in front of numbers are fine.
    pub fn new(text: impl AsRef<[u8]>) -> Result<Self, VersionError> {
        let text = text.as_ref();
        if text.len() > MAX_VERSION_LEN {
            return Err(VersionError::TooLong);
        }
        let mut rest = text;
        let pieces = take_version(&mut rest, |byte| byte.is_ascii_digit()).ok_or(VersionError::Invalid)?;
        if !rest.is_empty() {
            return Err(VersionError::Invalid);
        }
        let number = |part: &[u8]| parse_u64(part).map_err(VersionError::Segment);
        let version = Self {
            major: number(pieces.major)?,
            minor: pieces.minor.map_or(Ok(0), number)?,
            patch: pieces.patch.map_or(Ok(0), number)?,
            pre: ascii(pieces.pre),
            metadata: ascii(pieces.metadata),
            original: ascii(text),
        };
        if !pieces.pre.is_empty() {
            check_prerelease(pieces.pre)?;
        }
        Ok(version)
    }

    /// Puts a version together from its parts, of which none is looked at: it may be longer than a text may be.
    pub fn of(major: u64, minor: u64, patch: u64, pre: &str) -> Self {
        let sign = if pre.is_empty() { "" } else { "-" };
        let original = format!("{major}.{minor}.{patch}{sign}{pre}");
        Self { major, minor, patch, pre: pre.to_owned(), metadata: String::new(), original }
    }

    /// Reads a version that follows the specification to the letter.
    pub fn strict(text: impl AsRef<[u8]>) -> Result<Self, VersionError> {
        let text = text.as_ref();
        if text.is_empty() {
            return Err(VersionError::Empty);
        }
        if text.len() > MAX_VERSION_LEN {
            return Err(VersionError::TooLong);
        }
        let mut dots = text.splitn(3, |&byte| byte == b'.');
        let (Some(major), Some(minor), Some(tail)) = (dots.next(), dots.next(), dots.next()) else {
            return Err(VersionError::Invalid);
        };
        let (tail, metadata) = cut(tail, b'+');
        metadata.map_or(Ok(()), check_metadata)?;
        let (patch, pre) = cut(tail, b'-');
        pre.map_or(Ok(()), check_prerelease)?;
        for part in [major, minor, patch] {
            if !part.iter().all(u8::is_ascii_digit) {
                return Err(VersionError::InvalidCharacters);
            }
            if has_leading_zero(part) {
                return Err(VersionError::LeadingZero);
            }
        }
        let number = |part: &[u8]| parse_u64(part).map_err(VersionError::Number);
        Ok(Self {
            major: number(major)?,
            minor: number(minor)?,
            patch: number(patch)?,
            pre: ascii(pre.unwrap_or_default()),
            metadata: ascii(metadata.unwrap_or_default()),
            original: ascii(text),
        })
    }

    /// The first number.
    pub fn major(&self) -> u64 {
        self.major
    }

    /// The second number.
    pub fn minor(&self) -> u64 {
        self.minor
    }

    /// The third number.
    pub fn patch(&self) -> u64 {
        self.patch
    }

    /// The pre-release without its hyphen, or nothing.
    pub fn prerelease(&self) -> &str {
        &self.pre
    }

    /// The build metadata without its plus, or nothing.
    pub fn metadata(&self) -> &str {
        &self.metadata
    }

    /// The text as it was written.
    pub fn original(&self) -> &str {
        &self.original
    }

    /// The version as a JSON string.
    pub fn to_json(&self) -> String {
        format!("\"{self}\"")
    }

    /// Replaces this version by the one that the text says, or leaves it as it is.
    pub fn assign(&mut self, text: impl AsRef<[u8]>) -> Result<(), VersionError> {
        *self = Self::new(text)?;
        Ok(())
    }

    fn respelled(mut self) -> Self {
        let v = if self.original.starts_with('v') { "v" } else { "" };
        self.original = format!("{v}{self}");
        self
    }

    /// The next patch; of a pre-release, the release that it precedes.
    pub fn inc_patch(&self) -> Result<Self, VersionError> {
        let step = u64::from(self.pre.is_empty());
        let patch = self.patch.checked_add(step).ok_or(VersionError::Overflow("patch"))?;
        Ok(Self { patch, ..self.bare() }.respelled())
    }

    /// The next minor version.
    pub fn inc_minor(&self) -> Result<Self, VersionError> {
        let minor = self.minor.checked_add(1).ok_or(VersionError::Overflow("minor"))?;
        Ok(Self { minor, patch: 0, ..self.bare() }.respelled())
    }

    /// The next major version.
    pub fn inc_major(&self) -> Result<Self, VersionError> {
        let major = self.major.checked_add(1).ok_or(VersionError::Overflow("major"))?;
        Ok(Self { major, minor: 0, patch: 0, ..self.bare() }.respelled())
    }

    fn bare(&self) -> Self {
        Self { pre: String::new(), metadata: String::new(), ..self.clone() }
    }

    /// The same version with another pre-release; nothing removes it.
    pub fn set_prerelease(&self, pre: impl AsRef<[u8]>) -> Result<Self, VersionError> {
        let pre = pre.as_ref();
        if !pre.is_empty() {
            check_prerelease(pre)?;
        }
        Ok(Self { pre: ascii(pre), ..self.clone() }.respelled())
    }

    /// The same version with other build metadata; nothing removes it.
    pub fn set_metadata(&self, metadata: impl AsRef<[u8]>) -> Result<Self, VersionError> {
        let metadata = metadata.as_ref();
        if !metadata.is_empty() {
            check_metadata(metadata)?;
        }
        Ok(Self { metadata: ascii(metadata), ..self.clone() }.respelled())
    }

    /// Orders by numbers, then pre-release; build metadata does not count.
    pub fn compare(&self, other: &Self) -> Ordering {
        let numbers = |v: &Self| (v.major, v.minor, v.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (false, false) => compare_prerelease(&self.pre, &other.pre),
            (without, other_without) => without.cmp(&other_without),
        })
    }

    /// Reports whether neither version comes before the other.
    pub fn equal(&self, other: &Self) -> bool {
        self.compare(other).is_eq()
    }

    /// Reports whether this version comes before the other.
    pub fn less_than(&self, other: &Self) -> bool {
        self.compare(other).is_lt()
    }

    /// Reports whether this version comes before the other or equals it.
    pub fn less_than_equal(&self, other: &Self) -> bool {
        self.compare(other).is_le()
    }

    /// Reports whether this version comes after the other.
    pub fn greater_than(&self, other: &Self) -> bool {
        self.compare(other).is_gt()
    }

    /// Reports whether this version comes after the other or equals it.
    pub fn greater_than_equal(&self, other: &Self) -> bool {
        self.compare(other).is_ge()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.pre.is_empty() {
            write!(f, "-{}", self.pre)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

fn cut(text: &[u8], separator: u8) -> (&[u8], Option<&[u8]>) {
    let mut halves = text.splitn(2, |&byte| byte == separator);
    (halves.next().unwrap_or_default(), halves.next())
}

fn check_prerelease(pre: &[u8]) -> Result<(), VersionError> {
    pre.split(|&byte| byte == b'.').try_for_each(|part| {
        if part.is_empty() || !part.iter().copied().all(is_identifier_byte) {
            Err(VersionError::InvalidPrerelease)
        } else if has_leading_zero(part) && part.iter().all(u8::is_ascii_digit) {
            Err(VersionError::LeadingZero)
        } else {
            Ok(())
        }
    })
}

fn check_metadata(metadata: &[u8]) -> Result<(), VersionError> {
    let good = |part: &[u8]| !part.is_empty() && part.iter().copied().all(is_identifier_byte);
    if metadata.split(|&byte| byte == b'.').all(good) { Ok(()) } else { Err(VersionError::InvalidMetadata) }
}

/// Orders pre-releases part by part; a missing part counts as an empty one.
pub(super) fn compare_prerelease(one: &str, two: &str) -> Ordering {
    let (mut ones, mut twos) = (one.split('.'), two.split('.'));
    loop {
        match (ones.next(), twos.next()) {
            (None, None) => return Ordering::Equal,
            (a, b) => match compare_part(a.unwrap_or_default(), b.unwrap_or_default()) {
                Ordering::Equal => {}
                order => return order,
            },
        }
    }
}

fn compare_part(one: &str, two: &str) -> Ordering {
    if one.is_empty() || two.is_empty() {
        return one.len().cmp(&two.len());
    }
    match (parse_u64(one.as_bytes()), parse_u64(two.as_bytes())) {
        (Ok(a), Ok(b)) => a.cmp(&b),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => one.cmp(two),
    }
}
