//! A bundle as the lifecycle controller reads it: every document of every file counts, and what does not fit its type
//! is refused.

use podium_goyaml::{Node, Value as Written, json};
use podium_versions::blang::Version;
use serde_json::{Map, Value};

use crate::decode::{self, Metadata};
use crate::opm::{Property, kind_of};
use crate::report::{Finding, Refuser, Rule};
use crate::types::{self, name};
use crate::value::{marshal, plain, quoted};
use crate::{ANNOTATIONS_FILE, CRD, CSV, MANIFESTS, PACKAGE, PROPERTIES, PROPERTIES_FILE, Tree, raw};

/// An object with its place.
#[derive(Debug, Clone)]
pub struct Placed {
    /// The path in the bundle.
    pub file: String,
    /// What was written.
    pub node: Node,
    /// The object, as its type keeps it if it has one.
    pub value: Value,
}

impl Placed {
    /// The line of what is at a path of keys and numbers, or of the nearest around it.
    pub fn line(&self, path: &[&str]) -> u32 {
        let mut node = &self.node;
        for step in path {
            let next = match step.parse::<usize>() {
                Ok(at) => node.as_list().and_then(|list| list.get(at)),
                Err(_) => node.get(step),
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node.pos.line
    }
}

/// A bundle as the lifecycle controller sees it.
#[derive(Debug, Clone)]
pub struct Registry {
    /// The package.
    pub package: String,
    /// The ClusterServiceVersion; of several the last.
    pub csv: Placed,
    /// The CustomResourceDefinitions.
    pub crds: Vec<Placed>,
    /// All other objects.
    pub others: Vec<Placed>,
}

fn refuse(rule: Rule, place: (&str, u32), text: impl Into<String>) -> Finding {
    Finding::new(Refuser::Controller, rule, place, text)
}

impl Registry {
    /// Reads the files of a bundle, or says why the lifecycle controller refuses them.
    pub fn new(tree: &Tree) -> Result<Self, Finding> {
        let Some(text) = tree.get(ANNOTATIONS_FILE) else {
            return Err(refuse(Rule::Annotations, (ANNOTATIONS_FILE, 0), "the file does not exist"));
        };
        let annotations = decode::metadata_whole(text, Metadata::Annotations)
            .map_err(|error| refuse(Rule::Annotations, (ANNOTATIONS_FILE, error.line), error.text))?;
        let package = annotations.get("annotations").and_then(|map| map.get(PACKAGE)).and_then(Node::as_str);
        if !tree.has_folder(MANIFESTS) {
            return Err(refuse(Rule::Folders, ("", 0), "there is no folder manifests/"));
        }
        if let Some(folder) = tree.folders(MANIFESTS).first() {
            let path = format!("{MANIFESTS}/{folder}");
            let text = format!(
                "subdirectories are not allowed within the {MANIFESTS:?} directory of the bundle image filesystem: found {path:?}"
            );
            return Err(refuse(Rule::Subfolder, (&path, 0), text));
        }
        let (mut csv, mut crds, mut others) = (None, Vec::new(), Vec::new());
        for (file, data) in tree.files(MANIFESTS) {
            let file = format!("{MANIFESTS}/{file}");
            let documents =
                decode::all(data).map_err(|error| refuse(Rule::Document, (&file, error.line), error.text))?;
            for node in objects(&file, documents)? {
                let place = (file.as_str(), node.pos.line);
                let read = |ty: &str, rule: Rule| {
                    types::typed(ty, &node).map_err(|error| {
                        refuse(rule, place, format!("error parsing objects in {file:?}: {error}"))
                    })
                };
                match kind_of(&node) {
                    CSV => {
                        let value = read(name::CSV, Rule::CsvShape)?;
                        check_version(&value).map_err(|(rule, text)| refuse(rule, place, text))?;
                        csv = Some(Placed { file: file.clone(), value, node });
                    }
                    CRD => {
                        let value = read(name::CRD, Rule::CrdShape)?;
                        crds.push(Placed { file: file.clone(), value, node });
                    }
                    _ => others.push(Placed { file: file.clone(), value: plain(&node), node }),
                }
            }
        }
        let Some(mut csv) = csv else {
            let text = format!("no ClusterServiceVersion found in {MANIFESTS:?}");
            return Err(refuse(Rule::NoCsv, (MANIFESTS, 0), text));
        };
        copy_properties(tree, &mut csv)?;
        Ok(Registry { package: package.unwrap_or_default().to_owned(), csv, crds, others })
    }
}

/// The objects of documents, those of lists too.
fn objects(file: &str, documents: Vec<Node>) -> Result<Vec<Node>, Finding> {
    let mut out = Vec::new();
    for document in documents {
        if document.is_null() {
            continue;
        }
        let place = (file, document.pos.line);
        let wrong = |text: &str| refuse(Rule::Document, place, format!("unable to decode {file:?}: {text}"));
        if document.as_map().is_none() {
            return Err(wrong("the document is no object"));
        }
        if kind_of(&document).is_empty() {
            return Err(wrong("Object 'Kind' is missing"));
        }
        if document.get("items").is_none() {
            out.push(document);
            continue;
        }
        flatten(file, document, &mut out)?;
    }
    Ok(out)
}

/// The objects of a list. Lists in lists are refused.
fn flatten(file: &str, list: Node, out: &mut Vec<Node>) -> Result<(), Finding> {
    let wrong = |node: &Node, text: &str| {
        refuse(Rule::Document, (file, node.pos.line), format!("unable to decode {file:?}: {text}"))
    };
    // Objects of a typed list may leave out what they are.
    let text = |key: &str| list.get(key).and_then(Node::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let kind = kind.strip_suffix("List").unwrap_or(&kind);
    let items = match list.get("items").cloned().map(|items| items.value) {
        Some(Written::List(items)) => items,
        Some(Written::Null) | None => return Ok(()),
        Some(_) => return Err(wrong(&list, "items is no list")),
    };
    for mut item in items.into_vec() {
        let pos = item.pos;
        let unsaid = |map: &podium_goyaml::Map| {
            let text = |key: &str| map.get(key).and_then(Node::as_str).unwrap_or_default();
            text("kind").is_empty() && text("apiVersion").is_empty()
        };
        if let Some(map) = item.as_map_mut().filter(|map| unsaid(map)) {
            map.insert("kind", Node::new(Written::String(kind.into()), pos));
            map.insert("apiVersion", Node::new(Written::String(api_version.as_str().into()), pos));
        }
        if item.get("items").is_some_and(|items| items.as_list().is_some()) {
            return Err(wrong(&item, "it is a list in a list"));
        }
        if item.as_map().is_none() || kind_of(&item).is_empty() {
            return Err(wrong(&item, "Object 'Kind' is missing"));
        }
        if item.get("apiVersion").and_then(Node::as_str).unwrap_or_default().is_empty() {
            return Err(wrong(&item, "Object 'apiVersion' is missing"));
        }
        out.push(item);
    }
    Ok(())
}

/// Whether the version and the release of a ClusterServiceVersion are such.
pub(crate) fn check_version(csv: &Value) -> Result<(), (Rule, String)> {
    if let Some(version) = csv.pointer("/spec/version").and_then(Value::as_str) {
        Version::parse_tolerant(version)
            .map_err(|error| (Rule::CsvVersion, format!("spec.version {version:?}: {error}")))?;
    }
    if let Some(release) = csv.pointer("/spec/release").and_then(Value::as_str) {
        for part in release.split('.') {
            let wrong = |text: String| Err((Rule::CsvRelease, format!("spec.release {release:?}: {text}")));
            let signs = part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
            let number = part.bytes().all(|b| b.is_ascii_digit());
            if part.is_empty() {
                return wrong("Prerelease is empty".to_owned());
            } else if number && part.len() > 1 && part.starts_with('0') {
                return wrong(format!("Numeric PreRelease version must not contain leading zeroes {part:?}"));
            } else if !signs {
                return wrong(format!("Invalid character(s) found in prerelease {part:?}"));
            } else if number && part.parse::<u64>().is_err() {
                return wrong(format!("{part:?} is too large"));
            }
        }
    }
    Ok(())
}

/// Adds the properties of the file to those in the annotation of the ClusterServiceVersion.
fn copy_properties(tree: &Tree, csv: &mut Placed) -> Result<(), Finding> {
    let line = csv.line(&["metadata", "annotations", PROPERTIES]);
    let mut all = Vec::new();
    if let Some(text) =
        csv.value.pointer("/metadata/annotations").and_then(|map| map.get(PROPERTIES)).and_then(Value::as_str)
    {
        all = strict_properties(text).map_err(|error| {
            let text = format!("failed to unmarshal csv.metadata.annotations['olm.properties']: {error}");
            refuse(Rule::PropertiesAnnotation, (&csv.file, line), text)
        })?;
    }
    let Some(text) = tree.get(PROPERTIES_FILE).filter(|text| !text.is_empty()) else { return Ok(()) };
    let file = decode::metadata_whole(text, Metadata::Properties).map_err(|error| {
        let text = format!("failed to unmarshal metadata/properties.yaml: {}", error.text);
        refuse(Rule::Property, (PROPERTIES_FILE, error.line), text)
    })?;
    let list = file.get("properties").and_then(Node::as_list);
    for node in list.into_iter().flat_map(|list| list.iter()) {
        all.push(Property {
            kind: node.get("type").and_then(Node::as_str).unwrap_or_default().to_owned(),
            value: node.get("value").map(marshal),
        });
    }
    // No list at all is written as null.
    let joined = if all.is_empty() && list.is_none() {
        "null".to_owned()
    } else {
        let one = |property: &Property| {
            let kind = with_html(&quoted(&property.kind));
            format!(r#"{{"type":{kind},"value":{}}}"#, with_html(&raw::compact(property.json())))
        };
        format!("[{}]", all.iter().map(one).collect::<Vec<_>>().join(","))
    };
    if let Some(metadata) = csv.value.get_mut("metadata").and_then(Value::as_object_mut) {
        let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(PROPERTIES.to_owned(), Value::String(joined));
        }
    }
    Ok(())
}

/// JSON with the signs of HTML escaped, as Go does; they can only be in texts.
fn with_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            sign => out.push(sign),
        }
    }
    out
}

/// The properties in an annotation, all of which have to be such.
fn strict_properties(text: &str) -> Result<Vec<Property>, String> {
    let node = json::parse(text.as_bytes(), 0).map_err(|error| error.to_string())?;
    let list = match &node.value {
        Written::Null => return Ok(Vec::new()),
        Written::List(list) => list,
        _ => return Err("it is no list".to_owned()),
    };
    for item in list.iter() {
        match &item.value {
            Written::Null => {}
            Written::Map(map) => {
                let bad = |(key, node): (&std::sync::Arc<str>, &Node)| {
                    key.eq_ignore_ascii_case("type")
                        && !matches!(node.value, Written::String(_) | Written::Null)
                };
                if map.iter().any(bad) {
                    return Err("a type is no text".to_owned());
                }
            }
            _ => return Err("a property is no object".to_owned()),
        }
    }
    Ok(crate::opm::annotated_properties(text))
}
