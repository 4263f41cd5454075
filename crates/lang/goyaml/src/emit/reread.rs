//! What becomes of a document when its JSON form is read as YAML.

use std::borrow::Cow;

use super::{Error, MAX_DEPTH};
use crate::unicode;

const NEL: &[u8] = "\u{85}".as_bytes();
/// A key may be this long, in characters of its JSON form.
const KEY_LEN: usize = 1024;
/// go-yaml reads its input in pieces of so many bytes, and an error in a piece comes before all others.
const PIECE: usize = 512;

/// A string value as it is after reading. The text of an error is found later, by [`problem`].
pub(super) fn string(text: &[u8]) -> Result<Cow<'_, [u8]>, Error> {
    // Without an early end in the middle, many bytes are compared at once.
    if text.chunks(64).all(|part| part.iter().fold(true, |plain, &b| plain & (b < 0x7f))) {
        return Ok(Cow::Borrowed(text));
    }
    let valid = unicode::valid(text);
    if valid.contains(is_forbidden) {
        return Err(unreadable());
    }
    if valid.contains('\u{85}') {
        return fold(valid.as_bytes()).map(Cow::Owned).ok_or_else(unreadable);
    }
    Ok(match valid {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    })
}

/// A key as it is after reading: short, and on one line.
pub(super) fn key(text: &[u8]) -> Result<Cow<'_, [u8]>, Error> {
    // No character takes more than the six of an escape.
    if text.len() > (KEY_LEN - 2) / 6 && json_len(text) > KEY_LEN {
        return Err(unreadable());
    }
    let read = string(text)?;
    if matches!(read, Cow::Owned(_)) && text.windows(2).any(|pair| pair == NEL) {
        return Err(unreadable());
    }
    Ok(read)
}

fn unreadable() -> Error {
    Error::Reread("unknown problem parsing YAML content".to_owned())
}

/// Characters that may not stand in YAML and that JSON does not escape.
fn is_forbidden(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}')
}

/// Characters of the JSON form, quotation marks included.
fn json_len(text: &[u8]) -> usize {
    let escaped: usize = unicode::valid(text)
        .chars()
        .map(|c| match c {
            '"' | '\\' | '\u{8}' | '\t' | '\n' | '\u{c}' | '\r' => 2,
            '\0'..' ' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => 6,
            _ => 1,
        })
        .sum();
    // Every stray byte was written as an escape.
    let stray: usize = text.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    escaped + 5 * stray + 2
}

/// Folds U+0085, which is a line break to YAML 1.1: the spaces around it go, one becomes a space, more become one line
/// feed less. Nothing if a line then starts with a document marker.
fn fold(text: &[u8]) -> Option<Vec<u8>> {
    let mut folded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(cut) = rest.windows(2).position(|pair| pair == NEL) {
        let (line, mut breaks) = rest.split_at(cut);
        folded.extend_from_slice(trim_end(line));
        let mut count = 0_usize;
        let mut indented = false;
        loop {
            breaks = match breaks {
                [0xc2, 0x85, tail @ ..] => {
                    count += 1;
                    indented = false;
                    tail
                }
                [b' ', tail @ ..] => {
                    indented = true;
                    tail
                }
                _ => break,
            };
        }
        if !indented && is_marker(breaks) {
            return None;
        }
        match count {
            1 => folded.push(b' '),
            _ => folded.extend(std::iter::repeat_n(b'\n', count - 1)),
        }
        rest = breaks;
    }
    folded.extend_from_slice(rest);
    Some(folded)
}

fn trim_end(line: &[u8]) -> &[u8] {
    let spaces = line.iter().rev().take_while(|&&b| b == b' ').count();
    line.get(..line.len() - spaces).unwrap_or_default()
}

/// Whether a line of a quoted scalar starts like the marker of a document.
fn is_marker(line: &[u8]) -> bool {
    matches!(line, [b'-', b'-', b'-', rest @ ..] | [b'.', b'.', b'.', rest @ ..]
        if matches!(rest, [b' ', ..] | [0xc2, 0x85, ..]))
}

/// What go-yaml has against a JSON text, if it has something.
pub(super) fn problem(json: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(json).ok()?;
    let forbidden = text.find(is_forbidden);
    let found = Scan { text: json, at: 0, line: 0, depth: 0 }.problem();
    let early = |at: usize| found.as_ref().is_none_or(|(place, _)| at < loaded(text, *place));
    if forbidden.is_some_and(early) {
        return Some("control characters are not allowed".to_owned());
    }
    found.map(|(_, problem)| problem)
}

