//! Who may use a registry: a file as `htpasswd -B` writes it.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use blowfish::Blowfish;
use subtle::ConstantTimeEq;

/// Why a file of users cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A line is not as it has to be.
    #[error("line {0}: write USER:HASH, with a bcrypt hash as htpasswd -B makes it")]
    Line(usize),
    /// A hash that takes too long.
    #[error("line {0}: the cost of the hash is {1}, and has to be 4 to 14")]
    Cost(usize, u32),
}

/// Users with their hashes.
#[derive(Clone, Default)]
pub struct Users(BTreeMap<String, Hash>);

#[derive(Clone)]
struct Hash {
    cost: u32,
    salt: [u8; 16],
    digest: Vec<u8>,
}

/// Bcrypt's own alphabet.
const ALPHABET: &[u8; 64] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bits = 0u32;
    let mut count = 0;
    let mut out = Vec::new();
    for byte in text.bytes() {
        let value = ALPHABET.iter().position(|known| *known == byte)? as u32;
        bits = bits << 6 | value;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count & 0xff) as u8);
        }
    }
    Some(out)
}

/// The hash of a password, 23 bytes of it as bcrypt keeps them.
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
    let text = b"OrpheanBeholderScryDoubt";
    let mut out = Vec::new();
    for pair in text.chunks_exact(8) {
        let word = |at: usize| {
            pair.get(at..at + 4).map_or(0, |b| b.iter().fold(0, |word, byte| word << 8 | u32::from(*byte)))
        };
        let mut block = [word(0), word(4)];
        for _ in 0..64 {
            block = state.bc_encrypt(block);
        }
        out.extend(block.iter().flat_map(|word| word.to_be_bytes()));
    }
    out.truncate(23);
    out
}

impl Users {
    /// Reads a file.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut users = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = || Error::Line(number + 1);
            let (user, hash) = line.split_once(':').ok_or_else(wrong)?;
            let parts: Vec<&str> = hash.split('$').collect();
            let ["", "2a" | "2b" | "2y", cost, rest] = parts.as_slice() else { return Err(wrong()) };
            let cost: u32 = cost.parse().map_err(|_| wrong())?;
            if !(4..=14).contains(&cost) {
                return Err(Error::Cost(number + 1, cost));
            }
            let (salt, digest) = rest.split_at_checked(22).ok_or_else(wrong)?;
            let salt = decode(salt).and_then(|salt| salt.try_into().ok()).ok_or_else(wrong)?;
            let digest = decode(digest).filter(|digest| digest.len() == 23).ok_or_else(wrong)?;
            if user.is_empty() {
                return Err(wrong());
            }
            users.insert(user.to_owned(), Hash { cost, salt, digest });
        }
        Ok(Self(users))
    }

    /// Whether the value of an `Authorization` header is of one of them. Takes a while, on purpose.
    pub fn know(&self, header: &str) -> bool {
        let Some((scheme, rest)) = header.split_once(' ') else { return false };
        let plain = STANDARD.decode(rest.trim()).ok().and_then(|plain| String::from_utf8(plain).ok());
        let Some((user, password)) = plain.as_deref().and_then(|plain| plain.split_once(':')) else {
            return false;
        };
        if !scheme.eq_ignore_ascii_case("basic") {
            return false;
        }
        // Somebody who is not there takes as long as somebody who is.
        let (hash, there) = match self.0.get(user) {
            Some(hash) => (hash.clone(), true),
            None => (Hash { cost: 5, salt: [0; 16], digest: vec![0; 23] }, false),
        };
        let is = bcrypt(hash.cost, &hash.salt, password.as_bytes());
        bool::from(is.ct_eq(&hash.digest)) && there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_htpasswd_are_known() {
        // htpasswd -nbB -C 5 me 'pass:word'
        let users =
            Users::parse("# users\nme:$2y$05$ZFQZ6MFOEqytBiNAVzLjLeth2tV4RQngoitK9JP7tccu/INYIaJrS\n")
                .unwrap();
        let header = |text: &str| format!("Basic {}", STANDARD.encode(text));
        assert!(users.know(&header("me:pass:word")));
        for text in ["me:pass:wor", "me:", "you:pass:word", "me", ""] {
            assert!(!users.know(&header(text)), "{text}");
        }
        assert!(!users.know("Bearer x") && !users.know("") && !users.know("Basic !"));
    }

    #[test]
    fn other_lines_are_refused() {
        for line in
            ["me", "me:plain", "me:{SHA}x", "me:$2y$05$short", "me:$1$x$y", ":$2y$05$x", "me:$apr1$x$y"]
        {
            assert_eq!(Users::parse(line).err(), Some(Error::Line(1)), "{line}");
        }
        assert!(matches!(
            Users::parse("\nme:$2y$31$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
            Err(Error::Cost(2, 31))
        ));
    }
}
