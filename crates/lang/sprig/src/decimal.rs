//! Decimal numbers of any length, for `addf`, `subf`, `mulf` and `divf`.
//!
//! A number is an integer times a power of ten. Sums and products are exact; a quotient is rounded to 16 places.

use std::cmp::Ordering;

use podium_gotmpl::Error;
use podium_gotmpl::fmt::{format_float, format_float_verb};

const BASE: u64 = 1_000_000_000;
const BASE_DIGITS: usize = 9;
/// The places that a quotient keeps.
const PLACES: i64 = 16;

/// `(-1)^negative * size * 10^exponent`.
#[derive(Clone, Debug)]
pub struct Decimal {
    negative: bool,
    size: Natural,
    exponent: i64,
}

/// A natural number: digits to base 10^9, lowest first, no zero on top.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Natural(Vec<u32>);

impl Decimal {
    /// The decimal with the fewest digits that stands for the float.
    pub fn from_float(f: f64) -> Result<Self, Error> {
        if !f.is_finite() {
            return Err(Error::new(format!("Cannot create a Decimal from {}", format_float(f))));
        }
        let text = format_float_verb(f.abs(), b'e', -1);
        let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}").parse().unwrap_or(0);
        let exponent = power.parse::<i64>().unwrap_or(0) - fraction.len() as i64;
        Ok(Self { negative: f < 0.0, size: Natural::from(digits), exponent })
    }

    /// The nearest float.
    pub fn to_float(&self) -> f64 {
        let text = format!("{}e{}", self.size.digits(), self.exponent);
        let size: f64 = text.parse().unwrap_or(0.0);
        if self.negative { -size } else { size }
    }

    /// The sum.
    pub fn add(&self, other: &Self) -> Self {
        let exponent = self.exponent.min(other.exponent);
        let (a, b) = (self.scaled_to(exponent), other.scaled_to(exponent));
        let (negative, size) = if self.negative == other.negative {
            (self.negative, a.plus(&b))
        } else {
            match a.compare(&b) {
                Ordering::Less => (other.negative, b.minus(&a)),
                _ => (self.negative, a.minus(&b)),
            }
        };
        Self::signed(negative, size, exponent)
    }

    /// The difference.
    pub fn sub(&self, other: &Self) -> Self {
        self.add(&Self::signed(!other.negative, other.size.clone(), other.exponent))
    }

    /// The product.
    pub fn mul(&self, other: &Self) -> Self {
        Self::signed(
            self.negative != other.negative,
            self.size.times(&other.size),
            self.exponent + other.exponent,
        )
    }

    /// The quotient, rounded half away from zero at the last place.
    pub fn div(&self, other: &Self) -> Result<Self, Error> {
        if other.size.is_zero() {
            return Err(Error::new("decimal division by 0"));
        }
        let shift = self.exponent - other.exponent + PLACES;
        let (above, below) = if shift < 0 {
            (self.size.clone(), other.size.shifted(shift.unsigned_abs()))
        } else {
            (self.size.shifted(shift.unsigned_abs()), other.size.clone())
        };
        let (mut quotient, left) = above.divide(&below);
        if left.plus(&left).compare(&below) != Ordering::Less {
            quotient = quotient.plus(&Natural::from(1));
        }
        Ok(Self::signed(self.negative != other.negative, quotient, -PLACES))
    }

    /// How many bytes it takes.
    pub fn cost(&self) -> usize {
        self.size.0.len() * size_of::<u32>()
    }

    /// There is no negative zero among decimals.
    fn signed(negative: bool, size: Natural, exponent: i64) -> Self {
        Self { negative: negative && !size.is_zero(), size, exponent }
    }

    fn scaled_to(&self, exponent: i64) -> Natural {
        self.size.shifted((self.exponent - exponent).unsigned_abs())
    }
}

impl From<u64> for Natural {
    fn from(mut n: u64) -> Self {
        let mut limbs = Vec::new();
        while n > 0 {
            limbs.push((n % BASE) as u32);
            n /= BASE;
        }
        Self(limbs)
    }
}

impl Natural {
    fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    fn trimmed(mut limbs: Vec<u32>) -> Self {
        while limbs.last() == Some(&0) {
            limbs.pop();
        }
        Self(limbs)
    }

    fn limb(&self, index: usize) -> u64 {
        self.0.get(index).copied().map_or(0, u64::from)
    }

    fn digits(&self) -> String {
        let mut limbs = self.0.iter().rev();
        let mut text = limbs.next().map_or_else(|| "0".to_owned(), u32::to_string);
        for limb in limbs {
            text.push_str(&format!("{limb:09}"));
        }
        text
    }

