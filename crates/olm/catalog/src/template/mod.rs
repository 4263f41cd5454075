//! Catalog templates.

pub mod basic;
mod link;
pub mod semver;

use podium_goyaml::yaml::{self, Origin};
use podium_goyaml::{Node, Value, json as gojson};

use crate::compat::OpmCompat;
use crate::declcfg::{DeclarativeConfig, Meta};
use crate::error::{CatalogError, SourceSpan};
use crate::stream::is_json;

/// Kind of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateKind {
    /// `olm.semver`: channels and upgrade edges are derived from versions.
    Semver,
    /// `olm.template.basic`: a catalog whose bundles are given as images.
    Basic,
}

impl TemplateKind {
    /// Returns the kind by the name on opm's command line.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "semver" => Some(Self::Semver),
            "basic" => Some(Self::Basic),
            _ => None,
        }
    }
}

/// Returns the metas that an image renders to: one `olm.bundle` for a bundle image.
pub type RenderImage<'r> = &'r mut dyn FnMut(&str) -> Result<Vec<Meta>, CatalogError>;

/// Renders a template to a catalog. Without `kind` the `schema` decides.
pub fn render(
    text: &[u8],
    kind: Option<TemplateKind>,
    compat: OpmCompat,
    render: RenderImage<'_>,
) -> Result<DeclarativeConfig, CatalogError> {
    let kind = match kind {
        Some(kind) => kind,
        None => detect_kind(text).map_err(|error| error.prefixed("auto-detecting template type: "))?,
    };
    let config = match kind {
        TemplateKind::Semver => semver::render(text, compat, render),
        TemplateKind::Basic => basic::render(text, compat, render),
    };
    match compat {
        OpmCompat::V173 => config.map_err(|error| error.prefixed("rendering template: ")),
        OpmCompat::V151 => config,
    }
}

/// Reports whether a text is a template.
pub fn is_template(text: &[u8]) -> bool {
    detect_kind(text).is_ok()
}

/// Returns the kind of a template by its schema.
fn detect_kind(text: &[u8]) -> Result<TemplateKind, CatalogError> {
    let (node, _) = first_document(text).map_err(|error| error.prefixed("decoding template input: "))?;
    let map = match &node.value {
        Value::Map(map) => map,
        Value::Null => {
            return Err(CatalogError::new("unmarshalling template schema: unexpected end of JSON input"));
        }
        other => {
            let kind = go_kind(other);
            return Err(CatalogError::new(format!(
                "unmarshalling template schema: json: cannot unmarshal {kind} into Go value of type struct {{ Schema \
                 string \"json:\\\"schema\\\"\" }}"
            )));
        }
    };
    // The last matching key wins in Go.
    let schema = map.iter().rfind(|(key, _)| crate::fold::eq_fold(key, "schema"));
    match schema.map(|(_, value)| &value.value) {
        None | Some(Value::Null) => Err(CatalogError::new("template input missing required 'schema' field")),
        Some(Value::String(text)) => match &**text {
            "" => Err(CatalogError::new("template input missing required 'schema' field")),
            semver::SCHEMA => Ok(TemplateKind::Semver),
            basic::SCHEMA => Ok(TemplateKind::Basic),
            other => Err(CatalogError::new(format!("unknown template schema: {other}"))),
        },
        Some(other) => Err(CatalogError::new(format!(
            "unmarshalling template schema: json: cannot unmarshal {} into Go struct field .schema of type string",
            go_kind(other)
        ))),
    }
}

/// Returns Go's name for the JSON type of a value.
fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Float(_) => "number",
        Value::String(_) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
    }
}

/// Decodes the first document and reports whether it is JSON.
fn first_document(text: &[u8]) -> Result<(Node, bool), CatalogError> {
    let mut json_error = None;
    if is_json(text.get(..4096.min(text.len())).unwrap_or_default()) {
        match gojson::parse_prefix(text, 0) {
            Ok((node, _)) => return Ok((node, true)),
            Err(error @ gojson::Error::Character { offset, .. }) => {
                json_error = Some(format!("json: offset {offset}: {error}"));
            }
            Err(error) => json_error = Some(error.to_string()),
        }
    }
    let read = || -> Result<Option<Node>, yaml::Error> {
        let Some(document) = yaml::documents(text).next() else { return Ok(None) };
        let document = document?;
        yaml::parse(&document.text, Origin { source: 0, first_line: document.first_line }).map(Some)
    };
    match (read(), json_error) {
        (Ok(Some(node)), _) => Ok((node, false)),
        (Ok(None), _) => Err(CatalogError::new("EOF")),
        (Err(_), Some(message)) => Err(CatalogError::new(message)),
        (Err(error), None) => {
            Err(CatalogError::at(SourceSpan { file: "".into(), line: error.pos().line }, error.to_string()))
        }
    }
}
