//! A bundle as opm reads it: the first document of each file of `manifests/`, and whatever in `metadata/` looks like
//! annotations, properties or dependencies.
//!
//! opm is lenient: files that it cannot read are left out, folders are not looked into, and of several
//! ClusterServiceVersions the first counts.

use std::collections::BTreeSet;

use podium_goyaml::{Map, Node, Value as Written, json};
use serde_json::Value;

use crate::decode::{self, Metadata};
use crate::report::{Finding, Refuser, Rule};
use crate::types::{self, name};
use crate::value::{list, marshal, quoted, text};
use crate::{CHANNELS, CRD, CSV, DEFAULT_CHANNEL, MANIFESTS, METADATA, PACKAGE, PROPERTIES, raw};

/// An object with the file that it is in.
#[derive(Debug, Clone)]
pub struct Source {
    /// The path in the bundle.
    pub file: String,
    /// The object.
    pub node: Node,
}

/// A property or a dependency.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Property {
    /// Its type.
    pub kind: String,
    /// Its value in JSON as it was written; nothing if it has none.
    pub value: Option<String>,
}

impl Property {
    fn key(&self) -> String {
        format!("type: {}, value: {}", self.kind, self.value.as_deref().unwrap_or_default())
    }

    /// The value in JSON, null if there is none.
    pub fn json(&self) -> &str {
        self.value.as_deref().unwrap_or("null")
    }
}

/// A kind that a bundle has or needs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Api {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub plural: String,
}

/// A bundle as opm sees it.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// The name of the ClusterServiceVersion.
    pub name: String,
    /// The package.
    pub package: String,
    /// The channels that its author wishes.
    pub channels: Vec<String>,
    /// The channel that its author wishes to be the usual one.
    pub default_channel: String,
    /// The objects, in the order of their files.
    pub objects: Vec<Source>,
    pub(crate) csv: usize,
    pub(crate) properties: Vec<Property>,
    pub(crate) dependencies: Vec<Property>,
    pub(crate) provided: BTreeSet<Api>,
}

fn refuse(rule: Rule, place: (&str, u32), text: impl Into<String>) -> Finding {
    Finding::new(Refuser::Opm, rule, place, text)
}

impl Parsed {
    /// Reads the files of a bundle, or says why opm refuses them.
    pub fn new(tree: &crate::Tree) -> Result<Self, Finding> {
        if !tree.has_folder(MANIFESTS) {
            return Err(refuse(Rule::Folders, ("", 0), "there is no folder manifests/"));
        }
        let objects = objects(tree);
        if objects.is_empty() {
            return Err(refuse(Rule::NoObjects, (MANIFESTS, 0), "no bundle objects found"));
        }
        let csv = objects.iter().position(|object| kind_of(&object.node) == CSV);
        let meta = match csv.and_then(|at| objects.get(at)) {
            Some(source) => Some(meta(source)?),
            None => None,
        };
        let mut provided = BTreeSet::new();
        for object in &objects {
            crd_apis(object, &mut provided)?;
        }
        let (Some(csv), Some(meta)) = (csv, meta) else {
            return Err(refuse(Rule::NoCsv, (MANIFESTS, 0), "no csv in bundle"));
        };
        let mut parsed = Parsed {
            name: text(&meta, "/name").to_owned(),
            package: String::new(),
            channels: Vec::new(),
            default_channel: String::new(),
            objects,
            csv,
            properties: Vec::new(),
            dependencies: Vec::new(),
            provided,
        };
        parsed.check_owned()?;
        if !tree.has_folder(METADATA) {
            return Err(refuse(Rule::Folders, ("", 0), "there is no folder metadata/"));
        }
        parsed.read_metadata(tree)?;
        parsed.derive(&meta)?;
        Ok(parsed)
    }

    /// The ClusterServiceVersion.
    pub fn csv(&self) -> Option<&Source> {
        self.objects.get(self.csv)
    }

    pub(crate) fn place(&self) -> (&str, u32) {
        self.csv().map_or(("", 0), |csv| (csv.file.as_str(), csv.node.pos.line))
    }

    fn at(&self, node: &Node) -> (&str, u32) {
        (self.place().0, node.pos.line)
    }

