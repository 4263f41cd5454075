//! Parses a bundle like opm: the first document of each file of `manifests/`, and every file of `metadata/`
//! that decodes as annotations, properties or dependencies.
//!
//! opm is lenient: it skips files that do not decode and subdirectories, and takes the first of several
//! ClusterServiceVersions.

use std::collections::BTreeSet;

use podium_goyaml::{Map, Node, Value as YamlValue, json};
use serde_json::Value;

use crate::decode::{self, MetadataFile};
use crate::report::{Finding, Rule, Validator};
use crate::types::{self, type_name};
use crate::value::{array_at, marshal_json, quote_json, string_at};
use crate::{
    CHANNELS_LABEL, CRD_KIND, CSV_KIND, DEFAULT_CHANNEL_LABEL, MANIFESTS_DIR, METADATA_DIR, PACKAGE_LABEL,
    PROPERTIES_ANNOTATION, raw_json,
};

/// An untyped object with its source file.
#[derive(Debug, Clone)]
pub struct Unstructured {
    /// Path in the bundle.
    pub file: String,
    /// The object.
    pub node: Node,
}

/// A property or dependency of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Property {
    /// Property type, such as `olm.package`.
    pub kind: String,
    /// Raw JSON value, if any.
    pub value: Option<String>,
}

impl Property {
    fn dedup_key(&self) -> String {
        format!("type: {}, value: {}", self.kind, self.value.as_deref().unwrap_or_default())
    }

    /// Returns the raw JSON value, or null.
    pub fn value_json(&self) -> &str {
        self.value.as_deref().unwrap_or("null")
    }
}

/// A provided or required API.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ApiKey {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub plural: String,
}

/// A bundle as opm parses it (`registry.Bundle`).
#[derive(Debug, Clone)]
pub struct RegistryBundle {
    /// Name of the ClusterServiceVersion.
    pub name: String,
    /// Package name.
    pub package: String,
    /// Channels that the bundle author proposes.
    pub channels: Vec<String>,
    /// Default channel that the bundle author proposes.
    pub default_channel: String,
    /// Objects in file order.
    pub objects: Vec<Unstructured>,
    pub(crate) csv: usize,
    pub(crate) properties: Vec<Property>,
    pub(crate) dependencies: Vec<Property>,
    pub(crate) provided_apis: BTreeSet<ApiKey>,
}

fn reject(rule: Rule, location: (&str, u32), message: impl Into<String>) -> Finding {
    Finding::new(Validator::Opm, rule, location, message)
}

impl RegistryBundle {
    /// Parses the bundle files. An error is the reason why opm rejects them.
    pub fn new(files: &crate::BundleFiles) -> Result<Self, Finding> {
        if !files.has_dir(MANIFESTS_DIR) {
            return Err(reject(Rule::Folders, ("", 0), "the directory manifests/ is missing"));
        }
        let objects = read_objects(files);
        if objects.is_empty() {
            return Err(reject(Rule::NoObjects, (MANIFESTS_DIR, 0), "no bundle objects found"));
        }
        let csv = objects.iter().position(|object| object_kind(&object.node) == CSV_KIND);
        let meta = match csv.and_then(|at| objects.get(at)) {
            Some(source) => Some(csv_object_meta(source)?),
            None => None,
        };
        let mut provided_apis = BTreeSet::new();
        for object in &objects {
            add_crd_apis(object, &mut provided_apis)?;
        }
        let (Some(csv), Some(meta)) = (csv, meta) else {
            return Err(reject(Rule::NoCsv, (MANIFESTS_DIR, 0), "no csv in bundle"));
        };
        let mut bundle = RegistryBundle {
            name: string_at(&meta, "/name").to_owned(),
            package: String::new(),
            channels: Vec::new(),
            default_channel: String::new(),
            objects,
            csv,
            properties: Vec::new(),
            dependencies: Vec::new(),
            provided_apis,
        };
        bundle.check_owned_crds()?;
        if !files.has_dir(METADATA_DIR) {
            return Err(reject(Rule::Folders, ("", 0), "the directory metadata/ is missing"));
        }
        bundle.read_metadata(files)?;
        bundle.add_derived_properties(&meta)?;
        Ok(bundle)
    }

    /// Returns the ClusterServiceVersion.
    pub fn csv(&self) -> Option<&Unstructured> {
        self.objects.get(self.csv)
    }

    pub(crate) fn csv_location(&self) -> (&str, u32) {
        self.csv().map_or(("", 0), |csv| (csv.file.as_str(), csv.node.pos.line))
    }

