//! Image references, parsed like the Go module `distribution/reference`.

use std::borrow::Cow;

/// Why an image reference is invalid. Messages are equal to upstream's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The reference is a 64-character image ID.
    #[error("invalid repository name ({0}), cannot specify 64-byte hexadecimal strings")]
    ImageId(String),
    /// The repository path has uppercase letters.
    #[error("invalid reference format: repository name must be lowercase")]
    UppercasePath,
    /// The repository name has uppercase letters.
    #[error("repository name must be lowercase")]
    Uppercase,
    /// The reference is malformed.
    #[error("invalid reference format")]
    Format,
    /// The repository name is too long.
    #[error("repository name must not be more than 255 characters")]
    TooLong,
    /// The digest has the wrong length.
    #[error("invalid checksum digest length")]
    DigestLength,
    /// The digest is malformed.
    #[error("invalid checksum digest format")]
    DigestFormat,
    /// The digest algorithm is unknown.
    #[error("unsupported digest algorithm")]
    DigestAlgorithm,
}

/// A fully qualified image reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Registry, such as `docker.io`.
    pub domain: String,
    /// Repository path, such as `library/busybox`.
    pub path: String,
    /// Tag.
    pub tag: Option<String>,
    /// Digest.
    pub digest: Option<String>,
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.domain, self.path)?;
        self.tag.iter().try_for_each(|tag| write!(f, ":{tag}"))?;
        self.digest.iter().try_for_each(|digest| write!(f, "@{digest}"))
    }
}

/// Parses a reference and adds a missing registry and `library/`.
pub fn parse(text: &str) -> Result<Reference, Error> {
    let hex = |c: u8| matches!(c, b'a'..=b'f' | b'0'..=b'9');
    if text.len() == 64 && text.bytes().all(hex) {
        return Err(Error::ImageId(text.to_owned()));
    }
    let (domain, rest) = split_domain(text);
    let path = rest.split(':').next().unwrap_or_default();
    if path.to_lowercase() != path {
        return Err(Error::UppercasePath);
    }
    let qualified = format!("{domain}/{rest}");
    let Some((name, tag, digest)) = split(&qualified) else {
        let lowercase = qualified.to_lowercase();
        return Err(if split(&lowercase).is_some() { Error::Uppercase } else { Error::Format });
    };
    if name.len() > 255 {
        return Err(Error::TooLong);
    }
    if let Some(digest) = digest {
        check_digest(digest)?;
    }
    let (domain, path) = name.split_once('/').unwrap_or(("", name));
    let owned = |text: Option<&str>| text.map(str::to_owned);
    Ok(Reference { domain: domain.to_owned(), path: path.to_owned(), tag: owned(tag), digest: owned(digest) })
}

/// Returns the canonical form if it differs from the reference.
pub fn canonical(text: &str) -> Result<Option<String>, Error> {
    let canonical_form = parse(text)?.to_string();
    Ok((canonical_form != text).then_some(canonical_form))
}

fn split_domain(text: &str) -> (&str, Cow<'_, str>) {
    let (domain, rest) = match text.split_once('/') {
        Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => (first, rest),
        _ => ("docker.io", text),
    };
    let domain = if domain == "index.docker.io" { "docker.io" } else { domain };
    if domain == "docker.io" && !rest.contains('/') {
        return (domain, Cow::Owned(format!("library/{rest}")));
    }
    (domain, Cow::Borrowed(rest))
}

/// Splits a reference into name, tag and digest, if all are well-formed.
fn split(text: &str) -> Option<(&str, Option<&str>, Option<&str>)> {
    let (before, digest) = match text.split_once('@') {
        Some((before, digest)) => (before, Some(digest)),
        None => (text, None),
    };
    if !digest.is_none_or(is_digest) {
        return None;
    }
    let last = before.rfind('/').unwrap_or(0);
    let (name, tag) = match before.rfind(':').filter(|&at| at > last) {
        Some(at) => (before.get(..at)?, Some(before.get(at + 1..)?)),
        None => (before, None),
    };
    (tag.is_none_or(is_tag) && is_name(name)).then_some((name, tag, digest))
}