    /// The fields of `spec`; nothing if it is null.
    pub(crate) fn spec(&self) -> Result<Option<&Map>, Finding> {
        let shape = |place, what: &str| refuse(Rule::CsvShape, place, what);
        let Some(csv) = self.csv() else { return Ok(None) };
        match csv.node.get("spec") {
            None => Err(shape(self.place(), "the ClusterServiceVersion has no spec")),
            Some(spec) => match &spec.value {
                Written::Null => Ok(None),
                Written::Map(map) => Ok(Some(map)),
                _ => Err(shape(self.at(spec), "spec is no object")),
            },
        }
    }

    /// A field of `spec` that is not null.
    pub(crate) fn field(&self, key: &str) -> Result<Option<&Node>, Finding> {
        Ok(self.spec()?.and_then(|spec| spec.get(key)).filter(|node| !node.is_null()))
    }

    fn text_field(&self, key: &str) -> Result<&str, Finding> {
        match self.field(key)? {
            None => Ok(""),
            Some(node) => node.as_str().ok_or_else(|| {
                refuse(
                    Rule::CsvVersion,
                    self.at(node),
                    format!("spec.{key} is no text: put it in quotation marks"),
                )
            }),
        }
    }

    /// The version.
    pub fn version(&self) -> Result<&str, Finding> {
        self.text_field("version")
    }

    /// The release, which may also be a number.
    pub(crate) fn release(&self) -> Result<String, Finding> {
        let Some(node) = self.field("release")? else { return Ok(String::new()) };
        Ok(match &node.value {
            Written::String(text) => text.to_string(),
            Written::Int(number) => number.to_string(),
            Written::Float(number) if number.fract() == 0.0 => format!("{}", *number as i64),
            Written::Float(_) => marshal(node),
            _ => {
                return Err(refuse(
                    Rule::CsvRelease,
                    self.at(node),
                    "release field must be a string or number",
                ));
            }
        })
    }

    /// What a section of the ClusterServiceVersion says that it owns or requires.
    pub(crate) fn definitions(&self, section: &str, part: &str) -> Result<Vec<Definition>, Finding> {
        let Some(node) = self.field(section)? else { return Ok(Vec::new()) };
        let wrong = |node: &Node, what: &str| {
            refuse(Rule::CsvShape, self.at(node), format!("spec.{section}: {what}"))
        };
        let Some(map) = node.as_map() else { return Err(wrong(node, "no object")) };
        // Both parts are read, whichever is asked for.
        for other in ["owned", "required"] {
            if let Some(node) = folded(map, other)
                && node.as_list().is_none()
            {
                return Err(wrong(node, &format!("{other} is no list")));
            }
        }
        let mut found = Vec::new();
        for other in ["owned", "required"] {
            for node in folded(map, other).and_then(Node::as_list).into_iter().flat_map(|list| list.iter()) {
                let Some(map) = node.as_map() else {
                    return Err(wrong(node, &format!("{other} has no object")));
                };
                let read = |key: &str| match folded(map, key) {
                    None => Ok(String::new()),
                    Some(node) => node
                        .as_str()
                        .map(str::to_owned)
                        .ok_or_else(|| wrong(node, &format!("{other}: {key} is no text"))),
                };
                let definition = Definition {
                    group: read("group")?,
                    kind: read("kind")?,
                    name: read("name")?,
                    version: read("version")?,
                    line: node.pos.line,
                };
                if other == part {
                    found.push(definition);
                }
            }
        }
        Ok(found)
    }

    /// The kinds of definitions that are named `PLURAL.GROUP`.
    fn crd_apis_of(&self, part: &str) -> Result<Vec<(Api, u32)>, Finding> {
        let mut found = Vec::new();
        for definition in self.definitions("customresourcedefinitions", part)? {
            let Some((plural, group)) = definition.name.split_once('.') else {
                let text = format!("couldn't parse plural.group from crd name: {}", definition.name);
                return Err(refuse(Rule::CrdName, (self.place().0, definition.line), text));
            };
            let api = Api {
                group: group.to_owned(),
                version: definition.version,
                kind: definition.kind,
                plural: plural.to_owned(),
            };
            found.push((api, definition.line));
        }
        Ok(found)
    }

