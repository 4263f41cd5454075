//! Chart repositories: their indexes, the list of those that a user knows, and the digests that pin charts.

pub mod config;
pub mod index;
pub mod lock;
pub mod url;

/// The digest of bytes: sixty-four letters.
pub fn digest(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
