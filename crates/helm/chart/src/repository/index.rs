//! `index.yaml`: which charts a repository has, in which versions, and where their archives are.

use std::collections::BTreeMap;

use podium_goyaml::yaml::types::{ANY, Kind, OBJECT, STRING, STRING_MAP, STRINGS, Struct, Type, fit};
use podium_goyaml::{Node, Value, emit, json, yaml};
use podium_versions::masterminds::{Constraints, Version};

use crate::metadata::encode::{self, Fields, Laid, Layout, METADATA, PLAIN, list, node};
use crate::metadata::{
    API_V1, CHART_VERSIONS, Draft, Error as MetadataError, Metadata, check_time, written_time,
};

/// A larger index is not read.
pub const MAX_SIZE: u64 = 256 * 1024 * 1024;

/// An index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Index {
    /// What some servers say about themselves, as it is written.
    pub server_info: Option<Node>,
    /// `v1`.
    pub api_version: String,
    /// When it was made.
    pub generated: String,
    /// The versions of each chart.
    pub entries: BTreeMap<String, Vec<Entry>>,
    /// Keys of whoever signs.
    pub public_keys: Vec<String>,
    /// Anything else.
    pub annotations: BTreeMap<String, String>,
}

/// A version of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// What its `Chart.yaml` says.
    pub metadata: Metadata,
    /// Where its archive is; nothing where the index has null.
    pub urls: Option<Vec<String>>,
    /// When it was added.
    pub created: String,
    /// Whether it was taken back.
    pub removed: bool,
    /// The digest of its archive.
    pub digest: String,
    /// Fields that Helm 2 had, by name.
    pub old: Vec<(&'static str, String)>,
}

const OLD_FIELDS: [&str; 4] = ["checksum", "engine", "tillerVersion", "url"];

/// Why an index cannot be used. The texts are Helm's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is nothing in it.
    #[error("empty index.yaml file")]
    Empty,
    /// It does not say what it is.
    #[error("no API version specified")]
    NoApiVersion,
    /// It is JSON of another kind.
    #[error("{0}")]
    Json(String),
    /// It cannot be read.
    #[error("{0}")]
    Yaml(#[from] yaml::Error),
    /// A time is none.
    #[error("error unmarshaling JSON: while decoding JSON: {0}")]
    Time(String),
    /// It has no such chart.
    #[error("no chart name found")]
    NoName,
    /// It has no version of the chart.
    #[error("no chart version found")]
    NoVersion,
    /// None of its versions is in the range.
    #[error("no chart version found for {name}-{range}")]
    NotInRange {
        /// The chart.
        name: String,
        /// The range.
        range: String,
    },
    /// The range is none.
    #[error("{0}")]
    Range(String),
    /// A chart that cannot be listed.
    #[error("validate failed for {file}: {error}")]
    Chart {
        /// Its archive.
        file: String,
        /// Why.
        error: MetadataError,
    },
}

static FILE: Type = {
    static ENTRIES: Type = Type::new("map[string]repo.ChartVersions", Kind::Map(&CHART_VERSIONS));
    Type::new(
        "repo.IndexFile",
        Kind::Struct(&Struct {
            name: "IndexFile",
            fields: &[
                ("serverInfo", &OBJECT),
                ("apiVersion", &STRING),
                ("generated", &ANY),
                ("entries", &ENTRIES),
                ("publicKeys", &STRINGS),
                ("annotations", &STRING_MAP),
            ],
        }),
    )
};

impl Index {
    /// An index without charts.
    pub fn new(generated: String) -> Self {
        Self { api_version: API_V1.to_owned(), generated, ..Self::default() }
    }

