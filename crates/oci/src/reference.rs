//! Image references: `ubuntu`, `localhost:5000/team/app:1.0`, `host/app@sha256:…`.
//!
//! Grammar and defaults are Docker's: the default registry is docker.io, a single-component repository there gets the
//! prefix `library/`, and the default tag is `latest`.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use crate::digest::Digest;

/// A reference or location that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The reference is empty.
    #[error("the image reference is empty")]
    Empty,
    /// The reference violates the grammar.
    #[error("invalid image reference {reference:?}: {reason}")]
    Invalid {
        /// The reference as given.
        reference: String,
        /// The violated rule.
        reason: &'static str,
    },
    /// The digest is invalid.
    #[error(transparent)]
    Digest(#[from] crate::digest::Error),
    /// A location prefix without a path.
    #[error("{0:?} lacks a path: write {0}PATH or {0}PATH:NAME")]
    MissingPath(String),
}

/// The registry of references without a host.
pub const DEFAULT_REGISTRY: &str = "docker.io";
const MAX_REPOSITORY: usize = 255;
const MAX_TAG: usize = 128;

/// A reference to an image in a registry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    /// Registry host, with an optional port.
    pub registry: String,
    /// Repository path.
    pub repository: String,
    /// Tag, if given.
    pub tag: Option<String>,
    /// Digest, if given.
    pub digest: Option<Digest>,
}

impl Reference {
    /// Parses a reference and applies Docker's defaults. Accepts an optional `docker://` prefix.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut reference = Self::parse_without_default_tag(text)?;
        if reference.tag.is_none() && reference.digest.is_none() {
            reference.tag = Some("latest".to_owned());
        }
        Ok(reference)
    }

    /// Parses a reference and requires a tag or a digest.
    pub fn parse_exact(text: &str) -> Result<Self, Error> {
        let reference = Self::parse_without_default_tag(text)?;
        if reference.tag.is_none() && reference.digest.is_none() {
            let reason = "it has neither a tag nor a digest; write NAME:TAG or NAME@sha256:…";
            return Err(Error::Invalid { reference: excerpt(text), reason });
        }
        Ok(reference)
    }

    /// Parses a reference without adding the default tag `latest`.
    pub fn parse_without_default_tag(text: &str) -> Result<Self, Error> {
        let name = text.strip_prefix("docker://").unwrap_or(text);
        if name.is_empty() {
            return Err(Error::Empty);
        }
        let invalid = |reason| Error::Invalid { reference: excerpt(text), reason };
        if name.contains("://") {
            return Err(invalid("a reference has no scheme: remove the part before ://"));
        }
        let (name, digest) = match name.split_once('@') {
            Some((name, digest)) => (name, Some(Digest::parse(digest)?)),
            None => (name, None),
        };
        // A colon after the last slash starts a tag; an earlier one belongs to the port.
        let slash = name.rfind('/').map_or(0, |index| index + 1);
        let (name, tag) = match name.get(slash..).and_then(|rest| rest.find(':')) {
            Some(index) => (name.get(..slash + index).unwrap_or_default(), name.get(slash + index + 1..)),
            None => (name, None),
        };
        if let Some(tag) = tag {
            check_tag(tag).map_err(invalid)?;
        }
        let (registry, path) = match name.split_once('/') {
            Some((host, path)) if looks_like_host(host) => (host, path),
            _ => (DEFAULT_REGISTRY, name),
        };
        let registry = if registry == "index.docker.io" { DEFAULT_REGISTRY } else { registry };
        check_host(registry).map_err(invalid)?;
        let path = path.to_owned();
        if digest.is_none() && tag.is_none() && path.len() == 64 && is_hex(&path) {
            return Err(invalid("64 hexadecimal digits are an image ID; write NAME@sha256:DIGITS"));
        }
        let repository = if registry == DEFAULT_REGISTRY && !path.contains('/') {
            format!("library/{path}")
        } else {
            path
        };
        check_repository(&repository).map_err(invalid)?;
        Ok(Self { registry: registry.to_owned(), repository, tag: tag.map(str::to_owned), digest })
    }

    /// Returns the same repository with another tag and no digest.
    pub fn with_tag(&self, tag: &str) -> Result<Self, Error> {
        check_tag(tag).map_err(|reason| Error::Invalid { reference: excerpt(tag), reason })?;
        Ok(Self { tag: Some(tag.to_owned()), digest: None, ..self.clone() })
    }

    /// Returns the same repository by digest alone.
    pub fn with_digest(&self, digest: &Digest) -> Self {
        Self { tag: None, digest: Some(digest.clone()), ..self.clone() }
    }

    /// Registry and repository, without tag and digest.
    pub fn name(&self) -> String {
        format!("{}/{}", self.registry, self.repository)
    }

    /// The `<reference>` of a manifest URL: the digest if present, otherwise the tag.
    pub fn tag_or_digest(&self) -> String {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => digest.to_string(),
            (None, Some(tag)) => tag.clone(),
            (None, None) => "latest".to_owned(),
        }
    }

    /// The API host of the registry; docker.io is served by another host.
    pub fn api_host(&self) -> &str {
        api_host(&self.registry)
    }
}

