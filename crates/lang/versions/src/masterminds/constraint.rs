//! Constraints: groups of comparisons of which one group must hold as a whole.

use std::fmt;

use super::scan::{Pieces, skip_space, take_version};
use super::version::{Version, compare_prerelease};
use crate::number::{ascii, quoted};

/// Longest constraint text that is read.
pub const MAX_CONSTRAINT_LEN: usize = 512;

/// Most alternatives that a constraint may have.
pub const MAX_CONSTRAINT_GROUPS: usize = 32;

/// Why a constraint could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConstraintError {
    /// The text is longer than [`MAX_CONSTRAINT_LEN`].
    #[error("constraint string is too long (max 512 bytes)")]
    TooLong,
    /// There are more than [`MAX_CONSTRAINT_GROUPS`] alternatives.
    #[error("too many constraint groups (max 32)")]
    TooManyGroups,
    /// One alternative, quoted here, is not written as comparisons.
    #[error("improper constraint: {0}")]
    Improper(String),
    /// A comparison looks right, but its version is none.
    #[error("constraint parser error")]
    Version,
}

/// Why a version does not satisfy one comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mismatch {
    /// The version is a pre-release and the group of comparisons names none.
    Prerelease,
    /// It is equal and must not be.
    Equal,
    /// It is not equal and must be.
    NotEqual,
    /// It is too small or equal.
    LessOrEqual,
    /// It is too small.
    Less,
    /// It is too large or equal.
    GreaterOrEqual,
    /// It is too large.
    Greater,
    /// It has another major version.
    Major,
    /// It has another major or minor version.
    MajorMinor,
    /// It has another minor version, below major version 1.
    MinorBelowOne,
    /// It has another minor version, below 0.1.
    Minor,
    /// It has another patch version, below 0.1.
    Patch,
}

/// A comparison that failed, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct Violation {
    /// The version that was checked.
    pub version: String,
    /// The version of the comparison as it was written.
    pub constraint: String,
    /// What is wrong between the two.
    pub mismatch: Mismatch,
}

impl Violation {
    fn text(&self) -> String {
        let (relation, tail) = match self.mismatch {
            Mismatch::Prerelease => {
                let tail = "is a prerelease version and the constraint is only looking for release versions";
                return format!("{} {tail}", quoted(self.version.as_bytes()));
            }
            Mismatch::Equal => ("is equal to", ""),
            Mismatch::NotEqual => ("is not equal to", ""),
            Mismatch::LessOrEqual => ("is less than or equal to", ""),
            Mismatch::Less => ("is less than", ""),
            Mismatch::GreaterOrEqual => ("is greater than or equal to", ""),
            Mismatch::Greater => ("is greater than", ""),
            Mismatch::Major => ("does not have same major version as", ""),
            Mismatch::MajorMinor => ("does not have same major and minor version as", ""),
            Mismatch::MinorBelowOne => (
                "does not have same minor version as",
                ". Expected minor versions to match when constraint major version is 0",
            ),
            Mismatch::Minor => ("does not have same minor version as", ""),
            Mismatch::Patch => (
                "does not equal",
                ". Expect version and constraint to equal when major and minor versions are 0",
            ),
        };
        let (version, constraint) = (quoted(self.version.as_bytes()), quoted(self.constraint.as_bytes()));
        format!("{version} {relation} {constraint}{tail}")
    }
}

/// A constraint that versions can be checked against.
#[derive(Debug, Clone)]
pub struct Constraints {
    groups: Vec<Group>,
    /// Lets pre-releases satisfy groups that name no pre-release themselves.
    pub include_prerelease: bool,
}

#[derive(Debug, Clone)]
struct Group {
    comparisons: Vec<Comparison>,
    names_prerelease: bool,
}

#[derive(Debug, Clone, Copy)]
enum Relation {
    TildeOrEqual,
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
    Tilde,
    Caret,
}

const OPERATORS: [(&str, Relation); 12] = [
    ("", Relation::TildeOrEqual),
    ("=", Relation::TildeOrEqual),
    ("!=", Relation::NotEqual),
    (">", Relation::Greater),
    ("<", Relation::Less),
    (">=", Relation::GreaterOrEqual),
    ("=>", Relation::GreaterOrEqual),
    ("<=", Relation::LessOrEqual),
    ("=<", Relation::LessOrEqual),
    ("~", Relation::Tilde),
    ("~>", Relation::Tilde),
    ("^", Relation::Caret),
];

/// The first part of a version that is a wildcard or missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    None,
    Major,
    Minor,
    Patch,
}

#[derive(Debug, Clone)]
struct Comparison {
    operator: &'static str,
    relation: Relation,
    original: String,
    version: Version,
    open: Open,
}

impl Constraints {
    /// Reads a constraint such as `>=1.2 <2 || ~3.1 || 1.0 - 1.4`.
    pub fn new(text: impl AsRef<[u8]>) -> Result<Self, ConstraintError> {
        let text = text.as_ref();
        if text.len() > MAX_CONSTRAINT_LEN {
            return Err(ConstraintError::TooLong);
        }
        let text = rewrite_hyphen_ranges(text);
        let alternatives = split_alternatives(&text);
        if alternatives.len() > MAX_CONSTRAINT_GROUPS {
            return Err(ConstraintError::TooManyGroups);
        }
        let groups = alternatives.into_iter().map(Group::new).collect::<Result<_, _>>()?;
        Ok(Self { groups, include_prerelease: false })
    }

