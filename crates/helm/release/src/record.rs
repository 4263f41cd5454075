//! The record of a revision: base64 of gzip of JSON, in Helm's names.

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::GzDecoder;
use podium_goyaml::{Map, Node, Value, json};
use podium_sprig::encoding::base64_decode;
use podium_sprig::gotime::{self, Location, Time};

/// The most that a record may decompress to. A Secret holds 1 MiB, so a record that says more than this is a bomb.
const MAX_DECOMPRESSED: u64 = 256 << 20;
/// The most values that a record may consist of: each takes many times the bytes that it is written with.
const MAX_VALUES: usize = 1 << 20;
const GZIP: [u8; 3] = [0x1f, 0x8b, 0x08];
/// Up to here every whole number is a float of its own.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;
const RFC3339_NANO: &str = "2006-01-02T15:04:05.999999999Z07:00";

/// Why a record cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The outer layer is damaged.
    #[error("illegal base64 data at input byte {0}")]
    Base64(usize),
    /// The middle layer is damaged.
    #[error("the compressed record is damaged: {0}")]
    Gzip(String),
    /// It is too large.
    #[error("the record is larger than {} MiB", MAX_DECOMPRESSED >> 20)]
    TooLarge,
    /// It has too many parts.
    #[error("the record has more than {MAX_VALUES} values")]
    TooManyValues,
    /// The inner layer is damaged.
    #[error("the record is not JSON: {0}")]
    Json(String),
    /// It is JSON, but a list, a text or a number.
    #[error("the record has the wrong type: it is no object")]
    NotAnObject,
    /// A field has a value of another type.
    #[error("the record's field {0} has a value of the wrong type")]
    WrongType(&'static str),
}

/// One revision of a release.
#[derive(Clone, Debug, Default)]
pub struct Release {
    /// The release's name.
    pub name: String,
    /// The namespace that it lives in.
    pub namespace: String,
    /// The number of the revision.
    pub revision: i64,
    /// What happened to it.
    pub info: Info,
    /// The chart, as it was stored; without its subcharts.
    pub chart: Option<Node>,
    /// What the user set; Helm tells nothing from no record of it.
    pub config: Option<Map>,
    /// The objects, as they were rendered.
    pub manifest: String,
    /// The hooks.
    pub hooks: Vec<Hook>,
    /// `ssa` or `csa`; empty in the records of Helm 3.
    pub apply_method: String,
    /// The labels of what the record is kept in.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
}

/// What happened to a revision.
#[derive(Clone, Debug, Default)]
pub struct Info {
    /// When the release was installed.
    pub first_deployed: Option<Time>,
    /// When this revision was.
    pub last_deployed: Option<Time>,
    /// When it was uninstalled.
    pub deleted: Option<Time>,
    /// A sentence.
    pub description: String,
    /// One of Helm's words, such as `deployed`.
    pub status: String,
    /// Which revision this one went back to; 0 if none.
    pub rollback_revision: i64,
    /// What NOTES.txt says.
    pub notes: String,
}

/// An object that is created at some moment of a release's life.
#[derive(Clone, Debug, Default)]
pub struct Hook {
    /// The object's name.
    pub name: String,
    /// The object's kind.
    pub kind: String,
    /// The template that it comes from.
    pub path: String,
    /// The object.
    pub manifest: String,
    /// The moments.
    pub events: Vec<String>,
    /// Its last run.
    pub last_run: HookExecution,
    /// Lower ones go first.
    pub weight: i64,
    /// When the object is deleted.
    pub delete_policies: Vec<String>,
    /// When its output is shown.
    pub output_log_policies: Vec<String>,
}

/// A run of a hook.
#[derive(Clone, Debug, Default)]
pub struct HookExecution {
    /// When it began.
    pub started_at: Option<Time>,
    /// When it ended.
    pub completed_at: Option<Time>,
    /// How it ended.
    pub phase: String,
}

impl Release {
    /// Reads what a Secret or ConfigMap holds. Times are seen from a place.
    pub fn decode(text: &[u8], local: &Location) -> Result<Self, Error> {
        let compressed = base64_decode(text).map_err(Error::Base64)?;
        let plain = if compressed.starts_with(&GZIP) { gunzip(&compressed)? } else { compressed };
        if count_values(&plain) > MAX_VALUES {
            return Err(Error::TooManyValues);
        }
        let node = json::parse(&plain, 0).map_err(|e| Error::Json(e.to_string()))?;
        if !node.is_null() && node.as_map().is_none() {
            return Err(Error::NotAnObject);
        }
        RecordReader { local }.release(&node)
    }

    /// Something of the chart's metadata; empty when there is none.
    pub fn chart_field(&self, key: &str) -> &str {
        self.metadata().and_then(|metadata| metadata.get(key)).and_then(Node::as_str).unwrap_or_default()
    }