    fn check_owned(&mut self) -> Result<(), Finding> {
        let served = self.definitions("apiservicedefinitions", "owned")?;
        self.provided.extend(served.into_iter().map(Definition::api));
        for (api, line) in self.crd_apis_of("owned")? {
            if !self.provided.contains(&api) {
                let text = format!(
                    "couldn't find {}/{}/{} ({}) in bundle",
                    api.group, api.version, api.kind, api.plural
                );
                return Err(refuse(Rule::OwnedCrd, (self.place().0, line), text));
            }
        }
        Ok(())
    }

    /// The kinds that have to be there.
    pub(crate) fn required(&self) -> Result<BTreeSet<Api>, Finding> {
        let mut required: BTreeSet<Api> =
            self.crd_apis_of("required")?.into_iter().map(|(api, _)| api).collect();
        let served = self.definitions("apiservicedefinitions", "required")?;
        required.extend(served.into_iter().map(Definition::api));
        Ok(required)
    }

    fn read_metadata(&mut self, tree: &crate::Tree) -> Result<(), Finding> {
        let mut annotations: Option<Node> = None;
        for (_, data) in tree.files(METADATA) {
            if annotations.is_none()
                && let Ok(node) = decode::metadata(data, Metadata::Annotations)
                && let Some(map) = node.get("annotations").filter(|map| {
                    [PACKAGE, CHANNELS, DEFAULT_CHANNEL].iter().any(|key| !annotation(map, key).is_empty())
                })
            {
                annotations = Some(map.clone());
            }
            for (what, key, into) in [
                (Metadata::Dependencies, "dependencies", &mut self.dependencies),
                (Metadata::Properties, "properties", &mut self.properties),
            ] {
                if !into.is_empty() {
                    continue;
                }
                if let Some(all) = decode::listed(data, key) {
                    into.extend(all);
                } else if let Ok(node) = decode::metadata(data, what)
                    && let Some(list) = node.get(key).and_then(Node::as_list)
                {
                    into.extend(list.iter().map(written_property));
                }
            }
        }
        let Some(map) = annotations else {
            return Err(refuse(Rule::Annotations, (METADATA, 0), "Could not find annotations file"));
        };
        self.package = annotation(&map, PACKAGE).to_owned();
        let channels = annotation(&map, CHANNELS);
        if !channels.is_empty() {
            self.channels = channels.split(',').map(str::to_owned).collect();
        }
        self.default_channel = annotation(&map, DEFAULT_CHANNEL).to_owned();
        Ok(())
    }

    /// Adds the properties that follow from the rest of the bundle.
    fn derive(&mut self, meta: &Value) -> Result<(), Finding> {
        let mut derived = Vec::new();
        if !self.package.is_empty() {
            let mut value =
                format!(r#"{{"packageName":{},"version":{}"#, quoted(&self.package), quoted(self.version()?));
            let release = self.release()?;
            if !release.is_empty() {
                value.push_str(&format!(r#","release":{}"#, quoted(&release)));
            }
            value.push('}');
            derived.push(Property { kind: "olm.package".to_owned(), value: Some(value) });
        }
        if let Some(text) =
            meta.get("annotations").and_then(|map| map.get(PROPERTIES)).and_then(Value::as_str)
        {
            derived.extend(annotated_properties(text));
        }
        let mut seen = BTreeSet::new();
        let file = std::mem::take(&mut self.properties);
        let all = file.into_iter().chain(derived);
        self.properties = all.filter(|property| seen.insert(property.key())).collect();
        Ok(())
    }
}

/// What the ClusterServiceVersion says of a kind.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    pub group: String,
    pub kind: String,
    pub name: String,
    pub version: String,
    pub line: u32,
}

impl Definition {
    fn api(self) -> Api {
        Api { group: self.group, version: self.version, kind: self.kind, plural: self.name }
    }
}

fn annotation<'n>(map: &'n Node, key: &str) -> &'n str {
    map.get(key).and_then(Node::as_str).unwrap_or_default()
}

fn objects(tree: &crate::Tree) -> Vec<Source> {
    let mut objects: Vec<Source> = Vec::new();
    let mut found = false;
    for (file, data) in tree.files(MANIFESTS) {
        if file.starts_with('.') {
            continue;
        }
        let Ok(Some(node)) = decode::first(data) else { continue };
        let kind = kind_of(&node);
        if kind.is_empty() || kind == CSV && std::mem::replace(&mut found, true) {
            continue;
        }
        objects.push(Source { file: format!("{MANIFESTS}/{file}"), node });
    }
    objects
}

