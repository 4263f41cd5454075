//! Cutting a file into documents.

use podium_gotmpl::gostr;

use crate::dialect::{Dialect, Split};

/// Cuts white space (any of Unicode's) off the start.
pub(super) fn trim_start(text: &[u8]) -> &[u8] {
    let start = gostr::runes(text).find(|(_, c, _)| !gostr::is_space(*c)).map_or(text.len(), |(at, ..)| at);
    &text[start..]
}

/// Cuts white space (any of Unicode's) off both ends.
pub(super) fn trim(text: &[u8]) -> &[u8] {
    trim_end(trim_start(text))
}

/// Cuts white space (any of Unicode's) off the end.
pub(super) fn trim_end(mut text: &[u8]) -> &[u8] {
    loop {
        let (c, width) = gostr::decode_last_char(text);
        if width == 0 || !gostr::is_space(c) {
            return text;
        }
        text = &text[..text.len() - width];
    }
}

/// The documents of a file, in order, without the empty ones.
pub fn split<'t>(text: &'t [u8], dialect: &Dialect) -> Vec<&'t [u8]> {
    match dialect.split {
        Split::LineStart => at_line_starts(trim_start(text)),
        Split::Trimmed => with_white_space(trim(text)),
    }
}

/// Where the next `---` at the start of a line is.
fn next_marker(text: &[u8], from: usize) -> Option<usize> {
    if text[from..].starts_with(b"---") && (from == 0 || text[from - 1] == b'\n') {
        return Some(from);
    }
    memchr::memmem::find(&text[from..], b"\n---").map(|at| from + at + 1)
}

fn at_line_starts(text: &[u8]) -> Vec<&[u8]> {
    let mut documents = Vec::new();
    let mut start = 0;
    let mut search = 0;
    while let Some(at) = next_marker(text, search) {
        documents.push(&text[start..at]);
        start = at + 3;
        start += text[start..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        search = start;
    }
    documents.push(&text[start..]);
    documents.into_iter().map(trim_start).filter(|d| !d.is_empty()).collect()
}

/// White space of regular expressions.
fn is_space(b: &u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

fn with_white_space(text: &[u8]) -> Vec<&[u8]> {
    let mut documents = Vec::new();
    let mut start = 0;
    let mut search = 0;
    while let Some(at) = next_marker(text, search) {
        // The line break before the marker belongs to it; one that an earlier marker has swallowed is gone.
        let before = &text[start..at];
        let kept = before.len() - before.iter().rev().take_while(|b| is_space(b)).count();
        if at > 0 && !before[kept..].contains(&b'\n') {
            search = at + 3;
            continue;
        }
        documents.push(&text[start..start + kept]);
        start = at + 3;
        start += text[start..].iter().take_while(|b| is_space(b)).count();
        search = start;
    }
    documents.push(&text[start..]);
    documents.into_iter().filter(|d| !d.is_empty()).map(trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{HELM3, HELM4};

    fn texts(text: &str, dialect: &Dialect) -> Vec<String> {
        split(text.as_bytes(), dialect).into_iter().map(|d| String::from_utf8_lossy(d).into_owned()).collect()
    }

    #[test]
    fn each_major_cuts_in_its_own_way() {
        for (text, helm4, helm3) in [
            ("a: 1\n---\nb: 2\n", vec!["a: 1\n", "b: 2\n"], vec!["a: 1", "b: 2"]),
            ("---\n\n---\na: 1\n", vec!["a: 1\n"], vec!["---\na: 1"]),
            ("a: 1\n--- # c\nb: 2", vec!["a: 1\n", "# c\nb: 2"], vec!["a: 1", "# c\nb: 2"]),
            ("a: 1\n---d: 2", vec!["a: 1\n", "d: 2"], vec!["a: 1", "d: 2"]),
            ("a: |\n  ---\n  b", vec!["a: |\n  ---\n  b"], vec!["a: |\n  ---\n  b"]),
            ("\n\n  \n", vec![], vec![]),
        ] {
            assert_eq!(texts(text, &HELM4), helm4, "{text:?}");
            assert_eq!(texts(text, &HELM3), helm3, "{text:?}");
        }
    }
}
