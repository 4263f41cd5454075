//! Descriptors, manifests, indexes and configs of the OCI and Docker image formats.
//!
//! These are strictly validated views: stores keep the original bytes of a manifest, because its digest is computed
//! over them.

mod config;
mod descriptor;
mod manifest;
mod platform;

use serde_json::Value;

pub use config::Config;
pub use descriptor::{Annotations, Descriptor, is_media_type};
pub use manifest::{Index, Manifest, ManifestOrIndex};
pub use platform::Platform;

/// OCI image manifest.
pub const MEDIA_TYPE_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// OCI image index.
pub const MEDIA_TYPE_INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// OCI image config.
pub const MEDIA_TYPE_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
/// OCI layer, uncompressed.
pub const MEDIA_TYPE_LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
/// OCI layer, compressed with gzip.
pub const MEDIA_TYPE_LAYER_GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
/// The empty JSON object `{}`.
pub const MEDIA_TYPE_EMPTY: &str = "application/vnd.oci.empty.v1+json";
/// Docker image manifest, schema 2.
pub const MEDIA_TYPE_DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
/// Docker manifest list.
pub const MEDIA_TYPE_DOCKER_MANIFEST_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
/// Docker image config.
pub const MEDIA_TYPE_DOCKER_CONFIG: &str = "application/vnd.docker.container.image.v1+json";
/// Docker layer, compressed with gzip.
pub const MEDIA_TYPE_DOCKER_LAYER: &str = "application/vnd.docker.image.rootfs.diff.tar.gzip";
/// Annotation that names an image in a layout's index.
pub const ANNOTATION_REF_NAME: &str = "org.opencontainers.image.ref.name";

/// Maximum size of a manifest or index; registries enforce the same limit.
pub const MAX_MANIFEST: u64 = 4 << 20;
/// Maximum size of an image config.
pub const MAX_CONFIG: u64 = 8 << 20;
const MAX_LAYERS: usize = 1000;
const MAX_MANIFESTS: usize = 10_000;

/// A manifest, index, config or platform that is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The document is not JSON.
    #[error("{document} is not JSON: {reason}")]
    Json {
        /// The document.
        document: &'static str,
        /// The parse error.
        reason: String,
    },
    /// A field is missing or invalid.
    #[error("{document} has no valid {field}: {reason}")]
    InvalidField {
        /// The document.
        document: &'static str,
        /// The field.
        field: &'static str,
        /// The violated rule.
        reason: String,
    },
    /// The media type is neither a manifest nor an index.
    #[error(
        "unsupported media type {0:?}: supported are OCI and Docker (schema 2) image manifests and indexes"
    )]
    UnsupportedMediaType(String),
    /// The document exceeds its size limit.
    #[error("{document} has {size} bytes, more than the limit of {limit}")]
    TooLarge {
        /// The document.
        document: &'static str,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The platform cannot be parsed.
    #[error("{0:?} is not a platform: write OS/ARCHITECTURE, for example linux/arm64")]
    InvalidPlatform(String),
    /// The index has no image for the platform.
    #[error("no image for platform {requested}; available: {available}")]
    NoMatchingPlatform {
        /// The requested platform.
        requested: String,
        /// The platforms of the index.
        available: String,
    },
}

