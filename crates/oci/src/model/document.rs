//! Manifests and indexes.

use serde_json::{Map, Value};

use super::descriptor::{annotations, annotations_json};
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
            media_type: MANIFEST.to_owned(),
            config,
            layers,
            subject: None,
            artifact_type: None,
            annotations,
        }
    }

    /// As bytes; the same image is always the same bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let layers: Vec<Value> = self.layers.iter().map(Descriptor::json).collect();
        let mut map = Map::new();
        if !self.annotations.is_empty() {
            map.insert("annotations".to_owned(), annotations_json(&self.annotations));
        }
        if let Some(kind) = &self.artifact_type {
            map.insert("artifactType".to_owned(), kind.as_str().into());
        }
        map.insert("config".to_owned(), self.config.json());
        map.insert("layers".to_owned(), layers.into());
        map.insert("mediaType".to_owned(), self.media_type.as_str().into());
        map.insert("schemaVersion".to_owned(), 2.into());
        if let Some(subject) = &self.subject {
            map.insert("subject".to_owned(), subject.json());
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
        Self { media_type: INDEX.to_owned(), manifests, subject: None, artifact_type: None, annotations }
    }

    /// As bytes; the same index is always the same bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let manifests: Vec<Value> = self.manifests.iter().map(Descriptor::json).collect();
        let mut map = Map::new();
        if !self.annotations.is_empty() {
            map.insert("annotations".to_owned(), annotations_json(&self.annotations));
        }
        if let Some(kind) = &self.artifact_type {
            map.insert("artifactType".to_owned(), kind.as_str().into());
        }
        map.insert("manifests".to_owned(), manifests.into());
        map.insert("mediaType".to_owned(), self.media_type.as_str().into());
        map.insert("schemaVersion".to_owned(), 2.into());
        if let Some(subject) = &self.subject {
            map.insert("subject".to_owned(), subject.json());
        }
        Value::Object(map).to_string().into_bytes()
    }

    /// The image for a platform.
    pub fn choose(&self, platform: &Platform) -> Result<&Descriptor, Error> {
        let images = self.manifests.iter().filter(|image| image.is_manifest() || image.is_index());
        let exact = |image: &&Descriptor| image.platform.as_ref() == Some(platform);
        let runs =
            |image: &&Descriptor| image.platform.as_ref().is_some_and(|offered| platform.runs(offered));
        if let Some(image) = images.clone().find(exact).or_else(|| images.clone().find(runs)) {
            return Ok(image);
        }
        // An index of one image that says nothing of platforms means just that one.
        let all: Vec<&Descriptor> = images.collect();
        match all.as_slice() {
            [only] if only.platform.is_none() => Ok(only),
            _ => {
                let offered = |image: &&Descriptor| {
                    image.platform.as_ref().map_or("any".to_owned(), ToString::to_string)
                };
                let mut offered: Vec<String> = all.iter().map(offered).take(20).collect();
                offered.dedup();
                let offered = if offered.is_empty() { "none".to_owned() } else { offered.join(", ") };
                Err(Error::NoPlatform { wanted: platform.to_string(), offered })
            }
        }
    }
}

/// A manifest or an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Document {
    /// One image.
    Manifest(Manifest),
    /// Several.
    Index(Index),
}

impl Document {
    /// Reads one. `media_type` is what somebody said it is: then it has to be that.
    pub fn parse(data: &[u8], media_type: Option<&str>) -> Result<Self, Error> {
        const WHAT: &str = "the manifest";
        let value = object(data, WHAT, MAX_MANIFEST)?;
        let wrong = |field, why: &str| Error::Field { what: WHAT, field, why: why.to_owned() };
        let said = media_type.map(|text| text.split(';').next().unwrap_or_default().trim());
        // What is stored before anybody knew better is sent as plain JSON.
        let said = said.filter(|text| {
            !matches!(*text, "" | "application/json" | "application/octet-stream" | "text/plain")
        });
        let own = match value.get("mediaType") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if text.is_empty() => None,
            Some(Value::String(text)) => Some(text.as_str()),
            Some(_) => return Err(wrong("mediaType", "it is no text")),
        };
        if let (Some(said), Some(own)) = (said, own)
            && said != own
        {
            return Err(wrong("mediaType", &format!("it says {own:?} and is said to be {said:?}")));
        }
        if value.get("schemaVersion").and_then(Value::as_u64) != Some(2) {
            return Err(match said.or(own) {
                Some(kind) if !kind.contains("manifest.v2") && !kind.contains("oci.image") => {
                    Error::Kind(kind.to_owned())
                }
                _ => wrong("schemaVersion", "it has to be 2"),
            });
        }
        // One text that is an image to one reader and an index to another one is a trick.
        let (list, layers) = (
            value.get("manifests").is_some(),
            value.get("layers").is_some() || value.get("config").is_some(),
        );
        if list && layers {
            return Err(wrong("layers", "it has both layers and manifests"));
        }
        let kind = said.or(own).unwrap_or(if list { INDEX } else { MANIFEST });
        let subject = match value.get("subject") {
            None | Some(Value::Null) => None,
            Some(subject) => Some(Descriptor::read(subject, WHAT, "subject")?),
        };
        let artifact = value.get("artifactType").and_then(Value::as_str).filter(|text| !text.is_empty());
        let artifact_type = artifact.map(str::to_owned);
        let annotations = annotations(&value, WHAT)?;
        let descriptors = |field: &'static str, limit: usize| match value.get(field) {
            Some(Value::Array(list)) if list.len() > limit => {
                Err(wrong(field, &format!("more than {limit} are not read")))
            }
            Some(Value::Array(list)) => {
                list.iter().map(|entry| Descriptor::read(entry, WHAT, field)).collect()
            }
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(_) => Err(wrong(field, "it has to be a list")),
        };
        let media_type = kind.to_owned();
        match kind {
            MANIFEST | DOCKER_MANIFEST => {
                let config = value.get("config").ok_or_else(|| wrong("config", "it is missing"))?;
                let config = Descriptor::read(config, WHAT, "config")?;
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
            INDEX | DOCKER_INDEX => {
                let manifests = descriptors("manifests", MAX_MANIFESTS)?;
                Ok(Self::Index(Index { media_type, manifests, subject, artifact_type, annotations }))
            }
            other => Err(Error::Kind(other.chars().take(200).collect())),
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
