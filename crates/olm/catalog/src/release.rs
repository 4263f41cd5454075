//! Bundle versions with releases.

use std::cmp::Ordering;
use std::fmt;

use podium_versions::blang::{Identifier, Version};

use crate::error::quote;

/// Maximum length of a release in bytes.
const MAX_LEN: usize = 20;

/// A release: dot-separated identifiers; an empty one is the lowest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Release(pub Vec<Identifier>);

impl Release {
    /// Parses a release. An error is opm's message.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let invalid = |why: String| format!("invalid release {}: {why}", quote(text));
        if text.len() > MAX_LEN {
            return Err(invalid(format!("exceeds maximum length of {MAX_LEN} characters")));
        }
        let mut identifiers = Vec::new();
        let mut errors = Vec::new();
        for (index, segment) in text.split('.').enumerate() {
            match identifier(segment) {
                Ok(identifier) => identifiers.push(identifier),
                Err(error) => errors.push(format!("segment {index}: {error}")),
            }
        }
        if errors.is_empty() { Ok(Self(identifiers)) } else { Err(invalid(errors.join("\n"))) }
    }

    /// Reports whether there is no release.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Compares by prerelease precedence, except that an empty release is the lowest.
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self.is_empty(), other.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.0.cmp(&other.0),
        }
    }
}

/// Parses an identifier by the rules of prereleases.
fn identifier(text: &str) -> Result<Identifier, String> {
    if text.contains('+') {
        return Err(format!("Invalid character(s) found in prerelease {}", quote(text)));
    }
    let mut version = Version::parse(format!("0.0.0-{text}")).map_err(|error| error.to_string())?;
    version.pre.pop().ok_or_else(|| "Prerelease is empty".to_owned())
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, identifier) in self.0.iter().enumerate() {
            write!(f, "{}{identifier}", if index > 0 { "." } else { "" })?;
        }
        Ok(())
    }
}

/// A version and its release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionRelease {
    /// Version.
    pub version: Version,
    /// Release.
    pub release: Release,
}

impl VersionRelease {
    /// Parses a legacy registry+v1 version, whose build metadata is the release if it is a valid one.
    pub fn legacy(text: &str) -> Result<Self, String> {
        let mut version = Version::parse(text).map_err(|error| error.to_string())?;
        let release = Release::parse(&version.build.join(".")).unwrap_or_default();
        if !release.is_empty() {
            version.build.clear();
        }
        Ok(Self { version, release })
    }

    /// Compares by version, then by release.
    pub fn compare(&self, other: &Self) -> Ordering {
        self.version.compare(&other.version).then_with(|| self.release.compare(&other.release))
    }
}

impl fmt::Display for VersionRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.version.fmt(f)?;
        if self.release.is_empty() { Ok(()) } else { write!(f, "-{}", self.release) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_releases_by_prerelease_rules() {
        let order = ["", "1", "2", "10", "a", "a.1"];
        for pair in order.windows(2) {
            let [low, high] = [pair[0], pair[1]].map(|text| Release::parse(text).unwrap());
            assert_eq!(low.compare(&high), Ordering::Less, "{pair:?}");
        }
        assert_eq!(
            Release::parse("01.").unwrap_err(),
            "invalid release \"01.\": segment 0: Numeric PreRelease version must not contain leading zeroes \"01\"\n\
             segment 1: Prerelease is empty"
        );
    }

    #[test]
    fn legacy_versions_use_build_metadata_as_release() {
        let read = |text| VersionRelease::legacy(text).unwrap();
        assert_eq!(read("1.0.0+2").to_string(), "1.0.0-2");
        assert_eq!(read("1.0.0+02").version.build, ["02"]);
        assert!(read("1.0.0+2").compare(&read("1.0.0+10")).is_lt());
    }
}
