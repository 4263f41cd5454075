//! Descriptors: what some content is, by digest.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{DOCKER_INDEX, DOCKER_MANIFEST, Error, INDEX, MANIFEST, Platform, REF_NAME};
use crate::digest::Digest;

/// Texts by name.
pub type Annotations = BTreeMap<String, String>;

/// What some content is, how long it is, and its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// What it is.
    pub media_type: String,
    /// Its digest.
    pub digest: Digest,
    /// Its bytes.
    pub size: u64,
    /// What else is said of it.
    pub annotations: Annotations,
    /// For an image in an index: what it runs on.
    pub platform: Option<Platform>,
    /// For something that is no image: what it is.
    pub artifact_type: Option<String>,
}

impl Descriptor {
    /// Of these bytes.
    pub fn of(media_type: &str, data: &[u8]) -> Self {
        Self::new(media_type, Digest::of(data), data.len() as u64)
    }

    /// Of content that is known by digest and size.
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

    /// Whether it is an index of images.
    pub fn is_index(&self) -> bool {
        matches!(self.media_type.as_str(), INDEX | DOCKER_INDEX)
    }

    /// Whether it is an image.
    pub fn is_manifest(&self) -> bool {
        matches!(self.media_type.as_str(), MANIFEST | DOCKER_MANIFEST)
    }

    /// Its name in a layout's index.
    pub fn ref_name(&self) -> Option<&str> {
        self.annotations.get(REF_NAME).map(String::as_str)
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let mut map = Map::new();
        if !self.annotations.is_empty() {
            map.insert("annotations".to_owned(), annotations_json(&self.annotations));
        }
        if let Some(kind) = &self.artifact_type {
            map.insert("artifactType".to_owned(), kind.as_str().into());
        }
        map.insert("digest".to_owned(), self.digest.to_string().into());
        map.insert("mediaType".to_owned(), self.media_type.as_str().into());
        if let Some(platform) = &self.platform {
            map.insert("platform".to_owned(), platform.json());
        }
        map.insert("size".to_owned(), self.size.into());
        Value::Object(map)
    }

    pub(crate) fn read(value: &Value, what: &'static str, field: &'static str) -> Result<Self, Error> {
        let wrong = |why: &str| Error::Field { what, field, why: why.to_owned() };
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let media_type = text("mediaType").filter(|text| is_media_type(text));
        let digest = text("digest").ok_or_else(|| wrong("a descriptor has no digest"))?;
        let digest = Digest::parse(digest).map_err(|e| wrong(&e.to_string()))?;
        let size = value.get("size").and_then(Value::as_u64).filter(|size| i64::try_from(*size).is_ok());
        Ok(Self {
            media_type: media_type.ok_or_else(|| wrong("a descriptor has no media type"))?.to_owned(),
            digest,
            size: size.ok_or_else(|| wrong("a descriptor has no size"))?,
            annotations: annotations(value, what)?,
            platform: value.get("platform").and_then(Platform::read),
            artifact_type: text("artifactType").filter(|text| !text.is_empty()).map(str::to_owned),
        })
    }
}

pub(super) fn annotations_json(annotations: &Annotations) -> Value {
    annotations.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect()
}

/// Whether a text can be a media type, and so may stand in a header.
pub fn is_media_type(text: &str) -> bool {
    text.len() <= 255 && text.contains('/') && text.bytes().all(|byte| byte.is_ascii_graphic())
}

pub(super) fn annotations(value: &Value, what: &'static str) -> Result<Annotations, Error> {
    let wrong = |why: &str| Error::Field { what, field: "annotations", why: why.to_owned() };
    match value.get("annotations") {
        None | Some(Value::Null) => Ok(Annotations::new()),
        Some(Value::Object(map)) => map
            .iter()
            .map(|(key, value)| match value.as_str() {
                Some(text) => Ok((key.clone(), text.to_owned())),
                None => Err(wrong(&format!("{key:?} is no text"))),
            })
            .collect(),
        Some(_) => Err(wrong("it has to be texts by name")),
    }
}