    /// Reports whether the version satisfies one of the groups.
    pub fn check(&self, version: &Version) -> bool {
        self.groups.iter().any(|group| {
            let pre = self.include_prerelease || group.names_prerelease;
            group.comparisons.iter().all(|comparison| comparison.judge(version, pre).is_ok())
        })
    }

    /// Like [`Constraints::check`], but says every reason why no group is satisfied.
    pub fn validate(&self, version: &Version) -> Result<(), Vec<Violation>> {
        let mut violations: Vec<Violation> = Vec::new();
        for group in &self.groups {
            let pre = self.include_prerelease || group.names_prerelease;
            let mut satisfied = true;
            for comparison in &group.comparisons {
                let Err(mismatch) = comparison.judge(version, pre) else { continue };
                satisfied = false;
                let told = |violation: &Violation| violation.mismatch == Mismatch::Prerelease;
                // That the version is a pre-release is worth saying only once.
                if mismatch == Mismatch::Prerelease && violations.iter().any(told) {
                    continue;
                }
                violations.push(Violation {
                    version: version.to_string(),
                    constraint: comparison.original.clone(),
                    mismatch,
                });
            }
            if satisfied {
                return Ok(());
            }
        }
        Err(violations)
    }
}

impl fmt::Display for Constraints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, group) in self.groups.iter().enumerate() {
            f.write_str(if at > 0 { " || " } else { "" })?;
            for (at, comparison) in group.comparisons.iter().enumerate() {
                let space = if at > 0 { " " } else { "" };
                write!(f, "{space}{}{}", comparison.operator, comparison.original)?;
            }
        }
        Ok(())
    }
}

impl Group {
    fn new(text: &[u8]) -> Result<Self, ConstraintError> {
        let written = read_comparisons(text).ok_or_else(|| ConstraintError::Improper(quoted(text)))?;
        let comparisons = written.into_iter().map(Comparison::new).collect::<Result<Vec<_>, _>>()?;
        let names_prerelease =
            comparisons.iter().any(|comparison| !comparison.version.prerelease().is_empty());
        Ok(Self { comparisons, names_prerelease })
    }
}

/// A comparison as it was written: operator, version text, and its pieces.
struct Written<'a> {
    operator: (&'static str, Relation),
    original: &'a [u8],
    pieces: Pieces<'a>,
}

impl Comparison {
    fn new(written: Written<'_>) -> Result<Self, ConstraintError> {
        let is_open = |part: Option<&[u8]>| part.is_none_or(|part| matches!(part, b"x" | b"X" | b"*"));
        let Pieces { major, minor, patch, pre, .. } = written.pieces;
        let (numbers, open): ([&[u8]; 3], _) = match (minor, patch) {
            _ if is_open(Some(major)) => ([b"0", b"0", b"0"], Open::Major),
            (Some(minor), Some(patch)) if !is_open(Some(minor)) && !is_open(Some(patch)) => {
                ([major, minor, patch], Open::None)
            }
            (Some(minor), _) if !is_open(Some(minor)) => ([major, minor, b"0"], Open::Patch),
            _ => ([major, b"0", b"0"], Open::Minor),
        };
        let mut text = match open {
            Open::None => written.original.to_vec(),
            _ => numbers.join(&b'.'),
        };
        if open != Open::None && !pre.is_empty() {
            text.push(b'-');
            text.extend(pre);
        }
        let version = Version::new(text).map_err(|_| ConstraintError::Version)?;
        let (operator, relation) = written.operator;
        Ok(Self { operator, relation, original: ascii(written.original), version, open })
    }

    fn judge(&self, version: &Version, include_prerelease: bool) -> Result<(), Mismatch> {
        if !version.prerelease().is_empty() && !include_prerelease {
            return Err(Mismatch::Prerelease);
        }
        let order = version.compare(&self.version);
        let demand = |holds: bool, mismatch| if holds { Ok(()) } else { Err(mismatch) };
        match self.relation {
            Relation::TildeOrEqual if self.open == Open::None => demand(order.is_eq(), Mismatch::NotEqual),
            Relation::TildeOrEqual | Relation::Tilde => self.judge_tilde(version),
            Relation::NotEqual => demand(self.differs(version), Mismatch::Equal),
            Relation::Greater => demand(self.is_below(version), Mismatch::LessOrEqual),
            Relation::Less => demand(order.is_lt(), Mismatch::GreaterOrEqual),
            Relation::GreaterOrEqual => demand(order.is_ge(), Mismatch::Less),
            Relation::LessOrEqual => demand(self.is_not_exceeded(version), Mismatch::Greater),
            Relation::Caret => self.judge_caret(version),
        }
    }

