//! Finding prime numbers.

use crypto_bigint::modular::BoxedMontyForm;
use crypto_bigint::{Limb, NonZero, Resize};

use super::big::{self, Big};
use super::stream::Stream;

/// Numbers below this are sieved out by division before the costly test.
const SIEVE: u32 = 1 << 13;

/// Products of small primes, each with its factors, so that one division serves several of them.
pub struct Sieve(Vec<(NonZero<Limb>, Vec<u64>)>);

impl Sieve {
    /// All odd primes below the limit.
    pub fn new() -> Self {
        let mut groups = Vec::new();
        let mut product = 1u64;
        let mut factors = Vec::new();
        let primes =
            (3..SIEVE).step_by(2).filter(|n| (3u32..).take_while(|d| d * d <= *n).all(|d| n % d != 0));
        for prime in primes.map(u64::from) {
            match product.checked_mul(prime) {
                Some(larger) => product = larger,
                None => {
                    groups.extend(limb(product).map(|p| (p, std::mem::take(&mut factors))));
                    product = prime;
                }
            }
            factors.push(prime);
        }
        groups.extend(limb(product).map(|p| (p, factors)));
        Self(groups)
    }

    /// Whether an odd number, larger than the sieve, is prime but for a chance of less than 2^-100.
    pub fn is_prime(&self, number: &Big, stream: &mut Stream) -> bool {
        let divides = |(product, factors): &(NonZero<Limb>, Vec<u64>)| {
            let rest: u64 = number.rem_limb(*product).0;
            factors.iter().any(|f| rest.is_multiple_of(*f))
        };
        !self.0.iter().any(divides) && is_probable_prime(number, stream)
    }

    /// A random prime of so many bits, the upper two of them set.
    pub fn prime(&self, bits: u32, stream: &mut Stream) -> Big {
        loop {
            let mut bytes = stream.bytes(bits as usize / 8);
            if let Some(high) = bytes.first_mut() {
                *high |= 0xc0;
            }
            if let Some(low) = bytes.last_mut() {
                *low |= 1;
            }
            let candidate = big::from_bytes(&bytes);
            if self.is_prime(&candidate, stream) {
                return candidate;
            }
        }
    }
}

fn limb(product: u64) -> Option<NonZero<Limb>> {
    NonZero::new(Limb(product)).into_option()
}

/// Rounds of the test that make an error less likely than 2^-112 for a random number (FIPS 186-5, table B.1).
fn rounds(bits: u32) -> u32 {
    match bits {
        1345.. => 4,
        476.. => 5,
        308.. => 8,
        _ => 34,
    }
}

/// The test of Miller and Rabin with random bases.
fn is_probable_prime(number: &Big, stream: &mut Stream) -> bool {
    let Some(params) = big::montgomery(number) else { return false };
    let before = big::before(number);
    let twos = before.trailing_zeros_vartime();
    let odd = before.unbounded_shr_vartime(twos);
    let (bits, odd_bits) = (number.bits(), odd.bits());
    let one = BoxedMontyForm::one(&params);
    let minus_one = one.neg();
    let mut left = rounds(bits);
    while left > 0 {
        let base = big::from_bytes(&stream.bytes(bits.div_ceil(8) as usize));
        let base = big::remainder(&base, number).resize_unchecked(params.bits_precision());
        let base = BoxedMontyForm::new(base, &params);
        if bool::from(base.is_zero()) || base == one || base == minus_one {
            continue;
        }
        let mut power = base.pow_bounded_exp(&odd, odd_bits);
        if power != one && power != minus_one {
            let mut squares = 1..twos;
            if !squares.any(|_| {
                power = power.square();
                power == minus_one
            }) {
                return false;
            }
        }
        left -= 1;
    }
    true
}
