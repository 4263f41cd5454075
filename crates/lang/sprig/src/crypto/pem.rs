//! PEM: a name, some headers and base64 between two dashed lines.

use crate::encoding::{base64_decode, base64_encode};

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"\n-----END ";
const DASHES: &[u8] = b"-----";

/// A block.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// What the dashed lines call it.
    pub label: Vec<u8>,
    /// The content.
    pub bytes: Vec<u8>,
}

/// Writes a block.
pub fn encode(label: &str, bytes: &[u8]) -> Vec<u8> {
    let mut out = format!("-----BEGIN {label}-----\n").into_bytes();
    for line in base64_encode(bytes).chunks(64) {
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    out.extend_from_slice(format!("-----END {label}-----\n").as_bytes());
    out
}

/// Finds the first whole block; what is no block is skipped.
pub fn decode(text: &[u8]) -> Option<Block> {
    let mut from = 0;
    loop {
        let rest = text.get(from..)?;
        // The last beginning before the first end counts; beginnings without an end are skipped.
        let end = find(rest, END)?;
        let trailer = end + END.len();
        if let Some(begin) = rfind(rest.get(..end)?, BEGIN)
            && (begin == 0 || rest.get(begin - 1) == Some(&b'\n'))
        {
            match block(rest, begin + BEGIN.len(), end, trailer) {
                Attempt::Found(block) => return Some(block),
                Attempt::Nothing => return None,
                Attempt::Skip => {}
            }
        }
        from += trailer;
    }
}

enum Attempt {
    Found(Block),
    /// No block, but one may follow.
    Skip,
    /// The text ended before the block did.
    Nothing,
}

/// Reads a block whose label starts at `at`, whose last line break is at `end` and whose closing label is at `trailer`.
fn block(text: &[u8], at: usize, end: usize, trailer: usize) -> Attempt {
    let (line, mut at) = line(text, at);
    let Some(label) = line.strip_suffix(DASHES) else { return Attempt::Skip };
    let mut headers = false;
    loop {
        if at >= text.len() {
            return Attempt::Nothing;
        }
        let (line, next) = self::line(text, at);
        if !line.contains(&b':') {
            break;
        }
        headers = true;
        at = next;
    }
    if headers && at > end {
        // A header may even have swallowed the closing line; then the search has nowhere to go on.
        return if at > trailer { Attempt::Nothing } else { Attempt::Skip };
    }
    let closed = text.get(trailer..).and_then(|t| t.strip_prefix(label)).and_then(|t| t.strip_prefix(DASHES));
    if !closed.is_some_and(|rest| self::line(rest, 0).0.is_empty()) {
        return Attempt::Skip;
    }
    let body: Vec<u8> = text
        .get(at..end)
        .unwrap_or_default()
        .iter()
        .copied()
        .filter(|b| !matches!(b, b' ' | b'\t'))
        .collect();
    match base64_decode(&body) {
        Ok(bytes) => Attempt::Found(Block { label: label.to_vec(), bytes }),
        Err(_) => Attempt::Skip,
    }
}

/// The line at a place, without white space at its end, and where the next one starts.
fn line(text: &[u8], at: usize) -> (&[u8], usize) {
    let rest = text.get(at..).unwrap_or_default();
    let (line, next) = match rest.iter().position(|b| *b == b'\n') {
        Some(i) => {
            let line = rest.get(..i).unwrap_or_default();
            (line.strip_suffix(b"\r").unwrap_or(line), at + i + 1)
        }
        None => (rest, text.len()),
    };
    let kept = line.iter().rposition(|b| !matches!(b, b' ' | b'\t')).map_or(0, |i| i + 1);
    (line.get(..kept).unwrap_or_default(), next)
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|w| w == part)
}

fn rfind(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).rposition(|w| w == part)
}
