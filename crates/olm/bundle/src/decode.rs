//! Decodes streams of YAML or JSON documents like Kubernetes' `yaml.NewYAMLOrJSONDecoder`.

use podium_goyaml::yaml::types::{self, Kind, Struct, Type};
use podium_goyaml::yaml::{self, Origin};
use podium_goyaml::{Node, Value, json};

use crate::opm::Property;
use crate::raw_json;

/// A decoding error with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// Line, from 1; 0 if unknown.
    pub line: u32,
    /// Message of the decoder.
    pub message: String,
}

/// Maximum nesting depth. Go's decoders allow 10 000.
pub const MAX_DEPTH: usize = 150;

/// Reports whether the first `peek` bytes start a JSON object.
fn starts_json_object(text: &[u8], peek: usize) -> bool {
    let head = text.get(..peek.min(text.len())).unwrap_or_default();
    // Go skips Unicode whitespace.
    String::from_utf8_lossy(head).trim_start().starts_with('{')
}

/// Decodes the first document.
pub fn first_document(text: &[u8]) -> Result<Option<Node>, DecodeError> {
    DocumentStream::new(text, 30).next().transpose()
}

/// Decodes all documents, including null ones, up to the first error.
pub fn all_documents(text: &[u8]) -> Result<Vec<Node>, DecodeError> {
    DocumentStream::new(text, 4096).collect()
}

struct DocumentStream<'t> {
    text: &'t [u8],
    json: bool,
    count: usize,
    yaml: Option<yaml::Documents<'t>>,
    /// Line at which the remaining text starts.
    line: u32,
    done: bool,
}

impl<'t> DocumentStream<'t> {
    fn new(text: &'t [u8], peek: usize) -> Self {
        let json = starts_json_object(text, peek);
        let yaml = (!json).then(|| yaml::documents(text));
        Self { text, json, count: 0, yaml, line: 1, done: false }
    }

    fn json_value(&mut self) -> Option<Result<Node, DecodeError>> {
        match json::parse_prefix(self.text, 0) {
            Ok((mut node, taken)) => {
                self.count += 1;
                restore_integers(&mut node, self.text.get(..taken).unwrap_or_default());
                let rest = self.text.get(taken..).unwrap_or_default();
                let lines = self.text.iter().take(taken).filter(|b| **b == b'\n').count();
                self.text = rest;
                let first_line = std::mem::replace(&mut self.line, 0);
                self.line = first_line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
                Some(Ok(node))
            }
            Err(json::Error::PrefixEmpty) => None,
            Err(error) if self.count > 1 => {
                Some(Err(DecodeError { line: self.line, message: error.to_string() }))
            }
            // Up to one object may also be the start of YAML; leading whitespace is skipped.
            Err(error) => {
                self.json = false;
                let spaces = self.text.iter().take_while(|b| b.is_ascii_whitespace() && **b != b'\n').count();
                let spaces = spaces + usize::from(self.text.get(spaces) == Some(&b'\n'));
                self.yaml = Some(yaml::documents(self.text.get(spaces..).unwrap_or_default()));
                match self.yaml_document() {
                    Some(Err(_)) => Some(Err(DecodeError { line: self.line, message: error.to_string() })),
                    other => other,
                }
            }
        }
    }

    fn yaml_document(&mut self) -> Option<Result<Node, DecodeError>> {
        let to_error = |error: yaml::Error, offset: u32| DecodeError {
            line: error.pos().line.saturating_add(offset),
            message: error.to_string(),
        };
        let offset = self.line.saturating_sub(1);
        let document = match self.yaml.as_mut()?.next()? {
            Ok(document) => document,
            Err(error) => return Some(Err(to_error(error, offset))),
        };
        self.count += 1;
        Some(yaml::parse_exact(&document.text, document.origin(0)).map_err(|error| to_error(error, offset)))
    }
}

impl Iterator for DocumentStream<'_> {
    type Item = Result<Node, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let item = if self.json { self.json_value() } else { self.yaml_document() };
        self.done = !matches!(item, Some(Ok(_)));
        match item {
            Some(Ok(node)) if exceeds_max_depth(&node) => {
                self.done = true;
                let message = format!("values are nested deeper than {MAX_DEPTH} levels");
                Some(Err(DecodeError { line: node.pos.line, message }))
            }
            other => other,
        }
    }
}

/// Restores integers that `f64` cannot represent, which Kubernetes keeps as int64.
fn restore_integers(node: &mut Node, text: &[u8]) {
    let Ok(exact) = serde_json::from_slice::<serde_json::Value>(text) else { return };
    let mut work = vec![(node, &exact)];
    while let Some((node, exact)) = work.pop() {
        if matches!(node.value, Value::Float(_))
            && let Some(number) = exact.as_i64()
        {
            node.value = Value::Int(number);
            continue;
        }
        match (&mut node.value, exact) {
            (Value::List(list), serde_json::Value::Array(all)) => {
                work.extend(list.as_vec_mut().iter_mut().zip(all));
            }
            (Value::Map(map), serde_json::Value::Object(all)) => {
                work.extend(map.iter_mut().filter_map(|(key, node)| Some((node, all.get(key.as_ref())?))));
            }
            _ => {}
        }
    }
}

