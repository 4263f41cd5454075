//! Hashing names.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// Makes hashers for names and short texts. They are not as strong as those of the standard library but several times as
/// fast; the seed is random, so that nobody can choose names that collide.
#[derive(Clone, Debug, Default)]
pub struct NameHash;

impl BuildHasher for NameHash {
    type Hasher = NameHasher;

    fn build_hasher(&self) -> NameHasher {
        static SEED: OnceLock<u64> = OnceLock::new();
        let seed = *SEED.get_or_init(|| RandomState::new().hash_one(0));
        NameHasher { state: seed, factor: seed.rotate_left(32) | 1 }
    }
}

/// Multiplies eight bytes at a time into the state; both halves of the product count.
#[derive(Debug)]
pub struct NameHasher {
    state: u64,
    factor: u64,
}

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.state ^ word) * u128::from(self.factor);
        self.state = (product as u64) ^ ((product >> 64) as u64);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(u64::from(byte));
    }

    fn finish(&self) -> u64 {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_that_are_alike_have_different_hashes_in_all_bits() {
        let hash = NameHash;
        let hashes: HashSet<u64> = (0..10_000).map(|n| hash.hash_one(format!("chart{n}.name"))).collect();
        assert_eq!(hashes.len(), 10_000);
        let (low, high): (HashSet<_>, HashSet<_>) = hashes.iter().map(|h| (h % 1024, h >> 54)).unzip();
        assert!(low.len() > 1000 && high.len() > 1000, "{} {}", low.len(), high.len());
    }

    #[test]
    fn the_length_counts() {
        let hash = NameHash;
        assert_ne!(hash.hash_one(b"a".as_slice()), hash.hash_one(b"a\0".as_slice()));
    }
}
