//! What elliptic curves have in common.

use crypto_bigint::Uint;
use crypto_bigint::modular::{FixedMontyForm, FixedMontyParams};

/// A number within the modulus of a curve.
pub type Number<const L: usize> = FixedMontyForm<L>;

/// A modulus.
pub type Modulus<const L: usize> = FixedMontyParams<L>;

/// A point that can be added to another.
pub trait Point: Copy {
    /// The point that changes nothing when it is added.
    fn nothing(&self) -> Self;
    /// The sum, by a formula that holds for all points.
    fn plus(&self, other: &Self) -> Self;
    /// One of two points; the time it takes does not say which.
    fn choose(&self, other: &Self, other_wins: u8) -> Self;

    /// The point added to itself so many times; the scalar is big-endian and has a fixed length.
    fn times(&self, scalar: &[u8]) -> Self {
        let mut sum = self.nothing();
        for byte in scalar {
            for bit in (0..8).rev() {
                sum = sum.plus(&sum);
                sum = sum.choose(&sum.plus(self), byte >> bit & 1);
            }
        }
        sum
    }
}

/// A number from big-endian bytes of at most its width, reduced.
pub fn number<const L: usize>(bytes: &[u8], modulus: &Modulus<L>) -> Number<L> {
    let value = uint::<L>(bytes).rem_vartime(modulus.modulus().as_nz_ref());
    Number::new(&value, modulus)
}

/// An integer from big-endian bytes; those that do not fit are cut off in front.
pub fn uint<const L: usize>(bytes: &[u8]) -> Uint<L> {
    let mut words = [0u64; L];
    for (word, chunk) in words.iter_mut().zip(bytes.rchunks(8)) {
        *word = chunk.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    }
    Uint::from_words(words)
}

/// The last bytes of an integer, big-endian.
pub fn bytes<const L: usize>(value: &Uint<L>, length: usize) -> Vec<u8> {
    let mut little: Vec<u8> = value.to_words().iter().flat_map(|w| w.to_le_bytes()).collect();
    little.resize(length, 0);
    little.reverse();
    little
}

/// One of two numbers; the time it takes does not say which.
pub fn choose<const L: usize>(a: &Number<L>, b: &Number<L>, b_wins: u8) -> Number<L> {
    crypto_bigint::CtSelect::ct_select(a, b, crypto_bigint::Choice::from_u8_lsb(b_wins))
}
