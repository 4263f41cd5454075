//! Streams of YAML or JSON documents, as the tools of Kubernetes read them.

use podium_goyaml::yaml::types::{self, Kind, Struct, Type};
use podium_goyaml::yaml::{self, Origin};
use podium_goyaml::{Node, Value, json};

use crate::opm::Property;
use crate::raw;

/// Why a document cannot be read, and at which line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The line, from 1; 0 if it is not known.
    pub line: u32,
    /// In the reader's words.
    pub text: String,
}

/// How deep values may be nested. The originals stop at 10 000.
pub const DEEPEST: usize = 150;

/// Whether the first bytes that are no space begin a JSON object.
fn is_json(text: &[u8], look: usize) -> bool {
    let head = text.get(..look.min(text.len())).unwrap_or_default();
    // Go looks at the bytes as text of any language.
    String::from_utf8_lossy(head).trim_start().starts_with('{')
}

/// The first document of a text.
pub fn first(text: &[u8]) -> Result<Option<Node>, Unreadable> {
    Stream::new(text, 30).next().transpose()
}

/// All documents of a text, null ones too. After an error there is nothing more.
pub fn all(text: &[u8]) -> Result<Vec<Node>, Unreadable> {
    Stream::new(text, 4096).collect()
}

struct Stream<'t> {
    text: &'t [u8],
    json: bool,
    count: usize,
    yaml: Option<yaml::Documents<'t>>,
    /// The line at which what is left starts.
    line: u32,
    done: bool,
}

impl<'t> Stream<'t> {
    fn new(text: &'t [u8], look: usize) -> Self {
        let json = is_json(text, look);
        let yaml = (!json).then(|| yaml::documents(text));
        Self { text, json, count: 0, yaml, line: 1, done: false }
    }

    fn json_value(&mut self) -> Option<Result<Node, Unreadable>> {
        match json::parse_prefix(self.text, 0) {
            Ok((mut node, taken)) => {
                self.count += 1;
                whole(&mut node, self.text.get(..taken).unwrap_or_default());
                let rest = self.text.get(taken..).unwrap_or_default();
                let lines = self.text.iter().take(taken).filter(|b| **b == b'\n').count();
                self.text = rest;
                let first = std::mem::replace(&mut self.line, 0);
                self.line = first.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
                Some(Ok(node))
            }
            Err(json::Error::PrefixEmpty) => None,
            Err(error) if self.count > 1 => {
                Some(Err(Unreadable { line: self.line, text: error.to_string() }))
            }
            // One or no object may also be the start of YAML; spaces in front of it do not count.
            Err(error) => {
                self.json = false;
                let spaces = self.text.iter().take_while(|b| b.is_ascii_whitespace() && **b != b'\n').count();
                let spaces = spaces + usize::from(self.text.get(spaces) == Some(&b'\n'));
                self.yaml = Some(yaml::documents(self.text.get(spaces..).unwrap_or_default()));
                match self.yaml_document() {
                    Some(Err(_)) => Some(Err(Unreadable { line: self.line, text: error.to_string() })),
                    other => other,
                }
            }
        }
    }

    fn yaml_document(&mut self) -> Option<Result<Node, Unreadable>> {
        let wrong = |error: yaml::Error, offset: u32| Unreadable {
            line: error.pos().line.saturating_add(offset),
            text: error.to_string(),
        };
        let offset = self.line.saturating_sub(1);
        let document = match self.yaml.as_mut()?.next()? {
            Ok(document) => document,
            Err(error) => return Some(Err(wrong(error, offset))),
        };
        self.count += 1;
        Some(yaml::parse_exact(&document.text, document.origin(0)).map_err(|error| wrong(error, offset)))
    }
}

impl Iterator for Stream<'_> {
    type Item = Result<Node, Unreadable>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let item = if self.json { self.json_value() } else { self.yaml_document() };
        self.done = !matches!(item, Some(Ok(_)));
        match item {
            Some(Ok(node)) if deep(&node) => {
                self.done = true;
                let text = format!("values are nested deeper than {DEEPEST} levels");
                Some(Err(Unreadable { line: node.pos.line, text }))
            }
            other => other,
        }
    }
}