impl fmt::Display for Reference {
    /// The canonical form, with all defaults written out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

impl std::str::FromStr for Reference {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

/// The API host of a registry.
pub fn api_host(registry: &str) -> &str {
    if registry == DEFAULT_REGISTRY { "registry-1.docker.io" } else { registry }
}

/// Whether a host (with or without port) is a loopback address, where plain HTTP is allowed.
pub fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether the text is a valid tag.
pub fn is_tag(text: &str) -> bool {
    check_tag(text).is_ok()
}

/// Whether the text is a valid repository path.
pub fn is_repository(text: &str) -> bool {
    check_repository(text).is_ok()
}

fn excerpt(text: &str) -> String {
    text.chars().take(300).collect()
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Docker's rule: the component before the first slash is a host if it contains `.`, `:` or an uppercase letter.
fn looks_like_host(component: &str) -> bool {
    component.contains(['.', ':', '['])
        || component == "localhost"
        || component.bytes().any(|byte| byte.is_ascii_uppercase())
}

fn check_tag(tag: &str) -> Result<(), &'static str> {
    let first = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let next = |byte: u8| first(byte) || byte == b'.' || byte == b'-';
    match tag.as_bytes() {
        [] => Err("the tag is empty"),
        [begin, rest @ ..] if first(*begin) && rest.iter().all(|byte| next(*byte)) => {
            if tag.len() > MAX_TAG {
                Err("a tag has at most 128 characters")
            } else {
                Ok(())
            }
        }
        _ => Err("a tag is made of letters, digits, _, . and -, and does not begin with . or -"),
    }
}

fn check_host(host: &str) -> Result<(), &'static str> {
    const REASON: &str = "the host has to be a name or an address, with :PORT if there is one";
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let (address, after) = rest.split_once(']').ok_or(REASON)?;
            if !address.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6()) {
                return Err(REASON);
            }
            ("v6", if after.is_empty() { None } else { Some(after.strip_prefix(':').ok_or(REASON)?) })
        }
        None => match host.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        },
    };
    if port.is_some_and(|port| port.is_empty() || port.len() > 5 || port.parse::<u16>().is_err()) {
        return Err("the port has to be a number up to 65535");
    }
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    if name.len() <= 253 && name.split('.').all(label) { Ok(()) } else { Err(REASON) }
}

fn check_repository(path: &str) -> Result<(), &'static str> {
    if path.len() > MAX_REPOSITORY {
        return Err("a repository's name has at most 255 characters");
    }
    for component in path.split('/') {
        check_path_component(component)?;
    }
    Ok(())
}

/// Checks a path component: lowercase letters and digits, separated by `.`, `_`, `__` or dashes.
fn check_path_component(component: &str) -> Result<(), &'static str> {
    if component.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err("a repository's name is in lower case");
    }
    const REASON: &str =
        "a repository's name is made of lower case letters and digits, with ., _, __ or - between them";
    let is_alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut separator = String::new();
    let mut started = false;
    for byte in component.bytes() {
        if is_alphanumeric(byte) {
            let separated =
                matches!(separator.as_str(), "" | "." | "_" | "__") || separator.bytes().all(|b| b == b'-');
            if !separated || (!started && !separator.is_empty()) {
                return Err(REASON);
            }
            separator.clear();
            started = true;
        } else if matches!(byte, b'.' | b'_' | b'-') {
            separator.push(char::from(byte));
        } else {
            return Err(REASON);
        }
    }
    if started && separator.is_empty() { Ok(()) } else { Err(REASON) }
}

/// The source or destination of an image: a registry, or local files by transport prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageLocation {
    /// A registry, or the local image store for commands that have one.
    Registry(Reference),
    /// `oci:PATH[:NAME]`: an OCI image layout directory.
    Layout(PathBuf, Option<String>),
    /// `oci-archive:PATH[:NAME]`: an OCI image layout in a tar file.
    OciArchive(PathBuf, Option<String>),
    /// `docker-archive:PATH[:NAME]`: an archive written by `docker save`.
    DockerArchive(PathBuf, Option<String>),
}

