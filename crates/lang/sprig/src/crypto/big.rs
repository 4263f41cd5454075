//! Arithmetic on numbers of any size, for RSA and DSA.
//!
//! `crypto-bigint` wants operands of equal width in places. Everything here takes any widths.

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, ConcatenatingMul, NonZero, Resize};

/// A number.
pub type Big = BoxedUint;

/// A number from big-endian bytes.
pub fn from_bytes(bytes: &[u8]) -> Big {
    Big::from_be_slice_vartime(bytes)
}

/// Big-endian bytes without zeros in front.
pub fn to_bytes(number: &Big) -> Vec<u8> {
    number.to_be_bytes_trimmed_vartime().into_vec()
}

/// Big-endian bytes with zeros in front, so many in all.
pub fn to_padded(number: &Big, length: usize) -> Vec<u8> {
    let bytes = to_bytes(number);
    let mut out = vec![0; length.saturating_sub(bytes.len())];
    out.extend_from_slice(&bytes);
    out
}

/// Whether it is odd.
pub fn is_odd(number: &Big) -> bool {
    number.as_words().first().is_some_and(|w| w & 1 == 1)
}

/// Whether it is one.
pub fn is_one(number: &Big) -> bool {
    number.is_one().into()
}

/// Whether it is zero.
pub fn is_zero(number: &Big) -> bool {
    number.is_zero().into()
}

/// The product.
pub fn product(a: &Big, b: &Big) -> Big {
    a.concatenating_mul(b)
}

/// The difference; zero when the second is the larger one.
pub fn minus(a: &Big, b: &Big) -> Big {
    if a <= b { Big::zero() } else { a.wrapping_sub(b) }
}

/// The number before this one; zero for zero.
pub fn before(number: &Big) -> Big {
    minus(number, &Big::one())
}

/// The remainder of a division; the number itself for a division by zero.
pub fn remainder(number: &Big, modulus: &Big) -> Big {
    match modulus.as_nz_vartime() {
        Some(modulus) => number.rem(modulus),
        None => number.clone(),
    }
}

/// The quotient of a division; zero for a division by zero.
pub fn quotient(number: &Big, divisor: &Big) -> Big {
    match divisor.as_nz_vartime() {
        Some(divisor) => number.wrapping_div(divisor),
        None => Big::zero(),
    }
}

/// The product within a modulus.
pub fn product_within(a: &Big, b: &Big, modulus: &Big) -> Big {
    remainder(&product(a, b), modulus)
}

/// A power within an odd modulus; nothing for an even one.
pub fn power_within(base: &Big, exponent: &Big, modulus: &Big) -> Option<Big> {
    let params = montgomery(modulus)?;
    let base = remainder(base, modulus).resize_unchecked(params.bits_precision());
    Some(BoxedMontyForm::new(base, &params).pow_bounded_exp(exponent, exponent.bits()).retrieve())
}

/// What calculating within an odd modulus needs to know of it; nothing for an even one.
pub fn montgomery(modulus: &Big) -> Option<BoxedMontyParams> {
    modulus.as_odd_vartime().map(|odd| BoxedMontyParams::new(odd.clone()))
}

/// The inverse within a modulus, if there is one.
pub fn inverse(number: &Big, modulus: &Big) -> Option<Big> {
    let width = modulus.bits_precision();
    let number = remainder(number, modulus).resize_unchecked(width);
    let modulus: NonZero<Big> = modulus.as_nz_vartime()?.clone();
    number.invert_mod(&modulus).into_option()
}

/// The greatest common divisor.
pub fn common_divisor(a: &Big, b: &Big) -> Big {
    let width = a.bits_precision().max(b.bits_precision());
    crypto_bigint::Gcd::gcd(&a.resize_unchecked(width), &b.resize_unchecked(width))
}
