//! Cells from the JSON of an object, without a value of the whole.

use std::borrow::Cow;

use podium_meta::partial_json::{ExtractedValues, PathExtractor, RawJson};
use serde_json::Value;

use super::age::age;
use super::cell::{Cell, containers, labels, selector};

/// The cells of a kind that show a few fields each, and where these are among the parts that are looked for.
#[derive(Debug)]
pub struct Quick {
    extractor: PathExtractor,
    cells: Vec<(&'static Cell, [usize; 2])>,
}

impl Cell {
    /// The fields that it is about; nothing if it may be about any.
    fn paths(&self) -> Option<[&'static str; 2]> {
        Some(match self {
            Self::Name => ["metadata.name"; 2],
            Self::Age | Self::Created => ["metadata.creationTimestamp"; 2],
            Self::Text(path)
            | Self::Or(path, _)
            | Self::OrEmpty(path, _)
            | Self::Number(path)
            | Self::Count(path)
            | Self::Flag(path, _)
            | Self::AgeOf(path, _)
            | Self::Containers(path)
            | Self::Labels(path)
            | Self::Selector(path, _) => [path; 2],
            Self::Sum(a, b) | Self::Share(a, b) | Self::Pair(a, b) => [a, b],
            Self::Call(_) | Self::Any(_) => return None,
        })
    }
}

impl Quick {
    /// Of cells, unless one of them needs the whole object.
    pub fn of(cells: &'static [Cell]) -> Option<Self> {
        let mut extractor = PathExtractor::default();
        let mut known = Vec::with_capacity(cells.len());
        for cell in cells {
            known.push((cell, cell.paths()?.map(|path| extractor.add_path(path.split('.')))));
        }
        Some(Self { extractor, cells: known })
    }

    /// Writes the cells as a list; false, and nothing, if the text is not what was expected.
    pub fn write(&self, text: &[u8], metadata: usize, now: i64, out: &mut Vec<u8>) -> bool {
        let mut found = Vec::new();
        if !self.extractor.find(text, metadata, &mut found) {
            return false;
        }
        let start = out.len();
        let mut before = b'[';
        for (cell, numbers) in &self.cells {
            out.push(before);
            if show(cell, numbers.map(|number| part(&found, number)), now, out).is_none() {
                out.truncate(start);
                return false;
            }
            before = b',';
        }
        out.push(b']');
        true
    }
}

fn part<'t>(found: &ExtractedValues<'t>, number: usize) -> Option<RawJson<'t>> {
    found.get(number).copied().flatten().filter(|part| !part.is_null())
}

/// Writes a cell, or two, as [`super::cell::Look::show`] shows it; nothing if the field is not what it always is.
fn show(cell: &Cell, [one, other]: [Option<RawJson<'_>>; 2], now: i64, out: &mut Vec<u8>) -> Option<()> {
    let number = |part: Option<RawJson<'_>>| part.and_then(RawJson::as_i64).unwrap_or(0);
    let count = |part: Option<RawJson<'_>>| part.and_then(RawJson::item_count).unwrap_or(0);
    match cell {
        Cell::Name | Cell::Text(_) => write_part(one, "", out),
        Cell::Or(_, usual) => write_part(one, usual, out),
        Cell::OrEmpty(_, usual) => {
            write_part(one.filter(|part| part.bytes() != b"\"\""), usual, out);
        }
        Cell::Created => {
            let whole = one.is_none_or(|part| part.bytes().starts_with(b"\""));
            whole.then(|| write_part(one, "0001-01-01T00:00:00Z", out))?;
        }
        Cell::Age => write_text(&age(&text(one), now), out),
        Cell::AgeOf(_, usual) if one.is_none() => write_text(usual, out),
        Cell::AgeOf(..) => write_text(&age(&text(one), now), out),
        Cell::Number(_) => out.extend_from_slice(number(one).to_string().as_bytes()),
        Cell::Count(_) => out.extend_from_slice(count(one).to_string().as_bytes()),
        Cell::Sum(..) => out.extend_from_slice((count(one) + count(other)).to_string().as_bytes()),
        Cell::Flag(_, usual) => {
            let flag = one.and_then(RawJson::as_bool).unwrap_or(*usual);
            out.extend_from_slice(if flag { b"true" } else { b"false" });
        }
        Cell::Share(..) => write_text(&format!("{}/{}", number(one), number(other)), out),
        Cell::Pair(..) => write_text(&format!("{}/{}", text(one), text(other)), out),
        Cell::Containers(_) => {
            let [names, images] = containers(value(one)?.as_ref());
            write_text(&names, out);
            out.push(b',');
            write_text(&images, out);
        }
        Cell::Labels(_) => write_text(&labels(value(one)?.as_ref()), out),
        Cell::Selector(_, none) => match selector(value(one)?.as_ref()) {
            text if text.is_empty() => write_text(none, out),
            text => write_text(&text, out),
        },
        Cell::Call(_) | Cell::Any(_) => return None,
    }
    Some(())
}

fn text(part: Option<RawJson<'_>>) -> Cow<'_, str> {
    part.and_then(RawJson::string).unwrap_or_default()
}

/// A part as a value, if there is one; an error is nothing at all.
fn value(part: Option<RawJson<'_>>) -> Option<Option<Value>> {
    part.map(|part| serde_json::from_slice(part.bytes()).ok()).map_or(Some(None), |value| value.map(Some))
}

/// Writes the text of a part, or this one where it is none.
fn write_part(part: Option<RawJson<'_>>, usual: &str, out: &mut Vec<u8>) {
    match part {
        // Bytes that need no escape stay as they are.
        Some(part) if part.unescaped_str().is_some() => out.extend_from_slice(part.bytes()),
        part => write_text(part.and_then(RawJson::string).as_deref().unwrap_or(usual), out),
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    let odd = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
    if text.as_bytes().iter().any(odd) {
        out.extend_from_slice(Value::from(text).to_string().as_bytes());
        return;
    }
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}