    /// Reads an index, which may be JSON. Entries that are no charts are left out.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        if text.is_empty() {
            return Err(Error::Empty);
        }
        let file = match json::parse(text, 0) {
            Ok(value) => fit(value, &FILE).map_err(Error::Json)?,
            Err(_) => yaml::parse_strict_as(text, 0, &FILE)?,
        };
        let string = |name: &str| file.get(name).and_then(Node::as_str).unwrap_or_default().to_owned();
        let mut index = Self {
            server_info: file
                .get("serverInfo")
                .filter(|info| info.as_map().is_some_and(|map| !map.is_empty()))
                .cloned(),
            api_version: string("apiVersion"),
            generated: time(file.get("generated"))?,
            entries: BTreeMap::new(),
            public_keys: strings(file.get("publicKeys")).unwrap_or_default(),
            annotations: BTreeMap::new(),
        };
        for (key, value) in file.get("annotations").and_then(Node::as_map).into_iter().flatten() {
            index.annotations.insert(key.to_string(), value.as_str().unwrap_or_default().to_owned());
        }
        for (name, versions) in file.get("entries").and_then(Node::as_map).into_iter().flatten() {
            let mut entries = Vec::new();
            for version in versions.as_list().into_iter().flat_map(|list| list.iter()) {
                entries.extend(entry(version)?);
            }
            index.entries.insert(name.to_string(), entries);
        }
        index.sort();
        if index.api_version.is_empty() {
            return Err(Error::NoApiVersion);
        }
        Ok(index)
    }

    /// Adds a chart whose archive is at a URL.
    pub fn add(&mut self, metadata: &Metadata, url: String, digest: String, created: String) {
        let entry =
            Entry { metadata: metadata.clone(), urls: Some(vec![url]), created, digest, ..Entry::default() };
        self.entries.entry(metadata.name.clone()).or_default().push(entry);
    }

    /// Adds the charts of another index that this one does not have.
    pub fn merge(&mut self, other: Self) {
        for entry in other.entries.into_values().flatten() {
            let (name, version) = (&entry.metadata.name, &entry.metadata.version);
            if self.get(name, version).is_err() {
                self.entries.entry(name.clone()).or_default().push(entry);
            }
        }
    }

    /// Puts the newest version of each chart first.
    pub fn sort(&mut self) {
        for versions in self.entries.values_mut() {
            versions.sort_by_cached_key(|entry| {
                std::cmp::Reverse(Key(Version::new(&entry.metadata.version).ok()))
            });
        }
    }

    /// The newest version of a chart in a range; the newest that is no pre-release if there is none.
    pub fn get(&self, name: &str, range: &str) -> Result<&Entry, Error> {
        let versions = self.entries.get(name).ok_or(Error::NoName)?;
        if versions.is_empty() {
            return Err(Error::NoVersion);
        }
        let wanted = if range.is_empty() { "*" } else { range };
        let constraint = Constraints::new(wanted).map_err(|error| Error::Range(error.to_string()))?;
        if let Some(exact) =
            versions.iter().find(|entry| !range.is_empty() && entry.metadata.version == range)
        {
            return Ok(exact);
        }
        let fits = |entry: &&Entry| {
            Version::new(&entry.metadata.version).is_ok_and(|version| constraint.check(&version))
        };
        let missing = || Error::NotInRange { name: name.to_owned(), range: range.to_owned() };
        versions.iter().find(fits).ok_or_else(missing)
    }

    /// The bytes of an `index.yaml`.
    pub fn to_yaml(&self) -> Result<Vec<u8>, emit::Error> {
        emit::to_yaml(&&self.to_node())
    }

    /// The same as JSON.
    pub fn to_json(&self) -> Result<Vec<u8>, json::Error> {
        json::to_pretty(&Laid { node: &self.to_node(), layout: &INDEX })
    }

    fn to_node(&self) -> Node {
        let mut entries = podium_goyaml::Map::new();
        for (name, versions) in &self.entries {
            entries.insert(name.as_str(), list(versions.iter().map(Entry::to_node)));
        }
        let mut fields = Fields::default()
            .put("apiVersion", text(&self.api_version))
            .put("generated", text(&written_time(&self.generated)))
            .put("entries", node(Value::Map(entries)))
            .texts("publicKeys", &self.public_keys);
        if let Some(info) = &self.server_info {
            fields = fields.put("serverInfo", info.clone());
        }
        if !self.annotations.is_empty() {
            let mut annotations = podium_goyaml::Map::new();
            for (key, value) in &self.annotations {
                annotations.insert(key.as_str(), text(value));
            }
            fields = fields.put("annotations", node(Value::Map(annotations)));
        }
        fields.done()
    }
}

fn text(text: &str) -> Node {
    node(Value::String(text.into()))
}

fn time(node: Option<&Node>) -> Result<String, Error> {
    match node.filter(|node| !node.is_null()) {
        None => Ok(String::new()),
        Some(node) => check_time(node).map_err(Error::Time),
    }
}

fn strings(node: Option<&Node>) -> Option<Vec<String>> {
    let items = node?.as_list()?;
    Some(items.iter().map(|item| item.as_str().unwrap_or_default().to_owned()).collect())
}

/// An entry; nothing if it is no chart.
fn entry(version: &Node) -> Result<Option<Entry>, Error> {
    let Some(fields) = version.as_map() else { return Ok(None) };
    let mut draft = Draft::default();
    draft.take(fields);
    if draft.metadata.api_version.is_empty() {
        draft.metadata.api_version = API_V1.to_owned();
    }
    let created = time(fields.get("created"))?;
    let Ok(metadata) = draft.finish_entry() else { return Ok(None) };
    let string = |name: &str| fields.get(name).and_then(Node::as_str).unwrap_or_default().to_owned();
    let old = OLD_FIELDS.iter().map(|name| (*name, string(name))).filter(|(_, text)| !text.is_empty());
    Ok(Some(Entry {
        metadata,
        urls: strings(fields.get("urls")),
        created,
        removed: fields.get("removed").and_then(Node::as_bool).unwrap_or_default(),
        digest: string("digest"),
        old: old.collect(),
    }))
}

