//! Streams of YAML or JSON documents, as the tools of Kubernetes read them.

use podium_goyaml::yaml::types::{self, Kind, Struct, Type};
use podium_goyaml::yaml::{self, Origin};
use podium_goyaml::{Node, Value, json};

use crate::opm::Property;
use crate::raw_json;

/// Why a document cannot be read, and at which line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// The line, from 1; 0 if it is not known.
    pub line: u32,
    /// In the reader's words.
    pub message: String,
}

/// How deep values may be nested. The originals stop at 10 000.
pub const MAX_DEPTH: usize = 150;

/// Whether the first bytes that are no space begin a JSON object.
fn starts_json_object(text: &[u8], peek: usize) -> bool {
    let head = text.get(..peek.min(text.len())).unwrap_or_default();
    // Go looks at the bytes as text of any language.
    String::from_utf8_lossy(head).trim_start().starts_with('{')
}

/// The first document of a text.
pub fn first_document(text: &[u8]) -> Result<Option<Node>, DecodeError> {
    DocumentStream::new(text, 30).next().transpose()
}

/// All documents of a text, null ones too. After an error there is nothing more.
pub fn all_documents(text: &[u8]) -> Result<Vec<Node>, DecodeError> {
    DocumentStream::new(text, 4096).collect()
}

struct DocumentStream<'t> {
    text: &'t [u8],
    json: bool,
    count: usize,
    yaml: Option<yaml::Documents<'t>>,
    /// The line at which what is left starts.
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
            // One or no object may also be the start of YAML; spaces in front of it do not count.
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

/// Makes whole numbers whole that a float has no room for; whoever reads objects keeps them.
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

/// Whether a value is nested too deep to be worked with.
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

/// What a file of `metadata/` can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataFile {
    /// Who the bundle is, in which channels.
    Annotations,
    /// What it has.
    Properties,
    /// What it needs.
    Dependencies,
}

/// The first document of a text as one of the files of `metadata/`.
///
/// JSON that does not fit is read once more as YAML, which takes numbers for texts.
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

/// The properties or dependencies of a text as they were written, if it is JSON that fits: then nobody writes them anew.
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

/// The text that a piece of JSON is, if it is one.
fn unquote(literal: &str) -> Option<String> {
    json::parse(literal.as_bytes(), 0).ok()?.as_str().map(str::to_owned)
}

/// The whole text of a file of `metadata/`, as a YAML reader without streams takes it.
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
