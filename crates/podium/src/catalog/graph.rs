//! `podium catalog graph`.

use anyhow::bail;
use clap::ArgMatches;
use podium_catalog::graph::{Options, mermaid, text_graph};

use super::input::catalog;
use super::output::{arguments, format, generation, refused};
use crate::flag::{on, one};
use crate::output::{complain, print};

/// Draws a catalog.
pub fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let args = arguments(matches, 1, 1, "graph CATALOG")?;
    let root = args.first().map(String::as_str).unwrap_or_default();
    let generation = generation(matches)?;
    let format = format(matches, &["picture", "mermaid"])?;
    let package = one(matches, "package").unwrap_or_default();
    let (minimum, v0) = (one(matches, "minimum-edge"), on(matches, "draw-v0-semantics"));
    if format == "picture" && (minimum.is_some() || v0) {
        bail!("--minimum-edge and --draw-v0-semantics are for mermaid: write -o mermaid too");
    }
    let mut config = catalog(root, generation, matches)?;
    config.normalize();
    let known = config.package_names();
    if !package.is_empty() && !known.contains(&package) {
        bail!("package {package:?} not found; the catalog has {}", known.join(", "));
    }
    if format == "picture" {
        let text = text_graph(&config, package, generation).map_err(|problem| refused(problem, root))?;
        return print(text.as_bytes());
    }
    let options = Options {
        minimum_edge: minimum.unwrap_or_default().to_owned(),
        package: package.to_owned(),
        v0_semantics: v0,
    };
    let drawing = mermaid(&config, &options, generation).map_err(|problem| refused(problem, root))?;
    drawing.warnings.iter().for_each(|warning| complain(warning));
    print(drawing.text.as_bytes())
}
