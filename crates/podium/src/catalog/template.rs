//! `podium catalog template`.

use std::io::Read;

use anyhow::{Context, bail};
use clap::ArgMatches;
use podium_catalog::compat::OpmCompat;
use podium_catalog::graph::{Options, mermaid};
use podium_catalog::template::{self, TemplateKind, semver};
use podium_catalog::{DeclarativeConfig, Meta};
use podium_goyaml::{Map, Value};

use super::images;
use super::input::bundles;
use super::output::{arguments, format, generation, refused};
use super::render::{print, written};
use crate::flag::many;
use crate::output::{self, complain};

/// A template is written by hand.
const LARGEST: u64 = 16 << 20;

/// Makes a catalog from a template.
pub fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let args = arguments(matches, 0, 2, "template [semver|basic] [FILE]")?;
    let generation = generation(matches)?;
    let (kind, file) = match args.as_slice() {
        [] => (None, "-"),
        [one] => match TemplateKind::from_name(one) {
            Some(kind) => (Some(kind), "-"),
            None => (None, one.as_str()),
        },
        [kind, file, ..] => match TemplateKind::from_name(kind) {
            Some(kind) => (Some(kind), file.as_str()),
            None => bail!("invalid template type {kind:?}, must be one of: [basic semver]"),
        },
    };
    let format = format(matches, &["json", "yaml", "mermaid"])?;
    let text = read(file)?;
    let config = make(&text, kind, generation, matches, file)?;
    if format == "mermaid" {
        let options = Options { v0_semantics: true, ..Options::default() };
        let drawing = mermaid(&config, &options, generation).map_err(|problem| refused(problem, ""))?;
        drawing.warnings.iter().for_each(|warning| complain(warning));
        return output::print(drawing.text.as_bytes());
    }
    print(&config, written(format))
}

/// The catalog of a template. What an image holds is read from files that the user names, or from registries.
pub fn make(
    text: &[u8],
    kind: Option<TemplateKind>,
    generation: OpmCompat,
    matches: &ArgMatches,
    file: &str,
) -> anyhow::Result<DeclarativeConfig> {
    let known = bundles(&many(matches, "bundles"), generation, matches)?;
    let find =
        |image: &str| known.iter().filter(|meta| meta.string("image") == image).cloned().collect::<Vec<_>>();
    // All images of the template first, to ask for them at once; what is wrong with the template is said later.
    let mut wanted: Vec<String> = Vec::new();
    let _ = template::render(text, kind, generation, &mut |image| {
        wanted.push(image.to_owned());
        Ok(stand_in(image, wanted.len()))
    });
    let semver: Vec<String> =
        semver::read(text, generation).map(|read| read.images.concat()).unwrap_or_default();
    wanted.extend(semver);
    wanted.sort();
    wanted.dedup();
    wanted.retain(|image| find(image).is_empty());
    let pulled = images::bundles(&wanted, matches)?;
    let mut render = |image: &str| match pulled.get(image) {
        Some(meta) => Ok(vec![meta.clone()]),
        None => Ok(find(image)),
    };
    template::render(text, kind, generation, &mut render).map_err(|problem| refused(problem, file))
}

/// A bundle that lets a basic template go on to its next image.
fn stand_in(image: &str, number: usize) -> Vec<Meta> {
    let mut map = Map::new();
    map.insert("schema", Value::from("olm.bundle"));
    map.insert("name", Value::from(format!("{number}")));
    map.insert("image", Value::from(image));
    Meta::from_node(&Value::Map(map).into(), &"".into()).into_iter().collect()
}

/// Whether a file is a template: its schema says so.
pub fn is_template(file: &str) -> bool {
    let Ok(data) = std::fs::metadata(file) else { return false };
    data.is_file() && read(file).is_ok_and(|text| template::is_template(&text))
}

/// The text of a template; of standard input for `-`.
pub fn read(file: &str) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut source: Box<dyn Read> = match file {
        "-" => Box::new(std::io::stdin()),
        file => Box::new(std::fs::File::open(file).with_context(|| format!("unable to open {file:?}"))?),
    };
    source
        .as_mut()
        .take(LARGEST + 1)
        .read_to_end(&mut text)
        .with_context(|| format!("unable to read {file:?}"))?;
    if text.len() as u64 > LARGEST {
        bail!("{file} is larger than {} MB, which no template is", LARGEST >> 20);
    }
    Ok(text)
}
