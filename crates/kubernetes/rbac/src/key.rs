//! Keys of the curve P-256, for tokens and certificates.
//!
//! Whatever is secret in them comes from the operating system's source of chance.

use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair,
    KeyPair, UnparsedPublicKey,
};

use crate::certificate::der::{self, tag};
use crate::pem;
use podium_meta::base64;

/// What is wrong with a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is no key, or one of another kind.
    #[error("this is no private key of the curve P-256 in PEM")]
    NoKey,
    /// The operating system gives no chance.
    #[error("the operating system's source of random bytes failed")]
    NoChance,
}

/// Before the 65 bytes of a public key: what kind it is.
const PUBLIC: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// A private key with its public one.
pub struct Key {
    pkcs8: Vec<u8>,
    pair: EcdsaKeyPair,
    chance: SystemRandom,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Key").field(&self.id()).finish()
    }
}

impl Key {
    /// Makes a new key.
    pub fn generate() -> Result<Self, Error> {
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        Self::from_pkcs8(made.map_err(|_| Error::NoChance)?.as_ref().to_vec())
    }

    /// From PEM, in either of the two forms that are in use.
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        if let Some(pkcs8) = pem::read(text, "PRIVATE KEY") {
            return Self::from_pkcs8(pkcs8);
        }
        let inner = pem::read(text, "EC PRIVATE KEY").ok_or(Error::NoKey)?;
        // The kind of key, as it stands in a public key too.
        let kind = PUBLIC.get(2..23).unwrap_or_default();
        Self::from_pkcs8(der::sequence(&[&der::integer(&[0]), kind, &der::tlv(tag::OCTETS, &[&inner])]))
    }

    fn from_pkcs8(pkcs8: Vec<u8>) -> Result<Self, Error> {
        let chance = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &pkcs8, &chance);
        Ok(Self { pair: pair.map_err(|_| Error::NoKey)?, pkcs8, chance })
    }

    /// As PEM, to be kept secret.
    pub fn to_pem(&self) -> String {
        pem::write("PRIVATE KEY", &self.pkcs8)
    }

    /// The point of the public key, uncompressed.
    pub fn point(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    /// The public key in DER.
    pub fn public(&self) -> Vec<u8> {
        [&PUBLIC, self.point()].concat()
    }

    /// What tells it from other keys, without giving it away.
    pub fn id(&self) -> String {
        base64::encode_url(digest(&SHA256, &self.public()).as_ref())
    }

    /// A signature of two numbers of 32 bytes.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let signature = self.pair.sign(&self.chance, message).map_err(|_| Error::NoChance)?;
        Ok(signature.as_ref().to_vec())
    }

    /// A signature in DER.
    pub fn sign_der(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &self.pkcs8, &self.chance);
        let signature =
            pair.map_err(|_| Error::NoKey)?.sign(&self.chance, message).map_err(|_| Error::NoChance)?;
        Ok(signature.as_ref().to_vec())
    }

    /// Whether a signature of two numbers is this key's.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.point()).verify(message, signature).is_ok()
    }
}

/// Random bytes.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| Error::NoChance)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_pem_in_both_forms() {
        let key = Key::generate().unwrap();
        let again = Key::from_pem(&key.to_pem()).unwrap();
        assert_eq!(key.id(), again.id());
        let signature = key.sign(b"text").unwrap();
        assert!(again.verify(b"text", &signature));
        assert!(!again.verify(b"texts", &signature));
        assert!(!Key::generate().unwrap().verify(b"text", &signature));
        // The older form is what the newer one has in its last field.
        let old = der::Reader::new(&key.pkcs8).enter(tag::SEQUENCE).and_then(|mut reader| {
            reader.any()?;
            reader.any()?;
            reader.read(tag::OCTETS)
        });
        let old = pem::write("EC PRIVATE KEY", old.unwrap());
        assert_eq!(Key::from_pem(&old).unwrap().id(), key.id());
        assert_eq!(Key::from_pem("").map(drop), Err(Error::NoKey));
        assert!(!format!("{key:?}").contains(&key.to_pem()));
    }
}
