//! Making text shorter or narrower.

use podium_gotmpl::gostr::{append_rune, is_space};

const ELLIPSIS: &[u8] = b"...";

/// `abbrev`: at most `width` bytes, with an ellipsis for what is cut; widths below 4 cut nothing.
pub fn abbreviate(width: i64, text: &[u8]) -> Vec<u8> {
    abbreviate_both(0, width, text)
}

/// `abbrevboth`: at most `width` bytes that show what is at `offset`, with an ellipsis on each side that is cut.
pub fn abbreviate_both(offset: i64, width: i64, text: &[u8]) -> Vec<u8> {
    let wanted = usize::try_from(width).unwrap_or(0);
    if width < 4 || offset > 0 && width < 7 || text.len() <= wanted {
        return text.to_vec();
    }
    let kept = wanted - ELLIPSIS.len();
    let start = usize::try_from(offset).unwrap_or(0).min(text.len() - kept);
    let cut = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    if start <= 4 {
        [cut(0, kept), ELLIPSIS].concat()
    } else if start + kept < text.len() {
        [ELLIPSIS, cut(start, start + kept - ELLIPSIS.len()), ELLIPSIS].concat()
    } else {
        [ELLIPSIS, cut(text.len() - kept, text.len())].concat()
    }
}

/// `initials`: the first byte of each word, each byte taken for a character.
pub fn initials(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut gap = true;
    for &byte in text {
        if is_space(char::from(byte)) {
            gap = true;
        } else if std::mem::take(&mut gap) {
            append_rune(&mut out, u32::from(byte));
        }
    }
    out
}

/// `wrap`: breaks lines at spaces after at most `width` bytes; longer words stay whole.
pub fn wrap(width: i64, text: &[u8]) -> Vec<u8> {
    break_lines(text, width, b"", false)
}

/// `wrapWith`: breaks lines with `separator` after at most `width` bytes; longer words are broken too.
pub fn wrap_with(width: i64, separator: &[u8], text: &[u8]) -> Vec<u8> {
    break_lines(text, width, separator, true)
}

fn break_lines(text: &[u8], width: i64, separator: &[u8], break_words: bool) -> Vec<u8> {
    let separator = if separator.is_empty() { b"\n" } else { separator };
    let width = usize::try_from(width.max(1)).unwrap_or(usize::MAX);
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while rest.len() > width {
        if let Some(after) = rest.strip_prefix(b" ") {
            rest = after;
            continue;
        }
        let (line, tail) = rest.split_at(width + 1);
        let (end, skip) = if let Some(space) = line.iter().rposition(|byte| *byte == b' ') {
            (space, 1)
        } else if break_words {
            (width, 0)
        } else if let Some(space) = tail.iter().position(|byte| *byte == b' ') {
            (line.len() + space, 1)
        } else {
            break;
        };
        out.extend(rest.get(..end).unwrap_or_default());
        out.extend(separator);
        rest = rest.get(end + skip..).unwrap_or_default();
    }
    out.extend(rest);
    out
}
