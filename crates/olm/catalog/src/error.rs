//! Catalog errors: opm's message and the source positions, which opm does not report.

use std::fmt;
use std::sync::Arc;

/// A line of a catalog file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceSpan {
    /// Path below the root of the catalog; empty if there is none.
    pub file: Arc<str>,
    /// Line, from 1; 0 if unknown.
    pub line: u32,
}

impl SourceSpan {
    /// Creates a span.
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

/// Why opm rejects a catalog. The message is equal to opm's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CatalogError {
    /// opm's message.
    pub message: String,
    /// Source positions with the reason for each.
    pub spans: Vec<(SourceSpan, String)>,
}

impl CatalogError {
    /// Creates an error with a source position.
    pub fn at(span: SourceSpan, message: impl Into<String>) -> Self {
        let message = message.into();
        let reason = message.lines().next().unwrap_or_default().to_owned();
        Self { spans: vec![(span, reason)], message }
    }

    /// Creates an error without a source position.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), spans: Vec::new() }
    }

    /// Prepends context to the message.
    pub fn prefixed(mut self, prefix: &str) -> Self {
        self.message = format!("{prefix}{}", self.message);
        self
    }
}

/// Formats a string like Go's `%q`.
pub fn quote(text: &str) -> String {
    String::from_utf8_lossy(&podium_gotmpl::gostr::quote(text.as_bytes())).into_owned()
}

/// Formats a list of strings like Go's `%s`.
pub fn format_list<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.as_ref().to_owned()).collect();
    format!("[{}]", items.join(" "))
}
