//! Manifests and indexes.

use serde_json::{Map, Value};

use super::descriptor::{annotations, annotations_to_json};
use super::*;

/// An image: a configuration and layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// In whose words.
    pub media_type: String,
    /// Its configuration.
    pub config: Descriptor,
    /// Its layers, the lowest first.
    pub layers: Vec<Descriptor>,
    /// What it is about, for signatures and the like.
    pub subject: Option<Descriptor>,
    /// What it is, if it is no image.
    pub artifact_type: Option<String>,
    /// What is said of it.
    pub annotations: Annotations,
}

impl Manifest {
    /// An image in OCI's words.
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

    /// As bytes; the same image is always the same bytes.
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

/// Images for several platforms, or of several names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// In whose words.
    pub media_type: String,
    /// The images.
    pub manifests: Vec<Descriptor>,
    /// What it is about.
    pub subject: Option<Descriptor>,
    /// What it is, if it is not about images.
    pub artifact_type: Option<String>,
    /// What is said of it.
    pub annotations: Annotations,
}

impl Index {
    /// An index in OCI's words.
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

    /// As bytes; the same index is always the same bytes.
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

    /// The image for a platform.
    pub fn select(&self, platform: &Platform) -> Result<&Descriptor, Error> {
        let images = self.manifests.iter().filter(|image| image.is_manifest() || image.is_index());
        let exact = |image: &&Descriptor| image.platform.as_ref() == Some(platform);
        let compatible = |image: &&Descriptor| {
            image.platform.as_ref().is_some_and(|available| platform.can_run(available))
        };
        if let Some(image) = images.clone().find(exact).or_else(|| images.clone().find(compatible)) {
            return Ok(image);
        }
        // An index of one image that says nothing of platforms means just that one.
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

/// A manifest or an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ManifestOrIndex {
    /// One image.
    Manifest(Manifest),
    /// Several.
    Index(Index),
}

impl ManifestOrIndex {
    /// Reads one. `media_type` is what somebody said it is: then it has to be that.
    pub fn parse(data: &[u8], media_type: Option<&str>) -> Result<Self, Error> {
        const DOCUMENT: &str = "the manifest";
        let value = parse_object(data, DOCUMENT, MAX_MANIFEST)?;
        let invalid = |field, reason: &str| Error::InvalidField {
            document: DOCUMENT,
            field,
            reason: reason.to_owned(),
        };
        let declared = media_type.map(|text| text.split(';').next().unwrap_or_default().trim());
        // What is stored before anybody knew better is sent as plain JSON.
        let declared = declared.filter(|text| {
            !matches!(*text, "" | "application/json" | "application/octet-stream" | "text/plain")
        });
        let embedded = match value.get("mediaType") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if text.is_empty() => None,
            Some(Value::String(text)) => Some(text.as_str()),
            Some(_) => return Err(invalid("mediaType", "it is no text")),
        };
        if let (Some(declared), Some(embedded)) = (declared, embedded)
            && declared != embedded
        {
            return Err(invalid(
                "mediaType",
                &format!("it says {embedded:?} and is said to be {declared:?}"),
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
        // One text that is an image to one reader and an index to another one is a trick.
        let (has_manifests, layers) = (
            value.get("manifests").is_some(),
            value.get("layers").is_some() || value.get("config").is_some(),
        );
        if has_manifests && layers {
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
            Some(Value::Array(has_manifests)) if has_manifests.len() > limit => {
                Err(invalid(field, &format!("more than {limit} are not read")))
            }
            Some(Value::Array(has_manifests)) => {
                has_manifests.iter().map(|entry| Descriptor::from_json(entry, DOCUMENT, field)).collect()
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

    /// In whose words it is.
    pub fn media_type(&self) -> &str {
        match self {
            Self::Manifest(manifest) => &manifest.media_type,
            Self::Index(index) => &index.media_type,
        }
    }

    /// What it is about.
    pub fn subject(&self) -> Option<&Descriptor> {
        match self {
            Self::Manifest(manifest) => manifest.subject.as_ref(),
            Self::Index(index) => index.subject.as_ref(),
        }
    }

    /// The blobs that it needs: configuration and layers, each once.
    pub fn blobs(&self) -> Vec<&Descriptor> {
        let Self::Manifest(manifest) = self else { return Vec::new() };
        let mut seen = std::collections::BTreeSet::new();
        let all = std::iter::once(&manifest.config).chain(&manifest.layers);
        all.filter(|blob| seen.insert(blob.digest.clone())).collect()
    }

    /// The manifests that it lists.
    pub fn manifests(&self) -> &[Descriptor] {
        match self {
            Self::Manifest(_) => &[],
            Self::Index(index) => &index.manifests,
        }
    }
}