    fn differs(&self, version: &Version) -> bool {
        let own = &self.version;
        match self.open {
            Open::None => !version.equal(own),
            _ if version.major() != own.major() => true,
            Open::Minor => false,
            _ if version.minor() != own.minor() => true,
            Open::Patch => compare_prerelease(version.prerelease(), own.prerelease()).is_ne(),
            Open::Major => !version.equal(own),
        }
    }

    fn is_below(&self, version: &Version) -> bool {
        let own = &self.version;
        match self.open {
            Open::Minor => version.major() > own.major(),
            Open::Patch => (version.major(), version.minor()) > (own.major(), own.minor()),
            Open::None | Open::Major => version.greater_than(own),
        }
    }

    fn is_not_exceeded(&self, version: &Version) -> bool {
        let own = &self.version;
        match self.open {
            Open::None => version.less_than_equal(own),
            Open::Minor => version.major() <= own.major(),
            Open::Patch | Open::Major => (version.major(), version.minor()) <= (own.major(), own.minor()),
        }
    }

    fn judge_tilde(&self, version: &Version) -> Result<(), Mismatch> {
        let own = &self.version;
        let zero = (own.major(), own.minor(), own.patch()) == (0, 0, 0);
        if version.less_than(own) {
            Err(Mismatch::Less)
        } else if zero && matches!(self.open, Open::None | Open::Major) {
            Ok(())
        } else if version.major() != own.major() {
            Err(Mismatch::Major)
        } else if version.minor() != own.minor() && self.open != Open::Minor {
            Err(Mismatch::MajorMinor)
        } else {
            Ok(())
        }
    }

    fn judge_caret(&self, version: &Version) -> Result<(), Mismatch> {
        let own = &self.version;
        if version.less_than(own) {
            Err(Mismatch::Less)
        } else if version.major() != own.major() {
            Err(Mismatch::Major)
        } else if own.major() > 0 || self.open == Open::Minor {
            Ok(())
        } else if own.minor() > 0 || self.open == Open::Patch {
            if version.minor() == own.minor() { Ok(()) } else { Err(Mismatch::MinorBelowOne) }
        } else if version.minor() > 0 {
            Err(Mismatch::Minor)
        } else if version.patch() != own.patch() {
            Err(Mismatch::Patch)
        } else {
            Ok(())
        }
    }
}

fn is_part_byte(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'x' | b'X' | b'*' | b'|')
}

fn take_operator(text: &mut &[u8]) -> Option<(&'static str, Relation)> {
    let len = text.iter().take_while(|byte| b"=!<>~^".contains(byte)).count();
    let (operator, rest) = text.split_at_checked(len)?;
    *text = rest;
    OPERATORS.into_iter().find(|(name, _)| name.as_bytes() == operator)
}

/// Reads comparisons that are separated by space, a comma, or both.
fn read_comparisons(text: &[u8]) -> Option<Vec<Written<'_>>> {
    let mut rest = text;
    let mut found = Vec::new();
    skip_space(&mut rest);
    loop {
        let operator = take_operator(&mut rest)?;
        skip_space(&mut rest);
        let start = rest;
        let pieces = take_version(&mut rest, is_part_byte)?;
        let original = start.get(..start.len() - rest.len())?;
        found.push(Written { operator, original, pieces });
        let space = skip_space(&mut rest);
        match rest {
            [] => return Some(found),
            [b',', tail @ ..] => {
                rest = tail;
                skip_space(&mut rest);
            }
            _ if space == 0 => return None,
            _ => {}
        }
    }
}

fn split_alternatives(text: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = find(rest, b"||") {
        parts.push(rest.get(..at).unwrap_or_default());
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    parts.push(rest);
    parts
}

fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len().max(1)).position(|window| window == needle)
}

/// Matches `from - to` at the front of the text; returns the two versions and the length of the match.
fn hyphen_range(text: &[u8]) -> Option<(&[u8], &[u8], usize)> {
    let mut rest = text;
    let version = |rest: &mut &[u8]| {
        let start = *rest;
        take_version(rest, is_part_byte)?;
        Some(start.len() - rest.len())
    };
    skip_space(&mut rest);
    let from = rest.get(..version(&mut rest)?)?;
    (skip_space(&mut rest) > 0).then_some(())?;
    rest = rest.strip_prefix(b"-")?;
    (skip_space(&mut rest) > 0).then_some(())?;
    let to = rest.get(..version(&mut rest)?)?;
    skip_space(&mut rest);
    Some((from, to, text.len() - rest.len()))
}

/// Turns `1.0 - 2.0` into two comparisons. Each range replaces the first occurrence of its own text, as the
/// original does, which is not always where it was found.
fn rewrite_hyphen_ranges(text: &[u8]) -> Vec<u8> {
    let mut out = text.to_vec();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some((from, to, len)) = hyphen_range(rest) else {
            at += 1;
            continue;
        };
        let found = rest.get(..len).unwrap_or_default();
        if let Some(start) = find(&out, found) {
            let comparisons = [b">= ", from, b", <= ", to, b" "].concat();
            out.splice(start..start + len, comparisons);
        }
        at += len.max(1);
    }
    out
}
