//! Checksums, passwords, ciphers, random text, keys and certificates.
//!
//! All randomness comes from the world of the render, so that a render can be repeated. Whatever touches a private key
//! runs on the constant-time arithmetic of `crypto-bigint`; keys and certificates are built around it, byte for byte as
//! Go builds them, because charts are compared with what Helm makes of them.

mod asn1;
mod big;
mod certificate;
mod certs;
mod cipher;
mod der;
mod dsa;
mod ec;
mod ed25519;
mod extension;
mod group;
mod issue;
mod keys;
mod passwords;
mod pem;
mod prime;
mod random;
mod rsa;
mod stream;
mod sums;

use podium_gotmpl::Func;
use podium_gotmpl::types::{INT, LIST, STRING, Shape, Type};

pub use certs::CERTIFICATE;

use crate::args::func;

/// `uint32`, the type of a parameter that only constants fit.
pub static UINT32: Type = Type::defined("uint32", Shape::Uint(32), &[]);

/// The functions.
pub static FUNCS: &[Func] = &[
    func("adler32sum", &[&STRING], sums::adler32sum),
    func("bcrypt", &[&STRING], passwords::bcrypt),
    func("buildCustomCert", &[&STRING, &STRING], certs::build_custom_cert),
    func("decryptAES", &[&STRING, &STRING], cipher::decrypt_aes),
    func("derivePassword", &[&UINT32, &STRING, &STRING, &STRING, &STRING], passwords::derive_password),
    func("encryptAES", &[&STRING, &STRING], cipher::encrypt_aes),
    func("genCA", &[&STRING, &INT], certs::gen_ca),
    func("genCAWithKey", &[&STRING, &INT, &STRING], certs::gen_ca_with_key),
    func("genPrivateKey", &[&STRING], certs::gen_private_key),
    func("genSelfSignedCert", &[&STRING, &LIST, &LIST, &INT], certs::gen_self_signed_cert),
    func(
        "genSelfSignedCertWithKey",
        &[&STRING, &LIST, &LIST, &INT, &STRING],
        certs::gen_self_signed_cert_with_key,
    ),
    func("genSignedCert", &[&STRING, &LIST, &LIST, &INT, &CERTIFICATE], certs::gen_signed_cert),
    func(
        "genSignedCertWithKey",
        &[&STRING, &LIST, &LIST, &INT, &CERTIFICATE, &STRING],
        certs::gen_signed_cert_with_key,
    ),
    func("htpasswd", &[&STRING, &STRING], passwords::htpasswd),
    func("randAlpha", &[&INT], random::rand_alpha),
    func("randAlphaNum", &[&INT], random::rand_alpha_num),
    func("randAscii", &[&INT], random::rand_ascii),
    func("randBytes", &[&INT], random::rand_bytes),
    func("randInt", &[&INT, &INT], random::rand_int),
    func("randNumeric", &[&INT], random::rand_numeric),
    func("sha1sum", &[&STRING], sums::sha1sum),
    func("sha256sum", &[&STRING], sums::sha256sum),
    func("sha512sum", &[&STRING], sums::sha512sum),
    func("shuffle", &[&STRING], random::shuffle),
    func("uuidv4", &[], random::uuidv4),
];
