//! From tokens to text, as Go's encoder writes what it read into `interface{}`: keys sorted, numbers as floats.

use std::borrow::Cow;

use podium_goyaml::scan;

use super::parse::{ends, is_small_integer};
use super::{Items, Kind, Pairs, Value, text};

/// How to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// On one line.
    Compact,
    /// With line breaks and four spaces per level; the number is the level of the value.
    Pretty(usize),
}

enum Open<'d> {
    List(Items<'d>, bool),
    Map(std::vec::IntoIter<(Cow<'d, [u8]>, Value<'d>)>, bool),
}

/// Appends a value.
pub fn write(out: &mut Vec<u8>, value: Value<'_>, style: Style) {
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut current = Some(value);
    loop {
        if let Some(value) = current.take() {
            match value.token().kind {
                Kind::List if value.items().next().is_none() => out.extend_from_slice(b"[]"),
                Kind::Map if value.pairs().next().is_none() => out.extend_from_slice(b"{}"),
                Kind::List => {
                    out.push(b'[');
                    open.push(Open::List(value.items(), true));
                }
                Kind::Map => {
                    out.push(b'{');
                    open.push(Open::Map(sorted(value.pairs()).into_iter(), true));
                }
                _ => scalar(out, value),
            }
        }
        let depth = open.len();
        match open.last_mut() {
            None => return,
            Some(Open::List(items, first)) => match items.next() {
                Some(item) => {
                    separate(out, std::mem::replace(first, false), depth, style);
                    current = Some(item);
                }
                None => {
                    line(out, depth - 1, style);
                    out.push(b']');
                    open.pop();
                }
            },
            Some(Open::Map(entries, first)) => match entries.next() {
                Some((key, value)) => {
                    separate(out, std::mem::replace(first, false), depth, style);
                    string(out, &key);
                    out.extend_from_slice(if style == Style::Compact { b":" } else { b": " });
                    current = Some(value);
                }
                None => {
                    line(out, depth - 1, style);
                    out.push(b'}');
                    open.pop();
                }
            },
        }
    }
}

/// The entries of an object as a Go map has them: sorted, the last of equal keys only.
pub(crate) fn sorted<'d>(pairs: Pairs<'d>) -> Vec<(Cow<'d, [u8]>, Value<'d>)> {
    let mut all: Vec<_> = pairs.map(|(key, value)| (key.bytes(), value)).collect();
    if !all.is_sorted_by(|a, b| a.0 < b.0) {
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all.reverse();
        all.dedup_by(|a, b| a.0 == b.0);
        all.reverse();
    }
    all
}

fn separate(out: &mut Vec<u8>, first: bool, depth: usize, style: Style) {
    if !first {
        out.push(b',');
    }
    line(out, depth, style);
}

pub(crate) fn line(out: &mut Vec<u8>, depth: usize, style: Style) {
    if let Style::Pretty(level) = style {
        out.push(b'\n');
        out.resize(out.len() + 4 * (level + depth), b' ');
    }
}

/// Appends a string that is UTF-8.
pub(crate) fn string(out: &mut Vec<u8>, value: &[u8]) {
    let escaped = |word| ends(word) | scan::equal(word, 0x7f) | scan::wide(word);
    if scan::find(value, escaped) == value.len() {
        out.push(b'"');
        out.extend_from_slice(value);
        out.push(b'"');
    } else {
        text::write(out, &String::from_utf8_lossy(value));
    }
}

pub(crate) fn scalar(out: &mut Vec<u8>, value: Value<'_>) {
    let raw = value.raw();
    match value.token().kind {
        Kind::Plain | Kind::Escaped => {
            out.push(b'"');
            out.extend_from_slice(raw);
            out.push(b'"');
        }
        Kind::Odd => text::write(out, &value.text()),
        Kind::Number if !is_small_integer(raw) => {
            let number = podium_goyaml::json::parse(raw, 0)
                .and_then(|node| podium_goyaml::json::to_raw_string(&&node));
            out.extend_from_slice(&number.unwrap_or_default());
        }
        _ => out.extend_from_slice(raw),
    }
}