    fn compare(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    fn plus(&self, other: &Self) -> Self {
        let mut carry = 0;
        let mut limbs = Vec::with_capacity(self.0.len().max(other.0.len()) + 1);
        for i in 0..=self.0.len().max(other.0.len()) {
            let sum = self.limb(i) + other.limb(i) + carry;
            limbs.push((sum % BASE) as u32);
            carry = sum / BASE;
        }
        Self::trimmed(limbs)
    }

    /// The difference to a number that is not larger.
    fn minus(&self, other: &Self) -> Self {
        let mut borrow = 0;
        let mut limbs = Vec::with_capacity(self.0.len());
        for i in 0..self.0.len() {
            let due = other.limb(i) + borrow;
            let have = self.limb(i);
            borrow = u64::from(have < due);
            limbs.push((have + borrow * BASE - due) as u32);
        }
        Self::trimmed(limbs)
    }

    fn times(&self, other: &Self) -> Self {
        let mut limbs = vec![0u32; self.0.len() + other.0.len()];
        for (i, a) in self.0.iter().enumerate() {
            let mut carry = 0;
            for (limb, j) in limbs.iter_mut().skip(i).zip(0..) {
                let sum = u64::from(*limb) + u64::from(*a) * other.limb(j) + carry;
                *limb = (sum % BASE) as u32;
                carry = sum / BASE;
                if j >= other.0.len() && carry == 0 {
                    break;
                }
            }
        }
        Self::trimmed(limbs)
    }

    fn times_small(&self, factor: u64) -> Self {
        let mut carry = 0;
        let mut limbs = Vec::with_capacity(self.0.len() + 1);
        for limb in &self.0 {
            let product = u64::from(*limb) * factor + carry;
            limbs.push((product % BASE) as u32);
            carry = product / BASE;
        }
        limbs.push(carry as u32);
        Self::trimmed(limbs)
    }

    /// Times a power of ten.
    fn shifted(&self, digits: u64) -> Self {
        if self.is_zero() {
            return self.clone();
        }
        let whole = digits as usize / BASE_DIGITS;
        let part = 10u64.pow((digits as usize % BASE_DIGITS) as u32);
        let mut limbs = vec![0; whole];
        limbs.extend(self.times_small(part).0);
        Self::trimmed(limbs)
    }

    /// Quotient and rest, digit by digit; a digit is found by halving its range.
    fn divide(&self, by: &Self) -> (Self, Self) {
        let mut rest = Self(Vec::new());
        let mut quotient = vec![0u32; self.0.len()];
        for (place, limb) in quotient.iter_mut().zip(&self.0).rev() {
            rest.0.insert(0, *limb);
            rest = Self::trimmed(rest.0);
            let (mut low, mut high) = (0, BASE - 1);
            while low < high {
                let middle = (low + high).div_ceil(2);
                match by.times_small(middle).compare(&rest) {
                    Ordering::Greater => high = middle - 1,
                    _ => low = middle,
                }
            }
            *place = low as u32;
            rest = rest.minus(&by.times_small(low));
        }
        (Self::trimmed(quotient), rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn d(f: f64) -> Decimal {
        Decimal::from_float(f).unwrap()
    }

    #[test]
    fn sums_and_products_are_exact() {
        assert_eq!(d(0.1).add(&d(0.2)).to_float(), 0.3);
        assert_eq!(d(1e308).add(&d(1e-308)).sub(&d(1e308)).to_float(), 1e-308);
        assert_eq!(d(1.1).mul(&d(1.1)).to_float(), 1.21);
        assert_eq!(d(-0.0).add(&d(0.0)).to_float().to_bits(), 0);
        assert_eq!(d(1e308).mul(&d(1e308)).to_float(), f64::INFINITY);
        assert!(d(-1e-308).mul(&d(1e-308)).to_float().is_sign_negative());
    }

    #[test]
    fn quotients_keep_sixteen_places() {
        for (a, b, want) in [
            (1.0, 3.0, 0.3333333333333333),
            (2.0, 3.0, 0.6666666666666667),
            (-2.0, 3.0, -0.6666666666666667),
            (1e-17, 1.0, 0.0),
            (5e-17, 1.0, 1e-16),
            (1e300, 3e-300, f64::INFINITY),
            (1e20, 3.0, 33333333333333333333.333),
            (3.0, 1e300, 0.0),
        ] {
            assert_eq!(d(a).div(&d(b)).unwrap().to_float(), want, "{a} / {b}");
        }
        assert_eq!(d(1.0).div(&d(0.0)).unwrap_err().to_string(), "decimal division by 0");
    }
}
