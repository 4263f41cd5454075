//! The chart of an entry of `watches.yaml`, loaded once.

use std::path::Path;

use podium_chart::dialect::Dialect;
use podium_chart::load;
use podium_chart::renderer::Renderer;
use sha2::{Digest, Sha256};

/// A loaded chart.
pub struct Chart {
    /// Its renderer, with compiled templates.
    pub renderer: Renderer,
    /// Its name.
    pub name: String,
    /// A digest of all of its files.
    pub digest: String,
}

/// Why a chart cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[error("the chart {path}: {reason}")]
pub struct Error {
    path: String,
    reason: String,
}

impl Chart {
    /// Loads a chart from a directory or an archive.
    pub fn load(path: &str, dialect: &'static Dialect) -> Result<Self, Error> {
        let failed = |reason: String| Error { path: path.to_owned(), reason };
        let loaded = load::load(Path::new(path), dialect).map_err(|e| failed(e.to_string()))?;
        let mut hasher = Sha256::new();
        hasher.update(dialect.name);
        let mut files: Vec<_> = loaded.chart.raw.iter().collect();
        files.sort_by(|a, b| a.name.cmp(&b.name));
        for file in files {
            hasher.update((file.name.len() as u64).to_le_bytes());
            hasher.update(file.name.as_bytes());
            hasher.update((file.data.len() as u64).to_le_bytes());
            hasher.update(&file.data);
        }
        let name = loaded.chart.metadata.name.clone();
        let renderer = Renderer::new(loaded.chart, dialect);
        renderer.check().map_err(|e| failed(e.to_string()))?;
        Ok(Self { renderer, name, digest: hex(&hasher.finalize()) })
    }
}

/// The first 16 bytes of a hash, in hexadecimal.
pub fn hex(hash: &[u8]) -> String {
    hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