/// The kind of an object; nothing if it is none that has one.
pub(crate) fn kind_of(node: &Node) -> &str {
    let text = |key: &str| node.get(key).and_then(Node::as_str).unwrap_or_default();
    if text("apiVersion").matches('/').count() > 1 { "" } else { text("kind") }
}

/// The version of an object's API.
fn api_version(node: &Node) -> &str {
    node.get("apiVersion").and_then(Node::as_str).unwrap_or_default()
}

/// The metadata of the ClusterServiceVersion.
fn meta(source: &Source) -> Result<Value, Finding> {
    let place = |node: &Node| (source.file.as_str(), node.pos.line);
    if let Some(version) = source.node.get("apiVersion")
        && !matches!(version.value, Written::String(_) | Written::Null)
    {
        return Err(refuse(Rule::CsvShape, place(version), "apiVersion is no text"));
    }
    let Some(node) = source.node.get("metadata") else { return Ok(Value::Null) };
    types::loosely_typed(name::OBJECT_META, node)
        .map_err(|error| refuse(Rule::CsvShape, place(node), format!("metadata: {error}")))
}

/// The kinds that a definition has.
fn crd_apis(source: &Source, into: &mut BTreeSet<Api>) -> Result<(), Finding> {
    if kind_of(&source.node) != CRD {
        return Ok(());
    }
    let place = (source.file.as_str(), source.node.pos.line);
    let full = api_version(&source.node);
    let version = full.rsplit('/').next().unwrap_or_default();
    let ty = match version {
        "v1" => name::CRD,
        "v1beta1" => name::CRD_V1BETA1,
        _ => return Ok(()),
    };
    let wrong =
        |error: String| refuse(Rule::CrdShape, place, format!("error decoding {version} CRD: {error}"));
    if full.split('/').next() != Some("apiextensions.k8s.io") {
        return Err(wrong(format!("no kind \"{CRD}\" is registered for version \"{full}\"")));
    }
    let crd = types::typed(ty, &source.node).map_err(wrong)?;
    let api = |version: &str| Api {
        group: text(&crd, "/spec/group").to_owned(),
        version: version.to_owned(),
        kind: text(&crd, "/spec/names/kind").to_owned(),
        plural: text(&crd, "/spec/names/plural").to_owned(),
    };
    into.extend(list(&crd, "/spec/versions").iter().map(|version| api(text(version, "/name"))));
    let old = text(&crd, "/spec/version");
    if version == "v1beta1" && !old.is_empty() {
        into.insert(api(old));
    }
    Ok(())
}

/// The field that Go's JSON reader would put a key in: of several spellings the last counts, and null does not.
pub(crate) fn folded<'m>(map: &'m Map, field: &str) -> Option<&'m Node> {
    map.iter().rfind(|(key, node)| key.eq_ignore_ascii_case(field) && !node.is_null()).map(|(_, node)| node)
}

fn written_property(node: &Node) -> Property {
    Property {
        kind: node.get("type").and_then(Node::as_str).unwrap_or_default().to_owned(),
        value: node.get("value").map(marshal),
    }
}

/// The properties in an annotation. What is wrong with one does not matter for the others.
pub(crate) fn annotated_properties(text: &str) -> Vec<Property> {
    if json::parse(text.as_bytes(), 0).is_err() {
        return Vec::new();
    }
    let mut out = Vec::new();
    for element in raw::elements(text).unwrap_or_default() {
        let mut property = Property { kind: String::new(), value: None };
        for (key, value) in raw::members(element).unwrap_or_default() {
            let read =
                |text: &str| json::parse(text.as_bytes(), 0).ok().and_then(|n| n.as_str().map(str::to_owned));
            match read(key) {
                Some(key) if key.eq_ignore_ascii_case("type") => {
                    property.kind = read(value).unwrap_or(property.kind)
                }
                Some(key) if key.eq_ignore_ascii_case("value") => property.value = Some(value.to_owned()),
                _ => {}
            }
        }
        out.push(property);
    }
    out
}
