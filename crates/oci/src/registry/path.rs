//! What a request is about.

use http::request::Parts;

use super::answer::Refusal;
use crate::digest::Digest;
use crate::reference::is_repository;
use http::StatusCode;

/// The questions that a registry answers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route {
    Base,
    Catalog,
    Tags(String),
    Manifest(String, String),
    Blob(String, Digest),
    Uploads(String),
    Upload(String, String),
    Referrers(String, Digest),
}

impl Route {
    pub(super) fn parse(path: &str) -> Result<Self, Refusal> {
        let unknown =
            || Refusal::new(StatusCode::NOT_FOUND, "NAME_UNKNOWN", "there is nothing at this address");
        if path.len() > 1024 {
            return Err(unknown());
        }
        let rest = path.strip_prefix("/v2").ok_or_else(unknown)?;
        if matches!(rest, "" | "/") {
            return Ok(Self::Base);
        }
        let parts: Vec<&str> = rest.trim_start_matches('/').split('/').collect();
        let name = |parts: &[&str]| {
            let name = parts.join("/");
            let wrong = "a repository's name is made of lower case letters, digits and ., _, - between them";
            if is_repository(&name) {
                Ok(name)
            } else {
                Err(Refusal::new(StatusCode::BAD_REQUEST, "NAME_INVALID", wrong))
            }
        };
        let digest = |text: &str| {
            Digest::parse(text)
                .map_err(|e| Refusal::new(StatusCode::BAD_REQUEST, "DIGEST_INVALID", &e.to_string()))
        };
        match parts.as_slice() {
            ["_catalog"] => Ok(Self::Catalog),
            [above @ .., "tags", "list"] => Ok(Self::Tags(name(above)?)),
            [above @ .., "manifests", version] => Ok(Self::Manifest(name(above)?, unescape(version))),
            [above @ .., "blobs", "uploads"] | [above @ .., "blobs", "uploads", ""] => {
                Ok(Self::Uploads(name(above)?))
            }
            [above @ .., "blobs", "uploads", id] => Ok(Self::Upload(name(above)?, (*id).to_owned())),
            [above @ .., "blobs", blob] => Ok(Self::Blob(name(above)?, digest(&unescape(blob))?)),
            [above @ .., "referrers", about] => Ok(Self::Referrers(name(above)?, digest(&unescape(about))?)),
            _ => Err(unknown()),
        }
    }
}

/// The value of a parameter of the query.
pub(super) fn parameter(head: &Parts, name: &str) -> Option<String> {
    let query = head.uri.query()?;
    let pair = query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name)?;
    Some(unescape(pair.1))
}

fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| str::from_utf8(digits).ok());
        match (byte, digits.and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (b'%', Some(value)) => {
                out.push(value);
                at += 3;
            }
            (b'+', _) => {
                out.push(b' ');
                at += 1;
            }
            (byte, _) => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_to_repositories_and_nowhere_else() {
        let hex = "0".repeat(64);
        let digest = Digest::parse(&format!("sha256:{hex}")).unwrap();
        let parse = |path: &str| Route::parse(path).ok();
        assert_eq!(parse("/v2/"), Some(Route::Base));
        assert_eq!(parse("/v2/a/b/tags/list"), Some(Route::Tags("a/b".to_owned())));
        assert_eq!(
            parse("/v2/tags/list/manifests/x"),
            Some(Route::Manifest("tags/list".to_owned(), "x".to_owned()))
        );
        assert_eq!(
            parse(&format!("/v2/a/blobs/sha256:{hex}")),
            Some(Route::Blob("a".to_owned(), digest.clone()))
        );
        assert_eq!(parse(&format!("/v2/a/blobs/sha256%3A{hex}")), Some(Route::Blob("a".to_owned(), digest)));
        assert_eq!(parse("/v2/a/blobs/uploads/"), Some(Route::Uploads("a".to_owned())));
        assert_eq!(parse("/v2/a/blobs/uploads/x"), Some(Route::Upload("a".to_owned(), "x".to_owned())));
        for path in [
            "/",
            "/v1/",
            "/v2/x",
            "/v2/../x/tags/list",
            "/v2/a/../b/tags/list",
            "/v2//tags/list",
            "/v2/_x/tags/list",
            "/v2/a/blobs/sha256:../../x",
            "/v2/A/tags/list",
            "/v2/%2e%2e/tags/list",
            "/v2/tags/list",
        ] {
            assert_eq!(parse(path), None, "{path}");
        }
    }
}