impl ImageLocation {
    /// Parses a location.
    pub fn parse(text: &str) -> Result<Self, Error> {
        for (prefix, constructor) in [
            ("oci:", Self::Layout as fn(PathBuf, Option<String>) -> Self),
            ("oci-archive:", Self::OciArchive),
            ("docker-archive:", Self::DockerArchive),
        ] {
            if let Some(rest) = text.strip_prefix(prefix) {
                let (path, name) = match rest.split_once(':') {
                    Some((path, name)) if !name.is_empty() => (path, Some(name.to_owned())),
                    Some((path, _)) => (path, None),
                    None => (rest, None),
                };
                if path.is_empty() {
                    return Err(Error::MissingPath(prefix.to_owned()));
                }
                return Ok(constructor(PathBuf::from(path), name));
            }
        }
        Ok(Self::Registry(Reference::parse(text)?))
    }
}

impl fmt::Display for ImageLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (transport, path, name) = match self {
            Self::Registry(reference) => return reference.fmt(f),
            Self::Layout(path, name) => ("oci", path, name),
            Self::OciArchive(path, name) => ("oci-archive", path, name),
            Self::DockerArchive(path, name) => ("docker-archive", path, name),
        };
        write!(f, "{transport}:{}", path.display())?;
        match name {
            Some(name) => write!(f, ":{name}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_applies_docker_defaults() {
        let hex = "0".repeat(64);
        for (text, canonical) in [
            ("ubuntu", "docker.io/library/ubuntu:latest".to_owned()),
            ("ubuntu:24.04", "docker.io/library/ubuntu:24.04".to_owned()),
            ("team/app", "docker.io/team/app:latest".to_owned()),
            ("index.docker.io/ubuntu", "docker.io/library/ubuntu:latest".to_owned()),
            ("localhost/app", "localhost/app:latest".to_owned()),
            ("localhost:5000/app", "localhost:5000/app:latest".to_owned()),
            ("LOCALHOST/app", "LOCALHOST/app:latest".to_owned()),
            ("[::1]:5000/a/b__c-d.e:T_1", "[::1]:5000/a/b__c-d.e:T_1".to_owned()),
            ("docker://host.example/x", "host.example/x:latest".to_owned()),
            (&format!("a/b@sha256:{hex}"), format!("docker.io/a/b@sha256:{hex}")),
            (&format!("a/b:t@sha256:{hex}"), format!("docker.io/a/b:t@sha256:{hex}")),
            ("a--b/c", "docker.io/a--b/c:latest".to_owned()),
        ] {
            let reference = Reference::parse(text).unwrap();
            assert_eq!(reference.to_string(), canonical);
            assert_eq!(Reference::parse(&canonical).unwrap(), reference, "the canonical form is equivalent");
        }
        assert!(Reference::parse_exact("a/b").is_err());
        assert_eq!(Reference::parse("ubuntu").unwrap().api_host(), "registry-1.docker.io");
    }

    #[test]
    fn parse_rejects_invalid_references() {
        let hex = "0".repeat(64);
        let long = "a/".repeat(128) + "a";
        for text in [
            "",
            "A",
            "a/B",
            "a//b",
            "/a",
            "a/",
            "a:",
            "a:-x",
            "a:.x",
            "a:b:c",
            "a@",
            "a@sha256:00",
            "a b",
            "a___b",
            "a._b",
            "-a",
            "a-",
            "a..b",
            "../a",
            "a/../b",
            "host.example:99999/a",
            "host.example:/a",
            "[::g]/a",
            "-.example/a",
            "ä",
            "a:ä",
            &hex,
            &long,
            &format!("a:{}", "x".repeat(129)),
            "host.example/",
            "https://host.example/a",
        ] {
            assert!(Reference::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parses_registry_layout_and_archive_locations() {
        assert_eq!(
            ImageLocation::parse("oci:a/b:1.0").unwrap(),
            ImageLocation::Layout("a/b".into(), Some("1.0".to_owned()))
        );
        assert_eq!(
            ImageLocation::parse("oci-archive:x.tar").unwrap(),
            ImageLocation::OciArchive("x.tar".into(), None)
        );
        let docker = ImageLocation::parse("docker-archive:x.tar:host:5000/a:b").unwrap();
        assert_eq!(docker, ImageLocation::DockerArchive("x.tar".into(), Some("host:5000/a:b".to_owned())));
        assert_eq!(docker.to_string(), "docker-archive:x.tar:host:5000/a:b");
        assert!(matches!(ImageLocation::parse("oci/x:1").unwrap(), ImageLocation::Registry(_)));
        assert!(ImageLocation::parse("oci:").is_err());
    }

    #[test]
    fn detects_loopback_hosts() {
        for host in
            ["localhost", "localhost:5000", "127.0.0.1:1", "127.8.8.8", "[::1]:5000", "x.localhost:80"]
        {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["localhost.example", "10.0.0.1:5000", "[::2]:1", "127.0.0.1.example:1"] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
