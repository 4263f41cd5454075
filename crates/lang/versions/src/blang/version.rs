//! One version: reading and order.

use std::cmp::Ordering;
use std::fmt;

use podium_gotmpl::gostr;

use crate::number::{NumberError, ascii, has_leading_zero, is_identifier_byte, parse_u64, quoted};

/// Why a version could not be read. Texts in the variants are quoted already.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// The text is empty.
    #[error("Version string empty")]
    Empty,
    /// There are fewer than three parts.
    #[error("No Major.Minor.Patch elements found")]
    TooFewParts,
    /// A number has something that is not a digit.
    #[error("Invalid character(s) found in {0} number {1}")]
    NumberCharacters(&'static str, String),
    /// A number has needless zeros in front.
    #[error("{0} number must not contain leading zeroes {1}")]
    NumberLeadingZeroes(&'static str, String),
    /// A number is missing or too large.
    #[error(transparent)]
    Number(#[from] NumberError),
    /// A pre-release identifier is empty.
    #[error("Prerelease is empty")]
    EmptyPrerelease,
    /// A numeric pre-release identifier has needless zeros in front.
    #[error("Numeric PreRelease version must not contain leading zeroes {0}")]
    PrereleaseLeadingZeroes(String),
    /// A pre-release identifier has a bad character.
    #[error("Invalid character(s) found in prerelease {0}")]
    PrereleaseCharacters(String),
    /// A build identifier is empty.
    #[error("Build meta data is empty")]
    EmptyBuild,
    /// A build identifier has a bad character.
    #[error("Invalid character(s) found in build meta data {0}")]
    BuildCharacters(String),
    /// A version with fewer than three numbers has more after them.
    #[error("Short version cannot contain PreRelease/Build meta data")]
    ShortWithExtras,
}

/// One part of a pre-release; numbers come before words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Identifier {
    /// Only digits.
    Number(u64),
    /// Letters, digits and hyphens.
    Word(String),
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Word(word) => word.fmt(f),
        }
    }
}

/// A semantic version. `==` compares everything; order, in [`Version::compare`], is without build metadata.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Version {
    /// The first number.
    pub major: u64,
    /// The second number.
    pub minor: u64,
    /// The third number.
    pub patch: u64,
    /// The pre-release identifiers.
    pub pre: Vec<Identifier>,
    /// The build identifiers.
    pub build: Vec<String>,
}

impl Version {
    /// Reads a version that follows the specification.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, VersionError> {
        let text = text.as_ref();
        if text.is_empty() {
            return Err(VersionError::Empty);
        }
        let mut dots = text.splitn(3, |&byte| byte == b'.');
        let (Some(major), Some(minor), Some(tail)) = (dots.next(), dots.next(), dots.next()) else {
            return Err(VersionError::TooFewParts);
        };
        let (tail, build) = cut(tail, b'+');
        let (patch, pre) = cut(tail, b'-');
        let parts = |text: Option<&[u8]>| -> Vec<Vec<u8>> {
            text.map(|text| text.split(|&byte| byte == b'.').map(<[u8]>::to_vec).collect())
                .unwrap_or_default()
        };
        Ok(Self {
            major: number(major, "major", "Major")?,
            minor: number(minor, "minor", "Minor")?,
            patch: number(patch, "patch", "Patch")?,
            pre: parts(pre).iter().map(|part| identifier(part)).collect::<Result<_, _>>()?,
            build: parts(build).iter().map(|part| build_identifier(part)).collect::<Result<_, _>>()?,
        })
    }

    /// Reads a version leniently: space around, `v` or zeros in front and missing numbers are fine.
    pub fn parse_tolerant(text: impl AsRef<[u8]>) -> Result<Self, VersionError> {
        let text = gostr::trim_space(text.as_ref());
        let text = text.strip_prefix(b"v").unwrap_or(text);
        let mut parts: Vec<Vec<u8>> = text.splitn(3, |&byte| byte == b'.').map(without_zeroes).collect();
        if parts.len() < 3 {
            if parts.last().is_some_and(|last| last.iter().any(|byte| b"+-".contains(byte))) {
                return Err(VersionError::ShortWithExtras);
            }
            parts.resize(3, b"0".to_vec());
        }
        Self::parse(parts.join(&b'.'))
    }

    /// Orders by numbers, then pre-release; build metadata does not count.
    pub fn compare(&self, other: &Self) -> Ordering {
        let numbers = |v: &Self| (v.major, v.minor, v.patch);
        let release = |v: &Self| v.pre.is_empty();
        numbers(self)
            .cmp(&numbers(other))
            .then_with(|| release(self).cmp(&release(other)))
            .then_with(|| self.pre.cmp(&other.pre))
    }

    /// The three numbers without pre-release and build metadata.
    pub fn finalize(&self) -> String {
        format!("{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        for (at, identifier) in self.pre.iter().enumerate() {
            write!(f, "{}{identifier}", if at > 0 { '.' } else { '-' })?;
        }
        for (at, identifier) in self.build.iter().enumerate() {
            write!(f, "{}{identifier}", if at > 0 { '.' } else { '+' })?;
        }
        Ok(())
    }
}

fn cut(text: &[u8], separator: u8) -> (&[u8], Option<&[u8]>) {
    let mut halves = text.splitn(2, |&byte| byte == separator);
    (halves.next().unwrap_or_default(), halves.next())
}

fn number(text: &[u8], name: &'static str, title: &'static str) -> Result<u64, VersionError> {
    if !text.iter().all(u8::is_ascii_digit) {
        return Err(VersionError::NumberCharacters(name, quoted(text)));
    }
    if has_leading_zero(text) {
        return Err(VersionError::NumberLeadingZeroes(title, quoted(text)));
    }
    Ok(parse_u64(text)?)
}

fn identifier(text: &[u8]) -> Result<Identifier, VersionError> {
    if text.is_empty() {
        Err(VersionError::EmptyPrerelease)
    } else if text.iter().all(u8::is_ascii_digit) {
        if has_leading_zero(text) {
            return Err(VersionError::PrereleaseLeadingZeroes(quoted(text)));
        }
        Ok(Identifier::Number(parse_u64(text)?))
    } else if text.iter().copied().all(is_identifier_byte) {
        Ok(Identifier::Word(ascii(text)))
    } else {
        Err(VersionError::PrereleaseCharacters(quoted(text)))
    }
}

fn build_identifier(text: &[u8]) -> Result<String, VersionError> {
    if text.is_empty() {
        Err(VersionError::EmptyBuild)
    } else if text.iter().copied().all(is_identifier_byte) {
        Ok(ascii(text))
    } else {
        Err(VersionError::BuildCharacters(quoted(text)))
    }
}

fn without_zeroes(part: &[u8]) -> Vec<u8> {
    if part.len() < 2 {
        return part.to_vec();
    }
    let zeroes = part.iter().take_while(|&&byte| byte == b'0').count();
    let rest = part.get(zeroes..).unwrap_or_default();
    match rest.first() {
        Some(byte) if byte.is_ascii_digit() => rest.to_vec(),
        _ => [b"0", rest].concat(),
    }
}
