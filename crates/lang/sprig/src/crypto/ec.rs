//! The NIST curves and ECDSA.

use crypto_bigint::{Odd, Uint};
use podium_gotmpl::World;
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::der;
use super::group::{self, Modulus, Number, Point as _};
use super::stream::Stream;

/// A curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// P-224.
    P224,
    /// P-256.
    P256,
    /// P-384.
    P384,
    /// P-521.
    P521,
}

/// Why a key is none, in Go's words.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("ecdsa: invalid uncompressed public key")]
    NotUncompressed,
    #[error("invalid {0} point encoding")]
    PointEncoding(&'static str),
    #[error("invalid {0} encoding")]
    ElementEncoding(&'static str),
    #[error("{0} point not on curve")]
    NotOnCurve(&'static str),
    #[error("ecdsa: invalid public key encoding")]
    Infinity,
    #[error("input overflows the modulus")]
    Overflow,
}

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Public {
    /// The curve.
    pub curve: Curve,
    /// The point, uncompressed.
    pub point: Vec<u8>,
}

/// A private key.
#[derive(Debug)]
pub struct Private {
    scalar: Vec<u8>,
    public: Public,
}

struct Facts {
    name: &'static str,
    element: &'static str,
    oid: &'static [u32],
    p: &'static str,
    n: &'static str,
    b: &'static str,
    x: &'static str,
    y: &'static str,
}

static P224: Facts = Facts {
    name: "P224",
    element: "P224Element",
    oid: &[1, 3, 132, 0, 33],
    p: "ffffffffffffffffffffffffffffffff000000000000000000000001",
    n: "ffffffffffffffffffffffffffff16a2e0b8f03e13dd29455c5c2a3d",
    b: "b4050a850c04b3abf54132565044b0b7d7bfd8ba270b39432355ffb4",
    x: "b70e0cbd6bb4bf7f321390b94a03c1d356c21122343280d6115c1d21",
    y: "bd376388b5f723fb4c22dfe6cd4375a05a07476444d5819985007e34",
};

static P256: Facts = Facts {
    name: "P256",
    element: "P256 element",
    oid: &[1, 2, 840, 10045, 3, 1, 7],
    p: "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff",
    n: "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
    b: "5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b",
    x: "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296",
    y: "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
};

static P384: Facts = Facts {
    name: "P384",
    element: "P384Element",
    oid: &[1, 3, 132, 0, 34],
    p: "fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffeffffffff0000000000000000ffffffff",
    n: "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973",
    b: "b3312fa7e23ee7e4988e056be3f82d19181d9c6efe8141120314088f5013875ac656398d8a2ed19d2a85c8edd3ec2aef",
    x: "aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7",
    y: "3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f",
};

static P521: Facts = Facts {
    name: "P521",
    element: "P521Element",
    oid: &[1, 3, 132, 0, 35],
    p: "01ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\
        ffffffffffffffffffffffffffffffffff",
    n: "01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d0\
        3bb5c9b8899c47aebb6fb71e91386409",
    b: "0051953eb9618e1c9a1f929a21a0b68540eea2da725b99b315f3b8b489918ef109e156193951ec7e937b1652c0bd3bb1bf07\
        3573df883d2c34f1ef451fd46b503f00",
    x: "00c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe1dc127a2ffa8de\
        3348b3c1856a429bf97e7e31c2e5bd66",
    y: "011839296a789a3bc0045c8a5fb42c7d1bd998f54449579b446817afbd17273e662c97ee72995ef42640c550b9013fad0761\
        353c7086a272c24088be94769fd16650",
};

/// What calculating on a curve takes.
struct Domain<const L: usize> {
    length: usize,
    field: Modulus<L>,
    order: Modulus<L>,
    b: Number<L>,
    generator: Point<L>,
}

/// A point in projective coordinates.
#[derive(Clone, Copy)]
struct Point<const L: usize> {
    x: Number<L>,
    y: Number<L>,
    z: Number<L>,
    /// The constant of the curve, which adding needs.
    b: Number<L>,
}

impl Curve {
    /// The curve of an object identifier.
    pub fn from_oid(oid: &[u32]) -> Option<Self> {
        [Self::P224, Self::P256, Self::P384, Self::P521].into_iter().find(|c| c.facts().oid == oid)
    }

    /// The object identifier.
    pub fn oid(self) -> &'static [u32] {
        self.facts().oid
    }

    fn facts(self) -> &'static Facts {
        match self {
            Self::P224 => &P224,
            Self::P256 => &P256,
            Self::P384 => &P384,
            Self::P521 => &P521,
        }
    }

    /// The length of a private key.
    pub fn scalar_length(self) -> usize {
        self.facts().n.len() / 2
    }

    /// The hash that certificates use with the curve.
    fn hash(self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::P224 | Self::P256 => Sha256::digest(message).to_vec(),
            Self::P384 => Sha384::digest(message).to_vec(),
            Self::P521 => Sha512::digest(message).to_vec(),
        }
    }
}

