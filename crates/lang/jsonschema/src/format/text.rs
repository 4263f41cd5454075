//! Formats of identifiers and versions.

use super::{ensure, leading_digits};
use crate::go::quote::character;

pub(super) fn json_pointer(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    let tokens = text.strip_prefix('/').ok_or("not starting with /")?;
    let follows = |part: &str| part.starts_with(['0', '1']);
    let sound = |token: &str| token.split('~').skip(1).all(follows);
    ensure(tokens.split('/').all(sound), "~ must be followed by 0 or 1")
}

pub(super) fn relative_json_pointer(text: &str) -> Result<(), String> {
    let digits = leading_digits(text);
    ensure(digits > 0, "must start with non-negative integer")?;
    ensure(digits == 1 || !text.starts_with('0'), "starts with zero")?;
    match text.get(digits..).unwrap_or_default() {
        "#" => Ok(()),
        pointer => json_pointer(pointer),
    }
}

pub(super) fn uuid(text: &str) -> Result<(), String> {
    const LENGTHS: [usize; 5] = [8, 4, 4, 4, 12];
    let groups: Vec<&str> = text.split('-').collect();
    ensure(groups.len() == LENGTHS.len(), "must have 5 elements")?;
    for (i, (group, length)) in groups.iter().zip(LENGTHS).enumerate() {
        if group.len() != length {
            return Err(format!("element {} must be {length} characters long", i + 1));
        }
        if let Some(c) = group.chars().find(|c| !c.is_ascii_hexdigit()) {
            return Err(format!("non-hex character {}", character(c)));
        }
    }
    Ok(())
}

/// The first character that an identifier of a version must not have.
fn odd(identifier: &str) -> Option<String> {
    identifier.chars().find(|c| !c.is_ascii_alphanumeric() && *c != '-').map(character)
}

pub(super) fn semver(text: &str) -> Result<(), String> {
    let (text, build) = match text.split_once('+') {
        Some((text, build)) => (text, Some(build)),
        None => (text, None),
    };
    if let Some(build) = build {
        ensure(!build.is_empty(), "build is empty")?;
        for identifier in build.split('.') {
            ensure(!identifier.is_empty(), "build identifier is empty")?;
            if let Some(c) = odd(identifier) {
                return Err(format!("invalid character {c} in build identifier"));
            }
        }
    }
    let (core, release) = match text.split_once('-') {
        Some((core, release)) => (core, Some(release)),
        None => (text, None),
    };
    for identifier in release.into_iter().flat_map(|release| release.split('.')) {
        ensure(!identifier.is_empty(), "pre-release identifier is empty")?;
        if let Some(c) = odd(identifier) {
            return Err(format!("invalid character {c} in pre-release identifier"));
        }
        let number = leading_digits(identifier) == identifier.len();
        let padded = number && identifier.len() > 1 && identifier.starts_with('0');
        ensure(!padded, "pre-release numeric identifier starts with zero")?;
    }
    let numbers: Vec<&str> = core.split('.').collect();
    ensure(numbers.len() == 3, "versionCore must have 3 numbers separated by dot")?;
    for (number, name) in numbers.into_iter().zip(["major", "minor", "patch"]) {
        ensure(!number.is_empty(), &format!("{name} is empty"))?;
        ensure(number.len() == 1 || !number.starts_with('0'), &format!("{name} starts with zero"))?;
        ensure(leading_digits(number) == number.len(), &format!("{name} contains non-digit"))?;
    }
    Ok(())
}
