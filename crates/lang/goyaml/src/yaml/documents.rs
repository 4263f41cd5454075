//! Several documents in one text, split at lines that start with `---`.

use std::borrow::Cow;

use super::error::{Error, Origin};
use crate::tree::Pos;

/// One document of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document<'t> {
    /// Its text, each line ended by a line feed.
    pub text: Cow<'t, [u8]>,
    /// The line at which it starts, from 1.
    pub first_line: u32,
}

impl Document<'_> {
    /// Where the document comes from, for the functions that read it.
    pub fn origin(&self, source: u32) -> Origin {
        Origin { source, first_line: self.first_line }
    }
}

/// The documents of a text, as Kubernetes' `NewYAMLReader` sees them and as Helm 4 reads values files.
///
/// The text is not looked into: a line that starts with `---` splits even inside a block scalar. The line in front of
/// the first document belongs to it. After an error there is nothing more.
pub fn documents(text: &[u8]) -> Documents<'_> {
    Documents { text, at: 0, line: 1, done: false }
}

/// The iterator of [`documents`].
#[derive(Debug, Clone)]
pub struct Documents<'t> {
    text: &'t [u8],
    at: usize,
    line: u32,
    done: bool,
}

impl Documents<'_> {
    /// How many bytes and lines have been read: where the next document begins.
    pub fn position(&self) -> (usize, u32) {
        (self.at, self.line - 1)
    }
}

impl<'t> Iterator for Documents<'t> {
    type Item = Result<Document<'t>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let (start, first_line) = (self.at, self.line);
        let mut end = start;
        while let Some(rest) = self.text.get(self.at..).filter(|rest| !rest.is_empty()) {
            let len = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
            let line = rest.get(..len).unwrap_or_default();
            let number = self.line;
            self.at += len;
            self.line = self.line.saturating_add(1);
            if let Some(behind) = line.strip_prefix(b"---") {
                let behind = String::from_utf8_lossy(behind);
                let behind = behind.trim();
                if !behind.is_empty() && !behind.starts_with('#') {
                    self.done = true;
                    let pos = Pos { source: 0, line: number, column: 4 };
                    return Some(Err(Error::Separator { text: behind.to_owned(), pos }));
                }
                if end > start {
                    break;
                }
            }
            end = self.at;
        }
        let span = self.text.get(start..end).filter(|span| !span.is_empty())?;
        Some(Ok(Document { text: unix_lines(span), first_line }))
    }
}

/// The text with line feeds only, and with one at the end.
fn unix_lines(text: &[u8]) -> Cow<'_, [u8]> {
    let windows = || text.windows(2).any(|pair| pair == b"\r\n");
    if (memchr::memchr(b'\r', text).is_none() || !windows()) && text.ends_with(b"\n") {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len() + 1);
    for line in text.split_inclusive(|&b| b == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        out.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
        out.push(b'\n');
    }
    Cow::Owned(out)
}
