//! Private keys of all kinds: reading and writing PEM, and what certificates need of them.

use podium_gotmpl::{Error, World};
use sha2::{Digest, Sha256};

use super::asn1::{self, Item};
use super::ec::{self, Curve};
use super::stream::Stream;
use super::{der, dsa, ed25519, pem, rsa};

/// Object identifiers of kinds of keys.
pub mod oid {
    /// RSA.
    pub const RSA: &[u32] = &[1, 2, 840, 113549, 1, 1, 1];
    /// DSA.
    pub const DSA: &[u32] = &[1, 2, 840, 10040, 4, 1];
    /// Elliptic curves.
    pub const EC: &[u32] = &[1, 2, 840, 10045, 2, 1];
    /// X25519.
    pub const X25519: &[u32] = &[1, 3, 101, 110];
    /// Ed25519.
    pub const ED25519: &[u32] = &[1, 3, 101, 112];
}

/// A private key.
#[derive(Debug)]
pub enum Private {
    /// RSA.
    Rsa(Box<rsa::Private>),
    /// A NIST curve.
    Ec(ec::Private),
    /// Ed25519.
    Ed25519(ed25519::Private),
    /// DSA, which no certificate can use.
    Dsa,
    /// X25519, which no certificate can use.
    X25519,
}

/// A public key.
#[derive(Debug, PartialEq, Eq)]
pub enum Public {
    /// RSA.
    Rsa(rsa::Public),
    /// A NIST curve.
    Ec(ec::Public),
    /// Ed25519.
    Ed25519(Vec<u8>),
    /// DSA.
    Dsa,
}

/// A new private key in PEM, by the name of its kind.
pub fn generate(kind: &[u8], stream: &mut Stream) -> Option<Vec<u8>> {
    Some(match kind {
        b"" | b"rsa" => Private::Rsa(Box::new(rsa::Private::generate(4096, stream))).to_pem(),
        b"dsa" => pem::encode("DSA PRIVATE KEY", &dsa::generate(stream)),
        b"ecdsa" => Private::Ec(ec::Private::generate(Curve::P256, stream)).to_pem(),
        b"ed25519" => {
            let mut seed = [0; 32];
            stream.fill(&mut seed);
            Private::Ed25519(ed25519::Private::from_seed(seed)).to_pem()
        }
        _ => return None,
    })
}

impl Private {
    /// Reads PEM of the kinds that Sprig knows.
    pub fn from_pem(text: &[u8]) -> Result<Self, Error> {
        let block = pem::decode(text).ok_or_else(|| Error::new("no PEM data in input"))?;
        if block.label == b"PRIVATE KEY" {
            return from_pkcs8(&block.bytes).map_err(|e| wrap("decoding PEM as PKCS#8: ", e));
        }
        let Some(kind) = block.label.strip_suffix(b" PRIVATE KEY") else {
            return Err(wrap("no private key data in PEM block of type ", Error::new(block.label)));
        };
        match kind {
            b"RSA" => from_pkcs1(&block.bytes).map_err(|e| wrap("parsing RSA private key from PEM: ", e)),
            b"EC" => from_sec1(None, &block.bytes).map_err(|e| wrap("parsing EC private key from PEM: ", e)),
            b"DSA" => match asn1::unmarshal(&block.bytes, &asn1::DSA) {
                Ok(_) => Ok(Private::Dsa),
                Err(e) => Err(wrap("parsing DSA private key from PEM: ", text_of(e))),
            },
            _ => Err(wrap("invalid private key type ", Error::new(block.label))),
        }
    }

    /// Writes PEM as Sprig does; keys that no certificate can use are never written.
    pub fn to_pem(&self) -> Vec<u8> {
        match self {
            Private::Rsa(key) => pem::encode("RSA PRIVATE KEY", &key.to_der()),
            Private::Ec(key) => pem::encode("EC PRIVATE KEY", &key.to_der()),
            Private::Ed25519(key) => {
                let seed = der::tlv(der::tag::OCTETS, &[key.seed()]);
                let algorithm = der::sequence(&[&der::oid(oid::ED25519)]);
                let content = [&der::integer(&[0]), &algorithm, &der::tlv(der::tag::OCTETS, &[&seed])];
                pem::encode("PRIVATE KEY", &der::sequence(&content.map(Vec::as_slice)))
            }
            Private::Dsa | Private::X25519 => Vec::new(),
        }
    }