fn is_name(name: &str) -> bool {
    let components = |path: &str| path.split('/').all(is_component);
    let below = |(domain, path): (&str, &str)| is_domain(domain) && components(path);
    components(name) || name.split_once('/').is_some_and(below)
}

/// A path component: lower-case letters and digits, separated by one dot, one or two underscores or hyphens.
fn is_component(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if !text.starts_with(alphanumeric) || !text.ends_with(alphanumeric) {
        return false;
    }
    text.split(alphanumeric)
        .filter(|gap| !gap.is_empty())
        .all(|gap| matches!(gap, "." | "_" | "__") || gap.bytes().all(|b| b == b'-'))
}

fn is_domain(text: &str) -> bool {
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    let alphanumeric = |c: char| c.is_ascii_alphanumeric();
    let label = |text: &str| {
        text.starts_with(alphanumeric)
            && text.ends_with(alphanumeric)
            && text.chars().all(|c| alphanumeric(c) || c == '-')
    };
    let digits = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    host.split('.').all(label) && port.is_none_or(digits)
}

fn is_tag(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.starts_with(is_word)
        && text.len() <= 128
        && text.chars().all(|c| is_word(c) || matches!(c, '.' | '-'))
}

fn is_digest(text: &str) -> bool {
    let Some((algorithm, hex)) = text.split_once(':') else { return false };
    let part = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(|c| c.is_ascii_alphanumeric())
    };
    algorithm.split(['-', '_', '+', '.']).all(part)
        && hex.len() >= 32
        && hex.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Checks a well-formed digest against its algorithm.
fn check_digest(text: &str) -> Result<(), Error> {
    let (algorithm, hex) = text.split_once(':').ok_or(Error::DigestFormat)?;
    let len = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        other if other.bytes().any(|b| b.is_ascii_uppercase()) => return Err(Error::DigestFormat),
        _ => return Err(Error::DigestAlgorithm),
    };
    match hex {
        _ if hex.len() != len => Err(Error::DigestLength),
        _ if hex.bytes().any(|b| b.is_ascii_uppercase()) => Err(Error::DigestFormat),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completes_domain_and_library_path() {
        for (text, canonical_form) in [
            ("busybox", "docker.io/library/busybox"),
            ("tytn/operator:1", "docker.io/tytn/operator:1"),
            ("index.docker.io/a", "docker.io/library/a"),
            ("localhost/a:1", "localhost/a:1"),
            ("quay.io:8443/a/b-_c:T", ""),
            ("quay.io:8443/a/b--c:T", "quay.io:8443/a/b--c:T"),
        ] {
            assert_eq!(parse(text).map(|r| r.to_string()).unwrap_or_default(), canonical_form, "{text}");
        }
        assert_eq!(canonical("docker.io/a/b:1").unwrap(), None);
    }

    #[test]
    fn reports_upstream_error_messages() {
        let digest = |algorithm: &str, len: usize| format!("a@{algorithm}:{}", "a".repeat(len));
        for (text, error) in [
            ("A/b", "invalid reference format: repository name must be lowercase"),
            ("a b", "invalid reference format"),
            (":1", "invalid reference format"),
            (
                &*"a".repeat(64),
                "invalid repository name (aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa), cannot specify 64-byte hexadecimal strings",
            ),
            (&*"x/".repeat(130), "invalid reference format"),
            (&*digest("sha256", 63), "invalid checksum digest length"),
            (&*digest("md5", 32), "unsupported digest algorithm"),
            (&*digest("MD5", 32).replace("a@", "a:1@"), "invalid checksum digest format"),
            (&*"x".repeat(256), "repository name must not be more than 255 characters"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), error, "{text}");
        }
        assert!(parse(&digest("sha256", 64)).is_ok());
    }
}
