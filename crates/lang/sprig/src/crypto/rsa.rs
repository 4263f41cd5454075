//! RSA keys and signatures.

use super::asn1::Item;
use super::big::{self, Big};
use super::der;
use super::prime::Sieve;
use super::stream::Stream;

/// Larger keys would take longer than anybody waits for.
pub const MAX_BITS: u32 = 16384;

const EXPONENT: i64 = 65537;

/// What SHA-256 signatures sign before the hash.
const SHA256_PREFIX: &[u8] = b"\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20";

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Public {
    /// The modulus, big-endian without zeros in front.
    pub modulus: Vec<u8>,
    /// The exponent.
    pub exponent: i64,
}

/// A private key.
#[derive(Debug)]
pub struct Private {
    n: Big,
    e: i64,
    d: Big,
    p: Big,
    q: Big,
    dp: Big,
    dq: Big,
    q_inverse: Big,
    /// Primes after the second, each with its exponent and coefficient.
    more: Vec<(Big, Big, Big)>,
}

/// Why a key cannot be used, in Go's words.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("x509: unsupported private key version")]
    Version,
    #[error("x509: private key contains zero or negative value")]
    NotPositive,
    #[error("x509: private key contains zero or negative prime")]
    PrimeNotPositive,
    #[error("modulus must be > 1")]
    ModulusTooSmall,
    #[error("input overflows the modulus")]
    Overflow,
    #[error("input overflows the modulus size")]
    OverflowSize,
    #[error("crypto/rsa: p is even")]
    EvenP,
    #[error("crypto/rsa: public modulus is even")]
    EvenModulus,
    #[error("crypto/rsa: public exponent too small or negative")]
    ExponentTooSmall,
    #[error("crypto/rsa: public exponent is even")]
    EvenExponent,
    #[error("crypto/rsa: public exponent too large")]
    ExponentTooLarge,
    #[error("crypto/rsa: invalid prime")]
    InvalidPrime,
    #[error("crypto/rsa: p * q != n")]
    WrongProduct,
    #[error("crypto/rsa: invalid CRT exponent")]
    InvalidExponent,
    #[error("crypto/rsa: invalid CRT coefficient")]
    InvalidCoefficient,
    #[error("crypto/rsa: d does not match dP")]
    WrongDp,
    #[error("crypto/rsa: d does not match dQ")]
    WrongDq,
    #[error("crypto/rsa: p == q")]
    SamePrimes,
    #[error("crypto/rsa: |p - q| too small")]
    ClosePrimes,
    #[error("crypto/rsa: d too small")]
    SmallD,
    #[error("crypto/rsa: prime factor is <= 1")]
    PrimeTooSmall,
    #[error("crypto/rsa: prime factors are not relatively prime")]
    CommonFactor,
    #[error("crypto/rsa: {0}-bit keys are insecure (see https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)")]
    Insecure(u32),
    #[error("crypto/rsa: message too long for RSA key size")]
    TooLong,
    #[error("crypto/rsa: decryption error")]
    Sign,
    #[error("the key is larger than {MAX_BITS} bits")]
    TooLarge,
}

impl Private {
    /// A new key of so many bits.
    pub fn generate(bits: u32, stream: &mut Stream) -> Self {
        let sieve = Sieve::new();
        loop {
            let p = sieve.prime(bits / 2, stream);
            let q = sieve.prime(bits / 2, stream);
            let (p1, q1) = (big::before(&p), big::before(&q));
            let multiple = big::quotient(&big::product(&p1, &q1), &big::common_divisor(&p1, &q1));
            let Some(d) = big::inverse(&Big::from(EXPONENT as u64), &multiple) else { continue };
            let n = big::product(&p, &q);
            if let Ok(key) = Self::from_two_primes(n, EXPONENT, d, p, q, None) {
                return key;
            }
        }
    }

