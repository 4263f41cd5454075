//! What registries keep beside blobs: descriptors, manifests, indexes and configurations, as OCI and docker write them.
//!
//! Manifests are kept as the bytes that they came in: a digest is of bytes. What is here is a strict view of them.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value, json};

use crate::digest::Digest;

/// An image in OCI's words.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// Images for several platforms in OCI's words.
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// A configuration in OCI's words.
pub const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
/// A layer.
pub const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
/// A layer that is compressed.
pub const LAYER_GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
/// No content: `{}`.
pub const EMPTY: &str = "application/vnd.oci.empty.v1+json";
/// An image in docker's words.
pub const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
/// Images for several platforms in docker's words.
pub const DOCKER_INDEX: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
/// A configuration in docker's words.
pub const DOCKER_CONFIG: &str = "application/vnd.docker.container.image.v1+json";
/// A compressed layer in docker's words.
pub const DOCKER_LAYER: &str = "application/vnd.docker.image.rootfs.diff.tar.gzip";
/// The annotation of a layout's index that names an image.
pub const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// The largest manifest or index; registries have the same limit.
pub const MAX_MANIFEST: u64 = 4 << 20;
/// The largest configuration.
pub const MAX_CONFIG: u64 = 8 << 20;
const MAX_LAYERS: usize = 1000;
const MAX_MANIFESTS: usize = 10_000;

/// Why a document cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is no JSON.
    #[error("{what} is not JSON: {why}")]
    Json {
        /// Which document.
        what: &'static str,
        /// Where and why.
        why: String,
    },
    /// Something in it is not as it has to be.
    #[error("{what} has no valid {field}: {why}")]
    Field {
        /// Which document.
        what: &'static str,
        /// Which field.
        field: &'static str,
        /// Why.
        why: String,
    },
    /// It is of a kind that is not known.
    #[error("{0:?} is neither an image nor an index of images: OCI's and docker's (schema 2) are understood")]
    Kind(String),
    /// It is too large.
    #[error("{what} has {size} bytes: at most {limit} are read")]
    Large {
        /// Which document.
        what: &'static str,
        /// Its size.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// A platform that cannot be understood.
    #[error("{0:?} is not a platform: write OS/ARCHITECTURE, for example linux/arm64")]
    Platform(String),
    /// No image for the platform.
    #[error("there is no image for {wanted}: there are {offered}")]
    NoPlatform {
        /// What was asked for.
        wanted: String,
        /// What there is.
        offered: String,
    },
}

/// What a program runs on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Platform {
    /// The system, as Go names it: `linux`.
    pub os: String,
    /// The processor, as Go names it: `amd64`, `arm64`.
    pub architecture: String,
    /// The processor's generation, for example `v7`.
    pub variant: Option<String>,
}

impl Platform {
    /// Linux on this machine's processor.
    pub fn here() -> Self {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            "x86" => "386",
            "powerpc64" => "ppc64le",
            "loongarch64" => "loong64",
            other => other,
        };
        Self { os: "linux".to_owned(), architecture: architecture.to_owned(), variant: None }
    }

    /// Reads `OS/ARCHITECTURE[/VARIANT]`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Platform(text.chars().take(100).collect());
        let fine = |part: &&str| {
            !part.is_empty()
                && part.len() <= 64
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        };
        let parts: Vec<&str> = text.split('/').collect();
        if !parts.iter().all(fine) {
            return Err(wrong());
        }
        match parts.as_slice() {
            [os, architecture] => Ok(Self::new(os, architecture, None)),
            [os, architecture, variant] => Ok(Self::new(os, architecture, Some(variant))),
            _ => Err(wrong()),
        }
    }

    fn new(os: &str, architecture: &str, variant: Option<&str>) -> Self {
        // Every arm64 is at least v8: the two spellings mean the same.
        let variant = variant.filter(|variant| !(architecture == "arm64" && *variant == "v8"));
        Self { os: os.to_owned(), architecture: architecture.to_owned(), variant: variant.map(str::to_owned) }
    }

    /// Whether what is for `other` runs here.
    pub fn runs(&self, other: &Self) -> bool {
        let variant = self.variant.is_none() || other.variant.is_none() || self.variant == other.variant;
        self.os == other.os && self.architecture == other.architecture && variant
    }

    fn read(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).filter(|text| text.len() <= 64);
        Some(Self::new(text("os")?, text("architecture")?, text("variant").filter(|text| !text.is_empty())))
    }

    fn json(&self) -> Value {
        let mut value = json!({ "architecture": self.architecture, "os": self.os });
        if let (Some(variant), Some(map)) = (&self.variant, value.as_object_mut()) {
            map.insert("variant".to_owned(), variant.as_str().into());
        }
        value
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        match &self.variant {
            Some(variant) => write!(f, "/{variant}"),
            None => Ok(()),
        }
    }
}

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