/// How much of a text has been read when the scanner is at a place: it looks four characters ahead.
fn loaded(text: &str, place: usize) -> usize {
    let ahead = text.get(place..).unwrap_or_default();
    let needed = place + ahead.chars().take(4).map(char::len_utf8).sum::<usize>();
    let mut end = 0;
    while end < needed {
        // A character that a piece cuts off belongs to the next one.
        end = text.floor_char_boundary(end + PIECE);
    }
    end
}

/// A pass over a JSON text with the eyes of a YAML scanner.
struct Scan<'t> {
    text: &'t [u8],
    at: usize,
    /// Line breaks so far: only U+0085 can be one.
    line: usize,
    depth: usize,
}

impl Scan<'_> {
    fn problem(mut self) -> Option<(usize, String)> {
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'"' => {
                    let (start, line) = (self.at, self.line);
                    if !self.string() {
                        return self.found("found unexpected document indicator", self.line + 1);
                    }
                    let is_key = self.text.get(self.at) == Some(&b':');
                    let token = self.text.get(start..self.at).unwrap_or_default();
                    let len = token.iter().filter(|&&b| b & 0xc0 != 0x80).count();
                    if is_key && (len > KEY_LEN || line != self.line) {
                        return self.found("did not find expected ',' or '}'", self.line);
                    }
                    continue;
                }
                b'{' | b'[' => {
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        return self.found("exceeded max depth of 10000", self.line + 1);
                    }
                }
                b'}' | b']' => self.depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
        None
    }

    /// The first line has no number.
    fn found(&self, problem: &str, line: usize) -> Option<(usize, String)> {
        let problem = match self.line {
            0 => problem.to_owned(),
            _ => format!("line {line}: {problem}"),
        };
        Some((self.at, problem))
    }

    /// Passes over a string. Says no where a line of it starts with a document marker.
    fn string(&mut self) -> bool {
        self.at += 1;
        loop {
            match self.text.get(self.at..).unwrap_or_default() {
                [b'\\', _, ..] => self.at += 2,
                [0xc2, 0x85, rest @ ..] => {
                    self.at += 2;
                    self.line += 1;
                    if is_marker(rest) {
                        return false;
                    }
                }
                [b'"', ..] | [] => {
                    self.at += 1;
                    return true;
                }
                _ => self.at += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_line_folds_like_a_line_break() {
        for (text, read) in [
            ("a\u{85}b", Some("a b")),
            ("a  \u{85}  b", Some("a b")),
            ("\u{85}", Some(" ")),
            ("a\u{85} \u{85}\u{85}b", Some("a\n\nb")),
            ("a\u{85}---b", Some("a ---b")),
            ("a\u{85} --- b", Some("a --- b")),
            ("a\u{85}--- b", None),
            ("a\u{85}...\u{85}b", None),
        ] {
            assert_eq!(string(text.as_bytes()).ok().as_deref(), read.map(str::as_bytes), "{text:?}");
        }
    }

    #[test]
    fn what_go_yaml_does_not_like_in_json_is_named() {
        let long = "k".repeat(1023);
        let far = "x".repeat(2000);
        for (json, text) in [
            ("{\"a\":\"b\"}".to_owned(), None),
            ("\"\u{7f}\"".to_owned(), Some("control characters are not allowed")),
            (format!("{{\"{}\":1}}", &long[1..]), None),
            (format!("{{\"{long}\":1}}"), Some("did not find expected ',' or '}'")),
            (format!("{{\"{long}\":\"\u{7f}\"}}"), Some("control characters are not allowed")),
            (format!("{{\"{long}\":\"{far}\u{7f}\"}}"), Some("did not find expected ',' or '}'")),
            ("{\"a\u{85}\":1}".to_owned(), Some("line 1: did not find expected ',' or '}'")),
            ("[\"\u{85}\",\"\u{85}--- \"]".to_owned(), Some("line 3: found unexpected document indicator")),
            ("[".repeat(10_001), Some("exceeded max depth of 10000")),
        ] {
            assert_eq!(problem(json.as_bytes()).as_deref(), text);
        }
    }
}
