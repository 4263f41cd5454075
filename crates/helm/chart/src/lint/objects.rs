//! The objects of a file, as Kubernetes' decoder of JSON or YAML streams reads them.
//!
//! A file that begins like JSON is read as one JSON text after the other; when that fails early on, what is left is
//! read as YAML documents.

use podium_gotmpl::gostr;
use podium_goyaml::yaml::types::{Kind, STRING, Struct, Type, fit};
use podium_goyaml::yaml::{Documents, documents, parse_as};
use podium_goyaml::{Node, json};

use crate::dialect::Dialect;

/// So many bytes are looked at to see whether a file begins like JSON.
const PEEK: usize = 4096;

/// What the rules want to know of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Object {
    pub api_version: String,
    pub kind: String,
    pub name: String,
}

impl Object {
    fn new(node: &Node) -> Option<Self> {
        node.as_map()?;
        let text = |node: Option<&Node>| node.and_then(Node::as_str).unwrap_or_default().to_owned();
        Some(Self {
            api_version: text(node.get("apiVersion")),
            kind: text(node.get("Kind")),
            name: text(node.get("Metadata").and_then(|metadata| metadata.get("Name"))),
        })
    }
}

macro_rules! object_type {
    ($name:literal) => {{
        static METADATA: Type = Type::new(
            "rules.k8sYamlMetadata",
            Kind::Struct(&Struct {
                name: "k8sYamlMetadata",
                fields: &[("Namespace", &STRING), ("Name", &STRING)],
            }),
        );
        static OBJECT: Struct = Struct {
            name: $name,
            fields: &[("apiVersion", &STRING), ("Kind", &STRING), ("Metadata", &METADATA)],
        };
        Type::pointer(concat!("rules.", $name), Kind::Struct(&OBJECT))
    }};
}

static EXPORTED: Type = object_type!("K8sYamlStruct");
static PRIVATE: Type = object_type!("k8sYamlStruct");

/// The objects, one after the other; nothing for one that is null. After an error there may be more.
pub(super) struct Objects<'t> {
    rest: &'t [u8],
    ty: &'static Type,
    /// How many JSON texts were read; nothing once it is YAML.
    json: Option<usize>,
    documents: Documents<'t>,
}

impl<'t> Objects<'t> {
    pub fn new(text: &'t [u8], dialect: &Dialect) -> Self {
        let ty = if dialect.lint.object_type_is_exported { &EXPORTED } else { &PRIVATE };
        let is_json = trim_start(text.get(..PEEK).unwrap_or(text)).starts_with(b"{");
        Self { rest: text, ty, json: is_json.then_some(0), documents: documents(text) }
    }

    fn yaml(&mut self) -> Option<Result<Option<Object>, String>> {
        let document = match self.documents.next()? {
            Ok(document) => document,
            Err(error) => return Some(Err(error.to_string())),
        };
        let node = parse_as(&document.text, 0, self.ty);
        Some(node.map(|node| Object::new(&node)).map_err(|error| error.to_string()))
    }
}

fn trim_start(text: &[u8]) -> &[u8] {
    let start = gostr::runes(text).find(|(_, c, _)| !gostr::is_space(*c)).map_or(text.len(), |(at, ..)| at);
    text.get(start..).unwrap_or_default()
}

/// White space up to and with the end of the line is what JSON may have left behind.
fn after_white_space(text: &[u8]) -> &[u8] {
    let mut rest = text;
    while let Some((_, c, width)) = gostr::runes(rest).next().filter(|(_, c, _)| gostr::is_space(*c)) {
        rest = rest.get(width..).unwrap_or_default();
        if c == '\n' {
            break;
        }
    }
    rest
}

impl Iterator for Objects<'_> {
    type Item = Result<Option<Object>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(count) = self.json else { return self.yaml() };
        let reason = match json::parse_prefix(self.rest, 0) {
            Ok((node, used)) => match fit(node, self.ty) {
                Ok(node) => {
                    self.rest = self.rest.get(used..).unwrap_or_default();
                    self.json = Some(count + 1);
                    return Some(Ok(Object::new(&node)));
                }
                Err(reason) => reason,
            },
            Err(json::Error::PrefixEmpty) => return None,
            Err(error @ json::Error::Character { offset, .. }) => {
                if count > 1 {
                    return Some(Err(error.to_string()));
                }
                format!("json: offset {offset}: {error}")
            }
            Err(error) => error.to_string(),
        };
        if count > 1 {
            return Some(Err(reason));
        }
        self.json = None;
        self.documents = documents(after_white_space(self.rest));
        self.yaml().map(|read| read.map_err(|_| reason))
    }
}