    /// The chart's metadata.
    pub fn metadata(&self) -> Option<&Node> {
        self.chart.as_ref()?.get("metadata").filter(|metadata| !metadata.is_null())
    }

    /// `name-version` of the chart, as lists show it.
    pub fn chart_name(&self) -> String {
        match self.metadata() {
            None => "MISSING".to_owned(),
            Some(_) => format!("{}-{}", self.chart_field("name"), self.chart_field("version")),
        }
    }

    /// The version of what the chart installs, as lists show it.
    pub fn app_version(&self) -> &str {
        if self.metadata().is_none() { "MISSING" } else { self.chart_field("appVersion") }
    }
}

fn gunzip(compressed: &[u8]) -> Result<Vec<u8>, Error> {
    let mut plain = Vec::new();
    let read = GzDecoder::new(compressed).take(MAX_DECOMPRESSED + 1).read_to_end(&mut plain);
    let length = read.map_err(|e| Error::Gzip(e.to_string()))?;
    if length as u64 > MAX_DECOMPRESSED { Err(Error::TooLarge) } else { Ok(plain) }
}

/// How many values a text of JSON has, roughly: a comma or a bracket that is not in a string begins one.
fn count_values(plain: &[u8]) -> usize {
    let (mut count, mut quoted, mut escaped) = (0, false, false);
    for byte in plain {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' | b'[' | b'{' if !quoted => count += 1,
            _ => {}
        }
    }
    count
}

struct RecordReader<'l> {
    local: &'l Location,
}

/// A field that is there and not null.
fn field<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    node.get(key).filter(|value| !value.is_null())
}

/// A field that has fields itself.
fn object<'n>(node: &'n Node, key: &'static str) -> Result<Option<&'n Node>, Error> {
    match field(node, key) {
        Some(value) if value.as_map().is_none() => Err(Error::WrongType(key)),
        found => Ok(found),
    }
}

/// A list of things with fields.
fn objects<'n>(node: &'n Node, key: &'static str) -> Result<Vec<&'n Node>, Error> {
    let Some(value) = field(node, key) else { return Ok(Vec::new()) };
    let list = value.as_list().ok_or(Error::WrongType(key))?;
    list.iter().map(|item| item.as_map().map(|_| item).ok_or(Error::WrongType(key))).collect()
}

fn text(node: &Node, key: &'static str) -> Result<String, Error> {
    match field(node, key) {
        None => Ok(String::new()),
        Some(value) => value.as_str().map(str::to_owned).ok_or(Error::WrongType(key)),
    }
}

fn number(node: &Node, key: &'static str) -> Result<i64, Error> {
    match field(node, key).map(|node| &node.value) {
        None => Ok(0),
        Some(Value::Int(number)) => Ok(*number),
        Some(Value::Float(number)) if number.fract() == 0.0 && number.abs() < MAX_EXACT_INTEGER => {
            Ok(*number as i64)
        }
        Some(_) => Err(Error::WrongType(key)),
    }
}

fn texts(node: &Node, key: &'static str) -> Result<Vec<String>, Error> {
    let Some(value) = field(node, key) else { return Ok(Vec::new()) };
    let list = value.as_list().ok_or(Error::WrongType(key))?;
    list.iter().map(|item| item.as_str().map(str::to_owned).ok_or(Error::WrongType(key))).collect()
}

/// The chart; what is shown of it has the right types.
fn chart(node: &Node) -> Result<Option<Node>, Error> {
    let Some(chart) = object(node, "chart")? else { return Ok(None) };
    object(chart, "values")?;
    if let Some(metadata) = object(chart, "metadata")? {
        for key in ["name", "version", "appVersion"] {
            text(metadata, key)?;
        }
        let annotations = object(metadata, "annotations")?.and_then(Node::as_map);
        if annotations.into_iter().flatten().any(|(_, value)| value.as_str().is_none() && !value.is_null()) {
            return Err(Error::WrongType("annotations"));
        }
        for dependency in objects(metadata, "dependencies")? {
            text(dependency, "name")?;
        }
    }
    Ok(Some(chart.clone()))
}

