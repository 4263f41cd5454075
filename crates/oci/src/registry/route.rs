//! Routes of the distribution API.

use http::request::Parts;

use super::response::ApiError;
use crate::digest::Digest;
use crate::reference::is_repository;
use http::StatusCode;

/// The endpoints of the distribution API.
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
    pub(super) fn parse(path: &str) -> Result<Self, ApiError> {
        let unknown = || ApiError::new(StatusCode::NOT_FOUND, "NAME_UNKNOWN", "unknown API path");
        if path.len() > 1024 {
            return Err(unknown());
        }
        let path_suffix = path.strip_prefix("/v2").ok_or_else(unknown)?;
        if matches!(path_suffix, "" | "/") {
            return Ok(Self::Base);
        }
        let segments: Vec<&str> = path_suffix.trim_start_matches('/').split('/').collect();
        let name = |segments: &[&str]| {
            let name = segments.join("/");
            let invalid =
                "a repository's name is made of lower case letters, digits and ., _, - between them";
            if is_repository(&name) {
                Ok(name)
            } else {
                Err(ApiError::new(StatusCode::BAD_REQUEST, "NAME_INVALID", invalid))
            }
        };
        let digest = |text: &str| {
            Digest::parse(text)
                .map_err(|e| ApiError::new(StatusCode::BAD_REQUEST, "DIGEST_INVALID", &e.to_string()))
        };
        match segments.as_slice() {
            ["_catalog"] => Ok(Self::Catalog),
            [name_segments @ .., "tags", "list"] => Ok(Self::Tags(name(name_segments)?)),
            [name_segments @ .., "manifests", reference] => {
                Ok(Self::Manifest(name(name_segments)?, percent_decode(reference)))
            }
            [name_segments @ .., "blobs", "uploads"] | [name_segments @ .., "blobs", "uploads", ""] => {
                Ok(Self::Uploads(name(name_segments)?))
            }
            [name_segments @ .., "blobs", "uploads", id] => {
                Ok(Self::Upload(name(name_segments)?, (*id).to_owned()))
            }
            [name_segments @ .., "blobs", blob] => {
                Ok(Self::Blob(name(name_segments)?, digest(&percent_decode(blob))?))
            }
            [name_segments @ .., "referrers", subject] => {
                Ok(Self::Referrers(name(name_segments)?, digest(&percent_decode(subject))?))
            }
            _ => Err(unknown()),
        }
    }
}

/// The value of a query parameter.
pub(super) fn query_parameter(head: &Parts, name: &str) -> Option<String> {
    let query = head.uri.query()?;
    let pair = query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name)?;
    Some(percent_decode(pair.1))
}

fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::new();
    let mut index = 0;
    while let Some(byte) = bytes.get(index) {
        let digits = bytes.get(index + 1..index + 3).and_then(|digits| str::from_utf8(digits).ok());
        match (byte, digits.and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (b'%', Some(value)) => {
                decoded.push(value);
                index += 3;
            }
            (b'+', _) => {
                decoded.push(b' ');
                index += 1;
            }
            (byte, _) => {
                decoded.push(*byte);
                index += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_distribution_paths_and_rejects_others() {
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
