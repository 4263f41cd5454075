//! Content digests and digest verification.

use std::fmt;
use std::io::{self, Read};

// ring is linked for TLS anyway, and its SHA-256 takes two thirds of the time of the sha2 crate.
use ring::digest::{Context, SHA256, SHA512};

/// A digest that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not a supported digest.
    #[error("{0:?} is not a digest: a digest is sha256: and 64 hexadecimal digits, or sha512: and 128")]
    Invalid(String),
}

/// A registered digest algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// SHA-256, the default.
    #[default]
    Sha256,
    /// SHA-512.
    Sha512,
}

impl Algorithm {
    /// The algorithm identifier before the colon.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        }
    }

    fn hex_len(self) -> usize {
        match self {
            Self::Sha256 => 64,
            Self::Sha512 => 128,
        }
    }
}

/// A content digest: `sha256:…` or `sha512:…` in lowercase hex.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest {
    algorithm: Algorithm,
    hex: String,
}

impl Digest {
    /// Parses a digest. Only the two registered algorithms are accepted, so a digest is always a safe file name.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let invalid = || Error::Invalid(text.chars().take(160).collect());
        let (name, hex) = text.split_once(':').ok_or_else(invalid)?;
        let algorithm = match name {
            "sha256" => Algorithm::Sha256,
            "sha512" => Algorithm::Sha512,
            _ => return Err(invalid()),
        };
        let lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if hex.len() != algorithm.hex_len() || !hex.bytes().all(lower) {
            return Err(invalid());
        }
        Ok(Self { algorithm, hex: hex.to_owned() })
    }

    /// Computes the SHA-256 digest of `data`.
    pub fn sha256(data: &[u8]) -> Self {
        let mut hasher = Hasher::new(Algorithm::Sha256);
        hasher.update(data);
        hasher.finish()
    }

    /// The digest algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The encoded portion, in hex.
    pub fn hex(&self) -> &str {
        &self.hex
    }

    /// The first 12 hex digits, for display.
    pub fn short(&self) -> &str {
        self.hex.get(..12).unwrap_or(&self.hex)
    }

    /// Whether `data` has this digest.
    pub fn matches(&self, data: &[u8]) -> bool {
        let mut hasher = Hasher::new(self.algorithm);
        hasher.update(data);
        hasher.finish() == *self
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm.name(), self.hex)
    }
}

/// Computes a digest incrementally.
#[derive(Clone)]
pub struct Hasher {
    algorithm: Algorithm,
    state: Context,
}

impl Hasher {
    /// Starts a digest.
    pub fn new(algorithm: Algorithm) -> Self {
        let state = Context::new(match algorithm {
            Algorithm::Sha256 => &SHA256,
            Algorithm::Sha512 => &SHA512,
        });
        Self { algorithm, state }
    }

    /// Adds data.
    pub fn update(&mut self, data: &[u8]) {
        self.state.update(data);
    }

    /// Returns the digest of all data.
    pub fn finish(self) -> Digest {
        Digest { algorithm: self.algorithm, hex: hex(self.state.finish().as_ref()) }
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

/// A reader that fails at the end of the stream when size or digest do not match.
pub struct VerifyingReader<R> {
    inner: R,
    hasher: Option<Hasher>,
    digest: Digest,
    remaining: u64,
}

impl<R: Read> VerifyingReader<R> {
    /// Verifies `inner` against a digest and a size.
    pub fn new(inner: R, digest: &Digest, size: u64) -> Self {
        Self { inner, hasher: Some(Hasher::new(digest.algorithm)), digest: digest.clone(), remaining: size }
    }

    /// Reads the stream to its end so that the digest is verified.
    pub fn finish(mut self) -> io::Result<()> {
        let mut discarded = vec![0; 64 << 10];
        while self.read(&mut discarded)? > 0 {}
        Ok(())
    }
}

impl<R: Read> Read for VerifyingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let read = self.inner.read(buffer)?;
        let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidData, text);
        if read as u64 > self.remaining {
            return Err(invalid(format!("{} is longer than its declared size", self.digest)));
        }
        self.remaining -= read as u64;
        if read > 0 {
            if let Some(hasher) = &mut self.hasher {
                hasher.update(buffer.get(..read).unwrap_or_default());
            }
            return Ok(read);
        }
        if self.remaining > 0 {
            return Err(invalid(format!("{} ends {} bytes too early", self.digest, self.remaining)));
        }
        if let Some(hasher) = self.hasher.take() {
            let actual = hasher.finish();
            if actual != self.digest {
                // Keeps failing: a second read must not look like a clean end of stream.
                self.remaining = 1;
                return Err(invalid(format!("the content should be {} and is {actual}", self.digest)));
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn parse_accepts_only_lowercase_sha256_and_sha512() {
        assert_eq!(Digest::parse(EMPTY).unwrap(), Digest::sha256(b""));
        let long = format!("sha512:{}", "0a".repeat(64));
        assert_eq!(Digest::parse(&long).unwrap().to_string(), long);
        for text in [
            "",
            "sha256:",
            "sha256:../../x",
            &EMPTY.to_uppercase(),
            &EMPTY[..70],
            "md5:00",
            &format!("{EMPTY}0"),
        ] {
            assert!(Digest::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn verifying_reader_rejects_size_and_digest_mismatch() {
        let digest = Digest::sha256(b"content");
        let read = |data: &[u8], size: u64| {
            let mut all = Vec::new();
            VerifyingReader::new(data, &digest, size).read_to_end(&mut all).map(|_| all)
        };
        assert_eq!(read(b"content", 7).unwrap(), b"content");
        for (data, size) in [(&b"content"[..], 6), (b"content", 8), (b"Content", 7), (b"conten", 7), (b"", 0)]
        {
            assert!(read(data, size).is_err());
        }
        assert!(VerifyingReader::new(&b"contenT"[..], &digest, 7).finish().is_err());
    }
}
