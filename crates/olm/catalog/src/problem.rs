//! What can be wrong with a catalog: opm's words, and the place, which opm does not say.

use std::fmt;
use std::sync::Arc;

/// A place in the files of a catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The path of the file below the root of the catalog; empty if there is none.
    pub file: Arc<str>,
    /// The line, from 1; 0 if it is not known.
    pub line: u32,
}

impl Place {
    /// A line of a file.
    pub fn new(file: &Arc<str>, line: u32) -> Self {
        Self { file: file.clone(), line }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

/// Why a catalog is refused. The display text is opm's, to the byte.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Problem {
    /// opm's words.
    pub text: String,
    /// What they are about, with the reason for each place.
    pub places: Vec<(Place, String)>,
}

impl Problem {
    /// A problem at a place.
    pub fn at(place: Place, text: impl Into<String>) -> Self {
        let text = text.into();
        let reason = text.lines().next().unwrap_or_default().to_owned();
        Self { places: vec![(place, reason)], text }
    }

    /// A problem without a place.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), places: Vec::new() }
    }

    /// The same with words in front.
    pub fn within(mut self, words: &str) -> Self {
        self.text = format!("{words}{}", self.text);
        self
    }
}

/// A text in Go's quotation marks.
pub fn quoted(text: &str) -> String {
    String::from_utf8_lossy(&podium_gotmpl::gostr::quote(text.as_bytes())).into_owned()
}

/// A list as Go prints it.
pub fn listed<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.as_ref().to_owned()).collect();
    format!("[{}]", items.join(" "))
}