/// Makes whole numbers whole that a float has no room for; whoever reads objects keeps them.
fn whole(node: &mut Node, text: &[u8]) {
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
fn deep(root: &Node) -> bool {
    let mut work = vec![(root, 0)];
    while let Some((node, depth)) = work.pop() {
        if depth > DEEPEST {
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
            (crate::PACKAGE, &types::STRING),
            (crate::CHANNELS, &types::STRING),
            (crate::DEFAULT_CHANNEL, &types::STRING),
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
pub enum Metadata {
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
pub fn metadata(text: &[u8], what: Metadata) -> Result<Node, Unreadable> {
    let ty = match what {
        Metadata::Annotations => &ANNOTATIONS_FILE,
        Metadata::Properties => &PROPERTIES_FILE,
        Metadata::Dependencies => &DEPENDENCIES_FILE,
    };
    let text = if is_json(text, 30)
        && let Ok((_, taken)) = json::parse_prefix(text, 0)
    {
        text.get(..taken).unwrap_or_default()
    } else {
        text
    };
    let wrong = |error: yaml::Error| Unreadable { line: error.pos().line, text: error.to_string() };
    let document = match yaml::documents(text).next() {
        None => return Err(Unreadable { line: 0, text: "EOF".to_owned() }),
        Some(document) => document.map_err(wrong)?,
    };
    let origin: Origin = document.origin(0);
    let node = yaml::parse_as_exact(&document.text, origin, ty).map_err(wrong)?;
    if deep(&node) {
        let text = format!("values are nested deeper than {DEEPEST} levels");
        return Err(Unreadable { line: node.pos.line, text });
    }
    Ok(node)
}

/// The properties or dependencies of a text as they were written, if it is JSON that fits: then nobody writes them anew.
pub fn listed(text: &[u8], key: &str) -> Option<Vec<Property>> {
    if !is_json(text, 30) {
        return None;
    }
    let (node, taken) = json::parse_prefix(text, 0).ok()?;
    if deep(&node) {
        return None;
    }
    let text = std::str::from_utf8(text.get(..taken)?).ok()?;
    let mut list = None;
    for (name, value) in raw::members(text)? {
        if string(name)?.eq_ignore_ascii_case(key) && value != "null" {
            list = Some(raw::elements(value)?);
        }
    }
    let mut out = Vec::new();
    for element in list? {
        let mut property = Property { kind: String::new(), value: None };
        let members = if element == "null" { Vec::new() } else { raw::members(element)? };
        for (name, value) in members {
            let name = string(name)?;
            if name.eq_ignore_ascii_case("value") {
                property.value = Some(value.to_owned());
            } else if name.eq_ignore_ascii_case("type") && value != "null" {
                property.kind = string(value)?;
            }
        }
        out.push(property);
    }
    Some(out)
}

/// The text that a piece of JSON is, if it is one.
fn string(piece: &str) -> Option<String> {
    json::parse(piece.as_bytes(), 0).ok()?.as_str().map(str::to_owned)
}

/// The whole text of a file of `metadata/`, as a YAML reader without streams takes it.
pub fn metadata_whole(text: &[u8], what: Metadata) -> Result<Node, Unreadable> {
    let ty = match what {
        Metadata::Annotations => &ANNOTATIONS_FILE,
        Metadata::Properties => &PROPERTIES_FILE,
        Metadata::Dependencies => &DEPENDENCIES_FILE,
    };
    let wrong = |error: yaml::Error| Unreadable { line: error.pos().line, text: error.to_string() };
    let node = yaml::parse_as_exact(text, 0, ty).map_err(wrong)?;
    if deep(&node) {
        let text = format!("values are nested deeper than {DEEPEST} levels");
        return Err(Unreadable { line: node.pos.line, text });
    }
    Ok(node)
}
