//! Basic authentication against an htpasswd file with bcrypt hashes (`htpasswd -B`).

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use blowfish::Blowfish;
use subtle::ConstantTimeEq;

/// An htpasswd file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A line is not `USER:HASH`.
    #[error("line {0}: write USER:HASH, with a bcrypt hash as htpasswd -B makes it")]
    Line(usize),
    /// The bcrypt cost is out of range.
    #[error("line {0}: the cost of the hash is {1}, and has to be 4 to 14")]
    Cost(usize, u32),
}

/// Users and their bcrypt hashes.
#[derive(Clone, Default)]
pub struct Htpasswd(BTreeMap<String, BcryptHash>);

#[derive(Clone)]
struct BcryptHash {
    cost: u32,
    salt: [u8; 16],
    digest: Vec<u8>,
}

/// The base64 alphabet of bcrypt.
const ALPHABET: &[u8; 64] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

fn decode_bcrypt_base64(text: &str) -> Option<Vec<u8>> {
    let mut bits = 0u32;
    let mut count = 0;
    let mut output = Vec::new();
    for byte in text.bytes() {
        let value = ALPHABET.iter().position(|known| *known == byte)? as u32;
        bits = bits << 6 | value;
        count += 6;
        if count >= 8 {
            count -= 8;
            output.push((bits >> count & 0xff) as u8);
        }
    }
    Some(output)
}

/// Computes the bcrypt hash of a password, truncated to 23 bytes as in the encoded form.
fn bcrypt(cost: u32, salt: &[u8; 16], password: &[u8]) -> Vec<u8> {
    let mut key = password.iter().copied().take(72).collect::<Vec<u8>>();
    key.push(0);
    key.truncate(72);
    let mut state: Blowfish = Blowfish::bc_init_state();
    state.salted_expand_key(salt, &key);
    for _ in 0..1u32 << cost {
        state.bc_expand_key(&key);
        state.bc_expand_key(salt);
    }
    let plaintext = b"OrpheanBeholderScryDoubt";
    let mut output = Vec::new();
    for pair in plaintext.chunks_exact(8) {
        let word = |at: usize| {
            pair.get(at..at + 4).map_or(0, |b| b.iter().fold(0, |word, byte| word << 8 | u32::from(*byte)))
        };
        let mut block = [word(0), word(4)];
        for _ in 0..64 {
            block = state.bc_encrypt(block);
        }
        output.extend(block.iter().flat_map(|word| word.to_be_bytes()));
    }
    output.truncate(23);
    output
}

impl Htpasswd {
    /// Parses an htpasswd file.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut users = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let invalid = || Error::Line(index + 1);
            let (user, hash) = line.split_once(':').ok_or_else(invalid)?;
            let fields: Vec<&str> = hash.split('$').collect();
            let ["", "2a" | "2b" | "2y", cost, salt_and_digest] = fields.as_slice() else {
                return Err(invalid());
            };
            let cost: u32 = cost.parse().map_err(|_| invalid())?;
            if !(4..=14).contains(&cost) {
                return Err(Error::Cost(index + 1, cost));
            }
            let (salt, digest) = salt_and_digest.split_at_checked(22).ok_or_else(invalid)?;
            let salt =
                decode_bcrypt_base64(salt).and_then(|salt| salt.try_into().ok()).ok_or_else(invalid)?;
            let digest =
                decode_bcrypt_base64(digest).filter(|digest| digest.len() == 23).ok_or_else(invalid)?;
            if user.is_empty() {
                return Err(invalid());
            }
            users.insert(user.to_owned(), BcryptHash { cost, salt, digest });
        }
        Ok(Self(users))
    }

    /// Whether an `Authorization` header has the credentials of a user. Slow by design of bcrypt.
    pub fn authenticate(&self, header: &str) -> bool {
        let Some((scheme, encoded)) = header.split_once(' ') else { return false };
        let decoded =
            STANDARD.decode(encoded.trim()).ok().and_then(|decoded| String::from_utf8(decoded).ok());
        let Some((user, password)) = decoded.as_deref().and_then(|decoded| decoded.split_once(':')) else {
            return false;
        };
        if !scheme.eq_ignore_ascii_case("basic") {
            return false;
        }
        // Unknown users cost a hash too, so that response times do not reveal user names.
        let (hash, known_user) = match self.0.get(user) {
            Some(hash) => (hash.clone(), true),
            None => (BcryptHash { cost: 5, salt: [0; 16], digest: vec![0; 23] }, false),
        };
        let actual = bcrypt(hash.cost, &hash.salt, password.as_bytes());
        bool::from(actual.ct_eq(&hash.digest)) && known_user
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authenticates_htpasswd_users() {
        // htpasswd -nbB -C 5 me 'pass:word'
        let users =
            Htpasswd::parse("# users\nme:$2y$05$ZFQZ6MFOEqytBiNAVzLjLeth2tV4RQngoitK9JP7tccu/INYIaJrS\n")
                .unwrap();
        let header = |plaintext: &str| format!("Basic {}", STANDARD.encode(plaintext));
        assert!(users.authenticate(&header("me:pass:word")));
        for plaintext in ["me:pass:wor", "me:", "you:pass:word", "me", ""] {
            assert!(!users.authenticate(&header(plaintext)), "{plaintext}");
        }
        assert!(!users.authenticate("Bearer x") && !users.authenticate("") && !users.authenticate("Basic !"));
    }

    #[test]
    fn parse_rejects_unsupported_lines() {
        for line in
            ["me", "me:plain", "me:{SHA}x", "me:$2y$05$short", "me:$1$x$y", ":$2y$05$x", "me:$apr1$x$y"]
        {
            assert_eq!(Htpasswd::parse(line).err(), Some(Error::Line(1)), "{line}");
        }
        assert!(matches!(
            Htpasswd::parse("\nme:$2y$31$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
            Err(Error::Cost(2, 31))
        ));
    }
}