impl Public {
    /// A key from an uncompressed point, which has to be on the curve.
    pub fn from_point(curve: Curve, point: &[u8]) -> Result<Self, Error> {
        let facts = curve.facts();
        let Some((4, coordinates)) = point.split_first() else { return Err(Error::NotUncompressed) };
        if coordinates.len() != facts.p.len() / 2 * 2 {
            return Err(Error::PointEncoding(facts.name));
        }
        match curve {
            Curve::P224 | Curve::P256 => check_point::<4>(facts, coordinates)?,
            Curve::P384 => check_point::<6>(facts, coordinates)?,
            Curve::P521 => check_point::<9>(facts, coordinates)?,
        }
        Ok(Self { curve, point: point.to_vec() })
    }
}

impl Private {
    /// A new key.
    pub fn generate(curve: Curve, stream: &mut Stream) -> Self {
        loop {
            // What is too large is drawn again; for P-521 only the bits of the order are looked at.
            let mut scalar = stream.bytes(curve.scalar_length());
            if let (Curve::P521, Some(high)) = (curve, scalar.first_mut()) {
                *high &= 1;
            }
            if let Ok(key) = Self::from_scalar(curve, &scalar) {
                return key;
            }
        }
    }

    /// A key from a scalar of the [right length](Curve::scalar_length).
    pub fn from_scalar(curve: Curve, scalar: &[u8]) -> Result<Self, Error> {
        let point = match curve {
            Curve::P224 | Curve::P256 => public_point::<4>(curve.facts(), scalar)?,
            Curve::P384 => public_point::<6>(curve.facts(), scalar)?,
            Curve::P521 => public_point::<9>(curve.facts(), scalar)?,
        };
        Ok(Self { scalar: scalar.to_vec(), public: Public { curve, point } })
    }

    /// Its public key.
    pub fn public(&self) -> &Public {
        &self.public
    }

    /// Signs a message, with the hash that belongs to the curve.
    pub fn sign(&self, message: &[u8], world: &dyn World) -> Vec<u8> {
        let curve = self.public.curve;
        let hash = curve.hash(message);
        let mut stream = Stream::seeded(world, &[&self.scalar, &hash]);
        match curve {
            Curve::P224 | Curve::P256 => sign::<4>(curve, &self.scalar, &hash, &mut stream),
            Curve::P384 => sign::<6>(curve, &self.scalar, &hash, &mut stream),
            Curve::P521 => sign::<9>(curve, &self.scalar, &hash, &mut stream),
        }
    }

    /// SEC 1, with the public key.
    pub fn to_der(&self) -> Vec<u8> {
        der::sequence(&[
            &der::integer(&[1]),
            &der::tlv(der::tag::OCTETS, &[&self.scalar]),
            &der::tlv(der::tag::inside(0), &[&der::oid(self.public.curve.oid())]),
            &der::tlv(der::tag::inside(1), &[&der::bits(&self.public.point)]),
        ])
    }
}

impl<const L: usize> Domain<L> {
    fn new(facts: &Facts) -> Option<Self> {
        let modulus =
            |hex: &str| Odd::new(group::uint::<L>(&unhex(hex))).into_option().map(Modulus::new_vartime);
        let (field, order) = (modulus(facts.p)?, modulus(facts.n)?);
        let number = |hex: &str| group::number(&unhex(hex), &field);
        let (b, one) = (number(facts.b), Number::one(&field));
        let generator = Point { x: number(facts.x), y: number(facts.y), z: one, b };
        Some(Self { length: facts.p.len() / 2, field, order, b, generator })
    }

    /// The coordinates of a point; nothing for the point at infinity.
    fn affine(&self, point: &Point<L>) -> Option<[Vec<u8>; 2]> {
        let inverse = point.z.invert().into_option()?;
        Some([point.x, point.y].map(|c| group::bytes(&c.mul(&inverse).retrieve(), self.length)))
    }
}

impl<const L: usize> group::Point for Point<L> {
    fn nothing(&self) -> Self {
        let params = self.b.params();
        Self { x: Number::zero(params), y: Number::one(params), z: Number::zero(params), b: self.b }
    }

