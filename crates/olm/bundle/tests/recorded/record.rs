//! Line format of the record: seed and outcome hashes.

use crate::outcome::sorted;

/// FNV-1a hash of an outcome.
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Formats the line of a seed.
pub fn record_line(seed: u64, opm: Option<&str>, objects: Option<Vec<String>>) -> String {
    let hash_or_rejected =
        |text: Option<String>| text.map_or("refused".to_owned(), |text| format!("{:016x}", hash(&text)));
    let objects = objects.map(|all| sorted(all).join("\n"));
    format!("{seed} {} {}", hash_or_rejected(opm.map(str::to_owned)), hash_or_rejected(objects))
}
