//! What can be wrong with a catalog: opm's words, and the place, which opm does not say.

use std::fmt;
use std::sync::Arc;

/// A place in the files of a catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceSpan {
    /// The path of the file below the root of the catalog; empty if there is none.
    pub file: Arc<str>,
    /// The line, from 1; 0 if it is not known.
    pub line: u32,
}

impl SourceSpan {
    /// A line of a file.
    pub fn new(file: &Arc<str>, line: u32) -> Self {
        Self { file: file.clone(), line }
    }
}

impl fmt::Display for SourceSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

/// Why a catalog is refused. The display text is opm's, to the byte.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CatalogError {
    /// opm's words.
    pub message: String,
    /// What they are about, with the reason for each place.
    pub spans: Vec<(SourceSpan, String)>,
}

impl CatalogError {
    /// A problem at a place.
    pub fn at(span: SourceSpan, message: impl Into<String>) -> Self {
        let message = message.into();
        let reason = message.lines().next().unwrap_or_default().to_owned();
        Self { spans: vec![(span, reason)], message }
    }

    /// A problem without a place.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), spans: Vec::new() }
    }

    /// The same with words in front.
    pub fn prefixed(mut self, prefix: &str) -> Self {
        self.message = format!("{prefix}{}", self.message);
        self
    }
}

/// A text in Go's quotation marks.
pub fn quote(text: &str) -> String {
    String::from_utf8_lossy(&podium_gotmpl::gostr::quote(text.as_bytes())).into_owned()
}

/// A list as Go prints it.
pub fn format_list<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.as_ref().to_owned()).collect();
    format!("[{}]", items.join(" "))
}