    /// The public key; for the kinds that no certificate can use, what Go calls its type.
    pub fn public(&self) -> Result<Public, &'static str> {
        match self {
            Private::Rsa(key) => Ok(Public::Rsa(key.public())),
            Private::Ec(key) => Ok(Public::Ec(key.public().clone())),
            Private::Ed25519(key) => Ok(Public::Ed25519(key.public().to_vec())),
            Private::Dsa => Err("*dsa.PublicKey"),
            Private::X25519 => Err("*ecdh.PublicKey"),
        }
    }

    /// The algorithm that certificates are signed with, as an identifier; nothing for keys that cannot sign.
    pub fn algorithm(&self) -> Option<Vec<u8>> {
        let oid: &[u32] = match self {
            Private::Rsa(_) => {
                return Some(der::sequence(&[&der::oid(&[1, 2, 840, 113549, 1, 1, 11]), der::NULL]));
            }
            Private::Ec(key) => match key.public().curve {
                Curve::P224 | Curve::P256 => &[1, 2, 840, 10045, 4, 3, 2],
                Curve::P384 => &[1, 2, 840, 10045, 4, 3, 3],
                Curve::P521 => &[1, 2, 840, 10045, 4, 3, 4],
            },
            Private::Ed25519(_) => oid::ED25519,
            Private::Dsa | Private::X25519 => return None,
        };
        Some(der::sequence(&[&der::oid(oid)]))
    }

    /// Signs a message.
    pub fn sign(&self, message: &[u8], world: &dyn World) -> Result<Vec<u8>, Error> {
        match self {
            Private::Rsa(key) => key.sign(&Sha256::digest(message).into()).map_err(text_of),
            Private::Ec(key) => Ok(key.sign(message, world)),
            Private::Ed25519(key) => Ok(key.sign(message)),
            Private::Dsa | Private::X25519 => Ok(Vec::new()),
        }
    }
}

impl Public {
    /// The algorithm identifier and the bits of the key.
    pub fn to_der(&self) -> (Vec<u8>, Vec<u8>) {
        match self {
            Public::Rsa(key) => (der::sequence(&[&der::oid(oid::RSA), der::NULL]), key.to_der()),
            Public::Ec(key) => {
                (der::sequence(&[&der::oid(oid::EC), &der::oid(key.curve.oid())]), key.point.clone())
            }
            Public::Ed25519(key) => (der::sequence(&[&der::oid(oid::ED25519)]), key.clone()),
            Public::Dsa => Default::default(),
        }
    }
}

/// Puts a text before an error.
pub fn wrap(before: &str, error: Error) -> Error {
    Error { message: [before.as_bytes(), &error.message].concat(), fatal: error.fatal }
}

/// An error as a text.
pub fn text_of(error: impl std::error::Error) -> Error {
    Error::new(error.to_string())
}

/// The hint that Go gives when a key is in another of the three formats.
fn other_format(bytes: &[u8], formats: [(&asn1::Type, &str); 2]) -> Option<Error> {
    let (_, name) = formats.into_iter().find(|(ty, _)| asn1::unmarshal(bytes, ty).is_ok())?;
    Some(
        format!("x509: failed to parse private key (use Parse{name}PrivateKey instead for this key format)")
            .into(),
    )
}

fn from_pkcs1(bytes: &[u8]) -> Result<Private, Error> {
    match asn1::unmarshal(bytes, &asn1::PKCS1) {
        Ok((Item::Many(items), [])) => match rsa::Private::from_items(&items) {
            Ok(key) => Ok(Private::Rsa(Box::new(key))),
            Err(rsa::Error::TooLarge) => Err(Error::limit("key size", rsa::MAX_BITS as usize)),
            Err(e) => Err(text_of(e)),
        },
        Ok(_) => Err(text_of(asn1::Error::Syntax("trailing data"))),
        Err(e) => {
            Err(other_format(bytes, [(&asn1::SEC1, "EC"), (&asn1::PKCS8, "PKCS8")]).unwrap_or(text_of(e)))
        }
    }
}