    /// A key as PKCS #1 describes it; the fields have been read as [`PKCS1`](super::asn1::PKCS1).
    pub fn from_items(items: &[Item<'_>]) -> Result<Self, Error> {
        let number = |i: usize| match items.get(i) {
            Some(Item::Big(content)) => Some(*content),
            _ => None,
        };
        let int = |i: usize| match items.get(i) {
            Some(Item::Int(value)) => *value,
            _ => 0,
        };
        if int(0) > 1 {
            return Err(Error::Version);
        }
        // The modulus, d, p and q have to be there, the rest may be missing.
        let [n, d, p, q] = [1, 3, 4, 5].map(|i| number(i).unwrap_or_default());
        let rest = [6, 7, 8].map(number);
        if [n, d, p, q].iter().chain(rest.iter().flatten()).any(|content| !positive(content)) {
            return Err(Error::NotPositive);
        }
        let mut primes = Vec::new();
        if let Some(Item::Many(list)) = items.get(9) {
            for item in list {
                let Item::Many(parts) = item else { continue };
                let Some(Item::Big(prime)) = parts.first() else { continue };
                if !positive(prime) {
                    return Err(Error::PrimeNotPositive);
                }
                primes.push(*prime);
            }
        }
        let all = [n, d, p, q].into_iter().chain(rest.into_iter().flatten()).chain(primes.iter().copied());
        if all.map(<[u8]>::len).any(|bytes| bytes > MAX_BITS as usize / 8 + 1) {
            return Err(Error::TooLarge);
        }
        let [n, d, p, q] = [n, d, p, q].map(big::from_bytes);
        if !primes.is_empty() {
            return Self::from_many_primes(
                n,
                int(2),
                d,
                p,
                q,
                primes.into_iter().map(big::from_bytes).collect(),
            );
        }
        let given = match rest.map(|content| content.map(big::from_bytes)) {
            [Some(dp), Some(dq), Some(q_inverse)] => Some([dp, dq, q_inverse]),
            _ => None,
        };
        Self::from_two_primes(n, int(2), d, p, q, given)
    }

    fn from_two_primes(
        n: Big,
        e: i64,
        d: Big,
        p: Big,
        q: Big,
        given: Option<[Big; 3]>,
    ) -> Result<Self, Error> {
        for modulus in [&n, &p, &q] {
            if modulus <= &Big::one() {
                return Err(Error::ModulusTooSmall);
            }
        }
        fits(&d, &n)?;
        let [dp, dq, q_inverse] = match given {
            Some(given) => {
                fits(&given[2], &p)?;
                given
            }
            None => {
                let (p1, q1) = (big::before(&p), big::before(&q));
                if big::is_one(&p1) || big::is_one(&q1) {
                    return Err(Error::ModulusTooSmall);
                }
                // By Fermat, as p should be a prime; whether it is shows later.
                let q_inverse = big::power_within(&q, &big::before(&p1), &p).ok_or(Error::EvenP)?;
                [big::remainder(&d, &p1), big::remainder(&d, &q1), q_inverse]
            }
        };
        let key = Self { n, e, d, p, q, dp, dq, q_inverse, more: Vec::new() };
        key.check_public()?;
        key.check_private()?;
        Ok(key)
    }

    /// A key of more than two primes, which Go hardly checks.
    fn from_many_primes(n: Big, e: i64, d: Big, p: Big, q: Big, more: Vec<Big>) -> Result<Self, Error> {
        if n <= Big::one() {
            return Err(Error::ModulusTooSmall);
        }
        fits(&d, &n)?;
        let zero = Big::zero();
        let mut key =
            Self { n, e, d, p, q, dp: zero.clone(), dq: zero.clone(), q_inverse: zero, more: Vec::new() };
        key.check_public()?;
        if [&key.p, &key.q].into_iter().chain(&more).any(|prime| prime <= &Big::one()) {
            return Err(Error::PrimeTooSmall);
        }
        key.dp = big::remainder(&key.d, &big::before(&key.p));
        key.dq = big::remainder(&key.d, &big::before(&key.q));
        key.q_inverse = big::inverse(&key.q, &key.p).ok_or(Error::CommonFactor)?;
        let mut product = big::product(&key.p, &key.q);
        for prime in more {
            let exponent = big::remainder(&key.d, &big::before(&prime));
            let coefficient = big::inverse(&product, &prime).ok_or(Error::CommonFactor)?;
            product = big::product(&product, &prime);
            key.more.push((prime, exponent, coefficient));
        }
        Ok(key)
    }

    fn check_public(&self) -> Result<(), Error> {
        match self.e {
            _ if !big::is_odd(&self.n) => Err(Error::EvenModulus),
            ..2 => Err(Error::ExponentTooSmall),
            e if e & 1 == 0 => Err(Error::EvenExponent),
            e if e > i64::from(i32::MAX) => Err(Error::ExponentTooLarge),
            _ => Ok(()),
        }
    }

    fn check_private(&self) -> Result<(), Error> {
        let Self { n, p, q, .. } = self;
        if p >= n || q >= n {
            return Err(Error::InvalidPrime);
        }
        if !big::is_zero(&big::product_within(p, q, n)) {
            return Err(Error::WrongProduct);
        }
        let e = Big::from(self.e.unsigned_abs());
        for (prime, exponent) in [(p, &self.dp), (q, &self.dq)] {
            let before = big::before(prime);
            if before <= Big::one() {
                return Err(Error::InvalidPrime);
            }
            if exponent >= &before || !big::is_one(&big::product_within(&e, exponent, &before)) {
                return Err(Error::InvalidExponent);
            }
        }
        if !big::is_one(&big::product_within(q, &self.q_inverse, p)) {
            return Err(Error::InvalidCoefficient);
        }
        for (prime, exponent, error) in [(p, &self.dp, Error::WrongDp), (q, &self.dq, Error::WrongDq)] {
            if big::remainder(&self.d, &big::before(prime)) != *exponent {
                return Err(error);
            }
        }
        if p == q {
            return Err(Error::SamePrimes);
        }
        let distance = if p > q { big::minus(p, q) } else { big::minus(q, p) };
        let half = i64::from(n.bits() / 2);
        if i64::from(distance.bits()) <= half - 100 {
            return Err(Error::ClosePrimes);
        }
        if i64::from(self.d.bits()) <= half {
            return Err(Error::SmallD);
        }
        Ok(())
    }

    /// Its public key.
    pub fn public(&self) -> Public {
        Public { modulus: big::to_bytes(&self.n), exponent: self.e }
    }

    /// Signs a SHA-256 hash (PKCS #1 v1.5).
    pub fn sign(&self, hash: &[u8; 32]) -> Result<Vec<u8>, Error> {
        let bits = self.n.bits();
        if bits < 1024 {
            return Err(Error::Insecure(bits));
        }
        let length = bits.div_ceil(8) as usize;
        let filling = length.checked_sub(SHA256_PREFIX.len() + hash.len() + 3).ok_or(Error::TooLong)?;
        let message = [&[0, 1], vec![0xff; filling].as_slice(), &[0], SHA256_PREFIX, hash].concat();
        let message = big::from_bytes(&message);
        let signature = self.power(&message).ok_or(Error::Sign)?;
        let e = Big::from(self.e.unsigned_abs());
        // A fault in one half of the calculation would give the key away.
        if big::power_within(&signature, &e, &self.n) != Some(message) {
            return Err(Error::Sign);
        }
        Ok(big::to_padded(&signature, length))
    }

    /// The private power of a number below the modulus.
    fn power(&self, number: &Big) -> Option<Big> {
        if !self.more.is_empty() {
            return big::power_within(number, &self.d, &self.n);
        }
        let Self { n, p, q, .. } = self;
        let first = big::power_within(number, &self.dp, p)?;
        let second = big::power_within(number, &self.dq, q)?;
        // Garner's way to join the two halves.
        let lift = big::minus(&first.concatenating_add(p), &big::remainder(&second, p));
        let factor = big::product_within(&lift, &self.q_inverse, p);
        Some(big::remainder(&big::product(&factor, q).concatenating_add(&second), n))
    }

    /// PKCS #1.
    pub fn to_der(&self) -> Vec<u8> {
        let integer = |number: &Big| der::integer(&big::to_bytes(number));
        let version = der::integer(&[u8::from(!self.more.is_empty())]);
        let e = der::integer(&self.e.to_be_bytes());
        let fields = [&self.n, &self.d, &self.p, &self.q, &self.dp, &self.dq, &self.q_inverse].map(integer);
        let [n, d, p, q, dp, dq, q_inverse] = &fields;
        let mut more = Vec::new();
        for (prime, exponent, coefficient) in &self.more {
            more.extend(der::sequence(&[&integer(prime), &integer(exponent), &integer(coefficient)]));
        }
        let more = if more.is_empty() { more } else { der::sequence(&[&more]) };
        der::sequence(&[&version, n, &e, d, p, q, dp, dq, q_inverse, &more])
    }
}

impl Public {
    /// PKCS #1.
    pub fn to_der(&self) -> Vec<u8> {
        der::sequence(&[&der::integer(&self.modulus), &der::integer(&self.exponent.to_be_bytes())])
    }
}

/// Whether the content of an INTEGER is larger than zero.
fn positive(content: &[u8]) -> bool {
    content.first().is_some_and(|b| b & 0x80 == 0) && content.iter().any(|b| *b != 0)
}

/// Go refuses a number that needs more words than the modulus with another text than one that is just too large.
fn fits(number: &Big, modulus: &Big) -> Result<(), Error> {
    if number.bits().div_ceil(64) > modulus.bits().div_ceil(64) {
        return Err(Error::OverflowSize);
    }
    if number >= modulus {
        return Err(Error::Overflow);
    }
    Ok(())
}
