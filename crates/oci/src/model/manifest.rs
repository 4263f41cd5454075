//! Image manifests and indexes.

use serde_json::{Map, Value};

use super::descriptor::{annotations, annotations_to_json};
use super::*;

/// An image manifest: a config and layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Media type, OCI or Docker.
    pub media_type: String,
    /// Config descriptor.
    pub config: Descriptor,
    /// Layers, lowest first.
    pub layers: Vec<Descriptor>,
    /// Subject, for referrers such as signatures.
    pub subject: Option<Descriptor>,
    /// Artifact type, if the manifest is not an image.
    pub artifact_type: Option<String>,
    /// Annotations.
    pub annotations: Annotations,
}

impl Manifest {
    /// Creates an OCI image manifest.
    pub fn new(config: Descriptor, layers: Vec<Descriptor>) -> Self {
        let annotations = Annotations::new();
        Self {
            media_type: MEDIA_TYPE_MANIFEST.to_owned(),
            config,
            layers,
            subject: None,
            artifact_type: None,
            annotations,
        }
    }

    /// Serializes the manifest deterministically.
    pub fn to_bytes(&self) -> Vec<u8> {
        let layers: Vec<Value> = self.layers.iter().map(Descriptor::to_json).collect();
        let mut map = Map::new();
        if !self.annotations.is_empty() {
            map.insert("annotations".to_owned(), annotations_to_json(&self.annotations));
        }
        if let Some(artifact_type) = &self.artifact_type {
            map.insert("artifactType".to_owned(), artifact_type.as_str().into());
        }
        map.insert("config".to_owned(), self.config.to_json());
        map.insert("layers".to_owned(), layers.into());
        map.insert("mediaType".to_owned(), self.media_type.as_str().into());
        map.insert("schemaVersion".to_owned(), 2.into());
        if let Some(subject) = &self.subject {
            map.insert("subject".to_owned(), subject.to_json());
        }
        Value::Object(map).to_string().into_bytes()
    }
}

/// An image index: manifests for several platforms or names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Media type, OCI or Docker.
    pub media_type: String,
    /// The listed manifests.
    pub manifests: Vec<Descriptor>,
    /// Subject, for referrers.
    pub subject: Option<Descriptor>,
    /// Artifact type, if the index is not an image.
    pub artifact_type: Option<String>,
    /// Annotations.
    pub annotations: Annotations,
}

impl Index {
    /// Creates an OCI image index.
    pub fn new(manifests: Vec<Descriptor>) -> Self {
        let annotations = Annotations::new();
        Self {
            media_type: MEDIA_TYPE_INDEX.to_owned(),
            manifests,
            subject: None,
            artifact_type: None,
            annotations,
        }
    }

    /// Serializes the index deterministically.
    pub fn to_bytes(&self) -> Vec<u8> {
        let manifests: Vec<Value> = self.manifests.iter().map(Descriptor::to_json).collect();
        let mut map = Map::new();
        if !self.annotations.is_empty() {
            map.insert("annotations".to_owned(), annotations_to_json(&self.annotations));
        }
        if let Some(artifact_type) = &self.artifact_type {
            map.insert("artifactType".to_owned(), artifact_type.as_str().into());
        }
        map.insert("manifests".to_owned(), manifests.into());
        map.insert("mediaType".to_owned(), self.media_type.as_str().into());
        map.insert("schemaVersion".to_owned(), 2.into());
        if let Some(subject) = &self.subject {
            map.insert("subject".to_owned(), subject.to_json());
        }
        Value::Object(map).to_string().into_bytes()
    }

    /// Selects the manifest for a platform.
    pub fn select(&self, platform: &Platform) -> Result<&Descriptor, Error> {
        let images = self.manifests.iter().filter(|image| image.is_manifest() || image.is_index());
        let exact = |image: &&Descriptor| image.platform.as_ref() == Some(platform);
        let compatible = |image: &&Descriptor| {
            image.platform.as_ref().is_some_and(|available| platform.can_run(available))
        };
        if let Some(image) = images.clone().find(exact).or_else(|| images.clone().find(compatible)) {
            return Ok(image);
        }
        // A single manifest without a platform serves every platform.
        let all: Vec<&Descriptor> = images.collect();
        match all.as_slice() {
            [only] if only.platform.is_none() => Ok(only),
            _ => {
                let available = |image: &&Descriptor| {
                    image.platform.as_ref().map_or("any".to_owned(), ToString::to_string)
                };
                let mut available: Vec<String> = all.iter().map(available).take(20).collect();
                available.dedup();
                let available = if available.is_empty() { "none".to_owned() } else { available.join(", ") };
                Err(Error::NoMatchingPlatform { requested: platform.to_string(), available })
            }
        }
    }
}

/// An image manifest or an image index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ManifestOrIndex {
    /// An image manifest.
    Manifest(Manifest),
    /// An image index.
    Index(Index),
}