    /// The complete formula of Renes, Costello and Batina for curves with a = -3.
    fn plus(&self, other: &Self) -> Self {
        let triple = |n: Number<L>| n.double().add(&n);
        let cross = |a: [&Number<L>; 2], b: [&Number<L>; 2], aa: &Number<L>, bb: &Number<L>| {
            a[0].add(b[0]).mul(&a[1].add(b[1])).sub(aa).sub(bb)
        };
        let xx = self.x.mul(&other.x);
        let yy = self.y.mul(&other.y);
        let zz = self.z.mul(&other.z);
        let xy = cross([&self.x, &other.x], [&self.y, &other.y], &xx, &yy);
        let yz = cross([&self.y, &other.y], [&self.z, &other.z], &yy, &zz);
        let xz = cross([&self.x, &other.x], [&self.z, &other.z], &xx, &zz);
        let zz3 = triple(zz);
        let s = triple(xz.sub(&self.b.mul(&zz)));
        let t = triple(self.b.mul(&xz).sub(&zz3).sub(&xx));
        let u = triple(xx).sub(&zz3);
        let (low, high) = (yy.sub(&s), yy.add(&s));
        Self {
            x: xy.mul(&high).sub(&yz.mul(&t)),
            y: high.mul(&low).add(&u.mul(&t)),
            z: yz.mul(&low).add(&xy.mul(&u)),
            b: self.b,
        }
    }

    fn choose(&self, other: &Self, other_wins: u8) -> Self {
        Self {
            x: group::choose(&self.x, &other.x, other_wins),
            y: group::choose(&self.y, &other.y, other_wins),
            z: group::choose(&self.z, &other.z, other_wins),
            b: self.b,
        }
    }
}

fn check_point<const L: usize>(facts: &Facts, coordinates: &[u8]) -> Result<(), Error> {
    let (x, y) = coordinates.split_at(coordinates.len() / 2);
    let domain = Domain::<L>::new(facts).ok_or(Error::NotOnCurve(facts.name))?;
    for coordinate in [x, y] {
        if group::uint::<L>(coordinate) >= *domain.field.modulus().as_ref() {
            return Err(Error::ElementEncoding(facts.element));
        }
    }
    let [x, y] = [x, y].map(|c| group::number(c, &domain.field));
    let cube = x.square().mul(&x);
    if y.square() != cube.sub(&x.double().add(&x)).add(&domain.b) {
        return Err(Error::NotOnCurve(facts.name));
    }
    Ok(())
}

fn public_point<const L: usize>(facts: &Facts, scalar: &[u8]) -> Result<Vec<u8>, Error> {
    let domain = Domain::<L>::new(facts).ok_or(Error::Infinity)?;
    let reduced = group::number(scalar, &domain.order).retrieve();
    let [x, y] = domain.affine(&domain.generator.times(scalar)).ok_or(Error::Infinity)?;
    if reduced != group::uint::<L>(scalar) {
        return Err(Error::Overflow);
    }
    Ok([&[4], x.as_slice(), &y].concat())
}

/// An ECDSA signature.
fn sign<const L: usize>(curve: Curve, scalar: &[u8], hash: &[u8], stream: &mut Stream) -> Vec<u8> {
    let facts = curve.facts();
    let Some(domain) = Domain::<L>::new(facts) else { return Vec::new() };
    let length = curve.scalar_length();
    // No hash here is longer than the order but for P-224, where the front part counts.
    let hash = group::number(hash.get(..length).unwrap_or(hash), &domain.order);
    let key = group::number(scalar, &domain.order);
    loop {
        let nonce = Private::generate(curve, stream);
        let Some(x) = nonce.public.point.get(1..1 + domain.length) else { continue };
        let r = group::number(x, &domain.order);
        let Some(inverse) = group::number(&nonce.scalar, &domain.order).invert().into_option() else {
            continue;
        };
        let s = inverse.mul(&hash.add(&r.mul(&key)));
        let zero = Uint::<L>::ZERO;
        let (r, s) = (r.retrieve(), s.retrieve());
        if r != zero && s != zero {
            let [r, s] = [r, s].map(|n| der::integer(&group::bytes(&n, length)));
            return der::sequence(&[&r, &s]);
        }
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |b: &u8| char::from(*b).to_digit(16).unwrap_or(0) as u8;
    text.as_bytes().chunks(2).map(|pair| pair.iter().fold(0, |sum, b| sum << 4 | digit(b))).collect()
}