    fn location_of(&self, node: &Node) -> (&str, u32) {
        (self.csv_location().0, node.pos.line)
    }

    /// Returns the CSV's `spec`, or nothing if it is null.
    pub(crate) fn spec(&self) -> Result<Option<&Map>, Finding> {
        let malformed = |location, message: &str| reject(Rule::CsvShape, location, message);
        let Some(csv) = self.csv() else { return Ok(None) };
        match csv.node.get("spec") {
            None => Err(malformed(self.csv_location(), "the ClusterServiceVersion has no spec")),
            Some(spec) => match &spec.value {
                YamlValue::Null => Ok(None),
                YamlValue::Map(map) => Ok(Some(map)),
                _ => Err(malformed(self.location_of(spec), "spec is not an object")),
            },
        }
    }

    /// Returns a non-null field of the CSV's `spec`.
    pub(crate) fn spec_field(&self, key: &str) -> Result<Option<&Node>, Finding> {
        Ok(self.spec()?.and_then(|spec| spec.get(key)).filter(|node| !node.is_null()))
    }

    fn spec_string_field(&self, key: &str) -> Result<&str, Finding> {
        match self.spec_field(key)? {
            None => Ok(""),
            Some(node) => node.as_str().ok_or_else(|| {
                reject(
                    Rule::CsvVersion,
                    self.location_of(node),
                    format!("spec.{key} is not a string: quote it"),
                )
            }),
        }
    }

    /// Returns `spec.version`.
    pub fn version(&self) -> Result<&str, Finding> {
        self.spec_string_field("version")
    }

    /// Returns `spec.release`, which may be a string or a number.
    pub(crate) fn release(&self) -> Result<String, Finding> {
        let Some(node) = self.spec_field("release")? else { return Ok(String::new()) };
        Ok(match &node.value {
            YamlValue::String(text) => text.to_string(),
            YamlValue::Int(number) => number.to_string(),
            YamlValue::Float(number) if number.fract() == 0.0 => format!("{}", *number as i64),
            YamlValue::Float(_) => marshal_json(node),
            _ => {
                return Err(reject(
                    Rule::CsvRelease,
                    self.location_of(node),
                    "release field must be a string or number",
                ));
            }
        })
    }

    /// Returns the `owned` or `required` entries of a definition section of the CSV.
    pub(crate) fn definition_keys(&self, section: &str, list: &str) -> Result<Vec<DefinitionKey>, Finding> {
        let Some(node) = self.spec_field(section)? else { return Ok(Vec::new()) };
        let malformed = |node: &Node, message: &str| {
            reject(Rule::CsvShape, self.location_of(node), format!("spec.{section}: {message}"))
        };
        let Some(map) = node.as_map() else { return Err(malformed(node, "not an object")) };
        // opm decodes both lists, even if it needs only one.
        for list_name in ["owned", "required"] {
            if let Some(node) = get_case_insensitive(map, list_name)
                && node.as_list().is_none()
            {
                return Err(malformed(node, &format!("{list_name} is not a list")));
            }
        }
        let mut keys = Vec::new();
        for list_name in ["owned", "required"] {
            for node in get_case_insensitive(map, list_name)
                .and_then(Node::as_list)
                .into_iter()
                .flat_map(|list| list.iter())
            {
                let Some(map) = node.as_map() else {
                    return Err(malformed(node, &format!("{list_name} has an item that is not an object")));
                };
                let read = |key: &str| match get_case_insensitive(map, key) {
                    None => Ok(String::new()),
                    Some(node) => node
                        .as_str()
                        .map(str::to_owned)
                        .ok_or_else(|| malformed(node, &format!("{list_name}: {key} is not a string"))),
                };
                let definition = DefinitionKey {
                    group: read("group")?,
                    kind: read("kind")?,
                    name: read("name")?,
                    version: read("version")?,
                    line: node.pos.line,
                };
                if list_name == list {
                    keys.push(definition);
                }
            }
        }
        Ok(keys)
    }

    /// Returns the API keys of CRD descriptions, whose names are `PLURAL.GROUP`.
    fn crd_api_keys(&self, list: &str) -> Result<Vec<(ApiKey, u32)>, Finding> {
        let mut keys = Vec::new();
        for definition in self.definition_keys("customresourcedefinitions", list)? {
            let Some((plural, group)) = definition.name.split_once('.') else {
                let text = format!("couldn't parse plural.group from crd name: {}", definition.name);
                return Err(reject(Rule::CrdName, (self.csv_location().0, definition.line), text));
            };
            let api = ApiKey {
                group: group.to_owned(),
                version: definition.version,
                kind: definition.kind,
                plural: plural.to_owned(),
            };
            keys.push((api, definition.line));
        }
        Ok(keys)
    }

