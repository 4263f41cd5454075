//! Parses a bundle like operator-controller: all documents of all manifest files, strictly typed.

use podium_goyaml::{Node, Value as YamlValue, json};
use podium_versions::blang::Version;
use serde_json::{Map, Value};

use crate::decode::{self, MetadataFile};
use crate::opm::{Property, object_kind};
use crate::report::{Finding, Rule, Validator};
use crate::types::{self, type_name};
use crate::value::{marshal_json, quote_json, to_json};
use crate::{
    ANNOTATIONS_FILE, BundleFiles, CRD_KIND, CSV_KIND, MANIFESTS_DIR, PACKAGE_LABEL, PROPERTIES_ANNOTATION,
    PROPERTIES_FILE, raw_json,
};

/// An object of `manifests/` with its source position.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// Path in the bundle.
    pub file: String,
    /// YAML node, for line numbers.
    pub node: Node,
    /// Decoded object; typed for CSV and CRD.
    pub value: Value,
}

impl Manifest {
    /// Returns the line of the value at a path of keys and indexes, or of its nearest existing ancestor.
    pub fn line_of(&self, path: &[&str]) -> u32 {
        let mut node = &self.node;
        for key in path {
            let next = match key.parse::<usize>() {
                Ok(at) => node.as_list().and_then(|list| list.get(at)),
                Err(_) => node.get(key),
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node.pos.line
    }
}

/// A registry+v1 bundle as operator-controller parses it.
#[derive(Debug, Clone)]
pub struct RegistryV1 {
    /// Package name.
    pub package: String,
    /// ClusterServiceVersion; the last one if there are several.
    pub csv: Manifest,
    /// CustomResourceDefinitions.
    pub crds: Vec<Manifest>,
    /// All other objects.
    pub others: Vec<Manifest>,
}

fn reject(rule: Rule, location: (&str, u32), message: impl Into<String>) -> Finding {
    Finding::new(Validator::Controller, rule, location, message)
}

impl RegistryV1 {
    /// Parses the bundle files. An error is the reason why operator-controller rejects them.
    pub fn new(files: &BundleFiles) -> Result<Self, Finding> {
        let Some(text) = files.get(ANNOTATIONS_FILE) else {
            return Err(reject(Rule::Annotations, (ANNOTATIONS_FILE, 0), "the file does not exist"));
        };
        let annotations = decode::decode_metadata_file(text, MetadataFile::Annotations)
            .map_err(|error| reject(Rule::Annotations, (ANNOTATIONS_FILE, error.line), error.message))?;
        let package =
            annotations.get("annotations").and_then(|map| map.get(PACKAGE_LABEL)).and_then(Node::as_str);
        if !files.has_dir(MANIFESTS_DIR) {
            return Err(reject(Rule::Folders, ("", 0), "the directory manifests/ is missing"));
        }
        if let Some(dir) = files.subdirs(MANIFESTS_DIR).first() {
            let path = format!("{MANIFESTS_DIR}/{dir}");
            let text = format!(
                "subdirectories are not allowed within the {MANIFESTS_DIR:?} directory of the bundle image filesystem: found {path:?}"
            );
            return Err(reject(Rule::Subfolder, (&path, 0), text));
        }
        let (mut csv, mut crds, mut others) = (None, Vec::new(), Vec::new());
        for (file, data) in files.files_in(MANIFESTS_DIR) {
            let file = format!("{MANIFESTS_DIR}/{file}");
            let documents = decode::all_documents(data)
                .map_err(|error| reject(Rule::Document, (&file, error.line), error.message))?;
            for node in read_objects(&file, documents)? {
                let location = (file.as_str(), node.pos.line);
                let decode_as = |ty: &str, rule: Rule| {
                    types::decode(ty, &node).map_err(|error| {
                        reject(rule, location, format!("error parsing objects in {file:?}: {error}"))
                    })
                };
                match object_kind(&node) {
                    CSV_KIND => {
                        let value = decode_as(type_name::CSV, Rule::CsvShape)?;
                        check_version(&value).map_err(|(rule, text)| reject(rule, location, text))?;
                        csv = Some(Manifest { file: file.clone(), value, node });
                    }
                    CRD_KIND => {
                        let value = decode_as(type_name::CRD, Rule::CrdShape)?;
                        crds.push(Manifest { file: file.clone(), value, node });
                    }
                    _ => others.push(Manifest { file: file.clone(), value: to_json(&node), node }),
                }
            }
        }
        let Some(mut csv) = csv else {
            let text = format!("no ClusterServiceVersion found in {MANIFESTS_DIR:?}");
            return Err(reject(Rule::NoCsv, (MANIFESTS_DIR, 0), text));
        };
        merge_properties(files, &mut csv)?;
        Ok(RegistryV1 { package: package.unwrap_or_default().to_owned(), csv, crds, others })
    }
}

/// Returns the objects of the documents, with lists flattened.
fn read_objects(file: &str, documents: Vec<Node>) -> Result<Vec<Node>, Finding> {
    let mut out = Vec::new();
    for document in documents {
        if document.is_null() {
            continue;
        }
        let location = (file, document.pos.line);
        let malformed =
            |text: &str| reject(Rule::Document, location, format!("unable to decode {file:?}: {text}"));
        if document.as_map().is_none() {
            return Err(malformed("the document is not an object"));
        }
        if object_kind(&document).is_empty() {
            return Err(malformed("Object 'Kind' is missing"));
        }
        if document.get("items").is_none() {
            out.push(document);
            continue;
        }
        flatten_list(file, document, &mut out)?;
    }
    Ok(out)
}

/// Appends the items of a list. Nested lists are rejected.
fn flatten_list(file: &str, list: Node, out: &mut Vec<Node>) -> Result<(), Finding> {
    let malformed = |node: &Node, text: &str| {
        reject(Rule::Document, (file, node.pos.line), format!("unable to decode {file:?}: {text}"))
    };
    // Items of a typed list may omit apiVersion and kind.
    let text = |key: &str| list.get(key).and_then(Node::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let kind = kind.strip_suffix("List").unwrap_or(&kind);
    let items = match list.get("items").cloned().map(|items| items.value) {
        Some(YamlValue::List(items)) => items,
        Some(YamlValue::Null) | None => return Ok(()),
        Some(_) => return Err(malformed(&list, "items is not a list")),
    };
    for mut item in items.into_vec() {
        let pos = item.pos;
        let lacks_type_meta = |map: &podium_goyaml::Map| {
            let text = |key: &str| map.get(key).and_then(Node::as_str).unwrap_or_default();
            text("kind").is_empty() && text("apiVersion").is_empty()
        };
        if let Some(map) = item.as_map_mut().filter(|map| lacks_type_meta(map)) {
            map.insert("kind", Node::new(YamlValue::String(kind.into()), pos));
            map.insert("apiVersion", Node::new(YamlValue::String(api_version.as_str().into()), pos));
        }
        if item.get("items").is_some_and(|items| items.as_list().is_some()) {
            return Err(malformed(&item, "lists must not be nested"));
        }
        if item.as_map().is_none() || object_kind(&item).is_empty() {
            return Err(malformed(&item, "Object 'Kind' is missing"));
        }
        if item.get("apiVersion").and_then(Node::as_str).unwrap_or_default().is_empty() {
            return Err(malformed(&item, "Object 'apiVersion' is missing"));
        }
        out.push(item);
    }
    Ok(())
}

/// Checks that `spec.version` and `spec.release` of a CSV are valid.
pub(crate) fn check_version(csv: &Value) -> Result<(), (Rule, String)> {
    if let Some(version) = csv.pointer("/spec/version").and_then(Value::as_str) {
        Version::parse_tolerant(version)
            .map_err(|error| (Rule::CsvVersion, format!("spec.version {version:?}: {error}")))?;
    }
    if let Some(release) = csv.pointer("/spec/release").and_then(Value::as_str) {
        for part in release.split('.') {
            let malformed =
                |text: String| Err((Rule::CsvRelease, format!("spec.release {release:?}: {text}")));
            let valid_chars = part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
            let numeric = part.bytes().all(|b| b.is_ascii_digit());
            if part.is_empty() {
                return malformed("Prerelease is empty".to_owned());
            } else if numeric && part.len() > 1 && part.starts_with('0') {
                return malformed(format!(
                    "Numeric PreRelease version must not contain leading zeroes {part:?}"
                ));
            } else if !valid_chars {
                return malformed(format!("Invalid character(s) found in prerelease {part:?}"));
            } else if numeric && part.parse::<u64>().is_err() {
                return malformed(format!("{part:?} is too large"));
            }
        }
    }
    Ok(())
}

/// Merges `metadata/properties.yaml` into the `olm.properties` annotation of the CSV.
fn merge_properties(files: &BundleFiles, csv: &mut Manifest) -> Result<(), Finding> {
    let line = csv.line_of(&["metadata", "annotations", PROPERTIES_ANNOTATION]);
    let mut all = Vec::new();
    if let Some(text) = csv
        .value
        .pointer("/metadata/annotations")
        .and_then(|map| map.get(PROPERTIES_ANNOTATION))
        .and_then(Value::as_str)
    {
        all = strict_properties(text).map_err(|error| {
            let text = format!("failed to unmarshal csv.metadata.annotations['olm.properties']: {error}");
            reject(Rule::PropertiesAnnotation, (&csv.file, line), text)
        })?;
    }
    let Some(text) = files.get(PROPERTIES_FILE).filter(|text| !text.is_empty()) else { return Ok(()) };
    let file = decode::decode_metadata_file(text, MetadataFile::Properties).map_err(|error| {
        let text = format!("failed to unmarshal metadata/properties.yaml: {}", error.message);
        reject(Rule::Property, (PROPERTIES_FILE, error.line), text)
    })?;
    let list = file.get("properties").and_then(Node::as_list);
    for node in list.into_iter().flat_map(|list| list.iter()) {
        all.push(Property {
            kind: node.get("type").and_then(Node::as_str).unwrap_or_default().to_owned(),
            value: node.get("value").map(marshal_json),
        });
    }
    // A nil slice marshals to null.
    let merged = if all.is_empty() && list.is_none() {
        "null".to_owned()
    } else {
        let to_json_object = |property: &Property| {
            let kind = escape_html(&quote_json(&property.kind));
            format!(r#"{{"type":{kind},"value":{}}}"#, escape_html(&raw_json::compact(property.value_json())))
        };
        format!("[{}]", all.iter().map(to_json_object).collect::<Vec<_>>().join(","))
    };
    if let Some(metadata) = csv.value.get_mut("metadata").and_then(Value::as_object_mut) {
        let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(PROPERTIES_ANNOTATION.to_owned(), Value::String(merged));
        }
    }
    Ok(())
}

/// Escapes HTML characters in a JSON text like Go; they only occur inside strings.
fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

/// Parses the `olm.properties` annotation and rejects malformed properties.
fn strict_properties(text: &str) -> Result<Vec<Property>, String> {
    let node = json::parse(text.as_bytes(), 0).map_err(|error| error.to_string())?;
    let list = match &node.value {
        YamlValue::Null => return Ok(Vec::new()),
        YamlValue::List(list) => list,
        _ => return Err("not a list".to_owned()),
    };
    for item in list.iter() {
        match &item.value {
            YamlValue::Null => {}
            YamlValue::Map(map) => {
                let has_invalid_type = |(key, node): (&std::sync::Arc<str>, &Node)| {
                    key.eq_ignore_ascii_case("type")
                        && !matches!(node.value, YamlValue::String(_) | YamlValue::Null)
                };
                if map.iter().any(has_invalid_type) {
                    return Err("a property type is not a string".to_owned());
                }
            }
            _ => return Err("a property is not an object".to_owned()),
        }
    }
    Ok(crate::opm::properties_from_annotation(text))
}