fn parse_object(data: &[u8], document: &'static str, limit: u64) -> Result<Value, Error> {
    if data.len() as u64 > limit {
        return Err(Error::TooLarge { document, size: data.len() as u64, limit });
    }
    let value: Value =
        serde_json::from_slice(data).map_err(|e| Error::Json { document, reason: e.to_string() })?;
    if value.is_object() {
        Ok(value)
    } else {
        Err(Error::Json { document, reason: "it is not an object".to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob() -> Descriptor {
        Descriptor::for_content(MEDIA_TYPE_LAYER, b"x")
    }

    #[test]
    fn manifests_and_indexes_round_trip() {
        let mut manifest = Manifest::new(blob(), vec![blob(), blob()]);
        manifest.annotations.insert("a".to_owned(), "b".to_owned());
        manifest.subject = Some(blob());
        let parsed = ManifestOrIndex::parse(&manifest.to_bytes(), Some(MEDIA_TYPE_MANIFEST)).unwrap();
        assert_eq!(parsed, ManifestOrIndex::Manifest(manifest));
        assert_eq!(parsed.blobs().len(), 1);
        let mut entry = blob();
        entry.platform = Some(Platform::parse("linux/arm/v7").unwrap());
        let index = Index::new(vec![entry]);
        assert_eq!(ManifestOrIndex::parse(&index.to_bytes(), None).unwrap(), ManifestOrIndex::Index(index));
    }

    #[test]
    fn parse_rejects_malformed_and_ambiguous_manifests() {
        let manifest = String::from_utf8(Manifest::new(blob(), vec![blob()]).to_bytes()).unwrap();
        let both = manifest.replacen('{', "{\"manifests\":[],", 1);
        let one = manifest.replace("\"schemaVersion\":2", "\"schemaVersion\":1");
        let negative = manifest.replace("\"size\":1", "\"size\":-1");
        let huge = manifest.replace("\"size\":1", "\"size\":18446744073709551615");
        let float = manifest.replace("\"size\":1", "\"size\":1.5");
        let escape = manifest.replace("sha256:", "sha256:../");
        for text in ["", "[]", "{}", "null", &both, &one, &negative, &huge, &float, &escape] {
            assert!(ManifestOrIndex::parse(text.as_bytes(), None).is_err(), "{text}");
        }
        assert!(ManifestOrIndex::parse(manifest.as_bytes(), Some(MEDIA_TYPE_INDEX)).is_err());
        assert!(ManifestOrIndex::parse(manifest.as_bytes(), Some("application/json")).is_ok());
        assert!(
            ManifestOrIndex::parse(
                manifest.as_bytes(),
                Some(&format!("{MEDIA_TYPE_MANIFEST}; charset=utf-8"))
            )
            .is_ok()
        );
        assert!(ManifestOrIndex::parse(&vec![b' '; (MAX_MANIFEST + 1) as usize], None).is_err());
        assert!(ManifestOrIndex::parse("[".repeat(100_000).as_bytes(), None).is_err());
        let oversized = format!(
            "{{\"schemaVersion\":2,\"config\":{0},\"layers\":[{1}]}}",
            blob().to_json(),
            [blob().to_json().to_string().as_str(); 1001].join(",")
        );
        assert!(ManifestOrIndex::parse(oversized.as_bytes(), None).is_err());
    }

    #[test]
    fn index_selects_matching_platform() {
        let image = |platform: Option<&str>| Descriptor {
            platform: platform.map(|text| Platform::parse(text).unwrap()),
            ..Descriptor::for_content(MEDIA_TYPE_MANIFEST, platform.unwrap_or_default().as_bytes())
        };
        let index = Index::new(vec![
            image(Some("linux/arm64/v8")),
            image(Some("linux/arm/v6")),
            image(Some("linux/arm/v7")),
        ]);
        let select = |text: &str| {
            index
                .select(&Platform::parse(text).unwrap())
                .map(|image| image.platform.clone().unwrap().to_string())
        };
        assert_eq!(select("linux/arm64").unwrap(), "linux/arm64");
        assert_eq!(select("linux/arm/v7").unwrap(), "linux/arm/v7");
        assert!(select("linux/amd64").unwrap_err().to_string().contains("linux/arm/v6"));
        assert!(Index::new(vec![image(None)]).select(&Platform::host()).is_ok());
        for text in ["", "linux", "linux/", "a/b/c/d", "linux/a b"] {
            assert!(Platform::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn config_exposes_run_settings() {
        let text = br#"{"os":"linux","architecture":"amd64","config":{"Entrypoint":["/a"],"Cmd":["b"],"Labels":{"k":"v","n":1},"User":"1"},
            "rootfs":{"type":"layers","diff_ids":[]}}"#;
        let config = Config::parse(text).unwrap();
        assert_eq!(
            (config.command(), config.label("k"), config.string("User")),
            (vec!["/a".to_owned(), "b".to_owned()], Some("v"), "1")
        );
        assert_eq!(config.labels().len(), 1);
        assert!(Config::parse(br#"{"rootfs":{"diff_ids":["x"]}}"#).is_err());
    }
}