impl RecordReader<'_> {
    fn release(&self, node: &Node) -> Result<Release, Error> {
        let none = Node::default();
        let hooks =
            objects(node, "hooks")?.into_iter().map(|hook| self.hook(hook)).collect::<Result<_, _>>()?;
        Ok(Release {
            name: text(node, "name")?,
            namespace: text(node, "namespace")?,
            revision: number(node, "version")?,
            info: self.info(object(node, "info")?.unwrap_or(&none))?,
            chart: chart(node)?,
            config: object(node, "config")?.and_then(Node::as_map).cloned(),
            manifest: text(node, "manifest")?,
            hooks,
            apply_method: text(node, "apply_method")?,
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
        })
    }

    fn info(&self, node: &Node) -> Result<Info, Error> {
        Ok(Info {
            first_deployed: self.time(node, "first_deployed")?,
            last_deployed: self.time(node, "last_deployed")?,
            deleted: self.time(node, "deleted")?,
            description: text(node, "description")?,
            status: text(node, "status")?,
            rollback_revision: number(node, "rollback_revision")?,
            notes: text(node, "notes")?,
        })
    }

    fn hook(&self, node: &Node) -> Result<Hook, Error> {
        let none = Node::default();
        let run = object(node, "last_run")?.unwrap_or(&none);
        Ok(Hook {
            name: text(node, "name")?,
            kind: text(node, "kind")?,
            path: text(node, "path")?,
            manifest: text(node, "manifest")?,
            events: texts(node, "events")?,
            last_run: HookExecution {
                started_at: self.time(run, "started_at")?,
                completed_at: self.time(run, "completed_at")?,
                phase: text(run, "phase")?,
            },
            weight: number(node, "weight")?,
            delete_policies: texts(node, "delete_policies")?,
            output_log_policies: texts(node, "output_log_policies")?,
        })
    }

    /// Helm 3 writes an empty text where Helm 4 leaves the field out.
    fn time(&self, node: &Node, key: &'static str) -> Result<Option<Time>, Error> {
        let text = text(node, key)?;
        if text.is_empty() {
            return Ok(None);
        }
        let time = gotime::parse(RFC3339_NANO, &text, self.local).map_err(|_| Error::WrongType(key))?;
        Ok(Some(time).filter(|time| !time.is_zero()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use podium_sprig::encoding::base64_encode;

    fn decode(json: &str) -> Result<Release, Error> {
        Release::decode(&base64_encode(json.as_bytes()), &Location::UTC)
    }

    #[test]
    fn plain_json_is_a_record_too() {
        let release = decode(
            r#"{"name":"a","version":3,"namespace":"n","info":{"status":"deployed","deleted":"",
                "last_deployed":"2024-05-06T07:08:09.5Z"},"chart":{"metadata":{"name":"c","version":"1.2.3"}}}"#,
        )
        .unwrap();
        assert_eq!((release.name.as_str(), release.revision), ("a", 3));
        assert_eq!((release.chart_name().as_str(), release.app_version()), ("c-1.2.3", ""));
        assert!(release.info.deleted.is_none());
        assert_eq!(release.info.last_deployed.unwrap().to_string(), "2024-05-06 07:08:09.5 +0000 UTC");
    }

    #[test]
    fn damage_is_named() {
        assert_eq!(Release::decode(b"%%", &Location::UTC).unwrap_err(), Error::Base64(0));
        assert!(matches!(decode("{"), Err(Error::Json(_))));
        let field = |json| match decode(json) {
            Err(Error::WrongType(name)) => name,
            other => panic!("{other:?}"),
        };
        assert_eq!(field(r#"{"name":1}"#), "name");
        assert_eq!(field(r#"{"info":{"last_deployed":"yesterday"}}"#), "last_deployed");
        assert_eq!(field(r#"{"config":[]}"#), "config");
        assert_eq!(field(r#"{"info":"x"}"#), "info");
        assert_eq!(field(r#"{"hooks":[5]}"#), "hooks");
        assert_eq!(field(r#"{"version":1e300}"#), "version");
        assert_eq!(field(r#"{"chart":{"metadata":{"name":1}}}"#), "name");
        assert_eq!(field(r#"{"chart":{"metadata":{"annotations":{"a":1}}}}"#), "annotations");
        assert_eq!(field(r#"{"chart":{"metadata":{"dependencies":["a"]}}}"#), "dependencies");
        assert_eq!(field(r#"{"chart":{"values":[]}}"#), "values");
        assert_eq!(decode("[]").unwrap_err(), Error::NotAnObject);
        assert!(decode("null").is_ok());
        let cut = base64_encode(&[GZIP.as_slice(), &[0; 10]].concat());
        assert!(matches!(Release::decode(&cut, &Location::UTC), Err(Error::Gzip(_))));
    }

    #[test]
    fn values_are_counted_before_they_are_made() {
        assert_eq!(count_values(br#"{"a,[\",{":[1,2,"\\"],"b":{}}"#), 6);
        let many = format!("[{}0]", "0,".repeat(MAX_VALUES));
        assert_eq!(decode(&many).unwrap_err(), Error::TooManyValues);
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        use std::io::Write;
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let zeros = vec![b' '; 1 << 20];
        for _ in 0..=(MAX_DECOMPRESSED >> 20) {
            packer.write_all(&zeros).unwrap();
        }
        let compressed = base64_encode(&packer.finish().unwrap());
        assert_eq!(Release::decode(&compressed, &Location::UTC).unwrap_err(), Error::TooLarge);
    }
}
