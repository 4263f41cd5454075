//! Folders of the checkout that the rig reads.

use std::path::PathBuf;

/// `tests/<name>` of this checkout.
pub fn tests(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(name)
}

/// `tools/<name>` of this checkout.
pub fn tools(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tools").join(name)
}
