//! Writes tokens like Go encodes an `interface{}`: keys sorted, numbers as floats.

use std::borrow::Cow;

use podium_goyaml::scan;

use super::parse::{is_small_integer, string_stops};
use super::{Items, Pairs, TokenKind, Value, strings};

/// Output style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// On one line.
    Compact,
    /// Indented by four spaces per level, starting at this level.
    Pretty(usize),
}

enum OpenContainer<'d> {
    List(Items<'d>, bool),
    Map(std::vec::IntoIter<(Cow<'d, [u8]>, Value<'d>)>, bool),
}

/// Appends a value.
pub fn write(out: &mut Vec<u8>, value: Value<'_>, style: Style) {
    let mut open: Vec<OpenContainer<'_>> = Vec::new();
    let mut current = Some(value);
    loop {
        if let Some(value) = current.take() {
            match value.token().kind {
                TokenKind::List if value.items().next().is_none() => out.extend_from_slice(b"[]"),
                TokenKind::Map if value.pairs().next().is_none() => out.extend_from_slice(b"{}"),
                TokenKind::List => {
                    out.push(b'[');
                    open.push(OpenContainer::List(value.items(), true));
                }
                TokenKind::Map => {
                    out.push(b'{');
                    open.push(OpenContainer::Map(sorted_entries(value.pairs()).into_iter(), true));
                }
                _ => write_scalar(out, value),
            }
        }
        let depth = open.len();
        match open.last_mut() {
            None => return,
            Some(OpenContainer::List(items, first)) => match items.next() {
                Some(item) => {
                    write_separator(out, std::mem::replace(first, false), depth, style);
                    current = Some(item);
                }
                None => {
                    newline(out, depth - 1, style);
                    out.push(b']');
                    open.pop();
                }
            },
            Some(OpenContainer::Map(entries, first)) => match entries.next() {
                Some((key, value)) => {
                    write_separator(out, std::mem::replace(first, false), depth, style);
                    write_string(out, &key);
                    out.extend_from_slice(if style == Style::Compact { b":" } else { b": " });
                    current = Some(value);
                }
                None => {
                    newline(out, depth - 1, style);
                    out.push(b'}');
                    open.pop();
                }
            },
        }
    }
}

/// Returns the entries of an object like a Go map: sorted, with the last of duplicate keys.
pub(crate) fn sorted_entries<'d>(pairs: Pairs<'d>) -> Vec<(Cow<'d, [u8]>, Value<'d>)> {
    let mut all: Vec<_> = pairs.map(|(key, value)| (key.bytes(), value)).collect();
    if !all.is_sorted_by(|a, b| a.0 < b.0) {
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all.reverse();
        all.dedup_by(|a, b| a.0 == b.0);
        all.reverse();
    }
    all
}

fn write_separator(out: &mut Vec<u8>, first: bool, depth: usize, style: Style) {
    if !first {
        out.push(b',');
    }
    newline(out, depth, style);
}

pub(crate) fn newline(out: &mut Vec<u8>, depth: usize, style: Style) {
    if let Style::Pretty(level) = style {
        out.push(b'\n');
        out.resize(out.len() + 4 * (level + depth), b' ');
    }
}

/// Appends a UTF-8 string.
pub(crate) fn write_string(out: &mut Vec<u8>, value: &[u8]) {
    let escaped = |word| string_stops(word) | scan::equal(word, 0x7f) | scan::wide(word);
    if scan::find(value, escaped) == value.len() {
        out.push(b'"');
        out.extend_from_slice(value);
        out.push(b'"');
    } else {
        strings::encode(out, &String::from_utf8_lossy(value));
    }
}

pub(crate) fn write_scalar(out: &mut Vec<u8>, value: Value<'_>) {
    let raw = value.raw();
    match value.token().kind {
        TokenKind::Plain | TokenKind::Escaped => {
            out.push(b'"');
            out.extend_from_slice(raw);
            out.push(b'"');
        }
        TokenKind::Reencoded => strings::encode(out, &value.decoded()),
        TokenKind::Number if !is_small_integer(raw) => {
            let number = podium_goyaml::json::parse(raw, 0)
                .and_then(|node| podium_goyaml::json::to_raw_string(&&node));
            out.extend_from_slice(&number.unwrap_or_default());
        }
        _ => out.extend_from_slice(raw),
    }
}
