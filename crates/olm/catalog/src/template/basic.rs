//! `olm.template.basic`: a catalog in which a bundle is only its image.

use std::sync::Arc;

use podium_goyaml::Value;

use super::{Render, first};
use crate::config::{Config, Kind, Meta};
use crate::fold::same;
use crate::generation::Generation;
use crate::json::Document;
use crate::meta::head;
use crate::problem::{Place, Problem, quoted};
use crate::stream::Item;

/// The schema of such a template.
pub const SCHEMA: &str = "olm.template.basic";

/// Makes a catalog: every bundle is replaced by what its image renders to.
pub fn render(text: &[u8], generation: Generation, render: Render<'_>) -> Result<Config, Problem> {
    let mut config = Config::default();
    let mut bundles = Vec::new();
    for meta in entries(text, generation)? {
        if meta.kind == Kind::Bundle { bundles.push(meta) } else { config.metas.push(meta) }
    }
    for bundle in bundles {
        let rest = ["properties", "relatedImages"];
        let has_more =
            rest.iter().any(|key| bundle.root().get(key).is_some_and(|list| list.items().next().is_some()));
        let image = bundle.string("image");
        if image.is_empty() || !bundle.head.package.is_empty() || has_more {
            return Err(Problem::at(
                bundle.place.clone(),
                "unexpected fields present in basic template bundle",
            ));
        }
        config.metas.extend(render(&image)?.into_iter().filter(|meta| meta.kind == Kind::Bundle));
    }
    Ok(config)
}

/// The entries of a template.
fn entries(text: &[u8], generation: Generation) -> Result<Vec<Meta>, Problem> {
    let ty = if generation == Generation::V151 { "BasicTemplate" } else { "BasicTemplateData" };
    let (node, _) = first(text).map_err(|problem| problem.within("decoding template schema: "))?;
    let wrong = |text: String| Problem::new(format!("unmarshalling template: {text}"));
    let map = match &node.value {
        Value::Map(map) => map,
        Value::Null => return Err(wrong("unexpected end of JSON input".to_owned())),
        other => {
            let kind = super::kind_of(other);
            return Err(wrong(format!("json: cannot unmarshal {kind} into Go value of type basic.{ty}")));
        }
    };
    let mut schema = String::new();
    let mut metas = Vec::new();
    let mut first_wrong = None;
    for (key, value) in map.iter() {
        if same(key, "schema") {
            match &value.value {
                Value::String(text) => schema = text.to_string(),
                Value::Null => {}
                other => {
                    first_wrong.get_or_insert(mismatch(other, ty, "schema", "string"));
                }
            }
        } else if same(key, "entries") {
            metas.clear();
            match &value.value {
                Value::List(list) => {
                    for item in list.iter() {
                        let refused = |text: String| {
                            Problem::at(
                                Place { file: "".into(), line: item.pos.line },
                                format!("unmarshalling template: {text}"),
                            )
                        };
                        let document = Document::of(item).ok_or_else(|| refused("too large".to_owned()))?;
                        let raw = || podium_goyaml::json::to_raw_string(&item).unwrap_or_default();
                        let head = head(&document, raw).map_err(refused)?;
                        metas.push(Item { document, head, blank: false });
                    }
                }
                Value::Null => {}
                other => {
                    first_wrong.get_or_insert(mismatch(other, ty, "entries", "[]*declcfg.Meta"));
                }
            }
        }
    }
    if let Some(text) = first_wrong {
        return Err(wrong(text));
    }
    if schema != SCHEMA {
        let text = format!("template has unknown schema ({}), should be {}", quoted(&schema), quoted(SCHEMA));
        return Err(Problem::new(text));
    }
    let file: Arc<str> = "".into();
    metas.into_iter().map(|item| Meta::new(item, &file)).collect()
}

fn mismatch(value: &Value, holder: &str, field: &str, ty: &str) -> String {
    let kind = super::kind_of(value);
    format!("json: cannot unmarshal {kind} into Go struct field {holder}.{field} of type {ty}")
}
