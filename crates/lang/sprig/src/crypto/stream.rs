//! Random bytes.

use podium_gotmpl::World;
use sha2::{Digest, Sha512};

/// An endless stream of random bytes, grown from a seed that the world gives.
///
/// Searching for primes takes an unknown number of bytes and must come to an end in every world, also in one whose
/// bytes are always the same, so the world gives only the seed.
pub struct Stream {
    seed: [u8; 64],
    block: [u8; 64],
    used: usize,
    count: u64,
}

impl Stream {
    /// A stream with a fresh seed.
    pub fn new(world: &dyn World) -> Self {
        Self::seeded(world, &[])
    }

    /// A stream whose seed also depends on secrets, so that a weak world alone cannot make it repeat itself.
    pub fn seeded(world: &dyn World, secrets: &[&[u8]]) -> Self {
        let mut fresh = [0; 32];
        world.random(&mut fresh);
        let mut hash = Sha512::new_with_prefix(fresh);
        for secret in secrets {
            hash.update((secret.len() as u64).to_be_bytes());
            hash.update(secret);
        }
        Self { seed: hash.finalize().into(), block: [0; 64], used: 64, count: 0 }
    }

    /// Fills a buffer.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        let mut rest = buffer;
        while !rest.is_empty() {
            if self.used == self.block.len() {
                let block = Sha512::new_with_prefix(self.seed).chain_update(self.count.to_be_bytes());
                self.block = block.finalize().into();
                self.count = self.count.wrapping_add(1);
                self.used = 0;
            }
            let (_, fresh) = self.block.split_at(self.used);
            let (now, later) = rest.split_at_mut(rest.len().min(fresh.len()));
            now.copy_from_slice(&fresh[..now.len()]);
            self.used += now.len();
            rest = later;
        }
    }

    /// So many bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut out = vec![0; count];
        self.fill(&mut out);
        out
    }

    /// A number from 0 to below the bound, each equally likely; 0 for the bound 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        let Some(last) = bound.checked_sub(1) else { return 0 };
        let mask = u64::MAX.checked_shr(last.leading_zeros()).unwrap_or(0);
        let length = (u64::BITS - last.leading_zeros()).div_ceil(8) as usize;
        loop {
            let mut bytes = [0; 8];
            self.fill(&mut bytes[..length]);
            let number = u64::from_le_bytes(bytes) & mask;
            if number < bound {
                return number;
            }
        }
    }
}
