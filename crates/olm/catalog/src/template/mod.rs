//! Templates: short files from which catalogs are made.

pub mod basic;
mod link;
pub mod semver;

use podium_goyaml::yaml::{self, Origin};
use podium_goyaml::{Node, Value, json as gojson};

use crate::config::{Config, Meta};
use crate::generation::Generation;
use crate::problem::{Place, Problem};
use crate::stream::is_json;

/// The kinds of templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `olm.semver`: channels and edges follow from the versions.
    Semver,
    /// `olm.template.basic`: a catalog whose bundles are images.
    Basic,
}

impl Kind {
    /// The kind of a name, as on opm's command line.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "semver" => Some(Self::Semver),
            "basic" => Some(Self::Basic),
            _ => None,
        }
    }
}

/// Gives the documents that an image renders to; for a bundle that is one `olm.bundle`.
pub type Render<'r> = &'r mut dyn FnMut(&str) -> Result<Vec<Meta>, Problem>;

/// Makes a catalog from a template. Its kind is in its `schema`, unless it is given.
pub fn render(
    text: &[u8],
    kind: Option<Kind>,
    generation: Generation,
    render: Render<'_>,
) -> Result<Config, Problem> {
    let kind = match kind {
        Some(kind) => kind,
        None => detect(text).map_err(|problem| problem.within("auto-detecting template type: "))?,
    };
    let made = match kind {
        Kind::Semver => semver::render(text, generation, render),
        Kind::Basic => basic::render(text, generation, render),
    };
    match generation {
        Generation::V173 => made.map_err(|problem| problem.within("rendering template: ")),
        Generation::V151 => made,
    }
}

/// Whether a text is a template.
pub fn is_template(text: &[u8]) -> bool {
    detect(text).is_ok()
}

/// The kind of a template, by its schema.
fn detect(text: &[u8]) -> Result<Kind, Problem> {
    let (node, _) = first(text).map_err(|problem| problem.within("decoding template input: "))?;
    let map = match &node.value {
        Value::Map(map) => map,
        Value::Null => {
            return Err(Problem::new("unmarshalling template schema: unexpected end of JSON input"));
        }
        other => {
            let kind = kind_of(other);
            return Err(Problem::new(format!(
                "unmarshalling template schema: json: cannot unmarshal {kind} into Go value of type struct {{ Schema \
                 string \"json:\\\"schema\\\"\" }}"
            )));
        }
    };
    // Go takes the last of the spellings.
    let schema = map.iter().rfind(|(key, _)| crate::fold::same(key, "schema"));
    match schema.map(|(_, value)| &value.value) {
        None | Some(Value::Null) => Err(Problem::new("template input missing required 'schema' field")),
        Some(Value::String(text)) => match &**text {
            "" => Err(Problem::new("template input missing required 'schema' field")),
            semver::SCHEMA => Ok(Kind::Semver),
            basic::SCHEMA => Ok(Kind::Basic),
            other => Err(Problem::new(format!("unknown template schema: {other}"))),
        },
        Some(other) => Err(Problem::new(format!(
            "unmarshalling template schema: json: cannot unmarshal {} into Go struct field .schema of type string",
            kind_of(other)
        ))),
    }
}

/// What Go calls a value.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Float(_) => "number",
        Value::String(_) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
    }
}

/// The first document of a text, be it JSON or YAML, and whether it is JSON.
fn first(text: &[u8]) -> Result<(Node, bool), Problem> {
    let mut refused = None;
    if is_json(text.get(..4096.min(text.len())).unwrap_or_default()) {
        match gojson::parse_prefix(text, 0) {
            Ok((node, _)) => return Ok((node, true)),
            Err(error @ gojson::Error::Character { offset, .. }) => {
                refused = Some(format!("json: offset {offset}: {error}"));
            }
            Err(error) => refused = Some(error.to_string()),
        }
    }
    let read = || -> Result<Option<Node>, yaml::Error> {
        let Some(document) = yaml::documents(text).next() else { return Ok(None) };
        let document = document?;
        yaml::parse(&document.text, Origin { source: 0, first_line: document.first_line }).map(Some)
    };
    match (read(), refused) {
        (Ok(Some(node)), _) => Ok((node, false)),
        (Ok(None), _) => Err(Problem::new("EOF")),
        (Err(_), Some(words)) => Err(Problem::new(words)),
        (Err(error), None) => {
            Err(Problem::at(Place { file: "".into(), line: error.pos().line }, error.to_string()))
        }
    }
}
