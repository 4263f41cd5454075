//! Release records: base64 of gzip of JSON with Helm's field names.

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::GzDecoder;
use podium_goyaml::{Map, Node, Value, json};
use podium_sprig::encoding::base64_decode;
use podium_sprig::gotime::{self, Location, Time};

/// Maximum decompressed size. A Secret holds 1 MiB, so a record that exceeds this is a decompression bomb.
const MAX_DECOMPRESSED: u64 = 256 << 20;
/// Maximum number of JSON values: each takes many times its encoded size in memory.
const MAX_VALUES: usize = 1 << 20;
const GZIP: [u8; 3] = [0x1f, 0x8b, 0x08];
/// Integers up to this are exact as a float.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;
const RFC3339_NANO: &str = "2006-01-02T15:04:05.999999999Z07:00";

/// Why a record cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Invalid base64.
    #[error("illegal base64 data at input byte {0}")]
    Base64(usize),
    /// Invalid gzip.
    #[error("the compressed record is damaged: {0}")]
    Gzip(String),
    /// The decompressed record is too large.
    #[error("the record is larger than {} MiB", MAX_DECOMPRESSED >> 20)]
    TooLarge,
    /// The record has too many values.
    #[error("the record has more than {MAX_VALUES} values")]
    TooManyValues,
    /// Invalid JSON.
    #[error("the record is not JSON: {0}")]
    Json(String),
    /// The JSON is not an object.
    #[error("the record has the wrong type: it is not an object")]
    NotAnObject,
    /// A field has a value of the wrong type.
    #[error("the record's field {0} has a value of the wrong type")]
    WrongType(&'static str),
}

/// One revision of a release.
#[derive(Clone, Debug, Default)]
pub struct Release {
    /// The release's name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// The number of the revision.
    pub revision: i64,
    /// Status, timestamps and notes.
    pub info: Info,
    /// The chart as stored, without subcharts.
    pub chart: Option<Node>,
    /// The user-supplied values; Helm distinguishes empty from absent.
    pub config: Option<Map>,
    /// The rendered manifest.
    pub manifest: String,
    /// The hooks.
    pub hooks: Vec<Hook>,
    /// `ssa` or `csa`; empty in the records of Helm 3.
    pub apply_method: String,
    /// The labels of the Secret or ConfigMap.
    pub labels: BTreeMap<String, String>,
    /// The annotations of the Secret or ConfigMap.
    pub annotations: BTreeMap<String, String>,
}

/// Status, timestamps and notes of a revision.
#[derive(Clone, Debug, Default)]
pub struct Info {
    /// When the release was installed.
    pub first_deployed: Option<Time>,
    /// When this revision was deployed.
    pub last_deployed: Option<Time>,
    /// When the release was uninstalled.
    pub deleted: Option<Time>,
    /// What happened, for the history.
    pub description: String,
    /// Helm's status, such as `deployed`.
    pub status: String,
    /// The revision that this one rolled back to; 0 if none.
    pub rollback_revision: i64,
    /// The rendered NOTES.txt.
    pub notes: String,
}

/// A hook: an object that is created at an event of the release's lifecycle.
#[derive(Clone, Debug, Default)]
pub struct Hook {
    /// The object's name.
    pub name: String,
    /// The object's kind.
    pub kind: String,
    /// The path of its template.
    pub path: String,
    /// The object's manifest.
    pub manifest: String,
    /// Its events, such as `pre-install`.
    pub events: Vec<String>,
    /// Its last execution.
    pub last_run: HookExecution,
    /// Hooks with lower weights run first.
    pub weight: i64,
    /// When its objects are deleted.
    pub delete_policies: Vec<String>,
    /// When its output is printed.
    pub output_log_policies: Vec<String>,
}

/// An execution of a hook.
#[derive(Clone, Debug, Default)]
pub struct HookExecution {
    /// When it started.
    pub started_at: Option<Time>,
    /// When it completed.
    pub completed_at: Option<Time>,
    /// Its result, such as `Succeeded`.
    pub phase: String,
}

impl Release {
    /// Decodes the content of a Secret or ConfigMap; timestamps are in `local`.
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

    /// A field of the chart's metadata; empty when it is missing.
    pub fn chart_field(&self, key: &str) -> &str {
        self.metadata().and_then(|metadata| metadata.get(key)).and_then(Node::as_str).unwrap_or_default()
    }

    /// The chart's metadata.
    pub fn metadata(&self) -> Option<&Node> {
        self.chart.as_ref()?.get("metadata").filter(|metadata| !metadata.is_null())
    }

    /// The chart's `name-version`, as lists print it.
    pub fn chart_name(&self) -> String {
        match self.metadata() {
            None => "MISSING".to_owned(),
            Some(_) => format!("{}-{}", self.chart_field("name"), self.chart_field("version")),
        }
    }

    /// The chart's `appVersion`, as lists print it.
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

/// Estimates the number of JSON values: commas and opening brackets outside strings.
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

/// A field that is present and not null.
fn field<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    node.get(key).filter(|value| !value.is_null())
}

/// A field that is an object.
fn object<'n>(node: &'n Node, key: &'static str) -> Result<Option<&'n Node>, Error> {
    match field(node, key) {
        Some(value) if value.as_map().is_none() => Err(Error::WrongType(key)),
        found => Ok(found),
    }
}

/// A field that is a list of objects.
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

/// The chart, with the fields that are printed checked for their types.
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

    /// Helm 3 writes an empty string where Helm 4 omits the field.
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
    fn decodes_uncompressed_json() {
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
    fn errors_name_the_damage() {
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
    fn limits_values_before_parsing() {
        assert_eq!(count_values(br#"{"a,[\",{":[1,2,"\\"],"b":{}}"#), 6);
        let many = format!("[{}0]", "0,".repeat(MAX_VALUES));
        assert_eq!(decode(&many).unwrap_err(), Error::TooManyValues);
    }

    #[test]
    fn rejects_a_decompression_bomb() {
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
