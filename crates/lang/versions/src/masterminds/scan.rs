//! The grammar that versions and constraints share: up to three parts, a pre-release and metadata.

use crate::number::is_identifier_byte;

/// The pieces of a version text, without their separators.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pieces<'a> {
    pub(super) major: &'a [u8],
    pub(super) minor: Option<&'a [u8]>,
    pub(super) patch: Option<&'a [u8]>,
    pub(super) pre: &'a [u8],
    pub(super) metadata: &'a [u8],
}

fn run_len(text: &[u8], member: fn(u8) -> bool) -> usize {
    text.iter().take_while(|&&byte| member(byte)).count()
}

/// Reads a separator and at least one member after it.
fn after_separator<'a>(text: &mut &'a [u8], separator: u8, member: fn(u8) -> bool) -> Option<&'a [u8]> {
    let rest = text.strip_prefix(&[separator])?;
    let (run, rest) = rest.split_at_checked(run_len(rest, member))?;
    if run.is_empty() {
        return None;
    }
    *text = rest;
    Some(run)
}

/// Reads a separator and dot-separated identifiers after it.
fn identifiers<'a>(text: &mut &'a [u8], separator: u8) -> &'a [u8] {
    let start = *text;
    if after_separator(text, separator, is_identifier_byte).is_none() {
        return &[];
    }
    while after_separator(text, b'.', is_identifier_byte).is_some() {}
    start.get(1..start.len() - text.len()).unwrap_or_default()
}

/// Takes the longest version from the front of `text`; `part` says what a number may consist of.
pub(super) fn take_version<'a>(text: &mut &'a [u8], part: fn(u8) -> bool) -> Option<Pieces<'a>> {
    let mut rest = text.strip_prefix(b"v").unwrap_or(text);
    let (major, tail) = rest.split_at_checked(run_len(rest, part))?;
    if major.is_empty() {
        return None;
    }
    rest = tail;
    let minor = after_separator(&mut rest, b'.', part);
    let patch = minor.and_then(|_| after_separator(&mut rest, b'.', part));
    let pre = identifiers(&mut rest, b'-');
    let metadata = identifiers(&mut rest, b'+');
    *text = rest;
    Some(Pieces { major, minor, patch, pre, metadata })
}

/// Skips white space as regular expressions know it and returns how much there was.
pub(super) fn skip_space(text: &mut &[u8]) -> usize {
    let count = run_len(text, |byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\x0C' | b'\r'));
    *text = text.get(count..).unwrap_or_default();
    count
}
