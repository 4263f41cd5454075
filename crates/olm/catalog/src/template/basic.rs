//! `olm.template.basic`: a catalog whose bundles are given as images.

use std::sync::Arc;

use podium_goyaml::Value;

use super::{RenderImage, first_document};
use crate::compat::OpmCompat;
use crate::declcfg::{DeclarativeConfig, Meta, MetaKind};
use crate::error::{CatalogError, SourceSpan, quote};
use crate::fold::eq_fold;
use crate::header::read_header;
use crate::json::Document;
use crate::stream::DecodedMeta;

/// Schema of basic templates.
pub const SCHEMA: &str = "olm.template.basic";

/// Renders a catalog: replaces each bundle by the blob that its image renders to.
pub fn render(
    text: &[u8],
    compat: OpmCompat,
    render: RenderImage<'_>,
) -> Result<DeclarativeConfig, CatalogError> {
    let mut config = DeclarativeConfig::default();
    let mut bundles = Vec::new();
    for meta in parse_entries(text, compat)? {
        if meta.kind == MetaKind::Bundle { bundles.push(meta) } else { config.metas.push(meta) }
    }
    for bundle in bundles {
        let forbidden = ["properties", "relatedImages"];
        let has_forbidden = forbidden
            .iter()
            .any(|key| bundle.root().get(key).is_some_and(|list| list.items().next().is_some()));
        let image = bundle.string("image");
        if image.is_empty() || !bundle.header.package.is_empty() || has_forbidden {
            return Err(CatalogError::at(
                bundle.span.clone(),
                "unexpected fields present in basic template bundle",
            ));
        }
        config.metas.extend(render(&image)?.into_iter().filter(|meta| meta.kind == MetaKind::Bundle));
    }
    Ok(config)
}

/// Decodes the entries of a template.
fn parse_entries(text: &[u8], compat: OpmCompat) -> Result<Vec<Meta>, CatalogError> {
    let ty = if compat == OpmCompat::V151 { "BasicTemplate" } else { "BasicTemplateData" };
    let (node, _) = first_document(text).map_err(|error| error.prefixed("decoding template schema: "))?;
    let unmarshal_error = |text: String| CatalogError::new(format!("unmarshalling template: {text}"));
    let map = match &node.value {
        Value::Map(map) => map,
        Value::Null => return Err(unmarshal_error("unexpected end of JSON input".to_owned())),
        other => {
            let kind = super::go_kind(other);
            return Err(unmarshal_error(format!(
                "json: cannot unmarshal {kind} into Go value of type basic.{ty}"
            )));
        }
    };
    let mut schema = String::new();
    let mut metas = Vec::new();
    let mut first_mismatch = None;
    for (key, value) in map.iter() {
        if eq_fold(key, "schema") {
            match &value.value {
                Value::String(text) => schema = text.to_string(),
                Value::Null => {}
                other => {
                    first_mismatch.get_or_insert(type_mismatch(other, ty, "schema", "string"));
                }
            }
        } else if eq_fold(key, "entries") {
            metas.clear();
            match &value.value {
                Value::List(list) => {
                    for item in list.iter() {
                        let rejected = |text: String| {
                            CatalogError::at(
                                SourceSpan { file: "".into(), line: item.pos.line },
                                format!("unmarshalling template: {text}"),
                            )
                        };
                        let document =
                            Document::from_node(item).ok_or_else(|| rejected("too large".to_owned()))?;
                        let raw = || podium_goyaml::json::to_raw_string(&item).unwrap_or_default();
                        let header = read_header(&document, raw).map_err(rejected)?;
                        metas.push(DecodedMeta { document, header, blank: false });
                    }
                }
                Value::Null => {}
                other => {
                    first_mismatch.get_or_insert(type_mismatch(other, ty, "entries", "[]*declcfg.Meta"));
                }
            }
        }
    }
    if let Some(text) = first_mismatch {
        return Err(unmarshal_error(text));
    }
    if schema != SCHEMA {
        let text = format!("template has unknown schema ({}), should be {}", quote(&schema), quote(SCHEMA));
        return Err(CatalogError::new(text));
    }
    let file: Arc<str> = "".into();
    metas.into_iter().map(|item| Meta::new(item, &file)).collect()
}

fn type_mismatch(value: &Value, struct_name: &str, field: &str, ty: &str) -> String {
    let kind = super::go_kind(value);
    format!("json: cannot unmarshal {kind} into Go struct field {struct_name}.{field} of type {ty}")
}
