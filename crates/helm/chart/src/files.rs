//! The files of a chart.

use std::sync::Arc;

/// The mark that some editors put at the start of a text; it is cut off every file.
pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// A file of a chart: its slash-separated path below the chart's root, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The path.
    pub name: Arc<str>,
    /// The content.
    pub data: Arc<[u8]>,
}

impl File {
    /// A file; a byte order mark at its start is dropped.
    pub fn new(name: impl Into<Arc<str>>, data: &[u8]) -> Self {
        Self { name: name.into(), data: data.strip_prefix(BOM).unwrap_or(data).into() }
    }
}
