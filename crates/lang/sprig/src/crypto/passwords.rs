//! Passwords: hashing them, and deriving them from a master password.

use blowfish::Blowfish;
use hmac::{Hmac, KeyInit, Mac};
use podium_gotmpl::{Ctx, Value, World};
use sha2::Sha256;

use super::stream::Stream;
use crate::args::{Outcome, string, text};
use crate::limits::{check_chance, check_time};

const COST: u32 = 10;

const CRYPT_ALPHABET: &[u8; 64] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

pub(super) fn bcrypt<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    check_chance(cx)?;
    string(hash(cx.world, text(args, 0)))
}

pub(super) fn htpasswd<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    check_chance(cx)?;
    let user = text(args, 0);
    string(if user.contains(&b':') {
        [b"invalid username: ", user].concat()
    } else {
        [user, b":", hash(cx.world, text(args, 1)).as_bytes()].concat()
    })
}

/// The bcrypt hash, or the text that Sprig gives instead of one.
fn hash(world: &dyn World, password: &[u8]) -> String {
    if password.len() > 72 {
        return "failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes".to_owned();
    }
    let salt = Stream::new(world).bytes(16);
    format!("$2a${COST}${}{}", crypt_base64(&salt), crypt_base64(&bcrypt_hash(password, &salt)))
}

/// The 23 bytes that bcrypt makes of a password and a salt.
fn bcrypt_hash(password: &[u8], salt: &[u8]) -> Vec<u8> {
    let key = [password, &[0]].concat();
    let mut state = Blowfish::bc_init_state();
    state.salted_expand_key(salt, &key);
    for _ in 0..1u32 << COST {
        state.bc_expand_key(&key);
        state.bc_expand_key(salt);
    }
    let mut out = Vec::new();
    for block in b"OrpheanBeholderScryDoubt".chunks(8) {
        let half = |part: &[u8]| part.iter().fold(0u32, |sum, b| sum << 8 | u32::from(*b));
        let (left, right) = block.split_at(4);
        let mut halves = [half(left), half(right)];
        for _ in 0..64 {
            halves = state.bc_encrypt(halves);
        }
        out.extend(halves.iter().flat_map(|h| h.to_be_bytes()));
    }
    // The last byte has always been left out.
    out.pop();
    out
}

/// bcrypt's own base64, without padding.
fn crypt_base64(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().enumerate().fold(0u32, |sum, (i, b)| sum | u32::from(*b) << (16 - 8 * i));
        for i in 0..=chunk.len() {
            let index = (group >> (18 - 6 * i)) & 0x3f;
            out.push(char::from(CRYPT_ALPHABET[index as usize]));
        }
    }
    out
}

const SEED: &[u8] = b"com.lyndir.masterpassword";

/// The templates of the kinds of passwords: one letter for each class of characters.
const TEMPLATES: &[(&[u8], &[&str])] = &[
    (b"maximum", &["anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"]),
    (
        b"long",
        &[
            "CvcvnoCvcvCvcv",
            "CvcvCvcvnoCvcv",
            "CvcvCvcvCvcvno",
            "CvccnoCvcvCvcv",
            "CvccCvcvnoCvcv",
            "CvccCvcvCvcvno",
            "CvcvnoCvccCvcv",
            "CvcvCvccnoCvcv",
            "CvcvCvccCvcvno",
            "CvcvnoCvcvCvcc",
            "CvcvCvcvnoCvcc",
            "CvcvCvcvCvccno",
            "CvccnoCvccCvcv",
            "CvccCvccnoCvcv",
            "CvccCvccCvcvno",
            "CvcvnoCvccCvcc",
            "CvcvCvccnoCvcc",
            "CvcvCvccCvccno",
            "CvccnoCvcvCvcc",
            "CvccCvcvnoCvcc",
            "CvccCvcvCvccno",
        ],
    ),
    (b"medium", &["CvcnoCvc", "CvcCvcno"]),
    (b"short", &["Cvcn"]),
    (b"basic", &["aaanaaan", "aannaaan", "aaannaaa"]),
    (b"pin", &["nnnn"]),
];

/// The characters of a class.
fn class(letter: u8) -> &'static [u8] {
    match letter {
        b'C' => b"BCDFGHJKLMNPQRSTVWXYZ",
        b'v' => b"aeiou",
        b'c' => b"bcdfghjklmnpqrstvwxyz",
        b'a' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        b'n' => b"0123456789",
        b'o' => b"@&%?,=[]_:-+*$#!'^~;()/.",
        _ => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
    }
}

pub(super) fn derive_password<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    check_time(cx)?;
    // Go cuts a larger constant to the 32 bits of the parameter.
    let counter = match args.first() {
        Some(Value::Uint64(n)) => *n as u32,
        Some(Value::Int(n) | Value::Int64(n)) => *n as u32,
        _ => 0,
    };
    let [kind, password, user, site] = [1, 2, 3, 4].map(|i| text(args, i));
    let Some((_, templates)) = TEMPLATES.iter().find(|(name, _)| *name == kind) else {
        return string([b"cannot find password template ", kind].concat());
    };
    let derived = derive(password, user, site, counter);
    let mut seed = derived.iter().map(|b| usize::from(*b));
    let pick = |seed: Option<usize>, count: usize| seed.unwrap_or(0) % count.max(1);
    let template = templates.get(pick(seed.next(), templates.len())).copied().unwrap_or_default();
    let characters = template.bytes().map(|letter| {
        let class = class(letter);
        class.get(pick(seed.next(), class.len())).copied().unwrap_or_default()
    });
    string(characters.collect::<Vec<u8>>())
}

/// The numbers that choose the characters: scrypt of the master password, then HMAC of the site.
fn derive(password: &[u8], user: &[u8], site: &[u8], counter: u32) -> Vec<u8> {
    let length = |part: &[u8]| (part.len() as u32).to_be_bytes();
    let salt = [SEED, &length(user), user].concat();
    let mut key = [0; 64];
    let Ok(params) = scrypt::Params::new(15, 8, 2) else { return Vec::new() };
    if scrypt::scrypt(password, &salt, &params, &mut key).is_err() {
        return Vec::new();
    }
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&key) else { return Vec::new() };
    for part in [SEED, &length(site), site, &counter.to_be_bytes()] {
        mac.update(part);
    }
    mac.finalize().into_bytes().to_vec()
}