/// Reports whether a value is nested deeper than [`MAX_DEPTH`].
fn exceeds_max_depth(root: &Node) -> bool {
    let mut work = vec![(root, 0)];
    while let Some((node, depth)) = work.pop() {
        if depth > MAX_DEPTH {
            return true;
        }
        match &node.value {
            Value::List(list) => work.extend(list.iter().map(|node| (node, depth + 1))),
            Value::Map(map) => work.extend(map.iter().map(|(_, node)| (node, depth + 1))),
            _ => {}
        }
    }
    false
}

static ANNOTATIONS: Type = Type::new(
    "registry.Annotations",
    Kind::Struct(&Struct {
        name: "Annotations",
        fields: &[
            (crate::PACKAGE_LABEL, &types::STRING),
            (crate::CHANNELS_LABEL, &types::STRING),
            (crate::DEFAULT_CHANNEL_LABEL, &types::STRING),
        ],
    }),
);
static ANNOTATIONS_FILE: Type = Type::new(
    "registry.AnnotationsFile",
    Kind::Struct(&Struct { name: "AnnotationsFile", fields: &[("annotations", &ANNOTATIONS)] }),
);
static PROPERTY: Type = Type::new(
    "registry.Property",
    Kind::Struct(&Struct { name: "Property", fields: &[("type", &types::STRING), ("value", &types::ANY)] }),
);
static PROPERTIES: Type = Type::new("[]registry.Property", Kind::List(&PROPERTY));
static PROPERTIES_FILE: Type = Type::new(
    "registry.PropertiesFile",
    Kind::Struct(&Struct { name: "PropertiesFile", fields: &[("properties", &PROPERTIES)] }),
);
static DEPENDENCIES_FILE: Type = Type::new(
    "registry.DependenciesFile",
    Kind::Struct(&Struct { name: "DependenciesFile", fields: &[("dependencies", &PROPERTIES)] }),
);

/// The files of `metadata/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataFile {
    /// Package and channels.
    Annotations,
    /// Properties.
    Properties,
    /// Dependencies.
    Dependencies,
}

/// Decodes the first document of a `metadata/` file.
///
/// JSON that does not fit the type is decoded as YAML, which converts numbers to strings.
pub fn decode_metadata_stream(text: &[u8], file: MetadataFile) -> Result<Node, DecodeError> {
    let ty = match file {
        MetadataFile::Annotations => &ANNOTATIONS_FILE,
        MetadataFile::Properties => &PROPERTIES_FILE,
        MetadataFile::Dependencies => &DEPENDENCIES_FILE,
    };
    let text = if starts_json_object(text, 30)
        && let Ok((_, taken)) = json::parse_prefix(text, 0)
    {
        text.get(..taken).unwrap_or_default()
    } else {
        text
    };
    let to_error = |error: yaml::Error| DecodeError { line: error.pos().line, message: error.to_string() };
    let document = match yaml::documents(text).next() {
        None => return Err(DecodeError { line: 0, message: "EOF".to_owned() }),
        Some(document) => document.map_err(to_error)?,
    };
    let origin: Origin = document.origin(0);
    let node = yaml::parse_as_exact(&document.text, origin, ty).map_err(to_error)?;
    if exceeds_max_depth(&node) {
        let message = format!("values are nested deeper than {MAX_DEPTH} levels");
        return Err(DecodeError { line: node.pos.line, message });
    }
    Ok(node)
}

/// Returns the properties or dependencies verbatim if the file is JSON of the right type, so that they are
/// not re-encoded.
pub fn raw_properties(text: &[u8], key: &str) -> Option<Vec<Property>> {
    if !starts_json_object(text, 30) {
        return None;
    }
    let (node, taken) = json::parse_prefix(text, 0).ok()?;
    if exceeds_max_depth(&node) {
        return None;
    }
    let text = std::str::from_utf8(text.get(..taken)?).ok()?;
    let mut list = None;
    for (name, value) in raw_json::members(text)? {
        if unquote(name)?.eq_ignore_ascii_case(key) && value != "null" {
            list = Some(raw_json::elements(value)?);
        }
    }
    let mut out = Vec::new();
    for element in list? {
        let mut property = Property { kind: String::new(), value: None };
        let members = if element == "null" { Vec::new() } else { raw_json::members(element)? };
        for (name, value) in members {
            let name = unquote(name)?;
            if name.eq_ignore_ascii_case("value") {
                property.value = Some(value.to_owned());
            } else if name.eq_ignore_ascii_case("type") && value != "null" {
                property.kind = unquote(value)?;
            }
        }
        out.push(property);
    }
    Some(out)
}

/// Decodes a JSON string literal.
fn unquote(literal: &str) -> Option<String> {
    json::parse(literal.as_bytes(), 0).ok()?.as_str().map(str::to_owned)
}

/// Decodes a `metadata/` file as a single YAML document.
pub fn decode_metadata_file(text: &[u8], file: MetadataFile) -> Result<Node, DecodeError> {
    let ty = match file {
        MetadataFile::Annotations => &ANNOTATIONS_FILE,
        MetadataFile::Properties => &PROPERTIES_FILE,
        MetadataFile::Dependencies => &DEPENDENCIES_FILE,
    };
    let to_error = |error: yaml::Error| DecodeError { line: error.pos().line, message: error.to_string() };
    let node = yaml::parse_as_exact(text, 0, ty).map_err(to_error)?;
    if exceeds_max_depth(&node) {
        let message = format!("values are nested deeper than {MAX_DEPTH} levels");
        return Err(DecodeError { line: node.pos.line, message });
    }
    Ok(node)
}