    fn check_owned_crds(&mut self) -> Result<(), Finding> {
        let api_services = self.definition_keys("apiservicedefinitions", "owned")?;
        self.provided_apis.extend(api_services.into_iter().map(DefinitionKey::api));
        for (api, line) in self.crd_api_keys("owned")? {
            if !self.provided_apis.contains(&api) {
                let text = format!(
                    "couldn't find {}/{}/{} ({}) in bundle",
                    api.group, api.version, api.kind, api.plural
                );
                return Err(reject(Rule::OwnedCrd, (self.csv_location().0, line), text));
            }
        }
        Ok(())
    }

    /// Returns the APIs that the bundle requires.
    pub(crate) fn required_apis(&self) -> Result<BTreeSet<ApiKey>, Finding> {
        let mut required_apis: BTreeSet<ApiKey> =
            self.crd_api_keys("required")?.into_iter().map(|(api, _)| api).collect();
        let api_services = self.definition_keys("apiservicedefinitions", "required")?;
        required_apis.extend(api_services.into_iter().map(DefinitionKey::api));
        Ok(required_apis)
    }

    fn read_metadata(&mut self, files: &crate::BundleFiles) -> Result<(), Finding> {
        let mut annotations: Option<Node> = None;
        for (_, data) in files.files_in(METADATA_DIR) {
            if annotations.is_none()
                && let Ok(node) = decode::decode_metadata_stream(data, MetadataFile::Annotations)
                && let Some(map) = node.get("annotations").filter(|map| {
                    [PACKAGE_LABEL, CHANNELS_LABEL, DEFAULT_CHANNEL_LABEL]
                        .iter()
                        .any(|key| !annotation(map, key).is_empty())
                })
            {
                annotations = Some(map.clone());
            }
            for (file, key, target) in [
                (MetadataFile::Dependencies, "dependencies", &mut self.dependencies),
                (MetadataFile::Properties, "properties", &mut self.properties),
            ] {
                if !target.is_empty() {
                    continue;
                }
                if let Some(all) = decode::raw_properties(data, key) {
                    target.extend(all);
                } else if let Ok(node) = decode::decode_metadata_stream(data, file)
                    && let Some(list) = node.get(key).and_then(Node::as_list)
                {
                    target.extend(list.iter().map(property_from_node));
                }
            }
        }
        let Some(map) = annotations else {
            return Err(reject(Rule::Annotations, (METADATA_DIR, 0), "Could not find annotations file"));
        };
        self.package = annotation(&map, PACKAGE_LABEL).to_owned();
        let channels = annotation(&map, CHANNELS_LABEL);
        if !channels.is_empty() {
            self.channels = channels.split(',').map(str::to_owned).collect();
        }
        self.default_channel = annotation(&map, DEFAULT_CHANNEL_LABEL).to_owned();
        Ok(())
    }

    /// Adds the `olm.package` property and the properties of the CSV's annotation.
    fn add_derived_properties(&mut self, meta: &Value) -> Result<(), Finding> {
        let mut derived = Vec::new();
        if !self.package.is_empty() {
            let mut value = format!(
                r#"{{"packageName":{},"version":{}"#,
                quote_json(&self.package),
                quote_json(self.version()?)
            );
            let release = self.release()?;
            if !release.is_empty() {
                value.push_str(&format!(r#","release":{}"#, quote_json(&release)));
            }
            value.push('}');
            derived.push(Property { kind: "olm.package".to_owned(), value: Some(value) });
        }
        if let Some(text) =
            meta.get("annotations").and_then(|map| map.get(PROPERTIES_ANNOTATION)).and_then(Value::as_str)
        {
            derived.extend(properties_from_annotation(text));
        }
        let mut seen = BTreeSet::new();
        let from_files = std::mem::take(&mut self.properties);
        let all = from_files.into_iter().chain(derived);
        self.properties = all.filter(|property| seen.insert(property.dedup_key())).collect();
        Ok(())
    }
}

/// A CRD or API service description of the CSV.
#[derive(Debug, Clone)]
pub(crate) struct DefinitionKey {
    pub group: String,
    pub kind: String,
    pub name: String,
    pub version: String,
    pub line: u32,
}

impl DefinitionKey {
    fn api(self) -> ApiKey {
        ApiKey { group: self.group, version: self.version, kind: self.kind, plural: self.name }
    }
}

fn annotation<'n>(map: &'n Node, key: &str) -> &'n str {
    map.get(key).and_then(Node::as_str).unwrap_or_default()
}