impl ManifestOrIndex {
    /// Parses a manifest or index. A declared `media_type` has to match the content.
    pub fn parse(data: &[u8], media_type: Option<&str>) -> Result<Self, Error> {
        const DOCUMENT: &str = "the manifest";
        let value = parse_object(data, DOCUMENT, MAX_MANIFEST)?;
        let invalid = |field, reason: &str| Error::InvalidField {
            document: DOCUMENT,
            field,
            reason: reason.to_owned(),
        };
        let declared = media_type.map(|text| text.split(';').next().unwrap_or_default().trim());
        // Some registries serve manifests with a generic content type.
        let declared = declared.filter(|text| {
            !matches!(*text, "" | "application/json" | "application/octet-stream" | "text/plain")
        });
        let embedded = match value.get("mediaType") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if text.is_empty() => None,
            Some(Value::String(text)) => Some(text.as_str()),
            Some(_) => return Err(invalid("mediaType", "it is not a string")),
        };
        if let (Some(declared), Some(embedded)) = (declared, embedded)
            && declared != embedded
        {
            return Err(invalid(
                "mediaType",
                &format!("it is {embedded:?}, but was declared as {declared:?}"),
            ));
        }
        if value.get("schemaVersion").and_then(Value::as_u64) != Some(2) {
            return Err(match declared.or(embedded) {
                Some(resolved_type)
                    if !resolved_type.contains("manifest.v2") && !resolved_type.contains("oci.image") =>
                {
                    Error::UnsupportedMediaType(resolved_type.to_owned())
                }
                _ => invalid("schemaVersion", "it has to be 2"),
            });
        }
        // A document that is a manifest to one client and an index to another one would be ambiguous.
        let (has_manifests, has_layers) = (
            value.get("manifests").is_some(),
            value.get("layers").is_some() || value.get("config").is_some(),
        );
        if has_manifests && has_layers {
            return Err(invalid("layers", "it has both layers and manifests"));
        }
        let resolved_type = declared.or(embedded).unwrap_or(if has_manifests {
            MEDIA_TYPE_INDEX
        } else {
            MEDIA_TYPE_MANIFEST
        });
        let subject = match value.get("subject") {
            None | Some(Value::Null) => None,
            Some(subject) => Some(Descriptor::from_json(subject, DOCUMENT, "subject")?),
        };
        let artifact_type = value.get("artifactType").and_then(Value::as_str).filter(|text| !text.is_empty());
        let artifact_type = artifact_type.map(str::to_owned);
        let annotations = annotations(&value, DOCUMENT)?;
        let descriptors = |field: &'static str, limit: usize| match value.get(field) {
            Some(Value::Array(list)) if list.len() > limit => {
                Err(invalid(field, &format!("it has more than {limit} entries")))
            }
            Some(Value::Array(list)) => {
                list.iter().map(|entry| Descriptor::from_json(entry, DOCUMENT, field)).collect()
            }
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(_) => Err(invalid(field, "it has to be a list")),
        };
        let media_type = resolved_type.to_owned();
        match resolved_type {
            MEDIA_TYPE_MANIFEST | MEDIA_TYPE_DOCKER_MANIFEST => {
                let config = value.get("config").ok_or_else(|| invalid("config", "it is missing"))?;
                let config = Descriptor::from_json(config, DOCUMENT, "config")?;
                let layers = descriptors("layers", MAX_LAYERS)?;
                Ok(Self::Manifest(Manifest {
                    media_type,
                    config,
                    layers,
                    subject,
                    artifact_type,
                    annotations,
                }))
            }
            MEDIA_TYPE_INDEX | MEDIA_TYPE_DOCKER_MANIFEST_LIST => {
                let manifests = descriptors("manifests", MAX_MANIFESTS)?;
                Ok(Self::Index(Index { media_type, manifests, subject, artifact_type, annotations }))
            }
            other => Err(Error::UnsupportedMediaType(other.chars().take(200).collect())),
        }
    }

    /// The media type.
    pub fn media_type(&self) -> &str {
        match self {
            Self::Manifest(manifest) => &manifest.media_type,
            Self::Index(index) => &index.media_type,
        }
    }

    /// The subject, for referrers.
    pub fn subject(&self) -> Option<&Descriptor> {
        match self {
            Self::Manifest(manifest) => manifest.subject.as_ref(),
            Self::Index(index) => index.subject.as_ref(),
        }
    }

    /// The referenced blobs (config and layers), without duplicates.
    pub fn blobs(&self) -> Vec<&Descriptor> {
        let Self::Manifest(manifest) = self else { return Vec::new() };
        let mut seen = std::collections::BTreeSet::new();
        let all = std::iter::once(&manifest.config).chain(&manifest.layers);
        all.filter(|blob| seen.insert(blob.digest.clone())).collect()
    }

    /// The manifests listed by an index.
    pub fn manifests(&self) -> &[Descriptor] {
        match self {
            Self::Manifest(_) => &[],
            Self::Index(index) => &index.manifests,
        }
    }
}
