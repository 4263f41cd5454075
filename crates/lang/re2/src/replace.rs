//! Replacing, with Go's templates, and quoting.

use crate::regex::Regex;
use crate::unicode;

/// A piece of a template.
enum Piece<'t> {
    Text(&'t [u8]),
    Group(usize),
    Name(&'t str),
}

impl Regex {
    /// Replaces all matches; `$1`, `${1}`, `$name` and `$$` in the template have the meaning that Go gives them.
    pub fn replace_all(&self, text: impl AsRef<[u8]>, template: impl AsRef<[u8]>) -> Vec<u8> {
        let text = text.as_ref();
        let pieces = pieces(template.as_ref());
        let names = self.group_names();
        let only_text = pieces.iter().all(|piece| matches!(piece, Piece::Text(_)));
        let groups = if only_text { 1 } else { names.len() };
        self.replace_each(text, groups, |out, span| {
            let matched = |group| span(group).and_then(|at| text.get(at));
            for piece in &pieces {
                out.extend_from_slice(match piece {
                    Piece::Text(text) => text,
                    Piece::Group(group) => matched(*group).unwrap_or_default(),
                    Piece::Name(name) => {
                        let named = names.iter().enumerate().filter(|(_, known)| ***known == **name);
                        named.map(|(group, _)| group).find_map(matched).unwrap_or_default()
                    }
                });
            }
        })
    }

    /// Replaces all matches by a text that is taken as it is.
    pub fn replace_all_literal(&self, text: impl AsRef<[u8]>, replacement: impl AsRef<[u8]>) -> Vec<u8> {
        self.replace_each(text.as_ref(), 1, |out, _| out.extend_from_slice(replacement.as_ref()))
    }
}

/// Takes a template apart. A `$` that no name follows is text.
fn pieces(mut template: &[u8]) -> Vec<Piece<'_>> {
    let mut out = Vec::new();
    while let Some(dollar) = template.iter().position(|b| *b == b'$') {
        let (before, rest) = template.split_at(dollar);
        out.push(Piece::Text(before));
        let sign = rest.get(..1).unwrap_or_default();
        let after = rest.get(1..).unwrap_or_default();
        if let [b'$', after @ ..] = after {
            out.push(Piece::Text(sign));
            template = after;
        } else if let Some((name, rest)) = name(after) {
            out.push(number(name).map_or(Piece::Name(name), Piece::Group));
            template = rest;
        } else {
            out.push(Piece::Text(sign));
            template = after;
        }
    }
    out.push(Piece::Text(template));
    out
}

/// Reads `name` or `{name}`, as long as it goes, and says what follows.
fn name(text: &[u8]) -> Option<(&str, &[u8])> {
    let (braced, text) = match text {
        [b'{', inner @ ..] => (true, inner),
        _ => (false, text),
    };
    let valid = text.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let end = valid.find(|c| !unicode::is_letter_or_digit(c) && c != '_').unwrap_or(valid.len());
    let (name, rest) = (valid.get(..end)?, text.get(end..)?);
    match (name, rest) {
        ("", _) => None,
        (_, rest) if !braced => Some((name, rest)),
        (_, [b'}', rest @ ..]) => Some((name, rest)),
        _ => None,
    }
}

/// The group that a name of digits means. Numbers with a leading zero or past a hundred million are only names.
fn number(name: &str) -> Option<usize> {
    if name.starts_with('0') && name.len() > 1 {
        return None;
    }
    let mut value = 0;
    for digit in name.bytes() {
        if !digit.is_ascii_digit() || value >= 100_000_000 {
            return None;
        }
        value = value * 10 + usize::from(digit - b'0');
    }
    Some(value)
}

/// A pattern that matches exactly this text.
pub fn quote_meta(text: impl AsRef<[u8]>) -> Vec<u8> {
    let text = text.as_ref();
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        if br"\.+*?()|[]{}^$".contains(byte) {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out
}