fn from_sec1(named: Option<&[u32]>, bytes: &[u8]) -> Result<Private, Error> {
    let items = match asn1::unmarshal(bytes, &asn1::SEC1) {
        Ok((Item::Many(items), _)) => items,
        Ok(_) => Vec::new(),
        Err(e) => {
            return Err(other_format(bytes, [(&asn1::PKCS8, "PKCS8"), (&asn1::PKCS1, "PKCS1")])
                .unwrap_or_else(|| format!("x509: failed to parse EC private key: {e}").into()));
        }
    };
    let (version, scalar, inner) = match items.as_slice() {
        [Item::Int(version), Item::Octets(scalar), Item::Oid(curve), _] => (*version, *scalar, Some(curve)),
        [Item::Int(version), Item::Octets(scalar), _, _] => (*version, *scalar, None),
        _ => (0, Default::default(), None),
    };
    if version != 1 {
        return Err(format!("x509: unknown EC private key version {version}").into());
    }
    let curve = named.or(inner.map(Vec::as_slice)).and_then(Curve::from_oid);
    let curve = curve.ok_or("x509: unknown elliptic curve")?;
    // Some programs write too many or too few zeros in front.
    let length = curve.scalar_length();
    let (front, digits) = scalar.split_at(scalar.len().saturating_sub(length));
    if front.iter().any(|b| *b != 0) {
        return Err("x509: invalid private key length".into());
    }
    let padded = [vec![0; length - digits.len()].as_slice(), digits].concat();
    ec::Private::from_scalar(curve, &padded).map(Private::Ec).map_err(text_of)
}

fn from_pkcs8(bytes: &[u8]) -> Result<Private, Error> {
    let items = match asn1::unmarshal(bytes, &asn1::PKCS8) {
        Ok((Item::Many(items), _)) => items,
        Ok(_) => Vec::new(),
        Err(e) => {
            return Err(
                other_format(bytes, [(&asn1::SEC1, "EC"), (&asn1::PKCS1, "PKCS1")]).unwrap_or(text_of(e))
            );
        }
    };
    let [_, Item::Many(algorithm), Item::Octets(key)] = items.as_slice() else { return Err("".into()) };
    let [Item::Oid(kind), parameters] = algorithm.as_slice() else { return Err("".into()) };
    let parameters = match parameters {
        Item::Any(whole) => *whole,
        _ => Default::default(),
    };
    match kind.as_slice() {
        oid::RSA => {
            from_pkcs1(key).map_err(|e| wrap("x509: failed to parse RSA private key embedded in PKCS#8: ", e))
        }
        oid::EC => {
            let named = match asn1::unmarshal(parameters, &asn1::OID) {
                Ok((Item::Oid(named), _)) => Some(named),
                _ => None,
            };
            from_sec1(named.as_deref(), key)
                .map_err(|e| wrap("x509: failed to parse EC private key embedded in PKCS#8: ", e))
        }
        oid::ED25519 => {
            let seed = curve25519("Ed25519", parameters, key)?;
            match <[u8; 32]>::try_from(seed) {
                Ok(seed) => Ok(Private::Ed25519(ed25519::Private::from_seed(seed))),
                Err(_) => Err(format!("x509: invalid Ed25519 private key length: {}", seed.len()).into()),
            }
        }
        oid::X25519 => match curve25519("X25519", parameters, key)?.len() {
            32 => Ok(Private::X25519),
            _ => Err("crypto/ecdh: invalid private key size".into()),
        },
        other => {
            let name = dotted(other);
            Err(format!("x509: PKCS#8 wrapping contained private key with unknown algorithm: {name}").into())
        }
    }
}

/// The secret of a key of the two curves that have no parameters.
fn curve25519<'a>(name: &str, parameters: &[u8], key: &'a [u8]) -> Result<&'a [u8], Error> {
    if !parameters.is_empty() {
        return Err(format!("x509: invalid {name} private key parameters").into());
    }
    match asn1::unmarshal(key, &asn1::OCTETS) {
        Ok((Item::Octets(secret), _)) => Ok(secret),
        Ok(_) => Ok(&[]),
        Err(e) => Err(format!("x509: invalid {name} private key: {e}").into()),
    }
}

/// An object identifier in its usual form.
pub fn dotted(oid: &[u32]) -> String {
    oid.iter().map(u32::to_string).collect::<Vec<_>>().join(".")
}