impl Entry {
    fn to_node(&self) -> Node {
        let mut node = encode::metadata(&self.metadata);
        let urls = self.urls.as_ref().map(|urls| list(urls.iter().map(|url| text(url)))).unwrap_or_default();
        if let Some(fields) = node.as_map_mut() {
            fields.insert("urls", urls);
            fields.insert("created", text(&written_time(&self.created)));
            if self.removed {
                fields.insert("removed", encode::node(Value::Bool(true)));
            }
            let digest = [("digest", self.digest.clone())];
            for (name, value) in digest.iter().chain(&self.old).filter(|(_, value)| !value.is_empty()) {
                fields.insert(*name, text(value));
            }
        }
        node
    }
}

/// Versions in their order; what is none comes first.
struct Key(Option<Version>);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => a.compare(b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

static INDEX: Layout = {
    static VERSION: Layout = Layout {
        fields: &[
            ("urls", &PLAIN),
            ("created", &PLAIN),
            ("removed", &PLAIN),
            ("digest", &PLAIN),
            ("checksum", &PLAIN),
            ("engine", &PLAIN),
            ("tillerVersion", &PLAIN),
            ("url", &PLAIN),
        ],
        embedded: Some(&METADATA),
        each: None,
    };
    static VERSIONS: Layout = Layout { fields: &[], embedded: None, each: Some(&VERSION) };
    static ENTRIES: Layout = Layout { fields: &[], embedded: None, each: Some(&VERSIONS) };
    Layout {
        fields: &[
            ("serverInfo", &PLAIN),
            ("apiVersion", &PLAIN),
            ("generated", &PLAIN),
            ("entries", &ENTRIES),
            ("publicKeys", &PLAIN),
            ("annotations", &PLAIN),
        ],
        embedded: None,
        each: None,
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "apiVersion: v1\ngenerated: 2020-01-02T03:04:05.60Z\nentries:\n  a:\n  - {name: a, version: 1.0.0, \
                        urls: [a-1.0.0.tgz]}\n  - null\n  - {name: a, version: 2.0.0-rc.1, urls: null, digest: x}\n  - \
                        {name: a, version: 1.10.0, urls: []}\n  - {name: a/b, version: 1.0.0}\n  b: []\n";

    #[test]
    fn the_newest_version_that_fits_is_found() {
        let index = Index::parse(TEXT.as_bytes()).unwrap();
        let version = |range: &str| index.get("a", range).map(|entry| entry.metadata.version.as_str());
        assert_eq!(version(""), Ok("1.10.0"));
        assert_eq!(version("1.0.0"), Ok("1.0.0"));
        assert_eq!(version("~1.0"), Ok("1.0.0"));
        assert_eq!(version(">0-0"), Ok("2.0.0-rc.1"));
        assert_eq!(version("9").unwrap_err().to_string(), "no chart version found for a-9");
        assert_eq!(version("x y").unwrap_err().to_string(), "improper constraint: \"x y\"");
        assert_eq!(index.get("b", "").unwrap_err(), Error::NoVersion);
        assert_eq!(index.get("c", "").unwrap_err(), Error::NoName);
    }

    #[test]
    fn an_index_is_written_in_both_ways() {
        let index = Index::parse(TEXT.as_bytes()).unwrap();
        let yaml = String::from_utf8(index.to_yaml().unwrap()).unwrap();
        assert!(yaml.starts_with("apiVersion: v1\nentries:\n  a:\n  - apiVersion: v1\n    created: \"0001-01-01T00:00:00Z\"\n    digest: x\n"), "{yaml}");
        assert!(yaml.ends_with("  b: []\ngenerated: \"2020-01-02T03:04:05.6Z\"\n"), "{yaml}");
        let json = index.to_json().unwrap();
        assert_eq!(Index::parse(&json).unwrap(), Index::parse(yaml.as_bytes()).unwrap());
        assert!(json.starts_with(b"{\n  \"apiVersion\": \"v1\",\n  \"generated\""));
    }

    #[test]
    fn a_bad_index_says_why() {
        let error = |text: &str| Index::parse(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(error(""), "empty index.yaml file");
        assert_eq!(error("entries: {}\n"), "no API version specified");
        assert_eq!(
            error("apiVersion: v1\nnope: 1\n"),
            "error unmarshaling JSON: while decoding JSON: json: unknown field \"nope\""
        );
        assert!(error("entries: [\n").starts_with("error converting YAML to JSON: yaml: line "));
    }
}
