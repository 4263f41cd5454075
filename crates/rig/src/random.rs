//! A small random generator: the same seed gives the same run on every machine.

/// SplitMix64: one word of state, good enough to choose test cases.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator for a seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// An independent generator for the `index`-th case of a run, so that one case can be made again alone.
    pub fn for_case(seed: u64, stream: &str, index: u64) -> Self {
        let mut word = seed ^ 0x9e37_79b9_7f4a_7c15;
        for byte in stream.bytes() {
            word = (word ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mut random = Random(word ^ index.wrapping_mul(0xd6e8_feb8_6659_fd93));
        random.word();
        random
    }

    /// The next word.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 when `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.word() % n as u64) as usize }
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1).max(1) as usize) as i64
    }

    /// True `percent` times of a hundred.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of the usual things, or, `percent` times of a hundred, one of the odd ones.
    pub fn pick_or<T: Copy + Default>(&mut self, usual: &[T], percent: usize, odd: &[T]) -> T {
        let pool = if self.chance(percent) { odd } else { usual };
        self.pick(pool)
    }

    /// One of some things; the default of the type when there are none.
    pub fn pick<T: Copy + Default>(&mut self, items: &[T]) -> T {
        items.get(self.below(items.len())).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_cases_differ() {
        let run = |seed| (0..50).map(|i| Random::for_case(seed, "x", i).word()).collect::<Vec<_>>();
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        let mut words = run(3);
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 50);
    }
}