fn read_objects(files: &crate::BundleFiles) -> Vec<Unstructured> {
    let mut objects: Vec<Unstructured> = Vec::new();
    let mut has_csv = false;
    for (file, data) in files.files_in(MANIFESTS_DIR) {
        if file.starts_with('.') {
            continue;
        }
        let Ok(Some(node)) = decode::first_document(data) else { continue };
        let kind = object_kind(&node);
        if kind.is_empty() || kind == CSV_KIND && std::mem::replace(&mut has_csv, true) {
            continue;
        }
        objects.push(Unstructured { file: format!("{MANIFESTS_DIR}/{file}"), node });
    }
    objects
}

/// Returns the kind of an object, or an empty string if the type meta is invalid.
pub(crate) fn object_kind(node: &Node) -> &str {
    let text = |key: &str| node.get(key).and_then(Node::as_str).unwrap_or_default();
    if text("apiVersion").matches('/').count() > 1 { "" } else { text("kind") }
}

/// Returns the apiVersion of an object.
fn api_version(node: &Node) -> &str {
    node.get("apiVersion").and_then(Node::as_str).unwrap_or_default()
}

/// Decodes the metadata of the CSV.
fn csv_object_meta(source: &Unstructured) -> Result<Value, Finding> {
    let location = |node: &Node| (source.file.as_str(), node.pos.line);
    if let Some(version) = source.node.get("apiVersion")
        && !matches!(version.value, YamlValue::String(_) | YamlValue::Null)
    {
        return Err(reject(Rule::CsvShape, location(version), "apiVersion is not a string"));
    }
    let Some(node) = source.node.get("metadata") else { return Ok(Value::Null) };
    types::decode_case_insensitive(type_name::OBJECT_META, node)
        .map_err(|error| reject(Rule::CsvShape, location(node), format!("metadata: {error}")))
}

/// Adds the APIs that a CRD defines.
fn add_crd_apis(source: &Unstructured, target: &mut BTreeSet<ApiKey>) -> Result<(), Finding> {
    if object_kind(&source.node) != CRD_KIND {
        return Ok(());
    }
    let location = (source.file.as_str(), source.node.pos.line);
    let full = api_version(&source.node);
    let version = full.rsplit('/').next().unwrap_or_default();
    let ty = match version {
        "v1" => type_name::CRD,
        "v1beta1" => type_name::CRD_V1BETA1,
        _ => return Ok(()),
    };
    let malformed =
        |error: String| reject(Rule::CrdShape, location, format!("error decoding {version} CRD: {error}"));
    if full.split('/').next() != Some("apiextensions.k8s.io") {
        return Err(malformed(format!("no kind \"{CRD_KIND}\" is registered for version \"{full}\"")));
    }
    let crd = types::decode(ty, &source.node).map_err(malformed)?;
    let api = |version: &str| ApiKey {
        group: string_at(&crd, "/spec/group").to_owned(),
        version: version.to_owned(),
        kind: string_at(&crd, "/spec/names/kind").to_owned(),
        plural: string_at(&crd, "/spec/names/plural").to_owned(),
    };
    target.extend(array_at(&crd, "/spec/versions").iter().map(|version| api(string_at(version, "/name"))));
    let v1beta1_version = string_at(&crd, "/spec/version");
    if version == "v1beta1" && !v1beta1_version.is_empty() {
        target.insert(api(v1beta1_version));
    }
    Ok(())
}

/// Returns the value that Go's JSON decoder assigns to a field: the last key that matches case-insensitively
/// and is not null.
pub(crate) fn get_case_insensitive<'m>(map: &'m Map, field: &str) -> Option<&'m Node> {
    map.iter().rfind(|(key, node)| key.eq_ignore_ascii_case(field) && !node.is_null()).map(|(_, node)| node)
}

fn property_from_node(node: &Node) -> Property {
    Property {
        kind: node.get("type").and_then(Node::as_str).unwrap_or_default().to_owned(),
        value: node.get("value").map(marshal_json),
    }
}

/// Parses the `olm.properties` annotation and skips malformed properties.
pub(crate) fn properties_from_annotation(text: &str) -> Vec<Property> {
    if json::parse(text.as_bytes(), 0).is_err() {
        return Vec::new();
    }
    let mut out = Vec::new();
    for element in raw_json::elements(text).unwrap_or_default() {
        let mut property = Property { kind: String::new(), value: None };
        for (key, value) in raw_json::members(element).unwrap_or_default() {
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
