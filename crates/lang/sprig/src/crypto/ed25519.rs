//! Ed25519 keys and signatures.

use crypto_bigint::Odd;
use sha2::{Digest, Sha512};

use super::group::{self, Modulus, Number, Point as _};

const FIELD: [u8; 32] = {
    let mut p = [0xff; 32];
    p[0] = 0x7f;
    p[31] = 0xed;
    p
};

/// The order of the base point: 2^252 and then some.
const ORDER: [u8; 32] =
    *b"\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x14\xde\xf9\xde\xa2\xf7\x9c\xd6\x58\x12\x63\x1a\x5c\xf5\xd3\xed";

/// Twice the constant of the curve, d = -121665 / 121666.
const TWICE_D: [u8; 32] = *b"\x24\x06\xd9\xdc\x56\xdf\xfc\xe7\x19\x8e\x80\xf2\xee\xf3\xd1\x30\x00\xe0\x14\x9a\x82\x83\xb1\x56\xeb\xd6\x9b\x94\x26\xb2\xf1\x59";

const BASE_X: [u8; 32] = *b"\x21\x69\x36\xd3\xcd\x6e\x53\xfe\xc0\xa4\xe2\x31\xfd\xd6\xdc\x5c\x69\x2c\xc7\x60\x95\x25\xa7\xb2\xc9\x56\x2d\x60\x8f\x25\xd5\x1a";

/// 4/5.
const BASE_Y: [u8; 32] = {
    let mut y = [0x66; 32];
    y[31] = 0x58;
    y
};

/// A private key.
#[derive(Debug)]
pub struct Private {
    seed: [u8; 32],
    public: [u8; 32],
}

/// A point in extended coordinates.
#[derive(Clone, Copy)]
struct Point {
    x: Number<4>,
    y: Number<4>,
    z: Number<4>,
    t: Number<4>,
    twice_d: Number<4>,
}

impl Private {
    /// The key of a seed.
    pub fn from_seed(seed: [u8; 32]) -> Self {
        let (scalar, _) = expand(&seed);
        Self { seed, public: Point::base().map_or([0; 32], |base| base.times(&scalar).encode()) }
    }

    /// The seed.
    pub fn seed(&self) -> &[u8; 32] {
        &self.seed
    }

    /// Its public key.
    pub fn public(&self) -> &[u8; 32] {
        &self.public
    }

    /// Signs a message.
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        let (Some(base), Some(order)) = (Point::base(), modulus(&ORDER)) else { return Vec::new() };
        let (scalar, prefix) = expand(&self.seed);
        let r = reduced(Sha512::new_with_prefix(prefix).chain_update(message), &order);
        let commitment = base.times(&group::bytes(&r.retrieve(), 32)).encode();
        let challenge = Sha512::new_with_prefix(commitment).chain_update(self.public).chain_update(message);
        let s = reduced(challenge, &order).mul(&group::number(&scalar, &order)).add(&r);
        let mut response = group::bytes(&s.retrieve(), 32);
        response.reverse();
        [commitment.as_slice(), &response].concat()
    }
}

impl Point {
    fn base() -> Option<Self> {
        let field = modulus(&FIELD)?;
        let [x, y, twice_d] = [BASE_X, BASE_Y, TWICE_D].map(|bytes| group::number(&bytes, &field));
        Some(Self { x, y, z: Number::one(&field), t: x.mul(&y), twice_d })
    }

    /// y, little-endian, with the lowest bit of x on top.
    fn encode(&self) -> [u8; 32] {
        let mut out = [0; 32];
        if let Some(inverse) = self.z.invert().into_option() {
            let [x, y] = [self.x, self.y].map(|c| group::bytes(&c.mul(&inverse).retrieve(), 32));
            for (to, from) in out.iter_mut().zip(y.iter().rev()) {
                *to = *from;
            }
            out[31] |= x.last().map_or(0, |low| low & 1) << 7;
        }
        out
    }
}

impl group::Point for Point {
    fn nothing(&self) -> Self {
        let params = self.z.params();
        let (zero, one) = (Number::zero(params), Number::one(params));
        Self { x: zero, y: one, z: one, t: zero, twice_d: self.twice_d }
    }

    fn plus(&self, other: &Self) -> Self {
        let a = self.y.sub(&self.x).mul(&other.y.sub(&other.x));
        let b = self.y.add(&self.x).mul(&other.y.add(&other.x));
        let c = self.t.mul(&other.t).mul(&self.twice_d);
        let d = self.z.mul(&other.z).double();
        let (e, f, g, h) = (b.sub(&a), d.sub(&c), d.add(&c), b.add(&a));
        Self { x: e.mul(&f), y: g.mul(&h), z: f.mul(&g), t: e.mul(&h), twice_d: self.twice_d }
    }

    fn choose(&self, other: &Self, other_wins: u8) -> Self {
        Self {
            x: group::choose(&self.x, &other.x, other_wins),
            y: group::choose(&self.y, &other.y, other_wins),
            z: group::choose(&self.z, &other.z, other_wins),
            t: group::choose(&self.t, &other.t, other_wins),
            twice_d: self.twice_d,
        }
    }
}

/// The scalar of a seed, big-endian, and the prefix of its nonces.
fn expand(seed: &[u8; 32]) -> ([u8; 32], [u8; 32]) {
    let hash: [u8; 64] = Sha512::digest(seed).into();
    let (mut scalar, mut prefix) = ([0; 32], [0; 32]);
    scalar.copy_from_slice(&hash[..32]);
    prefix.copy_from_slice(&hash[32..]);
    scalar[0] &= 0xf8;
    scalar[31] = scalar[31] & 0x7f | 0x40;
    scalar.reverse();
    (scalar, prefix)
}

/// A hash as a little-endian number within the order.
fn reduced(hash: Sha512, order: &Modulus<4>) -> Number<4> {
    let mut bytes: [u8; 64] = hash.finalize().into();
    bytes.reverse();
    let (high, low) = bytes.split_at(32);
    let mut shift = [0; 17];
    shift[0] = 1;
    let shift = group::number(&shift, order).square();
    group::number(high, order).mul(&shift).add(&group::number(low, order))
}

fn modulus(bytes: &[u8; 32]) -> Option<Modulus<4>> {
    Odd::new(group::uint::<4>(bytes)).into_option().map(Modulus::new_vartime)
}
