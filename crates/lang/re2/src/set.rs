//! Sets of code points.

use crate::unicode;

/// The largest code point.
pub(crate) const MAX_RUNE: u32 = 0x10FFFF;

/// A set of code points as ranges; surrogates may be members, though no text ever contains one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RuneSet {
    ranges: Vec<(u32, u32)>,
    /// How many ranges there may be before they are sorted and merged once more, so that a long class of large
    /// groups stays small.
    tidy_at: usize,
}

const TIDY_MIN: usize = 4096;

impl RuneSet {
    pub fn from_ranges(ranges: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut set = Self { ranges: ranges.into_iter().collect(), tidy_at: TIDY_MIN };
        set.tidy();
        set
    }

    pub fn any() -> Self {
        Self::from_ranges([(0, MAX_RUNE)])
    }

    pub fn any_but_newline() -> Self {
        Self::from_ranges([(0, 9), (11, MAX_RUNE)])
    }

    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    /// The only member, if there is exactly one.
    pub fn single(&self) -> Option<u32> {
        match self.ranges[..] {
            [(lo, hi)] if lo == hi => Some(lo),
            _ => None,
        }
    }

    pub fn add(&mut self, lo: u32, hi: u32) {
        self.ranges.push((lo, hi));
        if self.ranges.len() > self.tidy_at.max(TIDY_MIN) {
            self.tidy();
            self.tidy_at = self.ranges.len() * 2;
        }
    }

    pub fn add_all(&mut self, other: &RuneSet) {
        for &(lo, hi) in &other.ranges {
            self.add(lo, hi);
        }
    }

    /// Sorts the ranges and merges those that touch.
    pub fn tidy(&mut self) {
        self.ranges.sort_unstable();
        let mut kept = 0;
        for i in 0..self.ranges.len() {
            let (lo, hi) = self.ranges[i];
            if kept > 0 && lo <= self.ranges[kept - 1].1.saturating_add(1) {
                self.ranges[kept - 1].1 = self.ranges[kept - 1].1.max(hi);
            } else {
                self.ranges[kept] = (lo, hi);
                kept += 1;
            }
        }
        self.ranges.truncate(kept);
    }

    /// Everything that is not in this set, which must be tidy.
    pub fn negated(&self) -> Self {
        let mut out = Vec::with_capacity(self.ranges.len() + 1);
        let mut next = 0;
        for &(lo, hi) in &self.ranges {
            if next < lo {
                out.push((next, lo - 1));
            }
            next = hi + 1;
        }
        if next <= MAX_RUNE {
            out.push((next, MAX_RUNE));
        }
        Self { ranges: out, tidy_at: TIDY_MIN }
    }

    /// This set with everything that differs only by case from a member.
    pub fn folded(mut self) -> Self {
        self.tidy();
        let mut extra = Vec::new();
        for &(lo, hi) in &self.ranges {
            unicode::fold_range(lo, hi, |equal| extra.push((equal, equal)));
        }
        self.ranges.append(&mut extra);
        self.tidy();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_ranges_merge_and_negation_is_its_own_inverse() {
        let set = RuneSet::from_ranges([(5, 9), (20, 30), (10, 12), (25, 26), (40, 40)]);
        assert_eq!(set.ranges(), [(5, 12), (20, 30), (40, 40)]);
        assert_eq!(set.negated().negated().ranges(), set.ranges());
        assert_eq!(RuneSet::any().negated().ranges(), []);
    }

    #[test]
    fn folding_adds_the_kelvin_sign_and_the_long_s() {
        let set = RuneSet::from_ranges([(0x61, 0x7A)]).folded();
        assert_eq!(set.ranges(), [(0x41, 0x5A), (0x61, 0x7A), (0x17F, 0x17F), (0x212A, 0x212A)]);
    }

    #[test]
    fn a_class_of_many_large_groups_stays_small() {
        let letters = unicode::class("L", false).unwrap_or_default();
        let mut set = RuneSet::default();
        for _ in 0..1000 {
            set.add_all(&letters);
        }
        assert!(set.ranges.len() < 10_000);
    }
}
