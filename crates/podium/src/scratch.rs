//! Directories for what lies between.

use std::path::{Path, PathBuf};

/// A directory that is gone when nobody needs it any more.
pub struct Scratch(PathBuf);

impl Scratch {
    /// A new directory below that for temporary files.
    pub fn new(prefix: &str) -> std::io::Result<Self> {
        Self::below(&std::env::temp_dir(), prefix)
    }

    /// A new directory below another one.
    pub fn below(parent: &Path, prefix: &str) -> std::io::Result<Self> {
        let mut random = [0; 8];
        podium_release::environment::random(&mut random);
        let path = parent.join(format!("{prefix}-{:016x}", u64::from_le_bytes(random)));
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
