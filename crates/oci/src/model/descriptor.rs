//! Content descriptors.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    ANNOTATION_REF_NAME, Error, MEDIA_TYPE_DOCKER_MANIFEST, MEDIA_TYPE_DOCKER_MANIFEST_LIST,
    MEDIA_TYPE_INDEX, MEDIA_TYPE_MANIFEST, Platform,
};
use crate::digest::Digest;

/// Annotations or labels, by key.
pub type Annotations = BTreeMap<String, String>;

/// A descriptor: media type, digest and size of content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Media type.
    pub media_type: String,
    /// Content digest.
    pub digest: Digest,
    /// Size in bytes.
    pub size: u64,
    /// Annotations.
    pub annotations: Annotations,
    /// Platform, for entries of an index.
    pub platform: Option<Platform>,
    /// Artifact type, for manifests that are not images.
    pub artifact_type: Option<String>,
}

impl Descriptor {
    /// Describes `data`.
    pub fn for_content(media_type: &str, data: &[u8]) -> Self {
        Self::new(media_type, Digest::sha256(data), data.len() as u64)
    }

    /// Describes content by digest and size.
    pub fn new(media_type: &str, digest: Digest, size: u64) -> Self {
        let annotations = Annotations::new();
        Self {
            media_type: media_type.to_owned(),
            digest,
            size,
            annotations,
            platform: None,
            artifact_type: None,
        }
    }

    /// Whether the content is an image index.
    pub fn is_index(&self) -> bool {
        matches!(self.media_type.as_str(), MEDIA_TYPE_INDEX | MEDIA_TYPE_DOCKER_MANIFEST_LIST)
    }

    /// Whether the content is an image manifest.
    pub fn is_manifest(&self) -> bool {
        matches!(self.media_type.as_str(), MEDIA_TYPE_MANIFEST | MEDIA_TYPE_DOCKER_MANIFEST)
    }

    /// The image name in a layout's index (`org.opencontainers.image.ref.name`).
    pub fn ref_name(&self) -> Option<&str> {
        self.annotations.get(ANNOTATION_REF_NAME).map(String::as_str)
    }

    /// The JSON form.
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        if !self.annotations.is_empty() {
            map.insert("annotations".to_owned(), annotations_to_json(&self.annotations));
        }
        if let Some(artifact_type) = &self.artifact_type {
            map.insert("artifactType".to_owned(), artifact_type.as_str().into());
        }
        map.insert("digest".to_owned(), self.digest.to_string().into());
        map.insert("mediaType".to_owned(), self.media_type.as_str().into());
        if let Some(platform) = &self.platform {
            map.insert("platform".to_owned(), platform.to_json());
        }
        map.insert("size".to_owned(), self.size.into());
        Value::Object(map)
    }

    pub(crate) fn from_json(
        value: &Value,
        document: &'static str,
        field: &'static str,
    ) -> Result<Self, Error> {
        let invalid = |reason: &str| Error::InvalidField { document, field, reason: reason.to_owned() };
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let media_type = text("mediaType").filter(|text| is_media_type(text));
        let digest = text("digest").ok_or_else(|| invalid("a descriptor has no digest"))?;
        let digest = Digest::parse(digest).map_err(|e| invalid(&e.to_string()))?;
        let size = value.get("size").and_then(Value::as_u64).filter(|size| i64::try_from(*size).is_ok());
        Ok(Self {
            media_type: media_type.ok_or_else(|| invalid("a descriptor has no media type"))?.to_owned(),
            digest,
            size: size.ok_or_else(|| invalid("a descriptor has no size"))?,
            annotations: annotations(value, document)?,
            platform: value.get("platform").and_then(Platform::from_json),
            artifact_type: text("artifactType").filter(|text| !text.is_empty()).map(str::to_owned),
        })
    }
}

pub(super) fn annotations_to_json(annotations: &Annotations) -> Value {
    annotations.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect()
}

/// Whether the text is a media type that can be sent in a header.
pub fn is_media_type(text: &str) -> bool {
    text.len() <= 255 && text.contains('/') && text.bytes().all(|byte| byte.is_ascii_graphic())
}

pub(super) fn annotations(value: &Value, document: &'static str) -> Result<Annotations, Error> {
    let invalid =
        |reason: &str| Error::InvalidField { document, field: "annotations", reason: reason.to_owned() };
    match value.get("annotations") {
        None | Some(Value::Null) => Ok(Annotations::new()),
        Some(Value::Object(map)) => map
            .iter()
            .map(|(key, value)| match value.as_str() {
                Some(text) => Ok((key.clone(), text.to_owned())),
                None => Err(invalid(&format!("{key:?} is not a string"))),
            })
            .collect(),
        Some(_) => Err(invalid("it has to be a map of strings")),
    }
}
