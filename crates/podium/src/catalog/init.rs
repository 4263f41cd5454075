//! `podium catalog init`.

use anyhow::{Context, bail};
use clap::ArgMatches;
use podium_catalog::Meta;
use podium_catalog::declcfg::{DeclarativeConfig, SCHEMA_PACKAGE};
use podium_catalog::write::to_vec;
use podium_goyaml::{Map, Value};
use podium_sprig::encoding::base64_encode;

use super::output::{arguments, format, refused};
use super::render::written;
use crate::flag::one;
use crate::output::print;

/// Prints an olm.package.
pub fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let args = arguments(matches, 1, 1, "init PACKAGE")?;
    let format = format(matches, &["json", "yaml"])?;
    let mut map = Map::new();
    map.insert("schema", Value::from(SCHEMA_PACKAGE));
    map.insert("name", Value::from(args.first().map(String::as_str).unwrap_or_default()));
    map.insert("defaultChannel", Value::from(one(matches, "default-channel").unwrap_or_default()));
    if let Some(file) = one(matches, "description") {
        let text = std::fs::read(file).with_context(|| format!("open description file: {file}"))?;
        map.insert("description", Value::from(String::from_utf8_lossy(&text).into_owned()));
    }
    if let Some(file) = one(matches, "icon") {
        let data = std::fs::read(file).with_context(|| format!("open icon file: {file}"))?;
        let Some(kind) = media_type(&data) else {
            bail!("{file} is no image that a console shows: use SVG, PNG, JPEG, GIF or WebP");
        };
        let mut icon = Map::new();
        icon.insert("base64data", Value::from(String::from_utf8_lossy(&base64_encode(&data)).into_owned()));
        icon.insert("mediatype", Value::from(kind));
        map.insert("icon", Value::Map(icon));
    }
    let meta =
        Meta::from_node(&Value::Map(map).into(), &"".into()).map_err(|problem| refused(problem, ""))?;
    print(&to_vec(&DeclarativeConfig { metas: vec![meta] }, written(format))?)
}

/// The media type of an image, by how it begins.
fn media_type(data: &[u8]) -> Option<&'static str> {
    let text =
        String::from_utf8_lossy(data.get(..data.len().min(4096)).unwrap_or_default()).to_ascii_lowercase();
    match data {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ if text.contains("<svg") => Some("image/svg+xml"),
        _ => None,
    }
}
