//! New DSA keys. Nothing here signs with one: Go's certificates do not know DSA.

use super::big::{self, Big};
use super::der;
use super::prime::Sieve;
use super::stream::Stream;

const P_BYTES: usize = 2048 / 8;
const Q_BYTES: usize = 256 / 8;

/// The parameters of a group.
struct Group {
    p: Big,
    q: Big,
    g: Big,
}

/// A new key with parameters of its own (2048 and 256 bits), as OpenSSL stores it.
pub fn generate(stream: &mut Stream) -> Vec<u8> {
    let group = Group::generate(stream);
    let (x, y) = loop {
        let x = big::from_bytes(&stream.bytes(Q_BYTES));
        if big::is_zero(&x) || x >= group.q {
            continue;
        }
        if let Some(y) = big::power_within(&group.g, &x, &group.p) {
            break (x, y);
        }
    };
    let fields =
        [&Big::zero(), &group.p, &group.q, &group.g, &y, &x].map(|n| der::integer(&big::to_bytes(n)));
    der::sequence(&fields.each_ref().map(Vec::as_slice))
}

impl Group {
    fn generate(stream: &mut Stream) -> Self {
        let sieve = Sieve::new();
        let (p, q) = loop {
            let q = odd(stream, Q_BYTES);
            if !sieve.is_prime(&q, stream) {
                continue;
            }
            // Now and then a q has no p nearby; then another q is cheaper than going on.
            let p = (0..4 * P_BYTES * 8).find_map(|_| {
                let start = odd(stream, P_BYTES);
                let p = big::minus(&start, &big::before(&big::remainder(&start, &q)));
                (big::is_odd(&p) && p.bits() as usize == P_BYTES * 8 && sieve.is_prime(&p, stream))
                    .then_some(p)
            });
            if let Some(p) = p {
                break (p, q);
            }
        };
        let exponent = big::quotient(&big::before(&p), &q);
        let mut base = 2u64;
        loop {
            match big::power_within(&Big::from(base), &exponent, &p) {
                Some(g) if !big::is_one(&g) => return Self { p, q, g },
                _ => base = base.wrapping_add(1),
            }
        }
    }
}

/// A random odd number of exactly so many bytes.
fn odd(stream: &mut Stream, length: usize) -> Big {
    let mut bytes = stream.bytes(length);
    if let Some(high) = bytes.first_mut() {
        *high |= 0x80;
    }
    if let Some(low) = bytes.last_mut() {
        *low |= 1;
    }
    big::from_bytes(&bytes)
}