fn annotations_json(annotations: &Annotations) -> Value {
    annotations.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect()
}

/// Whether a text can be a media type, and so may stand in a header.
pub fn is_media_type(text: &str) -> bool {
    text.len() <= 255 && text.contains('/') && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn annotations(value: &Value, what: &'static str) -> Result<Annotations, Error> {
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

fn object(data: &[u8], what: &'static str, limit: u64) -> Result<Value, Error> {
    if data.len() as u64 > limit {
        return Err(Error::Large { what, size: data.len() as u64, limit });
    }
    let value: Value = serde_json::from_slice(data).map_err(|e| Error::Json { what, why: e.to_string() })?;
    if value.is_object() {
        Ok(value)
    } else {
        Err(Error::Json { what, why: "it is not an object".to_owned() })
    }
}

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

/// The configuration of an image: what runs, and what its layers were before they were compressed.
#[derive(Clone, Debug, PartialEq)]
pub struct Config(Value);

impl Config {
    /// Reads one.
    pub fn parse(data: &[u8]) -> Result<Self, Error> {
        const WHAT: &str = "the configuration";
        let value = object(data, WHAT, MAX_CONFIG)?;
        let config = Self(value);
        if let Some(ids) = config.0.get("rootfs").and_then(|root| root.get("diff_ids")) {
            let wrong = |why: String| Error::Field { what: WHAT, field: "rootfs.diff_ids", why };
            let list = ids.as_array().ok_or_else(|| wrong("it has to be a list".to_owned()))?;
            for id in list {
                let text = id.as_str().ok_or_else(|| wrong("an entry is no text".to_owned()))?;
                Digest::parse(text).map_err(|e| wrong(e.to_string()))?;
            }
        }
        Ok(config)
    }

    /// All of it.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// What its layers are before they are compressed, the lowest first.
    pub fn diff_ids(&self) -> Vec<Digest> {
        let ids = self.0.get("rootfs").and_then(|root| root.get("diff_ids")).and_then(Value::as_array);
        ids.into_iter().flatten().filter_map(|id| Digest::parse(id.as_str()?).ok()).collect()
    }

    /// What it runs on.
    pub fn platform(&self) -> Option<Platform> {
        Platform::read(&self.0)
    }

    /// The labels.
    pub fn labels(&self) -> Annotations {
        let labels = self.section().and_then(|config| config.get("Labels")).and_then(Value::as_object);
        let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
        labels.into_iter().flatten().filter_map(text).collect()
    }

    /// One label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.section()?.get("Labels")?.get(name)?.as_str()
    }

    /// The command: what is always run, then the words that may be replaced.
    pub fn command(&self) -> Vec<String> {
        [self.words("Entrypoint"), self.words("Cmd")].concat()
    }

    /// A list of texts, such as `Entrypoint`, `Cmd`, `Env`.
    pub fn words(&self, name: &str) -> Vec<String> {
        let list = self.section().and_then(|config| config.get(name)).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|word| Some(word.as_str()?.to_owned())).collect()
    }

    /// A text, such as `User`, `WorkingDir`.
    pub fn text(&self, name: &str) -> &str {
        self.section().and_then(|config| config.get(name)).and_then(Value::as_str).unwrap_or_default()
    }

    fn section(&self) -> Option<&Value> {
        self.0.get("config")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob() -> Descriptor {
        Descriptor::of(LAYER, b"x")
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut manifest = Manifest::new(blob(), vec![blob(), blob()]);
        manifest.annotations.insert("a".to_owned(), "b".to_owned());
        manifest.subject = Some(blob());
        let parsed = Document::parse(&manifest.bytes(), Some(MANIFEST)).unwrap();
        assert_eq!(parsed, Document::Manifest(manifest));
        assert_eq!(parsed.blobs().len(), 1);
        let mut entry = blob();
        entry.platform = Some(Platform::parse("linux/arm/v7").unwrap());
        let index = Index::new(vec![entry]);
        assert_eq!(Document::parse(&index.bytes(), None).unwrap(), Document::Index(index));
    }

    #[test]
    fn tricks_are_refused() {
        let manifest = String::from_utf8(Manifest::new(blob(), vec![blob()]).bytes()).unwrap();
        let both = manifest.replacen('{', "{\"manifests\":[],", 1);
        let one = manifest.replace("\"schemaVersion\":2", "\"schemaVersion\":1");
        let negative = manifest.replace("\"size\":1", "\"size\":-1");
        let huge = manifest.replace("\"size\":1", "\"size\":18446744073709551615");
        let float = manifest.replace("\"size\":1", "\"size\":1.5");
        let escape = manifest.replace("sha256:", "sha256:../");
        for text in ["", "[]", "{}", "null", &both, &one, &negative, &huge, &float, &escape] {
            assert!(Document::parse(text.as_bytes(), None).is_err(), "{text}");
        }
        assert!(Document::parse(manifest.as_bytes(), Some(INDEX)).is_err());
        assert!(Document::parse(manifest.as_bytes(), Some("application/json")).is_ok());
        assert!(Document::parse(manifest.as_bytes(), Some(&format!("{MANIFEST}; charset=utf-8"))).is_ok());
        assert!(Document::parse(&vec![b' '; (MAX_MANIFEST + 1) as usize], None).is_err());
        assert!(Document::parse("[".repeat(100_000).as_bytes(), None).is_err());
        let many = format!(
            "{{\"schemaVersion\":2,\"config\":{0},\"layers\":[{1}]}}",
            blob().json(),
            [blob().json().to_string().as_str(); 1001].join(",")
        );
        assert!(Document::parse(many.as_bytes(), None).is_err());
    }

    #[test]
    fn platforms_are_chosen() {
        let image = |platform: Option<&str>| Descriptor {
            platform: platform.map(|text| Platform::parse(text).unwrap()),
            ..Descriptor::of(MANIFEST, platform.unwrap_or_default().as_bytes())
        };
        let index = Index::new(vec![
            image(Some("linux/arm64/v8")),
            image(Some("linux/arm/v6")),
            image(Some("linux/arm/v7")),
        ]);
        let choose = |text: &str| {
            index
                .choose(&Platform::parse(text).unwrap())
                .map(|image| image.platform.clone().unwrap().to_string())
        };
        assert_eq!(choose("linux/arm64").unwrap(), "linux/arm64");
        assert_eq!(choose("linux/arm/v7").unwrap(), "linux/arm/v7");
        assert!(choose("linux/amd64").unwrap_err().to_string().contains("linux/arm/v6"));
        assert!(Index::new(vec![image(None)]).choose(&Platform::here()).is_ok());
        for text in ["", "linux", "linux/", "a/b/c/d", "linux/a b"] {
            assert!(Platform::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn configurations_are_views() {
        let text = br#"{"os":"linux","architecture":"amd64","config":{"Entrypoint":["/a"],"Cmd":["b"],"Labels":{"k":"v","n":1},"User":"1"},
            "rootfs":{"type":"layers","diff_ids":[]}}"#;
        let config = Config::parse(text).unwrap();
        assert_eq!(
            (config.command(), config.label("k"), config.text("User")),
            (vec!["/a".to_owned(), "b".to_owned()], Some("v"), "1")
        );
        assert_eq!(config.labels().len(), 1);
        assert!(Config::parse(br#"{"rootfs":{"diff_ids":["x"]}}"#).is_err());
    }
}
